"""Prove a bound on the gap over a whole piece of a path, from its two ends (`PieceCertifier`).

Between two breakpoints all quantities are linear, and the gap is a sum of products of two convex functions. Replacing
each factor by its chord gives a parabola that is nowhere below the gap. A parabola is at most the largest of its three
Bernstein coefficients, and these are computed from the ends alone: so a few sums prove a bound at all values between.

Precisely, at s = (1 − x) s₀ + x s₁, v and μ are interpolated linearly; so are t, lo, hi and e of (SIGNED.1), and
therefore z = −g of (ACTIVE.1), f = Kβ, and Δ below. α_k = |v_k| and U_k are the multiplier of row k and its bound, z₊
and z₋ the positive and the negative part of z times the sign of the row; μ_g(v) = (E_gᵀv − e_g)/R_g; u is the unit
roundoff:

    (BETWEEN.1)  P − D ≤ Σ_k (a_k(s) z_k(s)₊ + α_k(s) z_k(s)₋) + ½Σ R_g (μ_g − μ_g(v))²,
                 a = U − α, or z₊/2δ where U = ∞
    (BETWEEN.2)  each factor is convex, so it is at most its chord, and the sum is at most a parabola in x with the
                 Bernstein coefficients S₀₀, ½(S₀₁ + S₁₀), S₁₁;  S_ij = Σ_k of the first factor at end i times the
                 second at end j;  the parabola is at most the largest of the three
    (BETWEEN.3)  D = tᵀv − ½‖v‖²_K − ½Σδv² − Σ(E_gᵀv − e_g)²/(2R_g) is a parabola, too: |D| is at least its smallest
                 |coefficient|, if all have one sign.  The relative gap is at most (BETWEEN.2) over that; a wide piece
                 is subdivided, and the coefficients of its parts are blossoms of those of the piece
    (BETWEEN.4)  Σv over the rows with equal E has a rounding error r: a feasible v′ differs by Δ = |r| in one row
                 far enough from its bounds, so P − D grows by at most ΣΔ max_k(|∇_k D| + |μ|) + ½(ΣΔ)² max K_ii
    (BETWEEN.5)  z has an error of at most ρ_k κ + 8u(|f| + |Eμ| + |t| + δ|v|), with ρ and κ = (ε + γ)Σρ|β| of (ACC.2):
                 z₊ and z₋ grow by it
    (BETWEEN.6)  if β of many samples is linear in s, so is K times that part: two products, and a mean for each s;  a
                 rounding error Δ of that β changes z by at most ρ_k Σρ|Δ|

Source: weak duality; Farin, *Curves and Surfaces for CAGD* (2002), chapter 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.many.exact.rows import Data, SignedRows

#: If the optimal value is nearly 0, gaps without rounding are relative to at least this share of the terms of D.
NEARLY_ZERO = 1e-3
#: Gaps up to this are not bounded more tightly.
GOOD_GAP = 1e-9
#: Share of steady samples from which on (BETWEEN.6) saves time.
MIN_STEADY_SHARE = 0.3
#: A row is free if its distance from both bounds exceeds this share of the width of its box, or of the largest v.
MIN_FREE_DISTANCE = 1e-8
#: Ends of the parts into which a wide piece is subdivided, as shares of it: finer towards both ends.
_FIRST_HALF = np.geomspace(1e-5, 0.5, 30)
PARTS = np.concatenate([[0.0], _FIRST_HALF, 1.0 - _FIRST_HALF[-2::-1], [1.0]])


@dataclass(frozen=True, eq=False)
class PathPoints:
    """Points as columns: v (m, k) and μ (p, k), the data at each, t, lo, hi (m, k) and e (p, k), and f (n, k) = K β.

    mass (k,): Σρ|β| for the β from which f was computed; None if f was computed from v.
    linear_error (k,): Σρ|Δ| of (BETWEEN.6); 0 if f was computed from v.
    """

    v: FloatArray
    mu: FloatArray
    t: FloatArray
    lo: FloatArray
    hi: FloatArray
    e: FloatArray
    f: FloatArray
    mass: FloatArray | None = None
    linear_error: FloatArray | float = 0.0


class _PieceEnds(NamedTuple):
    """Indices of the points at both ends of each piece: (pieces,) each."""

    first: IntArray
    second: IntArray

    @property
    def pairs(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """The pairs of ends in the three Bernstein coefficients of a product."""
        return (self.first, self.first), (self.first, self.second), (self.second, self.second)

    def take_larger(self, values: FloatArray) -> FloatArray:
        """Return the larger one of the values (k,) of points at both ends of each piece."""
        return np.maximum(values[self.first], values[self.second])


class _DualBounds(NamedTuple):
    """D on pieces, or on parts of them, (BETWEEN.3).

    coefficients (3, ..., pieces): Bernstein coefficients of D.
    error (pieces,): Bound of their rounding errors.
    min_size (pieces,): Lower limit of the size that gaps are relative to.
    """

    coefficients: FloatArray
    error: FloatArray
    min_size: FloatArray

    def subdivide(self, pieces: IntArray) -> _DualBounds:
        """Return the bounds on the parts of these pieces."""
        return _DualBounds(_subdivide(self.coefficients[:, pieces]), self.error[pieces], self.min_size[pieces])

    def bound_relative_gaps(self, difference: FloatArray) -> FloatArray:
        """Bound gaps, (..., pieces), given the coefficients of P − D, (3, ..., pieces)."""
        D = self.coefficients
        max_gap = difference.max(axis=0)
        has_one_sign = (D > 0.0).all(axis=0) | (D < 0.0).all(axis=0)
        size = np.maximum(np.where(has_one_sign, np.abs(D).min(axis=0) - self.error, 0.0), self.min_size)
        gaps = np.divide(max_gap, size, out=np.full(max_gap.shape, np.inf), where=size > 0.0)
        return np.where(max_gap == 0.0, 0.0, np.nan_to_num(gaps, nan=np.inf, posinf=np.inf))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the rows: for pieces, for points, and for each pattern of E (rows with equal E) at each point.

    gap, dual (3, pieces): Bernstein coefficients of (BETWEEN.2) and of (BETWEEN.3), both without the ridge terms.
    by_point (k, 3): The largest |∇D| plus its error bound, the terms of D, Σρ|v|.
    by_pattern (k, patterns, 5): Σv, Σ|v|, the largest distances to an upper and a lower bound, whether any v is not 0.
    """

    gap: FloatArray
    dual: FloatArray
    by_point: FloatArray
    by_pattern: FloatArray

    @property
    def steepest(self) -> FloatArray:
        """The largest |∇D| plus its error bound at each point: (k,)."""
        return self.by_point[:, 0]

    @property
    def terms(self) -> FloatArray:
        """The sum of the absolute terms of D at each point: (k,)."""
        return self.by_point[:, 1]


