"""Solve an all-in-one multiclass machine by a backend: solve, polish, certify (`solve_joint`).

The sequential dual method runs in stages, from rough to fine. After each stage the system of the active set of its
point is solved exactly (polishing), and as soon as that gives an optimum no finer stage is needed. Any general backend
accepts either QP of the problem; its point is polished and certified in the same way.
"""

from __future__ import annotations

import math
from dataclasses import replace

from qpsvm import backends
from qpsvm.backends.base import Backend, refuse_unknown
from qpsvm.backends.contract import Limits, built_in_version, stopped
from qpsvm.backends.own.sequential_dual_ import NAME, check_memory, run
from qpsvm.backends.requirements import Size
from qpsvm.base.errors import UnknownOptionError, UnsupportedError, nearest
from qpsvm.base.resources.progress import Clock, heard, held, noted, say
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.polish import polish
from qpsvm.machines import JointProblem
from qpsvm.machines.problem.parameters import Form, check_form
from qpsvm.machines.problem.reading import concluded
from qpsvm.program.solution import Solver, Status
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.solve.choice import SHORTEST, Request, attempt, check_room, not_started

#: Violations of the optimality conditions, as shares of the level, at which the sequential dual's stages end.
STAGES = (0.5, 0.1, 0.02, 3e-3, 1e-4, 1e-6, 1e-8)
#: Polishing after a stage may take as long as all stages so far, and at least this many seconds.
POLISHING = 0.2
#: Seconds that polishing may take at the end.
LAST_POLISH = 10.0
#: Rows of the dual up to which every step length of (POL.2) is tried after every stage.
FEW_ROWS = 2000
#: A measured gap that ends the stages, and seconds after which one that is within the tolerance does.
FINE, LONG = 1e-12, 1.0
#: The next stage starts at the polished point if its gap is less than this share of that of the stage's own point.
WORTH = 0.5
#: Default limits on the steps of the sequential dual method: per sample, and in all; the larger one counts.
STEPS_EACH, LEAST_STEPS = 400, 20_000
#: The same if a general solver can take over; and additional steps per sample if that solver will take long.
QUICK_STEPS_EACH, QUICK_STEPS, PATIENT_STEPS_EACH = 10, 1500, 300
#: The general solver of sparse QPs, and the numbers in the rows of a primal, and in w, up to which it is quick.
SPARSE, SPARSE_ENTRIES, SPARSE_COLUMNS = "cvxpy", 4_000_000, 2000
#: The general solver of dense QPs, and the rows of a dual up to which it is worth trying, and up to which it is quick.
DENSE, DENSE_ROWS, QUICK_ROWS = "cvxopt", 1500, 600


def solve_joint(problem: JointProblem, backend: str, form: Form | None, request: Request) -> JointResult:
    """Solve an all-in-one machine by the backend named, or by sequential dual and, if that fails, another.

    Raises UnknownOptionError, UnsupportedError, TooLargeError.
    """
    if form is not None:
        check_form(form)
    if backend == "auto" and form == "primal":
        return _general(problem, backends.get(DENSE), form, request)
    if backend not in ("auto", NAME):
        return _general(problem, _able(backend), form, request)
    if form == "primal":
        raise UnsupportedError(f"{NAME} takes the dual form only; use form='dual', or {', '.join(general_backends())}")
    if request.options:
        refuse_unknown(NAME, request.options, frozenset())
    alone = backend == NAME or not request.polish or request.max_iter is not None
    others = [] if alone else _others(problem, request.time_limit is not None)
    best: JointResult | None = None
    size = min(_entries(problem) / SPARSE_ENTRIES, 1.0) if problem.space.is_linear else 0.0
    each = QUICK_STEPS_EACH + int(size * PATIENT_STEPS_EACH)
    brief = replace(request, max_iter=max(QUICK_STEPS, each * problem.joint.n))
    first: list[tuple[Request, tuple[str, Form] | None]] = [(brief, None)] if others else []
    for asked, other in [*first, *((request, other) for other in others), (request, None)]:
        if other is not None:
            result = _general(problem, backends.get(other[0]), other[1], asked)
        else:
            result = _sequential(problem, asked, last=asked is request)
        best = result if best is None or result.gap < best.gap else best
        if best.status in (Status.OPTIMAL, Status.INTERRUPTED) or request.clock.stopped():
            break
    assert best is not None  # there is at least one turn
    return best


def _others(problem: JointProblem, timed: bool) -> list[tuple[str, Form]]:
    """Return the general solvers to try if the sequential dual method does not converge soon, the fastest first.

    If the time is limited, only those that enforce a limit.
    """
    dual, space = problem.joint, problem.space
    others: list[tuple[str, Form]] = []
    sparse = space.is_linear and _entries(problem) <= SPARSE_ENTRIES
    if sparse and dual.k * space.samples.d <= SPARSE_COLUMNS:
        others.append((SPARSE, "primal"))
    if len(dual.places) <= DENSE_ROWS:
        others.insert(0 if len(dual.places) <= QUICK_ROWS else len(others), (DENSE, "dual"))
    there = [(each, form) for each, form in others if backends.get(each).version() is not None]
    return [other for other in there if not timed or backends.get(other[0]).abilities.grants("time_limit")]


def _entries(problem: JointProblem) -> int:
    """Return the number of entries in the rows of the primal of a linear machine."""
    return 2 * (problem.joint.k - 1) * problem.space.samples.entries


