"""Evaluate losses, their conjugates and the terms of the gap (`Loss`, `compute_loss`, `compute_gap_term`).

    (LOSS.1)  ψ(t) = max over 0 ≤ a ≤ U of at − ½δa²:  U·max(0, t) for δ = 0;  max(0, t)²/(2δ) for U = ∞;  else Huber's,
              where t is the violation of a row of the dual, U its penalty and δ its curvature
    (LOSS.2)  its conjugate is ½δa² on 0 ≤ a ≤ U, and ∞ elsewhere
    (LOSS.3)  g(a, t) = ψ(t) + ½δa² − at ≥ 0, the inequality of Fenchel and Young; without cancellation:
              a(½δa − t) for t ≤ 0;  (t − δa)²/(2δ) for 0 < t < δU;  (U − a)(t − ½δ(U + a)) for t ≥ δU
    (LOSS.4)  g is convex in t and 0 exactly at the a that is optimal for t: a = clip(t/δ, 0, U)
    (LOSS.5)  for a block B of rows with a shared slack:  ψ_B(t) = ψ(T) with T = max_B t, its conjugate depends on
              A = Σ_B α, and g_B = g(A, T) + Σ_B α_k (T − t_k):  neither term is negative, and for one row g_B is g

The functions of these losses take vectors with one entry per row of the dual, (m,).

A sample has one row of the dual, or two with opposite signs, of which at most one has α ≠ 0. `Loss` combines them into
one loss φ per sample, with one multiplier a in an interval; φ* may have a kink at 0. Its vectors have one entry per
sample, (n,). With m_i = f(x_i), or y_i f(x_i) for labels, and the residual r_i = ℓ_i − m_i,

    (LOSSES.1)  φ_i(r) = max over lo_i ≤ a ≤ hi_i of ar − φ*_i(a),  φ*_i(a) = ε_i|a| + ½δ_i a²,  lo_i ≤ 0 ≤ hi_i
    (LOSSES.2)  the a that attains it is clip(S_ε(r)/δ, lo, hi),  S_k(t) = t − clip(t, −k, k):  0 inside the tube
    (LOSSES.3)  φ(r) + φ*(a) − ar ≥ 0 for every r and every a in [lo, hi]: a sample's share of the gap
    (LOSSES.5)  that share is  ½δ(â − a)² + (â − a)(v − δâ) + [ε|a| − clip(r, −ε, ε)a]  for v = S_ε(r), â of (LOSSES.2),
                where v − δâ = 0 unless â is at a bound: none of the three terms is negative

Solvers know a machine only by its `Loss`. Each of ℓ, lo, hi, ε, δ is one number if it is the same for all samples,
which is faster, and takes no memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray

#: One number for all samples, or one per sample, (n,).
PerRow: TypeAlias = float | FloatArray


def compute_loss(t: FloatArray, upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """Return ψ of (LOSS.1); infinite if U = ∞, δ = 0 and t > 0."""
    violation = np.maximum(t, 0.0)
    threshold = _compute_linear_threshold(upper, curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        linear = np.where(violation > 0.0, upper * (violation - 0.5 * threshold), 0.0)
        square = 0.5 * violation * (violation / curvature)
    loss: FloatArray = np.where(violation >= threshold, linear, square)
    return loss


def compute_gap_term(alpha: FloatArray, t: FloatArray, upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """Return g of (LOSS.3): no term is negative, and none is a difference of large numbers."""
    bound_slack = upper - alpha
    is_hard = (curvature == 0.0) & np.isinf(upper)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        term_below = alpha * (0.5 * curvature * alpha - t)  # for a hard margin, α(y f − 1) of (HARD.7)
        difference = t - curvature * alpha
        # difference² may underflow although the term does not
        term_between = 0.5 * difference * (difference / curvature)
        term_beyond = bound_slack * (t - 0.5 * curvature * (upper + alpha))
    term_beyond = np.where(is_hard, np.inf, np.where(bound_slack == 0.0, 0.0, term_beyond))
    terms: FloatArray = np.where(
        t <= 0.0, term_below, np.where(t < _compute_linear_threshold(upper, curvature), term_between, term_beyond)
    )
    return terms


def sum_blocks(values: FloatArray, block: int) -> FloatArray:
    """Return the sum over each block of `block` rows: (B,), from (m,)."""
    sums: FloatArray = values.reshape(-1, block).sum(axis=1)
    return sums


def find_block_maximum(t: FloatArray, block: int) -> FloatArray:
    """Return T of (LOSS.5): (B,), from (m,)."""
    maxima: FloatArray = t.reshape(-1, block).max(axis=1)
    return maxima


def compute_block_terms(
    alpha: FloatArray, t: FloatArray, upper: FloatArray, curvature: FloatArray, block: int
) -> FloatArray:
    """Return (LOSS.5) of each block: (B,), from (m,)."""
    T, A = find_block_maximum(t, block), sum_blocks(alpha, block)
    below_maximum = sum_blocks(alpha * (np.repeat(T, block) - t), block)
    return compute_gap_term(A, T, upper[::block], curvature[::block]) + below_maximum


def _compute_linear_threshold(upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """Return δU, the violation from which the loss is linear; 0 for δ = 0, even if U = ∞."""
    with np.errstate(invalid="ignore"):
        threshold: FloatArray = np.where(curvature == 0.0, 0.0, curvature * upper)
    return threshold


def take_rows(values: PerRow, rows: slice | IntArray) -> PerRow:
    """Return the values of some samples."""
    return values if isinstance(values, float) else values[rows]


def compress_constant(values: float | FloatArray) -> PerRow:
    """Return one number if all values are equal, else the values."""
    if not isinstance(values, np.ndarray) or not values.ndim:
        return float(values)
    vector = np.asarray(values, dtype=np.float64)
    if len(vector) and (vector.strides == (0,) or np.minimum.reduce(vector) == np.maximum.reduce(vector)):
        return float(vector[0])
    return np.ascontiguousarray(vector)


def is_zero(values: PerRow) -> bool:
    """Return whether the values are stored as the one number 0."""
    return isinstance(values, float) and values == 0.0


def soft_threshold(t: FloatArray, k: PerRow) -> FloatArray:
    """Return S_k(t): (n,); t itself if k = 0."""
    if is_zero(k):
        return t
    return t - np.clip(t, -np.asarray(k), k)


def _weighted_sum(weights: PerRow, values: FloatArray) -> float:
    """Return Σ w_i v_i."""
    if isinstance(weights, float):
        return weights * float(values.sum())
    return float(weights @ values)


@dataclass(frozen=True, eq=False)
class Loss:
    """The losses (LOSSES.1) of all samples.

    high, level, low, tube, curvature (n,): hi, ℓ, lo, ε ≥ 0 and δ ≥ 0. ε = 0 where lo = 0; δ > 0 where a bound is
        infinite.
    """

    high: PerRow
    level: PerRow = 1.0
    low: PerRow = 0.0
    tube: PerRow = 0.0
    curvature: PerRow = 0.0

    def restrict_rows(self, rows: slice | IntArray) -> Self:
        """Return the losses of some samples, which are rows of X."""
        return replace(
            self, high=take_rows(self.high, rows), level=take_rows(self.level, rows), low=take_rows(self.low, rows),
            tube=take_rows(self.tube, rows), curvature=take_rows(self.curvature, rows),
        )  # fmt: skip

    def scale_by(self, factors: PerRow) -> Self:
        """Return the losses φ_i times factors f_i > 0, as if sample i occurred f_i times."""
        if is_zero(self.curvature):
            curvature = self.curvature
        else:
            curvature = self.curvature / factors
        low = self.low if is_zero(self.low) else self.low * factors
        return replace(self, high=self.high * factors, low=low, curvature=curvature)

    def shift_origin(self, origin: float) -> Self:
        """Return the losses of m − origin."""
        return replace(self, level=self.level - origin)

    @cached
    def is_one_sided(self) -> bool:
        """Whether the loss is 0 for r ≤ 0."""
        return is_zero(self.low)

    @cached
    def is_piecewise_linear(self) -> bool:
        """Whether every δ is 0."""
        return is_zero(self.curvature)

    @cached
    def is_hinge(self) -> bool:
        """Whether all losses are hinges."""
        return self.is_one_sided and self.is_piecewise_linear

    @cached
    def is_standard_hinge(self) -> bool:
        """Whether all losses are those of a C-SVM, hinges at level 1."""
        return self.is_hinge and isinstance(self.level, float) and self.level == 1.0

    @cached
    def is_squared_hinge(self) -> bool:
        """Whether all losses are squared hinges."""
        return self.is_one_sided and isinstance(self.high, float) and np.isinf(self.high)

    def compute_residuals(self, m: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return r = ℓ − m: (n,)."""
        return np.subtract(self.level, m, out=out)

    def compute_tube_excess(self, r: FloatArray) -> FloatArray:
        """Return S_ε(r), the excess over the tube: (n,)."""
        return soft_threshold(r, self.tube)

    def compute_optimal_dual(self, r: FloatArray) -> FloatArray:
        """Return the a of (LOSSES.2), 0 where r is in the tube or at a kink: (n,)."""
        return self._compute_dual_of_excess(r if self.is_hinge else self.compute_tube_excess(r))

    def _compute_dual_of_excess(self, v: FloatArray) -> FloatArray:
        """Return the a of (LOSSES.2) for v = S_ε(r): (n,)."""
        if self.is_hinge:
            return np.where(v > 0.0, self.high, 0.0)
        if self.is_squared_hinge:
            return np.maximum(v, 0.0) / self.curvature
        if self.is_piecewise_linear:
            a = np.where(v > 0.0, self.high, self.low)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):  # where δ = 0 and v ≠ 0, a goes to its bound
                a = np.clip(v / self.curvature, self.low, self.high)
        a[v == 0.0] = 0.0
        return a

    def sum_losses(self, r: FloatArray) -> float:
        """Return Σ φ(r)."""
        if self.is_hinge:
            return _weighted_sum(self.high, np.maximum(r, 0.0))
        v = self.compute_tube_excess(r)
        if self.is_piecewise_linear:
            return _weighted_sum(self.high, np.maximum(v, 0.0)) + _weighted_sum(self.low, np.minimum(v, 0.0))
        a = self.compute_optimal_dual(r)
        return float(a @ v) - 0.5 * _weighted_sum(self.curvature, a * a)

    def sum_conjugates(self, a: FloatArray) -> float:
        """Return Σ φ*(a)."""
        total = 0.0
        if not is_zero(self.tube):
            total += _weighted_sum(self.tube, np.abs(a))
        if not self.is_piecewise_linear:
            total += 0.5 * _weighted_sum(self.curvature, a * a)
        return total

    def compute_gap(self, a: FloatArray, r: FloatArray) -> float:
        """Return Σ of (LOSSES.3), by (LOSSES.5): no term is negative, and none is a difference of large numbers."""
        if self.is_hinge:
            return float((self._compute_dual_of_excess(r) - a) @ r)
        if is_zero(self.tube):
            clipped_r = None
        else:
            clipped_r = np.clip(r, -np.asarray(self.tube), self.tube)
        v = r if clipped_r is None else r - clipped_r
        optimal = self._compute_dual_of_excess(v)
        difference = optimal - a
        if clipped_r is None:
            tube_terms = 0.0
        else:
            tube_terms = float((self.tube * np.abs(a) - clipped_r * a).sum())
        if self.is_piecewise_linear:
            return tube_terms + float(difference @ v)
        is_free = (optimal > self.low) & (optimal < self.high)
        remaining_excess = np.where(is_free, 0.0, v - self.curvature * optimal)
        return (
            tube_terms
            + float(difference @ remaining_excess)
            + 0.5 * _weighted_sum(self.curvature, difference * difference)
        )

    def compute_dual_value(self, a: FloatArray) -> float:
        """Return ℓᵀa − Σφ*(a), the contribution of a to the dual."""
        if isinstance(self.level, float):
            value = self.level * float(a.sum())
        else:
            value = float(self.level @ a)
        return value if self.is_hinge else value - self.sum_conjugates(a)

    def measure_kink_distance(self, r: FloatArray) -> FloatArray:
        """Return how far r is from where the a of (LOSSES.2) leaves 0 or its bound, (n,); 0 if a is free."""
        if self.is_hinge:
            return np.abs(r)
        excess = r if self.is_one_sided else np.abs(r) - self.tube
        if self.is_piecewise_linear:
            return np.abs(excess)
        if self.is_one_sided:
            bound = self.high
        else:
            bound = np.where(r > 0.0, self.high, -np.asarray(self.low))
        past = excess - self.curvature * bound
        return np.where(excess < 0.0, -excess, np.maximum(past, 0.0))

    def clip_to_box(self, a: FloatArray) -> FloatArray:
        """Return the nearest a in the box: (n,)."""
        return np.clip(a, self.low, self.high)
