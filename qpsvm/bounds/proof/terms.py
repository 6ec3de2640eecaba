"""Bound the terms of (GAP.1) from above and below (`bound_violations`, `sum_terms`).

By (GAP.1), P − D is a sum of nonnegative terms: one term g per row, one per penalised intercept, and ½‖w − w(α)‖². So
it is bounded without the cancellation of P and D, given an enclosure of the violation t of each row:

    (BOUND.1)  t_k = ℓ_k − s_k⟨w, φ⟩ − Σ_g E_kg μ_g as a sum of two doubles and a radius r_k: that of ⟨w, φ⟩ plus the
               rounding of this sum
    (BOUND.2)  g = α(−t)₊ + (U − α)(t − δU)₊ + (min(t₊, δU) − δα)²/(2δ), (LOSS.4), without the last part if δ = 0: each
               factor is bounded by its values at the ends of t̂ ± r, and one of the first two parts is 0
    (BOUND.3)  a sum of m nonnegative numbers has a relative error of at most γ_{m−1}, in any order
    (BOUND.4)  P − D ≤ ½(‖w − w(α)‖ + radius)² + Σ g_k + ½Σ R_g (μ_g − (E_gᵀα − e_g)/R_g)²
    (BOUND.5)  with one slack for the rows of a block, and δ = 0, g = Σα_k (T − t_k) + (U − Σα)T, T = max(0, max t_k);
               T − t_k = max(0, 0 − t_k, max over other rows of t_l − t_k) is bounded by its values at the ends of the t

Products of a few nonnegative factors are rounded outwards by the factor 1 + 8u.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW, two_product, two_sum
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import enclose_fraction, round_down, round_up
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.feasible import FeasibleAlpha, compute_residual
from qpsvm.bounds.proof.gap_bounds import Interval
from qpsvm.bounds.proof.spaces import PointValues
from qpsvm.program.losses import compute_loss

#: Lower and upper bounds of the numbers of some rows.
Ends = tuple[FloatArray, FloatArray]
#: Factor 1 − 8u that rounds a result of few operations down, as FEW_ROUNDINGS rounds it up.
INWARD = 2.0 - FEW_ROUNDINGS
#: Combinations of at most this many points are added in double-double.
MAX_DOUBLE_DOUBLE_TERMS = 32


@dataclass(eq=False)
class Violations:
    """Violations t of some rows, (BOUND.1), accumulated term by term: |t_k − high_k − low_k| ≤ radius_k, (k,) each.

    size (k,): Sum of the absolute values of all that was added to `low`.
    steps: Number of additions, plus 2.
    """

    high: FloatArray
    low: FloatArray
    radius: FloatArray
    size: FloatArray
    steps: int = 2

    @property
    def ends(self) -> Ends:
        """Lower and upper bounds of t: (k,) each."""
        widest = self.radius + np.abs(self.low)
        slack = widest + 2.0 * UNIT * (np.abs(self.high) + widest)  # no sum underflows
        return self.high - slack, self.high + slack

    def add(self, values: FloatArray, *small: FloatArray) -> None:
        """Add numbers (k,), and others that are small compared with them."""
        self.high, error = two_sum(self.high, values)
        self.steps += 1
        for term in (error, *small):
            self.low = self.low + term
            self.size = self.size + np.abs(term)

    def add_products(self, a: FloatArray, b: FloatArray, *small: FloatArray) -> None:
        """Add the products a∘b, (k,) each, and numbers that are small compared with them."""
        product, error = two_product(np.ascontiguousarray(a), np.ascontiguousarray(b))
        self.add(product, error, *small)
        self.radius = self.radius + 2.0 * UNDERFLOW

    def with_rounding(self) -> Violations:
        """Return the violations with the rounding of all sums in the radius."""
        high, low = two_sum(self.high, self.low)
        radius = (self.radius + 8.0 * UNIT * self.steps * (np.abs(low) + self.size)) * FEW_ROUNDINGS
        return Violations(high, low, radius, self.size)


def widen_ends(t: FloatArray, r: FloatArray) -> Ends:
    """Return bounds of t ± r, rounded outwards: (k,) each."""
    low, high = t - r, t + r
    return low - 2.0 * UNIT * np.abs(low), high + 2.0 * UNIT * np.abs(high)


def bound_violations(
    program: ExactDual, primal_point: Primal, values: PointValues, rows: IntArray | slice = slice(None)
) -> Violations:
    """Compute t of (BOUND.1) at some rows, from ⟨w, φ⟩ at all points."""
    sign = program.sign[rows]
    level = program.level
    if program.mix is None:
        index = slice(None) if program.rows is None else program.rows
        high, low, radius = (part[index][rows] for part in (values.high, values.low, values.radius))
        t = Violations(-sign * high, -sign * low, radius, np.abs(low))
    else:
        zeros = np.zeros(len(sign))
        t = Violations(zeros, zeros, zeros, zeros)
        _add_combinations(t, sign, program.mix[rows], values)
    if level.is_exact:
        t.add(np.ascontiguousarray(level.high[rows]), level.low[rows])
    else:
        low, high = (end[rows] for end in level.bounds)
        t.add(0.5 * (low + high))
        t.radius = t.radius + (high - low) + 2.0 * UNDERFLOW
    for group in program.groups:
        mu = primal_point.multipliers[group.multiplier]
        if mu == 0:
            continue
        rounded_mu = float(mu)
        column = group.column[rows]
        correction = column * -float(mu - Fraction(rounded_mu))
        if group.column is program.sign or abs(find_common_value(group.column) or 0.0) == 1.0:
            t.add(-rounded_mu * column, correction)  # no product is rounded
        else:
            t.add_products(column, np.full(len(column), -rounded_mu), correction)
        t.radius = t.radius + (2.0 * UNDERFLOW if mu != rounded_mu else 0.0)
        if group.entries:
            t.radius = t.radius + _bound_entry_error(group, mu, program.m)[rows]
    return t.with_rounding()


def _add_combinations(t: Violations, sign: FloatArray, A: Any, values: PointValues) -> None:
    """Add −s∘A⟨w, φ⟩ to t, in double-double if the combinations are of few points."""
    counts = np.diff(A.indptr)
    terms = int(counts.max(initial=0))
    t.radius = (abs(A) @ values.radius) * (1.0 + gamma(terms + 6)) + terms * UNDERFLOW
    if terms > MAX_DOUBLE_DOUBLE_TERMS:
        sizes = abs(A) @ (np.abs(values.high) + np.abs(values.low))
        t.radius = t.radius + gamma(terms + 1) * sizes * (1.0 + gamma(terms + 6))
        t.add(-sign * (A @ values.high), -sign * (A @ values.low))
        return
    for j in range(terms):
        entries = np.minimum(A.indptr[:-1] + j, A.nnz - 1)
        factor = np.where(counts > j, -sign * A.data[entries], 0.0)
        points = A.indices[entries]
        t.add_products(factor, values.high[points], factor * values.low[points])


def _bound_entry_error(group: ExactGroup, mu: Fraction, m: int) -> FloatArray:
    """Bound the effect on t of the entries of a column that are not floats: (m,)."""
    errors = np.zeros(m)
    for k, entry in group.entries.items():
        errors[k] = round_up(abs((entry - Fraction(float(group.column[k]))) * mu))
    return errors


@dataclass(frozen=True, eq=False)
class RowBounds:
    """Lower and upper bounds of α, U and δ at some rows: (k,) each."""

    alpha: Ends
    upper: Ends
    curvature: Ends

    @cached
    def is_curved(self) -> bool:
        """Whether any δ is not 0."""
        return bool(self.curvature[1].any())

    def take(self, rows: slice | IntArray) -> RowBounds:
        """Return some of the rows."""
        return RowBounds(*((low[rows], high[rows]) for low, high in (self.alpha, self.upper, self.curvature)))


def sum_terms(
    rows: RowBounds, find_violations: Callable[[slice], Ends], width: int = 1, both: bool = True
) -> tuple[FloatArray, Interval, Interval]:
    """Return upper bounds of g, (m,), and bounds of Σ g_k and Σ ψ_k(t_k), computed in blocks that fit in the cache.

    find_violations: Return lower and upper bounds of t at a slice of the rows.
    width: Number of rows that share a slack.
    both: Whether the lower bound of Σ g_k and the upper bound of Σ ψ_k(t_k) are needed; else they are 0 and ∞.
    """
    m = len(rows.alpha[0])
    step = max(IN_CACHE // width, 1) * width
    upper: list[FloatArray] = []
    g_sums: list[Interval] = []
    loss_sums: list[Interval] = []
    for start in range(0, m, step):
        block = slice(start, start + step)
        row = rows if m <= step else rows.take(block)
        t = find_violations(block)
        high = bound_terms_above(row, t, width)
        upper.append(high if width == 1 else np.repeat(high, width))
        low = bound_sum(bound_terms_below(row, t, width), up=False) if both else 0.0
        g_sums.append((low, bound_sum(high, up=True)))
        if width > 1:
            row = row.take(slice(None, None, width))
            t = _find_block_maxima(t, width)
        max_loss = bound_sum(bound_losses_above(row, t), up=True) if both else math.inf
        loss_sums.append((bound_sum(bound_losses_below(row, t), up=False), max_loss))
    if len(upper) == 1:
        all_upper = upper[0]
    else:
        all_upper = np.concatenate([*upper, np.zeros(0)])
    return all_upper, _add_intervals(g_sums), _add_intervals(loss_sums)


def _add_intervals(intervals: list[Interval]) -> Interval:
    """Return bounds of the sum of nonnegative numbers between bounds."""
    if len(intervals) == 1:
        return intervals[0]
    lows, highs = np.array(intervals).reshape(-1, 2).T
    return max(bound_sum(lows, up=False), 0.0), bound_sum(highs, up=True)


def bound_terms_above(row: RowBounds, t: Ends, width: int = 1) -> FloatArray:
    """Bound g of (BOUND.2), or of (BOUND.5) for blocks of `width` rows, from above: (k,).

    Shapes: row and t, (k width,) each.
    """
    if width == 1 and not row.is_curved:
        return _bound_two_lines_above(row, t)
    (a_low, a_high), (t_low, t_high) = ([end.reshape(-1, width) for end in ends] for ends in (row.alpha, t))
    U = row.upper[1][::width]
    with np.errstate(all="ignore"):
        T = np.maximum(t_high.max(axis=1), 0.0)
        if width > 1:
            slack = U - a_low.sum(axis=1) * (1.0 - gamma(2 * width - 2))
        else:
            slack = U - a_low[:, 0]
        threshold = _multiply_down(row.curvature[0], row.upper[0]) if row.is_curved else 0.0  # δU
        linear = _multiply_up(slack, T - threshold)
        if width == 1:
            g = np.maximum(_multiply_up(a_high[:, 0], -t_low[:, 0]), linear)
        else:
            g = _multiply_up(a_high, _find_largest_of_others(t_high) - t_low).sum(axis=1) * FEW_ROUNDINGS**width
            g = (g + linear) * FEW_ROUNDINGS
        if row.is_curved:  # only with one row per block
            low, high = row.curvature
            # min(t₊, δU) and δα
            clipped_low = np.minimum(np.maximum(t_low[:, 0], 0.0), threshold)
            clipped_high = np.minimum(T, _multiply_up(high, row.upper[1]))
            delta_alpha_low = _multiply_down(low, row.alpha[0])
            delta_alpha_high = _multiply_up(high, row.alpha[1])
            difference = np.maximum(np.maximum(clipped_high - delta_alpha_low, delta_alpha_high - clipped_low), 0.0)
            curved = 0.5 * difference * (difference / low)
            g = np.where((high > 0.0) & ~(difference <= 0.0), (g + curved) * FEW_ROUNDINGS + UNDERFLOW, g)
        unknown = np.isnan(t_low).any(axis=1) | np.isnan(t_high).any(axis=1) | np.isnan(g)
    return np.where(unknown, np.inf, g)


def _bound_two_lines_above(row: RowBounds, t: Ends) -> FloatArray:
    """Bound g of (BOUND.2) for δ = 0 from above, (k,): it is the larger of a falling and a rising line in t."""
    with np.errstate(invalid="ignore", over="ignore"):
        falling = -(row.alpha[1] * t[0])
        rising = (row.upper[1] - row.alpha[0]) * t[1]
        g = np.fmax(falling, rising)  # not both are negative, and ∞ · 0 is 0
        g = np.where(g > 0.0, FEW_ROUNDINGS * g + UNDERFLOW, 0.0)
        unknown = np.isnan(falling)  # as t is, or the product of 0 and ∞
        return np.where(unknown, np.inf, g) if unknown.any() else g


def bound_terms_below(row: RowBounds, t: Ends, width: int = 1) -> FloatArray:
    """Bound g as `bound_terms_above` does, from below: (k,)."""
    (a_low, a_high), (t_low, t_high) = ([end.reshape(-1, width) for end in ends] for ends in (row.alpha, t))
    U, curvature = ([end[::width] for end in ends] for ends in (row.upper, row.curvature))
    with np.errstate(all="ignore"):
        T = np.maximum(t_low.max(axis=1), 0.0)
        threshold = _multiply_down(curvature[0], U[0]), _multiply_up(curvature[1], U[1])  # δU
        slack = U[0] - a_high.sum(axis=1) * (1.0 + gamma(2 * width - 2))
        g = _multiply_down(a_low, _find_largest_of_others(t_low) - t_high).sum(axis=1) * INWARD**width
        g = g + _multiply_down(slack, T - threshold[1])
        if row.is_curved:  # only with one row per block
            # min(t₊, δU) and δα
            clipped_low = np.minimum(T, threshold[0])
            clipped_high = np.minimum(np.maximum(t_high[:, 0], 0.0), threshold[1])
            delta_alpha_low = _multiply_down(curvature[0], row.alpha[0])
            delta_alpha_high = _multiply_up(curvature[1], row.alpha[1])
            difference = np.maximum(np.maximum(clipped_low - delta_alpha_high, delta_alpha_low - clipped_high), 0.0)
            curved = INWARD * 0.5 * difference * (difference / curvature[1])
            g = g + np.fmax(np.where(difference > 0.0, curved, 0.0) - UNDERFLOW, 0.0)
    below: FloatArray = np.fmax(g * INWARD, 0.0)
    return below


def _multiply_up(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return upper bounds of a₊b₊; 0 times anything is 0."""
    return np.where((a > 0.0) & (b > 0.0), FEW_ROUNDINGS * (a * b) + UNDERFLOW, 0.0)


