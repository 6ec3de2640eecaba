"""A QP of any origin: solved by what takes any QP, and judged as a machine is, by both sides of its optimum.

The verdicts are optimal, infeasible (multipliers prove it), unbounded (a ray does) and not convex (a direction does). Each
is looked for in the floats as they are, and then in a program within rounding of them: 3 × 0.1 is not 0.3 in floats.
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
from qpsvm.base.arrays.types import FloatArray
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
from qpsvm.bounds.program.faces import Face, dual_inside, face_of
from qpsvm.bounds.program.feasibility import interior_point, off_the_rows, prove_infeasible
from qpsvm.bounds.program.polish import polish
from qpsvm.bounds.program.rays import Ray, find_ray
from qpsvm.bounds.program.reduction import ROUNDING, Reduction, reduce
from qpsvm.bounds.program.sides import STEPS, Lower, Multipliers, Program, Upper
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Solver, Status, complementarity, dual_residual, primal_residual
from qpsvm.program.svm_dual import Statement
from qpsvm.result.qp_result import QPResult
from qpsvm.solve.choice import Request
from qpsvm.space.operators.structured import shifted

#: Our own solver of machines' duals.
OWN = "kernel_newton"
#: The solver that is soonest where there are rows of G (2 to 8 × CVXOPT on 300 to 3300 variables); CVXOPT is without.
SOONEST_WITH_ROWS = "clarabel"
#: The solver is asked for this share of the tolerance, since repairs come on top; and never for more than floats have.
SHARE, FINEST = 1e-3, 1e-10
#: How much the diagonal of P grows in a program within rounding; with the rounding of that, less than `ROUNDING`.
GROWTH = 0.95 * ROUNDING
#: What is decided, and how little is left to look for, best first.
DECIDED = (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)


def solve_program(
    qp: QP, backend: str, request: Request, start: Any, check: bool, machines: tuple[Any, ...]
) -> QPResult:
    """The best verdict of the backends in turn: of the first that proves its point, or of one that is named.

    `machines` are options that a QP does not have: a form and a checkpoint.
    """
    if machines != (None, None):
        raise UnsupportedError("form= and checkpoint= belong to machines: a QP is solved as it stands")
    request = replace(request, start=None if start is None else as_finite_vector(start, "start", qp.n))
    with np.errstate(all="ignore"), one_thread():
        result = _Judge(qp, request).solve(backend)
        result = replace(result, machine=in_its_terms(qp, result))
    if check and result.status is not Status.OPTIMAL:
        said = f"{result.status}: {result.explanation}"
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED):
            raise SolverError(f"{said} solve(qp, check=False) returns what proves it")
        said += f" ({result.solver.name} ended with {result.solver.status!r})"
        warnings.warn(f"{said}; the gap is {result.gap:.2g}, above tol = {request.tol:g}", InaccurateWarning, 3)
    return result


class _Attempt:
    """A program whose optimum is to be bounded: what was given in fewer rows, or one within rounding of it.

    rounding: Whether entries may be changed by `ROUNDING` of themselves.
    grown: Whether the diagonal of P is.
    """

    def __init__(self, reduction: Reduction, rounding: bool, grown: bool, whole: Program) -> None:
        self.reduction, self.qp, self.change = reduction, reduction.qp, reduction.change
        if grown:
            P = self.qp.P
            self.qp = self.qp.replace(P=shifted(P, GROWTH * P.diagonal()))
            self.change = max(self.change, GROWTH + 2.0**-52)
        self.program = Program(self.qp, ROUNDING if rounding else 0.0)
        if not grown and self.qp.P is whole.qp.P:
            self.program.share(whole)

    @remembered
    def interior(self) -> tuple[FloatArray | Face | None, tuple[FloatArray, FloatArray] | None]:
        """A point with room, or a face; or multipliers that may prove that there is neither."""
        found, multipliers = interior_point(self.program)
        return (face_of(self.program) if found is None else found), multipliers

    def judge(self, solution: QPSolution, tol: float, finer: bool) -> QPResult:
        """The verdict on a solver's answer, `finer` where it is to be polished first."""
        program, given = self.program, self.reduction.given
        points = [] if solution.x is None else [Multipliers(solution.x, solution.y, solution.z)]
        better = polish(program, points[0]) if finer and points else None
        points = points if better is None else [better, *points]
        upper, lower, own = self._sides(points)
        if not math.isfinite(upper.value):
            for point in points:
                inside = off_the_rows(program, point.u)
                above = upper if inside is None else program.upper(point.u, inside)
                upper = above if above.value < upper.value else upper
        if not math.isfinite(upper.value):
            inside, shortfall = self.interior
            for point in points if inside is not None else []:
                above = program.upper(point.u, inside)
                upper = above if above.value < upper.value else upper
            proof = None if shortfall is None else prove_infeasible(program, *shortfall)
            if proof is not None:
                return self._infeasible(proof, solution)
        if _relative(upper.value, lower.value) > tol and program.curvature is not None:
            none = np.zeros(len(program.b)), np.zeros(len(program.h))
            for point in points[:1]:
                zero = program.lower(point.u, *none)
                lower = zero if zero.value > lower.value else lower
            if program.curvature.any():
                for point in points:
                    sharp = program.lower(*point, sharp=True)
                    lower = sharp if sharp.value > lower.value else lower
            lower = _raised(program, points, lower)
        change = max(self.change, lower.share)
        if lower.share and math.isfinite(upper.value):
            inside = self.interior[0]
            upper = min((program.upper(point.u, inside, lower.share) for point in points), key=lambda above: above.value)
        primal = upper.value
        if lower.rests is not None:  # q is moved: f is larger by no more than this
            primal += float(lower.rests @ (np.abs(upper.x) + upper.radius)) * (1.0 + 1e-9)
            with np.errstate(invalid="ignore"):
                change = max(change, float(np.nanmax(lower.rests / np.abs(self.qp.q))))
        gap = _relative(primal, lower.value)
        status, message = Status.INACCURATE, " ".join(f"{part}." for part in dict.fromkeys((upper.why, lower.why)) if part)
        if gap <= tol:
            status, message = Status.OPTIMAL, _said_of(change)
        elif solution.status not in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED):
            status = solution.status
        residuals = (math.nan,) * 3
        if solution.x is not None and solution.z_box is not None:
            qp, x, y, z, box = solution.qp, solution.x, solution.y, solution.z, solution.z_box
            residuals = (primal_residual(qp, x), dual_residual(qp, x, y, z, box), complementarity(qp, x, z, box))
        y, z, box = self.reduction.expand(lower.y, lower.z, _of_bounds(program, lower.c))
        return QPResult(
            given, status, upper.x, upper.radius, y, z, box, primal, lower.value, gap, own, *residuals,
            solver=Solver(*solution.solver), solve_time=solution.solve_time, iterations=solution.iterations,
            data_change=change, message=message,
        )  # fmt: skip

    def _sides(self, points: list[Multipliers]) -> tuple[Upper, Lower, float]:
        """The best bounds of the points, and the gap of the last one, the solver's own."""
        program = self.program
        upper = Upper(math.inf, np.full(self.qp.n, math.nan), math.inf, "the solver gave no point")
        none = (np.zeros(len(program.b)), np.zeros(len(program.h)), np.zeros(self.qp.n))
        lower, own = Lower(-math.inf, *none, "" if points else "the solver gave no point"), math.inf
        for point in points:
            above, below = program.upper(point.u, None), program.lower(*point)
            own = _relative(above.value, below.value)
            upper = above if above.value < upper.value or not math.isfinite(upper.radius) else upper
            lower = below if below.value > lower.value or not lower.c.any() else lower
        return upper, lower, own

    def _infeasible(self, proof: tuple[FloatArray, FloatArray], solution: QPSolution) -> QPResult:
        c = self.program.A.T @ proof[0] + self.program.G.T @ proof[1]
        y, z, box = self.reduction.expand(*proof, _of_bounds(self.program, c))
        message = f"Multipliers of the rows prove that no point satisfies all of them.{_said_of(self.change)}"
        return _without_optimum(
            self.reduction.given, Status.INFEASIBLE, (y, z, box), Solver(*solution.solver), message,
            solve_time=solution.solve_time, iterations=solution.iterations, data_change=self.change,
        )  # fmt: skip


