"""Kernel values a block at a time, each with a radius that is proven: |K̂_ij − K_ij| ≤ |K̂_ij|(c + e_i + e_j) + t_i t_j.

    (KVAL.7)  a matrix that is given is what it is

What the kernels of the library have for c, e and t is derived where they are. Sums then need no radius of each value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix, as_dense

#: Rows and columns of a block: with its scratch memory it stays in the second-level cache.
ROWS, COLUMNS = 128, 256
#: Sparse samples are made dense up to so many bytes.
DENSE_BYTES = 4e8
#: More than a few roundings.
OUT = 1.0 + 64.0 * UNIT
#: What sums of products that underflow may lose, whatever they are multiplied by.
TINY = 2.0**-900


class KernelValues(ABC):
    """K over n points, in the order in which it is asked for.

    relative: c.
    exponent, floor (n,): e and t.
    sizes (n,): |K_ij| ≤ sizes_i sizes_j.
    positive: Whether no K̂_ij is negative.
    definite: Whether K is positive semidefinite by construction.
    """

    n: int
    relative: float = 0.0
    exponent: FloatArray
    floor: FloatArray
    sizes: FloatArray
    positive: bool = False
    definite: bool = False

    @abstractmethod
    def arranged(self, order: IntArray, width: int) -> Blocks:
        """Blocks over the points in an order, (k,), whose columns are the first `width` of these."""

    def whole(self) -> tuple[FloatArray, float]:
        """K̂ over all points, symmetric, (n, n), and ‖K − K̂‖ from above."""
        n, blocks = self.n, self.arranged(np.arange(self.n), self.n)
        K, squares = np.empty((n, n)), 0.0
        for top in range(0, n, ROWS):
            rows = slice(top, min(top + ROWS, n))
            for left in range(top, n, COLUMNS):
                columns = slice(left, min(left + COLUMNS, n))
                block = blocks.block(rows, columns)
                radii = np.abs(block) * (self.relative + self.exponent[rows, None] + self.exponent[columns])
                radii += self.floor[rows, None] * self.floor[columns]
                more = blocks.radius()
                radii = radii if more is None else radii + more
                squares += 2.0 * float(np.square(radii).sum())
                K[rows, columns], K[columns, rows] = block, block.T
        K = np.tril(K) + np.tril(K, -1).T
        return K, math.sqrt(squares) * (1.0 + gamma(n * n + 16))


class Blocks(ABC):
    """Blocks of K̂ over points in some order."""

    @abstractmethod
    def block(self, rows: slice, columns: slice) -> FloatArray:
        """At most `ROWS` × `COLUMNS` values, which the next call overwrites."""

    def radius(self) -> FloatArray | None:
        """What to add to the radii of the block that was made last; None where that is nothing."""
        return None


class Products:
    """xᵀz in blocks, of dense samples or of sparse ones: of these, all of one strip of rows at a time.

    X (k, d)
    width: Rows of X that are columns of a block.
    """

    def __init__(self, X: Matrix, width: int) -> None:
        self.X = X
        self._rows, self._strip = slice(0, 0), np.empty((0, width))
        self._right = sp.csr_array(X[:width].T) if sp.issparse(X) else X

    def __call__(self, rows: slice, columns: slice) -> FloatArray:
        """A block of its own: (r, c)."""
        if isinstance(self.X, np.ndarray):
            return np.asarray(self.X[rows] @ self.X[columns].T)
        if rows != self._rows:
            self._rows, self._strip = rows, as_dense(self.X[rows] @ self._right)
        return self._strip[:, columns].copy()


class MatrixValues(KernelValues):
    """(KVAL.7).

    K (n, n): Symmetric; else its lower triangle counts.
    """

    def __init__(self, K: FloatArray) -> None:
        self.K = K if np.array_equal(K, K.T) else np.tril(K) + np.tril(K, -1).T
        self.n = len(K)
        self.exponent = self.floor = np.zeros(self.n)
        largest: FloatArray = np.abs(self.K).max(axis=0, initial=0.0)
        self.sizes = np.sqrt(largest) * OUT

    def whole(self) -> tuple[FloatArray, float]:
        """The matrix itself."""
        return self.K, 0.0

    def arranged(self, order: IntArray, width: int) -> Blocks:
        """Parts of the matrix."""
        del width
        return MatrixBlocks(self, order)


class MatrixBlocks(Blocks):
    """Parts of a matrix."""

    def __init__(self, values: MatrixValues, order: IntArray) -> None:
        self.K, self.order = values.K, order

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """As they are."""
        return self.K[self.order[rows, None], self.order[columns]]


def terms_of(X: Matrix) -> int:
    """The most products in xᵀz that are not 0."""
    return int(np.diff(sp.csr_array(X).indptr).max(initial=0)) if sp.issparse(X) else int(X.shape[1])


def affordable(X: Matrix) -> Matrix:
    """Samples as a dense array where they are not too many."""
    return as_dense(X) if not sp.issparse(X) or 8.0 * X.shape[0] * X.shape[1] <= DENSE_BYTES else sp.csr_array(X)