@dataclass(frozen=True, eq=False)
class _GapFactors:
    """Upper bounds of the factors a, z₊, α and z₋ of (BETWEEN.1) of every row at every point: (m, k) each."""

    a: FloatArray
    z_plus: FloatArray
    alpha: FloatArray
    z_minus: FloatArray

    def sum_products(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return S of (BETWEEN.2), the first factors at some points times the second at others: (pieces,)."""
        z_plus = self.z_plus[:, second]
        products = np.where(z_plus > 0.0, self.a[:, first] * z_plus, 0.0)
        products = products + self.alpha[:, first] * self.z_minus[:, second]
        return np.asarray(products.sum(axis=0))


class PieceCertifier:
    """Evaluates (BETWEEN.1) to (BETWEEN.6) for the rows of one machine.

    norms (n,), row_norms (m,): ρ of (ACC.1) for every distinct sample and every row.
    epsilon: ε of (BETWEEN.5), including the rounding of the inner products of a linear kernel.
    has_ridge, is_equality (p,): Masks of the groups with a ridge, and of those without, which are equalities.
    patterns: For each pattern of E in the equalities, the indices of its rows; pattern_of_row (m,) is the inverse.
    totals_to_sums: The matrix that converts e to the sum of v over each pattern; None if e does not determine these.
    """

    def __init__(self, rows: SignedRows) -> None:
        self.rows = rows
        accuracy = Accuracy(rows.space)
        self.norms = accuracy.bound_norms(np.asarray(rows.distinct))
        width = rows.space.samples.longest_row
        self.epsilon = accuracy.epsilon + (gamma(width + 6) if rows.space.is_linear else 0.0)
        self.is_equality = rows.ridge == 0.0
        self.has_ridge = ~self.is_equality
        has_equalities = bool(self.is_equality.any())
        values, inverse = np.unique(rows.E[:, self.is_equality], axis=0, return_inverse=True)
        self.pattern_of_row = np.ascontiguousarray(inverse.ravel(), dtype=np.int64)
        if has_equalities:
            self.patterns = [np.flatnonzero(self.pattern_of_row == k) for k in range(len(values))]
        else:
            self.patterns = []
        self.totals_to_sums = np.linalg.inv(values.T) if has_equalities and len(values) == values.shape[1] else None
        self.buffers: dict[str, FloatArray] = {}
        self.max_entry = max(float(np.abs(rows.E).max(initial=0.0)), 1.0)
        self.row_norms = np.ascontiguousarray(self.norms[rows.sample])

    def repair(self, v: FloatArray, data: Data) -> FloatArray:
        """Return a feasible v near v (m,): clip it, and correct the sum of each pattern in the row with most slack."""
        v = np.clip(v, data.lo, data.hi)
        if self.totals_to_sums is None:
            return v
        for rows, total in zip(self.patterns, self.totals_to_sums @ data.e[self.is_equality], strict=True):
            for _ in range(2):  # the second time for the rounding of the first
                error = float(total - v[rows].sum())
                distance = np.minimum(data.hi[rows] - v[rows], v[rows] - data.lo[rows])
                k = rows[int(np.argmax(distance))]
                if error and distance.max() > 0.0:
                    v[k] = min(max(v[k] + error, data.lo[k]), data.hi[k])
        return v

    def build_points(self, v: list[FloatArray], mu: list[FloatArray], data: list[Data]) -> PathPoints:
        """Build points from lists of v, μ and data, with f from v."""
        columns = Data(*(np.array(parts).T for parts in zip(*(each.parts for each in data), strict=True)))
        return self._build_points_from_v(np.array(v).T, np.array(mu).T, columns)

    def _build_points_from_v(self, v: FloatArray, mu: FloatArray, columns: Data) -> PathPoints:
        """Build points from v (m, k), μ (p, k) and the data at each, as columns, with f from v."""
        return PathPoints(v, mu, *columns.parts, f=self.rows.compute_f(v))

    def build_points_along(
        self, v: FloatArray, mu: FloatArray, columns: Data, s: FloatArray, steady: NDArray[np.bool_]
    ) -> PathPoints:
        """Build points at increasing s (k,), with f by (BETWEEN.6): β of the samples `steady` (n,) is linear in s.

        If there are too few of them, f is computed from v. The arrays of the products are reused.

        v (m, k), mu (p, k), columns: v, μ and the data at each point, as columns.
        """
        K = self.rows.K
        if not s[-1] > s[0] or np.count_nonzero(steady) < MIN_STEADY_SHARE * len(K) or not self.rows.is_symmetric:
            return self._build_points_from_v(v, mu, columns)
        beta = self.rows.compute_beta(v).T  # (k, n)
        x = (s - s[0]) / (s[-1] - s[0])
        shares = np.column_stack([1.0 - x, x])
        ends = np.where(steady, beta[[0, -1]], 0.0)
        moving = np.flatnonzero(~steady)
        K_moving = np.take(K, moving, axis=0, out=self.reserve_buffer("K_moving", len(moving), len(K)), mode="clip")
        beta_moving = self._take_columns("beta_moving", beta, moving)
        f = np.matmul(beta_moving, K_moving, out=self.reserve_buffer("f", *beta.shape))
        f += np.matmul(shares, ends @ K, out=self.reserve_buffer("f_steady", *beta.shape))
        linear_error = self._bound_linear_error(beta, shares, ends)
        mass = np.abs(beta_moving, out=beta_moving) @ self.norms[moving] + np.abs(shares) @ (np.abs(ends) @ self.norms)
        return PathPoints(v, mu, *columns.parts, f=f.T, mass=mass + linear_error, linear_error=linear_error)

    def _bound_linear_error(self, beta: FloatArray, shares: FloatArray, ends: FloatArray) -> FloatArray:
        """Bound Σρ|Δ| of (BETWEEN.6) at each point, (k,): Δ is β minus `shares` (k, 2) times its values at the ends.

        Shapes: beta (k, n), and ends (2, n), which is 0 for samples that are not steady.
        """
        steady = np.flatnonzero(ends.any(axis=0))
        error = self._take_columns("linear_error", beta, steady)
        error -= np.matmul(shares, ends[:, steady], out=self.reserve_buffer("linear_beta", len(beta), len(steady)))
        return np.asarray(np.abs(error, out=error) @ self.norms[steady])

    def _take_columns(self, name: str, array: FloatArray, columns: IntArray) -> FloatArray:
        """Return some columns of an array (k, n), in the buffer of this name."""
        buffer = self.reserve_buffer(name, len(array), len(columns))
        return np.take(array, columns, axis=1, out=buffer, mode="clip")

    def reserve_buffer(self, name: str, *shape: int) -> FloatArray:
        """Return a reusable buffer of this name, whose previous content is lost."""
        size = math.prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size + size // 4)
        return self.buffers[name][:size].reshape(shape)

    def average_multipliers(self, points: PathPoints) -> tuple[PathPoints, NDArray[np.bool_]]:
        """Return points with μ averaged over the free rows, and the mask (k,) of points at which these determine it."""
        is_known = np.ones(points.v.shape[1], dtype=np.bool_)
        if not self.is_equality.any() or self.totals_to_sums is None:
            return points, np.full(len(is_known), not self.is_equality.any())
        size = np.minimum(points.hi - points.lo, np.abs(points.v).max(axis=0))
        is_free = np.minimum(points.v - points.lo, points.hi - points.v) > MIN_FREE_DISTANCE * size
        target = points.t - self.rows.at_rows(points.f) - self.rows.curvature[:, None] * points.v
        if self.has_ridge.any():
            target = target - self.rows.E[:, self.has_ridge] @ points.mu[self.has_ridge]
        averages = np.empty((len(self.patterns), len(is_known)))
        for k, rows in enumerate(self.patterns):
            count = np.count_nonzero(is_free[rows], axis=0)
            is_known &= count > 0
            averages[k] = np.where(is_free[rows], target[rows], 0.0).sum(axis=0) / np.maximum(count, 1)
        mu = points.mu.copy()
        mu[self.is_equality] = np.where(is_known, self.totals_to_sums.T @ averages, mu[self.is_equality])
        return replace(points, mu=mu), is_known

    def bound_gaps(
        self, points: PathPoints, first: IntArray, second: IntArray, with_rounding: bool = True
    ) -> FloatArray:
        """Bound the relative gap on pieces from the points `first` to the points `second`: (pieces,).

        with_rounding: Whether bounds on the rounding errors are included. Otherwise values are taken as computed, and
            the gap of an optimum near 0 is relative to `NEARLY_ZERO` times the terms of D.
        """
        ends = _PieceEnds(first, second)
        with np.errstate(invalid="ignore", over="ignore"):
            mass, kappa = self._bound_kernel_errors(points)
            if core.compiled is None:
                sums = self._compute_sums(points, kappa, ends, with_rounding)
            else:
                sums = self._compute_sums_compiled(points, kappa, ends, with_rounding)
            repair_cost = self._bound_repair_cost(points, sums, ends)
            difference = sums.gap + self._compute_penalty(points, ends) + repair_cost
            difference *= 1.0 + gamma(self.rows.m + 20)  # the rounding of these sums
            dual = self._bound_dual(points, sums, kappa * mass, ends, with_rounding)
            gaps = dual.bound_relative_gaps(difference)
            loose = np.flatnonzero(~(gaps <= GOOD_GAP))
            if len(loose):
                part_gaps = dual.subdivide(loose).bound_relative_gaps(_subdivide(difference[:, loose]))
                gaps[loose] = np.minimum(gaps[loose], part_gaps.max(axis=0))
            return gaps

    def _bound_kernel_errors(self, points: PathPoints) -> tuple[FloatArray, FloatArray]:
        """Return Σρ|β| at each point, and κ of (BETWEEN.5): (k,) each."""
        beta_sizes = np.abs(self.rows.compute_beta(points.v))
        mass = self.norms @ beta_sizes if points.mass is None else points.mass
        n_terms = np.count_nonzero(beta_sizes, axis=0).max(initial=0) + 12
        kappa = (self.epsilon + gamma(n_terms)) * mass * (1.0 + 1e-9) + points.linear_error  # 1e-9: rounding of mass
        return mass, kappa

    def _compute_sums(self, points: PathPoints, kappa: FloatArray, ends: _PieceEnds, with_rounding: bool) -> _Sums:
        """Compute the sums of (BETWEEN.2) to (BETWEEN.4), by NumPy."""
        rows = self.rows
        f = rows.at_rows(points.f)
        delta_v = rows.curvature[:, None] * points.v
        gradient = points.t - f - delta_v
        E_mu = rows.E @ points.mu
        radius = np.outer(self.row_norms, kappa)
        radius += 8.0 * UNIT * (np.abs(f) + np.abs(E_mu) + np.abs(points.t) + np.abs(delta_v))  # (BETWEEN.5)
        if not with_rounding:
            radius = np.zeros_like(radius)
        factors = self._bound_factors(points, gradient - E_mu, radius)
        alpha = factors.alpha
        masses = self.row_norms @ alpha  # not from β, in which opposite rows cancel
        terms = np.abs(points.t * points.v).sum(axis=0) + masses * masses + rows.curvature @ np.square(points.v)
        steepest = (np.abs(gradient) + radius).max(axis=0, initial=0.0)
        first, second = ends
        gap = (
            factors.sum_products(first, first),
            0.5 * (factors.sum_products(first, second) + factors.sum_products(second, first)),
            factors.sum_products(second, second),
        )
        dual = [self._compute_dual_blossom(points, f, a, b) for a, b in ends.pairs]
        by_point = np.column_stack([steepest, terms, masses])
        return _Sums(np.stack(gap), np.stack(dual), by_point, self._sum_patterns(points))

    def _compute_sums_compiled(
        self, points: PathPoints, kappa: FloatArray, ends: _PieceEnds, with_rounding: bool
    ) -> _Sums:
        """Do the same as `_compute_sums`, by the compiled core."""
        rows = self.rows
        k = points.v.shape[1]
        shape = (3, len(ends.first))
        sums = _Sums(np.empty(shape), np.empty(shape), np.empty((k, 3)), np.empty((k, len(self.patterns), 5)))
        columns = [
            np.ascontiguousarray(column.T) for column in (points.v, points.t, points.lo, points.hi, points.mu, points.f)
        ]
        arrays = (
            rows.E, rows.curvature, self.row_norms, rows.sample, self.pattern_of_row, *columns, kappa,
            np.ascontiguousarray(ends.first), np.ascontiguousarray(ends.second), sums.gap, sums.dual, sums.by_point,
            sums.by_pattern,
        )  # fmt: skip
        core.compiled.piece_sums(arrays, with_rounding)
        return sums

    def _bound_factors(self, points: PathPoints, z: FloatArray, radius: FloatArray) -> _GapFactors:
        """Bound the factors of (BETWEEN.1), given z and a bound of its error, (m, k) each."""
        # rows with lo = hi = 0 have the sign 0 and do not contribute
        sign = np.where(points.hi > 0.0, 1.0, np.where(points.lo < 0.0, -1.0, 0.0))
        alpha = np.abs(points.v)
        violation = sign * z
        z_plus = np.maximum(violation + radius, 0.0)
        z_minus = np.maximum(radius - violation, 0.0)
        upper = np.where(sign > 0.0, points.hi, -points.lo) * np.abs(sign)
        is_unbounded = np.isinf(upper)
        a = np.maximum(upper - alpha, 0.0) + 4.0 * UNIT * np.where(is_unbounded, 0.0, upper)
        if is_unbounded.any():
            curvature = np.where(self.rows.curvature > 0.0, self.rows.curvature, np.nan)[:, None]
            unbounded_a = np.where(z_plus > 0.0, np.nan_to_num(z_plus / (2.0 * curvature), nan=np.inf), 0.0)
            a = np.where(is_unbounded, unbounded_a, a)
        return _GapFactors(a, z_plus * np.abs(sign), alpha, z_minus * np.abs(sign))

    def _compute_dual_blossom(self, points: PathPoints, f: FloatArray, a: IntArray, b: IntArray) -> FloatArray:
        """Return the blossom of D at the ends a and b of pieces, (BETWEEN.3), given f of the rows (m, k)."""
        value = (points.t[:, a] * points.v[:, b]).sum(axis=0) + (points.t[:, b] * points.v[:, a]).sum(axis=0)
        value = value - (points.v[:, a] * f[:, b]).sum(axis=0)
        return np.asarray(0.5 * (value - self.rows.curvature @ (points.v[:, a] * points.v[:, b])))

    def _sum_patterns(self, points: PathPoints) -> FloatArray:
        """Return `by_pattern` of `_Sums`: (k, patterns, 5)."""
        sums = np.empty((points.v.shape[1], len(self.patterns), 5))
        for k, rows in enumerate(self.patterns):
            v = points.v[rows]
            sums[:, k] = np.column_stack([
                v.sum(axis=0), np.abs(v).sum(axis=0), (points.hi[rows] - v).max(axis=0),
                (v - points.lo[rows]).max(axis=0), v.any(axis=0),
            ])  # fmt: skip
        return sums

    def _compute_penalty(self, points: PathPoints, ends: _PieceEnds) -> FloatArray:
        """Return the Bernstein coefficients of ½ΣR(μ − μ(v))², including the rounding of μ(v): (3, pieces)."""
        if not self.has_ridge.any():
            return np.zeros((3, len(ends.first)))
        rows = self.rows
        R = rows.ridge[self.has_ridge][:, None]
        E = rows.E[:, self.has_ridge]
        e = points.e[self.has_ridge]
        deviation = np.abs(points.mu[self.has_ridge] - (E.T @ points.v - e) / R)
        deviation += gamma(rows.m + 4) * (np.abs(E).T @ np.abs(points.v) + np.abs(e)) / R
        return np.stack([0.5 * (R * deviation[:, a] * deviation[:, b]).sum(axis=0) for a, b in ends.pairs])

    def _bound_repair_cost(self, points: PathPoints, sums: _Sums, ends: _PieceEnds) -> FloatArray:
        """Bound by how much P − D may grow on each piece when v is made feasible, (BETWEEN.4): (pieces,)."""
        sum_error = ends.take_larger(self._bound_sum_errors(points, sums))
        slope = sums.steepest + self.max_entry * np.abs(points.mu[self.is_equality]).sum(axis=0)
        cost = sum_error * ends.take_larger(slope) + sum_error * sum_error * self.rows.max_diagonal
        return np.where(sum_error > 0.0, cost, 0.0)

    def _bound_sum_errors(self, points: PathPoints, sums: _Sums) -> FloatArray:
        """Return ΣΔ of (BETWEEN.4) at each point, infinite if no row is far enough from its bounds: (k,)."""
        if not self.is_equality.any():
            return np.zeros(points.v.shape[1])
        if self.totals_to_sums is None:
            return np.full(points.v.shape[1], np.inf)
        total_error = np.zeros(points.v.shape[1])
        totals = self.totals_to_sums @ points.e[self.is_equality]
        for k, (rows, total) in enumerate(zip(self.patterns, totals, strict=True)):
            sums_v, mass, max_up, max_down, any_v = sums.by_pattern[:, k].T
            error = np.abs(total - sums_v) + gamma(len(rows) + 2) * mass + 2.0 * UNIT * np.abs(total)
            error = np.where((any_v != 0.0) | (total != 0.0), error, 0.0)
            total_error += np.where(np.minimum(max_up, max_down) >= error, error, np.inf)
        return total_error

    def _bound_dual(
        self, points: PathPoints, sums: _Sums, kernel_error: FloatArray, ends: _PieceEnds, with_rounding: bool
    ) -> _DualBounds:
        """Return the bounds (BETWEEN.3) of D on each piece.

        kernel_error (k,): Bound of the error of D at each point that is due to kernel values.
        """
        rows = self.rows
        dual = sums.dual
        terms = sums.terms
        if self.has_ridge.any():
            residual = rows.E[:, self.has_ridge].T @ points.v - points.e[self.has_ridge]
            h = residual / np.sqrt(rows.ridge[self.has_ridge])[:, None]
            dual = dual - 0.5 * np.stack([(h[:, a] * h[:, b]).sum(axis=0) for a, b in ends.pairs])
            terms = terms + np.square(h).sum(axis=0)
        error = ends.take_larger(kernel_error + gamma(rows.m + 10) * terms)
        if with_rounding:
            min_size = np.zeros(len(error))
        else:
            min_size = NEARLY_ZERO * np.minimum(terms[ends.first], terms[ends.second])
        return _DualBounds(dual, error, min_size)


def _subdivide(coefficients: FloatArray) -> FloatArray:
    """Return the Bernstein coefficients of parabolas on each of the `PARTS` of their piece: (3, k) → (3, parts, k)."""
    first, middle, last = coefficients
    left = PARTS[:-1, None]
    right = PARTS[1:, None]

    def blossom(u: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray((1 - u) * (1 - v) * first + ((1 - u) * v + u * (1 - v)) * middle + u * v * last)

    with np.errstate(invalid="ignore"):
        return np.stack([blossom(left, left), blossom(left, right), blossom(right, right)])