def general_backends() -> tuple[str, ...]:
    """Return the names of the backends that take any QP, and so those of an all-in-one machine."""
    return tuple(each.name for each in backends.everyone() if each.abilities.any_qp and not each.abilities.study)


def _able(name: str) -> Backend:
    """Return a backend that takes any QP. Raises UnknownOptionError, UnsupportedError, MissingExtraError."""
    if not isinstance(name, str) or name not in backends.names():
        raise UnknownOptionError(f"unknown backend {name!r}; {nearest(name, [*backends.names(), 'auto', NAME])}")
    backend = backends.get(name)
    if not backend.abilities.any_qp:
        raise UnsupportedError(
            f"{name} does not take machines that learn several classes in one program; use auto, {NAME}, "
            f"{' or '.join(general_backends())}"
        )
    backend.require()
    return backend


# --- the sequential dual method -------------------------------------------------------------------------------------


def _sequential(problem: JointProblem, request: Request, last: bool = True) -> JointResult:
    """Run the stages of the sequential dual method, each followed by polishing; longer at the end if `last`."""
    judge, tol = problem.judge, request.tol
    late = request.too_late(_matrix_seconds(problem))
    if late is not None:
        return not_started(problem, NAME, built_in_version(), "dual", request, late)
    building = Clock()
    most = request.max_iter or max(LEAST_STEPS, STEPS_EACH * problem.joint.n)
    gram, dual, svm = problem.space.centred, problem.joint, problem.svm
    check_memory(gram, dual)
    build_time, solving, steps = building.seconds, 0.0, 0
    alpha, b = request.start, None
    best: Certificate | None = None
    reason, solver_gap = "converged", float("inf")
    with held():
        for stage in STAGES:
            began = Clock()
            left = None if request.clock.limit is None else max(request.clock.left, SHORTEST)
            answer = run(gram, dual, stage, Limits(None, max(most - steps, 1), left, request.verbose), alpha, b)
            solving, steps = solving + began.seconds, steps + answer.iterations
            reason = answer.reason
            point = judge.certify(dual.flat(answer.alpha))
            solver_gap = point.gap
            ended = reason != "converged" or stage == STAGES[-1]
            if request.polish and not noted():
                patience = LAST_POLISH if ended and last else max(solving, POLISHING)
                seconds = min(patience, max(request.clock.left, 0.0))
                lengths = None if ended or len(dual.places) <= FEW_ROWS else 1
                point = polish(svm, point, judge.certify, clock=Clock(max(seconds, 0.0)), lengths=lengths)
            best = point if best is None or point.gap < best.gap else best
            if heard(request.verbose):
                say(f"{NAME} to {stage:g}: gap {solver_gap:.1e}, polished {point.gap:.1e}", request.verbose)
            if best.gap <= tol and (best.gap <= FINE or not request.polish or solving > LONG):
                with_rounding_bound = judge.with_rounding_bound(best, tol)
                if with_rounding_bound.gap <= tol:
                    best = with_rounding_bound
                    break
            if ended:
                break
            alpha, b = answer.alpha, answer.b
            if point.gap < WORTH * solver_gap:
                alpha, b = dual.square(point.alpha), dual.intercepts(point.multipliers)
        if noted():
            if best is not None and best.gap <= tol:
                raise KeyboardInterrupt  # pressed when there was nothing left to stop: it is not lost
            reason = "interrupted"
    assert best is not None  # there is at least one stage
    status, words = stopped(reason)
    if math.isnan(best.size):  # not counted yet
        best = judge.with_rounding_bound(best, tol)
    result: JointResult = concluded(
        problem, best, status, tol, backend=NAME, form="dual", iterations=steps, build_time=build_time,
        solve_time=solving, solver=Solver(NAME, built_in_version(), words), solver_gap=solver_gap,
    )  # fmt: skip
    return result


def _matrix_seconds(problem: JointProblem) -> float:
    """Estimate the seconds of the full kernel matrix, whose computation cannot be stopped."""
    space = problem.space
    n, d = space.samples.n, space.samples.d
    return Size(n, d, n * d, space.is_linear).gram_seconds


# --- general solvers ------------------------------------------------------------------------------------------------


def _general(problem: JointProblem, backend: Backend, form: Form | None, request: Request) -> JointResult:
    """Solve one of the QPs by a general solver, at tighter tolerances until the certificate accepts the point.

    Raises TooLargeError.
    """
    chosen: Form = form or backend.preferred_form(problem.space.is_linear)
    backend.check(request.limits(backend), request.options, any_qp=True)
    needed = backend.requirements(_size(problem, chosen), chosen)
    check_room(problem, backend, chosen, needed)
    late = request.too_late(needed.seconds)
    if late is not None:
        return not_started(problem, backend.name, backend.version() or "?", chosen, request, late)
    return attempt(problem, backend, chosen, needed, replace(request, start=None))


def _size(problem: JointProblem, form: Form) -> Size:
    """Return the size of one of the QPs, from which the requirements follow."""
    dual, space = problem.joint, problem.space
    d = space.samples.d
    stored = space.samples.entries if space.is_linear else dual.n * dual.n
    entries = 2 * (dual.k - 1) * stored
    width = dual.k * (d if space.is_linear else dual.n)
    explicit = form == "primal" or space.is_linear
    return Size(len(dual.places), width if explicit else d, entries, explicit, dual.n)
