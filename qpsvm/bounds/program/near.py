"""Numbers as computed with a bound on their rounding; what of a matrix is shown in floats or in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.base.arrays.rounding import FEW, UNDERFLOW, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix

#: Up to so many variables fractions are quick.
IN_FRACTIONS = 24
#: And up to so many entries of rows.
WHOLE = 20_000
#: The smallest pivot of independent rows, and of columns that are to be a regular matrix, as shares of the largest.
PIVOT, SQUARE_PIVOT = 1e-10, 1e-12


class Near(NamedTuple):
    """Numbers as computed, and how far the exact ones may be: arrays of one shape."""

    value: FloatArray
    radius: FloatArray

    def plus(self, other: Near) -> Near:
        """The sum of both."""
        value = self.value + other.value
        return Near(value, (self.radius + other.radius + 2.0**-52 * np.abs(value)) * FEW)

    @property
    def size(self) -> FloatArray:
        """The largest absolute values that they may have."""
        return (np.abs(self.value) + self.radius) * FEW


def exactly(value: FloatArray) -> Near:
    """Numbers that are what they are."""
    return Near(value, np.zeros(value.shape))


def product(M: Matrix, x: Near) -> Near:
    """Mx of an exact matrix (m, k), by (ROUND.1): (m,)."""
    k = M.shape[1]
    reach = abs(M) @ (np.abs(x.value) * gamma(k + 4) + x.radius * (1.0 + gamma(k + 4)))
    touched = abs(M) @ ((x.value != 0.0) | (x.radius > 0.0)).astype(np.float64) > 0.0  # what is not is 0 exactly
    return Near(M @ x.value, np.where(touched, reach * (1.0 + gamma(k + 4)) + k * UNDERFLOW, 0.0))


def holds(M: Matrix, x: FloatArray, sides: FloatArray, equal: bool) -> bool:
    """Whether Mx = sides, or Mx ≤ sides, exactly: in fractions, for few entries."""
    rows = sp.csr_array(M)
    if rows.nnz > WHOLE:
        return False
    for k, side in enumerate(sides.tolist()):
        part = slice(rows.indptr[k], rows.indptr[k + 1])
        terms = zip(rows.data[part].tolist(), x[rows.indices[part]].tolist(), strict=True)
        rest = sum((Fraction(a) * Fraction(b) for a, b in terms), -Fraction(side))
        if rest > 0 or (equal and rest < 0):
            return False
    return True


def positive(P: FloatArray, off: float = 0.0) -> bool:
    """(PROGRAM.7): whether a symmetric matrix is positive definite for certain; `off` is what its entries are off."""
    n = len(P)
    if not n:
        return True
    share = gamma(n + 2)
    trace = float(np.abs(np.diagonal(P)).sum()) * FEW
    less = share / (1.0 - share) * trace + 2.0 * n * off + n * UNDERFLOW
    shifted = P.copy()
    shifted[np.diag_indices(n)] -= less * FEW + 2.0**-52 * np.abs(np.diagonal(P))
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def semidefinite(P: FloatArray) -> bool:
    """(PROGRAM.7) in fractions, for few variables."""
    if len(P) > IN_FRACTIONS:
        return False
    rows = [[Fraction(value) for value in row] for row in P.tolist()]
    while rows:
        place = max(range(len(rows)), key=lambda i: rows[i][i])
        pivot = rows[place][place]
        if pivot <= 0:
            return pivot == 0 and not any(value for row in rows for value in row)
        head = rows.pop(place)
        for row in rows:
            factor = row[place] / pivot
            row[:] = [a - factor * b for k, (a, b) in enumerate(zip(row, head, strict=True)) if k != place]
    return True


def dominant(P: FloatArray) -> bool:
    """Whether each diagonal entry is at least the sum of its row's others: positive semidefinite (Gershgorin).

    `math.fsum` rounds once, so that its sign is exact.
    """
    signed = np.abs(P)
    signed[np.diag_indices(len(P))] = -np.diagonal(P)
    return all(math.fsum(row) <= 0.0 for row in signed.tolist())


def independent_rows(M: FloatArray, pivot: float = PIVOT) -> IntArray:
    """As many rows of a matrix (k, n) as are independent, by a QR factorisation with pivots."""
    if not M.size:
        return np.zeros(0, dtype=np.intp)
    _, R, order = qr(M.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(R))
    return np.sort(order[: int((sizes > pivot * max(float(sizes[0]), np.finfo(float).tiny)).sum())])


def picked(M: FloatArray) -> IntArray | None:
    """As many columns of a matrix (k, n) as it has rows, that are independent; None where there are none."""
    k, n = M.shape
    if k > n or not np.isfinite(M).all():
        return None
    columns = independent_rows(M.T, SQUARE_PIVOT)
    return columns if len(columns) == k else None


def solved(B: FloatArray, right: Near) -> tuple[FloatArray, float] | None:
    """(PROGRAM.4): an approximate solution of Be = ρ, (k,), and ‖e‖∞ from above; None where B may be singular."""
    k = len(B)
    try:
        R = np.linalg.inv(B)
    except np.linalg.LinAlgError:
        return None
    error = np.abs(np.eye(k) - R @ B) + gamma(k + 4) * (np.abs(R) @ np.abs(B)) + 2.0**-52
    kappa = float(error.sum(axis=1).max(initial=0.0)) * (1.0 + gamma(k + 4))
    if not kappa < 0.5:
        return None
    step = R @ right.value
    size = float((np.abs(R) @ right.size).max(initial=0.0)) * (1.0 + gamma(k + 4)) + k * UNDERFLOW
    return step, size / (1.0 - kappa) * FEW
