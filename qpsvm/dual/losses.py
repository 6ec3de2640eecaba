"""What falling short costs: the loss of a row, its conjugate, and the terms of the gap.

    (LOSS.1)  ψ(t) = max over 0 ≤ a ≤ U of at − ½δa²:  U·max(0, t) for δ = 0;  max(0, t)²/(2δ) for U = ∞;  else Huber's
    (LOSS.2)  its conjugate is ½δa² on 0 ≤ a ≤ U, and ∞ elsewhere
    (LOSS.3)  g(a, t) = ψ(t) + ½δa² − at ≥ 0, the inequality of Fenchel and Young; without cancellation:
              a(½δa − t) for t ≤ 0;  (t − δa)²/(2δ) for 0 < t < δU;  (U − a)(t − ½δ(U + a)) for t ≥ δU
    (LOSS.4)  g is convex in t and 0 exactly at the a that is optimal for t: a = clip(t/δ, 0, U)

Every value is that of one row, and every vector (m,).
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray


def loss(t: FloatArray, upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """ψ of (LOSS.1); infinite where U = ∞, δ = 0 and t > 0."""
    short = np.maximum(t, 0.0)
    knee = _knee(upper, curvature)
    with np.errstate(divide="ignore", invalid="ignore"):
        linear = np.where(short > 0.0, upper * (short - 0.5 * knee), 0.0)
        square = 0.5 * short * (short / curvature)
    found: FloatArray = np.where(short >= knee, linear, square)
    return found


def gap_term(alpha: FloatArray, t: FloatArray, upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """g of (LOSS.3): no term is negative, and none is a difference of large numbers."""
    room, hard = upper - alpha, (curvature == 0.0) & np.isinf(upper)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        below = alpha * (0.5 * curvature * alpha - t)  # (HARD.7): t = 1 − y f, and δ = 0
        apart = t - curvature * alpha
        between = 0.5 * apart * (apart / curvature)  # its square may underflow where the term does not
        beyond = room * (t - 0.5 * curvature * (upper + alpha))
    beyond = np.where(hard, np.inf, np.where(room == 0.0, 0.0, beyond))
    found: FloatArray = np.where(t <= 0.0, below, np.where(t < _knee(upper, curvature), between, beyond))
    return found


def _knee(upper: FloatArray, curvature: FloatArray) -> FloatArray:
    """δU, the shortfall from which the loss is linear; 0 for δ = 0, however large U."""
    with np.errstate(invalid="ignore"):
        knee: FloatArray = np.where(curvature == 0.0, 0.0, curvature * upper)
    return knee
