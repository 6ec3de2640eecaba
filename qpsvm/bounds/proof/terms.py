"""Bound (GAP.1) from above and below, for numbers that are known with a radius.

    (BOUND.1)  t_k = ℓ_k − s_k⟨w, φ⟩ − Σ_g E_kg μ_g as a sum of two doubles and a radius r_k: that of ⟨w, φ⟩, and
               what is rounded here
    (BOUND.2)  g = α(−t)₊ + (U − α)(t − δU)₊ + (min(t₊, δU) − δα)²/(2δ), (LOSS.4), the last part 0 where δ = 0: each
               factor is between what the ends of t̂ ± r make of it, and of the first two parts one is 0
    (BOUND.3)  a sum of m numbers that are not negative is off by γ_{m−1} of itself, in any order
    (BOUND.4)  P − D ≤ ½(‖w − w(α)‖ + radius)² + Σ g_k + ½Σ R_g (μ_g − (E_gᵀα − e_g)/R_g)²
    (BOUND.5)  with one slack for the rows of a block, and δ = 0, g = Σα_k (T − t_k) + (U − Σα)T, T = max(0, max t_k);
               T − t_k = max(0, 0 − t_k, max over other rows of t_l − t_k): between what the ends of the t make of it

Floats bound real numbers by steps outwards: a product of a few factors that are not negative, times 1 + 8u.

P and D of the numbers in a user's hands between two others each, and the relative gap from above and below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW, two_product, two_sum
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.rationals import FINITE, enclose_fraction, round_down, round_up
from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.feasible import Feasible, compute_residual
from qpsvm.bounds.proof.spaces import PointValues
from qpsvm.program.losses import compute_loss

#: A real number between two floats, and numbers of some rows.
Interval = tuple[float, float]
Ends = tuple[FloatArray, FloatArray]
#: The same from below.
IN = 2.0 - FEW
#: Terms of a combination of points up to which these are added in double-double.
FEW_TERMS = 32


@dataclass(frozen=True)
class GapBounds:
    """What is proven of P(w, μ) and D(α), in units of (DUAL.1).

    primal, dual, difference: P, D and P − D from below and from above. P is infinite where (w, μ) is no point
        of the primal.
    exactly: Whether all three are the numbers themselves, rounded outwards.
    apart, length: ‖w − w(α)‖ from above, and ‖w‖ from below.
    lost: By how much D of any α may be above P, as the kernel is known: mostly 0. P − D from above has it
        added.
    """

    primal: Interval
    dual: Interval
    difference: Interval
    exactly: bool = False
    apart: float = math.inf
    length: float = 0.0
    lost: float = 0.0

    @property
    def size(self) -> float:
        """max(|P|, |D|) from below."""
        return max(self.primal[0], -self.primal[1], self.dual[0], -self.dual[1])

    @property
    def gap(self) -> float:
        """(P − D)/max(|P|, |D|), (CERT.3), from above."""
        size = self.size
        if not self.difference[1] > 0.0 or math.isnan(size):
            return 0.0 if self.difference[1] <= 0.0 else math.inf
        if not size > 0.0 or math.isinf(self.difference[1]) or math.isnan(self.difference[1]):
            return math.inf
        return round_up(Fraction(self.difference[1]) / Fraction(min(size, FINITE)))

    @property
    def least_gap(self) -> float:
        """Lower bound of the relative gap."""
        size = max(abs(end) for end in (*self.primal, *self.dual))
        if not self.difference[0] > 0.0 or not math.isfinite(size) or math.isnan(size):
            return 0.0
        return round_down(Fraction(self.difference[0]) / Fraction(size)) if size > 0.0 else 0.0

    def wider(self, lost: float) -> GapBounds:
        """Return bounds with P and P − D larger by `lost`: then the optimal value is between D and that P."""
        if lost == 0.0:
            return self
        primal, difference = (math.nextafter(end[1] + lost, math.inf) for end in (self.primal, self.difference))
        return replace(self, primal=(self.primal[0], primal), difference=(self.difference[0], difference), lost=lost)


@dataclass(eq=False)
class Violations:
    """t of (BOUND.1) at some rows, also while it is added up: |t_k − high_k − low_k| ≤ radius_k, (k,) each."""

    high: FloatArray
    low: FloatArray
    radius: FloatArray
    size: FloatArray  # Σ|parts of low|
    steps: int = 2

    @property
    def ends(self) -> Ends:
        """Floats below and above t: (k,) each."""
        widest = self.radius + np.abs(self.low)
        slack = widest + 2.0 * UNIT * (np.abs(self.high) + widest)  # no sum underflows
        return self.high - slack, self.high + slack

    def add(self, values: FloatArray, *small: FloatArray) -> None:
        """Some numbers, (k,), and others that are small beside them."""
        self.high, error = two_sum(self.high, values)
        self.steps += 1
        for part in (error, *small):
            self.low = self.low + part
            self.size = self.size + np.abs(part)

    def add_products(self, a: FloatArray, b: FloatArray, *small: FloatArray) -> None:
        """a∘b likewise, (k,) each."""
        product, error = two_product(np.ascontiguousarray(a), np.ascontiguousarray(b))
        self.add(product, error, *small)
        self.radius = self.radius + 2.0 * UNDERFLOW

    def with_rounding(self) -> Violations:
        """Return the violations with the rounding of all sums in the radius."""
        high, low = two_sum(self.high, self.low)
        radius = (self.radius + 8.0 * UNIT * self.steps * (np.abs(low) + self.size)) * FEW
        return Violations(high, low, radius, self.size)


def violations(
    program: ExactDual, held: Primal, values: PointValues, rows: IntArray | slice = slice(None)
) -> Violations:
    """(BOUND.1) at some rows, from ⟨w, φ⟩ at all points."""
    sign, level = program.sign[rows], program.level
    nothing = np.zeros(len(sign))
    if program.mix is None:
        index = slice(None) if program.rows is None else program.rows
        v, v_low, radius = (part[index][rows] for part in (values.high, values.low, values.radius))
        t = Violations(-sign * v, -sign * v_low, radius, np.abs(v_low))
    else:
        t = Violations(nothing, nothing, nothing, nothing)
        _combine(t, sign, program.mix[rows], values)
    if level.is_exact:
        t.add(np.ascontiguousarray(level.high[rows]), level.low[rows])
    else:
        low, high = (end[rows] for end in level.bounds)
        t.add(0.5 * (low + high))
        t.radius = t.radius + (high - low) + 2.0 * UNDERFLOW
    for group in program.groups:
        mu = held.multipliers[group.multiplier]
        if mu == 0:
            continue
        near, column = float(mu), group.column[rows]
        rest = column * -float(mu - Fraction(near))
        if group.column is program.sign or abs(find_common_value(group.column) or 0.0) == 1.0:
            t.add(-near * column, rest)  # no product is rounded
        else:
            t.add_products(column, np.full(len(column), -near), rest)
        t.radius = t.radius + (2.0 * UNDERFLOW if mu != near else 0.0)
        if group.entries:
            t.radius = t.radius + _bound_entry_error(group, mu, program.m)[rows]
    return t.with_rounding()


def _combine(t: Violations, sign: FloatArray, A: Any, values: PointValues) -> None:
    """Add −s∘A⟨w, φ⟩: combinations of few points in double-double."""
    counts = np.diff(A.indptr)
    terms = int(counts.max(initial=0))
    t.radius = (abs(A) @ values.radius) * (1.0 + gamma(terms + 6)) + terms * UNDERFLOW
    if terms > FEW_TERMS:
        sizes = abs(A) @ (np.abs(values.high) + np.abs(values.low))
        t.radius = t.radius + gamma(terms + 1) * sizes * (1.0 + gamma(terms + 6))
        t.add(-sign * (A @ values.high), -sign * (A @ values.low))
        return
    for j in range(terms):
        at = np.minimum(A.indptr[:-1] + j, A.nnz - 1)
        factor, points = np.where(counts > j, -sign * A.data[at], 0.0), A.indices[at]
        t.add_products(factor, values.high[points], factor * values.low[points])


def _bound_entry_error(group: ExactGroup, mu: Fraction, m: int) -> FloatArray:
    """Bound the effect on t of the entries of a column that are not floats: (m,)."""
    found = np.zeros(m)
    for k, entry in group.entries.items():
        found[k] = round_up(abs((entry - Fraction(float(group.column[k]))) * mu))
    return found


@dataclass(frozen=True, eq=False)
class RowBounds:
    """α, U and δ at some rows as floats below and above: (k,) each."""

    alpha: Ends
    upper: Ends
    curvature: Ends

    def take(self, rows: slice) -> RowBounds:
        """Return some of the rows."""
        return RowBounds(*((low[rows], high[rows]) for low, high in (self.alpha, self.upper, self.curvature)))


def sum_terms(
    program: ExactDual, held: Primal, point: Feasible, values: PointValues
) -> tuple[FloatArray, Interval, Interval]:
    """Return g from above, (m,), and Σ g_k and Σ ψ_k(t_k), computed in blocks that stay in the cache."""
    rows = RowBounds(point.ends, program.upper.bounds, program.curvature.bounds)
    upper, width = np.empty(program.m), program.width
    parts = np.zeros((2, 2, 0))
    step = max(IN_CACHE // width, 1) * width
    for start in range(0, program.m, step):
        some = slice(start, start + step)
        row, t = rows.take(some), violations(program, held, values, some).ends
        g = terms(row, t, width)
        if width > 1:
            row, t = row.take(slice(None, None, width)), _largest(t, width)
        upper[some] = g[1] if width == 1 else np.repeat(g[1], width)
        added = [[[total(low, up=False)], [total(high, up=True)]] for low, high in (g, losses(row, t))]
        parts = np.concatenate([parts, added], axis=2)
    found = [(max(total(low, up=False), 0.0), total(high, up=True)) for low, high in parts]
    return upper, found[0], found[1]


def terms(row: RowBounds, t: Ends, width: int = 1) -> Ends:
    """(BOUND.2), or (BOUND.5) for blocks of one width, from below and from above: (k,) each, of rows (k width,)."""
    (a_low, a_high), (t_low, t_high) = ([end.reshape(-1, width) for end in ends] for ends in (row.alpha, t))
    (U_low, U_high), bend = ([end[::width] for end in ends] for ends in (row.upper, row.curvature))
    with np.errstate(all="ignore"):
        knee = _multiply_down(bend[0], U_low), _multiply_up(bend[1], U_high)  # δU
        T_low, T_high = (np.maximum(end, 0.0) for end in _largest((t_low, t_high), width))
        lost = gamma(2 * width - 2)
        room = U_low - a_high.sum(axis=1) * (1.0 + lost), U_high - a_low.sum(axis=1) * (1.0 - lost)
        beyond = _multiply_down(room[0], T_low - knee[1]), _multiply_up(room[1], T_high - knee[0])
        low = _multiply_down(a_low, _largest_of_others(t_low) - t_high).sum(axis=1) * IN**width + beyond[0]
        high = _multiply_up(a_high, _largest_of_others(t_high) - t_low).sum(axis=1) * FEW**width
        high = np.maximum(high, beyond[1]) if width == 1 else (high + beyond[1]) * FEW
        if bend[1].any():  # then a block is one row
            middle = np.minimum(T_low, knee[0]), np.minimum(T_high, knee[1])
            there = _multiply_down(bend[0], row.alpha[0]), _multiply_up(bend[1], row.alpha[1])  # δα
            far = np.maximum(np.maximum(middle[1] - there[0], there[1] - middle[0]), 0.0)
            near = np.maximum(np.maximum(middle[0] - there[1], there[0] - middle[1]), 0.0)
            curved, some = 0.5 * far * (far / bend[0]), (bend[1] > 0.0) & ~(far <= 0.0)
            high = np.where(some, (high + curved) * FEW + UNDERFLOW, high)
            low = low + np.fmax(np.where(some, IN * 0.5 * near * (near / bend[1]), 0.0) - UNDERFLOW, 0.0)
        unknown = np.isnan(t_low).any(axis=1) | np.isnan(t_high).any(axis=1) | np.isnan(high)
    return np.fmax(low * IN, 0.0), np.where(unknown, np.inf, high)


def _multiply_up(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a₊b₊ from above; a factor 0 is exact, whatever the other is."""
    return np.where((a > 0.0) & (b > 0.0), FEW * (a * b) + UNDERFLOW, 0.0)


