"""Measure the violation of the optimality conditions (QP.1) by (x, y, z, z_box), from the data of the QP.

Shapes: x, z_box (n,), y (p,), z (m,). max(−z_box, 0) are the multipliers of lb, and max(z_box, 0) those of ub.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.qp import QP


def compute_primal_residual(qp: QP, x: FloatArray) -> float:
    """Return the largest violation of Gx ≤ h, Ax = b and lb ≤ x ≤ ub at x, in the units of the rows."""
    lb, ub = qp.bounds
    parts = [np.maximum(lb - x, 0.0), np.maximum(x - ub, 0.0)]
    if qp.G is not None:
        parts.append(np.maximum(qp.G @ x - qp.h, 0.0))
    if qp.A is not None:
        parts.append(np.abs(qp.A @ x - qp.b))
    return _find_largest(parts)


def compute_lagrangian_gradient(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Return Px + q + Gᵀz + Aᵀy, (n,): by (QP.1) −z_box at an optimum."""
    total: FloatArray = qp.P @ x + qp.q
    if qp.G is not None:
        total = total + qp.G.T @ z
    if qp.A is not None:
        total = total + qp.A.T @ y
    return total


def compute_dual_residual(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return the largest of |Px + q + Gᵀz + Aᵀy + z_box|, of −z, and of the multipliers of infinite bounds."""
    lb, ub = qp.bounds
    parts = [np.abs(compute_lagrangian_gradient(qp, x, y, z) + z_box), np.maximum(-z, 0.0)]
    parts.append(np.where(np.isfinite(lb), 0.0, np.maximum(-z_box, 0.0)))
    parts.append(np.where(np.isfinite(ub), 0.0, np.maximum(z_box, 0.0)))
    return _find_largest(parts)


def compute_complementarity(qp: QP, x: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return the largest product of a multiplier and the slack of its row or bound; infinite bounds count as 0."""
    lb, ub = qp.bounds
    z_lb = np.maximum(-z_box, 0.0)
    z_ub = np.maximum(z_box, 0.0)
    parts = [
        np.abs(np.where(z_lb > 0, z_lb * (x - np.where(np.isfinite(lb), lb, 0.0)), 0.0)),
        np.abs(np.where(z_ub > 0, z_ub * (np.where(np.isfinite(ub), ub, 0.0) - x), 0.0)),
    ]
    if qp.G is not None and qp.h is not None:
        parts.append(np.abs(z * (qp.h - qp.G @ x)))
    return _find_largest(parts)


def compute_duality_gap(qp: QP, x: FloatArray, y: FloatArray, z: FloatArray, z_box: FloatArray) -> float:
    """Return |primal − dual objective|: |xᵀPx + qᵀx + bᵀy + hᵀz + ubᵀz_box⁺ − lbᵀz_box⁻|, infinite bounds as 0."""
    lb, ub = qp.bounds
    value = float(x @ (qp.P @ x) + qp.q @ x)
    if qp.b is not None:
        value += float(qp.b @ y)
    if qp.h is not None:
        value += float(qp.h @ z)
    value += float(np.where(np.isfinite(ub), ub, 0.0) @ np.maximum(z_box, 0.0))
    value -= float(np.where(np.isfinite(lb), lb, 0.0) @ np.maximum(-z_box, 0.0))
    return abs(value)


def _find_largest(parts: list[FloatArray]) -> float:
    return max((float(part.max()) for part in parts if part.size), default=0.0)
