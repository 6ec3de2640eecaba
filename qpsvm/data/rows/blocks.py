"""Compute products and sums over one block of dense rows (`Block`, `DenseBlock`).

The products of a source are sums or sequences over its blocks (`source`). So each product is implemented once per
storage format, here and in `sparse_block`.

Dense rows are processed in tiles of a few rows, in several threads if that is faster (`workers`). A tile is a view of
stored rows, or is computed when it is needed: from numbers of another type, or by a map of the rows. A tile fits into
the cache, so that a pass reads stored rows once and writes nothing.

All products use `np.dot`: for a short result, `@` does not release the GIL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.workers import run_tiles, split_range, split_strips

#: Number of entries of a tile: 2 MB, about the cache of a core.
CACHED_NUMBERS = 250_000
#: Smallest number of rows of a tile.
MIN_ROWS = 64
#: Smallest number of entries for which a product with all rows is computed in tiles: below, threads do not pay.
TILED_NUMBERS = 8 * CACHED_NUMBERS
#: Estimated seconds per number that is read, that is gathered, and per multiplication in a matrix product.
READ_SECONDS, GATHER_SECONDS, PRODUCT_SECONDS = 5e-10, 1e-9, 4e-11
#: Indices of rows, or a contiguous range of rows.
RowIndex: TypeAlias = IntArray | slice
#: All rows.
ALL = slice(None)
#: Second and first moments of some rows: (d, d) and (d,).
Moments: TypeAlias = tuple[FloatArray, FloatArray]


def compute_tile_rows(width: int) -> int:
    """Return the number of rows per tile, for rows of a given width."""
    return max(MIN_ROWS, CACHED_NUMBERS // max(width, 1))


def count_rows(rows: RowIndex, n: int) -> int:
    """Return the number of selected rows, of n rows."""
    if isinstance(rows, slice):
        return len(range(*rows.indices(n)))
    return len(rows)


def slice_index(rows: RowIndex, n: int, positions: slice) -> RowIndex:
    """Return the selected rows, of n rows, at a slice of positions."""
    if not isinstance(rows, slice):
        return rows[positions]
    first = rows.indices(n)[0]
    return slice(first + positions.start, first + positions.stop)


def sum_arrays(parts: Iterable[tuple[FloatArray, ...]], *shapes: tuple[int, ...]) -> list[FloatArray]:
    """Sum tuples of arrays; zeros of the given shapes if there are none.

    The arrays of the first tuple are overwritten, because a new matrix would cost as much as the product of a few rows.
    """
    totals: list[FloatArray] = []
    for part in parts:
        for total, array in zip(totals, part, strict=bool(totals)):
            total += array
        totals = totals or list(part)
    return totals or [np.zeros(shape) for shape in shapes]


class Block:
    """Consecutive rows of a source: k dense rows, which are computed on access, one tile after the other.

    n, d: The number k of rows, and the number of columns.
    rows: The indices of the rows in the source.
    make_rows: Computes some of the rows as float64, (j, d); may return a view of stored rows.
    cost: Cost of computing a number, relative to that of reading one.
    """

    make_rows: Callable[[RowIndex], FloatArray]
    cost = 2.0

    def __init__(self, n: int, d: int, start: int, make_rows: Callable[[RowIndex], FloatArray] | None = None) -> None:
        self.n = n
        self.d = d
        self.rows = slice(start, start + n)
        if make_rows is not None:
            self.make_rows = make_rows

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of rows {self.rows.start} to {self.rows.stop}, {self.d} columns>"

    def _fits_one_tile(self, rows: RowIndex) -> bool:
        """Return whether the rows are few enough to be computed at once."""
        return count_rows(rows, self.n) <= compute_tile_rows(self.d)

    def _map_rows(self, make: Callable[[FloatArray], FloatArray], shape: tuple[int, ...] = ()) -> FloatArray:
        """Apply a function to tiles of rows, (j, d) → (j, …): (k, …).

        shape: The shape of the result for one row.
        """
        if self._fits_one_tile(ALL):
            return make(self.make_rows(ALL))
        out = np.empty((self.n, *shape))

        def fill(tile: slice) -> None:
            out[tile] = make(self.make_rows(tile))

        run_tiles(fill, self.tiles(), self.cost * READ_SECONDS * self.n * self.d)
        return out

    def _sum_rows(
        self,
        rows: RowIndex,
        sum_over: Callable[[FloatArray, slice], tuple[FloatArray, ...]],
        step: int,
        extra_seconds: float = 0.0,
    ) -> list[FloatArray]:
        """Sum over selected rows J (j,), in tiles if they are many.

        sum_over: Computes the sums over some of the rows, from these rows and their positions in J.
        step: Number of rows per tile.
        extra_seconds: Estimated seconds per number, besides those of reading or gathering it.
        """
        if self._fits_one_tile(rows):
            return list(sum_over(self.make_rows(rows), ALL))
        n_rows = count_rows(rows, self.n)
        if isinstance(rows, slice):
            access_seconds = self.cost * READ_SECONDS
        else:
            access_seconds = GATHER_SECONDS
        ranges = split_range(n_rows, step)
        sums: list[tuple[FloatArray, ...]] = [()] * len(ranges)

        def sum_tile(positions: slice) -> tuple[FloatArray, ...]:
            return sum_over(self.make_rows(slice_index(rows, self.n, positions)), positions)

        def sum_range(k: int) -> None:
            first, stop = ranges[k].start, ranges[k].stop
            sums[k] = tuple(sum_arrays(sum_tile(slice(i, min(i + step, stop))) for i in range(first, stop, step)))

        run_tiles(sum_range, range(len(ranges)), (access_seconds + extra_seconds) * n_rows * self.d)
        return sum_arrays(sums)

    @property
    def matrix(self) -> Matrix:
        """The rows as one array: (k, d), dense or sparse."""
        return self.take(ALL)

    def margins(self, w: FloatArray) -> FloatArray:
        """Return X w for w (d,) or (d, r): (k,) or (k, r), a new array."""
        return self._map_rows(lambda tile: np.asarray(np.dot(tile, w)), w.shape[1:])

    def weights(self, beta: FloatArray, rows: RowIndex = ALL) -> FloatArray:
        """Return X_Jᵀβ for rows J (j,) of the block and β (j,) or (j, r): (d,) or (d, r), a new array."""
        return self._sum_rows(rows, lambda A, positions: (np.dot(A.T, beta[positions]),), compute_tile_rows(self.d))[0]

    def take(self, rows: RowIndex) -> Matrix:
        """Return X_J for rows J: (j, d), a new array for indices, which may be a view for a slice."""
        out = np.empty((count_rows(rows, self.n), self.d))

        def gather(tile: slice) -> None:
            out[tile] = self.make_rows(slice_index(rows, self.n, tile))

        run_tiles(gather, split_strips(len(out), compute_tile_rows(self.d)), GATHER_SECONDS * out.size)
        return out

    def moments(self, rows: RowIndex, scale: FloatArray | None = None) -> Moments:
        """Return X_JᵀDX_J, (d, d), and X_JᵀD1, (d,), new arrays, for rows J (j,) and D = diag(scale).

        scale (j,): None for D = I.
        """

        def compute_tile_moments(A: FloatArray, positions: slice) -> Moments:
            scaled = A if scale is None else scale[positions, None] * A
            return np.dot(A.T, scaled), scaled.sum(axis=0)

        step = max(compute_tile_rows(self.d), 2 * self.d)  # more rows than columns, as each tile adds d² numbers
        S, s = self._sum_rows(rows, compute_tile_moments, step, PRODUCT_SECONDS * self.d)
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
        """Number of stored entries."""
        return self.n * self.d

    @property
    def longest_row(self) -> int:
        """Largest number of stored entries in a row: the number of terms of a product with it."""
        return self.d

    def tiles(self) -> list[slice]:
        """Return the tiles: ranges of rows that stay in the cache between two products, or all rows if they are few."""
        return split_strips(self.n, compute_tile_rows(self.d))

    def take_tile(self, tile: slice) -> Block:
        """Return a tile of the rows as a block."""
        return DenseBlock(self.make_rows(tile), self.rows.start + tile.start)

    def iter_tiles(self) -> Iterator[Block]:
        """Yield all rows as blocks, one tile after the other."""
        return map(self.take_tile, self.tiles())


class DenseBlock(Block):
    """Rows of an array of float64, where a tile is a view.

    X (k, d): In C or F order; referenced, not copied.
    start: The index of the first row in the source.
    """

    cost = 1.0

    def __init__(self, X: FloatArray, start: int = 0) -> None:
        self.X = X
        super().__init__(X.shape[0], X.shape[1], start)

    def _fits_one_tile(self, rows: RowIndex) -> bool:
        """Return whether the rows are few enough; a range may have more, because it is a view."""
        if isinstance(rows, slice):
            return count_rows(rows, self.n) * self.d < TILED_NUMBERS
        return super()._fits_one_tile(rows)

    def make_rows(self, rows: RowIndex) -> FloatArray:
        return self.X[rows] if isinstance(rows, slice) else self.take(rows)

    @property
    def matrix(self) -> Matrix:
        return self.X

    def take(self, rows: RowIndex) -> FloatArray:
        can_take = self.X.flags.c_contiguous and self.X.flags.aligned  # otherwise `take` copies all rows first
        if can_take and not isinstance(rows, slice):
            return self.X.take(rows, axis=0)
        return self.X[rows]


def with_ones(X: Matrix) -> Matrix:
    """Append a column of ones, [X, 1]: (k, d + 1)."""
    ones = np.ones((X.shape[0], 1))
    if sp.issparse(X):
        return sp.csr_array(sp.hstack([X, ones]))
    return np.hstack([X, ones])
