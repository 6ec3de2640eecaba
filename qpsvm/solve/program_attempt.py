"""Certify a solver's solution of a QP by bounds on both sides of its optimum (`QPAttempt`).

Both bounds are computed at the solver's point first. If that does not suffice, more costly ones are tried: from above,
at points moved inside the rows; from below, with a sharper curvature, multipliers moved by (FACE.4), or without distant
bounds, (PROGRAM.9).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.program.faces import find_face, iter_interior_multipliers
from qpsvm.bounds.program.feasibility import (
    InfeasibilityProof,
    InteriorSearch,
    find_interior_point,
    move_off_rows,
    prove_infeasible,
)
from qpsvm.bounds.program.polish import polish
from qpsvm.bounds.program.qp_bounds import DualArguments, LowerBound, QPBounds
from qpsvm.bounds.program.reduction import ROUNDING, Reduction
from qpsvm.bounds.program.upper_bound import INTERIOR_STEPS, Face, UpperBound, bound_above
from qpsvm.program.qp import QP
from qpsvm.program.residuals import compute_complementarity, compute_dual_residual, compute_primal_residual
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Solver, Status
from qpsvm.result.qp_result import QPResult
from qpsvm.space.operators.structured import add_diagonal

#: Relative increase of the diagonal of P and of h in a program within rounding; with the rounding error of the increase
#: itself, the change stays below `ROUNDING`.
GROWTH = 0.95 * ROUNDING
#: Time limit of a linear program that helps to certify a point, as a multiple of the solver's time or of a second.
LP_TIME_FACTOR = 2.0
#: Messages of results that prove that there is no optimum.
PROOF_SENTENCES = {
    Status.INFEASIBLE: "Multipliers of the rows prove that no point satisfies all of them.",
    Status.UNBOUNDED: "From x along the ray every point is feasible, and the objective falls without end.",
}


class QPAttempt:
    """A program whose optimum is to be bounded: a reduction of the given one, exact or within rounding.

    rounding: Whether entries may be changed by a relative `ROUNDING`.
    grow_diagonal, relax_rows: Whether the diagonal of P, or h, is increased by `GROWTH`.
    original: The given program: if P is the same, its convexity need not be tested again.
    """

    def __init__(
        self,
        reduction: Reduction,
        rounding: bool = False,
        grow_diagonal: bool = False,
        relax_rows: bool = False,
        original: QPBounds | None = None,
    ) -> None:
        self.reduction = reduction
        self.qp = reduction.qp
        self.change = reduction.change
        exact = self.qp
        P = self.qp.P
        h = self.qp.h
        if grow_diagonal and P.diagonal().any():
            self.qp = self.qp.replace(P=add_diagonal(P, GROWTH * P.diagonal()))
        if relax_rows and h is not None:
            self.qp = self.qp.replace(h=h + GROWTH * np.abs(h))
        if self.qp is not exact:
            self.change = max(self.change, GROWTH + EPS)
        hessian = None if original is None or self.qp.P is not original.qp.P else original.hessian
        self.program = QPBounds(self.qp, ROUNDING if rounding else 0.0, hessian)

    @cached
    def interior(self) -> FloatArray | Face | None:
        """A strictly feasible point (n,), or a face with a point inside it; None if neither is found."""
        point, has_slack, _ = self._interior_search
        face = None if has_slack else find_face(self.program)
        return point if face is None else face

    @cached
    def _interior_search(self) -> InteriorSearch:
        """The result of the linear program."""
        return find_interior_point(self.program)

    def certify(self, solution: QPSolution, tol: float, with_polish: bool, remaining: float = math.inf) -> QPResult:
        """Certify a solver's solution, polished first if `with_polish`, within `remaining` seconds."""
        program = self.program
        program.seconds = max(min(remaining, LP_TIME_FACTOR * max(solution.solve_time, 1.0)), 0.0)
        if solution.x is None:
            points = []
        else:
            points = [DualArguments(solution.x, solution.y, solution.z)]
        polished = polish(program, points[0]) if with_polish and points else None
        points = points if polished is None else [polished, *points]
        upper, lower, solver_gap = self._bound_both_sides(points)
        if not math.isfinite(upper.value):
            upper = self._improve_upper_bound(points, upper)
        if not math.isfinite(upper.value):
            multipliers = self._interior_search.multipliers
            if multipliers is None:
                proof = None
            else:
                proof = prove_infeasible(program, *multipliers)
            if proof is not None:
                return self._build_infeasible_result(proof, solution)
        if _compute_gap(upper.value, lower.value) > tol and program.hessian.curvature is not None:
            lower = self._improve_lower_bound(points, lower)
        if lower.g_change and math.isfinite(upper.value):  # both bounds must hold for the changed G
            bounds = (bound_above(program, point.u, self.interior, lower.g_change) for point in points)
            upper = min(bounds, key=lambda bound: bound.value)
        return self._build_result(solution, tol, upper, lower, solver_gap)

    def _build_result(
        self, solution: QPSolution, tol: float, upper: UpperBound, lower: LowerBound, solver_gap: float
    ) -> QPResult:
        """Build the result from bounds on both sides."""
        primal = upper.value
        change = max(self.change, lower.g_change)
        if lower.q_change is not None:  # the lower bound is for a changed q, which increases f by at most this
            if math.isfinite(primal):
                primal += float(lower.q_change @ (np.abs(upper.x) + upper.radius)) * (1.0 + 1e-9)  # covers its rounding
            sizes = np.abs(self.qp.q)
            change = max(change, float((lower.q_change / np.where(sizes > 0.0, sizes, 1.0)).max()))
        gap = _compute_gap(primal, lower.value)
        if gap <= tol:
            status = Status.OPTIMAL
            message = _describe_change(change)
        else:
            claims_proof = solution.reported in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
            status = Status.INACCURATE if claims_proof else solution.reported
            message = " ".join(f"{reason}." for reason in dict.fromkeys((upper.reason, lower.reason)) if reason)
        y, z, box = self.reduction.expand(*self._choose_multipliers(solution, upper.x, lower))
        return QPResult(
            self.reduction.original, status, upper.x, upper.radius, y, z, box, primal, lower.value, gap, solver_gap,
            *_measure_residuals(solution), solver=Solver(*solution.solver), solve_time=solution.solve_time,
            iterations=solution.iterations, data_change=change, message=message,
        )  # fmt: skip

    def _choose_multipliers(
        self, solution: QPSolution, x: FloatArray, lower: LowerBound
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return y (p,), z (m,) and z_box (n,) of the lower bound, or the solver's if they satisfy (QP.1) better.

        A lower bound may use bounds that follow from rows, (PROGRAM.8), which have no multipliers. Bounds that are
        distant from x (n,), (PROGRAM.9), have the multiplier 0.
        """
        candidates = [(lower.y, lower.z, lower.c)]
        if solution.x is not None:
            z = np.maximum(solution.z, 0.0)
            c = self.qp.P @ solution.x + self.qp.q + self.program.A.T @ solution.y + self.program.G.T @ z
            candidates.append((solution.y, z, c))
        program = self.program.without_distant_bounds(x) or self.program
        boxes = [_find_bound_multipliers(program, c) for _, _, c in candidates]
        residuals = [float(np.abs(c + box).max(initial=0.0)) for (_, _, c), box in zip(candidates, boxes, strict=True)]
        best = int(residuals[-1] < 0.5 * residuals[0])
        return candidates[best][0], candidates[best][1], boxes[best]

    def _bound_both_sides(self, points: list[DualArguments]) -> tuple[UpperBound, LowerBound, float]:
        """Return the best bounds of the points, and the gap of the last point, which is the solver's."""
        program = self.program
        upper = UpperBound(math.inf, np.full(self.qp.n, math.nan), math.inf, "the solver gave no point")
        zero = (np.zeros(len(program.b)), np.zeros(len(program.h)), np.zeros(self.qp.n))
        lower = LowerBound(-math.inf, *zero, "" if points else "the solver gave no point")
        gap = math.inf
        for point in points:
            above = bound_above(program, point.u, None)
            below = program.bound_below(*point)
            gap = _compute_gap(above.value, below.value)
            if above.value < upper.value or not math.isfinite(upper.radius):
                upper = above
            lower = below if below.value > lower.value or not lower.c.any() else lower
        return upper, lower, gap

    def _improve_upper_bound(self, points: list[DualArguments], upper: UpperBound) -> UpperBound:
        """Return the best upper bound at the points moved off the rows or inside; the given one if none is better."""
        program = self.program
        for point in points:
            towards = move_off_rows(program, point.u)
            above = upper if towards is None else bound_above(program, point.u, towards)
            upper = above if above.value < upper.value else upper
        interior = None if math.isfinite(upper.value) else self.interior
        for point in points if interior is not None else []:
            above = bound_above(program, point.u, interior)
            upper = above if above.value < upper.value else upper
        return upper

    def _improve_lower_bound(self, points: list[DualArguments], lower: LowerBound) -> LowerBound:
        """Return the best lower bound: with sharper curvature, with multipliers of (FACE.4) or none, by (PROGRAM.9)."""
        program = self.program
        zero = np.zeros(len(program.b)), np.zeros(len(program.h))
        bounds = [lower, *(program.bound_below(x, *zero) for x, *_ in points[:1])]
        if program.hessian.curvature is not None and program.hessian.curvature.any():
            bounds += [program.bound_below(*point, sharp=True) for point in points]
        for point in points:
            relaxed = program.without_distant_bounds(point.u)
            bounds += [] if relaxed is None else [relaxed.bound_below(*point)]
        for x, y, z in points:
            for other_y, other_z in iter_interior_multipliers(program, x):
                for t in INTERIOR_STEPS[1:]:
                    mixed_z = np.maximum(z, 0.0) * (1.0 - t) + t * np.maximum(other_z, 0.0)
                    bounds.append(program.bound_below(x, y + t * (other_y - y), mixed_z))
        return max(bounds, key=lambda bound: bound.value)

    def _build_infeasible_result(self, proof: InfeasibilityProof, solution: QPSolution) -> QPResult:
        """Build the result of multipliers that prove that no point is feasible."""
        c = self.program.A.T @ proof.y + self.program.G.T @ proof.z
        y, z, box = self.reduction.expand(proof.y, proof.z, _find_bound_multipliers(proof.program, c))
        change = max(self.change, proof.change)
        return build_result_without_optimum(
            self.reduction.original, Status.INFEASIBLE, (y, z, box), Solver(*solution.solver), change,
            solve_time=solution.solve_time, iterations=solution.iterations,
        )  # fmt: skip


def build_result_without_optimum(
    qp: QP, status: Status, multipliers: tuple[FloatArray, FloatArray, FloatArray], solver: Solver, change: float,
    x: FloatArray | None = None, **others: Any,
) -> QPResult:  # fmt: skip
    """Build the result without an optimum: its value is ∞ if no point is feasible, −∞ if the objective is unbounded."""
    value = math.inf if status is Status.INFEASIBLE else -math.inf
    point, radius = (np.full(qp.n, math.nan), math.inf) if x is None else (x, 0.0)
    return QPResult(
        qp, status, point, radius, *multipliers, value, value, math.inf, math.inf, *(math.nan,) * 3, solver=solver,
        data_change=change, message=f"{PROOF_SENTENCES[status]} {_describe_change(change)}".strip(), **others,
    )  # fmt: skip


def _measure_residuals(solution: QPSolution) -> tuple[float, float, float]:
    """Return the primal and dual residual and the complementarity of a solver's point; NaN without one."""
    if solution.x is None or solution.z_box is None:
        return math.nan, math.nan, math.nan
    qp = solution.qp
    x = solution.x
    y = solution.y
    z = solution.z
    box = solution.z_box
    return (
        compute_primal_residual(qp, x),
        compute_dual_residual(qp, x, y, z, box),
        compute_complementarity(qp, x, z, box),
    )


def _describe_change(change: float) -> str:
    """Return a sentence about the relative change of the program for which the result is proven; "" for none."""
    sentence = f"Proven for a program whose entries differ from these by at most {change:.2g} of themselves."
    return sentence if change else ""


def _find_bound_multipliers(program: QPBounds, c: FloatArray) -> FloatArray:
    """Return z_box of (QP.1), (n,): −c if the bound of that sign is finite, else 0."""
    return np.where((c > 0.0) & np.isfinite(program.lb) | (c < 0.0) & np.isfinite(program.ub), -c, 0.0)


def _compute_gap(above: float, below: float) -> float:
    """Return the relative gap between an upper and a lower bound; infinite if one of them is infinite or NaN."""
    difference = above - below
    if math.isfinite(difference):
        return max(difference / max(1.0, abs(above), abs(below)), 0.0)
    return math.inf
