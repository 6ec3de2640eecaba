"""Enclose every exact optimum, given one certified point (`build_near_optimum`).

The idea: a small gap confines the optimal w to a ball, because P is strongly convex in w. The ball bounds f* up to the
intercept, and then the optimality condition of the intercept bounds that as well.

Let g ≥ P(w, μ) − D(α) be proven for a feasible pair. P is strongly convex in w and the penalised multipliers, with
moduli 1 and R_g, and so is −D in those of α. So with ‖(w, μ)‖² = ‖w‖² + ΣR_g μ_g² and a = ‖(w, μ) − (w, μ)(α)‖

    (OPTIMA.1)  ½‖(w, μ) − (w*, μ*)‖² + ½‖(w, μ)(α) − (w*, μ*)‖² ≤ g:  both are within  R = √(g − a²/4) + a/2  of the
              optimum, which is unique;  R is largest, √(2g), at a = √(2g)

A free multiplier θ is not bounded by that. For the optimal w* it minimises (LEVEL.1); (LEVEL.2) decreases as any θ_k
increases, and the ball bounds every θ_k from both sides. Let Δ = θ* − θ, t_k the violations at the point,
ρ_k = ‖φ_k − o‖ and c_k the entry of row k:

    (OPTIMA.2)  t*_k = t_k − s_k⟨w* − w, φ_k − o⟩ − c_kΔ, and Δ lies between the smallest minimiser with each t_k/c_k
              as small as t_k ± Rρ_k permits, and the largest minimiser with each as large as permitted
    (OPTIMA.3)  f*(x) ∈ f(x) ± R‖φ(x) − o‖ + [Δ of the intercept]

o is any point of the feature space: with a free intercept it only shifts b. The mean of the samples makes ρ small. Two
free multipliers belong to two disjoint sets of rows, (DUAL.2). If several free ones share rows, the interval is the
whole line.

Rounding: g, a and the bounds of t_k are those of a proof, (BOUND.1) to (BOUND.4); sums are padded by γ, and each end of
Δ is a float at which the sign of every subgradient is certain.

Sources: Ndiaye, Fercoq, Gramfort & Salmon, *Gap safe screening rules for sparsity enforcing penalties*, JMLR 18 (2017);
Shibagaki et al., *Simultaneous safe screening of features and samples*, ICML 2016. Using both points makes (OPTIMA.1)
up to √2 tighter than the ball around one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rationals import enclose_fraction, round_up
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.near_points import NearFunction, OriginDistances
from qpsvm.bounds.proof import terms
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup
from qpsvm.bounds.proof.prove import bound_gap_in_floats

#: Relative accuracy to which the ends of an interval are searched.
END_ACCURACY = 1e-3
#: Largest number of bisection steps.
MAX_BISECTIONS = 60

Interval = tuple[float, float]
#: Interval of an unbounded quantity.
LINE: Interval = (-math.inf, math.inf)


class MultiplierPart(NamedTuple):
    """Rows (m,) that share a free multiplier, its entries c (m,) in them, and its total."""

    rows: NDArray[np.bool_]
    column: FloatArray
    total: Fraction


@dataclass(frozen=True, eq=False)
class NearOptimum:
    """Enclosure (OPTIMA.1) to (OPTIMA.3) of every optimum, from one point, in units of (DUAL.1).

    radius: R; infinite if nothing is proven about the point.
    t: Violations from below and from above, (m,) each.
    """

    request: ProofRequest
    distances: OriginDistances
    radius: float
    t: tuple[FloatArray, FloatArray]

    @property
    def program(self) -> ExactDual:
        """The dual of the machine."""
        return self.request.program

    @cached
    def row_radii(self) -> FloatArray:
        """Bounds of |t*_k − t_k| for fixed free multipliers, (m,): Rρ_k, with penalised multipliers as coordinates."""
        program = self.program
        sizes = self.distances.bound_row_distances(program)
        squares = sizes * sizes
        for group in program.groups:
            if group.ridge:
                squares = squares + np.square(group.column) * (float(1 / group.ridge) * FEW_ROUNDINGS)
        return _bound_products(self.radius, np.sqrt(squares) * FEW_ROUNDINGS)

    @cached
    def shifts(self) -> tuple[list[MultiplierPart], list[Interval]]:
        """The free multipliers, and the interval of Δ of each, (OPTIMA.2); both empty if none can be bounded."""
        program = self.program
        parts = _separate_free_multipliers(program)
        if parts is None:
            return [], []
        low, high = self.t[0] - self.row_radii, self.t[1] + self.row_radii
        intervals = []
        for part in parts:
            curvature, upper = ([end[part.rows] for end in ends.bounds] for ends in (program.curvature, program.upper))
            t = low[part.rows], high[part.rows]
            c = part.column[part.rows]
            first = ShiftBound(t, c, upper, curvature, part.total)
            last = ShiftBound(t, -c, upper, curvature, -part.total)
            intervals.append((first.bound_below(self._first_step), -last.bound_below(self._first_step)))
        return parts, intervals

    @property
    def _first_step(self) -> float:
        """First step of the search for an end: the median of `row_radii`."""
        radii = self.row_radii
        size = float(np.median(radii)) if len(radii) else 0.0
        return size if 0.0 < size < math.inf else UNIT

    @cached
    def intercept(self) -> Interval:
        """Interval of Δ of the intercept, relative to o; (0, 0) if there is none, or it is a coordinate of the ball."""
        index = _find_free_intercept(self.program)
        if index is None:
            return 0.0, 0.0
        parts, intervals = self.shifts
        if len(intervals) == 1:
            return intervals[0]
        if not intervals:
            return LINE
        inverse = _invert_mixing(self.program, parts)[index]
        low = sum(min(m * end for end in ends) for m, ends in zip(inverse, intervals, strict=True))
        high = sum(max(m * end for end in ends) for m, ends in zip(inverse, intervals, strict=True))
        if not math.isnan(float(low) + float(high)):
            return _widen(low, high)
        return LINE

    @property
    def in_ball(self) -> float:
        """Contribution of a penalised intercept to ‖φ(x)‖²: 1/R."""
        groups = [group for group in self.program.groups if group.ridge and _is_intercept(group)]
        return max((float(1 / group.ridge) * FEW_ROUNDINGS for group in groups), default=0.0)

    def build_function(self, size: float) -> NearFunction:
        """Build the bounds (OPTIMA.3), for `size` times the f of the machine."""
        return NearFunction(self.radius, self.intercept, self.in_ball, size, self.distances.origin)


def _widen(low: float, high: float) -> Interval:
    """Return an interval that includes the rounding of its ends."""
    slack = 16.0 * UNIT * (abs(low) + abs(high)) + UNDERFLOW
    return low - slack, high + slack


def _bound_products(radius: float, sizes: FloatArray) -> FloatArray:
    """Return upper bounds of R times sizes; 0 times ∞ is ∞."""
    with np.errstate(invalid="ignore", over="ignore"):
        products = radius * sizes * FEW_ROUNDINGS + UNDERFLOW
    return np.where(np.isnan(products), math.inf, products)


def build_near_optimum(request: ProofRequest, distances: OriginDistances, target_gap: float) -> NearOptimum:
    """Enclose every optimum by (OPTIMA.1), given the floats of a result.

    target_gap: Relative gap below which the point is not evaluated with more digits.
    """
    program, primal_point = request.program, request.primal_point
    unbounded = NearOptimum(request, distances, math.inf, (np.full(program.m, -math.inf), np.full(program.m, math.inf)))
    vectors = [vector for vector in (request.alpha, primal_point.w, primal_point.coef) if vector is not None]
    if not all(np.isfinite(vector).all() for vector in vectors):
        return unbounded
    if any(group.multiplier not in primal_point.multipliers for group in program.groups):
        return unbounded
    point = request.repair(program, request.alpha)
    if point is None:
        return unbounded
    with np.errstate(all="ignore"):
        bounds, measured = bound_gap_in_floats(program, request.space, primal_point, point, target_gap)
        ends = terms.bound_violations(program, primal_point, measured.values).ends
    g = bounds.difference[1]
    ridge = terms.compute_group_terms(program, primal_point, point)[2]
    distance = math.hypot(measured.distance, math.sqrt(2.0 * enclose_fraction(ridge)[1])) * FEW_ROUNDINGS
    return NearOptimum(request, distances, _bound_ball_radius(g, distance), ends)


def _bound_ball_radius(g: float, distance: float) -> float:
    """Return an upper bound of R of (OPTIMA.1), for upper bounds of g and a: R grows with a up to √(2g)."""
    if not g < math.inf:
        return math.inf
    square = min(distance * distance, 2.0 * g * FEW_ROUNDINGS)
    root = math.sqrt(max(g * FEW_ROUNDINGS - 0.25 * square, 0.0)) + 0.5 * math.sqrt(square)
    return min(root, math.sqrt(2.0 * g)) * FEW_ROUNDINGS + (UNDERFLOW if g > 0.0 else 0.0)


def _is_intercept(group: ExactGroup) -> bool:
    """Return whether a multiplier is an intercept; in all-in-one machines each class has one."""
    return group.multiplier == "b" or group.multiplier.startswith("b_")


def _list_free_groups(program: ExactDual) -> list[ExactGroup]:
    return [group for group in program.groups if not group.ridge]


def _find_free_intercept(program: ExactDual) -> int | None:
    """Return the index of the intercept among the free groups, or None."""
    return next((k for k, group in enumerate(_list_free_groups(program)) if _is_intercept(group)), None)


def _separate_free_multipliers(program: ExactDual) -> list[MultiplierPart] | None:
    """Return the parts of the rows, each with one free multiplier, (DUAL.2); None if they cannot be separated."""
    groups = _list_free_groups(program)
    if not groups:
        return []
    if program.classes > 1 or any(group.entries for group in groups):
        return None
    if len(groups) == 1:
        column = np.array(groups[0].column)
        return [MultiplierPart(np.ones(program.m, dtype=bool), column, groups[0].total)]
    return _separate_two(program.m, *groups) if len(groups) == 2 else None


def _separate_two(m: int, *groups: ExactGroup) -> list[MultiplierPart] | None:
    """Separate two multipliers with entries ±1 whose rows (m,) are of two kinds: θ = Mμ has one multiplier per kind."""
    E = np.column_stack([group.column for group in groups])
    first = E[0]
    is_first = (first == E).all(axis=1)
    if is_first.all() or not (E[~is_first] == E[~is_first][0]).all() or not np.isin(E, (-1.0, 1.0)).all():
        return None
    ones = np.ones(m)
    totals = [group.total for group in groups]
    (a, b), (c, d) = ([Fraction(int(entry)) for entry in row] for row in (first, E[~is_first][0]))  # M
    det = a * d - b * c  # ±2
    if not det:
        return None
    # the totals τ of the parts solve Mᵀτ = totals
    tau = [(d * totals[0] - c * totals[1]) / det, (a * totals[1] - b * totals[0]) / det]
    return [MultiplierPart(is_first, ones, tau[0]), MultiplierPart(~is_first, ones, tau[1])]


def _invert_mixing(program: ExactDual, parts: list[MultiplierPart]) -> FloatArray:
    """Return M⁻¹ of μ = M⁻¹θ, entries ±½: (2, 2)."""
    E = np.column_stack([group.column for group in _list_free_groups(program)])
    M = np.array([E[int(np.argmax(part.rows))] for part in parts])
    det = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    return np.asarray(np.array([[M[1, 1], -M[0, 1]], [-M[1, 0], M[0, 0]]]) / det)


class ShiftBound:
    """Lower bound of the Δ that minimise (LEVEL.1), for t, U and δ known up to intervals.

    h′ of (LEVEL.2) is bounded from above for all t, U and δ in their intervals. Where that bound is negative, h
    decreases, so that every minimiser is larger.

    t, upper, curvature: Lower and upper bounds, (r,) each.
    column (r,), total: c and e.
    """

    def __init__(
        self, t: tuple[FloatArray, FloatArray], column: FloatArray, upper: list[FloatArray],
        curvature: list[FloatArray], total: Fraction,
    ) -> None:  # fmt: skip
        up, down = column > 0.0, column < 0.0
        # rows with c > 0 take the smallest possible α, rows with c < 0 the largest
        self.rising = column[up], t[0][up], upper[0][up], curvature[1][up]
        self.falling = -column[down], t[1][down], upper[1][down], curvature[0][down]
        self.total = round_up(total) if total else 0.0
        self.relative_rounding = gamma(len(column) + 16)
        self.is_finite = np.isfinite(t[0]).all() and np.isfinite(t[1]).all()

    def bound_below(self, step: float) -> float:
        """Return a float below every minimiser, close to the largest one; −∞ if none is found.

        step: First step of the search for a bracket.
        """
        if not self.is_finite:
            return -math.inf
        low, high = self._find_bracket(step)
        if math.isinf(low) or math.isinf(high):
            return low
        for _ in range(MAX_BISECTIONS):
            if high - low <= END_ACCURACY * max(abs(low), abs(high)):
                break
            middle = low + (high - low) / 2.0
            if middle in (low, high):
                break
            if self._bound_slope(middle) < 0.0:
                low = middle
            else:
                high = middle
        return low

    def _find_bracket(self, step: float) -> tuple[float, float]:
        """Return Δ with a negative bound of h′, and a larger one without; infinite if there is none."""
        if self._bound_slope(0.0) < 0.0:
            low = 0.0
            high = step
            while not math.isinf(high) and self._bound_slope(high) < 0.0:
                low = high
                high = 4.0 * high
        else:
            low = -step
            high = 0.0
            while not math.isinf(low) and not self._bound_slope(low) < 0.0:
                high = low
                low = 4.0 * low
        return low, high

    def _bound_slope(self, shift: float) -> float:
        """Return an upper bound of all subgradients h′ of (LEVEL.2) at Δ, for all t, U and δ in their intervals."""
        with np.errstate(all="ignore"):
            c, t, upper, curvature = self.rising
            change = c * shift
            violation = t - change - 4.0 * UNIT * (np.abs(t) + np.abs(change))
            min_alpha = np.minimum(np.where(violation > 0.0, violation / curvature / FEW_ROUNDINGS, 0.0), upper)
            rising = float((c * min_alpha).sum())
            c, t, upper, curvature = self.falling
            change = c * shift
            violation = t + change + 4.0 * UNIT * (np.abs(t) + np.abs(change)) + UNDERFLOW
            max_alpha = np.where(
                violation >= 0.0,
                np.where(curvature > 0.0, np.minimum(violation / curvature * FEW_ROUNDINGS, upper), upper),
                0.0,
            )
            falling = float((c * max_alpha).sum())
        size = abs(self.total) + abs(falling) + (rising if math.isfinite(rising) else 0.0)
        slope = self.total + falling - rising + self.relative_rounding * size
        return math.inf if math.isnan(slope) else slope
