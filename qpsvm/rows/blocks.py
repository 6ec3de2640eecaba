"""A block of rows in memory, and what is computed with one block at a time. (Sparse ones are in `sparse_block`.)

What a source of rows computes is a sum or a sequence over its blocks (`source`). So each product is written here once
for each way in which numbers are stored, and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray, Matrix

#: Some rows of a block, by index or as a range.
Places: TypeAlias = IntArray | slice
#: All of them.
ALL = slice(None)

#: Second and first moments of some rows: (d, d) and (d,).
Moments: TypeAlias = tuple[FloatArray, FloatArray]

#: Numbers worked on at a time: 2 MB, near the size of a core's cache.
CACHED_NUMBERS = 250_000
#: Fewest rows at a time, whatever their width.
LEAST_ROWS = 64


def rows_at_a_time(width: int) -> int:
    """How many rows of so many numbers are worked on at a time."""
    return max(LEAST_ROWS, CACHED_NUMBERS // max(width, 1))


def added_moments(parts: Iterator[Moments], d: int) -> Moments:
    """Their sum, in the arrays of the first: a new matrix would cost as much as the product of a few rows."""
    total = next(parts, None)
    if total is None:
        return np.zeros((d, d)), np.zeros(d)
    S, s = total
    for squares, sums in parts:
        S += squares
        s += sums
    return S, s


class Block(ABC):
    """Consecutive rows of a source: k rows of d numbers.

    Attributes
    ----------
    rows : slice
        Which rows of the source they are.
    n, d : int
        Their number k, and the columns.
    """

    rows: slice
    n: int
    d: int

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of rows {self.rows.start} to {self.rows.stop}, {self.d} columns>"

    @property
    @abstractmethod
    def matrix(self) -> Matrix:
        """The rows as one array: (k, d), dense or sparse."""

    @abstractmethod
    def margins(self, w: FloatArray) -> FloatArray:
        """X w for w (d,) or (d, r): (k,) or (k, r), a new array."""

    @abstractmethod
    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ for β (k,) or (k, r): (d,) or (d, r), a new array."""

    @abstractmethod
    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """X_Jᵀβ for the rows J = at (j,) of the block and β (j,): (d,)."""

    @abstractmethod
    def take(self, at: Places) -> Matrix:
        """X_J, (j, d): a new array for an index array, at most a view for a slice."""

    @abstractmethod
    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), for J = at (j,) and D = diag(scale), or the identity; new arrays."""

    @abstractmethod
    def squared_norms(self) -> FloatArray:
        """‖x_i‖²: (k,)."""

    @abstractmethod
    def sum_of_squares(self) -> float:
        """Σ ‖x_i‖²."""

    @abstractmethod
    def column_sums(self) -> FloatArray:
        """Xᵀ1: (d,)."""

    @abstractmethod
    def column_squares(self) -> FloatArray:
        """The diagonal of XᵀX: (d,)."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Numbers stored."""

    @property
    @abstractmethod
    def longest_row(self) -> int:
        """The most numbers that one row stores: the terms of a product with it."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def pieces(self) -> Iterator[Block]:
        """The same rows in blocks that stay in the cache between two products with them, where that pays."""


class DenseBlock(Block):
    """Rows of an array.

    Parameters
    ----------
    X : ndarray of float64, shape (k, d)
        In C or F order; kept by reference.
    start : int
        The first row's place in the source.
    """

    def __init__(self, X: FloatArray, start: int = 0) -> None:
        self.X = X
        self.n, self.d = X.shape
        self.rows = slice(start, start + self.n)

    @property
    def matrix(self) -> Matrix:
        """X itself."""
        return self.X

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""
        product: FloatArray = self.X @ w
        return product

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        product: FloatArray = self.X.T @ beta
        return product

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """X_Jᵀβ, a few rows at a time where they have to be gathered."""
        if isinstance(at, slice):
            return np.asarray(self.X[at].T @ beta)
        step = rows_at_a_time(self.d)
        if len(at) <= step:
            return np.asarray(self.take(at).T @ beta)
        g = np.zeros(self.d)
        for i in range(0, len(at), step):
            g += self.take(at[i : i + step]).T @ beta[i : i + step]
        return g

    def take(self, at: Places) -> FloatArray:
        """X_J."""
        if isinstance(at, slice):
            return self.X[at]
        if self.X.flags.c_contiguous:
            out = np.empty((len(at), self.d))
            self.X.take(at, axis=0, out=out, mode="wrap")  # NumPy would buffer the output to raise in time
            return out
        return self.X.T.take(at, axis=1).T

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """X_JᵀDX_J and X_JᵀD1, a few rows at a time where they have to be gathered."""
        if isinstance(at, slice):
            return self._moments(self.X[at], scale)
        step = rows_at_a_time(self.d)
        if len(at) <= step:
            return self._moments(self.take(at), scale)
        parts = (
            self._moments(self.take(at[i : i + step]), None if scale is None else scale[i : i + step])
            for i in range(0, len(at), step)
        )
        return added_moments(parts, self.d)

    @staticmethod
    def _moments(A: FloatArray, scale: FloatArray | None) -> Moments:
        scaled = A if scale is None else scale[:, None] * A
        return A.T @ scaled, scaled.sum(axis=0)

    def squared_norms(self) -> FloatArray:
        """‖x_i‖²."""
        norms: FloatArray = np.einsum("ij,ij->i", self.X, self.X)
        return norms

    def sum_of_squares(self) -> float:
        """Σ ‖x_i‖², in the order in which X is stored."""
        flat = self.X.ravel(order="K")
        return float(flat @ flat)

    def column_sums(self) -> FloatArray:
        """Xᵀ1."""
        sums: FloatArray = self.X.sum(axis=0)
        return sums

    def column_squares(self) -> FloatArray:
        """The diagonal of XᵀX."""
        squares: FloatArray = np.einsum("ij,ij->j", self.X, self.X)
        return squares

    @property
    def entries(self) -> int:
        """kd."""
        return self.X.size

    @property
    def longest_row(self) -> int:
        """d."""
        return self.d

    @property
    def nbytes(self) -> int:
        """8kd."""
        return self.X.nbytes

    def pieces(self) -> Iterator[Block]:
        """Views of so many rows that both products of a fused pass find them in the cache."""
        step = rows_at_a_time(self.d)
        for i in range(0, self.n, step):
            yield DenseBlock(self.X[i : i + step], self.rows.start + i)
