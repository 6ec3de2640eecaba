"""Derive bounds that rows imply, (PROGRAM.8).

Savelsbergh, *Preprocessing and probing techniques*, ORSA J. Computing 6 (1994); each bound is rounded outwards.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import FEW, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix

#: Rounds over all rows, and the most entries of rows that are examined.
ROUNDS, ENTRIES = 8, 50_000


def implied_bounds(
    A: Matrix, b: FloatArray, G: Matrix, h: FloatArray, lb: FloatArray, ub: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds (n,) each of every x with Ax = b, Gx ≤ h, lb ≤ x ≤ ub: the given ones where they are finite."""
    low, high = lb.copy(), ub.copy()
    even = sp.csr_array(A)
    rows = sp.vstack([sp.csr_array(G), even, -even], format="csr")
    if rows.nnz > ENTRIES:
        return low, high
    sides = np.concatenate([h, b, -b])
    for _ in range(ROUNDS):
        before = int(np.isinf(low).sum() + np.isinf(high).sum())
        for k, side in enumerate(sides.tolist()):
            part = slice(rows.indptr[k], rows.indptr[k + 1])
            _tighten(rows.indices[part], rows.data[part], side, low, high)
        if int(np.isinf(low).sum() + np.isinf(high).sum()) == before:
            break
    return low, high


def _tighten(columns: np.ndarray, a: FloatArray, side: float, low: FloatArray, high: FloatArray) -> None:
    """Make infinite bounds finite, where one row aᵀx ≤ side over its columns (k,) implies them."""
    least = np.where(a > 0.0, a * low[columns], a * high[columns])
    least = np.where(a == 0.0, 0.0, least)
    unknown = np.flatnonzero(~np.isfinite(least))
    if len(unknown) > 1:
        return
    known = np.delete(least, unknown) if len(unknown) else least
    for place in unknown.tolist() if len(unknown) else range(len(columns)):
        j, slope = int(columns[place]), float(a[place])
        if slope == 0.0 or math.isfinite(high[j] if slope > 0.0 else low[j]):
            continue
        others = known if len(unknown) else np.delete(known, place)
        size = float(np.abs(others).sum()) + abs(side)
        room = side - float(others.sum()) + (gamma(len(others) + 4) * size + len(a) * UNDERFLOW) * FEW
        bound = room / slope
        bound += (2.0**-52 * abs(bound) + UNDERFLOW) * FEW * (1.0 if slope > 0.0 else -1.0)
        if not math.isfinite(bound):
            continue
        if slope > 0.0:
            high[j] = bound
        else:
            low[j] = bound
