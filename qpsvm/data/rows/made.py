"""A block of rows that are not there as float64: made a tile at a time, by whoever knows how.

A tile fits into the cache, so that a pass reads what is stored once and writes nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.data.rows.blocks import (
    GATHER_SECONDS,
    PRODUCT_SECONDS,
    READ_SECONDS,
    Block,
    DenseBlock,
    Moments,
    Places,
    rows_at_a_time,
    summed,
)

#: What a number costs that is read and made another: this many times one that is read.
CONVERSION = 2.0


class MadeBlock(Block):
    """Dense rows that are made when they are looked at. A leaf sets `n`, `d` and `rows`, and says how.

    What multiplies is in every method a tile of a few rows.
    """

    @abstractmethod
    def made(self, at: Places) -> FloatArray:
        """Some of the rows as float64, (j, d); it may be a view of what is stored."""

    @property
    def _seconds(self) -> float:
        return CONVERSION * READ_SECONDS * self.n * self.d

    @property
    def _step(self) -> int:
        return rows_at_a_time(self.d)

    def _filled(self, out: FloatArray, make: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """An array over the rows of the block, made of a tile of them at a time."""

        def fill(tile: slice) -> None:
            out[tile] = make(self.made(tile))

        in_tiles(fill, strips(self.n, self._step), self._seconds)
        return out

    def _summed(self, sum_over: Callable[[slice], FloatArray]) -> FloatArray:
        if self.n <= self._step:
            return sum_over(slice(0, self.n))
        return summed(lambda tile: (sum_over(tile),), self.n, self._step, self._seconds)[0]

    @property
    def matrix(self) -> Matrix:
        """The rows as float64: (k, d)."""
        return self.take(slice(None))

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""
        return self._filled(np.empty((self.n, *w.shape[1:])), lambda tile: np.asarray(np.dot(tile, w)))

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        return self._summed(lambda tile: np.dot(self.made(tile).T, beta[tile]))

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """X_Jᵀβ, a few rows at a time."""
        index = self._index(at)
        if len(index) <= self._step:
            return np.asarray(np.dot(self.made(index).T, beta))
        return summed(
            lambda some: (np.dot(self.made(index[some]).T, beta[some]),), len(index), self._step,
            GATHER_SECONDS * len(index) * self.d,
        )[0]  # fmt: skip

    def _index(self, at: Places) -> IntArray:
        return np.arange(self.n)[at] if isinstance(at, slice) else at

    def take(self, at: Places) -> FloatArray:
        """X_J."""
        index = self._index(at)
        out = np.empty((len(index), self.d))

        def gather(some: slice) -> None:
            out[some] = self.made(index[some])

        in_tiles(gather, strips(len(index), self._step), GATHER_SECONDS * out.size)
        return out

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """X_JᵀDX_J and X_JᵀD1, a few rows at a time."""
        index, every = self._index(at), slice(None)
        if len(index) <= self._step:
            return DenseBlock(self.made(index)).moments(every, scale)
        S, s = summed(
            lambda some: DenseBlock(self.made(index[some])).moments(every, None if scale is None else scale[some]),
            len(index), max(self._step, 2 * self.d),
            (GATHER_SECONDS + PRODUCT_SECONDS * self.d) * len(index) * self.d,
        )  # fmt: skip
        return S, s

    def squared_norms(self) -> FloatArray:
        """‖x_i‖²."""
        return self._filled(np.empty(self.n), lambda tile: np.asarray(np.einsum("ij,ij->i", tile, tile)))

    def sum_of_squares(self) -> float:
        """Σ ‖x_i‖²."""
        return math.fsum(self.column_squares())

    def column_sums(self) -> FloatArray:
        """Xᵀ1."""
        return self._summed(lambda tile: self.made(tile).sum(axis=0))

    def column_squares(self) -> FloatArray:
        """The diagonal of XᵀX."""
        return self._summed(lambda tile: _squares(self.made(tile)))

    @property
    def entries(self) -> int:
        """kd."""
        return self.n * self.d

    @property
    def longest_row(self) -> int:
        """d."""
        return self.d

    @property
    def nbytes(self) -> int:
        """None of its own."""
        return 0

    def pieces(self) -> Iterator[Block]:
        """Tiles that are made when they multiply first, and given up when they have multiplied again."""
        for i in range(0, self.n, self._step):
            yield MadeTile(self, i, min(i + self._step, self.n))


class MadeTile(MadeBlock):
    """Few of the rows of a block, which stay as they are made from the first product, X w, to the second, Xᵀβ.

    start, stop: Which of its rows.
    """

    def __init__(self, block: MadeBlock, start: int, stop: int) -> None:
        self._block, self._start = block, start
        self.n, self.d = stop - start, block.d
        self.rows = slice(block.rows.start + start, block.rows.start + stop)
        self._held: FloatArray | None = None

    def made(self, at: Places) -> FloatArray:
        """Rows of the block, (j, d)."""
        if isinstance(at, slice):
            start, stop, _ = at.indices(self.n)
            return self._block.made(slice(self._start + start, self._start + stop))
        return self._block.made(at + self._start)

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""
        self._held = self.made(slice(None))
        return np.asarray(np.dot(self._held, w))

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        held = self.made(slice(None)) if self._held is None else self._held
        self._held = None
        return np.asarray(np.dot(held.T, beta))


def _squares(tile: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", tile, tile))
