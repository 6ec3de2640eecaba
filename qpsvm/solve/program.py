"""Solve any QP and certify the result by bounds on both sides of its optimum (`solve_program`).

A QP is proven to be optimal, infeasible (by multipliers), unbounded (by a ray) or not convex (by a direction). Each
proof is tried for the floats as they are, and then for a program within rounding of them: 3 × 0.1 is not 0.3 in floats.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm import backends
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.packages import find_library_version
from qpsvm.backends.recognise import describe_statement
from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.errors import (
    InaccurateWarning,
    NonConvexError,
    QPSVMError,
    SolverError,
    TooLargeError,
    UnsupportedError,
)
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.base.resources.messages import log_message
from qpsvm.bounds.program.faces import Face
from qpsvm.bounds.program.rays import Ray, find_ray
from qpsvm.bounds.program.reduction import ROUNDING, Reduction, reduce
from qpsvm.bounds.program.sides import QPBounds
from qpsvm.machines.problem.parameter_checks import Form
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.program.svm_dual import Statement
from qpsvm.result.qp_result import QPResult
from qpsvm.solve.program_attempt import QPAttempt, build_result_without_optimum
from qpsvm.solve.request import SolveRequest

#: The built-in solver of SVM duals.
BUILT_IN_SOLVER = "kernel_newton"
#: The fastest solver if there are rows of G (2 to 8 times as fast as CVXOPT with 300 to 3300 variables); without such
#: rows CVXOPT is.
FASTEST_WITH_ROWS = "clarabel"
#: The solver's tolerance relative to the requested one, which also has to cover the repair of its point; and the
#: smallest one, which floats can reach.
SOLVER_TOL_SHARE, MIN_SOLVER_TOL = 1e-3, 1e-10
#: Proven statuses, after which the search ends.
PROVEN_STATUSES = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def solve_program(qp: QP, backend: str, request: SolveRequest, start: Any, check: bool, form: Form | None) -> QPResult:
    """Solve a QP by the named backend, or by one after the other until the status is proven; return the best result.

    Raises UnsupportedError, SolverError, NonConvexError, TooLargeError.
    """
    if form is not None:
        raise UnsupportedError("form= belongs to machines: a QP is solved as given")
    request = replace(request, start=None if start is None else as_finite_vector(start, "start", qp.n))
    with np.errstate(all="ignore"), limit_blas_threads():
        result = _QPRun(qp, request).solve(backend)
        if np.isfinite(result.primal) or np.isfinite(result.dual):
            result = replace(result, machine=describe_machine_terms(qp, result))
    if check and result.status is not Status.OPTIMAL:
        message = f"{result.status}: {result.explanation}"
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            raise SolverError(f"{message} solve(qp, check=False) returns what proves it")
        message += f" ({result.solver.name} ended with {result.solver.status!r})"
        warnings.warn(f"{message}; the gap is {result.gap:.2g}, above tol = {request.tol:g}", InaccurateWarning, 3)
    return result


class _QPRun:
    """State of the solve of one QP over several backends."""

    def __init__(self, qp: QP, request: SolveRequest) -> None:
        self.qp, self.request, self.program = qp, request, QPBounds(qp)
        self.exact_reduction = reduce(qp)

    @cached
    def rounded_reduction(self) -> Reduction:
        """The reduction of a program within rounding; `exact_reduction` itself if no entry has to change."""
        reduction = reduce(self.qp, ROUNDING)
        is_other = bool(reduction.change) or self.exact_reduction.contradicts_by_rounding
        return reduction if is_other else self.exact_reduction

    def solve(self, backend: str) -> QPResult:
        """Run the backends in turn until the status is proven, and return the best result."""
        if not isinstance(backend, str) or backend != "auto":
            named = backends.get(backend)
            # raises an error before anything is built
            named.check_request(self.request.build_limits(named), self.request.options, any_qp=True)
        if self.program.curvature is None:
            direction = self.program.negative_direction()
            if direction is not None:
                raise NonConvexError(*direction)
        reduction = self.rounded_reduction if self.exact_reduction.contradicts_by_rounding else self.exact_reduction
        if reduction.contradiction is not None:
            return self._build_contradiction_result(reduction)
        best: QPResult | None = None
        refused: QPSVMError | None = None
        for chosen in _iter_accepting_backends(reduction.qp, backend):
            try:
                for found in self._iter_results(chosen):
                    log_message(f"{chosen.name}: {found.status}, gap {found.gap:.2g}", self.request.verbose)
                    best = found if best is None or _sort_key(found) < _sort_key(best) else best
                    if best.status in PROVEN_STATUSES:
                        return best
            except (UnsupportedError, TooLargeError, SolverError) as error:
                refused = refused or error
                continue
            if best is not None and self.ray is not None:
                unbounded = self._build_unbounded_result(best, self.ray)
                if unbounded is not None:
                    return unbounded
            if self.request.clock.find_stop_reason():
                break
        if best is None:
            assert refused is not None
            raise refused
        return best

    def _iter_results(self, chosen: Backend) -> Iterator[QPResult]:
        """Yield the results of a backend: for the floats as they are, then for programs within rounding of them.

        The solver runs once per reduction; its solution is certified for each of these programs.
        """
        request, dual, primal = self.request, -math.inf, math.inf
        limits = replace(request.build_limits(chosen), tol=max(request.tol * SOLVER_TOL_SHARE, MIN_SOLVER_TOL))
        chosen.check_request(limits, request.options, any_qp=True)
        solved: tuple[Reduction, QPSolution, float] | None = None  # with the seconds to compile
        for rounding, grown in ((False, False), (True, False), (True, True)):
            if (not rounding and self.exact_reduction.contradicts_by_rounding) or request.clock.find_stop_reason():
                continue
            reduction = self.rounded_reduction if rounding else self.exact_reduction
            if rounding and not grown and reduction is self.exact_reduction and dual > -math.inf:
                continue
            if reduction.contradiction is not None:
                yield self._build_contradiction_result(reduction)
                return
            if solved is None or solved[0] is not reduction:
                start_time = time.perf_counter()
                compiled = chosen.compile(reduction.qp)
                build_time = time.perf_counter() - start_time
                solved = reduction, compiled._solve_checked(limits, request.options), build_time
            attempt = QPAttempt(
                reduction,
                rounding,
                grow_diagonal=grown,
                relax_sides=grown and primal == math.inf,
                original=self.program,
            )
            found = replace(
                attempt.certify(solved[1], request.tol, request.polish, request.clock.remaining),
                build_time=solved[2],
            )
            dual, primal = max(dual, found.dual), min(primal, found.primal)
            yield found

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
        attempt = QPAttempt(
            self.rounded_reduction if self.exact_reduction.contradicts_by_rounding else self.exact_reduction,
            original=self.program,
        )
        above = attempt.program.bound_above(np.nan_to_num(best.x), None)
        if not math.isfinite(above.value):
            inside = attempt.interior_or_proof[0]
            point = inside.interior_point if isinstance(inside, Face) else inside
            above = above if point is None else attempt.program.bound_above(point, inside)
        if not math.isfinite(above.value):
            return None
        multipliers = (np.zeros(len(self.program.b)), np.zeros(len(self.program.h)), np.zeros(self.qp.n))
        change = max(ray.change, attempt.change)
        found = build_result_without_optimum(
            self.qp, Status.UNBOUNDED, multipliers, best.solver, change, above.x, build_time=best.build_time,
            solve_time=best.solve_time, iterations=best.iterations, ray=ray.direction,
        )  # fmt: skip
        return replace(found, radius=above.radius)


def compile_qp(qp: QP, backend: str) -> Compiled:
    """Compile the QP for a backend; with "auto", for the first that accepts it."""
    refused: QPSVMError | None = None
    for chosen in _iter_accepting_backends(qp, backend):
        try:
            return chosen.compile(qp)
        except (UnsupportedError, TooLargeError) as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _sort_key(result: QPResult) -> tuple[bool, float, int]:
    """Return the sort key of a result: proven first, then a smaller gap, then more finite bounds."""
    return result.status not in PROVEN_STATUSES, result.gap, math.isinf(result.primal) + math.isinf(result.dual)


def _iter_accepting_backends(qp: QP, backend: str) -> Iterator[Backend]:
    """Yield the backend named; or those that accept this QP, the built-in SVM solver first if it is an SVM dual."""
    if not isinstance(backend, str) or backend != "auto":  # an array is refused by name
        yield backends.get(backend)
        return
    if recognise_dual(qp) is not None:
        yield backends.get(BUILT_IN_SOLVER)
    for each in sorted(backends.iter_backends(), key=lambda each: qp.h is not None and each.name != FASTEST_WITH_ROWS):
        if (
            each.abilities.accepts_any_qp
            and not each.abilities.is_educational
            and not each.is_external
            and each.version() is not None
        ):
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
    vectors = int((result.x > 0.0).sum())
    text = f"the dual of {describe_statement(statement)}; {vectors} of {qp.n} multipliers are not 0"
    group = next((each for each in statement.svm.groups if each.multiplier == "b"), None)
    if group is None or not len(result.y):
        return text
    row = [each.name for each in statement.svm.groups if not each.ridge].index(group.name)
    b = result.y[row] * statement.rows.get(group.name, 1.0) / (statement.objective * statement.svm.unit)
    return f"{text}, b = {b:.6g}"
