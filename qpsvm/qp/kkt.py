"""Residuals of a QP at a point: how far (x, y, z, z_box) is from satisfying its optimality conditions.

Pure functions of the QP's own data; nothing a solver reports enters. Letters and signs as in `qp` (QP.1).
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.qp.program import QP


def primal_residual(qp: QP, x: FloatArray) -> float:
    """Largest violation of Gx ≤ h, Ax = b and lb ≤ x ≤ ub at x (n,), in the units of the rows."""
    lb, ub = qp.bounds
    parts = [np.maximum(lb - x, 0.0), np.maximum(x - ub, 0.0)]
    if qp.G is not None:
        parts.append(np.maximum(qp.G @ x - qp.h, 0.0))
    if qp.A is not None:
        parts.append(np.abs(qp.A @ x - qp.b))
    return _largest(parts)


def gradient(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Px + q + Gᵀz + Aᵀy, what (QP.1) leaves for the bounds, up to the sign: (n,)."""
    total: FloatArray = qp.P @ x + qp.q
    if qp.G is not None:
        total = total + qp.G.T @ z
    if qp.A is not None:
        total = total + qp.A.T @ y
    return total


def dual_residual(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Largest entry of |Px + q + Gᵀz + Aᵀy + z_box| (QP.1), or of a multiplier of the wrong sign.

    Shapes: x, z_box (n,), y (p,), z (m,).
    """
    lb, ub = qp.bounds
    unbounded_below = np.where(np.isfinite(lb), 0.0, np.maximum(-z_box, 0.0))
    unbounded_above = np.where(np.isfinite(ub), 0.0, np.maximum(z_box, 0.0))
    return _largest([np.abs(gradient(qp, x, y, z) + z_box), np.maximum(-z, 0.0), unbounded_below, unbounded_above])


def complementarity(qp: QP, x: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Largest product of a multiplier and the slack of its row or bound, at x (n,), z (m,), z_box (n,)."""
    lb, ub = qp.bounds
    low, high = np.maximum(-z_box, 0.0), np.maximum(z_box, 0.0)
    parts = [
        np.abs(np.where(low > 0, low * (x - np.where(np.isfinite(lb), lb, 0.0)), 0.0)),
        np.abs(np.where(high > 0, high * (np.where(np.isfinite(ub), ub, 0.0) - x), 0.0)),
    ]
    if qp.G is not None and qp.h is not None:
        parts.append(np.abs(z * (qp.h - qp.G @ x)))
    return _largest(parts)


def duality_gap(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """|primal − dual objective|: |xᵀPx + qᵀx + bᵀy + hᵀz + ubᵀz_box⁺ − lbᵀz_box⁻|."""
    lb, ub = qp.bounds
    value = float(x @ (qp.P @ x) + qp.q @ x)
    if qp.b is not None:
        value += float(qp.b @ y)
    if qp.h is not None:
        value += float(qp.h @ z)
    value += float(np.where(np.isfinite(ub), ub, 0.0) @ np.maximum(z_box, 0.0))
    value -= float(np.where(np.isfinite(lb), lb, 0.0) @ np.maximum(-z_box, 0.0))
    return abs(value)


def _largest(parts: list[FloatArray]) -> float:
    return max((float(part.max()) for part in parts if part.size), default=0.0)
