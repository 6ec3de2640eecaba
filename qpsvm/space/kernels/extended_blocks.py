"""Add a diagonal, and one more row and column, to a Gram matrix that is computed in blocks (`ExtendedBlocks`).

    (EXTEND.1)  [K + diag(δ), 0; 0, κ]:  δ is the curvature of squared losses, κ the factor of a variable that stands
                for a penalised intercept, or 0

Values of K are computed by its own blocks. In place of the last row, that of the first sample is computed, and then
overwritten: this takes less time than to compute the others separately and to copy them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed

#: Up to this many rows K is stored beside its extension, which takes as much memory again.
SHARED_ROWS = 2000


class ExtendedBlocks(KernelBlocks):
    """(EXTEND.1) by blocks; its rows are not samples.

    blocks: K, (n, n).
    added (n,): δ; None for 0.
    corner: κ; None if there is no further row.
    """

    def __init__(self, blocks: KernelBlocks, added: FloatArray | None, corner: float | None) -> None:
        super().__init__(Precomputed(), blocks.X)
        self.blocks, self.added, self.corner, self._last = blocks, added, corner, blocks.n
        self.n = blocks.n + (corner is not None)
        self.allows_single = blocks.allows_single

    def diagonal(self, rows: IntArray) -> FloatArray:
        """K_ii of some rows: (r,)."""
        samples = self._substitute(rows)
        diagonal = self.blocks.diagonal(samples)
        if self.added is not None:
            diagonal = diagonal + self.added[samples]
        return diagonal if self.corner is None else np.where(rows == self._last, self.corner, diagonal)

    def all(self) -> FloatArray:
        """Compute and cache the matrix, (n, n); of few rows K is cached too, for other uses."""
        if self.full_matrix is None and self.blocks.full_matrix is None and self.n > SHARED_ROWS:
            self.full_matrix = freeze(self.compute_symmetric(None))
        elif self.full_matrix is None:
            K = np.zeros((self.n, self.n))
            K[: self._last, : self._last] = self.blocks.all()
            if self.added is not None:
                K.flat[: self._last * (self.n + 1) : self.n + 1] += self.added
            if self.corner is not None:
                K[-1, -1] = self.corner
            self.full_matrix = freeze(K)
        return self.full_matrix

    def compute_block(self, rows: IntArray, columns: IntArray, rough: bool = False) -> NDArray[Any]:
        """Compute K[rows][:, columns]: (r, c)."""
        if self.full_matrix is not None:
            return super().compute_block(rows, columns, rough)
        K = self.blocks.compute_block(self._substitute(rows), self._substitute(columns), rough)
        _, i, j = np.intersect1d(rows, columns, return_indices=True)
        return self._extend(K, rows, columns, (i, j))

    def compute_symmetric(
        self, rows: IntArray | None, rough: bool = False, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Compute K[rows][:, rows], (r, r), in `out` or a new array; all rows if None."""
        if self.full_matrix is not None:
            return super().compute_symmetric(rows, rough, out)
        rows = np.arange(self.n) if rows is None else rows
        K, i = self.blocks.compute_symmetric(self._substitute(rows), rough, out), np.arange(len(rows))
        return self._extend(K, rows, rows, (i, i))

    def product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool = False) -> FloatArray:
        """Return Σ_j weights_j K_ij over j in `support` for i in `rows`: (r,)."""
        if self.full_matrix is not None:
            return super().product(support, weights, rows, rough)
        beta = np.zeros(self.n)
        beta[support] = weights
        is_sample = support < self._last
        product = self.blocks.product(support[is_sample], weights[is_sample], self._substitute(rows), rough)
        if self.added is not None:
            product += self.added[self._substitute(rows)] * beta[rows]
        if self.corner is not None:
            product[rows == self._last] = self.corner * beta[-1]
        return product

    def _substitute(self, rows: IntArray) -> IntArray:
        """Return the rows with the first sample in place of the last row of (EXTEND.1)."""
        return rows if self.corner is None else np.where(rows == self._last, 0, rows)

    def _extend(
        self, K: NDArray[Any], rows: IntArray, columns: IntArray, common: tuple[IntArray, IntArray]
    ) -> NDArray[Any]:
        """Write (EXTEND.1) to values of K, (r, c), in place; `common` are the positions of equal rows and columns."""
        i, j = common
        if self.added is not None:
            K[i, j] += self.added[self._substitute(rows[i])]
        if self.corner is not None:
            K[rows == self._last] = 0.0
            K[:, columns == self._last] = 0.0
            is_corner = rows[i] == self._last
            K[i[is_corner], j[is_corner]] = self.corner
        return K
