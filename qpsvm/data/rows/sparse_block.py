"""Compute products and sums over one block of sparse rows, from the stored numbers only (`SparseBlock`)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.data.rows.blocks import ALL, Block, Moments, RowIndex, compute_tile_rows, sum_arrays

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
