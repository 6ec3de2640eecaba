"""Compute with arrays that carry a bound of their rounding error (`Enclosure`, `multiply_enclosed`, `Inverse`).

Also decide linear constraints without rounding (`holds_exactly`), and find independent rows or columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.base.arrays.double_double import UNDERFLOW, two_product
from qpsvm.base.arrays.rationals import have_exact_products
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, SMALLEST_NORMAL, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.bounds.program.rational import dot_exactly

#: Largest number of entries of a matrix whose products are computed in fractions.
MAX_FRACTION_ENTRIES = 20_000
#: Smallest pivot of independent rows, relative to the largest.
MIN_PIVOT = 1e-10
#: Smallest pivot of columns that form a nonsingular matrix, relative to the largest.
MIN_SQUARE_PIVOT = 1e-12
#: Sparse matrices with more columns than this are bounded by the number of entries in each row.
MIN_COUNTED_COLUMNS = 16


class Enclosure(NamedTuple):
    """Computed values, and bounds of their distance from the exact ones: two arrays of the same shape."""

    value: FloatArray
    radius: FloatArray

    def add(self, other: Enclosure) -> Enclosure:
        """Return the sum; its radius includes the rounding of the addition."""
        value = self.value + other.value
        return Enclosure(value, (self.radius + other.radius + 2.0 * UNIT * np.abs(value)) * FEW_ROUNDINGS)

    @property
    def size(self) -> FloatArray:
        """Upper bounds of the absolute values."""
        return (np.abs(self.value) + self.radius) * FEW_ROUNDINGS


def as_exact(value: FloatArray) -> Enclosure:
    """Return an enclosure of radius 0."""
    return Enclosure(value, np.zeros(value.shape))


def multiply_enclosed(M: Matrix, x: Enclosure) -> Enclosure:
    """Return Mx (m,) of an exact matrix M (m, k), with the rounding bound (ROUND.1)."""
    m, k = M.shape
    magnitudes = abs(M)
    if sp.issparse(M) and k > MIN_COUNTED_COLUMNS:  # γ of the few entries of a row is smaller than γ of k
        if M.format == "csr":
            counts = np.diff(M.indptr)
        else:
            counts = np.bincount(sp.coo_array(M).coords[0], minlength=m)
        rounding = (counts + 4.0) * UNIT / (1.0 - (counts + 4.0) * UNIT)
        radius = magnitudes @ np.abs(x.value) * rounding + magnitudes @ x.radius * (1.0 + rounding)
        radius = radius * (1.0 + rounding) + counts * UNDERFLOW
    else:
        radius = magnitudes @ (np.abs(x.value) * gamma(k + 4) + x.radius * (1.0 + gamma(k + 4)))
        radius = radius * (1.0 + gamma(k + 4)) + k * UNDERFLOW
    is_nonzero = magnitudes @ ((x.value != 0.0) | (x.radius > 0.0)).astype(np.float64) > 0.0  # else Mx is exactly 0
    return Enclosure(M @ x.value, np.where(is_nonzero, radius, 0.0))


def holds_exactly(M: Matrix, x: FloatArray, rhs: FloatArray, equal: bool) -> bool:
    """Return whether Mx = `rhs` (if `equal`) or Mx ≤ `rhs` holds exactly; False if that is too expensive to decide.

    `math.fsum` rounds only once, after adding exact products, so the sign of its sum is exact.
    """
    rows = sp.csr_array(M)
    a = rows.data
    b = x[rows.indices]
    slices = map(slice, rows.indptr[:-1].tolist(), rows.indptr[1:].tolist())  # the entries of each row
    constraints = zip(slices, rhs.tolist(), strict=True)
    residuals: Iterator[float | Fraction]
    if have_exact_products(a) and have_exact_products(b):
        product, error = (values.tolist() for values in two_product(a, b))
        residuals = (math.fsum([*product[entries], *error[entries], -bound]) for entries, bound in constraints)
    elif rows.nnz <= MAX_FRACTION_ENTRIES:
        residuals = (
            dot_exactly(map(Fraction, a[entries].tolist()), b[entries].tolist()) - Fraction(bound)
            for entries, bound in constraints
        )
    else:
        return False
    return not any(residual > 0 or (equal and residual < 0) for residual in residuals)


def find_independent_rows(M: FloatArray, min_pivot: float = MIN_PIVOT) -> IntArray:
    """Return the indices of a maximal independent subset of the rows of M (k, n), by a QR factorisation with pivots."""
    if not M.size:
        return np.zeros(0, dtype=np.intp)
    _, R, order = qr(M.T, mode="economic", pivoting=True)
    pivots = np.abs(np.diagonal(R))
    threshold = min_pivot * max(float(pivots[0]), SMALLEST_NORMAL)  # so that the product does not underflow to 0
    return np.sort(order[: np.count_nonzero(pivots > threshold)])


def select_independent_columns(M: FloatArray) -> IntArray | None:
    """Return the indices of k independent columns of M (k, n); None if there are fewer, or M is not finite."""
    k, n = M.shape
    if k > n or not np.isfinite(M).all():
        return None
    sizes = np.abs(M).max(axis=1, initial=0.0)  # of rows, which may have any scale
    columns = find_independent_rows((M / np.where(sizes > 0.0, sizes, 1.0)[:, None]).T, MIN_SQUARE_PIVOT)
    return columns if len(columns) == k else None


class Inverse:
    """Approximate inverse R of B (k, k), and κ ≥ ‖I − RB‖∞, (PROGRAM.4). Raises LinAlgError if B may be singular."""

    def __init__(self, B: FloatArray) -> None:
        k = len(B)
        self.R = np.linalg.inv(B)
        product_bound = gamma(k + 4) * (np.abs(self.R) @ np.abs(B))  # of the rounding in R @ B
        error = np.abs(np.eye(k) - self.R @ B) + product_bound + 2.0 * UNIT  # 2u: of the subtraction
        self.kappa = float(error.sum(axis=1).max(initial=0.0)) * (1.0 + gamma(k + 4))
        if not self.kappa < 0.5:
            raise np.linalg.LinAlgError("the matrix may be singular")

    def solve(self, rhs: Enclosure) -> tuple[FloatArray, float]:
        """Return an approximate solution e of Be = `rhs`, (k,), and an upper bound of ‖e‖∞ for the exact one."""
        k = len(self.R)
        bound = float((np.abs(self.R) @ rhs.size).max(initial=0.0)) * (1.0 + gamma(k + 4)) + k * UNDERFLOW
        return self.R @ rhs.value, bound / (1.0 - self.kappa) * FEW_ROUNDINGS
