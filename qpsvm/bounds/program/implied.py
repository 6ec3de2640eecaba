"""Derive the bounds on variables that rows imply, (PROGRAM.8), rounded outwards (`compute_implied_bounds`).

Source: Savelsbergh, *Preprocessing and probing techniques*, ORSA J. Computing 6 (1994).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import EPS, FEW_ROUNDINGS, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix

#: Largest number of passes over all rows; each may use bounds that the previous one found.
MAX_PASSES = 8
#: Programs with more nonzeros than this are skipped: the passes are a Python loop over rows.
MAX_ENTRIES = 50_000


def compute_implied_bounds(
    A: Matrix, b: FloatArray, G: Matrix, h: FloatArray, lb: FloatArray, ub: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds, (n,) each, of all x with Ax = b, Gx ≤ h, lb ≤ x ≤ ub.

    Finite bounds are returned unchanged.
    """
    low, high = lb.copy(), ub.copy()
    equalities = sp.csr_array(A)
    rows = sp.vstack([sp.csr_array(G), equalities, -equalities], format="csr")
    if rows.nnz > MAX_ENTRIES:
        return low, high
    rhs = np.concatenate([h, b, -b])
    for _ in range(MAX_PASSES):
        n_infinite = int(np.isinf(low).sum() + np.isinf(high).sum())
        for k, rhs_value in enumerate(rhs.tolist()):
            entries = slice(rows.indptr[k], rows.indptr[k + 1])
            _tighten_infinite_bounds(rows.indices[entries], rows.data[entries], rhs_value, low, high)
        if int(np.isinf(low).sum() + np.isinf(high).sum()) == n_infinite:
            break
    return low, high


def _tighten_infinite_bounds(columns: np.ndarray, a: FloatArray, rhs: float, low: FloatArray, high: FloatArray) -> None:
    """Replace infinite bounds by those that the row aᵀx ≤ rhs, with entries in `columns` (k,), implies."""
    min_terms = np.where(a > 0.0, a * low[columns], a * high[columns])
    min_terms = np.where(a == 0.0, 0.0, min_terms)
    infinite_terms = np.flatnonzero(~np.isfinite(min_terms))
    if len(infinite_terms) > 1:
        return
    if len(infinite_terms):
        finite_terms = np.delete(min_terms, infinite_terms)
    else:
        finite_terms = min_terms
    for k in infinite_terms.tolist() if len(infinite_terms) else range(len(columns)):
        j, coefficient = int(columns[k]), float(a[k])
        if coefficient == 0.0 or math.isfinite(high[j] if coefficient > 0.0 else low[j]):
            continue
        if len(infinite_terms):
            other_terms = finite_terms
        else:
            other_terms = np.delete(finite_terms, k)
        size = float(np.abs(other_terms).sum()) + abs(rhs)
        max_term = (
            rhs - float(other_terms.sum()) + (gamma(len(other_terms) + 4) * size + len(a) * UNDERFLOW) * FEW_ROUNDINGS
        )
        bound = max_term / coefficient
        bound += (EPS * abs(bound) + UNDERFLOW) * FEW_ROUNDINGS * (1.0 if coefficient > 0.0 else -1.0)
        if not math.isfinite(bound):
            continue
        if coefficient > 0.0:
            high[j] = bound
        else:
            low[j] = bound
