"""(GAP.1) from above and from below, of numbers that are known with a radius.

    (BOUND.1)  t_k = ℓ_k − s_k⟨w, φ⟩ − Σ_g E_kg μ_g as a sum of two doubles and a radius r_k: that of ⟨w, φ⟩, and
               what is rounded here
    (BOUND.2)  g_k is convex in t_k, (LOSS.4): on t̂ ± r it is at most the larger of its values at the ends, and at least
               its value at the number there that is nearest to δα
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

from qpsvm.base.arrays.exactly import FINITE, above, below, rounded
from qpsvm.base.arrays.rounding import UNDERFLOW, UNIT, exact_sum, gamma, two_product, two_sum
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.arrays.vectors import common_value
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.feasible import Feasible, missing
from qpsvm.bounds.proof.spaces import Values
from qpsvm.program.losses import loss

#: A real number between two floats, and numbers of some rows.
Interval = tuple[float, float]
Ends = tuple[FloatArray, FloatArray]


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
        return above(Fraction(self.difference[1]) / Fraction(min(size, FINITE)))

    @property
    def least_gap(self) -> float:
        """The same from below."""
        size = max(abs(end) for end in (*self.primal, *self.dual))
        if not self.difference[0] > 0.0 or not math.isfinite(size) or math.isnan(size):
            return 0.0
        return below(Fraction(self.difference[0]) / Fraction(size)) if size > 0.0 else 0.0

    def wider(self, lost: float) -> GapBounds:
        """The same with P and P − D from above by so much more: then the optimal value is between D and that."""
        if lost == 0.0:
            return self
        primal, difference = (math.nextafter(end[1] + lost, math.inf) for end in (self.primal, self.difference))
        return replace(self, primal=(self.primal[0], primal), difference=(self.difference[0], difference), lost=lost)


#: More than the roundings of one term: every bound of (LOSS.3) is a handful of operations.
OUT = 1.0 + 16.0 * UNIT
IN = 1.0 - 16.0 * UNIT
#: Rows whose vectors are worked on at a time: 64 kB each.
AT_A_TIME = 8192
#: Terms of a combination of points up to which these are added in double-double.
FEW_TERMS = 32
#: Terms that are added exactly, one by one, in Python.
FSUM = 200_000


@dataclass(frozen=True, eq=False)
class Violations:
    """t of (BOUND.1) at some rows: |t_k − high_k − low_k| ≤ radius_k, (k,) each."""

    high: FloatArray
    low: FloatArray
    radius: FloatArray

    @property
    def ends(self) -> Ends:
        """Floats below and above t: (k,) each."""
        widest = self.radius + np.abs(self.low)
        slack = widest + 2.0 * UNIT * (np.abs(self.high) + widest)  # no sum underflows
        return self.high - slack, self.high + slack


def violations(program: ExactDual, held: Primal, values: Values, rows: IntArray | slice = slice(None)) -> Violations:
    """(BOUND.1) at some rows, from ⟨w, φ⟩ at all points."""
    sign, lost = program.sign[rows], 0.0
    if program.mix is None:
        index = slice(None) if program.rows is None else program.rows
        v, v_low, radius = (part[index][rows] for part in (values.high, values.low, values.radius))
        high, low = -sign * v, -sign * v_low
        size = np.abs(v_low)
    else:
        v, v_low, radius = _combined(program.mix[rows], values)
        high, low = -sign * v, -sign * v_low
        size = np.abs(low)
    level = program.level
    if level.plain:
        high, error = two_sum(high, np.ascontiguousarray(level.high[rows]))
        low = low + error + level.low[rows]
        size = size + np.abs(error) + np.abs(level.low[rows])
    else:
        ends = level.bounds
        middle = 0.5 * (ends[0][rows] + ends[1][rows])
        radius, lost = radius + (ends[1][rows] - ends[0][rows]), UNDERFLOW
        high, error = two_sum(high, middle)
        low, size = low + error, size + np.abs(error)
    for group in program.groups:
        mu = held.multipliers[group.multiplier]
        if mu == 0:
            continue
        near = float(mu)
        rest = float(mu - Fraction(near))
        column = group.column[rows]
        if group.column is program.sign or abs(common_value(group.column) or 0.0) == 1.0:  # no product is rounded
            high, other = two_sum(high, -near * column)
        else:
            product, error = two_product(np.ascontiguousarray(column), np.full(len(high), -near))
            high, other = two_sum(high, product)
            low, size, lost = low + error, size + np.abs(error), lost + UNDERFLOW
        if mu != near:
            low, size, lost = low - column * rest, size + np.abs(column * rest), lost + UNDERFLOW
        low, size = low + other, size + np.abs(other)
        if group.entries:
            radius = radius + _beside(group, mu, program.m)[rows]
    high, error = two_sum(high, low)
    radius = (radius + 8.0 * UNIT * (len(program.groups) + 2) * (np.abs(low) + size)) * OUT + 2.0 * lost
    return Violations(high, error, radius)


def _combined(A: Any, values: Values) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A(high + low) as a sum of two doubles, and a radius: (k,) each. Of few terms a row none is rounded in `high`."""
    counts = np.diff(A.indptr)
    terms = int(counts.max(initial=0))
    inherited = (abs(A) @ values.radius) * (1.0 + gamma(terms + 6)) + terms * UNDERFLOW
    if terms > FEW_TERMS:
        sizes = abs(A) @ (np.abs(values.high) + np.abs(values.low))
        radius = inherited + gamma(terms + 1) * sizes * (1.0 + gamma(terms + 6))
        return A @ values.high, A @ values.low, radius
    high, low, size = (np.zeros(len(counts)) for _ in range(3))
    for j in range(terms):
        rows = np.flatnonzero(counts > j)
        at = A.indptr[rows] + j
        factor, points = np.ascontiguousarray(A.data[at]), A.indices[at]
        product, error = two_product(factor, np.ascontiguousarray(values.high[points]))
        high[rows], other = two_sum(high[rows], product)
        small = factor * values.low[points]
        low[rows] += error + other + small
        size[rows] += np.abs(error) + np.abs(other) + np.abs(small)
    return high, low, inherited + gamma(4 * terms + 4) * size * (1.0 + gamma(terms + 6)) + 2.0 * terms * UNDERFLOW


