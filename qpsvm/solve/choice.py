"""Rank the backends that "auto" tries (`rank_backends`), and run one within the limits (`run_backend`).

| machine                                 | first                | then                                 |
|-----------------------------------------|----------------------|--------------------------------------|
| linear, few rows, or more features      | kernel_newton        | augmented_lagrangian, interior_point |
| linear, small                           | interior_point       | augmented_lagrangian, kernel_newton  |
| linear                                  | augmented_lagrangian | interior_point, kernel_newton        |
| another kernel                          | kernel_newton        | interior_point                       |

Backends that do not accept the machine, or are not installed, are skipped. CVXOPT, registered backends and CVXPY
follow, which share no code with these. The next backend is tried if the one before it does not support the limits
requested, or if its point could not be certified.

A run of one backend: check that it may start; then compile, solve, unscale, interpret.

A backend is not started if its set-up, which cannot be stopped, would exceed the time limit: the result is then the
best point available without a solver, certified like any other. Nor is it started if it needs more memory than
available; that is an error. Certification and polishing are limited too:

| the user limits | certificate                                        | polishing                                |
|-----------------|----------------------------------------------------|------------------------------------------|
| seconds         | once; of as many rows as take so long, or a second | in what is left (few rows: a tenth more) |
| iterations      | whole                                              | as long as the solver took, or a tenth   |
| nothing         | whole                                              | three times as long, or three seconds    |
| with Ctrl-C     | once; of as many rows as take half a second        | not at all (few rows: a round)           |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from qpsvm import backends
from qpsvm.backends.abilities import find_problem_traits, measure_size
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Limits, solve_dual_directly
from qpsvm.backends.requirements import Requirements, Size
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import SMALL_BYTES, find_available_memory, find_free_address_space, format_bytes
from qpsvm.base.resources.progress import (
    PULSE_SECONDS,
    Clock,
    Pulse,
    defer_interrupt,
    is_interrupted,
    is_logging,
    log_message,
)
from qpsvm.bounds.polish import FEW_ROWS as POLISHED_ROWS
from qpsvm.machines import Problem
from qpsvm.machines.problem.machine import BaseProblem
from qpsvm.machines.problem.parameters import Form
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.exchange import R
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.result.svm_result import SVMResult

#: A linear machine has few rows up to this number, unless Σ_i C_i K_ii is larger than the second: then most of them
#: are free or change sides, and their Gram matrix is singular. Wide ones have at most the third number of rows, and at
#: least as many features.
FEW_ROWS, MAX_FEW_ROWS_SCALE, WIDE_ROWS = 300, 8000.0, 1000
#: It is small up to this many rows and this n d², the products of an interior-point iteration: some 30 ms for any C.
SMALL_ROWS, SMALL_SYSTEM = 2000, 3e7
#: Rows up to which CVXOPT, which nothing can stop, has a turn: on the dual some 3 s, on the primal of a kernel as long.
DUAL_ROWS, PRIMAL_ROWS = 2000, 400
#: Rows of a kernel machine up to which CVXPY has one.
CVXPY_ROWS = 4000
#: Factor on the time of the first backend that bounds all later ones together, and on the time of the solver that
#: bounds its polishing, if there is no limit; and the seconds that the time counts as at least.
FOLLOW_UP_FACTOR, MIN_COUNTED_SECONDS = 3.0, 1.0
#: The tolerances of a solver that can refine, one after the other, until its point is certified.
TOLERANCES = (1e-6, 1e-9)
#: Statuses after which there is no other attempt.
USER_STOP_STATUSES = (Status.TIME_LIMIT, Status.INTERRUPTED)
#: The shortest time limit that a solver is handed: 0 would mean none to some.
MIN_TIME_LIMIT = 1e-9
#: Seconds that the certificate may take however short the limit, and those that polishing of few rows may.
MIN_CERTIFICATE_SECONDS, MIN_POLISH_SECONDS = 1.0, 0.1
#: Seconds that the certificate may take after Ctrl-C.
INTERRUPTED_CERTIFICATE_SECONDS = 0.5
#: Bytes of address space that anything takes: OpenBLAS waits for its buffers for ever where it cannot have them.
MIN_ADDRESS_SPACE = 1.5e8


@dataclass(frozen=True)
class Candidate:
    """A backend that "auto" may try.

    form: Which of the two QPs; None for the one that it prefers.
    max_rows: Rows up to which it has a turn.
    """

    backend: str
    form: Form | None = None
    max_rows: float = math.inf

    @property
    def backend_object(self) -> Backend:
        """The backend object."""
        return backends.get(self.backend)

    def __str__(self) -> str:
        return self.backend if self.form is None else f"{self.backend} on the {self.form} form"

    def is_eligible(self, problem: Problem, size: Size) -> bool:
        """Return whether the backend is installed, not for study only, and accepts the machine."""
        if size.rows > self.max_rows or (
            self.backend not in backends.REGISTRY and self.backend not in backends.EXTERNAL_BACKENDS
        ):
            return False
        can, form = self.backend_object.abilities, self.form or self.backend_object.preferred_form(size.is_linear)
        return (
            not can.is_educational
            and can.accepts(find_problem_traits(problem), size.rows, form)
            and bool(self.backend_object.version())
        )


def rank_backends(problem: Problem) -> Iterator[Candidate]:
    """Yield the backends that accept a problem, the first choice first; each is evaluated only when requested."""
    size = measure_size(problem)
    outside = [Candidate(name) for name in backends.EXTERNAL_BACKENDS if name in backends.EXTERNAL_FOR_AUTO]
    order = _order_for_linear(problem, size, outside) if size.is_linear else _order_for_kernel(size, outside)
    return (choice for choice in order if choice.is_eligible(problem, size))


def _order_for_linear(problem: Problem, size: Size, outside: list[Candidate]) -> list[Candidate]:
    """Return the order of backends for a linear machine."""
    newton, interior, augmented = map(Candidate, ("kernel_newton", "interior_point", "augmented_lagrangian"))
    n, d = size.rows, size.features
    few = n <= FEW_ROWS and _estimate_objective_scale(problem) <= MAX_FEW_ROWS_SCALE
    wide = n <= d and (n <= WIDE_ROWS or not augmented.is_eligible(problem, size))
    if few or wide:
        ours = [newton, augmented, interior]
    elif n <= SMALL_ROWS and n * d**2 <= SMALL_SYSTEM:
        ours = [interior, augmented, newton]
    else:
        ours = [augmented, interior, newton]
    return [*ours, Candidate("cvxopt", "dual", DUAL_ROWS), *outside, Candidate("cvxpy")]


def _order_for_kernel(size: Size, outside: list[Candidate]) -> list[Candidate]:
    """Return the order for another kernel; where a row combines several samples, as pairs do, the primal is smaller."""
    smaller: Form | None = "primal" if size.samples else None
    exact = [Candidate("cvxopt", "dual", DUAL_ROWS), Candidate("cvxopt", "primal", PRIMAL_ROWS)]
    ours = [Candidate("kernel_newton"), Candidate("interior_point", smaller)]
    return [*ours, *exact, *outside, Candidate("cvxpy", smaller, CVXPY_ROWS)]


def _estimate_objective_scale(problem: Problem) -> float:
    """Return Σ C_i times the mean of K_ii, or Σ 1/δ_i of losses with curvature: a number without a unit.

    0 where α has no bound, and where its total is given, as in a ν-SVM: there C says little of it.
    """
    svm = problem._dual_structure
    if svm.is_homogeneous or (not svm.is_bounded and not (svm.has_curvature and bool((svm.curvature > 0.0).all()))):
        return 0.0
    return float(np.add.reduce(svm.upper if svm.is_bounded else 1.0 / svm.curvature)) * problem.space.scale


def bound_follow_up_time(seconds: float) -> float:
    """Return the time limit of what follows, given the time of the first solver or backend."""
    return FOLLOW_UP_FACTOR * max(seconds, MIN_COUNTED_SECONDS)


def format_time_estimate(seconds: float) -> str:
    """Format an estimate of seconds, to one digit."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"


