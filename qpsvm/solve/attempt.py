"""Run one backend within the limits: compile, solve, unscale, certify (`run_backend`).

A backend is not started if its set-up, which cannot be interrupted, would exceed the time limit: the result is then the
best point available without a solver, certified like any other. Nor is it started if it needs more memory than is
available, which is an error.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Generic, cast

from qpsvm.backends.base import Backend
from qpsvm.backends.direct_dual import solve_dual_directly
from qpsvm.backends.limits import Limits
from qpsvm.backends.requirements import Requirements
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt, is_interrupted
from qpsvm.base.resources.limits import SMALL_BYTES, find_available_memory, find_free_address_space, format_bytes
from qpsvm.base.resources.messages import is_logging, log_message
from qpsvm.base.resources.pulse import PULSE_SECONDS, Pulse
from qpsvm.machines import Problem
from qpsvm.machines.problem.base_problem import BaseProblem
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.exchange import R
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.solve.request import USER_STOP_STATUSES, SolveRequest, format_time_estimate

#: The tolerances of a solver that supports refinement, tried one after the other until its point is certified.
TOLERANCES = (1e-6, 1e-9)
#: Bytes of address space that are always required: OpenBLAS waits forever if it cannot allocate its buffers.
MIN_ADDRESS_SPACE = 1.5e8


def run_backend(
    problem: BaseProblem[R],
    backend: Backend,
    form: Form,
    needed: Requirements,
    request: SolveRequest,
    budget_clock: Clock | None = None,
) -> R:
    """Compile, solve, unscale and certify; repeat at tighter tolerances until the result is optimal.

    `budget_clock` limits the time of this backend in addition to the request; None for no further limit.

    Raises TooLargeError, UnsupportedError.
    """
    check_available_memory(problem, backend, form, needed)
    try:
        with Pulse(request.verbose, _describe_setup(problem, backend, form)) as pulse:
            if needed.seconds > PULSE_SECONDS:  # some hold the interpreter's lock, so that the pulse cannot print
                seconds = format_time_estimate(needed.seconds)
                log_message(f"{backend.name} may print nothing for {seconds}, while it sets up", request.verbose)
            run = BackendRun(problem, backend, form, request, pulse)
            return _refine_until_certified(run, budget_clock or Clock())
    except TooLargeError:  # a MemoryError that already has a message
        raise
    except MemoryError as error:
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, "ran out of memory")) from error


def _refine_until_certified(run: BackendRun[R], budget_clock: Clock) -> R:
    """Solve at one tolerance after the other, and return the best result."""
    request = run.request
    best: Any = None
    for tol in _list_tolerances(run.backend, request):
        result: Any = run.solve(tol, budget_clock.remaining)
        if best is not None and best.gap < result.gap:
            best = replace(best, solve_time=run.solve_time, iterations=run.iterations, status=result.status)
        else:
            best = result
        if best.status is Status.OPTIMAL or best.error or run.reported in USER_STOP_STATUSES:
            break
    assert best is not None  # there is at least one tolerance
    if best.status is Status.TIME_LIMIT and request.time_limit is None:  # the limit was `budget_clock`, not the user's
        best = replace(best, status=Status.INACCURATE)
    return cast("R", best)


class BackendRun(Generic[R]):
    """A backend compiled for a problem, and its solves, each of which resumes from the previous one.

    solve_time, iterations: Totals of all solves so far.
    reported: The status that the last solve reported.
    """

    reported: Status

    def __init__(
        self, problem: BaseProblem[R], backend: Backend, form: Form, request: SolveRequest, pulse: Pulse
    ) -> None:
        self.problem, self.backend, self.form, self.request, self._pulse = problem, backend, form, request, pulse
        self.solve_time, self.iterations = 0.0, 0
        build_clock = Clock()
        svm = problem.svm if form == "dual" and isinstance(problem, Problem) and not problem.constraints else None
        self._scaled = self._compiled = None
        if svm is None or not backend.can_solve_dual(svm):
            self._scaled = problem._deferred_qp(form)
            self._compiled = backend.compile(self._scaled.qp)
        self._build_time = build_clock.seconds
        if is_logging(request.verbose):
            variables = len(problem.svm.level) if self._scaled is None else self._scaled.qp.n
            text = f"{problem.title}; backend {backend.name}, {form} form, {variables} variables"
            log_message(text, request.verbose)
        start = request.start if request.can_warm_start(backend, form) else None
        self._start = start if start is None or self._scaled is None else self._scaled.scale(start)

    def solve(self, tol: float | None, max_seconds: float) -> R:
        """Solve once, within `max_seconds`, and certify the point. Raises KeyboardInterrupt."""
        request = self.request
        limits = request.build_limits(self.backend, tol, max_seconds, self._start)
        self._start = None  # a second solve resumes from the last point
        self._pulse.activity = f"{self.backend.name} at work"
        with defer_interrupt() if self.backend.abilities.handles_interrupt else nullcontext():
            solution = self._call_solver(limits)
            self._pulse.activity = "measuring and polishing the point"
            result: Any = self.problem.interpret(
                solution,
                tol=request.tol,
                polished=request.polish,
                form=self.form,
                backend=self.backend.name,
                build_time=self._build_time,
                limits=request.build_certification_limits(len(self.problem._active_target), self.solve_time),
            )
            if is_interrupted() and result.status is not Status.INTERRUPTED:
                raise KeyboardInterrupt  # Ctrl-C was pressed after the solver had ended: it must not be ignored
        if is_logging(request.verbose):
            text = f"{result.solver.name} said {result.solver.status!r}; certified relative gap {result.gap:.3g}"
            log_message(text, request.verbose)
        self.reported = solution.reported
        return cast("R", result)

    def _call_solver(self, limits: Limits) -> QPSolution | DualSolution:
        """Call the solver; return its solution in the units of the problem.

        Of a QP, time and iterations are the totals of all solves.
        """
        options = self.request.options
        if self._scaled is None or self._compiled is None:
            dual_solution = solve_dual_directly(self.backend, self.problem.svm, limits, options)
            self._count(dual_solution)
            return dual_solution
        solution = self._compiled._solve_checked(limits, options)
        self._count(solution)
        return self._scaled.unscale(solution, solve_time=self.solve_time, iterations=self.iterations or None)

    def _count(self, solution: QPSolution | DualSolution) -> None:
        self.solve_time += solution.solve_time
        self.iterations += solution.iterations or 0


def build_unstarted_result(
    problem: BaseProblem[R], name: str, version: str, form: Form, request: SolveRequest, why: str
) -> R:
    """Build the result of a backend that was not started: the machine's point for no solution (α = 0), certified."""
    log_message(f"{name} was not started: {why}", request.verbose)
    no_solution = QPSolution(problem.qp("dual"), Status.TIME_LIMIT, Solver(name, version, f"not started: {why}"))
    result: Any = problem.interpret(
        no_solution,
        tol=request.tol,
        polished=request.polish,
        form="dual",
        backend=name,
        limits=request.build_certification_limits(len(problem._active_target), 0.0),
    )
    note = "" if result.status is Status.OPTIMAL else f"{name} on the {form} form was not started: {why}."
    return cast("R", replace(result, form=form, message=f"{result.message} {note}".strip()))


