"""A block of rows, and what is computed with one block at a time. (Sparse ones are in `sparse_block`.)

What a source of rows computes is a sum or a sequence over its blocks (`source`). So each product is written here once
for each way in which numbers are stored, and nowhere else.

Dense rows are worked on a few at a time, in several threads where that pays (`workers`). Such a tile is a view of what
is stored, or it is made when it multiplies: of numbers of another type, or by a map of the rows. A tile fits into the
cache, so that a pass reads what is stored once and writes nothing.

`np.dot` stands in every product here: where the result is short, `@` lets no other thread run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

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

#: Some rows of a block, by index or as a range without gaps.
Places: TypeAlias = IntArray | slice
#: All of them.
ALL = slice(None)
#: Second and first moments of some rows: (d, d) and (d,).
Moments: TypeAlias = tuple[FloatArray, FloatArray]


def rows_at_a_time(width: int) -> int:
    """How many rows of so many numbers are worked on at a time."""
    return max(LEAST_ROWS, CACHED_NUMBERS // max(width, 1))


def count(at: Places, n: int) -> int:
    """How many of n rows these are."""
    return len(range(*at.indices(n))) if isinstance(at, slice) else len(at)


def part_of(at: Places, n: int, some: slice) -> Places:
    """Those among these of n rows that stand at some places there."""
    if not isinstance(at, slice):
        return at[some]
    first = at.indices(n)[0]
    return slice(first + some.start, first + some.stop)


def added(parts: Iterable[tuple[FloatArray, ...]], *shapes: tuple[int, ...]) -> list[FloatArray]:
    """The sums of several arrays, in those of the first part; zeros of these shapes where there is no part.

    A new matrix would cost as much as the product of a few rows.
    """
    totals: list[FloatArray] = []
    for part in parts:
        for total, array in zip(totals, part, strict=bool(totals)):
            total += array
        totals = totals or list(part)
    return totals or [np.zeros(shape) for shape in shapes]


def summed(sum_over: Callable[[slice], tuple[FloatArray, ...]], n: int, step: int, seconds: float) -> list[FloatArray]:
    """Arrays, summed over n rows, so many at a time: a list of them."""
    parts = parts_of(n, step)
    found: list[tuple[FloatArray, ...]] = [()] * len(parts)

    def add(k: int) -> None:
        first, stop = parts[k].start, parts[k].stop
        found[k] = tuple(added(sum_over(slice(i, min(i + step, stop))) for i in range(first, stop, step)))

    in_tiles(add, range(len(parts)), seconds)
    return added(found)


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


class MadeBlock(Block):
    """Dense rows that are made when they are looked at, a tile at a time: a leaf sets `n`, `d`, `rows`, and says how.

    nbytes: None of its own.
    cost: What a number costs that is made, in those that are read.
    """

    nbytes = 0
    cost = 2.0

    @abstractmethod
    def made(self, at: Places) -> FloatArray:
        """Some of the rows as float64, (j, d); it may be a view of what is stored."""

    def _at_once(self, at: Places) -> bool:
        """Whether these rows are few enough to be made at once."""
        return count(at, self.n) <= rows_at_a_time(self.d)

    @property
    def _seconds(self) -> float:
        return self.cost * READ_SECONDS * self.n * self.d

    def _filled(self, make: Callable[[FloatArray], FloatArray], shape: tuple[int, ...] = ()) -> FloatArray:
        """What is made of each row: (k, …)."""
        if self._at_once(ALL):
            return make(self.made(ALL))
        out = np.empty((self.n, *shape))

        def fill(tile: slice) -> None:
            out[tile] = make(self.made(tile))

        in_tiles(fill, strips(self.n, rows_at_a_time(self.d)), self._seconds)
        return out

    def _summed(self, sum_over: Callable[[FloatArray, slice], FloatArray]) -> FloatArray:
        """The sum over all rows: of each tile, and which rows it is."""
        if self._at_once(ALL):
            return sum_over(self.made(ALL), ALL)
        step = rows_at_a_time(self.d)
        return summed(lambda tile: (sum_over(self.made(tile), tile),), self.n, step, self._seconds)[0]

    def _gathered(
        self, at: Places, sum_over: Callable[[FloatArray, slice], tuple[FloatArray, ...]], step: int, product: float
    ) -> list[FloatArray]:
        """Sums over the rows J = at (j,), so many at a time where they are many: of X_J, and which of the j they are.

        `product` are the seconds of a number beside those of gathering it.
        """
        if self._at_once(at):
            return list(sum_over(self.made(at), ALL))
        k = count(at, self.n)
        seconds = (GATHER_SECONDS + product) * k * self.d
        return summed(lambda some: sum_over(self.made(part_of(at, self.n, some)), some), k, step, seconds)

    @property
    def matrix(self) -> Matrix:
        return self.take(ALL)

    def margins(self, w: FloatArray) -> FloatArray:
        return self._filled(lambda tile: np.asarray(np.dot(tile, w)), w.shape[1:])

    def weights(self, beta: FloatArray) -> FloatArray:
        return self._summed(lambda tile, rows: np.dot(tile.T, beta[rows]))

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        return self._gathered(at, lambda A, some: (np.dot(A.T, beta[some]),), rows_at_a_time(self.d), 0.0)[0]

    def take(self, at: Places) -> FloatArray:
        out = np.empty((count(at, self.n), self.d))

        def gather(some: slice) -> None:
            out[some] = self.made(part_of(at, self.n, some))

        in_tiles(gather, strips(len(out), rows_at_a_time(self.d)), GATHER_SECONDS * out.size)
        return out

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        def of_tile(A: FloatArray, some: slice) -> Moments:
            scaled = A if scale is None else scale[some, None] * A
            return np.dot(A.T, scaled), scaled.sum(axis=0)

        step = max(rows_at_a_time(self.d), 2 * self.d)  # a result of d² is added to that of as many rows
        S, s = self._gathered(at, of_tile, step, PRODUCT_SECONDS * self.d)
        return S, s

    def squared_norms(self) -> FloatArray:
        return self._filled(lambda tile: np.asarray(np.einsum("ij,ij->i", tile, tile)))

    def sum_of_squares(self) -> float:
        return math.fsum(self.column_squares())

    def column_sums(self) -> FloatArray:
        return self._summed(lambda tile, _: tile.sum(axis=0))

    def column_squares(self) -> FloatArray:
        return self._summed(lambda tile, _: np.einsum("ij,ij->j", tile, tile))

    @property
    def entries(self) -> int:
        return self.n * self.d

    @property
    def longest_row(self) -> int:
        return self.d

    def pieces(self) -> Iterator[Block]:
        """Tiles that are made when they multiply first, and given up when they have multiplied again."""
        for tile in strips(self.n, rows_at_a_time(self.d)):
            yield MadeTile(self, tile)


class MadeTile(MadeBlock):
    """Few rows of a block, which stay as they are made from the first product, X w, to the second, Xᵀβ.

    tile: Which of its rows.
    """

    def __init__(self, block: MadeBlock, tile: slice) -> None:
        self._block, self._start = block, tile.start
        self.n, self.d = tile.stop - tile.start, block.d
        self.rows = slice(block.rows.start + tile.start, block.rows.start + tile.stop)
        self._held: FloatArray | None = None

    def made(self, at: Places) -> FloatArray:
        if isinstance(at, slice):
            start, stop, _ = at.indices(self.n)
            return self._block.made(slice(self._start + start, self._start + stop))
        return self._block.made(at + self._start)

    def margins(self, w: FloatArray) -> FloatArray:
        self._held = self.made(ALL)
        return np.asarray(np.dot(self._held, w))

    def weights(self, beta: FloatArray) -> FloatArray:
        held = self.made(ALL) if self._held is None else self._held
        self._held = None
        return np.asarray(np.dot(held.T, beta))


class DenseBlock(MadeBlock):
    """Rows of an array of float64, where a tile is a view.

    X (k, d): In C or F order; kept by reference.
    start: The first row's place in the source.
    """

    cost = 1.0

    def __init__(self, X: FloatArray, start: int = 0) -> None:
        self.X = X
        self.n, self.d = X.shape
        self.rows = slice(start, start + self.n)
        self.nbytes = X.nbytes

    def _at_once(self, at: Places) -> bool:
        """A range has to be large: nothing has to be gathered."""
        return count(at, self.n) * self.d < TILED_NUMBERS if isinstance(at, slice) else super()._at_once(at)

    def made(self, at: Places) -> FloatArray:
        return self.X[at] if isinstance(at, slice) else self.take(at)

    @property
    def matrix(self) -> Matrix:
        return self.X

    def take(self, at: Places) -> FloatArray:
        flags = self.X.flags
        if isinstance(at, slice) or not flags.aligned or not (flags.c_contiguous or flags.f_contiguous):
            return self.X[at]  # some columns of an array, or one that came in a message: `take` would copy it first
        if not flags.c_contiguous:
            return self.X.T.take(at, axis=1).T
        if len(at) <= (step := rows_at_a_time(self.d)):
            return self.X.take(at, axis=0)
        out = np.empty((len(at), self.d))

        def gather(tile: slice) -> None:
            self.X.take(at[tile], axis=0, out=out[tile], mode="wrap")  # to raise in time NumPy would buffer the output

        in_tiles(gather, strips(len(at), step), GATHER_SECONDS * out.size)
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

    def pieces(self) -> Iterator[Block]:
        """Views of so many rows that both products of a fused pass find them in the cache."""
        for tile in strips(self.n, rows_at_a_time(self.d)):
            yield DenseBlock(self.X[tile], self.rows.start + tile.start)


def is_plain(stored: NDArray[Any]) -> bool:
    """Whether products can be made with an array (n, d) as it is stored: float64, row by row."""
    return stored.dtype == np.float64 and stored.dtype.isnative and stored.flags.c_contiguous and stored.flags.aligned


class StoredBlock(MadeBlock):
    """Rows of an array of any numbers, in any order.

    stored (k, …): Kept by reference.
    start: The first row's place in the source.
    columns (d,): Which of its columns are features.
    """

    def __init__(self, stored: NDArray[Any], start: int, columns: slice | IntArray = ALL) -> None:
        self.stored, self.columns = stored, columns
        self.n, self.d = len(stored), len(np.arange(stored.shape[1])[columns])
        self.rows = slice(start, start + self.n)

    def made(self, at: Places) -> FloatArray:
        return np.asarray(self.stored[at][:, self.columns], dtype=np.float64)


class OnesBlock(MadeBlock):
    """The rows (x_i, 1) of a block of dense rows x_i."""

    def __init__(self, block: Block) -> None:
        self._block, self.rows, self.n, self.d = block, block.rows, block.n, block.d + 1

    def made(self, at: Places) -> FloatArray:
        made: FloatArray = with_ones(self._block.take(at))
        return made


def with_ones(X: Matrix) -> Matrix:
    """[X, 1]: (k, d + 1)."""
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
