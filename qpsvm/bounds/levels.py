"""Find the best multipliers of the primal for a given w.

The candidates are the w of the dual point, and the one that a solver returned: of a kernel that is not linear,
coefficients w = Σ_j c_j φ(x_j) over few samples (`points`). The multipliers are intercepts and margins, each a minimum
in one variable.

For one part of the rows (`SVMDual.parts`), with c, e and R its column, total and ridge, and p_k = ℓ_k − s_k u_r(k):

    (LEVEL.1)  h(θ) = Σ ψ_k(p_k − c_k θ) + eθ + ½Rθ²,  convex;  row k reaches its level at θ_k = p_k/c_k
    (LEVEL.2)  h′(θ) = e + Rθ − Σ c_k a_k(θ),  a_k = clip((p_k − c_kθ)/δ_k, 0, U_k):  rising
    (LEVEL.3)  δ = 0, R = 0:  the weighted quantile of the θ_k, weights U_k|c_k|, at the level Σ_{c>0} U_k c_k − e
    (LEVEL.4)  hard rows (U = ∞, δ = 0) bound θ:  θ ≥ θ_k where c_k > 0, θ ≤ θ_k where c_k < 0
    (LEVEL.5)  a free row, 0 < α_k < U_k, has t_k = δ_kα_k at the optimum:  θ = (p_k − δ_kα_k)/c_k, averaged
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qpsvm.base.arrays.frozen import find_common_value, sum_where
from qpsvm.base.arrays.quantiles import find_crossing, find_quantile_interval
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import PrimalPoint, kernel_point
from qpsvm.bounds.points import DIRECT_VALUES, point_beside, span_of, spanned_points
from qpsvm.program.svm_dual import DualPart, SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: Bounds that cross by no more than this share of their size are one: rounding.
TOUCHING = 1e-14


def primal_points(
    space: FeatureSpace,
    beta: FloatArray,
    w: FloatArray | None,
    wanted: bool = False,
    moved: tuple[FloatArray, float] | None = None,
) -> tuple[float, Iterator[PrimalPoint]]:
    """½‖w(α)‖² with β = α∘y, and the primal candidates: the w of a solver that returned one first, then w(α).

    `moved` is what β was before α was repaired, less β, (n,), and the size of P. Where ½‖Δw‖², (GAP.1), is rounding of
    that, the w(α) of before stands for that of now: P has a kink there, and Δw may be as long as the samples are.

    `w` is a weight vector over `space.rows`, or coefficients (n,) where the kernel is not linear. With the latter,
    ½‖w(α)‖² is bounded from above where all kernel values between support vectors would cost more. Where it is this w
    that is `wanted`, it is a candidate in any case.
    """
    if not space.is_linear:
        span = None if w is None else span_of(space, beta, w, wanted)
        if span is None or w is None:
            point = kernel_point(space, space.coefficients(beta))
            return point.half_norm, iter([point])
        if wanted and float(space.n) * np.count_nonzero(beta) <= DIRECT_VALUES:
            return point_beside(space, beta, w, span)
        return spanned_points(space, beta, w, span)
    own = space.weights(beta)  # (DUAL.5), (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4)
    half_norm = 0.5 * float(own @ own)
    unmoved = own
    if moved is not None and 0.0 < float((change := space.weights(moved[0])) @ change) <= UNIT * moved[1]:
        unmoved = own + change

    def candidates() -> Iterator[PrimalPoint]:
        if w is not None:
            near = space.round_weights(w)
            yield PrimalPoint(space.rows.margins(near), near, 0.5 * float(near @ near), near - own)
        near = space.round_weights(unmoved)
        if near is own:
            yield PrimalPoint(space.rows.margins(own), own, half_norm)
        else:
            yield PrimalPoint(space.rows.margins(near), near, 0.5 * float(near @ near), near - own)

    return half_norm, candidates()


def reaches(dual: SVMDual, part: DualPart, u: FloatArray) -> FloatArray:
    """θ_k of (LEVEL.1) for the rows of a part, from u (n,) at the samples; NaN where c_k = 0."""
    if part.column is dual.sign:
        values = dual.at_rows(u)
        points: FloatArray = (dual.sign if dual.common_level == 1.0 else dual.sign * dual.level) - values
        return points
    missing = dual.level - dual.sign * dual.at_rows(u)
    if part.rows is not None:
        return missing[part.rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        return missing / np.where(part.column == 0.0, np.nan, part.column)


def interval(dual: SVMDual, part: DualPart, points: FloatArray) -> tuple[float, float] | None:
    """Return the interval of all θ that minimise (LEVEL.1), given the θ_k; None if none satisfies the hard rows."""
    upper, column = part.restrict(dual.upper), part.restrict(part.column)
    curvature = part.restrict(dual.curvature) if dual.has_curvature else None
    hard = None if dual.hard_rows is None else part.restrict(dual.hard_rows)
    if hard is None:
        weights = upper if part.rows is not None or column is dual.sign else None
        return _soft_interval(points, column, upper, curvature, part, weights)
    low = float(np.max(points, where=hard & (column > 0), initial=-np.inf))
    high = float(np.min(points, where=hard & (column < 0), initial=np.inf))
    if low > high:
        if low - high > TOUCHING * max(abs(low), abs(high), 1.0):
            return None
        low = high = low + (high - low) / 2
    soft = ~hard
    if not soft.any() and not part.ridge:  # eθ alone
        return (high if part.total < 0.0 else low), (low if part.total > 0.0 else high)
    curved = None if curvature is None else curvature[soft]
    first, last = _soft_interval(points[soft], column[soft], upper[soft], curved, part)
    return min(max(first, low), high), max(min(last, high), low)


def average(dual: SVMDual, part: DualPart, points: FloatArray, alpha: FloatArray) -> float | None:
    """The mean of (LEVEL.5) over the free rows of a part, the points being y − u; None where there are none."""
    a, upper = part.restrict(alpha), part.restrict(dual.upper)
    free = ((a > 0) & (a < upper)).nonzero()[0]  # (LEVEL.5), (CSVM.12), (PHINGE.12): those with 0 < α < C
    if part.column is not dual.sign and part.rows is None:
        free = free[part.column[free] != 0.0]
    if not len(free):
        return None
    values = points[free]
    if dual.has_curvature:
        values = values - part.restrict(dual.curvature)[free] * a[free] / part.restrict(part.column)[free]
    return float(np.add.reduce(values)) / len(free)  # (LEVEL.5), (CSVM.12), (PHINGE.12)


def _soft_interval(
    points: FloatArray,
    column: FloatArray,
    upper: FloatArray,
    curvature: FloatArray | None,
    part: DualPart,
    weights: FloatArray | None = None,
) -> tuple[float, float]:
    """`interval` without hard rows: by (LEVEL.3), by the same with a ridge, or piece by piece.

    `weights` are U|c|, where these are known.
    """
    if curvature is not None and bool((curvature > 0.0).any()):
        pieces = Pieces(points, column, upper, curvature, part.total, part.ridge)
        first, last = pieces.find_root(), -pieces.reflect().find_root()
        return min(first, last), max(first, last)  # one point, found from both sides, may differ by rounding
    if weights is None:
        weights = upper if _all_units(column) else upper * np.abs(column)
    if part.rows is not None:  # all c = 1: mirrored, the level is the total itself
        low, high = find_quantile_interval(-points, weights, part.total)  # (LEVEL.3), (NUSVM.13)
        return -high, -low
    rising, common = column > 0, find_common_value(weights)
    level = sum_where(weights, rising) - part.total
    if part.ridge:
        found = find_crossing(points, weights, level, ridge=part.ridge)
        return found, found
    if part.total > 0.0 and bool(rising.all()):  # the sum of all weights is known up to rounding
        top, weight = _largest(points, weights) if common is None or part.total < common else (math.nan, common)
        if part.total < weight:  # however far below that rounding: it alone is short of θ
            return top, top
        if abs(level) <= 4.0 * len(points) * UNIT * part.total:  # α = U: any smaller θ will do, (ONE.19)
            return -math.inf, float(points.min(initial=math.inf))
    if part.total and not 0.0 <= level <= float(weights.sum()):  # only hard rows can hold θ
        end = math.copysign(math.inf, level)
        return end, end
    low, high = find_quantile_interval(points, weights, level)  # (LEVEL.3), (ONE.12), (SVDD.13)
    return (low if level else -math.inf), high


def _largest(points: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """The largest point, and its weight; of several, that of the first."""
    top = int(np.argmax(points))
    return float(points[top]), float(weights[top])


def _all_units(column: FloatArray) -> bool:
    return bool((np.abs(column) == 1.0).all())


class Pieces:
    """h′ of (LEVEL.2), piecewise linear and rising, where some rows are curved."""

    def __init__(
        self,
        points: FloatArray,
        column: FloatArray,
        upper: FloatArray,
        curvature: FloatArray,
        e: float,
        ridge: float,
    ) -> None:
        known = column != 0.0
        self.points, self.column, self.upper = points[known], column[known], upper[known]
        self.curvature, self.e, self.ridge = curvature[known], e, ridge
        self.jumps = self.curvature == 0.0
        self._some, self.count = bool(self.jumps.any()), len(self.points)

    def reflect(self) -> Pieces:
        """Return the function with θ replaced by −θ."""
        return Pieces(-self.points, -self.column, self.upper, self.curvature, -self.e, self.ridge)

    def slope(self, theta: float, right: bool) -> float:
        """h′ at a knot θ, from the right or from the left where it jumps; 0 where it is no more than its rounding.

        Rows that reach their level or their bound within the rounding of θ_k − θ are there.
        """
        t = (self.points - theta) * self.column
        off = 4.0 * UNIT * (np.abs(self.points) + abs(theta)) * np.abs(self.column)
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.where(t >= self.curvature * self.upper - off, self.upper, t / self.curvature)
            a = np.where(t <= off, 0.0, np.minimum(a, self.upper))
        if self._some:
            inside = (t > 0) | ((t == 0) & ((self.column < 0) == right))
            a = np.where(self.jumps, np.where(inside, self.upper, 0.0), a)
        moved = self.ridge * theta
        value = self.e + moved - float(self.column @ a)
        size = abs(self.e) + abs(moved) + float(np.abs(self.column) @ a)
        return 0.0 if abs(value) <= gamma(self.count + 4) * size else value

    def find_root(self) -> float:
        """Return the smallest θ from which on h′ ≥ 0; −∞ if all have it, ∞ if none has."""
        with np.errstate(invalid="ignore"):
            ends = self.points - np.where(self.curvature > 0.0, self.curvature * self.upper, 0.0) / self.column
        knots = np.unique(np.concatenate([self.points, ends[np.isfinite(ends)]]))
        low, high = -1, len(knots)  # h′ < 0 to the right of knot `low`, h′ ≥ 0 to the right of knot `high`
        while high - low > 1:
            middle_knot = (low + high) // 2
            if self.slope(float(knots[middle_knot]), right=True) >= 0.0:
                high = middle_knot
            else:
                low = middle_knot
        if low >= 0 and high < len(knots):
            left, right = float(knots[low]), float(knots[high])
            below, above = self.slope(left, right=True), self.slope(right, right=False)
            if above <= 0.0:
                return right
            return min(max(left + (right - left) * (-below / (above - below)), left), right)
        return self._extrapolate(float(knots[0]), -1.0) if low < 0 else self._extrapolate(float(knots[-1]), 1.0)

    def _extrapolate(self, knot: float, side: float) -> float:
        """Return `first` left or right of all knots, where h′ is linear."""
        endless = np.isinf(self.upper) & (side * self.column < 0.0)
        steepness = self.ridge + float((self.column[endless] ** 2 / self.curvature[endless]).sum())
        value = self.slope(knot, right=side > 0)
        if side < 0 and (value < 0.0 or (value == 0.0 and steepness > 0.0)):
            return knot
        return knot - value / steepness if steepness > 0.0 else side * math.inf