def _multiply_down(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return lower bounds of a₊b₊."""
    product: FloatArray = np.fmax(np.maximum(a, 0.0) * np.maximum(b, 0.0) / FEW_ROUNDINGS - UNDERFLOW, 0.0)
    return product


def _find_block_maxima(t: Ends, width: int) -> Ends:
    """Return bounds of the largest t of each block, (k,) each, given rows (k width,)."""
    low, high = (end.reshape(-1, width).max(axis=1) for end in t)
    return low, high


def _find_largest_of_others(t: FloatArray) -> FloatArray:
    """Return the largest t of the other rows of a block, or 0, for each row: (k, width)."""
    maxima = np.zeros_like(t)
    for c in range(t.shape[1]) if t.shape[1] > 1 else ():
        maxima[:, c] = np.maximum(np.delete(t, c, axis=1).max(axis=1), 0.0)
    return maxima


def bound_losses_below(row: RowBounds, t: Ends) -> FloatArray:
    """Bound ψ of (LOSS.1) from below, (k,): it increases with t and U, and decreases with δ."""
    with np.errstate(invalid="ignore", over="ignore"):
        if row.is_curved:
            loss = compute_loss(t[0], row.upper[0], row.curvature[1])
        else:
            loss = row.upper[0] * np.maximum(t[0], 0.0)
        below: FloatArray = np.fmax(INWARD * loss - UNDERFLOW, 0.0)  # ∞ · 0 is 0
    return below


def bound_losses_above(row: RowBounds, t: Ends) -> FloatArray:
    """Bound ψ of (LOSS.1) from above: (k,)."""
    return FEW_ROUNDINGS * compute_loss(t[1], row.upper[1], row.curvature[0]) + UNDERFLOW


def bound_sum(values: FloatArray, up: bool) -> float:
    """Return an upper (`up`) or lower bound of the sum of nonnegative numbers, (BOUND.3)."""
    value = float(np.add.reduce(values))
    if up:
        return value * (1.0 + gamma(len(values) + 2))
    return value * (1.0 - gamma(len(values) + 2))


def compute_group_terms(
    program: ExactDual, primal_point: Primal, point: FeasibleAlpha
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the exact terms of the groups in P, eᵀμ + ½Σ R μ², in −D, ½Σ (Eᵀα − e)²/R, and in P − D."""
    cost = penalty = difference = Fraction(0)
    for group in program.groups:
        mu = primal_point.multipliers[group.multiplier]
        cost += group.total * mu + group.ridge * mu * mu / 2
        if group.ridge:
            best = compute_residual(group, point) / group.ridge
            penalty += group.ridge * best * best / 2
            difference += group.ridge * (mu - best) ** 2 / 2
    return cost, penalty, difference


def bound_linear_term(program: ExactDual, point: FeasibleAlpha) -> Interval:
    """Return a lower and an upper bound of ℓᵀα."""
    level = program.level
    ends = level.bounds
    if level.is_exact:
        return enclose_fraction(
            compute_residual(ExactGroup("", level.high), point) + compute_residual(ExactGroup("", level.low), point)
        )
    if not np.isfinite(ends[1]).all():
        return -math.inf, math.inf
    low, high = (compute_residual(ExactGroup("", end), point) for end in ends)  # α ≥ 0
    return round_down(low), round_up(high)


def bound_curvature_term(program: ExactDual, point: FeasibleAlpha) -> Interval:
    """Bound ½Σδα² from below and from above."""
    delta = program.curvature.bounds
    a = point.ends
    if not delta[1].any():
        return 0.0, 0.0
    low = INWARD * bound_sum(0.5 * delta[0] * a[0] * a[0], up=False) - UNDERFLOW * program.m
    high = FEW_ROUNDINGS * bound_sum(0.5 * delta[1] * a[1] * a[1], up=True) + UNDERFLOW * program.m
    return max(low, 0.0), high