def _beside(group: ExactGroup, mu: Fraction, m: int) -> FloatArray:
    """What the entries of a column that are no floats make of t beside these floats: (m,)."""
    found = np.zeros(m)
    for k, entry in group.entries.items():
        found[k] = above(abs((entry - Fraction(float(group.column[k]))) * mu))
    return found


@dataclass(frozen=True, eq=False)
class Rows:
    """α, U and δ at some rows as floats below and above: (k,) each."""

    alpha: Ends
    upper: Ends
    curvature: Ends

    def at(self, rows: slice) -> Rows:
        """Some of them."""
        return Rows(*((low[rows], high[rows]) for low, high in (self.alpha, self.upper, self.curvature)))


@dataclass(frozen=True, eq=False)
class Sums:
    """What one pass over the rows gives.

    upper (m,): g_k from above.
    terms, losses: Σ g_k and Σ ψ_k(t_k) from below and from above.
    """

    upper: FloatArray
    terms: tuple[float, float]
    losses: tuple[float, float]


def summed(program: ExactDual, held: Primal, point: Feasible, values: Values) -> Sums:
    """The terms and losses of all rows, some of them at a time: so many that they stay in the cache."""
    rows = Rows(point.ends, program.upper.bounds, program.curvature.bounds)
    upper, width = np.empty(program.m), program.width
    parts: list[tuple[float, float, float, float]] = []
    step = max(AT_A_TIME // width, 1) * width
    for start in range(0, program.m, step):
        some = slice(start, start + step)
        row, t = rows.at(some), violations(program, held, values, some).ends
        if width > 1:
            low, high = blocks(row, t, width)
            row, t = row.at(slice(None, None, width)), _largest(t, width)
        elif row.curvature[1].any():
            low, high = least(row, t), most(row, t)
        else:
            low, high = straight_terms(row, t)
        upper[some] = high if width == 1 else np.repeat(high, width)
        psi_low, psi_high = losses(row, t)
        parts.append((total(low, up=False), total(high, up=True), total(psi_low, up=False), total(psi_high, up=True)))
    sums = np.array(parts).reshape(-1, 4).T
    g, psi = ((max(total(sums[k], up=False), 0.0), total(sums[k + 1], up=True)) for k in (0, 2))
    return Sums(upper, g, psi)


def straight_terms(row: Rows, t: Ends) -> Ends:
    """(BOUND.2) from below and from above where δ = 0: g = (U − α)max(t, 0) + αmax(−t, 0), (k,) each."""
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.maximum(row.upper[1] - row.alpha[0], 0.0)
        beyond = np.where((t[1] > 0.0) & (room > 0.0), room * t[1], 0.0)
        inside = np.where(row.alpha[1] > 0.0, row.alpha[1] * np.maximum(-t[0], 0.0), 0.0)
        some = ((room > 0.0) & (t[1] > 0.0)) | ((row.alpha[1] > 0.0) & (t[0] < 0.0))
        high = np.where(some, OUT * np.maximum(beyond, inside) + UNDERFLOW, 0.0)  # a factor 0 is one without rounding
        room = np.maximum(row.upper[0] - row.alpha[1], 0.0)
        beyond = np.where(t[0] > 0.0, room * t[0], 0.0)
        low = IN * np.maximum(beyond, row.alpha[0] * np.maximum(-t[1], 0.0)) - UNDERFLOW
    return np.fmax(low, 0.0), np.where(np.isnan(t[0]) | np.isnan(t[1]), np.inf, high)


def blocks(row: Rows, t: Ends, width: int) -> Ends:
    """(BOUND.5) from below and from above, for rows of blocks of one width: (k,) each, of rows (k width,)."""
    (a_low, a_high), (t_low, t_high) = ([end.reshape(-1, width) for end in ends] for ends in (row.alpha, t))
    U_low, U_high = (end[::width] for end in row.upper)
    with np.errstate(invalid="ignore", over="ignore"):
        T_low, T_high = (np.maximum(end, 0.0) for end in _largest(t, width))
        taken = a_low.sum(axis=1) * (1.0 - gamma(width + 1)), a_high.sum(axis=1) * (1.0 + gamma(width + 1))
        beyond = np.maximum(np.maximum(_others(t_high), 0.0) - t_low, 0.0)
        short = np.maximum(np.maximum(_others(t_low), 0.0) - t_high, 0.0)
        high = np.where(a_high > 0.0, a_high * beyond, 0.0).sum(axis=1) * OUT**width
        low = (a_low * short).sum(axis=1) * IN**width
        room = np.maximum(U_high - taken[0], 0.0)
        high = (high + np.where(room > 0.0, room * T_high, 0.0)) * OUT + (width + 2) * UNDERFLOW
        room = np.maximum(U_low - taken[1], 0.0)
        low = (low + np.where(room > 0.0, room * T_low, 0.0)) * IN - (width + 2) * UNDERFLOW
    unknown = np.isnan(t_low).any(axis=1) | np.isnan(t_high).any(axis=1)
    return np.fmax(low, 0.0), np.where(unknown, np.inf, high)


def _largest(t: Ends, width: int) -> Ends:
    """The largest of each block: (k,) each, of rows (k width,)."""
    low, high = (end.reshape(-1, width).max(axis=1) for end in t)
    return low, high


def _others(t: FloatArray) -> FloatArray:
    """The largest t of the other rows of a block, for each row: (k, width)."""
    each, rest = np.arange(len(t)), t.copy()
    first = t.argmax(axis=1)
    rest[each, first] = -np.inf
    found: FloatArray = np.where(
        np.arange(t.shape[1]) == first[:, None], rest.max(axis=1)[:, None], t[each, first][:, None]
    )
    return found


def most(row: Rows, t: Ends) -> FloatArray:
    """(BOUND.2) from above: (k,); infinite where a hard row may be violated."""
    found = np.zeros(len(t[0]))
    for a in row.alpha[:1] if row.alpha[0] is row.alpha[1] else row.alpha:
        for end in t:
            found = np.maximum(found, _most_at(a, row, end))
    return np.where(np.isnan(t[0]) | np.isnan(t[1]), np.inf, found)


def _most_at(a: FloatArray, row: Rows, t: FloatArray) -> FloatArray:
    """(LOSS.3) from above at a float t and a float α."""
    U, bend = row.upper[1], row.curvature
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        below_level = a * (0.5 * bend[1] * a - t)  # both parts are positive
        room = np.maximum(U - a, 0.0)
        straight = np.where((room == 0.0) | (t <= 0.0), 0.0, room * t)
        apart = np.abs(t - bend[0] * a) + (bend[1] - bend[0]) * a + 4.0 * UNIT * (np.abs(t) + bend[1] * a)
        between = 0.5 * apart * (apart / bend[0])
        beyond = room * (np.maximum(t - 0.5 * bend[0] * (row.upper[0] + a), 0.0) + 8.0 * UNIT * np.abs(t))
        curved = np.where(t > OUT * bend[1] * U, beyond, between)
    found = OUT * np.where(t <= 0.0, below_level, np.where(bend[1] == 0.0, straight, curved)) + UNDERFLOW
    return np.where((t <= 0.0) & (a == 0.0), 0.0, found)


def least(row: Rows, t: Ends) -> FloatArray:
    """(BOUND.2) from below: (k,); 0 where δ = 0."""
    a, U, bend = row.alpha, row.upper[0], row.curvature
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        above_level = t[0] - OUT * bend[1] * a[1]  # t beyond δα
        under = IN * bend[0] * a[0] - t[1]
        cut = np.minimum(np.maximum(above_level, 0.0), np.where(np.isinf(U), np.inf, 0.0))
        square = 0.5 * cut * (cut / np.where(bend[1] > 0.0, bend[1], 1.0))
        low = np.where(under > 0.0, np.minimum(under, bend[0] * a[0]), 0.0)
        return IN * np.where(bend[1] > 0.0, square + 0.5 * low * (low / bend[1]), 0.0) - UNDERFLOW


def losses(row: Rows, t: Ends) -> Ends:
    """ψ of (LOSS.1) from below and from above, (k,) each: it grows with t and U, and falls with δ."""
    low = IN * loss(t[0], row.upper[0], row.curvature[1]) - UNDERFLOW
    return np.maximum(low, 0.0), OUT * loss(t[1], row.upper[1], row.curvature[0]) + UNDERFLOW


def total(values: FloatArray, up: bool) -> float:
    """(BOUND.3) of numbers that are not negative."""
    found = float(values.sum())
    return found * (1.0 + gamma(len(values) + 2)) if up else found * (1.0 - gamma(len(values) + 2))


def penalties(program: ExactDual, held: Primal, point: Feasible) -> Fraction:
    """½Σ R_g (μ_g − (E_gᵀα − e_g)/R_g)², exactly."""
    found = Fraction(0)
    for group in program.groups:
        if group.ridge:
            apart = held.multipliers[group.multiplier] - missing(group, point) / group.ridge
            found += group.ridge * apart * apart / 2
    return found


def linear_part(program: ExactDual, point: Feasible) -> tuple[float, float]:
    """ℓᵀα from below and from above."""
    level, one = program.level, common_value(program.level.high)
    if one is not None and level.plain and not level.low.any():
        return rounded(Fraction(one) * point.total)
    support = np.flatnonzero(point.ends[1])
    a = point.alpha[support]
    if not level.plain:
        low, high = (end[support] for end in level.bounds)
        middle, spread = 0.5 * (low + high), high - low
        rest = np.zeros(len(support))
    else:
        middle, rest = np.ascontiguousarray(level.high[support]), level.low[support]
        spread = np.zeros(len(support))
    product, error = two_product(a, middle)
    tail = error + a * rest
    parts = product.sum(), tail.sum()
    sizes = float(np.abs(product).sum())
    k = len(support)
    exact = exact_sum(product.tolist()) if k <= FSUM else float(parts[0])
    lost = 2.0 * UNIT * abs(exact) if k <= FSUM else gamma(k + 2) * sizes * OUT
    lost += (gamma(k + 4) + 4.0 * UNIT) * float(np.abs(error).sum() + np.abs(a * rest).sum()) * OUT
    lost += float((a * spread).sum()) * (1.0 + gamma(k + 4)) + k * UNDERFLOW
    for index in point.carriers:
        lost += UNIT * abs(float(point.alpha[index])) * (abs(float(level.bounds[1][index])) * OUT) * 2.0
    value = exact + float(parts[1])
    lost += 4.0 * UNIT * (abs(exact) + abs(float(parts[1])))
    return value - lost * OUT, value + lost * OUT


def half_curved(program: ExactDual, point: Feasible) -> tuple[float, float]:
    """½Σδα² from below and from above."""
    bend, a = program.curvature.bounds, point.ends
    if not bend[1].any():
        return 0.0, 0.0
    return (
        max(IN * total(0.5 * bend[0] * a[0] * a[0], False) - UNDERFLOW * program.m, 0.0),
        OUT * total(0.5 * bend[1] * a[1] * a[1], True) + UNDERFLOW * program.m,
    )


def multiplier_cost(program: ExactDual, held: Primal) -> tuple[float, float]:
    """eᵀμ + ½Σ R μ²: floats next to it."""
    found = Fraction(0)
    for group in program.groups:
        mu = held.multipliers[group.multiplier]
        found += group.total * mu + group.ridge * mu * mu / 2
    return rounded(found)


def ridge_part(program: ExactDual, point: Feasible) -> tuple[float, float]:
    """½Σ (E_gᵀα − e_g)²/R_g of the penalised groups: floats next to it."""
    found = Fraction(0)
    for group in program.groups:
        if group.ridge:
            apart = missing(group, point)
            found += apart * apart / group.ridge / 2
    return below(found), above(found)
