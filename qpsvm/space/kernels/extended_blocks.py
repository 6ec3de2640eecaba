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

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.gram_blocks import GramBlocks

#: Up to this many rows K is stored beside its extension, which takes as much memory again.
SHARED_ROWS = 2000


class ExtendedBlocks(GramBlocks):
    """(EXTEND.1) by blocks.

    blocks: K, (n, n).
    added (n,): δ; None for 0.
    corner: κ; None if there is no further row.
    """

    def __init__(self, blocks: GramBlocks, added: FloatArray | None, corner: float | None) -> None:
        super().__init__(blocks.n + (corner is not None), blocks.width)
        self.blocks = blocks
        self.added = added
        self.corner = corner
        self._last = blocks.n
        self.allows_single = blocks.allows_single

    def _compute_diagonal(self, rows: IntArray) -> FloatArray:
        samples = self._substitute(rows)
        diagonal = self.blocks.compute_diagonal(samples)
        if self.added is not None:
            diagonal = diagonal + self.added[samples]
        if self.corner is None:
            return diagonal
        return np.where(rows == self._last, self.corner, diagonal)

    def _compute_full_matrix(self) -> FloatArray:
        if self.blocks.full_matrix is None and self.n > SHARED_ROWS:
            return self._compute_symmetric(None, False, None)
        K = np.zeros((self.n, self.n))
        K[: self._last, : self._last] = self.blocks.compute_full_matrix()
        if self.added is not None:
            K.flat[: self._last * (self.n + 1) : self.n + 1] += self.added
        if self.corner is not None:
            K[-1, -1] = self.corner
        return K

    def _compute_block(self, rows: IntArray, columns: IntArray, rough: bool) -> NDArray[Any]:
        K = self.blocks.compute_block(self._substitute(rows), self._substitute(columns), rough)
        _, i, j = np.intersect1d(rows, columns, return_indices=True)
        return self._extend(K, rows, columns, (i, j))

    def _compute_symmetric(self, rows: IntArray | None, rough: bool, out: NDArray[Any] | None) -> NDArray[Any]:
        rows = np.arange(self.n) if rows is None else rows
        K = self.blocks.compute_symmetric(self._substitute(rows), rough, out)
        i = np.arange(len(rows))
        return self._extend(K, rows, rows, (i, i))

    def _compute_product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool) -> FloatArray:
        beta = np.zeros(self.n)
        beta[support] = weights
        is_sample = support < self._last
        product = self.blocks.compute_product(support[is_sample], weights[is_sample], self._substitute(rows), rough)
        if self.added is not None:
            product += self.added[self._substitute(rows)] * beta[rows]
        if self.corner is not None:
            product[rows == self._last] = self.corner * beta[-1]
        return product

    def _substitute(self, rows: IntArray) -> IntArray:
        """Return the rows with the first sample in place of the last row of (EXTEND.1)."""
        if self.corner is None:
            return rows
        return np.where(rows == self._last, 0, rows)

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
