"""Symmetric matrices that remember their structure: the P of a QP. (The Gram matrix of a kernel is in `gram`.)

An `Operator` multiplies, gives rows, its diagonal, a dense copy, and, where it has one, its factor: P = ZZᵀ + diag(d).
What is never done here is to make an n × n matrix that nobody asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray, IntArray, Matrix, as_dense, times
from qpsvm.coefficients import as_coefficients, as_vector, is_ready
from qpsvm.errors import DataError, TooLargeError
from qpsvm.memory import available_memory, in_words, total_memory

#: Share of the machine's memory that one dense matrix may take.
MEMORY_SHARE = 0.4
#: Bytes up to which nobody asks whether they are there.
LITTLE = 1e8


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


def check_memory(n: int, m: int, what: str) -> None:
    """Refuse a dense (n, m) matrix that would take too much of this machine's memory.

    Raises
    ------
    TooLargeError
        With the size and the ways around it.
    """
    size, total = 8.0 * n * m, total_memory()
    if size <= LITTLE:
        return
    there = available_memory()
    if size > min(MEMORY_SHARE * total, there):
        short = size > MEMORY_SHARE * total
        has = f"this machine has {in_words(total)}" if short else f"{in_words(there)} are available"
        raise TooLargeError(
            f"{what} would be a dense {n} × {m} matrix of {in_words(size)}; {has}. Use fewer rows, or form='primal' "
            "where the kernel is linear"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Operator):
    """An explicit matrix.

    Parameters
    ----------
    matrix : array_like, shape (n, n)

    Raises
    ------
    DataError, DataTypeError
        No square matrix of real numbers.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        if not is_ready(self.matrix):
            object.__setattr__(self, "matrix", as_dense(as_coefficients(self.matrix, "the matrix of a dense operator")))
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise DataError(f"the matrix of a dense operator must be square, got shape {self.matrix.shape}")

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        product: FloatArray = self.matrix @ x
        return product

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        return self.matrix[np.ix_(rows, columns)]

    def diagonal(self) -> FloatArray:
        """Diagonal entries: (n,)."""
        return self.matrix.diagonal().copy()

    def dense(self) -> FloatArray:
        """The matrix itself: (n, n)."""
        return self.matrix

    def congruence(self, s: FloatArray) -> Operator:
        """diag(s) P diag(s)."""
        return Dense(two_sided(self.matrix, s))

    def describe(self) -> str:
        """Say that it is dense."""
        return "dense"

    @property
    def nbytes(self) -> int:
        """8n²."""
        return self.matrix.nbytes


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Operator):
    """diag(d).

    Parameters
    ----------
    d : array_like, shape (n,)

    Raises
    ------
    DataError, DataTypeError
        No vector of real numbers.
    """

    d: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", as_vector(self.d, "the diagonal d"))

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return len(self.d), len(self.d)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        return self.d * x if x.ndim == 1 else self.d[:, None] * x

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        return np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        """d: (n,)."""
        return self.d.copy()

    def dense(self) -> FloatArray:
        """(n, n), mostly zeros."""
        check_memory(*self.shape, "a diagonal operator made dense")
        return np.diag(self.d)

    def congruence(self, s: FloatArray) -> Operator:
        """diag(s²d)."""
        return Diagonal(self.d * s * s)

    def describe(self) -> str:
        """Say that it is diagonal, with the number of entries that are not zero."""
        return f"diagonal, {np.count_nonzero(self.d)} non-zero"

    @property
    def nbytes(self) -> int:
        """8n."""
        return self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """An empty Z (n, 0), and d."""
        return np.zeros((len(self.d), 0)), self.d


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Operator):
    """S Z Zᵀ S + diag(d) with S = diag(scale): never made dense unless asked.

    Parameters
    ----------
    Z : array_like or SciPy sparse, shape (n, k)
        Kept by reference: the dual of a linear SVM shares the caller's X.
    d : array_like, shape (n,), optional
        Zero where None.
    scale : array_like, shape (n,), optional
        The rows of the factor are scale_i·z_i; ones where None.

    Raises
    ------
    DataError, DataTypeError
        No matrix or vectors of real numbers, or shapes that do not fit.
    """

    Z: Matrix
    d: FloatArray | None = None
    scale: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", as_coefficients(self.Z, "the factor Z"))
        for name in ("d", "scale"):
            given = getattr(self, name)
            if given is not None:
                vector = as_vector(given, f"{name} of a low-rank operator")
                object.__setattr__(self, name, vector)
                if vector.shape != self.Z.shape[:1]:
                    raise DataError(f"{name} has shape {vector.shape} where the factor Z has {self.Z.shape[0]} rows")

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.Z.shape[0], self.Z.shape[0]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else rowwise(self.scale, x)
        product: FloatArray = self.Z @ (self.Z.T @ scaled)
        if self.scale is not None:
            product = rowwise(self.scale, product)
        return product if self.d is None else product + rowwise(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        out = as_dense(self.Z[rows] @ self.Z[columns].T)
        if self.scale is not None:
            out *= self.scale[rows][:, None]
            out *= self.scale[columns]
        if self.d is not None:
            out += np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)
        return out

    def diagonal(self) -> FloatArray:
        """scale_i²‖z_i‖² + d_i: (n,)."""
        squares = self.Z.multiply(self.Z).sum(axis=1) if sp.issparse(self.Z) else np.einsum("ij,ij->i", self.Z, self.Z)
        diagonal: FloatArray = np.asarray(squares, dtype=np.float64).ravel()
        if self.scale is not None:
            diagonal = diagonal * self.scale**2
        return diagonal if self.d is None else diagonal + self.d

    def mean_diagonal(self) -> float:
        """The mean of the diagonal, where nothing is scaled or added by one pass over Z."""
        if self.scale is not None or self.d is not None:
            return super().mean_diagonal()
        values = (self.Z.data if sp.issparse(self.Z) else self.Z).ravel(order="K")
        return float(values @ values) / self.shape[0]

    def dense(self) -> FloatArray:
        """(n, n)."""
        check_memory(*self.shape, "a low-rank operator made dense")
        Z, d = self.factor()
        out = as_dense(Z @ Z.T)
        out[np.diag_indices_from(out)] += d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        """The same factor with other row scales."""
        return LowRank(
            self.Z, None if self.d is None else self.d * s * s, s if self.scale is None else times(s, self.scale)
        )

    def describe(self) -> str:
        """Name the factor's shape and kind."""
        kind = f"sparse, {self.Z.nnz} non-zeros" if sp.issparse(self.Z) else "dense"
        plus = "" if self.d is None else " + diagonal"
        return f"low rank ZZᵀ{plus}, Z {self.Z.shape[0]} × {self.Z.shape[1]} {kind}"

    @property
    def nbytes(self) -> int:
        """Of the factor and the diagonal."""
        Z = self.Z
        held = Z.data.nbytes + Z.indices.nbytes + Z.indptr.nbytes if sp.issparse(Z) else Z.nbytes
        return int(held) + sum(v.nbytes for v in (self.d, self.scale) if v is not None)

    def factor(self) -> tuple[Matrix, FloatArray]:
        """Z with its row scales multiplied in, (n, k), and d, (n,)."""
        Z = self.Z
        if self.scale is not None:
            Z = sp.csr_array(sp.diags_array(self.scale) @ Z) if sp.issparse(Z) else self.scale[:, None] * Z
        return Z, np.zeros(self.shape[0]) if self.d is None else self.d


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
