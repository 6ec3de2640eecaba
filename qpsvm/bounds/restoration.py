"""Certify a machine with linear constraints: move the primal point until it satisfies them (`Restoration`).

A point that violates a constraint is not primal feasible, so its objective bounds nothing. Solvers return points that
violate active constraints by their tolerance, and so does w(α). Four steps restore feasibility, rounding included.
Each is tried only if those before it do not suffice:

    (RESTORE.1)  b, with ρ or ε, is the best for w that the rows allow:  the optimum of the machine alone, moved to the
                 nearest end of {b: c_k b ≤ h_k − ⟨g_k, w⟩ for all k}; the other multipliers are optimal for that b
    (RESTORE.2)  (w, b) moves by the smallest step that takes the violated rows V to their bound, and beyond it by
                 twice the error bound r of their evaluation:  Δw = Σ_V y_k s_k φ_k, Δb = κ Σ_V y_k E_k  with
                 (Q_VV + κ E_V E_Vᵀ) y = t_V + 2r_V
    (RESTORE.3)  (w, b) is projected on the set that satisfies all rows:  minimise ‖(Δw, Δb/√κ)‖ subject to
                 (RESTORE.2) as inequalities, a nonnegative least-squares problem
    (RESTORE.4)  remaining violations are removed by a step to the interior:  (1 − θ)(w, b) + θ(w₀, b₀) with
                 θ = max t_k/(t_k + slack_k), for a point (w₀, b₀) with slack in every row: 0 if all h > 0, else that of
                 `hard_margin`

A step increases the gap by about the multipliers of the rows times their violations. By (RESTORE.2), rows that can only
hold as equalities are satisfied up to rounding, see (COUNT.5). (GAP.1) holds for any w and α, so α does not change.

Source of (RESTORE.3): Lawson & Hanson, *Solving Least Squares Problems* (1974), chapter 23.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached, freeze
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, SMALLEST_NORMAL, UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds import certify
from qpsvm.bounds.certificate import Certificate, PrimalPoint, sum_gap_terms
from qpsvm.bounds.certify import (
    DualPoint,
    EvaluatedMultipliers,
    Intervals,
    PrimalCandidate,
    find_best_multipliers,
    find_primal_multipliers,
)
from qpsvm.bounds.gap_bounder import EQUALITY_RADII, GapBounder
from qpsvm.bounds.hard_margin import RowFeasibility, find_middle_intercept
from qpsvm.bounds.repair import fix_constraint_multipliers
from qpsvm.bounds.row_feasibility import compute_row_coordinates, find_row_feasibility, get_intercept_column
from qpsvm.program.svm_dual import SVMDual

#: Largest number of rounds of (RESTORE.2) and (RESTORE.3) together; each may violate other rows.
MAX_ROUNDS = 8
#: Number of rounds of (RESTORE.2) before the projection (RESTORE.3).
SIMPLE_ROUNDS = 4
#: Largest number of rows of the dense system of (RESTORE.2).
MAX_SYSTEM_ROWS = 1500
#: How far beyond the bound a step aims, in multiples of r: the step has as much rounding error as the evaluation.
INSIDE = 2.0
#: A coefficient of b below this counts as 0.
TINY_COEFFICIENT = 1e-9
#: Largest number of rounds of (RESTORE.4); rounding may leave violations in each.
MAX_SHRINKS = 4
#: A weight below this share of its change is rounding and set to 0, since a row may require that it is 0.
TINY_WEIGHT = 2.0**-46
#: Singular values below this share of the largest are dropped; they come from repeated rows.
RANK_TOLERANCE = 1e-13


class FullPoint(NamedTuple):
    """A primal point w with multipliers μ by name, b among them, and the interval of equally good values of each."""

    point: PrimalPoint
    mu: Mapping[str, float]
    intervals: Intervals


class InteriorPoint(NamedTuple):
    """A primal point w₀, its intercept b₀, and its slack in every hard row: (k,)."""

    point: PrimalPoint
    b: float
    slack: FloatArray


class Restoration:
    """Moves primal points of one dual until they satisfy the linear constraints, and certifies them.

    Throughout, t and r, (k,) each, are the violations of the hard rows and the error bounds of these.

    gap_bounder: Bounds the rounding of points of that dual.
    machine: The dual without the linear constraints.
    rows (k,): The hard rows, which a primal point has to satisfy.
    column (m,): Coefficient of b in every row.
    """

    def __init__(self, gap_bounder: GapBounder) -> None:
        self.gap_bounder = gap_bounder
        self.svm = gap_bounder.svm
        self.space = gap_bounder.accuracy.space
        assert self.svm.linear_constraints is not None
        self.machine: SVMDual = self.svm.linear_constraints.unconstrained_dual
        hard = self.svm.hard_rows
        assert hard is not None
        self.rows: IntArray = np.flatnonzero(hard)
        column = get_intercept_column(self.svm)
        self.column = np.where(np.abs(column) > TINY_COEFFICIENT, column, 0.0)
        freeze((self.rows, self.column))

    @cached
    def row_feasibility(self) -> RowFeasibility:
        """Result of the linear programs over the rows, computed on demand."""
        return find_row_feasibility(self.svm, self.gap_bounder, self.rows)

    def certify(self, alpha: FloatArray, w: FloatArray | None = None, target_gap: float = 0.0) -> Certificate:
        """Certify α (m,) like `certify.certify`, at a w that satisfies the rows; if none is found the gap is infinite.

        target_gap: Candidates after the first that reaches it are not tried.
        """
        explicit = w if self.space.is_linear else None
        return certify.certify(self.space, self.svm, alpha, explicit, target_gap, self._measure_restored)

    def _measure_restored(self, svm: SVMDual, dual: DualPoint, point: PrimalPoint) -> list[PrimalCandidate]:
        """Restore feasibility, and evaluate the point: see `certify.measure_point`."""
        restored = self._find_feasible_point(dual, point)
        if restored is None:
            zeros = {group.multiplier: 0.0 for group in svm.groups}
            return [certify.build_candidate(svm, dual, point, 0.0, EvaluatedMultipliers(zeros, {}, np.inf, np.inf))]
        point, mu, intervals = restored
        sums = sum_gap_terms(svm, dual.alpha, point.u, 0.0, svm.compute_margin(mu))
        return [certify.build_candidate(svm, dual, point, 0.0, EvaluatedMultipliers(mu, intervals, *sums))]

    def _find_feasible_point(self, dual: DualPoint, start: PrimalPoint) -> FullPoint | None:
        """Return a point near this one that satisfies the rows, with its multipliers; None if none is found."""
        best_at_start = self._find_multipliers(dual, start)
        current = best_at_start
        ever_violated = np.zeros(len(self.rows), dtype=bool)
        for attempt in range(MAX_ROUNDS):
            is_simple = attempt < SIMPLE_ROUNDS
            if attempt == SIMPLE_ROUNDS:  # the projections begin at the first point again
                current = FullPoint(start, best_at_start.mu, current.intervals)
            t, r = self._enclose_violations(dual, current)
            violated = self._find_violated(t, r)
            if not violated.any():
                return current
            ever_violated |= violated
            if self._is_equality[violated].any():
                ever_violated |= self._is_equality
            n_system_rows = ever_violated.sum() if is_simple else len(self.rows)
            if n_system_rows > MAX_SYSTEM_ROWS or not np.isfinite(t).all():
                break
            if is_simple:
                is_near_bound = violated | (t > -INSIDE * r)
                current = self._correct_rows(dual, current, ever_violated & is_near_bound, t, r)
            else:
                current = self._project_on_rows(dual, current, t, r)
            current = self._optimise_others(dual, current)
        return self._move_to_interior(dual, current) or self._move_to_interior(dual, best_at_start)

    def _enclose_violations(self, dual: DualPoint, current: FullPoint) -> tuple[FloatArray, FloatArray]:
        """Return the violations t of the hard rows, and their error bounds r: (k,) each."""
        point, mu, _ = current
        coef = dual.beta if point.coef is None else point.coef
        certificate = Certificate(
            svm=self.svm, alpha=dual.alpha, yf=self.svm.sign * self.svm.at_rows(point.u), b=0.0, b_interval=(0.0, 0.0),
            margin=self.svm.compute_margin(mu), w=point.w, coef=coef, primal=0.0, dual=0.0, gap=0.0, multipliers=mu,
        )  # fmt: skip
        return self.gap_bounder.enclose_violations(certificate, self.rows)

    @property
    def _is_equality(self) -> NDArray[np.bool_]:
        """Mask of the hard rows that can only hold as equalities: (k,)."""
        equal = self.gap_bounder.equal
        if equal is None:
            return np.zeros(len(self.rows), dtype=bool)
        return equal[self.rows]

    def _find_violated(self, t: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Return a mask of the rows that may be violated: (k,)."""
        may_be = np.where(self._is_equality, np.abs(t) > 0.5 * EQUALITY_RADII * r, t + FEW_ROUNDINGS * r > 0.0)
        is_exactly_satisfied = (t <= 0.0) & (r == 0.0)
        return np.asarray(may_be & ~is_exactly_satisfied, dtype=bool)

    # --- (RESTORE.1): multipliers ---

    def _find_multipliers(self, dual: DualPoint, point: PrimalPoint) -> FullPoint:
        """Return a point with the best multipliers that the rows allow for its w."""
        candidates = [self._move_intercept(dual, each) for each in self._find_machine_multipliers(dual, point)]
        return min(candidates, key=lambda each: self._compute_gap_part(dual, each))

    def _compute_gap_part(self, dual: DualPoint, current: FullPoint) -> float:
        """Compute the part of the gap that depends on the multipliers."""
        mu = current.mu
        cost = sum_gap_terms(self.svm, dual.alpha, current.point.u, 0.0, self.svm.compute_margin(mu))[0]
        penalty = 0.0
        for group in self.svm.penalised_groups:
            error = mu[group.multiplier] - dual.multipliers[group.multiplier]
            penalty += 0.5 * group.ridge * error * error  # ** may raise OverflowError
        return cost + penalty

    def _find_machine_multipliers(self, dual: DualPoint, point: PrimalPoint) -> list[FullPoint]:
        """Return the point with multipliers for the machine alone: the best for P, and for the gap given this λ."""
        machine = self.machine
        u = point.u[: machine.n]
        if machine.hard_rows is not None:
            b = {group.multiplier: find_middle_intercept(machine, u) for group in machine.groups}
            return [FullPoint(point, b, {})]
        alpha, constraint_multipliers = np.split(dual.alpha, [machine.m])
        best = find_primal_multipliers(machine, alpha, u)
        candidates = [FullPoint(point, best.multipliers, best.intervals)]
        assert self.svm.linear_constraints is not None
        if machine.groups:
            reduced_dual = fix_constraint_multipliers(self.svm, self.svm.linear_constraints, constraint_multipliers)
            best = find_best_multipliers(reduced_dual, alpha, replace(point, u=u), dual.multipliers)
            candidates.append(FullPoint(point, best.multipliers, {}))
        return candidates

    def _move_intercept(self, dual: DualPoint, current: FullPoint) -> FullPoint:
        """Move b into the interval that the rows allow, and optimise the other multipliers for it."""
        point, mu, intervals = current
        if "b" not in mu:
            return current
        low, high = self._bound_intercept(dual, current)
        is_empty = low > high  # no b satisfies all rows at this w
        b = low + (high - low) / 2 if is_empty else min(max(mu["b"], low), high)
        if b != mu["b"]:
            return self._optimise_given_intercept(dual, point, b)
        first, last = intervals.get("b", (b, b))
        allowed = min(max(first, low), b), max(min(last, high), b)
        return FullPoint(point, mu, {**intervals, "b": allowed})

    def _optimise_given_intercept(self, dual: DualPoint, point: PrimalPoint, b: float) -> FullPoint:
        """Return the point with b and the best other multipliers for it."""
        machine = self.machine
        u = point.u[: machine.n]
        other_groups = tuple(group for group in machine.groups if group.multiplier != "b")
        if not other_groups or machine.hard_rows is not None:
            return FullPoint(point, {"b": b}, {"b": (b, b)})
        fixed = replace(machine, groups=other_groups, level=machine.level - b * self.column[: machine.m])
        best = find_best_multipliers(fixed, dual.alpha[: machine.m], replace(point, u=u), dual.multipliers)
        return FullPoint(point, {"b": b, **best.multipliers}, {"b": (b, b), **best.intervals})

    def _optimise_others(self, dual: DualPoint, current: FullPoint) -> FullPoint:
        """Return the point with the best multipliers for its b, or for the machine alone without an intercept."""
        if "b" in current.mu:
            return self._optimise_given_intercept(dual, current.point, current.mu["b"])
        return self._find_machine_multipliers(dual, current.point)[0]

    def _bound_intercept(self, dual: DualPoint, current: FullPoint) -> tuple[float, float]:
        """Return the ends of the interval of b of (RESTORE.1), moved inwards by twice the error bound."""
        t, r = self._enclose_violations(dual, current)
        column = self.column[self.rows]
        reach = np.where(self._is_equality, t, t + INSIDE * r)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = current.mu["b"] + reach / column
        return (
            float(np.max(ends, where=column > 0, initial=-np.inf)),
            float(np.min(ends, where=column < 0, initial=np.inf)),
        )

    # --- (RESTORE.2) and (RESTORE.3): steps along rows ---

    def _correct_rows(
        self, dual: DualPoint, current: FullPoint, mask: NDArray[np.bool_], t: FloatArray, r: FloatArray
    ) -> FullPoint:
        """Return the point after the smallest step that takes the rows of a mask (k,) to their bound, (RESTORE.2)."""
        rows = self.rows[mask]
        column = self.column[self.rows[mask]]
        kappa = self.space.scale
        missing = t[mask] + np.where(self._is_equality[mask], 0.0, (INSIDE + 1.0) * r[mask])
        Q = self.svm.hessian.block(rows, rows) + kappa * np.outer(column, column)
        norms = np.sqrt(np.maximum(Q.diagonal(), SMALLEST_NORMAL))  # the system is solved with a unit diagonal
        noise = len(rows) * UNIT * float(np.max(self.gap_bounder.bound_dual_row_norms(rows) ** 2 / norms**2))
        rank_tolerance = max(RANK_TOLERANCE, 16.0 * noise)
        scaled_y = np.linalg.lstsq(Q / np.outer(norms, norms), missing / norms, rcond=rank_tolerance)[0]
        return self._step_along_rows(dual, current, rows, scaled_y / norms)

    def _project_on_rows(self, dual: DualPoint, current: FullPoint, t: FloatArray, r: FloatArray) -> FullPoint:
        """Return the nearest point that satisfies all rows, (RESTORE.3); the point itself if none is found.

        The smallest z with Gᵀz ≥ missing is Gy/ρ for the y ≥ 0 that minimises ‖Gy‖² + ρ², ρ = 1 − missingᵀy. G and
        `missing` are scaled to entries of at most 1.
        """
        from scipy.optimize import nnls

        G = np.column_stack([self._coordinates, self.column[self.rows] * np.sqrt(self.space.scale)]).T
        missing = t + np.where(self._is_equality, 0.0, (INSIDE + 1.0) * r)
        missing_unit = float(np.abs(missing).max()) or 1.0
        G_unit = max(float(np.abs(G).max()), SMALLEST_NORMAL)
        E = np.vstack([G / G_unit, missing / missing_unit])
        try:
            y = nnls(E, np.append(np.zeros(len(G)), 1.0))[0]
        except RuntimeError:  # nnls did not converge: (RESTORE.4) is tried instead
            return current
        residual = 1.0 - float(E[-1] @ y)
        if not residual > 0.0:
            return current
        y *= missing_unit / residual / G_unit**2
        return self._step_along_rows(dual, current, self.rows, y)

    @cached
    def _coordinates(self) -> FloatArray:
        """The hard rows in coordinates of their span: (k, r)."""
        return compute_row_coordinates(self.svm, self.gap_bounder, self.rows)[0]

    def _step_along_rows(self, dual: DualPoint, current: FullPoint, rows: IntArray, y: FloatArray) -> FullPoint:
        """Return (w, b) + Σ y_k (s_k φ_k, κ E_k), over some rows (j,) with y (j,)."""
        step = np.zeros(self.svm.m)
        step[rows] = y
        mu = dict(current.mu)
        if "b" in mu:
            mu["b"] += self.space.scale * float(self.column[rows] @ y)
        return FullPoint(self._move_point(dual.beta, current.point, self.svm.beta(step), 1.0), mu, {})

    def _move_point(self, beta: FloatArray, point: PrimalPoint, step: FloatArray, factor: float) -> PrimalPoint:
        """Return the primal point factor·w + Σ step_i φ(x_i), for step (n,) and the w(α) of β (n,)."""
        if point.w is None:
            coef = factor * (beta if point.coef is None else point.coef) + step
            return self._build_kernel_point(beta, coef)
        change = self.space.weights(step)
        w = factor * point.w + change
        is_reduced = np.abs(w) < np.abs(point.w)
        noise = np.maximum(np.abs(change), np.abs(change).max(initial=0.0) * is_reduced)
        w[np.abs(w) <= TINY_WEIGHT * noise] = 0.0
        return self._build_linear_point(beta, w)

    def _build_linear_point(self, beta: FloatArray, w: FloatArray) -> PrimalPoint:
        """Build the point with an explicit w (d,), and its difference from the w(α) of β (n,)."""
        dual_weights = self.space.weights(beta)
        return PrimalPoint(self.space.rows.margins(w), w, 0.5 * float(w @ w), w - dual_weights)

    def _build_kernel_point(self, beta: FloatArray, coef: FloatArray) -> PrimalPoint:
        """Build the point w = Σ coef_i φ(x_i), for coef (n,), and its distance from the w(α) of β (n,)."""
        gram, accuracy = self.space.centred_gram, self.gap_bounder.accuracy
        difference = coef - beta
        u = gram @ coef
        distance = math.sqrt(max(float(difference @ (gram @ difference)), 0.0))
        support = np.flatnonzero(difference)
        norm_sum = float(np.abs(difference[support]) @ accuracy.bound_norms(support))
        square_radius = accuracy.compute_radius_factor(difference, None) * norm_sum * FEW_ROUNDINGS * FEW_ROUNDINGS
        radius = math.sqrt(square_radius) * FEW_ROUNDINGS  # √(x + e) ≤ √x + √e
        half_square = max(0.5 * float(coef @ u), 0.0)
        return PrimalPoint(u, None, half_square, coef=coef, distance=distance, distance_radius=radius)

    # --- (RESTORE.4): a step to the interior ---

    def _move_to_interior(self, dual: DualPoint, current: FullPoint) -> FullPoint | None:
        """Move a point towards the interior point until it satisfies all rows; None on failure."""
        interior = self._interior_point
        if interior is None:
            return None
        slack = np.maximum(interior.slack, 0.0)
        target = interior.point
        for _ in range(MAX_SHRINKS):
            t, r = self._enclose_violations(dual, current)
            if not np.isfinite(t).all():
                return None
            violated = self._find_violated(t, r)
            if not violated.any():
                return self._optimise_others(dual, current)
            violation = np.where(violated & ~self._is_equality, t + (INSIDE + 2.0) * r, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(violation > 0.0, violation / (violation + slack), 0.0)
            theta = float(shares.max(initial=0.0))
            if not 0.0 < theta <= 1.0:
                return None
            point, mu, _ = current
            if "b" in mu:
                mu = {**mu, "b": (1.0 - theta) * mu["b"] + theta * interior.b}
            if point.w is not None and target.w is not None:
                point = self._build_linear_point(dual.beta, (1.0 - theta) * point.w + theta * target.w)
            elif target.coef is not None:
                point = self._move_point(dual.beta, point, theta * target.coef, 1.0 - theta)
            current = FullPoint(point, mu, {})
        return None

    @cached
    def _interior_point(self) -> InteriorPoint | None:
        """A point with slack in every row, except in equalities; None if none exists."""
        level = self.svm.level[self.rows]
        if (level < 0.0).all():
            zeros = np.zeros(self.svm.n)
            if self.space.is_linear:
                zero = PrimalPoint(zeros, np.zeros(self.space.rows.d), 0.0)
            else:
                zero = PrimalPoint(zeros, None, 0.0, coef=zeros.copy())
            return InteriorPoint(zero, 0.0, -level * (1.0 - 1e-15))
        feasibility = self.row_feasibility
        if feasibility.farkas is not None:
            return None
        return self._build_interior_point(feasibility)

    def _build_interior_point(self, feasibility: RowFeasibility) -> InteriorPoint:
        """Build the interior point of the linear programs, corrected until it satisfies the equalities."""
        svm = self.svm
        zero_dual = DualPoint(np.zeros(svm.m), np.zeros(svm.n), {}, 0.0, 0.0)
        mu = {group.multiplier: 0.0 for group in svm.groups}
        if "b" in mu:
            mu["b"] = feasibility.b
        current = FullPoint(self._build_point(feasibility.z), mu, {})
        for _ in range(MAX_ROUNDS):
            t, r = self._enclose_violations(zero_dual, current)
            if not (self._find_violated(t, r) & self._is_equality).any():
                break
            current = self._correct_rows(zero_dual, current, self._is_equality, t, r)
        t, r = self._enclose_violations(zero_dual, current)
        slack = np.where(self._is_equality, np.inf, -t - INSIDE * r)
        return InteriorPoint(current.point, current.mu.get("b", 0.0), slack)

    def _build_point(self, z: FloatArray) -> PrimalPoint:
        """Build the point with the coordinates z (r,) of (ROOM.1)."""
        factor, is_w = compute_row_coordinates(self.svm, self.gap_bounder, self.rows)
        zeros = np.zeros(self.svm.n)
        if is_w:
            return self._build_linear_point(zeros, z)
        a = np.zeros(self.svm.m)
        a[self.rows] = np.linalg.lstsq(factor.T, z, rcond=RANK_TOLERANCE)[0]
        coef = self.svm.beta(a)
        if self.space.is_linear:
            return self._build_linear_point(zeros, self.space.weights(coef))
        return self._build_kernel_point(zeros, coef)
