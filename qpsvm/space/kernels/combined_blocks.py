"""Compute the Gram matrix of combinations of samples in blocks (`CombinedBlocks`).

    (COMBINE.1)  A K Aᵀ, where row k of A (m, n) combines few samples, such as the two of a pair in a ranking

A product with m rows takes one product with K over the samples, however many rows combine them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import Precomputed


class CombinedBlocks(KernelBlocks):
    """(COMBINE.1) by blocks; its rows are not samples.

    blocks: K, (n, n).
    mix: A (m, n).
    """

    def __init__(self, blocks: KernelBlocks, mix: sp.csr_array) -> None:
        super().__init__(Precomputed(), blocks.X)
        self.blocks, self.mix, self.n = blocks, mix, int(mix.shape[0])

    def diagonal(self, rows: IntArray) -> FloatArray:
        """(A K Aᵀ)_kk of some rows: (r,)."""
        if self.full_matrix is not None:
            return super().diagonal(rows)
        combinations, samples = self._select(rows)
        products = combinations @ self.blocks.compute_block(samples, samples)
        return np.asarray(combinations.multiply(products).sum(axis=1)).ravel()

    def all(self) -> FloatArray:
        """Compute and cache the matrix, (m, m), from K, which is cached too."""
        if self.full_matrix is None:
            self.full_matrix = freeze(np.asarray(self.mix @ (self.mix @ self.blocks.all()).T))
        return self.full_matrix

    def compute_block(self, rows: IntArray, columns: IntArray, rough: bool = False) -> NDArray[Any]:
        """Compute the values of some rows and columns: (r, c); always in double precision."""
        if self.full_matrix is not None:
            return super().compute_block(rows, columns, rough)
        left, left_samples = self._select(rows)
        right, right_samples = self._select(columns)
        K = self.blocks.compute_block(left_samples, right_samples)
        return np.asarray(left @ (right @ K.T).T)

    def compute_symmetric(
        self, rows: IntArray | None, rough: bool = False, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Compute the values of some rows with each other, (r, r), in `out` or a new array; all rows if None."""
        rows = np.arange(self.n) if rows is None else rows
        K = self.compute_block(rows, rows, rough)
        if out is None:
            return K
        out[...] = K
        return out

    def product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool = False) -> FloatArray:
        """Return Σ_j weights_j (A K Aᵀ)_ij over j in `support` for i in `rows`: (r,)."""
        if self.full_matrix is not None:
            return super().product(support, weights, rows, rough)
        beta = self.mix[support].T @ weights
        used = beta.nonzero()[0]
        combinations, samples = self._select(rows)
        return np.asarray(combinations @ self.blocks.product(used, beta[used], samples, rough))

    def _select(self, rows: IntArray) -> tuple[sp.csr_array, IntArray]:
        """Return some rows of A, restricted to the samples that they combine, and these: (r, s) and (s,)."""
        combinations = self.mix[rows]
        samples, positions = np.unique(combinations.indices, return_inverse=True)
        shape = (len(rows), len(samples))
        return sp.csr_array((combinations.data, positions.ravel(), combinations.indptr), shape=shape), samples
