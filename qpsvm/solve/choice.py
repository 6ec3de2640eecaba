"""Rank the backends that "auto" tries (`choices`), and run a backend on a problem within the limits (`attempt`).

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
from qpsvm.backends.abilities import machine_traits, size_of
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Limits, on_dual
from qpsvm.backends.requirements import Requirements, Size
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import LITTLE, address_space, available_memory, in_words
from qpsvm.base.resources.progress import EVERY, Clock, Pulse, heard, held, noted, say
from qpsvm.bounds.polish import FEW_ROWS as POLISHED_ROWS
from qpsvm.machines import Problem
from qpsvm.machines.problem.machine import Machine
from qpsvm.machines.problem.parameters import Form
from qpsvm.program.dual_answer import DualAnswer
from qpsvm.program.exchange import R
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.result.svm_result import SVMResult

#: A linear machine has few rows up to this number, unless Σ_i C_i K_ii is larger than the second: then most of them
#: are free or change sides, and their Gram matrix is singular. Wide ones have at most the third number of rows, and at
#: least as many features.
FEW_ROWS, FEW_STAKES, WIDE_ROWS = 300, 8000.0, 1000
#: It is small up to this many rows and this n d², the products of an interior-point iteration: some 30 ms for any C.
SMALL_ROWS, SMALL_SYSTEM = 2000, 3e7
#: Rows up to which CVXOPT, which nothing can stop, has a turn: on the dual some 3 s, on the primal of a kernel as long.
DUAL_ROWS, PRIMAL_ROWS = 2000, 400
#: Rows of a kernel machine up to which CVXPY has one.
CVXPY_ROWS = 4000
#: Factor on the time of the first backend that bounds all later ones together, and on the time of the solver that
#: bounds its polishing, if there is no limit; and the seconds that the time counts as at least.
PATIENCE, FLOOR = 3.0, 1.0
#: The tolerances of a solver that can refine, one after the other, until its point is certified.
LADDER = (1e-6, 1e-9)
#: Statuses after which there is no other attempt.
STOPPED_BY_USER = (Status.TIME_LIMIT, Status.INTERRUPTED)
#: The shortest time limit that a solver is handed: 0 would mean none to some.
SHORTEST = 1e-9
#: Seconds that the certificate may take however short the limit, and those that polishing of few rows may.
CERTIFYING, POLISHING = 1.0, 0.1
#: Seconds that the certificate may take after Ctrl-C.
HURRIED = 0.5
#: Bytes of address space that anything takes: OpenBLAS waits for its buffers for ever where it cannot have them.
LEAST_SPACE = 1.5e8


@dataclass(frozen=True)
class Choice:
    """A backend that "auto" may try.

    form: Which of the two QPs; None for the one that it prefers.
    most: Rows up to which it has a turn.
    """

    backend: str
    form: Form | None = None
    most: float = math.inf

    @property
    def chosen(self) -> Backend:
        """The backend object."""
        return backends.get(self.backend)

    def __str__(self) -> str:
        return self.backend if self.form is None else f"{self.backend} on the {self.form} form"

    def takes(self, problem: Problem, size: Size) -> bool:
        """Return whether the backend is installed, not for study only, and accepts the machine."""
        if size.rows > self.most or (self.backend not in backends.REGISTRY and self.backend not in backends.OUTSIDE):
            return False
        can, form = self.chosen.abilities, self.form or self.chosen.preferred_form(size.linear)
        return not can.study and can.takes(machine_traits(problem), size.rows, form) and bool(self.chosen.version())


def choices(problem: Problem) -> Iterator[Choice]:
    """Yield the backends that accept a problem, the first choice first; each is evaluated only when requested."""
    size = size_of(problem)
    outside = [Choice(name) for name in backends.OUTSIDE if name in backends.FOR_AUTO]
    order = _linear(problem, size, outside) if size.linear else _kernel(size, outside)
    return (choice for choice in order if choice.takes(problem, size))


def _linear(problem: Problem, size: Size, outside: list[Choice]) -> list[Choice]:
    """Return the order of backends for a linear machine."""
    newton, interior, augmented = map(Choice, ("kernel_newton", "interior_point", "augmented_lagrangian"))
    n, d = size.rows, size.features
    few = n <= FEW_ROWS and _stakes(problem) <= FEW_STAKES
    wide = n <= d and (n <= WIDE_ROWS or not augmented.takes(problem, size))
    if few or wide:
        ours = [newton, augmented, interior]
    elif n <= SMALL_ROWS and n * d**2 <= SMALL_SYSTEM:
        ours = [interior, augmented, newton]
    else:
        ours = [augmented, interior, newton]
    return [*ours, Choice("cvxopt", "dual", DUAL_ROWS), *outside, Choice("cvxpy")]


def _kernel(size: Size, outside: list[Choice]) -> list[Choice]:
    """Return the order for another kernel; where a row combines several samples, as pairs do, the primal is smaller."""
    smaller: Form | None = "primal" if size.samples else None
    exact = [Choice("cvxopt", "dual", DUAL_ROWS), Choice("cvxopt", "primal", PRIMAL_ROWS)]
    ours = [Choice("kernel_newton"), Choice("interior_point", smaller)]
    return [*ours, *exact, *outside, Choice("cvxpy", smaller, CVXPY_ROWS)]


def _stakes(problem: Problem) -> float:
    """Return Σ C_i times the mean of K_ii, or Σ 1/δ_i of losses with curvature: a number without a unit.

    0 where α has no bound, and where its total is given, as in a ν-SVM: there C says little of it.
    """
    svm = problem.outlined
    if svm.homogeneous or (not svm.bounded and not (svm.curved and bool((svm.curvature > 0.0).all()))):
        return 0.0
    return float(np.add.reduce(svm.upper if svm.bounded else 1.0 / svm.curvature)) * problem.space.scale


def patience(seconds: float) -> float:
    """Return the time limit of what follows, given the time of the first solver or backend."""
    return PATIENCE * max(seconds, FLOOR)


def in_seconds(seconds: float) -> str:
    """Format an estimate of seconds, to one digit."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"


