"""Compute the Gram matrix for Newton steps block by block, storing only K_FF."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.blocks import KernelBlocks


class StreamedGram:
    """K (n, n): K_FF in double precision, and products with rows of K in single precision, if `rough`.

    To evaluate n values for each of F rows again takes no longer than to read them from memory, and memory that is
    touched for the first time takes several times as long.
    """

    def __init__(self, blocks: KernelBlocks, rough: bool = True) -> None:
        self.rough, self._blocks, self._everything = rough, blocks, np.arange(blocks.n)
        self._rows, self._square = self._everything[:0], np.empty((0, 0))

    def __len__(self) -> int:
        return self._blocks.n

    def trace(self) -> float:
        """Σ K_ii."""
        return float(self._blocks.diagonal(self._everything).sum())

    def compute_block(self, rows: IntArray) -> FloatArray:
        """K_FF for the rows F: (f, f)."""
        if not np.array_equal(rows, self._rows):
            self._rows, self._square = rows, self._blocks.compute_symmetric(rows)
        return self._square

    def multiply(self, rows: IntArray, x: FloatArray) -> FloatArray:
        """Σ_i x_i K(x_i, ·) over some rows, with x (r,): (n,)."""
        return self._blocks.product(rows, x, self._everything, self.rough)
