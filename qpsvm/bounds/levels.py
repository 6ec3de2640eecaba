"""Find candidates for w (`find_primal_points`), and the best multipliers of the primal for a given w.

The candidates are w(α) and the w that a solver returned: for a nonlinear kernel, coefficients w = Σ_j c_j φ(x_j) over
few samples (`points`). The multipliers are intercepts and margins. Each minimises a convex function of one variable:
`find_minimisers` returns the interval of its minimisers, and `average_free_rows` the textbook average over free rows.

Each multiplier θ has its own part of the rows (`SVMDual.parts`), with c, e and R its column, total and ridge. With ψ
of (LOSS.1), ℓ_k the level that s_k f has to reach in row k (not that of a quantile), and p_k = ℓ_k − s_k u_r(k):

    (LEVEL.1)  h(θ) = Σ ψ_k(p_k − c_k θ) + eθ + ½Rθ²,  convex;  row k reaches its level at θ_k = p_k/c_k
    (LEVEL.2)  h′(θ) = e + Rθ − Σ c_k a_k(θ),  a_k = clip((p_k − c_kθ)/δ_k, 0, U_k):  rising
    (LEVEL.3)  δ = 0, R = 0:  a weighted quantile of the θ_k: the weights U_k|c_k| up to it sum to Σ_{c>0} U_k c_k − e
    (LEVEL.4)  hard rows (U = ∞, δ = 0) bound θ:  θ ≥ θ_k where c_k > 0, θ ≤ θ_k where c_k < 0
    (LEVEL.5)  a free row, 0 < α_k < U_k, has t_k = δ_kα_k at the optimum:  θ = (p_k − δ_kα_k)/c_k, averaged
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value, sum_where
from qpsvm.base.arrays.quantiles import find_crossing, find_quantile_interval
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import PrimalPoint, build_kernel_point
from qpsvm.bounds.span import DIRECT_VALUES, build_span, find_point_of_w, find_points_near_w
from qpsvm.program.svm_dual import DualPart, SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: The two bounds (LEVEL.4) of θ count as equal if they cross by at most this share of their size, which is rounding.
TOUCHING = 1e-14
#: Limit of the Newton steps for the root of h′; if they do not converge, the knots of h′ are bisected.
NEWTON_STEPS = 15
#: Roots of h′ that differ by less than this share of the θ_k count as one.
ROOT_SEPARATION = 1e-10


def find_primal_points(
    space: FeatureSpace,
    beta: FloatArray,
    w: FloatArray | None,
    requires_w: bool = False,
    repair_change: tuple[FloatArray, float] | None = None,
) -> tuple[float, Iterator[PrimalPoint]]:
    """Return ½‖w(α)‖² for β = α∘y, and an iterator over primal candidates: a solver's w first, then w(α).

    w: A weight vector over `space.rows`, or coefficients (n,) if the kernel is not linear; None if the solver returned
        none. With coefficients, ½‖w(α)‖² is only bounded from above if the kernel values between all support vectors
        would cost more.
    requires_w: Whether w must be a candidate even if that costs more than w(α), because only the first one is used.
    repair_change: β before α was repaired minus β, (n,), and the scale of P. If ½‖Δw‖², (GAP.1), is rounding on that
        scale, the w(α) before the repair replaces w(α): P has a kink there, and Δw may be as long as the samples.
    """
    if not space.is_linear:
        span = None if w is None else build_span(space, beta, w, requires_w)
        if span is None or w is None:
            point = build_kernel_point(space, space.coefficients(beta))
            return point.half_norm, iter([point])
        if requires_w and float(space.n) * np.count_nonzero(beta) <= DIRECT_VALUES:
            return find_point_of_w(space, beta, w, span)
        return find_points_near_w(space, beta, w, span)
    weights = space.weights(beta)  # (DUAL.5), (HARD.4), (CSVM.4), (NUSVM.4), (PHINGE.4)
    half_norm = 0.5 * float(weights @ weights)
    unrepaired = weights
    if repair_change is not None:
        change = space.weights(repair_change[0])
        if 0.0 < float(change @ change) <= UNIT * repair_change[1]:
            unrepaired = weights + change

    def build_point(candidate: FloatArray) -> PrimalPoint:
        rounded = space.round_weights(candidate)
        if rounded is weights:
            return PrimalPoint(space.rows.margins(weights), weights, half_norm)
        return PrimalPoint(space.rows.margins(rounded), rounded, 0.5 * float(rounded @ rounded), rounded - weights)

    return half_norm, (build_point(candidate) for candidate in (w, unrepaired) if candidate is not None)


def compute_thetas(dual: SVMDual, part: DualPart, u: FloatArray) -> FloatArray:
    """Return θ_k of (LEVEL.1) for the rows of a part, from u (n,) at the samples: (r,); NaN if c_k = 0."""
    if part.column is dual.sign:  # c = s = ±1, so p/c = sℓ − u
        values = dual.at_rows(u)
        row_thetas: FloatArray = (dual.sign if dual.common_level == 1.0 else dual.sign * dual.level) - values
        return row_thetas
    shortfall = dual.level - dual.sign * dual.at_rows(u)  # p
    if part.rows is not None:  # all its c_k are 1
        return shortfall[part.rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        return shortfall / np.where(part.column == 0.0, np.nan, part.column)


def find_minimisers(dual: SVMDual, part: DualPart, row_thetas: FloatArray) -> tuple[float, float] | None:
    """Return the interval of all θ that minimise (LEVEL.1); None if no θ satisfies the hard rows.

    row_thetas (r,): The θ_k of the part.
    """
    upper, column = part.restrict(dual.upper), part.restrict(part.column)
    curvature = part.restrict(dual.curvature) if dual.has_curvature else None
    hard = None if dual.hard_rows is None else part.restrict(dual.hard_rows)
    if hard is None:
        weights = upper if part.rows is not None or column is dual.sign else None  # U|c| = U if c = ±1
        return find_soft_minimisers(row_thetas, column, upper, curvature, part, weights)
    low = float(np.max(row_thetas, where=hard & (column > 0), initial=-np.inf))
    high = float(np.min(row_thetas, where=hard & (column < 0), initial=np.inf))
    if low > high:
        if low - high > TOUCHING * max(abs(low), abs(high), 1.0):
            return None
        low = high = low + (high - low) / 2
    soft = ~hard
    if not soft.any() and not part.ridge:  # eθ alone
        return (high if part.total < 0.0 else low), (low if part.total > 0.0 else high)
    curved = None if curvature is None else curvature[soft]
    first, last = find_soft_minimisers(row_thetas[soft], column[soft], upper[soft], curved, part)
    return min(max(first, low), high), max(min(last, high), low)


def average_free_rows(dual: SVMDual, part: DualPart, row_thetas: FloatArray, alpha: FloatArray) -> float | None:
    """Return the mean of (LEVEL.5) over the free rows of a part, given its θ_k (r,); None without free rows."""
    a = part.restrict(alpha)
    upper = part.restrict(dual.upper)
    free = ((a > 0) & (a < upper)).nonzero()[0]
    if part.column is not dual.sign and part.rows is None:
        free = free[part.column[free] != 0.0]
    if not len(free):
        return None
    values = row_thetas[free]
    if dual.has_curvature:
        values = values - part.restrict(dual.curvature)[free] * a[free] / part.restrict(part.column)[free]
    return float(np.add.reduce(values)) / len(free)  # (LEVEL.5), (CSVM.12), (PHINGE.12)


def find_soft_minimisers(
    row_thetas: FloatArray,
    column: FloatArray,
    upper: FloatArray,
    curvature: FloatArray | None,
    part: DualPart,
    weights: FloatArray | None = None,
) -> tuple[float, float]:
    """Return the interval of minimisers without hard rows, for the θ_k, c, U and δ of some rows: (r,) each.

    By (LEVEL.3) if δ = 0 (None), also with a ridge; by the pieces of (LEVEL.2) else. weights: U|c|, computed if None.
    """
    if curvature is not None and bool((curvature > 0.0).any()):
        return PiecewiseSlope(row_thetas, column, upper, curvature, part.total, part.ridge).find_roots()
    if weights is None:
        weights = upper if (np.abs(column) == 1.0).all() else upper * np.abs(column)
    if part.rows is not None:  # all c = 1: for −θ, the weights have to reach the total e itself
        low, high = find_quantile_interval(-row_thetas, weights, part.total)  # (LEVEL.3), (NUSVM.13)
        return -high, -low
    rising = column > 0
    common = find_common_value(weights)
    quantile_level = sum_where(weights, rising) - part.total
    if part.ridge:
        crossing = find_crossing(row_thetas, weights, quantile_level, ridge=part.ridge)
        return crossing, crossing
    if part.total > 0.0 and bool(rising.all()):  # the sum of all weights is known up to rounding
        if common is None or part.total < common:
            top = int(np.argmax(row_thetas))
            if part.total < weights[top]:  # only the row with the largest θ_k is above θ
                return float(row_thetas[top]), float(row_thetas[top])
        rounding = 4.0 * len(row_thetas) * UNIT * part.total
        if abs(quantile_level) <= rounding:  # Σ U c = e, so α = U, and h′ = 0 below all θ_k, (ONE.19)
            return -math.inf, float(row_thetas.min(initial=math.inf))
    if part.total and not 0.0 <= quantile_level <= float(weights.sum()):  # only hard rows can hold θ
        end = math.copysign(math.inf, quantile_level)
        return end, end
    low, high = find_quantile_interval(row_thetas, weights, quantile_level)  # (LEVEL.3), (ONE.12), (SVDD.13)
    return (low if quantile_level else -math.inf), high


class PiecewiseSlope:
    """h′ of (LEVEL.2), piecewise linear and nondecreasing, for rows of which some have δ > 0.

    row_thetas, column, upper, curvature (r,): θ_k, c_k, U_k and δ_k.
    total, ridge: e and R.
    """

    def __init__(
        self,
        row_thetas: FloatArray,
        column: FloatArray,
        upper: FloatArray,
        curvature: FloatArray,
        total: float,
        ridge: float,
    ) -> None:
        has_entry = column != 0.0
        if not has_entry.all():
            row_thetas, column, upper, curvature = (each[has_entry] for each in (row_thetas, column, upper, curvature))
        self.row_thetas = row_thetas
        self.column = column
        self.upper = upper
        self.curvature = curvature
        self.total, self.ridge = total, ridge
        jumps = curvature == 0.0
        self._jumps: NDArray[np.bool_] | None = jumps if jumps.any() else None
        self._sizes = np.abs(column)
        self._rounding = 4.0 * UNIT * np.abs(row_thetas) * self._sizes  # of t_k = c_k(θ_k − θ), for an exact θ
        self._thresholds = curvature * upper  # the t_k from which on a_k = U_k
        self._is_bounded = not bool(np.isinf(upper).all())
        with np.errstate(divide="ignore"):
            self._slopes = np.where(curvature > 0.0, column**2 / curvature, 0.0)

    def find_roots(self) -> tuple[float, float]:
        """Return the smallest and the largest θ at which h′ changes its sign; −∞ or ∞ without an end."""
        root = self._find_root_by_newton() if self._jumps is None else None
        if root is not None:
            return root, root
        first, is_only = self._find_first_root()
        if is_only:
            return first, first
        reflected = PiecewiseSlope(-self.row_thetas, -self.column, self.upper, self.curvature, -self.total, self.ridge)
        last = -reflected._find_first_root()[0]
        return min(first, last), max(first, last)  # one point, found from both sides, may differ by rounding

    def evaluate(self, theta: float, right: bool = True) -> tuple[float, float, float]:
        """Return the right or left limit of h′ at θ, a bound on its rounding error, and h″ beside θ on that side.

        Rows that are at their level or bound up to the rounding of θ_k − θ count as being there.
        """
        t = (self.row_thetas - theta) * self.column
        rounding = self._rounding + 4.0 * UNIT * abs(theta) * self._sizes
        is_curved = t > rounding
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.where(is_curved, t / self.curvature, 0.0)
        if self._is_bounded:
            is_full = is_curved & (t >= self._thresholds - rounding)
            is_curved &= ~is_full
            a = np.where(is_full, self.upper, np.minimum(a, self.upper))
        if self._jumps is not None:
            at_bound = (t > 0) | ((t == 0) & ((self.column < 0) == right))
            a = np.where(self._jumps, np.where(at_bound, self.upper, 0.0), a)
        ridge_term = self.ridge * theta
        value = self.total + ridge_term - float(self.column @ a)
        size = abs(self.total) + abs(ridge_term) + float(self._sizes @ a)
        return value, gamma(len(a) + 4) * size, self.ridge + float(np.sum(self._slopes, where=is_curved))

    def _evaluate_sign(self, theta: float, right: bool = True) -> float:
        """Return h′ of `evaluate`, but 0 if it is within its rounding error."""
        value, rounding, _ = self.evaluate(theta, right)
        return 0.0 if abs(value) <= rounding else value

    def _find_root_by_newton(self) -> float | None:
        """Return the only root by Newton's method; None if there may be more, or the steps do not end.

        With finite U, h′ may be 0 over an interval that ends at θ. Then it has no other sign on one side of θ.
        """
        theta = float(self.row_thetas.sum()) / max(len(self.row_thetas), 1)
        for _ in range(NEWTON_STEPS):
            value, rounding, slope = self.evaluate(theta)
            if not slope > 0.0:
                return None
            theta -= value / slope
            if abs(value) <= rounding:
                break
        else:
            return None
        nearby = ROOT_SEPARATION * (abs(theta) + float(np.abs(self.row_thetas).mean()))
        if self._is_bounded and not self._evaluate_sign(theta - nearby) < 0.0 < self._evaluate_sign(theta + nearby):
            return None
        return theta

    def _find_first_root(self) -> tuple[float, bool]:
        """Return the smallest θ with h′ ≥ 0 (−∞ if h′ ≥ 0 everywhere, ∞ if nowhere), and whether h′ = 0 only there."""
        with np.errstate(invalid="ignore"):
            ends = self.row_thetas - np.where(self.curvature > 0.0, self._thresholds, 0.0) / self.column
        knots = np.unique(np.concatenate([self.row_thetas, ends[np.isfinite(ends)]]))
        low = -1  # bisection: h′ < 0 to the right of this knot,
        high = len(knots)  # and h′ ≥ 0 to the right of this one
        while high - low > 1:
            middle_knot = (low + high) // 2
            if self._evaluate_sign(float(knots[middle_knot])) >= 0.0:
                high = middle_knot
            else:
                low = middle_knot
        if low < 0:
            return self._extrapolate(float(knots[0]), -1.0), False
        if high == len(knots):
            return self._extrapolate(float(knots[-1]), 1.0), False
        left_knot, right_knot = float(knots[low]), float(knots[high])
        left_value = self._evaluate_sign(left_knot)
        right_value = self._evaluate_sign(right_knot, right=False)
        if right_value <= 0.0:
            return right_knot, False
        root = left_knot + (right_knot - left_knot) * (-left_value / (right_value - left_value))
        return min(max(root, left_knot), right_knot), True

    def _extrapolate(self, knot: float, side: float) -> float:
        """Return the root left (side = −1) or right (+1) of all knots, where h′ is linear."""
        unbounded = np.isinf(self.upper) & (side * self.column < 0.0)  # rows with t > 0 and a < U out there
        steepness = self.ridge + float(self._slopes[unbounded].sum())
        value = self._evaluate_sign(knot, right=side > 0)
        if side < 0 and (value < 0.0 or (value == 0.0 and steepness > 0.0)):
            return knot
        return knot - value / steepness if steepness > 0.0 else side * math.inf