def _said_of(change: float) -> str:
    """That the verdict is for a program within rounding of the one given, where it is."""
    return f" Proven for a program whose entries differ from these by at most {change:.2g} of themselves." if change else ""


def _without_optimum(
    qp: QP, status: Status, multipliers: tuple[FloatArray, FloatArray, FloatArray], solver: Solver, message: str,
    x: FloatArray | None = None, **others: Any,
) -> QPResult:  # fmt: skip
    """A verdict that there is no optimum: that is ∞ where no point is feasible, −∞ where nothing bounds it."""
    end = math.inf if status is Status.INFEASIBLE else -math.inf
    nothing = (math.nan,) * 3
    point, radius = (np.full(qp.n, math.nan), math.inf) if x is None else (x, 0.0)
    return QPResult(
        qp, status, point, radius, *multipliers, end, end, math.inf, math.inf, *nothing, solver=solver,
        message=message.strip(), **others,
    )  # fmt: skip


def _of_bounds(program: Program, c: FloatArray) -> FloatArray:
    """The multipliers of the bounds, (n,), in the signs of (QP.1): −c, where there is such a bound."""
    return np.where((c > 0.0) & np.isfinite(program.lb) | (c < 0.0) & np.isfinite(program.ub), -c, 0.0)


class _Judge:
    """What is known of one QP while solvers are asked in turn."""

    def __init__(self, qp: QP, request: Request) -> None:
        self.qp, self.request, self.whole = qp, request, Program(qp)
        self.exact = reduce(qp)

    @remembered
    def near(self) -> Reduction:
        """The reduction of a program within rounding; `exact` itself, where no entry has to change."""
        found = reduce(self.qp, ROUNDING)
        return found if found.change or self.exact.hair else self.exact

    def solve(self, backend: str) -> QPResult:
        """The verdict."""
        if self.whole.curvature is None:
            found = self.whole.negative_direction()
            if found is not None:
                raise NonConvexError(*found)
        reduction = self.near if self.exact.hair else self.exact
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
        """The verdicts on a backend's answer: for the floats as they are, then for programs within rounding of them."""
        request, dual = self.request, -math.inf
        limits = replace(request.limits(chosen), tol=max(request.tol * SHARE, FINEST))
        chosen.check(limits, request.options)
        answered: tuple[Reduction, QPSolution, float] | None = None
        for rounding, grown in ((False, False), (True, False), (True, True)):
            if (not rounding and self.exact.hair) or request.clock.stopped():
                continue
            reduction = self.near if rounding else self.exact
            other_rows = reduction is not self.exact and not grown
            if rounding and not other_rows and (dual > -math.inf or (grown and not reduction.qp.P.diagonal().any())):
                continue
            if reduction.contradiction is not None:
                yield self._contradicted(reduction)
                return
            if answered is None or answered[0] is not reduction:
                began = time.perf_counter()
                data = chosen.compile(reduction.qp)
                build = time.perf_counter() - began
                answered = reduction, data._solved(limits, request.options), build
            attempt = _Attempt(reduction, rounding, grown, self.whole)
            found = replace(attempt.judge(answered[1], request.tol, request.polish), build_time=answered[2])
            dual = max(dual, found.dual)
            yield found

    def _contradicted(self, reduction: Reduction) -> QPResult:
        """That rows contradict each other, as elimination shows."""
        assert reduction.contradiction is not None
        message = f"Multipliers of the rows prove that no point satisfies all of them.{_said_of(reduction.change)}"
        solver = Solver("elimination", built_in_version(), "rows contradict each other")
        return _without_optimum(
            self.qp, Status.INFEASIBLE, reduction.contradiction, solver, message, data_change=reduction.change
        )

    @remembered
    def ray(self) -> Ray | None:
        """A direction in which nothing bounds the objective from below, if one was found."""
        return find_ray(self.whole, ROUNDING)

    def _unbounded(self, best: QPResult, ray: Ray) -> QPResult | None:
        """The verdict that a ray proves, once a feasible point is known."""
        x, radius = best.x, best.radius
        if not math.isfinite(radius):
            attempt = _Attempt(self.near if self.exact.hair else self.exact, False, False, self.whole)
            inside = attempt.interior[0]
            point = inside.inside if isinstance(inside, Face) else inside
            if point is None:
                return None
            x, radius = attempt.program.upper(point, inside)[1:3]
            if not math.isfinite(radius):
                return None
        multipliers = (np.zeros(len(self.whole.b)), np.zeros(len(self.whole.h)), np.zeros(self.qp.n))
        change = max(ray.change, best.data_change if best.radius < math.inf else self.exact.change)
        message = f"From x along the ray every point is feasible, and the objective falls without end.{_said_of(change)}"
        found = _without_optimum(
            self.qp, Status.UNBOUNDED, multipliers, best.solver, message, x, build_time=best.build_time,
            solve_time=best.solve_time, iterations=best.iterations, data_change=change, ray=ray.direction,
        )  # fmt: skip
        return replace(found, radius=radius)