@dataclass(frozen=True)
class SolveRequest:
    """The arguments of `solve` besides problem and backend; the clock starts with the call.

    `solver_tol` is the tolerance of the solver if it is not `tol`, which is that of the certificate.
    """

    tol: float
    polish: bool
    verbose: bool
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]
    start: FloatArray | None
    clock: Clock
    solver_tol: float | None = None

    def build_limits(
        self, backend: Backend, tol: float | None = None, max_seconds: float = math.inf, start: FloatArray | None = None
    ) -> Limits:
        """Build the limits for a backend, within `allowed` seconds; one that can refine starts at its defaults."""
        left = min(self.clock.remaining, max_seconds if "time_limit" in backend.abilities.enforced_limits else math.inf)
        seconds = None if left == math.inf else max(left, MIN_TIME_LIMIT)
        aim = tol if backend.abilities.supports_refinement else self.solver_tol or self.tol
        return Limits(aim, self.max_iter, seconds, self.verbose, start)

    @property
    def has_requirements(self) -> bool:
        """Whether a limit, start or option is given that a backend may not support."""
        limited = self.time_limit is not None or self.max_iter is not None
        return limited or self.start is not None or bool(self.options)

    def can_warm_start(self, backend: Backend, form: Form) -> bool:
        """Return whether there is a start that this backend can use."""
        return self.start is not None and backend.abilities.supports_warm_start and form == "dual"

    def forbids_retry(self, result: SVMResult) -> bool:
        """Return whether the user's limits forbid another attempt."""
        limited = self.time_limit is not None or self.max_iter is not None or bool(self.options) or not self.polish
        return limited or result.status in USER_STOP_STATUSES

    def explain_late_start(self, setup: float) -> str | None:
        """Explain why a set-up of that many seconds would exceed the time limit; None if it fits."""
        if setup < self.clock.remaining:
            return None
        return (
            "the time was over"
            if self.clock.remaining <= 0
            else f"its set-up alone takes {format_time_estimate(setup)}"
        )

    @property
    def certificate_seconds(self) -> float:
        """Seconds that the certificate may take."""
        return float("inf") if self.time_limit is None else max(self.time_limit, MIN_CERTIFICATE_SECONDS)

    def start_polish_clock(self, rows: int, solve_time: float) -> Clock:
        """Return the clock of polishing and certifying, which follow the solver."""
        if self.time_limit is not None:
            return Clock(max(self.clock.remaining, MIN_POLISH_SECONDS if rows <= POLISHED_ROWS else 0.0))
        if self.max_iter is not None:
            return Clock(max(solve_time, MIN_POLISH_SECONDS))
        return Clock(bound_follow_up_time(solve_time))


