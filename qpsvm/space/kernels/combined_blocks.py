"""Compute the Gram matrix of combinations of samples in blocks (`CombinedBlocks`).

    (COMBINE.1)  A K Aᵀ, where row k of A (m, n) combines few samples, such as the two of a pair in a ranking

A product with m rows takes one product with K over the samples, however many rows combine them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.gram_blocks import GramBlocks


class CombinedBlocks(GramBlocks):
    """(COMBINE.1) by blocks, always in double precision.

    blocks: K, (n, n).
    mix: A (m, n).
    """

    def __init__(self, blocks: GramBlocks, mix: sp.csr_array) -> None:
        super().__init__(int(mix.shape[0]), blocks.width)
        self.blocks, self.mix = blocks, mix

    def _compute_diagonal(self, rows: IntArray) -> FloatArray:
        combinations, samples = self._select(rows)
        products = combinations @ self.blocks.compute_block(samples, samples)
        return np.asarray(combinations.multiply(products).sum(axis=1)).ravel()

    def _compute_full_matrix(self) -> FloatArray:
        """Compute the matrix from K, which is cached too."""
        return np.asarray(self.mix @ (self.mix @ self.blocks.compute_full_matrix()).T)

    def _compute_block(self, rows: IntArray, columns: IntArray, rough: bool) -> NDArray[Any]:
        del rough
        left, left_samples = self._select(rows)
        right, right_samples = self._select(columns)
        K = self.blocks.compute_block(left_samples, right_samples)
        return np.asarray(left @ (right @ K.T).T)

    def _compute_product(self, support: IntArray, weights: FloatArray, rows: IntArray, rough: bool) -> FloatArray:
        beta = self.mix[support].T @ weights
        used = beta.nonzero()[0]
        combinations, samples = self._select(rows)
        return np.asarray(combinations @ self.blocks.compute_product(used, beta[used], samples, rough))

    def _select(self, rows: IntArray) -> tuple[sp.csr_array, IntArray]:
        """Return some rows of A, restricted to the samples that they combine, and these: (r, s) and (s,)."""
        combinations = self.mix[rows]
        samples, positions = np.unique(combinations.indices, return_inverse=True)
        shape = (len(rows), len(samples))
        return sp.csr_array((combinations.data, positions.ravel(), combinations.indptr), shape=shape), samples
