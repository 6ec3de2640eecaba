"""A block of rows that are stored as other numbers than float64, or not row by row: made float64 a tile at a time.

A tile fits into the cache, so that a pass reads what is stored once and writes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.resources.workers import in_tiles, strips
from qpsvm.rows.blocks import Block, DenseBlock, Moments, Places
from qpsvm.rows.tiles import GATHER_SECONDS, PRODUCT_SECONDS, READ_SECONDS, rows_at_a_time, summed

#: What a number costs that is read and made another: this many times one that is read.
CONVERSION = 2.0


def is_plain(stored: NDArray[Any]) -> bool:
    """Whether products can be made with an array (n, d) as it is stored: float64, row by row."""
    return stored.dtype == np.float64 and stored.dtype.isnative and stored.flags.c_contiguous and stored.flags.aligned


class StoredBlock(Block):
    """Rows of an array of any numbers, in any order.

    Parameters
    ----------
    stored : ndarray, shape (k, …)
        Kept by reference.
    start : int
        The first row's place in the source.
    columns : slice or ndarray of int, shape (d,)
        Which of its columns are features.
    """

    def __init__(self, stored: NDArray[Any], start: int, columns: slice | IntArray) -> None:
        self.stored, self.columns = stored, columns
        self.n = len(stored)
        every = np.arange(stored.shape[1])[columns]
        self.d = len(every)
        self.rows = slice(start, start + self.n)

    def _made(self, at: Places) -> FloatArray:
        """Some of the rows as float64, (j, d); a view where they are stored so."""
        some = self.stored[at]
        return np.asarray(some[:, self.columns], dtype=np.float64)

    @property
    def _seconds(self) -> float:
        return CONVERSION * READ_SECONDS * self.n * self.d

    @property
    def _step(self) -> int:
        return rows_at_a_time(self.d)

    def _filled(self, out: FloatArray, make: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """An array over the rows of the block, made of a tile of them at a time."""

        def fill(tile: slice) -> None:
            out[tile] = make(self._made(tile))

        in_tiles(fill, strips(self.n, self._step), self._seconds)
        return out

    def _summed(self, sum_over: Callable[[slice], FloatArray]) -> FloatArray:
        return summed(lambda tile: (sum_over(tile),), self.n, self._step, self._seconds)[0]

    @property
    def matrix(self) -> Matrix:
        """The rows as float64: (k, d), a copy but where they are stored so."""
        return self.take(slice(None))

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""
        return self._filled(np.empty((self.n, *w.shape[1:])), lambda tile: np.asarray(np.dot(tile, w)))

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        return self._summed(lambda tile: np.dot(self._made(tile).T, beta[tile]))

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """X_Jᵀβ, a few rows at a time."""
        index = self._index(at)
        return summed(
            lambda some: (np.dot(self._made(index[some]).T, beta[some]),), len(index), self._step,
            GATHER_SECONDS * len(index) * self.d,
        )[0]  # fmt: skip

    def _index(self, at: Places) -> IntArray:
        return np.arange(self.n)[at] if isinstance(at, slice) else at

    def take(self, at: Places) -> FloatArray:
        """X_J."""
        if isinstance(at, slice) and self.stored.dtype == np.float64:
            return self._made(at)
        index = self._index(at)
        out = np.empty((len(index), self.d))

        def gather(some: slice) -> None:
            out[some] = self._made(index[some])

        in_tiles(gather, strips(len(index), self._step), GATHER_SECONDS * out.size)
        return out

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """X_JᵀDX_J and X_JᵀD1, a few rows at a time."""
        index, every = self._index(at), slice(None)
        S, s = summed(
            lambda some: DenseBlock(self._made(index[some])).moments(every, None if scale is None else scale[some]),
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
        return self._summed(lambda tile: self._made(tile).sum(axis=0))

    def column_squares(self) -> FloatArray:
        """The diagonal of XᵀX."""
        return self._summed(lambda tile: _squares(self._made(tile)))

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
        """Bytes stored."""
        return self.n * self.d * self.stored.itemsize

    def pieces(self) -> Iterator[Block]:
        """Tiles that are made float64 when they multiply first, and given up when they have multiplied again."""
        for i in range(0, self.n, self._step):
            yield StoredTile(self.stored[i : i + self._step], self.rows.start + i, self.columns)


class StoredTile(StoredBlock):
    """Few of the rows, which stay float64 from the first product, X w, to the second, Xᵀβ."""

    _held: FloatArray | None = None

    def margins(self, w: FloatArray) -> FloatArray:
        """X w."""
        self._held = self._made(slice(None))
        return np.asarray(np.dot(self._held, w))

    def weights(self, beta: FloatArray) -> FloatArray:
        """Xᵀβ."""
        held = self._made(slice(None)) if self._held is None else self._held
        self._held = None
        return np.asarray(np.dot(held.T, beta))


def _squares(tile: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", tile, tile))