def run_backend(
    problem: BaseProblem[R],
    backend: Backend,
    form: Form,
    needed: Requirements,
    request: SolveRequest,
    budget_clock: Clock | None = None,
) -> R:
    """Compile, solve, unscale and interpret; again at tighter tolerances until the certificate is satisfied.

    Raises TooLargeError, UnsupportedError.
    """
    check_available_memory(problem, backend, form, needed)
    budget_clock = budget_clock or Clock()
    try:
        with Pulse(request.verbose, _describe_setup(problem, backend, form)) as pulse:
            if needed.seconds > PULSE_SECONDS:  # some hold the interpreter's lock, and then nothing prints
                said = f"{backend.name} may print nothing for {format_time_estimate(needed.seconds)}, while it sets up"
                log_message(said, request.verbose)
            return _run_at_tolerances(problem, backend, form, request, budget_clock, pulse)
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, "ran out of memory")) from error


def _run_at_tolerances(
    problem: BaseProblem[R], backend: Backend, form: Form, request: SolveRequest, budget_clock: Clock, pulse: Pulse
) -> R:
    machine: Any = problem  # of which kind, its result says
    building = Clock()
    svm = machine.svm if form == "dual" and isinstance(problem, Problem) and not problem.constraints else None
    scaled = compiled = None
    if svm is None or not backend.can_solve_dual(svm):
        scaled = problem._deferred_qp(form)
        compiled = backend.compile(scaled.qp)
    build_time = building.seconds
    if is_logging(request.verbose):
        variables = len(machine.svm.level) if scaled is None else scaled.qp.n
        said = f"{problem.title}; backend {backend.name}, {form} form, {variables} variables"
        log_message(said, request.verbose)
    best: Any = None
    solve_time, iterations = 0.0, 0
    point = request.start if request.start is not None and request.can_warm_start(backend, form) else None
    if point is not None and scaled is not None:
        point = scaled.scale(point)
    for tol in _list_tolerances(backend, request):
        limits = request.build_limits(backend, tol, budget_clock.remaining, point)
        pulse.activity = f"{backend.name} at work"
        answer: QPSolution | DualSolution
        with defer_interrupt() if backend.abilities.handles_interrupt else nullcontext():
            if scaled is None or compiled is None:
                answer = solve_dual_directly(backend, machine.svm, limits, request.options)
            else:
                answer = compiled._solve_checked(limits, request.options)
            point = None  # a second solve resumes from the last point
            solve_time += answer.solve_time
            iterations += answer.iterations or 0
            if scaled is not None and isinstance(answer, QPSolution):
                answer = scaled.unscale(answer, solve_time=solve_time, iterations=iterations or None)
            pulse.activity = "measuring and polishing the point"
            result = machine.interpret(
                answer,
                tol=request.tol,
                polished=request.polish,
                form=form,
                backend=backend.name,
                build_time=build_time,
                certifying=INTERRUPTED_CERTIFICATE_SECONDS if is_interrupted() else request.certificate_seconds,
                polishing=request.start_polish_clock(len(problem._active_target), solve_time),
                clock=request.clock,
            )
            if is_interrupted() and result.status is not Status.INTERRUPTED:
                raise KeyboardInterrupt  # pressed when there was nothing left to stop: it is not lost
        if is_logging(request.verbose):
            said = f"{result.solver.name} said {result.solver.status!r}; certified relative gap {result.gap:.3g}"
            log_message(said, request.verbose)
        if best is not None and best.gap < result.gap:
            best = replace(best, solve_time=solve_time, iterations=iterations, status=result.status)
        else:
            best = result
        if best.status is Status.OPTIMAL or best.error or answer.reported in USER_STOP_STATUSES:
            break
    assert best is not None  # the ladder has at least one step
    if best.status is Status.TIME_LIMIT and request.time_limit is None:  # a later backend's, not the user's
        best = replace(best, status=Status.INACCURATE)
    return cast("R", best)


