"""Multiply with a Gram matrix of which only K_FF is stored, for Newton steps (`StreamedGram`)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.gram_blocks import GramBlocks


class StreamedGram:
    """K (n, n): K_FF in double precision, and products with rows of K in single precision, if `rough`.

    Evaluating n kernel values again takes no longer than reading them from memory, and writing them to fresh memory
    takes several times as long.
    """

    def __init__(self, blocks: GramBlocks, rough: bool = True) -> None:
        self.rough = rough
        self._blocks = blocks
        self._all_rows = np.arange(blocks.n)
        self._block_rows = self._all_rows[:0]
        self._block = np.empty((0, 0))

    def __len__(self) -> int:
        return self._blocks.n

    def trace(self) -> float:
        """Return Σ K_ii."""
        return float(self._blocks.compute_diagonal(self._all_rows).sum())

    def compute_block(self, rows: IntArray) -> FloatArray:
        """Return K_FF for the rows F, (f, f), cached for the last F."""
        if not np.array_equal(rows, self._block_rows):
            self._block = self._blocks.compute_symmetric(rows)
            self._block_rows = rows
        return self._block

    def multiply(self, rows: IntArray, x: FloatArray) -> FloatArray:
        """Return Σ_i x_i K(x_i, ·) over the given rows, with x (r,): (n,)."""
        return self._blocks.compute_product(rows, x, self._all_rows, self.rough)