def _multiply_down(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a₊b₊ from below."""
    found: FloatArray = np.fmax(np.maximum(a, 0.0) * np.maximum(b, 0.0) / FEW - UNDERFLOW, 0.0)
    return found


def _largest(t: Ends, width: int) -> Ends:
    """The largest of each block: (k,) each, of rows (k width,)."""
    low, high = (end.reshape(-1, width).max(axis=1) for end in t)
    return low, high


def _largest_of_others(t: FloatArray) -> FloatArray:
    """Return the largest t of the other rows of a block, or 0, for each row: (k, width)."""
    rest = np.zeros_like(t)
    for c in range(t.shape[1]) if t.shape[1] > 1 else ():
        rest[:, c] = np.maximum(np.delete(t, c, axis=1).max(axis=1), 0.0)
    return rest


def losses(row: RowBounds, t: Ends) -> Ends:
    """ψ of (LOSS.1) from below and from above, (k,) each: it grows with t and U, and falls with δ."""
    low = IN * compute_loss(t[0], row.upper[0], row.curvature[1]) - UNDERFLOW
    return np.maximum(low, 0.0), FEW * compute_loss(t[1], row.upper[1], row.curvature[0]) + UNDERFLOW


def total(values: FloatArray, up: bool) -> float:
    """(BOUND.3) of numbers that are not negative."""
    found = float(values.sum())
    return found * (1.0 + gamma(len(values) + 2)) if up else found * (1.0 - gamma(len(values) + 2))


def group_parts(program: ExactDual, held: Primal, point: Feasible) -> tuple[Fraction, Fraction, Fraction]:
    """Return the groups' parts of P, eᵀμ + ½Σ R μ², of −D, ½Σ (Eᵀα − e)²/R, and of P − D: exactly."""
    cost = penalty = apart = Fraction(0)
    for group in program.groups:
        mu = held.multipliers[group.multiplier]
        cost += group.total * mu + group.ridge * mu * mu / 2
        if group.ridge:
            best = compute_residual(group, point) / group.ridge
            penalty += group.ridge * best * best / 2
            apart += group.ridge * (mu - best) ** 2 / 2
    return cost, penalty, apart


def linear_part(program: ExactDual, point: Feasible) -> Interval:
    """ℓᵀα from below and from above."""
    level, ends = program.level, program.level.bounds
    if level.is_exact:
        return enclose_fraction(
            compute_residual(ExactGroup("", level.high), point) + compute_residual(ExactGroup("", level.low), point)
        )
    if not np.isfinite(ends[1]).all():
        return -math.inf, math.inf
    low, high = (compute_residual(ExactGroup("", end), point) for end in ends)  # α ≥ 0
    return round_down(low), round_up(high)


def bound_curvature_term(program: ExactDual, point: Feasible) -> tuple[float, float]:
    """Bound ½Σδα² from below and from above."""
    bend, a = program.curvature.bounds, point.ends
    if not bend[1].any():
        return 0.0, 0.0
    return (
        max(IN * total(0.5 * bend[0] * a[0] * a[0], False) - UNDERFLOW * program.m, 0.0),
        FEW * total(0.5 * bend[1] * a[1] * a[1], True) + UNDERFLOW * program.m,
    )