def compiled(qp: QP, backend: str) -> Compiled:
    """The QP for a backend; for "auto", for the first that takes it."""
    refused: QPSVMError | None = None
    for chosen in _takers(qp, backend):
        try:
            return chosen.compile(qp)
        except (UnsupportedError, TooLargeError) as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _order(result: QPResult) -> tuple[float, int]:
    """What is better first: the gap, then how many sides of the optimum are known."""
    return result.gap, math.isinf(result.primal) + math.isinf(result.dual)


def _takers(qp: QP, backend: str) -> Iterator[Backend]:
    """The backend named; or those that take this QP, a machine's own solver first where it is a machine's dual."""
    if not isinstance(backend, str) or backend != "auto":  # an array is refused by name
        yield backends.get(backend)
        return
    if recognised(qp) is not None:
        yield backends.get(OWN)
    for each in sorted(backends.everyone(), key=lambda each: qp.h is not None and each.name != SOONEST_WITH_ROWS):
        if each.abilities.any_qp and not each.abilities.study and not each.outside and each.version() is not None:
            yield each


def recognised(qp: QP) -> Statement | None:
    """The machine's dual that a QP is, whoever wrote it, if our own solver takes it; else None."""
    try:
        return backends.get(OWN).stated(qp)
    except UnsupportedError:
        return None


def in_its_terms(qp: QP, result: QPResult) -> str:
    """What the numbers of a machine's dual mean; "" where it is none.

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


def _raised(program: Program, points: list[Multipliers], lower: Lower) -> Lower:
    """(FACE.4): the best bound of multipliers that are moved a little; the one given where none is better."""
    for x, y, z in points:
        for other_y, other_z in dual_inside(program, x):
            for t in STEPS[1:]:
                moved = np.maximum(z, 0.0) * (1.0 - t) + t * np.maximum(other_z, 0.0)
                found = program.lower(x, y + t * (other_y - y), moved)
                lower = found if found.value > lower.value else lower
    return lower


def _relative(above: float, below: float) -> float:
    """The gap between two sides, infinite where one of them is."""
    difference = above - below
    return max(difference / max(1.0, abs(above), abs(below)), 0.0) if math.isfinite(difference) else math.inf
