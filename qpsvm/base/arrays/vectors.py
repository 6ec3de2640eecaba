"""Vectors that are one number n times. They take the memory of one, and are known to be constant by their strides.

Weighted quantiles: where an intercept is best, in certificates and in solvers.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray


def repeated(value: float, n: int) -> FloatArray:
    """One number n times, (n,), read-only and in the memory of one."""
    return np.ndarray((n,), np.float64, struct.pack("d", value), 0, (0,))  # np.broadcast_to takes ten times as long


def common_value(vector: FloatArray) -> float | None:
    """The number of a `repeated` vector (n,), else None. It looks at the strides, not at the values."""
    return float(vector[0]) if len(vector) and vector.strides == (0,) else None


def times(factors: float | FloatArray, vector: FloatArray) -> FloatArray:
    """factors∘vector, (n,): `repeated` where both are, and the vector itself where all factors are 1.

    `factors` is one number, or a vector (n,).
    """
    factor = common_value(factors) if isinstance(factors, np.ndarray) else factors
    if factor is None:
        product: FloatArray = factors * vector
        return product
    if factor == 1.0:
        return vector
    value = common_value(vector)
    return factor * vector if value is None else repeated(factor * value, len(vector))


def divided(number: float, vector: FloatArray) -> FloatArray:
    """number/vector, (n,): `repeated` where the vector is."""
    value = common_value(vector)
    quotient: FloatArray = number / vector if value is None else repeated(number / value, len(vector))
    return quotient


def total(vector: FloatArray, where: NDArray[np.bool_]) -> float:
    """The sum of the entries of a vector (n,) where a mask (n,) is true."""
    value = common_value(vector)
    if value is not None:
        return value * int(np.count_nonzero(where))
    return float(np.add.reduce(vector, where=where))


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