@dataclass(frozen=True)
class Request:
    """The arguments of `solve` besides problem and backend; the clock starts with the call.

    `aim` is the tolerance of the solver if it is not `tol`, which is that of the certificate.
    """

    tol: float
    polish: bool
    verbose: bool
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]
    start: FloatArray | None
    clock: Clock
    aim: float | None = None

    def limits(
        self, backend: Backend, tol: float | None = None, allowed: float = math.inf, start: FloatArray | None = None
    ) -> Limits:
        """Build the limits for a backend, within `allowed` seconds; one that can refine starts at its defaults."""
        left = min(self.clock.left, allowed if "time_limit" in backend.abilities.keeps else math.inf)
        seconds = None if left == math.inf else max(left, SHORTEST)
        aim = tol if backend.abilities.tightens else self.aim or self.tol
        return Limits(aim, self.max_iter, seconds, self.verbose, start)

    @property
    def asks(self) -> bool:
        """Whether a limit, start or option is given that a backend may not support."""
        limited = self.time_limit is not None or self.max_iter is not None
        return limited or self.start is not None or bool(self.options)

    def begins(self, backend: Backend, form: Form) -> bool:
        """Return whether there is a start that this backend can use."""
        return self.start is not None and backend.abilities.starts and form == "dual"

    def spent(self, result: SVMResult) -> bool:
        """Return whether the user's limits forbid another attempt."""
        limited = self.time_limit is not None or self.max_iter is not None or bool(self.options) or not self.polish
        return limited or result.status in STOPPED_BY_USER

    def too_late(self, setup: float) -> str | None:
        """Explain why a set-up of that many seconds would exceed the time limit; None if it fits."""
        if setup < self.clock.left:
            return None
        return "the time was over" if self.clock.left <= 0 else f"its set-up alone takes {in_seconds(setup)}"

    @property
    def certifying(self) -> float:
        """Seconds that the certificate may take."""
        return float("inf") if self.time_limit is None else max(self.time_limit, CERTIFYING)

    def polishing(self, rows: int, solve_time: float) -> Clock:
        """Return the clock of polishing and certifying, which follow the solver."""
        if self.time_limit is not None:
            return Clock(max(self.clock.left, POLISHING if rows <= POLISHED_ROWS else 0.0))
        if self.max_iter is not None:
            return Clock(max(solve_time, POLISHING))
        return Clock(patience(solve_time))


def attempt(
    problem: Machine[R],
    backend: Backend,
    form: Form,
    needed: Requirements,
    request: Request,
    allowed: Clock | None = None,
) -> R:
    """Compile, solve, unscale and interpret; again at tighter tolerances until the certificate is satisfied.

    Raises TooLargeError, UnsupportedError.
    """
    check_room(problem, backend, form, needed)
    allowed = allowed or Clock()
    try:
        with Pulse(request.verbose, _setting_up(problem, backend, form)) as pulse:
            if needed.seconds > EVERY:  # some hold the interpreter's lock, and then nothing prints
                said = f"{backend.name} may print nothing for {in_seconds(needed.seconds)}, while it sets up"
                say(said, request.verbose)
            return _attempt(problem, backend, form, request, allowed, pulse)
    except TooLargeError:
        raise
    except MemoryError as error:
        raise TooLargeError(_too_large(problem, backend, form, "ran out of memory")) from error


