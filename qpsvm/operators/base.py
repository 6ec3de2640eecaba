"""What a symmetric matrix with structure can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from qpsvm.arrays.constant import times
from qpsvm.arrays.types import FloatArray, IntArray, Matrix


class Operator(ABC):
    """A symmetric (n, n) matrix.

    Attributes
    ----------
    shape : tuple of int
        (n, n).
    """

    shape: tuple[int, int]

    @abstractmethod
    def __matmul__(self, x: FloatArray) -> FloatArray:
        """P x for x (n,)."""

    @abstractmethod
    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns], dense: (r, c)."""

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Diagonal entries: (n,)."""

    def mean_diagonal(self) -> float:
        """The mean of the diagonal."""
        return float(self.diagonal().mean())

    @abstractmethod
    def dense(self) -> FloatArray:
        """The whole matrix: (n, n). Treat it as read-only: it may be kept by the operator."""

    @abstractmethod
    def congruence(self, s: FloatArray) -> Operator:
        """diag(s) P diag(s) for s (n,), with the same structure."""

    @abstractmethod
    def describe(self) -> str:
        """The structure in a few words, for `print(qp)`."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that the operator holds now, in bytes."""

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """Z (n, k) and d (n,) with P = ZZᵀ + diag(d), or None where no such factor is known."""
        return None

    def rows(self, i: Any) -> FloatArray:
        """P[i], dense, for an index array or slice i: (len(i), n)."""
        everything = np.arange(self.shape[0])
        return self.block(np.atleast_1d(everything[i]), everything)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        dense = self.dense()
        return np.array(dense, dtype=dtype, copy=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} × {self.shape[1]}: {self.describe()}>"


def largest_asymmetry(M: FloatArray) -> tuple[int, int, float]:
    """Where M (n, n) and Mᵀ differ most, row and column, and by what share of max |M|; 0 where they are equal."""
    if np.array_equal(M, M.T):
        return 0, 0, 0.0
    difference = np.abs(M - M.T)
    i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), M.shape))
    return i, j, float(difference[i, j] / np.abs(M).max())


def rowwise(s: FloatArray, x: FloatArray) -> FloatArray:
    """diag(s) x for x (n,) or (n, k)."""
    return times(s, x) if x.ndim == 1 else s[:, None] * x


def two_sided(M: FloatArray, s: FloatArray) -> FloatArray:
    """diag(s) M diag(s), a new matrix."""
    out = M * s
    out *= s[:, None]
    return out
