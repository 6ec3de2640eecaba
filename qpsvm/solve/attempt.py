"""Run one backend within the limits: compile, solve, unscale, certify (`run_backend`).

A backend is not started if its set-up, which cannot be stopped, would exceed the time limit: the result is then the
best point available without a solver, certified like any other. Nor is it started if it needs more memory than
available; that is an error.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

from qpsvm.backends.base import Backend
from qpsvm.backends.direct_dual import solve_dual_directly
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

#: The tolerances of a solver that can refine, one after the other, until its point is certified.
TOLERANCES = (1e-6, 1e-9)
#: Seconds that the certificate may take after Ctrl-C.
INTERRUPTED_CERTIFICATE_SECONDS = 0.5
#: Bytes of address space that anything takes: OpenBLAS waits for its buffers for ever where it cannot have them.
MIN_ADDRESS_SPACE = 1.5e8


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