def build_unstarted_result(
    problem: BaseProblem[R], name: str, version: str, form: Form, request: SolveRequest, why: str
) -> R:
    """Build the result of a backend that was not started: α = 0, or the machine's point for it, certified."""
    machine: Any = problem
    log_message(f"{name} was not started: {why}", request.verbose)
    answer = QPSolution(problem.qp("dual"), Status.TIME_LIMIT, Solver(name, version, f"not started: {why}"))
    result = machine.interpret(
        answer,
        tol=request.tol,
        polished=request.polish,
        form="dual",
        backend=name,
        certifying=request.certificate_seconds,
        polishing=request.start_polish_clock(len(problem._active_target), 0.0),
        clock=request.clock,
    )
    said = "" if result.status is Status.OPTIMAL else f"{name} on the {form} form was not started: {why}."
    return cast("R", replace(result, form=form, message=f"{result.message} {said}".strip()))


def check_available_memory(problem: BaseProblem[R], backend: Backend, form: Form, requirements: Requirements) -> None:
    """Check that there is as much memory as a backend will need: without it, compiled code may end the process.

    Raises TooLargeError.
    """
    limited = find_free_address_space() < float("inf")
    if requirements.memory_bytes < SMALL_BYTES and not limited:
        return
    needed, there = requirements.memory_bytes + (requirements.mapped_bytes if limited else 0.0), find_available_memory()
    needed = max(needed, MIN_ADDRESS_SPACE) if limited else needed
    if needed > there:
        short = f"needs about {format_bytes(needed)} of memory, and {format_bytes(there)} are available"
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, short))


def _describe_memory_shortage(problem: BaseProblem[R], backend: Backend, form: Form, shortage: str) -> str:
    n, d = problem.space.samples.shape
    ways = "backend='auto' takes what fits" if problem.space.is_linear else "a linear kernel needs no n × n matrix"
    return f"{backend.name} {shortage}, for the {form} form of {n} rows with {d} features: use fewer rows; {ways}"


def _describe_setup(problem: BaseProblem[R], backend: Backend, form: Form) -> str:
    n = len(problem._active_target)
    matrix = "" if problem.space.is_linear else f", with the Gram matrix of {n} rows"
    return f"setting up {backend.name} on the {form} form{matrix}"


def _list_tolerances(backend: Backend, request: SolveRequest) -> tuple[float | None, ...]:
    """Return the tolerances to ask of the solver, in order: one run only with user settings or polish=False."""
    if backend.abilities.supports_refinement and request.polish and not request.options and request.max_iter is None:
        return (None, *TOLERANCES)
    return (None,)
