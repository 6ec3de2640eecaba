"""A block of rows in memory, and what is computed with one block at a time. (Sparse ones are in `sparse_block`.)

What a source of rows computes is a sum or a sequence over its blocks (`source`). So each product is written here once
for each way in which numbers are stored, and nowhere else.

Sums over many rows, a few rows at a time, in several threads where that pays (`workers`).

`np.dot` stands in every product here: where the result is short, `@` lets no other thread run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.workers import in_tiles, parts_of, strips

#: Numbers worked on at a time: 2 MB, near the size of a core's cache.
CACHED_NUMBERS = 250_000
#: Fewest rows at a time, whatever their width.
LEAST_ROWS = 64
#: Numbers from which a product with all rows is made a few rows at a time: below, no second thread is worth its while.
TILED_NUMBERS = 8 * CACHED_NUMBERS
#: Seconds of a number that is read, of one that is gathered, and of a multiplication of two matrices: roughly.
READ_SECONDS, GATHER_SECONDS, PRODUCT_SECONDS = 5e-10, 1e-9, 4e-11


def rows_at_a_time(width: int) -> int:
    """How many rows of so many numbers are worked on at a time."""
    return max(LEAST_ROWS, CACHED_NUMBERS // max(width, 1))


def summed(sum_over: Callable[[slice], tuple[FloatArray, ...]], n: int, step: int, seconds: float) -> list[FloatArray]:
    """Arrays, summed over n rows: a list of them."""
    parts = parts_of(n, step)
    found: list[list[FloatArray]] = [[] for _ in parts]

    def add(k: int) -> None:
        for start in range(parts[k].start, parts[k].stop, step):
            _add(found[k], sum_over(slice(start, min(start + step, parts[k].stop))))

    in_tiles(add, range(len(parts)), seconds)
    for others in found[1:]:
        _add(found[0], others)
    return found[0]


def _add(totals: list[FloatArray], more: Iterable[FloatArray]) -> None:
    """Into the arrays that are there: a new matrix would cost as much as the product of a few rows."""
    if not totals:
        totals.extend(more)
        return
    for total, array in zip(totals, more, strict=True):
        total += array


#: Some rows of a block, by index or as a range.
Places: TypeAlias = IntArray | slice
#: All of them.
ALL = slice(None)

#: Second and first moments of some rows: (d, d) and (d,).
Moments: TypeAlias = tuple[FloatArray, FloatArray]


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

    rows: Which rows of the source they are.
    n, d: Their number k, and the columns.
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

    X (k, d): In C or F order; kept by reference.
    start: The first row's place in the source.
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
        if self.X.size < TILED_NUMBERS or w.ndim > 1:
            return np.asarray(np.dot(self.X, w))
        out = np.empty(self.n)

        def multiply(tile: slice) -> None:
            out[tile] = np.dot(self.X[tile], w)

        in_tiles(multiply, strips(self.n, rows_at_a_time(self.d)), READ_SECONDS * self.X.size)
        return out

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        if beta.ndim > 1:
            return np.asarray(np.dot(self.X.T, beta))
        return self._summed(lambda rows: np.dot(self.X[rows].T, beta[rows]))

    def _summed(self, sum_over: Callable[[slice], FloatArray]) -> FloatArray:
        """The sum over all rows, for which each number is read once."""
        if self.X.size < TILED_NUMBERS:
            return sum_over(ALL)
        step = rows_at_a_time(self.d)
        return summed(lambda rows: (sum_over(rows),), self.n, step, READ_SECONDS * self.X.size)[0]

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """X_Jᵀβ, a few rows at a time where they have to be gathered."""
        if isinstance(at, slice):
            return np.asarray(np.dot(self.X[at].T, beta))
        step = rows_at_a_time(self.d)
        if len(at) <= step:
            return np.asarray(np.dot(self.take(at).T, beta))
        return summed(
            lambda some: (np.dot(self.take(at[some]).T, beta[some]),), len(at), step,
            GATHER_SECONDS * len(at) * self.d,
        )[0]  # fmt: skip

    def take(self, at: Places) -> FloatArray:
        """X_J."""
        if isinstance(at, slice):
            return self.X[at]
        flags = self.X.flags
        if not flags.aligned or not (flags.c_contiguous or flags.f_contiguous):
            return self.X[at]  # some columns of an array, or one that came in a message: `take` would copy it first
        if not flags.c_contiguous:
            return self.X.T.take(at, axis=1).T
        out, step = np.empty((len(at), self.d)), rows_at_a_time(self.d)

        def gather(tile: slice) -> None:
            self.X.take(at[tile], axis=0, out=out[tile], mode="wrap")  # to raise in time NumPy would buffer the output

        if len(at) <= step:
            gather(ALL)
        else:
            in_tiles(gather, strips(len(at), step), GATHER_SECONDS * out.size)
        return out

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """X_JᵀDX_J and X_JᵀD1, a few rows at a time where they have to be gathered."""
        if isinstance(at, slice):
            return self._moments(self.X[at], scale)
        step = rows_at_a_time(self.d)
        if len(at) <= step:
            return self._moments(self.take(at), scale)
        S, s = summed(
            lambda some: self._moments(self.take(at[some]), None if scale is None else scale[some]),
            len(at), max(step, 2 * self.d), (GATHER_SECONDS + PRODUCT_SECONDS * self.d) * len(at) * self.d,
        )  # fmt: skip
        return S, s

    @staticmethod
    def _moments(A: FloatArray, scale: FloatArray | None) -> Moments:
        scaled = A if scale is None else scale[:, None] * A
        return np.dot(A.T, scaled), scaled.sum(axis=0)

    def squared_norms(self) -> FloatArray:
        """‖x_i‖²."""
        if self.X.size < TILED_NUMBERS:
            return np.asarray(np.einsum("ij,ij->i", self.X, self.X))
        out = np.empty(self.n)

        def fill(tile: slice) -> None:
            np.einsum("ij,ij->i", self.X[tile], self.X[tile], out=out[tile])

        in_tiles(fill, strips(self.n, rows_at_a_time(self.d)), READ_SECONDS * self.X.size)
        return out

    def sum_of_squares(self) -> float:
        """Σ ‖x_i‖², in the order in which X is stored."""
        flat = self.X.ravel(order="K")
        if len(flat) < TILED_NUMBERS:
            return float(np.dot(flat, flat))
        squares = summed(
            lambda part: (np.dot(flat[None, part], flat[part]),), len(flat), rows_at_a_time(1), READ_SECONDS * len(flat)
        )
        return float(squares[0][0])

    def column_sums(self) -> FloatArray:
        """Xᵀ1."""
        return self._summed(lambda rows: self.X[rows].sum(axis=0))

    def column_squares(self) -> FloatArray:
        """The diagonal of XᵀX."""
        return self._summed(lambda rows: np.einsum("ij,ij->j", self.X[rows], self.X[rows]))

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