def check_available_memory(problem: BaseProblem[R], backend: Backend, form: Form, requirements: Requirements) -> None:
    """Check that a backend's memory is available: without it, compiled code may end the process.

    Raises TooLargeError.
    """
    has_address_limit = find_free_address_space() < float("inf")
    if requirements.memory_bytes < SMALL_BYTES and not has_address_limit:
        return
    needed, available = requirements.memory_bytes, find_available_memory()
    if has_address_limit:
        needed = max(needed + requirements.mapped_bytes, MIN_ADDRESS_SPACE)
    if needed > available:
        shortage = f"needs about {format_bytes(needed)} of memory, and {format_bytes(available)} are available"
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, shortage))


def _describe_memory_shortage(problem: BaseProblem[R], backend: Backend, form: Form, shortage: str) -> str:
    n, d = problem.space.samples.shape
    remedy = "backend='auto' takes what fits" if problem.space.is_linear else "a linear kernel needs no n × n matrix"
    return f"{backend.name} {shortage}, for the {form} form of {n} rows with {d} features: use fewer rows; {remedy}"


def _describe_setup(problem: BaseProblem[R], backend: Backend, form: Form) -> str:
    n = len(problem._active_target)
    matrix = "" if problem.space.is_linear else f", with the Gram matrix of {n} rows"
    return f"setting up {backend.name} on the {form} form{matrix}"


def _list_tolerances(backend: Backend, request: SolveRequest) -> tuple[float | None, ...]:
    """Return the tolerances to request of the solver, in order; None stands for its defaults.

    With the user's settings or limits, or polish=False, there is only one run.
    """
    if backend.abilities.supports_refinement and request.polish and not request.options and request.max_iter is None:
        return (None, *TOLERANCES)
    return (None,)
