"""Solve an all-in-one multiclass machine by a backend: solve, polish, certify (`solve_all_in_one`).

The sequential dual method runs in stages, from rough to fine. After each stage the system of the active set of its
point is solved exactly (polishing), and as soon as that gives an optimum no finer stage is needed. Any general backend
accepts either QP of the problem; its point is polished and certified in the same way.
"""

from __future__ import annotations

import math
from dataclasses import replace

from qpsvm import backends
from qpsvm.backends.base import Backend, check_known_options
from qpsvm.backends.limits import Limits
from qpsvm.backends.own.sequential_dual_ import NAME, check_memory, run
from qpsvm.backends.packages import find_library_version
from qpsvm.backends.requirements import Size
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.base.errors import UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.interrupt import defer_interrupt, is_interrupted
from qpsvm.base.resources.messages import is_logging, log_message
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import polish
from qpsvm.machines import AllInOneProblem
from qpsvm.machines.problem.parameter_checks import Form, check_form
from qpsvm.program.status import Solver, Status
from qpsvm.result.all_in_one_result import AllInOneResult
from qpsvm.solve.attempt import build_unstarted_result, check_available_memory, run_backend
from qpsvm.solve.request import MIN_TIME_LIMIT, SolveRequest

#: Violations of the optimality conditions, as shares of the level, at which the sequential dual's stages end.
STAGES = (0.5, 0.1, 0.02, 3e-3, 1e-4, 1e-6, 1e-8)
#: Polishing after a stage may take as long as all stages so far, and at least this many seconds.
MIN_POLISH_SECONDS = 0.2
#: Seconds that polishing may take at the end.
FINAL_POLISH_SECONDS = 10.0
#: Rows of the dual up to which every step length of (POL.2) is tried after every stage.
ALL_LENGTHS_ROWS = 2000
#: A measured gap that ends the stages, and seconds after which one that is within the tolerance does.
FINE_GAP, LONG_SECONDS = 1e-12, 1.0
#: The next stage starts at the polished point if its gap is less than this share of that of the stage's own point.
MIN_GAP_RATIO = 0.5
#: Default limits on the steps of the sequential dual method: per sample, and in all; the larger one counts.
STEPS_PER_SAMPLE, MIN_STEPS = 400, 20_000
#: The same if a general solver can take over; and additional steps per sample if that solver will take long.
QUICK_STEPS_PER_SAMPLE, MIN_QUICK_STEPS, EXTRA_STEPS_PER_SAMPLE = 10, 1500, 300
#: The general solver of sparse QPs, and the numbers in the rows of a primal, and in w, up to which it is quick.
SPARSE_SOLVER, SPARSE_ENTRIES, SPARSE_COLUMNS = "cvxpy", 4_000_000, 2000
#: The general solver of dense QPs, and the rows of a dual up to which it is worth trying, and up to which it is quick.
DENSE_SOLVER, DENSE_ROWS, QUICK_ROWS = "cvxopt", 1500, 600


def solve_all_in_one(
    problem: AllInOneProblem, backend: str, form: Form | None, request: SolveRequest
) -> AllInOneResult:
    """Solve an all-in-one machine by the backend named, or by sequential dual and, if that fails, another.

    Raises UnknownOptionError, UnsupportedError, TooLargeError.
    """
    if form is not None:
        check_form(form)
    if backend == "auto" and form == "primal":
        return _solve_by_general_backend(problem, backends.get(DENSE_SOLVER), form, request)
    if backend not in ("auto", NAME):
        return _solve_by_general_backend(problem, _get_general_backend(backend), form, request)
    if form == "primal":
        raise UnsupportedError(
            f"{NAME} takes the dual form only; use form='dual', or {', '.join(list_general_backends())}"
        )
    if request.options:
        check_known_options(NAME, request.options, frozenset())
    is_only_method = backend == NAME or not request.polish or request.max_iter is not None
    fallbacks = [] if is_only_method else _list_fallback_solvers(problem, request.time_limit is not None)
    best: AllInOneResult | None = None
    size = min(_count_primal_entries(problem) / SPARSE_ENTRIES, 1.0) if problem.space.is_linear else 0.0
    steps_per_sample = QUICK_STEPS_PER_SAMPLE + int(size * EXTRA_STEPS_PER_SAMPLE)
    brief = replace(request, max_iter=max(MIN_QUICK_STEPS, steps_per_sample * problem._all_in_one_dual.n))
    first_attempt: list[tuple[SolveRequest, tuple[str, Form] | None]] = [(brief, None)] if fallbacks else []
    for attempt_request, fallback in [
        *first_attempt,
        *((request, fallback) for fallback in fallbacks),
        (request, None),
    ]:
        if fallback is not None:
            result = _solve_by_general_backend(problem, backends.get(fallback[0]), fallback[1], attempt_request)
        else:
            result = _solve_by_sequential_dual(problem, attempt_request, last=attempt_request is request)
        best = result if best is None or result.gap < best.gap else best
        if best.status in (Status.OPTIMAL, Status.INTERRUPTED) or request.clock.find_stop_reason():
            break
    assert best is not None  # there is at least one attempt
    return best


