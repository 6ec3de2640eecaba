"""Derive the bounds on variables that rows imply, (PROGRAM.8), rounded outwards (`implied_bounds`).

Source: Savelsbergh, *Preprocessing and probing techniques*, ORSA J. Computing 6 (1994).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import FEW, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix

#: Largest number of passes over all rows.
ROUNDS = 8
#: Programs whose rows have more entries than this are left alone.
ENTRIES = 50_000


def implied_bounds(
    A: Matrix, b: FloatArray, G: Matrix, h: FloatArray, lb: FloatArray, ub: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds (n,) each of all x with Ax = b, Gx ≤ h, lb ≤ x ≤ ub; finite given bounds are kept."""
    low, high = lb.copy(), ub.copy()
    equalities = sp.csr_array(A)
    rows = sp.vstack([sp.csr_array(G), equalities, -equalities], format="csr")
    if rows.nnz > ENTRIES:
        return low, high
    sides = np.concatenate([h, b, -b])
    for _ in range(ROUNDS):
        before = int(np.isinf(low).sum() + np.isinf(high).sum())
        for k, side in enumerate(sides.tolist()):
            entries = slice(rows.indptr[k], rows.indptr[k + 1])
            _tighten(rows.indices[entries], rows.data[entries], side, low, high)
        if int(np.isinf(low).sum() + np.isinf(high).sum()) == before:
            break
    return low, high


def _tighten(columns: np.ndarray, a: FloatArray, side: float, low: FloatArray, high: FloatArray) -> None:
    """Replace infinite bounds by those that the row aᵀx ≤ side, with entries in `columns` (k,), implies."""
    minima = np.where(a > 0.0, a * low[columns], a * high[columns])
    minima = np.where(a == 0.0, 0.0, minima)
    unknown = np.flatnonzero(~np.isfinite(minima))
    if len(unknown) > 1:
        return
    finite_minima = np.delete(minima, unknown) if len(unknown) else minima
    for k in unknown.tolist() if len(unknown) else range(len(columns)):
        j, slope = int(columns[k]), float(a[k])
        if slope == 0.0 or math.isfinite(high[j] if slope > 0.0 else low[j]):
            continue
        other_minima = finite_minima if len(unknown) else np.delete(finite_minima, k)
        size = float(np.abs(other_minima).sum()) + abs(side)
        largest_term = (
            side - float(other_minima.sum()) + (gamma(len(other_minima) + 4) * size + len(a) * UNDERFLOW) * FEW
        )
        bound = largest_term / slope
        bound += (2.0**-52 * abs(bound) + UNDERFLOW) * FEW * (1.0 if slope > 0.0 else -1.0)
        if not math.isfinite(bound):
            continue
        if slope > 0.0:
            high[j] = bound
        else:
            low[j] = bound
