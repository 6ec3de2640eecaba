"""Compute products and sums over one block of rows (`Block`, `DenseBlock`, `SparseBlock`).

What a source of rows computes is a sum or a sequence over its blocks (`source`). So each product is written here once
for each way in which numbers are stored, and nowhere else.

Dense rows are worked on a few at a time, in several threads where that pays (`workers`). Such a tile is a view of what
is stored, or it is made when it multiplies: of numbers of another type, or by a map of the rows. A tile fits into the
cache, so that a pass reads what is stored once and writes nothing.

`np.dot` stands in every product here: where the result is short, `@` lets no other thread run.

Of sparse rows only those numbers are worked with that are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.frozen import cached
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


#: Second moments of sparse rows: a product of two stored numbers costs as much as this many operations of a dense
#: product, …
SPARSE_PRODUCT_COST = 60
#: … and a sparse product, with its result made dense, begins at the cost of this many of them, and of this many a
#: number of the result. (Measured: 2.5 ns, 60 µs and 1 ns a number, against 0.04 ns.)
SPARSE_START, SPARSE_RESULT = 1.5e6, 25.0
#: The same of the compiled core, which adds up pairs: .7 ns each.
COMPILED_PRODUCT_COST, COMPILED_START, COMPILED_RESULT = 10, 1e4, 10.0
#: Numbers stored in selected rows up to which they are added up one by one: less than the cost of making a sparse
#: array of them.
SCATTERED_NUMBERS = 5000


class SparseBlock(Block):
    """Rows of a sparse array.

    X (k, d): Without duplicate entries; kept by reference. Columns are turned into rows where single rows are
        asked for.
    start: The first row's place in the source.
    """

    def __init__(self, X: Matrix, start: int = 0) -> None:
        self.X = X
        super().__init__(int(X.shape[0]), int(X.shape[1]), start)

    @property
    def matrix(self) -> Matrix:
        return self.X

    @cached
    def _transpose(self) -> Matrix:
        return self.X.T

    @cached
    def _csr(self) -> Matrix:
        return self.X if self.X.format == "csr" else self.X.tocsr()

    @cached
    def _mean_square_length(self) -> float:
        """The mean of the squares of what the rows store: what a sparse product X_JᵀX_J costs a row."""
        lengths = np.diff(self._csr.indptr).astype(np.float64)
        return float(lengths @ lengths) / max(1, self.n)

    def margins(self, w: FloatArray) -> FloatArray:
        product: FloatArray = self.X @ w
        return product

    def weights(self, beta: FloatArray, at: RowIndex = ALL) -> FloatArray:
        if isinstance(at, slice) and at == ALL:
            product: FloatArray = self._transpose @ beta
            return product
        at = self._index(at)
        if len(at) * self.entries > SCATTERED_NUMBERS * self.n:
            gathered: FloatArray = self._csr[at].T @ beta
            return gathered
        row, stored = self._locate_entries(at)
        return _sum_at(self._csr.indices[stored], self._csr.data[stored] * beta[row], self.d)

    def _index(self, at: RowIndex) -> IntArray:
        return np.arange(self.n)[at] if isinstance(at, slice) else at

    def _locate_entries(self, at: IntArray) -> tuple[IntArray, IntArray]:
        """Locate the numbers stored for rows J = at (j,): which of the j rows they are in, and their positions."""
        first = self._csr.indptr[at].astype(np.intp)
        lengths = self._csr.indptr[at + 1] - first
        ends = np.cumsum(lengths)
        row = np.repeat(np.arange(len(at)), lengths)
        return row, np.arange(len(row)) + np.repeat(first - ends + lengths, lengths)

    def take(self, at: RowIndex) -> Matrix:
        return self._csr[at]

    def moments(self, at: RowIndex, scale: FloatArray | None = None) -> Moments:
        """Compute X_JᵀDX_J and X_JᵀD1, by a sparse product if the rows are many and short."""
        at, d = self._index(at), self.d
        if core.compiled is not None:
            excess = d * d - COMPILED_PRODUCT_COST * self._mean_square_length
            if len(at) * excess > COMPILED_START + COMPILED_RESULT * d * d:
                return self._compute_pair_moments(at, scale)
        excess = d * d - SPARSE_PRODUCT_COST * self._mean_square_length
        if len(at) * excess > SPARSE_START + SPARSE_RESULT * d * d:
            A = self._csr[at]
            scaled = A if scale is None else sp.csr_array(sp.diags_array(scale) @ A)
            return (A.T @ scaled).toarray(), _sum_at(scaled.indices, scaled.data, d)
        step = compute_tile_rows(d)
        if len(at) <= step:
            return self._compute_dense_moments(at, scale)
        parts = (
            self._compute_dense_moments(at[i : i + step], None if scale is None else scale[i : i + step])
            for i in range(0, len(at), step)
        )
        S, s = sum_arrays(parts)
        return S, s

    def _compute_pair_moments(self, at: IntArray, scale: FloatArray | None) -> Moments:
        """Compute the moments by summing pairs of stored numbers."""
        X, S, s = self._csr, np.zeros((self.d, self.d)), np.zeros(self.d)
        kinds = (np.float64, X.indices.dtype, X.indices.dtype)
        parts = (
            np.ascontiguousarray(part, kind) for part, kind in zip((X.data, X.indices, X.indptr), kinds, strict=True)
        )
        factors = b"" if scale is None else np.ascontiguousarray(scale, dtype=np.float64)
        core.compiled.moments(*parts, X.indices.itemsize, np.ascontiguousarray(at, dtype=np.int64), factors, S, s)
        return S, s

    def _compute_dense_moments(self, at: IntArray, scale: FloatArray | None) -> Moments:
        """Compute the moments of few rows, made dense."""
        row, stored = self._locate_entries(at)
        columns, values = self._csr.indices[stored], self._csr.data[stored]
        B = np.zeros((len(at), self.d))
        B[row, columns] = values
        if scale is None:
            return B.T @ B, _sum_at(columns, values, self.d)
        return B.T @ (scale[:, None] * B), _sum_at(columns, values * scale[row], self.d)

    def squared_norms(self) -> FloatArray:
        X, norms = self._csr, np.zeros(self.n)
        filled = np.flatnonzero(np.diff(X.indptr))
        if len(filled):  # an empty range would be read as one number
            norms[filled] = np.add.reduceat(X.data * X.data, X.indptr[filled])
        return norms

    def column_sums(self) -> FloatArray:
        return _sum_at(self._csr.indices, self._csr.data, self.d)

    def column_squares(self) -> FloatArray:
        return _sum_at(self._csr.indices, self._csr.data**2, self.d)

    @property
    def entries(self) -> int:
        return int(self.X.nnz)

    @property
    def longest_row(self) -> int:
        return int(np.diff(self._csr.indptr).max(initial=0))

    def tiles(self) -> list[slice]:
        """Return all rows as one tile: slicing sparse rows costs more than the cache saves."""
        return [ALL]

    def take_tile(self, tile: slice) -> Block:
        return self if tile == ALL else SparseBlock(self.take(tile), self.rows.start + tile.start)


def _sum_at(places: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sum the values at each place: (size,)."""
    return np.asarray(np.bincount(places, weights=values, minlength=size), dtype=np.float64)