def _list_fallback_solvers(problem: AllInOneProblem, has_time_limit: bool) -> list[tuple[str, Form]]:
    """Return the general solvers to try if the sequential dual method does not converge soon, the fastest first.

    If the time is limited, only those that enforce a limit.
    """
    dual, space = problem._all_in_one_dual, problem.space
    solvers: list[tuple[str, Form]] = []
    sparse = space.is_linear and _count_primal_entries(problem) <= SPARSE_ENTRIES
    if sparse and dual.k * space.samples.d <= SPARSE_COLUMNS:
        solvers.append((SPARSE_SOLVER, "primal"))
    if len(dual.row_positions) <= DENSE_ROWS:
        solvers.insert(0 if len(dual.row_positions) <= QUICK_ROWS else len(solvers), (DENSE_SOLVER, "dual"))
    installed = [(name, form) for name, form in solvers if backends.get(name).version() is not None]
    return [
        solver for solver in installed if not has_time_limit or backends.get(solver[0]).abilities.supports("time_limit")
    ]


def _count_primal_entries(problem: AllInOneProblem) -> int:
    """Return the number of entries in the rows of the primal of a linear machine."""
    return 2 * (problem._all_in_one_dual.k - 1) * problem.space.samples.entries


def list_general_backends() -> tuple[str, ...]:
    """Return the names of the backends that accept any QP, and so those of all-in-one machines."""
    return tuple(
        each.name
        for each in backends.iter_backends()
        if each.abilities.accepts_any_qp and not each.abilities.is_educational
    )


def _get_general_backend(name: str) -> Backend:
    """Return a backend that takes any QP. Raises UnknownOptionError, UnsupportedError, MissingExtraError."""
    if not isinstance(name, str) or name not in backends.names():
        raise UnknownOptionError(
            f"unknown backend {name!r}; {describe_nearest(name, [*backends.names(), 'auto', NAME])}"
        )
    backend = backends.get(name)
    if not backend.abilities.accepts_any_qp:
        raise UnsupportedError(
            f"{name} does not take machines that learn several classes in one program; use auto, {NAME}, "
            f"{' or '.join(list_general_backends())}"
        )
    backend.require_package()
    return backend


# --- the sequential dual method -------------------------------------------------------------------------------------


