"""Solve any QP and certify the result by bounds on both sides of its optimum (`solve_program`).

A QP is proven to be optimal, infeasible (by multipliers), unbounded (by a ray) or not convex (by a direction). Each
proof is tried for the floats as they are, and then for a program within rounding of them: 3 × 0.1 is not 0.3 in floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.packages import find_library_version
from qpsvm.backends.recognise import describe_statement
from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.errors import NonConvexError, QPSVMError, TooLargeError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import log_message
from qpsvm.bounds.program.qp_bounds import QPBounds
from qpsvm.bounds.program.rays import Ray, find_ray
from qpsvm.bounds.program.reduction import ROUNDING, Reduction, reduce_qp
from qpsvm.bounds.program.upper_bound import Face, bound_above
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.program.svm_dual import Statement
from qpsvm.result.qp_result import QPResult
from qpsvm.solve.candidate import Attempt, Candidate, is_auto, iter_supporting
from qpsvm.solve.program_attempt import QPAttempt, build_result_without_optimum
from qpsvm.solve.request import SolveRequest
from qpsvm.solve.search import PROVEN_STATUSES, find_best_result, rank_result

#: The built-in solver of SVM duals.
BUILT_IN_SOLVER = "kernel_newton"
#: The fastest solver if there are rows of G (2 to 8 times as fast as CVXOPT with 300 to 3300 variables); without such
#: rows CVXOPT is.
FASTEST_WITH_ROWS = "clarabel"
#: The solver's tolerance relative to the requested one, which also has to cover the repair of its point; and the
#: smallest one, which floats can reach.
SOLVER_TOL_SHARE, MIN_SOLVER_TOL = 1e-3, 1e-10


def solve_program(qp: QP, backend: str, request: SolveRequest, start: Any, form: Form | None) -> QPResult:
    """Solve a QP by the named backend, or by one after the other until the status is proven; return the best result.

    Raises UnsupportedError, SolverError, NonConvexError, TooLargeError.
    """
    if form is not None:
        raise UnsupportedError("form= belongs to machines: a QP is solved as given")
    request = replace(request, start=None if start is None else as_finite_vector(start, "start", qp.n))
    is_named = not is_auto(backend)
    if is_named:
        named = backends.get(backend)
        _check_request(named, request)  # raises an error before anything is built
        if request.start is not None and not named.abilities.supports_warm_start:
            raise named.build_warm_start_error(any_qp=True)
    run = _QPRun(qp, request)
    result = run.find_early_result()
    if result is None:
        candidates = (
            ProgramCandidate(backend=each, request=request, program_run=run)
            for each in _iter_accepting_backends(run.first_reduction.qp, backend)
        )
        auto_options = {} if is_named else request.options
        supporting = iter_supporting(candidates, lambda each: _check_request(each.backend, request), auto_options)
        result = find_best_result(supporting, request)
    if np.isfinite(result.primal) or np.isfinite(result.dual):
        result = replace(result, machine=describe_machine_terms(qp, result))
    return result


def _check_request(backend: Backend, request: SolveRequest) -> None:
    """Check that a backend supports limits and options of a request. Raises UnsupportedError, UnknownOptionError."""
    backend.check_request(request.build_limits(backend), request.options, any_qp=True)


class _SolverRun(NamedTuple):
    """What a solver returned for a reduced program, and the seconds to compile it."""

    reduction: Reduction
    solution: QPSolution
    build_time: float


class _QPRun:
    """One QP with its reductions, which all backends share."""

    def __init__(self, qp: QP, request: SolveRequest) -> None:
        self.qp = qp
        self.request = request
        self.program = QPBounds(qp)
        self.exact_reduction = reduce_qp(qp)

    @cached
    def rounded_reduction(self) -> Reduction:
        """The reduction of a program within rounding; `exact_reduction` itself if no entry has to change."""
        reduction = reduce_qp(self.qp, ROUNDING)
        is_other = bool(reduction.change) or self.exact_reduction.contradicts_by_rounding
        return reduction if is_other else self.exact_reduction

    @cached
    def first_reduction(self) -> Reduction:
        """The reduction to begin with: exact, unless rows contradict each other by no more than rounding."""
        if self.exact_reduction.contradicts_by_rounding:
            return self.rounded_reduction
        return self.exact_reduction

    def find_early_result(self) -> QPResult | None:
        """Return the result if it is known without a solver, else None. Raises NonConvexError."""
        if self.program.hessian.curvature is None:
            direction = self.program.hessian.find_negative_direction()
            if direction is not None:
                raise NonConvexError(*direction)
        reduction = self.first_reduction
        if reduction.contradiction is None:
            return None
        return self._build_contradiction_result(reduction)

    def run_backend(self, backend: Backend, clock: Clock) -> QPResult:
        """Return the best result of a backend, within the limits of the request and of a clock.

        Raises UnsupportedError, TooLargeError, SolverError.
        """
        best: QPResult | None = None
        for found in self._iter_results(backend, clock):
            log_message(f"{backend.name}: {found.status}, gap {found.gap:.2g}", self.request.verbose)
            if best is None or rank_result(found) < rank_result(best):
                best = found
            if best.status in PROVEN_STATUSES:
                return best
        assert best is not None  # the solver ran at least once
        if self.ray is None:
            unbounded = None
        else:
            unbounded = self._build_unbounded_result(best, self.ray)
        return unbounded or best

    def _iter_results(self, backend: Backend, clock: Clock) -> Iterator[QPResult]:
        """Yield the results of a backend for up to three programs, until time runs out or rows contradict each other.

        First the floats as they are, then with changes by rounding, then also with a larger diagonal of P and, if no
        feasible point is known, looser inequalities. The solver runs once per reduction; its solution is certified for
        each of these programs.
        """
        request = self.request
        exact = self.exact_reduction
        dual = -math.inf
        primal = math.inf
        run: _SolverRun | None = None
        for is_rounded, is_grown in ((False, False), (True, False), (True, True)):
            if not is_rounded and exact.contradicts_by_rounding:
                continue
            if run is not None and (request.clock.find_stop_reason() or clock.find_stop_reason()):
                return
            reduction = self.rounded_reduction if is_rounded else exact
            if is_rounded and not is_grown and reduction is exact and dual > -math.inf and primal < math.inf:
                continue  # the same program again, whose bounds are finite
            if reduction.contradiction is not None:
                yield self._build_contradiction_result(reduction)
                return
            if run is None or run.reduction is not reduction:
                run = self._run_solver(backend, reduction, clock)
            is_relaxed = is_grown and primal == math.inf
            attempt = QPAttempt(reduction, is_rounded, is_grown, is_relaxed, self.program)
            found = attempt.certify(run.solution, request.tol, request.polish, request.clock.remaining)
            dual, primal = max(dual, found.dual), min(primal, found.primal)
            yield replace(found, build_time=run.build_time)

    def _run_solver(self, backend: Backend, reduction: Reduction, clock: Clock) -> _SolverRun:
        """Compile and solve a reduced program. Raises UnsupportedError, TooLargeError, SolverError."""
        request = self.request
        build_clock = Clock()
        compiled = backend.compile(reduction.qp)
        build_time = build_clock.seconds
        start = request.start if backend.abilities.supports_warm_start else None  # x has the same entries
        tol = max(request.tol * SOLVER_TOL_SHARE, MIN_SOLVER_TOL)
        limits = replace(request.build_limits(backend, max_seconds=clock.remaining, start=start), tol=tol)
        return _SolverRun(reduction, compiled._solve_checked(limits, request.options), build_time)

    def _build_contradiction_result(self, reduction: Reduction) -> QPResult:
        """Return the result for rows that contradict each other, as elimination shows."""
        assert reduction.contradiction is not None
        solver = Solver("elimination", find_library_version(), "rows contradict each other")
        return build_result_without_optimum(
            self.qp, Status.INFEASIBLE, reduction.contradiction, solver, reduction.change
        )

    @cached
    def ray(self) -> Ray | None:
        """A direction along which the objective is unbounded below; None if none was found."""
        return find_ray(self.program, ROUNDING)

    def _build_unbounded_result(self, best: QPResult, ray: Ray) -> QPResult | None:
        """Return the result that a ray proves, or None if no feasible point is known."""
        attempt = QPAttempt(self.first_reduction, original=self.program)
        above = bound_above(attempt.program, np.nan_to_num(best.x), None)
        if not math.isfinite(above.value):
            interior = attempt.interior
            point = interior.interior_point if isinstance(interior, Face) else interior
            if point is not None:
                above = bound_above(attempt.program, point, interior)
        if not math.isfinite(above.value):
            return None
        multipliers = (np.zeros(len(self.program.b)), np.zeros(len(self.program.h)), np.zeros(self.qp.n))
        change = max(ray.change, attempt.change)
        found = build_result_without_optimum(
            self.qp, Status.UNBOUNDED, multipliers, best.solver, change, above.x, build_time=best.build_time,
            solve_time=best.solve_time, iterations=best.iterations, ray=ray.direction,
        )  # fmt: skip
        return replace(found, radius=above.radius)


@dataclass(frozen=True, kw_only=True)
class ProgramCandidate(Candidate[QPResult]):
    """A backend for a QP."""

    program_run: _QPRun

    def run(self, clock: Clock) -> Attempt[QPResult]:
        """Solve and certify."""
        return Attempt(self.program_run.run_backend(self.backend, clock))

    def build_unstarted_result(self, reason: str) -> QPResult:
        """Build a result without a point."""
        qp = self.program_run.qp
        solver = self.backend.describe_solver(f"not started: {reason}")
        y, z = (np.zeros(0 if rows is None else len(rows)) for rows in (qp.b, qp.h))
        return QPResult(
            qp, Status.TIME_LIMIT, np.full(qp.n, math.nan), math.inf, y, z, np.zeros(qp.n), math.inf, -math.inf,
            math.inf, math.inf, *(math.nan,) * 3, solver=solver, message=f"{self} was not started: {reason}.",
        )  # fmt: skip


def compile_qp(qp: QP, backend: str) -> Compiled:
    """Compile the QP for a backend; with "auto", for the first that accepts it. Raises the first refusal."""
    refusal: QPSVMError | None = None
    for chosen in _iter_accepting_backends(qp, backend):
        try:
            return chosen.compile(qp)
        except (UnsupportedError, TooLargeError) as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def _iter_accepting_backends(qp: QP, backend: str) -> Iterator[Backend]:
    """Yield the backend named; or those that accept this QP, the built-in SVM solver first if it is an SVM dual."""
    if not is_auto(backend):
        yield backends.get(backend)
        return
    if recognise_dual(qp) is not None:
        yield backends.get(BUILT_IN_SOLVER)
    for each in sorted(backends.iter_backends(), key=lambda each: qp.h is not None and each.name != FASTEST_WITH_ROWS):
        is_eligible = each.abilities.accepts_any_qp and not each.abilities.is_educational and not each.is_external
        if is_eligible and each.version() is not None:
            yield each


def recognise_dual(qp: QP) -> Statement | None:
    """Return the SVM dual that a QP states if the built-in solver accepts it, else None."""
    try:
        return backends.get(BUILT_IN_SOLVER).read_statement(qp)
    except UnsupportedError:
        return None


def describe_machine_terms(qp: QP, result: QPResult) -> str:
    """Describe the numbers of an SVM dual in terms of its machine; "" for any other QP.

    (PROGRAM.1) at a point of such a dual is the primal objective of the machine at w(α) and b, with its sign turned.
    """
    statement = recognise_dual(qp)
    if statement is None:
        return ""
    n_positive = int((result.x > 0.0).sum())
    text = f"the dual of {describe_statement(statement)}; {n_positive} of {qp.n} multipliers are not 0"
    group = next((each for each in statement.svm.groups if each.multiplier == "b"), None)
    if group is None or not len(result.y):
        return text
    index = [each.name for each in statement.svm.groups if not each.ridge].index(group.name)
    b = result.y[index] * statement.rows.get(group.name, 1.0) / (statement.objective * statement.svm.unit)
    return f"{text}, b = {b:.6g}"
