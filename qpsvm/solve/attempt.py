"""Run one backend within the limits: compile, solve, unscale, certify (`run_backend`).

A backend is not started if its set-up, which cannot be interrupted, would exceed the time limit: then the result is the
best point available without a solver, certified like any other (`build_unstarted_result`). Nor is it started if it
needs more memory than is available, which is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace

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
from qpsvm.machines.problem.certifier import CertifiedPoint
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.result.svm_result import SVMResult
from qpsvm.solve.candidate import Attempt
from qpsvm.solve.request import USER_STOP_STATUSES, SolveRequest, format_time_estimate

#: The next solve starts at the certified point if its gap is less than this share of that of the solver's own point.
#: Otherwise it starts at the latter, with the solver's multipliers.
MIN_GAP_RATIO = 0.5
#: Bytes of address space that are always required: OpenBLAS waits forever if it cannot allocate its buffers.
MIN_ADDRESS_SPACE = 1.5e8


def run_backend(
    problem: Problem,
    backend: Backend,
    form: Form,
    needed: Requirements,
    request: SolveRequest,
    budget_clock: Clock,
    max_iter: int | None,
) -> Attempt[SVMResult]:
    """Compile, solve, unscale and certify; repeat at tighter tolerances until the result is optimal.

    budget_clock: Limits the time of this backend in addition to the request.
    max_iter: Limit on its iterations; None for none.

    Raises TooLargeError, UnsupportedError.
    """
    check_available_memory(problem, backend, form, needed)
    try:
        with Pulse(request.verbose, _describe_setup(problem, backend, form)) as pulse:
            if needed.seconds > PULSE_SECONDS:  # the pulse cannot print if the backend holds the interpreter's lock
                seconds = format_time_estimate(needed.seconds)
                log_message(f"{backend.name} may print nothing for {seconds}, while it sets up", request.verbose)
            run = BackendRun(problem, backend, form, request, pulse, max_iter)
            return _refine_until_certified(run, budget_clock)
    except TooLargeError:  # a MemoryError that already has a message
        raise
    except MemoryError as error:
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, "ran out of memory")) from error


def _refine_until_certified(run: BackendRun, budget_clock: Clock) -> Attempt[SVMResult]:
    """Solve at one tolerance after another until the result is optimal, and return the best one."""
    request = run.request
    tolerances = _list_tolerances(run.backend, request)
    best: CertifiedPoint | None = None
    for tol in tolerances:
        is_rough = tol != tolerances[-1] and tol is not None and tol > request.tol
        certified = run.solve(tol, budget_clock.remaining, is_rough)
        if best is not None and best.certificate.gap < certified.certificate.gap:
            best = replace(best, status=certified.status)
        else:
            best = certified
        if best.status is Status.OPTIMAL or best.error or run.is_over:
            break
    assert best is not None  # there is at least one tolerance
    if best.status is Status.TIME_LIMIT and request.time_limit is None:  # the limit was `budget_clock`, not the user's
        best = replace(best, status=Status.INACCURATE)
    # if the solver's own gap is within the tolerance, the rest of the certified gap is a bound on rounding
    has_reached_tol = best.solver_gap <= request.tol and not run.problem.space.is_linear
    is_rounding = has_reached_tol or run.problem._certifier.gap_refiner.is_rounding(best.certificate)
    return Attempt(run.build_result(best), is_rounding)


class BackendRun:
    """A backend compiled for a problem, which solves it repeatedly, each time resuming from the previous solve.

    max_iter: Limit on the iterations of all solves; None for none.
    is_over: Whether the user stopped the last solve, or no iterations are left.
    """

    def __init__(
        self, problem: Problem, backend: Backend, form: Form, request: SolveRequest, pulse: Pulse,
        max_iter: int | None,
    ) -> None:  # fmt: skip
        self.problem = problem
        self.backend = backend
        self.form = form
        self.request = request
        self._pulse = pulse
        self.max_iter = max_iter
        self.is_over = False
        self._solve_time, self._iterations = 0.0, 0
        build_clock = Clock()
        svm = problem.svm if form == "dual" and not problem.constraints else None
        self._scaled = self._compiled = None
        if svm is None or not backend.can_solve_dual(svm):
            self._scaled = problem._deferred_qp(form)
            self._compiled = backend.compile(self._scaled.qp)
        self._build_time = build_clock.seconds
        if is_logging(request.verbose):
            if self._scaled is None:
                variables = len(problem.svm.level)
            else:
                variables = self._scaled.qp.n
            text = f"{problem.title}; backend {backend.name}, {form} form, {variables} variables"
            log_message(text, request.verbose)
        start = request.start if request.can_warm_start(backend, form) else None
        if start is None or self._scaled is None:
            self._start = start
        else:
            self._start = self._scaled.scale(start)
        self._start_multipliers: Mapping[str, float] | None = None

    def solve(self, tol: float | None, max_seconds: float, is_rough: bool = False) -> CertifiedPoint:
        """Solve once, within `max_seconds`, and certify the point. Raises KeyboardInterrupt.

        is_rough: Whether it will be solved again at a smaller tolerance.
        """
        request, problem = self.request, self.problem
        if self.max_iter is None:
            iterations_left = None
        else:
            iterations_left = self.max_iter - self._iterations
        limits = request.build_limits(
            self.backend, tol, max_seconds, iterations_left, self._start, self._start_multipliers
        )
        self._pulse.activity = f"{self.backend.name} at work"
        with defer_interrupt() if self.backend.abilities.handles_interrupt else nullcontext():
            solution = self._call_solver(limits)
            self._pulse.activity = "measuring and polishing the point"
            certification = request.build_certification_limits(len(problem._active_target), self._solve_time, is_rough)
            certified = problem._certify_solution(solution, request.tol, request.polish, self.form, certification)
            if is_interrupted() and certified.status is not Status.INTERRUPTED:
                if certified.status is Status.OPTIMAL or not is_rough:
                    raise KeyboardInterrupt  # Ctrl-C was pressed after the solver had ended: it must not be ignored
                certified = replace(certified, status=Status.INTERRUPTED)
        self._solver = solution.solver
        if is_logging(request.verbose):
            text = f"{self._solver.name} ended with {self._solver.status!r}; certified relative gap"
            log_message(f"{text} {certified.certificate.gap:.3g}", request.verbose)
        has_iterations = self.max_iter is None or self._iterations < self.max_iter
        self.is_over = bool({solution.reported, certified.status} & {*USER_STOP_STATUSES}) or not has_iterations
        self._set_next_start(solution, certified)
        return certified

    def build_result(self, certified: CertifiedPoint) -> SVMResult:
        """Build the result of a point, with the record of all solves."""
        return self.problem._build_certified_result(
            certified, backend=self.backend.name, iterations=self._iterations or None, build_time=self._build_time,
            solve_time=self._solve_time, solver=self._solver,
        )  # fmt: skip

    def _call_solver(self, limits: Limits) -> QPSolution | DualSolution:
        """Call the solver; return its solution in the units of the problem."""
        options = self.request.options
        solution: QPSolution | DualSolution
        if self._scaled is None or self._compiled is None:
            solution = solve_dual_directly(self.backend, self.problem.svm, limits, options)
        else:
            solution = self._compiled._solve_checked(limits, options)
        self._solve_time += solution.solve_time
        self._iterations += solution.iterations or 0
        if isinstance(solution, QPSolution) and self._scaled:
            return self._scaled.unscale(solution)
        return solution

    def _set_next_start(self, solution: QPSolution | DualSolution, certified: CertifiedPoint) -> None:
        """Set the start of the next solve: the certified point if it is clearly better than the solver's own.

        A compiled QP resumes from its last point by itself.
        """
        self._start = None
        certificate = certified.certificate
        if not isinstance(solution, DualSolution):
            return
        self._start, self._start_multipliers = solution.alpha, solution.multipliers
        if certificate.gap < MIN_GAP_RATIO * certified.solver_gap:
            self._start, self._start_multipliers = certificate.alpha, certificate.multipliers


def build_unstarted_result(
    problem: Problem, name: str, version: str, form: Form, request: SolveRequest, reason: str
) -> SVMResult:
    """Build the result of a backend that was not started: the machine's point at α = 0, certified."""
    log_message(f"{name} was not started: {reason}", request.verbose)
    no_solution = DualSolution(Status.TIME_LIMIT, Solver(name, version, f"not started: {reason}"))
    limits = request.build_certification_limits(len(problem._active_target), 0.0)
    certified = replace(problem._certify_solution(no_solution, request.tol, request.polish, "dual", limits), form=form)
    if certified.status is not Status.OPTIMAL:
        note = f"{name} on the {form} form was not started: {reason}."
        certified = replace(certified, message=f"{certified.message} {note}".strip())
    return problem._build_certified_result(
        certified, backend=name, iterations=None, build_time=0.0, solve_time=0.0, solver=no_solution.solver
    )