def _solve_by_sequential_dual(problem: AllInOneProblem, request: SolveRequest, last: bool = True) -> AllInOneResult:
    """Run the stages of the sequential dual method, each followed by polishing; longer at the end if `last`."""
    certifier, tol = problem._certifier, request.tol
    late_reason = request.explain_late_start(_estimate_gram_seconds(problem))
    if late_reason is not None:
        return build_unstarted_result(problem, NAME, find_library_version(), "dual", request, late_reason)
    building = Clock()
    max_steps = request.max_iter or max(MIN_STEPS, STEPS_PER_SAMPLE * problem._all_in_one_dual.n)
    gram, dual, svm = problem.space.centred_gram, problem._all_in_one_dual, problem.svm
    check_memory(gram, dual)
    build_time, solving, steps = building.seconds, 0.0, 0
    alpha, b = request.start, None
    best: Certificate | None = None
    reason, solver_gap = "converged", float("inf")
    with defer_interrupt():
        for stage in STAGES:
            stage_clock = Clock()
            seconds_left = None if request.clock.limit is None else max(request.clock.remaining, MIN_TIME_LIMIT)
            solution = run(
                gram, dual, stage, Limits(None, max(max_steps - steps, 1), seconds_left, request.verbose), alpha, b
            )
            solving, steps = solving + stage_clock.seconds, steps + solution.iterations
            reason = solution.reason
            point = certifier.certify(dual.flatten_alpha(solution.alpha))
            solver_gap = point.gap
            is_final_stage = reason != "converged" or stage == STAGES[-1]
            if request.polish and not is_interrupted():
                polish_seconds = FINAL_POLISH_SECONDS if is_final_stage and last else max(solving, MIN_POLISH_SECONDS)
                seconds = min(polish_seconds, max(request.clock.remaining, 0.0))
                lengths = None if is_final_stage or len(dual.row_positions) <= ALL_LENGTHS_ROWS else 1
                point = polish(svm, point, certifier.certify, clock=Clock(max(seconds, 0.0)), lengths=lengths)
            best = point if best is None or point.gap < best.gap else best
            if is_logging(request.verbose):
                log_message(f"{NAME} to {stage:g}: gap {solver_gap:.1e}, polished {point.gap:.1e}", request.verbose)
            if best.gap <= tol and (best.gap <= FINE_GAP or not request.polish or solving > LONG_SECONDS):
                with_rounding_bound = certifier.with_rounding_bound(best, tol)
                if with_rounding_bound.gap <= tol:
                    best = with_rounding_bound
                    break
            if is_final_stage:
                break
            alpha, b = solution.alpha, solution.b
            if point.gap < MIN_GAP_RATIO * solver_gap:
                alpha, b = dual.unflatten_alpha(point.alpha), dual.extract_intercepts(point.multipliers)
        if is_interrupted():
            if best is not None and best.gap <= tol:
                raise KeyboardInterrupt  # Ctrl-C came after the last stage: do not lose it
            reason = "interrupted"
    assert best is not None  # there is at least one stage
    status, status_text = translate_stop_reason(reason)
    if math.isnan(best.size):  # rounding is not included yet
        best = certifier.with_rounding_bound(best, tol)
    return problem._build_judged_result(
        best, status, tol, backend=NAME, form="dual", iterations=steps, build_time=build_time,
        solve_time=solving, solver=Solver(NAME, find_library_version(), status_text), solver_gap=solver_gap,
    )  # fmt: skip


def _estimate_gram_seconds(problem: AllInOneProblem) -> float:
    """Estimate the seconds of the full kernel matrix, whose computation cannot be stopped."""
    space = problem.space
    n, d = space.samples.n, space.samples.d
    return Size(n, d, n * d, space.is_linear).gram_seconds


# --- general solvers ------------------------------------------------------------------------------------------------


def _solve_by_general_backend(
    problem: AllInOneProblem, backend: Backend, form: Form | None, request: SolveRequest
) -> AllInOneResult:
    """Solve one of the QPs by a general solver, at tighter tolerances until the certificate accepts the point.

    Raises TooLargeError.
    """
    chosen: Form = form or backend.preferred_form(problem.space.is_linear)
    backend.check_request(request.build_limits(backend), request.options, any_qp=True)
    needed = backend.requirements(_measure_qp_size(problem, chosen), chosen)
    check_available_memory(problem, backend, chosen, needed)
    late_reason = request.explain_late_start(needed.seconds)
    if late_reason is not None:
        return build_unstarted_result(problem, backend.name, backend.version() or "?", chosen, request, late_reason)
    return run_backend(problem, backend, chosen, needed, replace(request, start=None))


def _measure_qp_size(problem: AllInOneProblem, form: Form) -> Size:
    """Return the size of one of the QPs, from which the requirements follow."""
    dual, space = problem._all_in_one_dual, problem.space
    d = space.samples.d
    stored = space.samples.entries if space.is_linear else dual.n * dual.n
    entries = 2 * (dual.k - 1) * stored
    width = dual.k * (d if space.is_linear else dual.n)
    explicit = form == "primal" or space.is_linear
    return Size(len(dual.row_positions), width if explicit else d, entries, explicit, dual.n)
