"""Rows of the Gram matrix of all samples, made as Newton steps ask for them, and kept."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.space.kernels.blocks import KernelBlocks

#: Rows made at a time.
STRIP = 32


class KernelRows:
    """K (n, n) as `newton_polish` reads it: whole rows of some indices, in double precision.

    Most of n rows are never asked for: F of (KNEWTON.1) is what can still move.
    """

    def __init__(self, blocks: KernelBlocks, first: int) -> None:
        self.made = 0
        self._blocks, self._everything = blocks, np.arange(blocks.n)
        self._place = np.full(blocks.n, -1, dtype=np.intp)
        self._rows = np.empty((first, blocks.n))
        self._taken = np.empty((0, blocks.n))

    def __len__(self) -> int:
        return self._blocks.n

    def trace(self) -> float:
        """Σ K_ii."""
        return float(self._blocks.diagonal(self._everything).sum())

    def take(self, rows: IntArray, axis: int = 0) -> FloatArray:
        """K[rows], (r, n): until the next are asked for."""
        assert axis == 0
        places = self._places(rows)
        if len(rows) > len(self._taken):
            self._taken = np.empty((len(rows) + len(rows) // 4, len(self)))
        return self._rows.take(places, axis=0, out=self._taken[: len(rows)], mode="clip")

    def __getitem__(self, rows: IntArray) -> FloatArray:
        return self.take(rows)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Kx (n,) for x (n,), of which most are 0."""
        support = np.flatnonzero(x)
        return self._blocks.product(support, x[support], self._everything)

    def _places(self, rows: IntArray) -> IntArray:
        """Where the rows stand, which are made if they are not there: (r,)."""
        new = rows[self._place[rows] < 0]
        end = self.made + len(new)
        if end > len(self._rows):
            grown = np.empty((end + end // 4, len(self)))
            grown[: self.made] = self._rows[: self.made]
            self._rows = grown
        for start in range(0, len(new), STRIP):  # a strip is still in the cache when it is copied
            some = new[start : start + STRIP]
            self._rows[self.made : self.made + len(some)] = self._blocks.block(some, self._everything)
            self._place[some] = np.arange(self.made, self.made + len(some))
            self.made += len(some)
        places: IntArray = self._place[rows]
        return places
