"""Compute products and sums over one block of sparse rows, from the stored numbers only (`SparseBlock`)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.data.rows.blocks import ALL, Block, Moments, RowIndex, compute_tile_rows, sum_arrays

#: Cost of multiplying two stored entries in a sparse product, in operations of a dense product. (Measured: 2.5 ns and
#: 0.04 ns.)
SPARSE_PRODUCT_COST = 60
#: Costs of a sparse product, and of each number of its dense result, in the same unit. (Measured: 60 µs and 1 ns.)
SPARSE_START, SPARSE_RESULT = 1.5e6, 25.0
#: The same three costs in the compiled core, which sums products of pairs of entries, 0.7 ns each.
COMPILED_PRODUCT_COST, COMPILED_START, COMPILED_RESULT = 10, 1e4, 10.0
#: Estimated number of stored entries in selected rows up to which they are summed by index, without a new sparse array.
SCATTERED_NUMBERS = 5000


class SparseBlock(Block):
    """Rows of a sparse array.

    X (k, d): Without duplicate entries; referenced, not copied. Compressed columns are converted to compressed rows if
        single rows are needed.
    start: The index of the first row in the source.
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
        """Mean square of the number of stored entries per row: the cost per row of a sparse product X_JᵀX_J."""
        lengths = np.diff(self._csr.indptr).astype(np.float64)
        return float(lengths @ lengths) / max(1, self.n)

    def margins(self, w: FloatArray) -> FloatArray:
        product: FloatArray = self.X @ w
        return product

    def weights(self, beta: FloatArray, rows: RowIndex = ALL) -> FloatArray:
        if isinstance(rows, slice) and rows == ALL:
            product: FloatArray = self._transpose @ beta
            return product
        rows = self._index(rows)
        if len(rows) * self.entries > SCATTERED_NUMBERS * self.n:
            gathered: FloatArray = self._csr[rows].T @ beta
            return gathered
        row, stored = self._locate_entries(rows)
        return _sum_at(self._csr.indices[stored], self._csr.data[stored] * beta[row], self.d)

    def _index(self, rows: RowIndex) -> IntArray:
        return np.arange(self.n)[rows] if isinstance(rows, slice) else rows

    def _locate_entries(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return for each stored entry of rows J (j,) the position of its row in J, and its index in the CSR arrays."""
        first = self._csr.indptr[rows].astype(np.intp)
        lengths = self._csr.indptr[rows + 1] - first
        ends = np.cumsum(lengths)
        row = np.repeat(np.arange(len(rows)), lengths)
        return row, np.arange(len(row)) + np.repeat(first - ends + lengths, lengths)

    def take(self, rows: RowIndex) -> Matrix:
        return self._csr[rows]

    def moments(self, rows: RowIndex, scale: FloatArray | None = None) -> Moments:
        """Compute X_JᵀDX_J and X_JᵀD1 as in `Block.moments`, by a sparse product if the rows are many and short."""
        rows = self._index(rows)
        d = self.d
        if core.compiled is not None:
            excess = d * d - COMPILED_PRODUCT_COST * self._mean_square_length
            if len(rows) * excess > COMPILED_START + COMPILED_RESULT * d * d:
                return self._compute_pair_moments(rows, scale)
        excess = d * d - SPARSE_PRODUCT_COST * self._mean_square_length
        if len(rows) * excess > SPARSE_START + SPARSE_RESULT * d * d:
            A = self._csr[rows]
            scaled = A if scale is None else sp.csr_array(sp.diags_array(scale) @ A)
            return (A.T @ scaled).toarray(), _sum_at(scaled.indices, scaled.data, d)
        step = compute_tile_rows(d)
        if len(rows) <= step:
            return self._compute_dense_moments(rows, scale)
        tile_moments = (
            self._compute_dense_moments(rows[i : i + step], None if scale is None else scale[i : i + step])
            for i in range(0, len(rows), step)
        )
        S, s = sum_arrays(tile_moments)
        return S, s

    def _compute_pair_moments(self, rows: IntArray, scale: FloatArray | None) -> Moments:
        """Compute the moments in the compiled core, by summing products of pairs of stored entries."""
        X = self._csr
        S = np.zeros((self.d, self.d))
        s = np.zeros(self.d)
        arrays = (
            np.ascontiguousarray(X.data, np.float64),
            np.ascontiguousarray(X.indices, X.indices.dtype),
            np.ascontiguousarray(X.indptr, X.indices.dtype),
        )
        factors = b"" if scale is None else np.ascontiguousarray(scale, dtype=np.float64)
        core.compiled.moments(*arrays, X.indices.itemsize, np.ascontiguousarray(rows, dtype=np.int64), factors, S, s)
        return S, s

    def _compute_dense_moments(self, rows: IntArray, scale: FloatArray | None) -> Moments:
        """Compute the moments of few rows, converted to a dense matrix."""
        row, stored = self._locate_entries(rows)
        columns, values = self._csr.indices[stored], self._csr.data[stored]
        B = np.zeros((len(rows), self.d))
        B[row, columns] = values
        if scale is None:
            return B.T @ B, _sum_at(columns, values, self.d)
        return B.T @ (scale[:, None] * B), _sum_at(columns, values * scale[row], self.d)

    def squared_norms(self) -> FloatArray:
        X = self._csr
        norms = np.zeros(self.n)
        nonempty = np.flatnonzero(np.diff(X.indptr))
        if len(nonempty):  # `reduceat` does not allow empty sums
            norms[nonempty] = np.add.reduceat(X.data * X.data, X.indptr[nonempty])
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
        if tile == ALL:
            return self
        return SparseBlock(self.take(tile), self.rows.start + tile.start)


def _sum_at(indices: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sum the values with each index: (size,)."""
    return np.asarray(np.bincount(indices, weights=values, minlength=size), dtype=np.float64)
