"""Find weighted quantiles of many numbers, without sorting them all (`find_quantile_interval`, `find_crossing`).

    (OVER.2)  the t at which Rt + the weights of the points up to t reach a level:  a sample of the points brackets it,
              four sums of weights decide in which part of the points it is, and only that part is searched again

The parts are the points below, between and above the two ends of the bracket. A round leaves about a tenth of the
points. The result is that of sorting all, because the sums decide, not the sample.
"""

from __future__ import annotations

import math
from operator import ge, gt

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, sum_where
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray

#: Up to SAMPLE points are sorted. Of more, a sample of at most SAMPLE is sorted, and the bracket ends BRACKET points of
#: the sample below and above the estimated crossing.
SAMPLE, BRACKET = 4096, 200


def find_quantile_interval(points: FloatArray, weights: FloatArray, level: float) -> tuple[float, float]:
    """Return the interval of all minimisers t of Σ weights_i (t − points_i)₊ − level·t, the weighted quantiles.

    points, weights (n,): The level counts as reached by sums of weights that differ from it by their rounding only.
    """
    common = find_common_value(weights)
    if common is not None and 0.0 < common < math.inf:
        return _find_order_statistics(points, level / common)
    rounding = 4 * len(points) * EPS * float(weights.sum())
    low = find_crossing(points, weights, level - rounding)
    if not low < math.inf:
        return float(points.max(initial=-math.inf)), math.inf
    above = points > low
    weight_up_to_low = sum_where(weights, ~above)
    if weight_up_to_low > level + rounding:
        return low, low
    return low, find_crossing(points[above], weights[above], level + rounding, before=weight_up_to_low, strict=True)


def _find_order_statistics(points: FloatArray, level: float) -> tuple[float, float]:
    """Return `find_quantile_interval` for weights that are all 1: two order statistics, without sorting."""
    n = len(points)
    rounding = 4 * n * EPS * n
    first = min(max(math.ceil(level - rounding) - 1, 0), n - 1)
    last = math.floor(level + rounding)
    ordered = points.copy()
    ordered.partition((first, min(last, n - 1)))
    return float(ordered[first]), float(ordered[last]) if last < n else float("inf")


def find_crossing(
    points: FloatArray,
    weights: FloatArray,
    level: float,
    before: float = 0.0,
    ridge: float = 0.0,
    strict: bool = False,
) -> float:
    """Return the smallest t of (OVER.2), which may be between two points if R > 0; ∞ if the level is never reached.

    points, weights (n,): before is the weight of other points below all of these, ridge is R, and strict asks that the
        level is exceeded.
    """
    reached = gt if strict else ge
    end = math.inf  # a point above all that are left, where the level is reached
    while len(points) > SAMPLE:
        low, high = _bracket_crossing(points, weights, level - before, ridge)
        below = points < low
        inside = (points > low) & (points < high)
        at_low = points == low
        at_high = (points == high) & (high > low)
        weights_of_parts = np.array([sum_where(weights, mask) for mask in (below, at_low, inside, at_high)])
        to_low, with_low, to_high, with_high = (before + np.cumsum(weights_of_parts)).tolist()
        if reached(ridge * low + to_low, level):
            is_inside, end = below, low
        elif reached(ridge * low + with_low, level):
            return low
        elif reached(ridge * high + to_high, level):
            is_inside = inside
            end = high
            before = with_low
        elif reached(ridge * high + with_high, level):
            return high
        else:
            is_inside = points > high
            before = with_high
        points, weights = points[is_inside], weights[is_inside]
    return _find_crossing_of_few(points, weights, level, before, ridge, strict, end)


def _bracket_crossing(points: FloatArray, weights: FloatArray, level: float, ridge: float) -> tuple[float, float]:
    """Return two points that very likely enclose the crossing, from a sample of the points."""
    step = -(-len(points) // SAMPLE)
    order = np.argsort(points[::step], kind="stable")
    sample = points[::step][order]
    mass = np.cumsum(weights[::step][order])
    if mass[-1] > 0.0:
        share = float(weights.sum()) / mass[-1]
    else:
        share = 0.0
    k = int(np.searchsorted(ridge * sample + share * mass, level))
    return float(sample[max(k - BRACKET, 0)]), float(sample[min(k + BRACKET, len(sample) - 1)])


def _find_crossing_of_few(
    points: FloatArray, weights: FloatArray, level: float, before: float, ridge: float, strict: bool, end: float
) -> float:
    """Return `find_crossing` by sorting; `end` if none of these points reaches the level."""
    order = np.argsort(points, kind="stable")
    points = points[order]
    passed = before + np.cumsum(weights[order])
    k = int(np.searchsorted(ridge * points + passed, level, side="right" if strict else "left"))
    knot = float(points[k]) if k < len(points) else end
    if not ridge:
        return knot
    return min((level - (float(passed[k - 1]) if k else before)) / ridge, knot)