def _attempt(problem: Machine[R], backend: Backend, form: Form, request: Request, allowed: Clock, pulse: Pulse) -> R:
    machine: Any = problem  # of which kind, its result says
    building = Clock()
    svm = machine.svm if form == "dual" and isinstance(problem, Problem) and not problem.constraints else None
    scaled = compiled = None
    if svm is None or not backend.direct(svm):
        scaled = problem.posed(form)
        compiled = backend.compile(scaled.qp)
    build_time = building.seconds
    if heard(request.verbose):
        variables = len(machine.svm.level) if scaled is None else scaled.qp.n
        said = f"{problem.title}; backend {backend.name}, {form} form, {variables} variables"
        say(said, request.verbose)
    best: Any = None
    solve_time, iterations = 0.0, 0
    point = request.start if request.start is not None and request.begins(backend, form) else None
    if point is not None and scaled is not None:
        point = scaled.scale(point)
    for tol in _ladder(backend, request):
        limits = request.limits(backend, tol, allowed.left, point)
        pulse.doing = f"{backend.name} at work"
        answer: QPSolution | DualAnswer
        with held() if backend.abilities.polls else nullcontext():
            if scaled is None or compiled is None:
                answer = on_dual(backend, machine.svm, limits, request.options)
            else:
                answer = compiled._solved(limits, request.options)
            point = None  # a second solve resumes from the last point
            solve_time += answer.solve_time
            iterations += answer.iterations or 0
            if scaled is not None and isinstance(answer, QPSolution):
                answer = scaled.unscale(answer, solve_time=solve_time, iterations=iterations or None)
            pulse.doing = "measuring and polishing the point"
            result = machine.interpret(
                answer, tol=request.tol, polished=request.polish, form=form, backend=backend.name,
                build_time=build_time, certifying=HURRIED if noted() else request.certifying,
                polishing=request.polishing(len(problem.labels), solve_time), clock=request.clock,
            )  # fmt: skip
            if noted() and result.status is not Status.INTERRUPTED:
                raise KeyboardInterrupt  # pressed when there was nothing left to stop: it is not lost
        if heard(request.verbose):
            said = f"{result.solver.name} said {result.solver.status!r}; certified relative gap {result.gap:.3g}"
            say(said, request.verbose)
        if best is not None and best.gap < result.gap:
            best = replace(best, solve_time=solve_time, iterations=iterations, status=result.status)
        else:
            best = result
        if best.status is Status.OPTIMAL or best.error or answer.reported in STOPPED_BY_USER:
            break
    assert best is not None  # the ladder has at least one step
    if best.status is Status.TIME_LIMIT and request.time_limit is None:  # a later backend's, not the user's
        best = replace(best, status=Status.INACCURATE)
    return cast("R", best)


def not_started(problem: Machine[R], name: str, version: str, form: Form, request: Request, why: str) -> R:
    """Build the result of a backend that was not started: α = 0, or the machine's point for it, certified."""
    machine: Any = problem
    say(f"{name} was not started: {why}", request.verbose)
    answer = QPSolution(problem.qp("dual"), Status.TIME_LIMIT, Solver(name, version, f"not started: {why}"))
    result = machine.interpret(
        answer, tol=request.tol, polished=request.polish, form="dual", backend=name,
        certifying=request.certifying, polishing=request.polishing(len(problem.labels), 0.0), clock=request.clock,
    )  # fmt: skip
    said = "" if result.status is Status.OPTIMAL else f"{name} on the {form} form was not started: {why}."
    return cast("R", replace(result, form=form, message=f"{result.message} {said}".strip()))


def check_room(problem: Machine[R], backend: Backend, form: Form, requirements: Requirements) -> None:
    """Check that there is as much memory as a backend will need: without it, compiled code may end the process.

    Raises TooLargeError.
    """
    limited = address_space() < float("inf")
    if requirements.bytes < LITTLE and not limited:
        return
    needed, there = requirements.bytes + (requirements.mapped if limited else 0.0), available_memory()
    needed = max(needed, LEAST_SPACE) if limited else needed
    if needed > there:
        short = f"needs about {in_words(needed)} of memory, and {in_words(there)} are available"
        raise TooLargeError(_too_large(problem, backend, form, short))


def _too_large(problem: Machine[R], backend: Backend, form: Form, short: str) -> str:
    n, d = problem.space.samples.shape
    ways = "backend='auto' takes what fits" if problem.space.is_linear else "a linear kernel needs no n × n matrix"
    return f"{backend.name} {short}, for the {form} form of {n} rows with {d} features: use fewer rows; {ways}"


def _setting_up(problem: Machine[R], backend: Backend, form: Form) -> str:
    n = len(problem.labels)
    matrix = "" if problem.space.is_linear else f", with the Gram matrix of {n} rows"
    return f"setting up {backend.name} on the {form} form{matrix}"


def _ladder(backend: Backend, request: Request) -> tuple[float | None, ...]:
    """Return the tolerances to ask of the solver, in order: one run only with user settings or polish=False."""
    if backend.abilities.tightens and request.polish and not request.options and request.max_iter is None:
        return (None, *LADDER)
    return (None,)
