"""Certify a machine with linear constraints: the primal point is made to satisfy them, rounding included.

A point that breaks a row is no point of the primal, so it bounds nothing. What a solver returns breaks the rows at
which it ends by its tolerance, and w(α) by as much. Three steps mend that:

    (HELD.1)  b, and ρ or ε with it, is the best for w among those that the rows allow:  the machine's own best, moved
              to the nearest end of {b: c_k b ≤ h_k − ⟨g_k, w⟩ for all k}, the others being the best beside that b
    (HELD.2)  (w, b) moves by the least that brings the broken rows V to their bound, twice the radius r of their
              evaluation inside:  Δw = Σ_V y_k s_k φ_k, Δb = κ Σ_V y_k E_k  with (Q_VV + κ E_V E_Vᵀ) y = t_V + 2r_V
    (HELD.3)  where that is not enough, (w, b) goes to the nearest point that keeps all rows:  minimise ‖(Δw, Δb/√κ)‖
              subject to (HELD.2) as inequalities, as a nonnegative least-squares problem
    (HELD.4)  what is then still broken is shrunk away:  (1 − θ)(w, b) + θ(w₀, b₀), θ = max t_k/(t_k + room_k), for a
              point (w₀, b₀) with room in every row: 0 where all h > 0, or else that of `hard_margin`

The gap grows by what this moves, which is of the size of λ·(what was broken), and no more. Rows that can be kept as
equalities only are brought to rounding by (HELD.2), (COUNT.5). w and α need not belong together, (GAP.1).

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
from qpsvm.bounds.gap_bounds import KEPT, Bounds
from qpsvm.bounds.hard_margin import RowFeasibility, find_feasible_point, hard_intercept
from qpsvm.bounds.repair import fix_constraint_multipliers
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import pivoted_cholesky

#: Rounds of (HELD.2): each may find that others are broken now.
ROUNDS = 8
#: Most rows that (HELD.2) brings to their bound at once, by a dense system of equations.
MOST_BROKEN = 1500
#: How far inside, in radii: rounding of the step itself is as large as that of the evaluation.
INSIDE = 2.0
#: Rounds after which (HELD.2) is a projection on all rows, by a nonnegative least-squares problem.
SIMPLE_ROUNDS = 4
#: What b counts in a row below which it is not moved for the sake of that.
NO_PART = 1e-9
#: Rounds of (HELD.4); each leaves rounding.
SHRINKS = 4
#: Numbers up to which the rows themselves are the coordinates of (ROOM.1), in place of a factor of their Gram matrix.
MOST_NUMBERS = 20_000_000
#: Weights below this share of what they were changed by are rounding: rows may say that they are 0.
NOTHING = 2.0**-46
#: Singular values below this share of the largest are dropped: rows that repeat others.
RANK_TOLERANCE = 1e-13
#: Multipliers by name, and all values of each that are as good.
Known = tuple[dict[str, float], dict[str, tuple[float, float]]]


class Restoration:
    """Brings points of one dual to keep the linear constraints, and certifies them.

    bounds: Of that dual.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.svm, self.space = bounds, bounds.svm, bounds.accuracy.space
        assert self.svm.linear_constraints is not None
        self.own: SVMDual = self.svm.linear_constraints.unconstrained_dual
        hard = self.svm.hard_rows
        assert hard is not None
        self.rows: IntArray = np.flatnonzero(hard)
        column = part_in_b(self.svm)
        self.column = np.where(np.abs(column) > NO_PART, column, 0.0)
        freeze((self.rows, self.column))

    @cached
    def row_feasibility(self) -> RowFeasibility:
        """Result of the linear programs over the rows, computed on demand."""
        return find_row_feasibility(self.svm, self.bounds, self.rows)

    def certify(self, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0) -> Certificate:
        """Certify α as `certify.certify` does, at a w that satisfies the rows; an infinite gap if none is found.

        Shapes: alpha (m,).
        """
        explicit = w if self.space.is_linear else None
        return certify.certify(self.space, self.svm, alpha, explicit, enough, self._measure_restored)

    def _measure_restored(
        self, svm: SVMDual, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], cost: float
    ) -> list[PrimalCandidate]:
        kept = self._find_feasible_point(a, svm.beta(a), point, slopes)
        if kept is None:
            nothing = {group.multiplier: 0.0 for group in svm.groups}
            return [certify._build_candidate(svm, point, 0.0, nothing, {}, np.inf, np.inf, slopes, cost)]
        sums = gap_sums(svm, a, kept[0].u, 0.0, svm.margin(kept[1]))
        return [certify._build_candidate(svm, kept[0], 0.0, *kept[1:], *sums, slopes, cost)]

    # --- (HELD.1): multipliers ---

    def _levels(self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]) -> Known:
        """The multipliers that are best for a w, with b where the rows allow it, and all that are as good."""
        best: tuple[float, dict[str, float], dict[str, tuple[float, float]]] | None = None
        for own in self._own_levels(a, point, slopes):
            mu, intervals = self._nearest_allowed(a, beta, point, slopes, own)
            cost = gap_sums(self.svm, a, point.u, 0.0, self.svm.margin(mu))[0]
            apart = {g: mu[g.multiplier] - slopes[g.multiplier] for g in self.svm.penalised_groups}
            cost += sum(0.5 * g.ridge * off * off for g, off in apart.items())  # no power: that may raise
            if best is None or cost < best[0]:
                best = cost, mu, intervals
        assert best is not None
        return best[1:]

    def _nearest_allowed(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], own: Known
    ) -> Known:
        """Multipliers of the machine alone with b moved to the nearest end of what the rows allow."""
        mu, intervals = own
        if "b" not in mu:
            return mu, intervals
        low, high = self._bound_intercept(a, beta, point, mu)
        b = low + (high - low) / 2 if low > high else min(max(mu["b"], low), high)
        first, last = intervals.get("b", (b, b))
        intervals["b"] = min(max(first, low), b), max(min(last, high), b)
        return (mu, intervals) if b == mu["b"] else self._optimise_given_intercept(a, point, slopes, b)

    def _own_levels(self, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]) -> list[Known]:
        """Return multipliers of the machine alone: by the primal's value, and by the gap beside those of the rows."""
        own, u = self.own, point.u[: self.own.n]
        if own.hard_rows is not None:
            return [({group.multiplier: hard_intercept(own, u) for group in own.groups}, {})]
        lowest: Levels = lowest_levels(own, a[: own.m], u)
        found = [(dict(lowest[0]), dict(lowest[1]))]
        assert self.svm.linear_constraints is not None
        if own.groups:
            priced = fix_constraint_multipliers(self.svm, self.svm.linear_constraints, a[own.m :])
            levels = best_levels(priced, a[: own.m], replace(point, u=u), slopes, 0.0)
            found.append((dict(levels[0]), {}))
        return found

    def _optimise_given_intercept(
        self, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], b: float
    ) -> Known:
        """Return the best other multipliers for a given b."""
        own, u = self.own, point.u[: self.own.n]
        others = tuple(group for group in own.groups if group.multiplier != "b")
        if not others or own.hard_rows is not None:
            return {"b": b}, {"b": (b, b)}
        without = replace(own, groups=others, level=own.level - b * self.column[: own.m])
        found = best_levels(without, a[: own.m], replace(point, u=u), slopes, 0.0)
        return {"b": b, **found[0]}, {"b": (b, b), **found[1]}

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
        equal = self.bounds.equal
        return np.zeros(len(self.rows), dtype=bool) if equal is None else equal[self.rows]

    def _slack(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float]
    ) -> tuple[FloatArray, FloatArray]:
        """t of the hard rows, and how far it may be off: (k,) each."""
        coef = beta if point.coef is None else point.coef
        probe = Certificate(
            svm=self.svm, alpha=a, yf=self.svm.sign * self.svm.at_rows(point.u), margin=self.svm.margin(mu), b=0.0,
            b_interval=(0.0, 0.0), w=point.w, coef=coef, primal=0.0, dual=0.0, gap=0.0, multipliers=mu,
        )  # fmt: skip
        return self.bounds.slack(probe, self.rows)

    def _broken(self, t: FloatArray, r: FloatArray) -> NDArray[np.bool_]:
        """The rows that are not kept for certain: (k,)."""
        equal = self._equal
        off = np.where(equal, np.abs(t) > 0.5 * KEPT * r, t + FEW * r > 0.0)
        return np.asarray(off & ~((t <= 0.0) & (r == 0.0)), dtype=bool)

    def _find_feasible_point(
        self, a: FloatArray, beta: FloatArray, point: PrimalPoint, slopes: Mapping[str, float]
    ) -> tuple[PrimalPoint, Mapping[str, float], dict[str, tuple[float, float]]] | None:
        """Return a point near this one that satisfies the rows, with its multipliers; None if none is found."""
        mu, intervals = self._levels(a, beta, point, slopes)
        everything = np.zeros(len(self.rows), dtype=bool)
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
            everything |= broken | (self._equal & bool(self._equal[broken].any()))
            if not np.isfinite(t).all() or everything.sum() > MOST_BROKEN:
                break
            point, mu = self._correct_rows(beta, point, mu, everything & (broken | (t > -INSIDE * r)), t, r)
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
        except RuntimeError:  # it did not end: what it would have found is looked for by (HELD.4)
            return point, dict(mu)
        left = 1.0 - float(E[-1] @ y)
        if not left > 0.0:
            return point, dict(mu)
        y *= unit / left / max(float(np.abs(G).max()), np.finfo(float).tiny) ** 2
        return self._step_along_rows(beta, point, mu, self.rows, y)

    @cached
    def _coordinates(self) -> FloatArray:
        """The hard rows in coordinates of their span: (k, r)."""
        return coordinates(self.svm, self.bounds, self.rows)[0]

    def _step_along_rows(
        self, beta: FloatArray, point: PrimalPoint, mu: Mapping[str, float], rows: IntArray, y: FloatArray
    ) -> tuple[PrimalPoint, dict[str, float]]:
        """Return (w, b) + Σ y_k (s_k φ_k, κ E_k) over some rows."""
        step = np.zeros(self.svm.m)
        step[rows] = y
        moved = dict(mu)
        if "b" in moved:
            moved["b"] += self.space.scale * float(self.column[rows] @ y)
        return self._move_point(beta, point, self.svm.beta(step), 1.0), moved

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
        noise = len(rows) * UNIT * float(np.max(self.bounds.row_sizes(rows) ** 2 / size**2))
        y = np.linalg.lstsq(Q / np.outer(size, size), missing / size, rcond=max(RANK_TOLERANCE, 16.0 * noise))[0] / size
        return self._step_along_rows(beta, point, mu, rows, y)

    def _move_point(self, beta: FloatArray, point: PrimalPoint, step: FloatArray, kept: float) -> PrimalPoint:
        """Return kept·w + Σ step_i φ(x_i), for step (n,), as a primal point beside w(α)."""
        space = self.space
        if point.w is not None:
            change = space.weights(step)
            w = kept * point.w + change
            noise = np.maximum(np.abs(change), np.abs(change).max(initial=0.0) * (np.abs(w) < np.abs(point.w)))
            w[np.abs(w) <= NOTHING * noise] = 0.0
            return self._explicit(beta, w)
        before = beta if point.coef is None else point.coef
        coef = kept * before + step
        away = coef - beta
        u = space.centred_gram @ coef
        apart = math.sqrt(max(float(away @ (space.centred_gram @ away)), 0.0))
        accuracy = self.bounds.accuracy
        support = np.flatnonzero(away)
        size = float(np.abs(away[support]) @ accuracy.sizes(support))
        radius = math.sqrt(accuracy.kappa(away, None) * size * FEW * FEW) * FEW  # √(x + e) ≤ √x + √e
        return PrimalPoint(u, None, max(0.5 * float(coef @ u), 0.0), coef=coef, apart=apart, apart_radius=radius)

    def _explicit(self, beta: FloatArray, w: FloatArray) -> PrimalPoint:
        own = self.space.weights(beta)
        return PrimalPoint(self.space.rows.margins(w), w, 0.5 * float(w @ w), w - own)

    # --- (HELD.4) ---

    @cached
    def _interior_point(self) -> tuple[PrimalPoint, float, FloatArray] | None:
        """Interior point w₀ (with its own coefficients), b₀ and the slack of every row there, (k,), or None."""
        svm, nothing = self.svm, np.zeros(self.svm.n)
        level = svm.level[self.rows]
        if (level < 0.0).all():
            w = np.zeros(self.space.rows.d) if self.space.is_linear else None
            zero = PrimalPoint(np.zeros(svm.n), w, 0.0, coef=None if w is not None else nothing)
            return zero, 0.0, -level * (1.0 - 1e-15)
        found = self.row_feasibility
        if found.farkas is not None:
            return None
        point = self._point_at(found.z)
        mu = dict.fromkeys([group.multiplier for group in svm.groups], 0.0)
        if "b" in mu:
            mu["b"] = found.b
        for _ in range(ROUNDS):
            t, r = self._slack(np.zeros(svm.m), nothing, point, mu)
            broken = self._broken(t, r) & self._equal
            if not broken.any():
                break
            point, mu = self._correct_rows(nothing, point, mu, self._equal, t, r)
        t, r = self._slack(np.zeros(svm.m), nothing, point, mu)
        return point, mu.get("b", 0.0), np.where(self._equal, np.inf, -t - INSIDE * r)

    def _point_at(self, z: FloatArray) -> PrimalPoint:
        """Return the point of the coordinates z of (ROOM.1)."""
        factor, direct = coordinates(self.svm, self.bounds, self.rows)
        nothing = np.zeros(self.svm.n)
        if direct:
            return self._explicit(nothing, z)
        a = np.zeros(self.svm.m)
        a[self.rows] = np.linalg.lstsq(factor.T, z, rcond=RANK_TOLERANCE)[0]
        if self.space.is_linear:
            return self._explicit(nothing, self.space.weights(self.svm.beta(a)))
        zero = PrimalPoint(np.zeros(self.svm.n), None, 0.0, coef=nothing)
        return self._move_point(nothing, zero, self.svm.beta(a), 0.0)

    def _shrunk(
        self,
        a: FloatArray,
        beta: FloatArray,
        start: PrimalPoint,
        point: PrimalPoint,
        mu: Mapping[str, float],
        slopes: Mapping[str, float],
    ) -> tuple[PrimalPoint, Mapping[str, float], dict[str, tuple[float, float]]] | None:
        inside = self._interior_point
        if inside is None:
            return None
        inner, b0, space_there = inside
        for again in (False, True):  # from what (HELD.2) ended at, and from what it began with
            if again:
                point, mu = start, self._levels(a, beta, start, slopes)[0]
            for _ in range(SHRINKS):
                t, r = self._slack(a, beta, point, mu)
                if not np.isfinite(t).all():
                    break
                broken = self._broken(t, r)
                if not broken.any():
                    return point, *self._optimise_others(a, point, slopes, mu)
                short = np.where(broken & ~self._equal, t + (INSIDE + 2.0) * r, 0.0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    shares = np.where(short > 0.0, short / (short + np.maximum(space_there, 0.0)), 0.0)
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


def coordinates(svm: SVMDual, bounds: Bounds, rows: IntArray) -> tuple[FloatArray, bool]:
    """Rows s_k φ_k of some rows in coordinates, (k, r), and whether those are the coordinates of w itself."""
    space = bounds.accuracy.space
    if space.is_linear and len(rows) * space.rows.d <= MOST_NUMBERS:
        if svm.mix is not None:
            part = svm.mix[rows]
            used = np.unique(part.indices)
            Z = as_dense(sp.csr_array(part[:, used]) @ space.rows.take(used))
        else:
            Z = as_dense(space.rows.take(svm.find_samples(rows)))
        return svm.sign[rows][:, None] * Z, True
    return pivoted_cholesky(svm.hessian.block(rows, rows)), False


def part_in_b(svm: SVMDual) -> FloatArray:
    """Return the coefficient of b in every row, (m,): 0 without an intercept."""
    return next((group.column for group in svm.groups if group.multiplier == "b"), np.zeros(svm.m))


def find_row_feasibility(svm: SVMDual, bounds: Bounds, rows: IntArray) -> RowFeasibility:
    """Return the result of the linear programs, (ROOM.1) to (ROOM.3), for some rows of a dual."""
    factor, _ = coordinates(svm, bounds, rows)
    return find_feasible_point(factor, part_in_b(svm)[rows], svm.level[rows])


def infeasible(
    svm: SVMDual, bounds: Bounds, rows: IntArray, found: RowFeasibility, scale: FloatArray
) -> InfeasibleConstraintsError:
    """Build the error for rows that contradict each other by (ROOM.2). Shapes: rows (k,), scale (p,)."""
    assert found.farkas is not None
    assert svm.linear_constraints is not None
    own, names = svm.linear_constraints.unconstrained_dual.m, svm.linear_constraints.names
    factor, _ = coordinates(svm, bounds, rows)
    weights = found.farkas / np.array([scale[k - own] if k >= own else 1.0 for k in rows])
    share = 1.0 / float(weights.sum())
    left = np.append(found.farkas @ factor, float(found.farkas @ part_in_b(svm)[rows]))
    residual = 0.0 if found.exact else float(np.linalg.norm(left)) * share
    called = [names[k - own] if k >= own else f"margin[{k}]" for k in rows]
    proof = {name: float(weight * share) for name, weight in zip(called, weights, strict=True) if weight > 0.0}
    return InfeasibleConstraintsError(proof, -float(found.farkas @ svm.level[rows]) * share, residual)
