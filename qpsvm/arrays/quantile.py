"""Weighted quantiles: where an intercept is best, in certificates and in solvers."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.arrays.constant import common_value, total
from qpsvm.arrays.types import FloatArray

EPS = float(np.finfo(float).eps)
#: From so many points on, a quantile is bracketed by a sample of about SAMPLE points, BRACKET of them to each side.
MANY_POINTS, SAMPLE, BRACKET = 20_000, 4096, 200


def quantile_interval(points: FloatArray, weights: FloatArray, level: float) -> tuple[float, float]:
    """All minimisers t of Σ weights_i (t − points_i)₊ − level·t: the weighted quantile of the points at a level.

    Shapes: points, weights (m,).
    """
    common = common_value(weights)
    if common is not None and 0.0 < common < math.inf and len(points) < MANY_POINTS:
        return _order_statistics(points, level / common)
    slack = 4 * len(points) * EPS * float(weights.sum())
    points, weights, level = near_level(points, weights, level, slack)
    order = np.argsort(points, kind="stable")
    sorted_points = points[order]
    cumulative = np.cumsum(weights[order])
    first = int(np.searchsorted(cumulative, level - slack))
    last = int(np.searchsorted(cumulative, level + slack, side="right"))
    low = float(sorted_points[min(first, len(points) - 1)])
    high = float(sorted_points[last]) if last < len(points) else float("inf")
    return low, high


def _order_statistics(points: FloatArray, level: float) -> tuple[float, float]:
    """`quantile_interval` for weights that are all 1: two order statistics, and nothing has to be sorted."""
    n = len(points)
    slack = 4 * n * EPS * n
    first = min(max(math.ceil(level - slack) - 1, 0), n - 1)
    last = math.floor(level + slack)
    ordered = np.partition(points, (first, min(last, n - 1)))
    return float(ordered[first]), float(ordered[last]) if last < n else float("inf")


def near_level(
    points: FloatArray, weights: FloatArray, level: float, slack: float, ridge: float = 0.0
) -> tuple[FloatArray, FloatArray, float]:
    """The points that can be the quantile, and the level that is left for them: found without sorting all.

    A sorted sample brackets the quantile; two sums prove that the bracket holds it, or everything is kept.

    Shapes: points, weights (m,) → points, weights (k,).
    """
    if len(points) < MANY_POINTS:
        return points, weights, level
    step = len(points) // SAMPLE
    order = np.argsort(points[::step])
    sample, mass = points[::step][order], np.cumsum(weights[::step][order])
    k = int(np.searchsorted(ridge * sample + float(weights.sum()) / mass[-1] * mass, level))
    low, high = float(sample[max(k - BRACKET, 0)]), float(sample[min(k + BRACKET, len(sample) - 1)])
    below, inside = points < low, (points >= low) & (points <= high)
    rest, within = total(weights, below), total(weights, inside)
    if ridge * low + rest + slack < level < ridge * high + rest + within - slack:
        return points[inside], weights[inside], level - rest
    return points, weights, level