def check_available_memory(problem: Problem, backend: Backend, form: Form, requirements: Requirements) -> None:
    """Check that a backend's memory is available: without it, compiled code may end the process.

    Raises TooLargeError.
    """
    has_address_limit = find_free_address_space() < float("inf")
    if requirements.memory_bytes < SMALL_BYTES and not has_address_limit:
        return
    needed = requirements.memory_bytes
    available = find_available_memory()
    if has_address_limit:
        needed = max(needed + requirements.mapped_bytes, MIN_ADDRESS_SPACE)
    if needed > available:
        shortage = f"needs about {format_bytes(needed)} of memory, and {format_bytes(available)} are available"
        raise TooLargeError(_describe_memory_shortage(problem, backend, form, shortage))


def _describe_memory_shortage(problem: Problem, backend: Backend, form: Form, shortage: str) -> str:
    """Describe what a backend lacks, and a remedy, in a sentence."""
    n, d = problem.space.samples.shape
    if problem.space.is_linear:
        remedy = "backend='auto' takes what fits"
    else:
        remedy = "a linear kernel needs no n × n matrix"
    return f"{backend.name} {shortage}, for the {form} form of {n} rows with {d} features: use fewer rows; {remedy}"


def _describe_setup(problem: Problem, backend: Backend, form: Form) -> str:
    n = len(problem._active_target)
    matrix = "" if problem.space.is_linear else f", with the Gram matrix of {n} rows"
    return f"setting up {backend.name} on the {form} form{matrix}"


def _list_tolerances(backend: Backend, request: SolveRequest) -> tuple[float | None, ...]:
    """Return the tolerances to request of the solver, in order; None stands for its defaults.

    With the user's settings, an iteration limit or polish=False, there is only one.
    """
    if request.polish and not request.options and request.max_iter is None:
        return backend.abilities.tolerances
    return (None,)
