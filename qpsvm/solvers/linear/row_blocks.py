"""The only way in which the linear solvers touch the data: a few products with the rows, never the whole table.

The rows are those of

    (ROWS.1)  Z = diag(y) [X − 1μᵀ, e·1],  (n, d + 1)

with the column means μ, or near them (0 where nothing is centred), and e = 1, or e = 0 for a model without intercept.
A vector in the space of the columns is W = (w, b), (d + 1,). With a free intercept yᵀα = 0, so that Zᵀα does not depend
on μ, and w is that of the data as they came; b belongs to x − μ. A source of blocks (a memory map, a cluster) needs the
methods of `Rows` and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, IntArray, Matrix

#: Numbers gathered at a time for a Gram matrix or a gradient of selected rows: 2 MB, near the size of a core's cache.
GATHERED_NUMBERS = 250_000
#: Above this share of the rows one pass over all of them is cheaper than gathering the selected ones.
GATHER_SHARE = 0.3
#: Z_JᵀZ_J of sparse rows: a product of two stored numbers costs as much as this many operations of a dense product, …
SPARSE_PRODUCT_COST = 60
#: … and a sparse product, with its result made dense, begins at the cost of this many of them, and of this many a
#: number of the result. (Measured: 2.5 ns, 60 µs and 1 ns a number, against 0.04 ns.)
SPARSE_START, SPARSE_RESULT = 1.5e6, 25.0
#: Numbers stored in selected rows up to which they are added up one by one, for a gradient: less than the cost of
#: making a sparse array of them.
SCATTERED_NUMBERS = 5000
#: Share of entries from which a sparse array is stored densely: no larger then, faster, and it can be centred.
DENSE_SHARE = 0.6
#: Offset in spreads above which X@w − μᵀw has lost too many digits, and a centred copy is made instead.
LARGE_OFFSET = 1e3
#: Spread, as a share of the offset, below which a column is constant but for rounding: its weight is 0 either way.
CONSTANT_SPREAD = 1e-12
#: Rows from which the column means and spreads are estimated.
OFFSET_SAMPLE = 5000

#: Takes a range of rows and their margins (k,), its own to change; answers with weights a (k,), or None for 0.
Visitor: TypeAlias = Callable[[slice, FloatArray], FloatArray | None]


class Rows(ABC):
    """The rows Z of (ROWS.1), or some of them.

    Attributes
    ----------
    n, d : int
        Rows and features; Z is (n, d + 1).
    y : ndarray, shape (n,)
        Labels −1/+1.
    unit : float
        e: 1 with an intercept, 0 without.
    row_numbers : float
        Numbers stored a row, on average: what a product with a row costs.
    """

    n: int
    d: int
    row_numbers: float
    y: FloatArray
    unit: float

    @abstractmethod
    def margins(self, W: FloatArray) -> FloatArray:
        """Z W for W (d + 1,): (n,)."""

    @abstractmethod
    def gradient(self, a: FloatArray, index: IntArray | None = None) -> FloatArray:
        """Z_Jᵀ a, (d + 1,), for the rows J = index (k,) with a (k,), or for all with a (n,)."""

    @abstractmethod
    def scan(self, W: FloatArray, visit: Visitor) -> FloatArray:
        """One pass over the data, a block of rows at a time: Zᵀa, (d + 1,), for the weights that it answers."""

    @abstractmethod
    def gram(self, index: IntArray) -> FloatArray:
        """Z_JᵀZ_J for J = index (k,): (d + 1, d + 1)."""

    @abstractmethod
    def kernel(self, index: IntArray, other: IntArray) -> FloatArray:
        """Z_J Z_Lᵀ for J = index (k,) and L = other (l,), both few: (k, l)."""

    @abstractmethod
    def select(self, index: IntArray) -> Rows:
        """Gather rows J = index (k,), in memory."""

    @abstractmethod
    def column_squares(self) -> FloatArray:
        """Diagonal of ZᵀZ: (d + 1,)."""

    @abstractmethod
    def gathers_cheaply(self, count: int) -> bool:
        """Whether products with `count` selected rows cost less than a pass over all."""


class DenseRows(Rows):
    """Rows of an array, C or F order; μ is subtracted in the products, X is not copied.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    y : ndarray, shape (n,)
    unit : float
    mean : ndarray, shape (d,), or None
        μ; None for 0.
    """

    def __init__(self, X: FloatArray, y: FloatArray, unit: float, mean: FloatArray | None = None) -> None:
        self.X, self.y, self.unit, self.mean = X, y, unit, mean
        self.n, self.d = X.shape
        self.row_numbers = float(self.d)

    def margins(self, W: FloatArray) -> FloatArray:
        """Z W: (n,)."""
        m: FloatArray = self.X @ W[: self.d]
        shift = self._shift(W)
        if shift:
            m += shift
        m *= self.y
        return m

    def gradient(self, a: FloatArray, index: IntArray | None = None) -> FloatArray:
        """Z_Jᵀ a: (d + 1,)."""
        g = np.zeros(self.d + 1)
        if index is None:
            beta = self.y * a
            g[: self.d] = self.X.T @ beta
        else:
            beta = self.y[index] * a
            step = self._chunk()
            for i in range(0, len(index), step):
                g[: self.d] += self._gathered(index[i : i + step]).T @ beta[i : i + step]
        return self._closed(g, float(beta.sum()))

    def scan(self, W: FloatArray, visit: Visitor) -> FloatArray:
        """Z W and Zᵀa while a block is in the cache: (d + 1,)."""
        w, g, total, step = W[: self.d], np.zeros(self.d + 1), 0.0, self._chunk()
        shift = self._shift(W)
        for i in range(0, self.n, step):
            block = slice(i, min(i + step, self.n))
            m = self.X[block] @ w
            m += shift
            m *= self.y[block]
            a = visit(block, m)
            if a is not None:
                a *= self.y[block]
                g[: self.d] += a @ self.X[block]
                total += float(a.sum())
        return self._closed(g, total)

    def _shift(self, W: FloatArray) -> float:
        """What the intercept and the centring add to X@w."""
        return self.unit * float(W[self.d]) - (0.0 if self.mean is None else float(self.mean @ W[: self.d]))

    def _closed(self, g: FloatArray, total: float) -> FloatArray:
        """Centre Xᵀβ, the first entries of g (d + 1,), and put Σβ in the last."""
        if self.mean is not None:
            g[: self.d] -= total * self.mean
        g[self.d] = self.unit * total
        return g

    def gram(self, index: IntArray) -> FloatArray:
        """Z_JᵀZ_J: (d + 1, d + 1)."""
        d, step = self.d, self._chunk()
        S = np.zeros((d + 1, d + 1))
        for i in range(0, len(index), step):
            A = self._gathered(index[i : i + step])
            if self.mean is not None:
                A -= self.mean
            S[:d, :d] += A.T @ A
            S[:d, d] += A.sum(axis=0)
        S[:d, d] *= self.unit
        S[d, :d] = S[:d, d]
        S[d, d] = self.unit**2 * len(index)
        return S

    def kernel(self, index: IntArray, other: IntArray) -> FloatArray:
        """Z_J Z_Lᵀ: (k, l)."""
        A, B = self.select(index), self.select(other)
        return _signed(A.X @ B.X.T + self.unit**2, A.y, B.y)

    def select(self, index: IntArray) -> DenseRows:
        """Gather rows, centred in the copy: (k, d)."""
        X = self._gathered(index)
        if self.mean is not None:
            X -= self.mean
        return DenseRows(X, self.y[index], self.unit)

    def column_squares(self) -> FloatArray:
        """Diagonal of ZᵀZ: (d + 1,)."""
        squares = np.einsum("ij,ij->j", self.X, self.X)
        if self.mean is not None:
            squares = np.maximum(squares - self.n * self.mean**2, 0.0)
        return np.append(squares, self.unit**2 * self.n)

    def gathers_cheaply(self, count: int) -> bool:
        """Whether `count` rows are few."""
        return count < GATHER_SHARE * self.n

    def _chunk(self) -> int:
        return max(64, GATHERED_NUMBERS // self.d)

    def _gathered(self, index: IntArray) -> FloatArray:
        """X[index] as a fresh array: (k, d)."""
        if self.X.flags.c_contiguous:
            out = np.empty((len(index), self.d))
            self.X.take(index, axis=0, out=out, mode="clip")  # without "clip", NumPy buffers the output
            return out
        return self.X.T.take(index, axis=1).T


class SparseRows(Rows):
    """Rows of a CSR array, not centred.

    Parameters
    ----------
    X : csr_array of float64, shape (n, d)
    y : ndarray, shape (n,)
    unit : float
    """

    def __init__(self, X: Matrix, y: FloatArray, unit: float) -> None:
        self.X, self.y, self.unit = X, y, unit
        self.n, self.d = X.shape
        self.row_numbers = X.nnz / max(1, self.n)
        lengths = np.diff(X.indptr).astype(np.float64)
        self._mean_square_length = float(lengths @ lengths) / max(1, self.n)
        self._transposed = X.T

    def margins(self, W: FloatArray) -> FloatArray:
        """Z W: (n,)."""
        m: FloatArray = self.X @ W[: self.d]
        m += self.unit * float(W[self.d])
        m *= self.y
        return m

    def gradient(self, a: FloatArray, index: IntArray | None = None) -> FloatArray:
        """Z_Jᵀ a: (d + 1,)."""
        g = np.empty(self.d + 1)
        beta = self.y * a if index is None else self.y[index] * a
        if index is None:
            g[: self.d] = self._transposed @ beta
        elif len(index) * self.row_numbers > SCATTERED_NUMBERS:
            g[: self.d] = self.X[index].T @ beta
        else:
            row, at = self._entries(index)
            weights = self.X.data[at] * beta[row]
            g[: self.d] = np.bincount(self.X.indices[at], weights=weights, minlength=self.d)
        g[self.d] = self.unit * float(beta.sum())
        return g

    def _entries(self, index: IntArray) -> tuple[IntArray, IntArray]:
        """Of the numbers stored for rows J = index (k,): which of the k rows they are in, and where they are stored."""
        first = self.X.indptr[index].astype(np.intp)
        lengths = self.X.indptr[index + 1] - first
        ends = np.cumsum(lengths)
        row = np.repeat(np.arange(len(index)), lengths)
        return row, np.arange(len(row)) + np.repeat(first - ends + lengths, lengths)

    def scan(self, W: FloatArray, visit: Visitor) -> FloatArray:
        """All rows are one block: (d + 1,)."""
        a = visit(slice(0, self.n), self.margins(W))
        return np.zeros(self.d + 1) if a is None else self.gradient(a)

    def gram(self, index: IntArray) -> FloatArray:
        """Z_JᵀZ_J: (d + 1, d + 1), by sparse products where the rows are many and short."""
        d = self.d
        excess = d * d - SPARSE_PRODUCT_COST * self._mean_square_length
        if len(index) * excess > SPARSE_START + SPARSE_RESULT * d * d:
            return self._sparse_gram(index)
        S, step = np.zeros((d + 1, d + 1)), max(64, GATHERED_NUMBERS // d)
        for i in range(0, len(index), step):
            row, at = self._entries(index[i : i + step])
            B = np.zeros((min(step, len(index) - i), d + 1))
            B[row, self.X.indices[at]] = self.X.data[at]
            B[:, d] = self.unit
            S += B.T @ B
        return S

    def _sparse_gram(self, index: IntArray) -> FloatArray:
        d, A = self.d, self.X[index]
        S = np.empty((d + 1, d + 1))
        S[:d, :d] = (A.T @ A).toarray()
        S[:d, d] = S[d, :d] = self.unit * np.bincount(A.indices, weights=A.data, minlength=d)
        S[d, d] = self.unit**2 * len(index)
        return S

    def kernel(self, index: IntArray, other: IntArray) -> FloatArray:
        """Z_J Z_Lᵀ: (k, l)."""
        K: FloatArray = (self.X[index] @ self.X[other].T).toarray() + self.unit**2
        return _signed(K, self.y[index], self.y[other])

    def select(self, index: IntArray) -> SparseRows:
        """Gather rows: (k, d)."""
        return SparseRows(self.X[index], self.y[index], self.unit)

    def column_squares(self) -> FloatArray:
        """Diagonal of ZᵀZ: (d + 1,)."""
        squares = np.bincount(self.X.indices, weights=self.X.data**2, minlength=self.d)
        return np.append(squares, self.unit**2 * self.n)

    def gathers_cheaply(self, count: int) -> bool:
        """Whether `count` rows are few."""
        return count < GATHER_SHARE * self.n


def _signed(K: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """diag(left) K diag(right), in place: (k, l)."""
    K *= right
    K *= left[:, None]
    return K


def _compact(X: Matrix) -> Matrix:
    """The same CSR array with indices of 32 bits where they suffice: less memory to pass over."""
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def as_rows(X: Matrix, y: FloatArray, unit: float, centred: bool) -> tuple[Rows, FloatArray | None]:
    """Make the rows (ROWS.1) of a matrix, and the μ they are centred by, (d,), or None.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
        Other types than float64 are converted, which takes a copy.
    y : ndarray, shape (n,)
        Labels −1/+1.
    unit : float
        e.
    centred : bool
        Whether μ may be chosen (the intercept is free); a sparse X is never centred.
    """
    if sp.issparse(X) and X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if sp.issparse(X):
        return SparseRows(_compact(sp.csr_array(X, dtype=np.float64)), y, unit), None
    X = np.asarray(X, dtype=np.float64)
    if not centred:
        return DenseRows(X, y, unit), None
    sample = X[:: max(1, len(X) // OFFSET_SAMPLE)]
    mean = sample.mean(axis=0)  # near the middle is enough: (ROWS.1) is exact for every μ
    spread = sample.std(axis=0)
    offset = np.abs(mean)
    if ((offset > LARGE_OFFSET * spread) & (spread > CONSTANT_SPREAD * offset)).any():
        return DenseRows(X - mean, y, unit), mean
    return DenseRows(X, y, unit, mean), mean
