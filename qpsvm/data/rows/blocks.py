"""Compute products and sums over one block of dense rows (`Block`, `DenseBlock`).

What a source of rows computes is a sum or a sequence over its blocks (`source`). So each product is written once for
each storage format, and nowhere else.

Dense rows are processed a tile of a few rows at a time, in several threads where that pays (`workers`). A tile is
a view of what is stored, or it is computed when it is multiplied: from numbers of another type, or by a map of the
rows. A tile fits into the cache, so that a pass reads what is stored once and writes nothing.

All products use `np.dot`: where the result is short, `@` lets no other thread run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips

#: Numbers worked on at a time: 2 MB, near the size of a core's cache.
CACHED_NUMBERS = 250_000
#: Fewest rows at a time, whatever their width.
MIN_ROWS = 64
#: Numbers from which a product with all rows is made a few rows at a time: below, no second thread is worth its while.
TILED_NUMBERS = 8 * CACHED_NUMBERS
#: Seconds of a number that is read, of one that is gathered, and of a multiplication of two matrices: roughly.
READ_SECONDS, GATHER_SECONDS, PRODUCT_SECONDS = 5e-10, 1e-9, 4e-11
#: Some rows of a block, by index or as a range without gaps.
RowIndex: TypeAlias = IntArray | slice
#: All of them.
ALL = slice(None)
#: Second and first moments of some rows: (d, d) and (d,).
Moments: TypeAlias = tuple[FloatArray, FloatArray]


def compute_tile_rows(width: int) -> int:
    """Return the number of rows per tile, for rows of a given width."""
    return max(MIN_ROWS, CACHED_NUMBERS // max(width, 1))


def count_rows(at: RowIndex, n: int) -> int:
    """Count the selected rows of n."""
    return len(range(*at.indices(n))) if isinstance(at, slice) else len(at)


def slice_index(at: RowIndex, n: int, some: slice) -> RowIndex:
    """Restrict selected rows, of n, to a slice of them."""
    if not isinstance(at, slice):
        return at[some]
    first = at.indices(n)[0]
    return slice(first + some.start, first + some.stop)


def sum_arrays(parts: Iterable[tuple[FloatArray, ...]], *shapes: tuple[int, ...]) -> list[FloatArray]:
    """Sum several arrays, in place in those of the first part; zeros of these shapes if there is no part.

    A new matrix would cost as much as the product of a few rows.
    """
    totals: list[FloatArray] = []
    for part in parts:
        for total, array in zip(totals, part, strict=bool(totals)):
            total += array
        totals = totals or list(part)
    return totals or [np.zeros(shape) for shape in shapes]


class Block:
    """Consecutive rows of a source: k dense rows, which are computed on access, a tile at a time.

    n, d: Their number k, and the columns.
    rows: Which rows of the source they are.
    make_rows: Makes some of them as float64, (j, d); it may be a view of what is stored.
    cost: What a number costs that is made, in those that are read.
    """

    make_rows: Callable[[RowIndex], FloatArray]
    cost = 2.0

    def __init__(self, n: int, d: int, start: int, make_rows: Callable[[RowIndex], FloatArray] | None = None) -> None:
        self.n, self.d, self.rows = n, d, slice(start, start + n)
        if make_rows is not None:
            self.make_rows = make_rows

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of rows {self.rows.start} to {self.rows.stop}, {self.d} columns>"

    def _fits_one_tile(self, at: RowIndex) -> bool:
        """Tell whether these rows are few enough to be made at once."""
        return count_rows(at, self.n) <= compute_tile_rows(self.d)

    def _map_rows(self, make: Callable[[FloatArray], FloatArray], shape: tuple[int, ...] = ()) -> FloatArray:
        """Apply a function to each row: (k, …)."""
        if self._fits_one_tile(ALL):
            return make(self.make_rows(ALL))
        out = np.empty((self.n, *shape))

        def fill(tile: slice) -> None:
            out[tile] = make(self.make_rows(tile))

        run_tiles(fill, self.tiles(), self.cost * READ_SECONDS * self.n * self.d)
        return out

    def _sum_rows(
        self,
        at: RowIndex,
        sum_over: Callable[[FloatArray, slice], tuple[FloatArray, ...]],
        step: int,
        product: float = 0.0,
    ) -> list[FloatArray]:
        """Sum over the rows J = at (j,), in tiles if they are many; `sum_over` gets X_J and which of the j they are.

        `product` are the seconds of a number beside those of reading or gathering it.
        """
        if self._fits_one_tile(at):
            return list(sum_over(self.make_rows(at), ALL))
        k, seconds = count_rows(at, self.n), self.cost * READ_SECONDS if isinstance(at, slice) else GATHER_SECONDS
        parts = split_range(k, step)
        found: list[tuple[FloatArray, ...]] = [()] * len(parts)

        def of_strip(some: slice) -> tuple[FloatArray, ...]:
            return sum_over(self.make_rows(slice_index(at, self.n, some)), some)

        def add(k: int) -> None:
            first, stop = parts[k].start, parts[k].stop
            found[k] = tuple(sum_arrays(of_strip(slice(i, min(i + step, stop))) for i in range(first, stop, step)))

        run_tiles(add, range(len(parts)), (seconds + product) * k * self.d)
        return sum_arrays(found)

    @property
    def matrix(self) -> Matrix:
        """The rows as one array: (k, d), dense or sparse."""
        return self.take(ALL)

    def margins(self, w: FloatArray) -> FloatArray:
        """Return X w for w (d,) or (d, r): (k,) or (k, r), a new array."""
        return self._map_rows(lambda tile: np.asarray(np.dot(tile, w)), w.shape[1:])

    def weights(self, beta: FloatArray, at: RowIndex = ALL) -> FloatArray:
        """Return X_Jᵀβ for the rows J = at (j,) of the block and β (j,) or (j, r): (d,) or (d, r), a new array."""
        return self._sum_rows(at, lambda A, some: (np.dot(A.T, beta[some]),), compute_tile_rows(self.d))[0]

    def take(self, at: RowIndex) -> Matrix:
        """Return X_J, (j, d): a new array for an index array, at most a view for a slice."""
        out = np.empty((count_rows(at, self.n), self.d))

        def gather(some: slice) -> None:
            out[some] = self.make_rows(slice_index(at, self.n, some))

        run_tiles(gather, split_strips(len(out), compute_tile_rows(self.d)), GATHER_SECONDS * out.size)
        return out

    def moments(self, at: RowIndex, scale: FloatArray | None = None) -> Moments:
        """Return X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), new arrays, for J = at (j,) and D = diag(scale), or D = I."""

        def of_tile(A: FloatArray, some: slice) -> Moments:
            scaled = A if scale is None else scale[some, None] * A
            return np.dot(A.T, scaled), scaled.sum(axis=0)

        step = max(compute_tile_rows(self.d), 2 * self.d)  # a result of d² is added to that of as many rows
        S, s = self._sum_rows(at, of_tile, step, PRODUCT_SECONDS * self.d)
        return S, s

    def squared_norms(self) -> FloatArray:
        """Return ‖x_i‖²: (k,)."""
        return self._map_rows(lambda tile: np.asarray(np.einsum("ij,ij->i", tile, tile)))

    def column_sums(self) -> FloatArray:
        """Return Xᵀ1: (d,)."""
        return self._sum_rows(ALL, lambda tile, _: (tile.sum(axis=0),), compute_tile_rows(self.d))[0]

    def column_squares(self) -> FloatArray:
        """Return the diagonal of XᵀX: (d,)."""
        return self._sum_rows(ALL, lambda tile, _: (np.einsum("ij,ij->j", tile, tile),), compute_tile_rows(self.d))[0]

    @property
    def entries(self) -> int:
        """Numbers stored."""
        return self.n * self.d

    @property
    def longest_row(self) -> int:
        """The most numbers that one row stores: the terms of a product with it."""
        return self.d

    def tiles(self) -> list[slice]:
        """Split the rows into parts that stay in the cache between two products, where that pays."""
        return split_strips(self.n, compute_tile_rows(self.d))

    def take_tile(self, tile: slice) -> Block:
        """Return a tile of the rows as a block of its own."""
        return DenseBlock(self.make_rows(tile), self.rows.start + tile.start)

    def iter_tiles(self) -> Iterator[Block]:
        """Yield all rows, one tile after the other."""
        return map(self.take_tile, self.tiles())


class DenseBlock(Block):
    """Rows of an array of float64, where a tile is a view.

    X (k, d): In C or F order; kept by reference.
    start: The first row's place in the source.
    """

    cost = 1.0

    def __init__(self, X: FloatArray, start: int = 0) -> None:
        self.X = X
        super().__init__(X.shape[0], X.shape[1], start)

    def _fits_one_tile(self, at: RowIndex) -> bool:
        """Tell whether the rows are few enough; a range has to be large, since nothing has to be gathered."""
        return count_rows(at, self.n) * self.d < TILED_NUMBERS if isinstance(at, slice) else super()._fits_one_tile(at)

    def make_rows(self, at: RowIndex) -> FloatArray:
        return self.X[at] if isinstance(at, slice) else self.take(at)

    @property
    def matrix(self) -> Matrix:
        return self.X

    def take(self, at: RowIndex) -> FloatArray:
        plain = self.X.flags.c_contiguous and self.X.flags.aligned  # `take` would copy all of another array first
        return self.X[at] if isinstance(at, slice) or not plain else self.X.take(at, axis=0)


def with_ones(X: Matrix) -> Matrix:
    """Append a column of ones, [X, 1]: (k, d + 1)."""
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
