"""Certify a machine with linear constraints: move the primal point until it satisfies them (`Restoration`).

A point that violates a constraint is not primal feasible, so its objective bounds nothing. Solvers return points that
violate active constraints by their tolerance, and so does w(α). Four steps restore feasibility, rounding included:

    (HELD.1)  b, with ρ or ε, is the best for w that the rows allow:  the optimum of the machine alone, moved to the
              nearest end of {b: c_k b ≤ h_k − ⟨g_k, w⟩ for all k}; the other multipliers are optimal for that b
    (HELD.2)  (w, b) makes the smallest step that brings the violated rows V to their bound, and beyond it by twice the
              radius r of their evaluation:  Δw = Σ_V y_k s_k φ_k, Δb = κ Σ_V y_k E_k  with
              (Q_VV + κ E_V E_Vᵀ) y = t_V + 2r_V
    (HELD.3)  if that does not suffice, (w, b) is projected on the set that satisfies all rows:  minimise
              ‖(Δw, Δb/√κ)‖ subject to (HELD.2) as inequalities, a nonnegative least-squares problem
    (HELD.4)  remaining violations are removed by a step to the interior:  (1 − θ)(w, b) + θ(w₀, b₀),
              θ = max t_k/(t_k + slack_k), for a point (w₀, b₀) with slack in every row: 0 if all h > 0, else that of
              `hard_margin`

These steps increase the gap by about λ·(violation). Rows that can only hold as equalities are satisfied up to rounding
by (HELD.2), (COUNT.5). (GAP.1) holds for any w and α, so α need not change.

Source of (HELD.3): Lawson & Hanson, *Solving Least Squares Problems* (1974), chapter 23.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached, freeze
from qpsvm.base.arrays.rounding import FEW, UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import InfeasibleConstraintsError
from qpsvm.bounds import certify
from qpsvm.bounds.certificate import Certificate, PrimalPoint, gap_sums
from qpsvm.bounds.certify import Levels, PrimalCandidate, best_levels, lowest_levels
from qpsvm.bounds.gap_bounder import EQUALITY_RADII, GapBounder
from qpsvm.bounds.hard_margin import RowFeasibility, find_feasible_point, hard_intercept
from qpsvm.bounds.repair import fix_constraint_multipliers
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import pivoted_cholesky

#: Largest number of rounds: each may violate other rows.
ROUNDS = 8
#: Largest number of rows of the dense system of (HELD.2).
MOST_BROKEN = 1500
#: Distance beyond the bound, in radii: the step has as much rounding as the evaluation.
INSIDE = 2.0
#: Rounds of (HELD.2) before the projection (HELD.3).
SIMPLE_ROUNDS = 4
#: A coefficient of b below this counts as 0.
NO_PART = 1e-9
#: Largest number of rounds of (HELD.4); each leaves rounding.
SHRINKS = 4
#: With at most this many numbers, the rows themselves are the coordinates of (ROOM.1); else a factor of their Gram
#: matrix is used.
MOST_NUMBERS = 20_000_000
#: Weights below this share of the change made to them are rounding and set to 0: a row may require that they are 0.
NOTHING = 2.0**-46
#: Singular values below this share of the largest are dropped: they come from repeated rows.
RANK_TOLERANCE = 1e-13
#: Multipliers by name, and the interval of equally good values of each.
Known = tuple[dict[str, float], dict[str, tuple[float, float]]]


class Restoration:
    """Moves primal points of one dual until they satisfy the linear constraints, and certifies them.

    gap_bounder: Bounds the rounding of points of that dual.
    """

    def __init__(self, gap_bounder: GapBounder) -> None:
        self.gap_bounder, self.svm, self.space = gap_bounder, gap_bounder.svm, gap_bounder.accuracy.space
        assert self.svm.linear_constraints is not None
        self.machine: SVMDual = self.svm.linear_constraints.unconstrained_dual
        hard = self.svm.hard_rows
        assert hard is not None
        self.rows: IntArray = np.flatnonzero(hard)
        column = part_in_b(self.svm)
        self.column = np.where(np.abs(column) > NO_PART, column, 0.0)
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

    def _measure_restored(
        self, svm: SVMDual, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], cost: float
    ) -> list[PrimalCandidate]:
        feasible_point = self._find_feasible_point(a, svm.beta(a), point, slopes)
        if feasible_point is None:
            zero_levels = {group.multiplier: 0.0 for group in svm.groups}
            return [certify._build_candidate(svm, point, 0.0, zero_levels, {}, np.inf, np.inf, slopes, cost)]
        sums = gap_sums(svm, a, feasible_point[0].u, 0.0, svm.margin(feasible_point[1]))
        return [certify._build_candidate(svm, feasible_point[0], 0.0, *feasible_point[1:], *sums, slopes, cost)]

    # --- (HELD.1): multipliers ---

    def _levels(self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]) -> Known:
        """Return the best multipliers for a w among those that the rows allow, and intervals of equally good ones."""
        best: tuple[float, dict[str, float], dict[str, tuple[float, float]]] | None = None
        for machine_levels in self._own_levels(a, point, slopes):
            mu, intervals = self._nearest_allowed(a, beta, point, slopes, machine_levels)
            cost = gap_sums(self.svm, a, point.u, 0.0, self.svm.margin(mu))[0]
            differences = {g: mu[g.multiplier] - slopes[g.multiplier] for g in self.svm.penalised_groups}
            cost += sum(
                0.5 * g.ridge * difference * difference for g, difference in differences.items()
            )  # no power: that may raise
            if best is None or cost < best[0]:
                best = cost, mu, intervals
        assert best is not None
        return best[1:]

    def _nearest_allowed(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], machine_levels: Known
    ) -> Known:
        """Return multipliers of the machine alone, with b moved into the interval that the rows allow."""
        mu, intervals = machine_levels
        if "b" not in mu:
            return mu, intervals
        low, high = self._bound_intercept(a, beta, point, mu)
        b = low + (high - low) / 2 if low > high else min(max(mu["b"], low), high)
        first, last = intervals.get("b", (b, b))
        intervals["b"] = min(max(first, low), b), max(min(last, high), b)
        return (mu, intervals) if b == mu["b"] else self._optimise_given_intercept(a, point, slopes, b)

    def _own_levels(self, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]) -> list[Known]:
        """Return candidates for the machine's multipliers: minimisers of its primal, and of the gap for these λ."""
        machine, u = self.machine, point.u[: self.machine.n]
        if machine.hard_rows is not None:
            return [({group.multiplier: hard_intercept(machine, u) for group in machine.groups}, {})]
        lowest: Levels = lowest_levels(machine, a[: machine.m], u)
        candidates = [(dict(lowest[0]), dict(lowest[1]))]
        assert self.svm.linear_constraints is not None
        if machine.groups:
            reduced_dual = fix_constraint_multipliers(self.svm, self.svm.linear_constraints, a[machine.m :])
            levels = best_levels(reduced_dual, a[: machine.m], replace(point, u=u), slopes, 0.0)
            candidates.append((dict(levels[0]), {}))
        return candidates

    def _optimise_given_intercept(
        self, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], b: float
    ) -> Known:
        """Return the best other multipliers for a given b."""
        machine, u = self.machine, point.u[: self.machine.n]
        other_groups = tuple(group for group in machine.groups if group.multiplier != "b")
        if not other_groups or machine.hard_rows is not None:
            return {"b": b}, {"b": (b, b)}
        without = replace(machine, groups=other_groups, level=machine.level - b * self.column[: machine.m])
        best = best_levels(without, a[: machine.m], replace(point, u=u), slopes, 0.0)
        return {"b": b, **best[0]}, {"b": (b, b), **best[1]}

    def _optimise_others(
        self, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], mu: Mapping[str, float]
    ) -> Known:
        """Return the best other multipliers for the present b."""
        return (
            self._optimise_given_intercept(a, point, slopes, mu["b"])
            if "b" in mu
            else self._own_levels(a, point, slopes)[0]
        )

    def _bound_intercept(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float]
    ) -> tuple[float, float]:
        """Return the ends of {b} of (HELD.1), twice the radius inside."""
        t, r = self._slack(a, beta, point, mu)
        column = self.column[self.rows]
        reach = np.where(self._equal, t, t + INSIDE * r)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = mu["b"] + reach / column
        return (
            float(np.max(ends, where=column > 0, initial=-np.inf)),
            float(np.min(ends, where=column < 0, initial=np.inf)),
        )

    # --- what is broken ---

    @property
    def _equal(self) -> NDArray[np.bool_]:
        """Mask of the hard rows that can only hold as equalities: (k,)."""
        equal = self.gap_bounder.equal
        return np.zeros(len(self.rows), dtype=bool) if equal is None else equal[self.rows]

    def _slack(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the violations t of the hard rows, and their error bounds: (k,) each."""
        coef = beta if point.coef is None else point.coef
        probe = Certificate(
            svm=self.svm, alpha=a, yf=self.svm.sign * self.svm.at_rows(point.u), margin=self.svm.margin(mu), b=0.0,
            b_interval=(0.0, 0.0), w=point.w, coef=coef, primal=0.0, dual=0.0, gap=0.0, multipliers=mu,
        )  # fmt: skip
        return self.gap_bounder.enclose_violations(probe, self.rows)

    def _broken(self, t: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """Return a mask of the rows that may be violated: (k,)."""
        equal = self._equal
        off = np.where(equal, np.abs(t) > 0.5 * EQUALITY_RADII * r, t + FEW * r > 0.0)
        return np.asarray(off & ~((t <= 0.0) & (r == 0.0)), dtype=bool)

    def _find_feasible_point(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]
    ) -> tuple[PrimalPoint, Mapping[str, float], dict[str, tuple[float, float]]] | None:
        """Return a point near this one that satisfies the rows, with its multipliers; None if none is found."""
        mu, intervals = self._levels(a, beta, point, slopes)
        ever_broken = np.zeros(len(self.rows), dtype=bool)
        start = point
        for attempt in range(ROUNDS):
            if attempt == SIMPLE_ROUNDS:
                point, mu = start, self._levels(a, beta, start, slopes)[0]
            t, r = self._slack(a, beta, point, mu)
            broken = self._broken(t, r)
            if not broken.any():
                return point, mu, intervals
            if attempt >= SIMPLE_ROUNDS:
                if len(self.rows) > MOST_BROKEN or not np.isfinite(t).all():
                    break
                point, mu = self._project_on_rows(beta, point, mu, t, r)
                mu, intervals = self._optimise_others(a, point, slopes, mu)
                continue
            ever_broken |= broken | (self._equal & bool(self._equal[broken].any()))
            if not np.isfinite(t).all() or ever_broken.sum() > MOST_BROKEN:
                break
            point, mu = self._correct_rows(beta, point, mu, ever_broken & (broken | (t > -INSIDE * r)), t, r)
            mu, intervals = self._optimise_others(a, point, slopes, mu)
        return self._shrunk(a, beta, start, point, mu, slopes)

    # --- (HELD.2) ---

    def _project_on_rows(
        self, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float], t: FloatArray, r: FloatArray
    ) -> tuple[PrimalPoint, dict[str, float]]:
        """Return the nearest point that satisfies all rows, (HELD.3)."""
        from scipy.optimize import nnls

        factor, column = self._coordinates, self.column[self.rows]
        size = np.sqrt(self.space.scale)
        G = np.column_stack([factor, column * size]).T
        missing = t + np.where(self._equal, 0.0, (INSIDE + 1.0) * r)
        unit = float(np.abs(missing).max()) or 1.0
        E = np.vstack([G / max(float(np.abs(G).max()), np.finfo(float).tiny), missing / unit])
        try:
            y = nnls(E, np.append(np.zeros(len(G)), 1.0))[0]
        except RuntimeError:  # nnls did not converge: (HELD.4) is tried instead
            return point, dict(mu)
        residual = 1.0 - float(E[-1] @ y)
        if not residual > 0.0:
            return point, dict(mu)
        y *= unit / residual / max(float(np.abs(G).max()), np.finfo(float).tiny) ** 2
        return self._step_along_rows(beta, point, mu, self.rows, y)

    @cached
    def _coordinates(self) -> FloatArray:
        """The hard rows in coordinates of their span: (k, r)."""
        return coordinates(self.svm, self.gap_bounder, self.rows)[0]

    def _step_along_rows(
        self, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float], rows: IntArray, y: FloatArray
    ) -> tuple[PrimalPoint, dict[str, float]]:
        """Return (w, b) + Σ y_k (s_k φ_k, κ E_k) over some rows."""
        step = np.zeros(self.svm.m)
        step[rows] = y
        new_mu = dict(mu)
        if "b" in new_mu:
            new_mu["b"] += self.space.scale * float(self.column[rows] @ y)
        return self._move_point(beta, point, self.svm.beta(step), 1.0), new_mu

    def _correct_rows(
        self,
        beta: FloatArray,
        point: PrimalPoint,
        mu: Mapping[str, float],
        broken: NDArray[np.bool_],
        t: FloatArray,
        r: FloatArray,
    ) -> tuple[PrimalPoint, dict[str, float]]:
        """Move the point by the least step that brings some rows to their bound, and a little beyond."""
        rows, column = self.rows[broken], self.column[self.rows[broken]]
        kappa = self.space.scale
        missing = t[broken] + np.where(self._equal[broken], 0.0, (INSIDE + 1.0) * r[broken])
        Q = self.svm.hessian.block(rows, rows) + kappa * np.outer(column, column)
        size = np.sqrt(np.maximum(Q.diagonal(), np.finfo(float).tiny))
        noise = len(rows) * UNIT * float(np.max(self.gap_bounder.row_sizes(rows) ** 2 / size**2))
        y = np.linalg.lstsq(Q / np.outer(size, size), missing / size, rcond=max(RANK_TOLERANCE, 16.0 * noise))[0] / size
        return self._step_along_rows(beta, point, mu, rows, y)

    def _move_point(self, beta: FloatArray, point: PrimalPoint, step: FloatArray, factor: float) -> PrimalPoint:
        """Return the primal point factor·w + Σ step_i φ(x_i), for step (n,), and its distance from w(α)."""
        space = self.space
        if point.w is not None:
            change = space.weights(step)
            w = factor * point.w + change
            noise = np.maximum(np.abs(change), np.abs(change).max(initial=0.0) * (np.abs(w) < np.abs(point.w)))
            w[np.abs(w) <= NOTHING * noise] = 0.0
            return self._explicit(beta, w)
        before = beta if point.coef is None else point.coef
        coef = factor * before + step
        away = coef - beta
        u = space.centred_gram @ coef
        distance = math.sqrt(max(float(away @ (space.centred_gram @ away)), 0.0))
        accuracy = self.gap_bounder.accuracy
        support = np.flatnonzero(away)
        size = float(np.abs(away[support]) @ accuracy.sizes(support))
        radius = math.sqrt(accuracy.kappa(away, None) * size * FEW * FEW) * FEW  # √(x + e) ≤ √x + √e
        return PrimalPoint(u, None, max(0.5 * float(coef @ u), 0.0), coef=coef, apart=distance, apart_radius=radius)

    def _explicit(self, beta: FloatArray, w: FloatArray) -> PrimalPoint:
        dual_weights = self.space.weights(beta)
        return PrimalPoint(self.space.rows.margins(w), w, 0.5 * float(w @ w), w - dual_weights)

    # --- (HELD.4) ---

    @cached
    def _interior_point(self) -> tuple[PrimalPoint, float, FloatArray] | None:
        """Interior point w₀ (with its coefficients), b₀ and the slack of every row there, (k,); None if none exists."""
        svm, zeros = self.svm, np.zeros(self.svm.n)
        level = svm.level[self.rows]
        if (level < 0.0).all():
            w = np.zeros(self.space.rows.d) if self.space.is_linear else None
            zero = PrimalPoint(np.zeros(svm.n), w, 0.0, coef=None if w is not None else zeros)
            return zero, 0.0, -level * (1.0 - 1e-15)
        feasibility = self.row_feasibility
        if feasibility.farkas is not None:
            return None
        point = self._point_at(feasibility.z)
        mu = dict.fromkeys([group.multiplier for group in svm.groups], 0.0)
        if "b" in mu:
            mu["b"] = feasibility.b
        for _ in range(ROUNDS):
            t, r = self._slack(np.zeros(svm.m), zeros, point, mu)
            broken = self._broken(t, r) & self._equal
            if not broken.any():
                break
            point, mu = self._correct_rows(zeros, point, mu, self._equal, t, r)
        t, r = self._slack(np.zeros(svm.m), zeros, point, mu)
        return point, mu.get("b", 0.0), np.where(self._equal, np.inf, -t - INSIDE * r)

    def _point_at(self, z: FloatArray) -> PrimalPoint:
        """Return the point of the coordinates z of (ROOM.1)."""
        factor, direct = coordinates(self.svm, self.gap_bounder, self.rows)
        zeros = np.zeros(self.svm.n)
        if direct:
            return self._explicit(zeros, z)
        a = np.zeros(self.svm.m)
        a[self.rows] = np.linalg.lstsq(factor.T, z, rcond=RANK_TOLERANCE)[0]
        if self.space.is_linear:
            return self._explicit(zeros, self.space.weights(self.svm.beta(a)))
        zero = PrimalPoint(np.zeros(self.svm.n), None, 0.0, coef=zeros)
        return self._move_point(zeros, zero, self.svm.beta(a), 0.0)

    def _shrunk(
        self,
        a: FloatArray,
        beta: FloatArray,
        start: PrimalPoint,
        point: PrimalPoint,
        mu: Mapping[str, float],
        slopes: Mapping[str, float],
    ) -> tuple[PrimalPoint, Mapping[str, float], dict[str, tuple[float, float]]] | None:
        interior = self._interior_point
        if interior is None:
            return None
        inner, b0, slack = interior
        for from_start in (False, True):  # from the last point of (HELD.2), then from its first
            if from_start:
                point, mu = start, self._levels(a, beta, start, slopes)[0]
            for _ in range(SHRINKS):
                t, r = self._slack(a, beta, point, mu)
                if not np.isfinite(t).all():
                    break
                broken = self._broken(t, r)
                if not broken.any():
                    return point, *self._optimise_others(a, point, slopes, mu)
                violation = np.where(broken & ~self._equal, t + (INSIDE + 2.0) * r, 0.0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    shares = np.where(violation > 0.0, violation / (violation + np.maximum(slack, 0.0)), 0.0)
                theta = float(shares.max(initial=0.0))
                if not 0.0 < theta <= 1.0:
                    break
                if "b" in mu:
                    mu = {**mu, "b": (1.0 - theta) * mu["b"] + theta * b0}
                if point.w is not None and inner.w is not None:
                    point = self._explicit(beta, (1.0 - theta) * point.w + theta * inner.w)
                elif inner.coef is not None:
                    point = self._move_point(beta, point, theta * inner.coef, 1.0 - theta)
        return None


def coordinates(svm: SVMDual, gap_bounder: GapBounder, rows: IntArray) -> tuple[FloatArray, bool]:
    """Return s_k φ_k of some rows in coordinates, (k, r), and whether these are the coordinates of w itself."""
    space = gap_bounder.accuracy.space
    if space.is_linear and len(rows) * space.rows.d <= MOST_NUMBERS:
        if svm.mix is not None:
            combinations = svm.mix[rows]
            used = np.unique(combinations.indices)
            Z = as_dense(sp.csr_array(combinations[:, used]) @ space.rows.take(used))
        else:
            Z = as_dense(space.rows.take(svm.find_samples(rows)))
        return svm.sign[rows][:, None] * Z, True
    return pivoted_cholesky(svm.hessian.block(rows, rows)), False


def part_in_b(svm: SVMDual) -> FloatArray:
    """Return the coefficient of b in every row, (m,): 0 without an intercept."""
    return next((group.column for group in svm.groups if group.multiplier == "b"), np.zeros(svm.m))


def find_row_feasibility(svm: SVMDual, gap_bounder: GapBounder, rows: IntArray) -> RowFeasibility:
    """Return the result of the linear programs, (ROOM.1) to (ROOM.3), for some rows of a dual."""
    factor, _ = coordinates(svm, gap_bounder, rows)
    return find_feasible_point(factor, part_in_b(svm)[rows], svm.level[rows])


def build_infeasible_error(
    svm: SVMDual, gap_bounder: GapBounder, rows: IntArray, feasibility: RowFeasibility, scale: FloatArray
) -> InfeasibleConstraintsError:
    """Build the error for rows that contradict each other by (ROOM.2). Shapes: rows (k,), scale (p,)."""
    assert feasibility.farkas is not None
    assert svm.linear_constraints is not None
    n_machine_rows, names = svm.linear_constraints.unconstrained_dual.m, svm.linear_constraints.names
    factor, _ = coordinates(svm, gap_bounder, rows)
    weights = feasibility.farkas / np.array([scale[k - n_machine_rows] if k >= n_machine_rows else 1.0 for k in rows])
    share = 1.0 / float(weights.sum())
    residual_vector = np.append(feasibility.farkas @ factor, float(feasibility.farkas @ part_in_b(svm)[rows]))
    residual = 0.0 if feasibility.exact else float(np.linalg.norm(residual_vector)) * share
    row_names = [names[k - n_machine_rows] if k >= n_machine_rows else f"margin[{k}]" for k in rows]
    proof = {name: float(weight * share) for name, weight in zip(row_names, weights, strict=True) if weight > 0.0}
    return InfeasibleConstraintsError(proof, -float(feasibility.farkas @ svm.level[rows]) * share, residual)
