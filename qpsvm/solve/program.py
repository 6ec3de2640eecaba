"""Solve any QP and certify the result by bounds on both sides of its optimum (`solve_program`).

A result is optimal, infeasible (proven by multipliers), unbounded (by a ray) or not convex (by a direction). Each proof
is tried for the floats as they are, and then for a program within rounding of them: 3 × 0.1 is not 0.3 in floats.
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
from qpsvm.backends.contract import Compiled, built_in_version
from qpsvm.backends.recognise import in_words
from qpsvm.base.arrays.checks import as_finite_vector
from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.errors import (
    InaccurateWarning,
    NonConvexError,
    QPSVMError,
    SolverError,
    TooLargeError,
    UnsupportedError,
)
from qpsvm.base.resources.limits import one_thread
from qpsvm.base.resources.progress import say
from qpsvm.bounds.program.faces import Face
from qpsvm.bounds.program.rays import Ray, find_ray
from qpsvm.bounds.program.reduction import ROUNDING, Reduction, reduce
from qpsvm.bounds.program.sides import Program
from qpsvm.machines.problem.parameters import Form
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status
from qpsvm.program.svm_dual import Statement
from qpsvm.result.qp_result import QPResult
from qpsvm.solve.choice import Request
from qpsvm.solve.program_attempt import Attempt, without_optimum

#: The built-in solver of SVM duals.
OWN = "kernel_newton"
#: The solver that is soonest where there are rows of G (2 to 8 × CVXOPT on 300 to 3300 variables); CVXOPT is without.
SOONEST_WITH_ROWS = "clarabel"
#: The solver is asked for this share of the tolerance, since repairs come on top; and never for more than floats have.
SHARE, FINEST = 1e-3, 1e-10
#: Proven statuses, after which the search ends.
DECIDED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def solve_program(qp: QP, backend: str, request: Request, start: Any, check: bool, form: Form | None) -> QPResult:
    """Return the best result of the backends: of the first whose point is proven, or of the one that is named."""
    if form is not None:
        raise UnsupportedError("form= belongs to machines: a QP is solved as it stands")
    request = replace(request, start=None if start is None else as_finite_vector(start, "start", qp.n))
    with np.errstate(all="ignore"), one_thread():
        result = _Judge(qp, request).solve(backend)
        if np.isfinite(result.primal) or np.isfinite(result.dual):
            result = replace(result, machine=in_its_terms(qp, result))
    if check and result.status is not Status.OPTIMAL:
        said = f"{result.status}: {result.explanation}"
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            raise SolverError(f"{said} solve(qp, check=False) returns what proves it")
        said += f" ({result.solver.name} ended with {result.solver.status!r})"
        warnings.warn(f"{said}; the gap is {result.gap:.2g}, above tol = {request.tol:g}", InaccurateWarning, 3)
    return result


class _Judge:
    """State of the solve of one QP over several backends."""

    def __init__(self, qp: QP, request: Request) -> None:
        self.qp, self.request, self.whole = qp, request, Program(qp)
        self.exact = reduce(qp)

    @remembered
    def near(self) -> Reduction:
        """The reduction of a program within rounding; `exact` itself, where no entry has to change."""
        found = reduce(self.qp, ROUNDING)
        return found if found.change or self.exact.contradicts_by_rounding else self.exact

    def solve(self, backend: str) -> QPResult:
        """Run the backends in turn until the status is proven, and return the best result."""
        if not isinstance(backend, str) or backend != "auto":
            named = backends.get(backend)
            named.check(self.request.limits(named), self.request.options, any_qp=True)
        if self.whole.curvature is None:
            direction = self.whole.negative_direction()
            if direction is not None:
                raise NonConvexError(*direction)
        reduction = self.near if self.exact.contradicts_by_rounding else self.exact
        if reduction.contradiction is not None:
            return self._contradicted(reduction)
        best: QPResult | None = None
        refused: QPSVMError | None = None
        for chosen in _takers(reduction.qp, backend):
            try:
                for found in self._answers(chosen):
                    say(f"{chosen.name}: {found.status}, gap {found.gap:.2g}", self.request.verbose)
                    best = found if best is None or _order(found) < _order(best) else best
                    if best.status in DECIDED:
                        return best
            except (UnsupportedError, TooLargeError, SolverError) as error:
                refused = refused or error
                continue
            if best is not None and self.ray is not None:
                unbounded = self._unbounded(best, self.ray)
                if unbounded is not None:
                    return unbounded
            if self.request.clock.stopped():
                break
        if best is None:
            assert refused is not None
            raise refused
        return best

    def _answers(self, chosen: Backend) -> Iterator[QPResult]:
        """Yield the results of a backend: for the floats as they are, then for programs within rounding of them."""
        request, dual, primal = self.request, -math.inf, math.inf
        limits = replace(request.limits(chosen), tol=max(request.tol * SHARE, FINEST))
        chosen.check(limits, request.options, any_qp=True)
        answered: tuple[Reduction, QPSolution, float] | None = None
        for rounding, grown in ((False, False), (True, False), (True, True)):
            if (not rounding and self.exact.contradicts_by_rounding) or request.clock.stopped():
                continue
            reduction = self.near if rounding else self.exact
            if rounding and not grown and reduction is self.exact and dual > -math.inf:
                continue
            if reduction.contradiction is not None:
                yield self._contradicted(reduction)
                return
            if answered is None or answered[0] is not reduction:
                began = time.perf_counter()
                data = chosen.compile(reduction.qp)
                build = time.perf_counter() - began
                answered = reduction, data._solved(limits, request.options), build
            attempt = Attempt(reduction, rounding, curved=grown, roomy=grown and primal == math.inf, whole=self.whole)
            found = replace(
                attempt.judge(answered[1], request.tol, request.polish, request.clock.left), build_time=answered[2]
            )
            dual, primal = max(dual, found.dual), min(primal, found.primal)
            yield found

    def _contradicted(self, reduction: Reduction) -> QPResult:
        """Return the result for rows that contradict each other, as elimination shows."""
        assert reduction.contradiction is not None
        solver = Solver("elimination", built_in_version(), "rows contradict each other")
        return without_optimum(self.qp, Status.INFEASIBLE, reduction.contradiction, solver, reduction.change)

    @remembered
    def ray(self) -> Ray | None:
        """A direction in which nothing bounds the objective from below, if one was found."""
        return find_ray(self.whole, ROUNDING)

    def _unbounded(self, best: QPResult, ray: Ray) -> QPResult | None:
        """Return the result that a ray proves, or None if no feasible point is known."""
        attempt = Attempt(self.near if self.exact.contradicts_by_rounding else self.exact, whole=self.whole)
        above = attempt.program.upper(np.nan_to_num(best.x), None)
        if not math.isfinite(above.value):
            inside = attempt.interior[0]
            point = inside.inside if isinstance(inside, Face) else inside
            above = above if point is None else attempt.program.upper(point, inside)
        if not math.isfinite(above.value):
            return None
        multipliers = (np.zeros(len(self.whole.b)), np.zeros(len(self.whole.h)), np.zeros(self.qp.n))
        change = max(ray.change, attempt.change)
        found = without_optimum(
            self.qp, Status.UNBOUNDED, multipliers, best.solver, change, above.x, build_time=best.build_time,
            solve_time=best.solve_time, iterations=best.iterations, ray=ray.direction,
        )  # fmt: skip
        return replace(found, radius=above.radius)


def compiled(qp: QP, backend: str) -> Compiled:
    """Compile the QP for a backend; with "auto", for the first that accepts it."""
    refused: QPSVMError | None = None
    for chosen in _takers(qp, backend):
        try:
            return chosen.compile(qp)
        except (UnsupportedError, TooLargeError) as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _order(result: QPResult) -> tuple[bool, float, int]:
    """Return the sort key of a result: proven first, then a smaller gap, then more finite bounds."""
    return result.status not in DECIDED, result.gap, math.isinf(result.primal) + math.isinf(result.dual)


def _takers(qp: QP, backend: str) -> Iterator[Backend]:
    """Yield the backend named; or those that accept this QP, the built-in SVM solver first if it is an SVM dual."""
    if not isinstance(backend, str) or backend != "auto":  # an array is refused by name
        yield backends.get(backend)
        return
    if recognised(qp) is not None:
        yield backends.get(OWN)
    for each in sorted(backends.everyone(), key=lambda each: qp.h is not None and each.name != SOONEST_WITH_ROWS):
        if each.abilities.any_qp and not each.abilities.study and not each.outside and each.version() is not None:
            yield each


def recognised(qp: QP) -> Statement | None:
    """Return the SVM dual that a QP states if the built-in solver accepts it, else None."""
    try:
        return backends.get(OWN).stated(qp)
    except UnsupportedError:
        return None


def in_its_terms(qp: QP, result: QPResult) -> str:
    """Describe the numbers of an SVM dual in terms of its machine; "" for any other QP.

    (PROGRAM.1) at a point of such a dual is the primal objective of the machine at w(α) and b, with its sign turned.
    """
    statement = recognised(qp)
    if statement is None:
        return ""
    vectors = int((result.x > 0.0).sum())
    words = f"the dual of {in_words(statement)}; {vectors} of {qp.n} multipliers are not 0"
    group = next((each for each in statement.svm.groups if each.multiplier == "b"), None)
    if group is None or not len(result.y):
        return words
    place = [each.name for each in statement.svm.groups if not each.ridge].index(group.name)
    b = result.y[place] * statement.rows.get(group.name, 1.0) / (statement.objective * statement.svm.unit)
    return f"{words}, b = {b:.6g}"
