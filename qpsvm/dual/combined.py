"""Rows that are combinations of samples, in twice the precision: (DUAL.6) with all the digits that the numbers have.

f(x_i) and f(x_j) of a pair may be large where their difference is not, and so may ‖x_i‖ and ‖x_j‖. So f comes as a sum
of two doubles for each sample, and only the difference is rounded; and so do the coefficients β = Aᵀ(s∘α), whose
rounding the lengths of samples far from the origin would magnify.

    (COMB.1)  |Σ_i A_ki f(x_i) − value_k| ≤ u|value_k| + Σ_i |A_ki| radius_i + the rounding of (ROUND.4) over 2 numbers
              a sample and the level
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW, column_sums, dots, two_product, two_sum
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.accuracy import AFFORDABLE, Accuracy
from qpsvm.dual.svm_dual import SVMDual

#: Roundings of a few sums of numbers of which none is negative.
FEW = 1.0 + 2.0**-40


def combined_values(
    accuracy: Accuracy,
    svm: SVMDual,
    rows: IntArray,
    coef: FloatArray,
    w: FloatArray | None,
    b: float,
    levels: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Σ_i A_ki ⟨w, φ(x_i)⟩ + b minus a level at some rows of the dual, in twice the precision, and its radius.

    Shapes: rows (r,), levels (r,) → values, radii (r,).
    """
    assert svm.mix is not None
    part = svm.mix[rows]
    longest = int(np.diff(part.indptr).max(initial=0))
    used = np.unique(part.indices)
    if len(rows) * (2 * longest + 2) > AFFORDABLE:
        return None
    found = accuracy.sharp_parts(used, coef, w, 0.0, np.zeros(len(used)))
    if found is None:
        return None
    entry, place = _places(part.indptr), np.searchsorted(used, part.indices)
    A, high, low, radius = (np.zeros((len(rows), longest)) for _ in range(4))
    A[entry] = part.data
    for values, given in zip((high, low, radius), found, strict=True):
        values[entry] = given[place]
    ends = np.column_stack([np.full(len(rows), b), -levels])
    values, radii = dots(np.hstack([high, low, ends]), np.hstack([A, A, np.ones((len(rows), 2))]))
    return values, radii + (np.abs(A) * radius).sum(axis=1) * FEW + longest * UNDERFLOW  # (COMB.1)


def _places(indptr: IntArray) -> tuple[IntArray, IntArray]:
    """Where the entries of a CSR matrix stand in one that is padded to the longest row: rows and places."""
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return rows, np.arange(len(rows)) - np.repeat(indptr[:-1] - indptr[0], lengths)


def combined_beta(svm: SVMDual, alpha: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """β = Aᵀ(s∘α) as a sum of two doubles, and how far that may be off.

    Shapes: alpha (m,) → high, low, radii (n,).
    """
    assert svm.mix is not None
    kept = np.flatnonzero(alpha)
    part = svm.mix[kept]
    signed = np.repeat((alpha * svm.sign)[kept], np.diff(part.indptr))
    products, errors = two_product(part.data, signed)
    high, low, radii = column_sums(part.indices, products, svm.n)
    rest, rest_low, more = column_sums(part.indices, errors, svm.n)
    low = low + rest
    radii = radii + more + np.abs(rest_low) + 2.0**-52 * np.abs(low)
    radii += UNDERFLOW * np.bincount(part.indices, minlength=svm.n)
    return *two_sum(high, low), radii * FEW
