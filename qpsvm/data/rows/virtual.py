"""Rows that are made from those of another source as they are needed: centred, with a one, some, or all twice."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.data.rows.blocks import ALL, READ_SECONDS, Block, DenseBlock, Moments, Places, rows_at_a_time
from qpsvm.data.rows.memory import as_block
from qpsvm.data.rows.source import Found, RowSource


class Centred(RowSource):
    """The rows x_i − μ, as exact as a centred copy: μ is subtracted from a few rows at a time, which then multiply.

    X w − μᵀw would cost nothing a row, and lose the digits that an offset costs. A solver may choose to.

    origin (d,): μ.
    """

    is_sparse = False

    def __init__(self, source: RowSource, origin: FloatArray) -> None:
        self.source, self.origin = source, origin
        self.team = source.team
        self.n, self.d = source.shape

    def blocks(self) -> Iterator[Block]:
        """Pieces of the source's blocks, centred in a copy."""
        for block in self.source.blocks():
            for start in range(0, block.n, step := rows_at_a_time(self.d)):
                part = as_dense(block.take(slice(start, start + step)))
                yield DenseBlock(part - self.origin, block.rows.start + start)

    def holding(self, rows: IntArray) -> Iterator[Found]:
        """The rows themselves, gathered a few at a time and centred."""
        step = rows_at_a_time(self.d)
        for block, at, where in self.source.holding(rows):
            index = np.arange(block.n)[at] if isinstance(at, slice) else at
            for i in range(0, len(index), step):
                part = as_dense(block.take(index[i : i + step]))  # a new array
                part -= self.origin
                if isinstance(where, slice):
                    first = (where.start or 0) + i
                    yield DenseBlock(part), ALL, slice(first, first + len(part))
                else:
                    yield DenseBlock(part), ALL, where[i : i + step]

    def take(self, rows: IntArray | slice) -> Matrix:
        """X_J − 1μᵀ, (j, d), in a new array."""
        part = as_dense(self.source.take(rows))
        if isinstance(rows, slice):  # it may be a view
            return part - self.origin

        def centre(tile: slice) -> None:
            part[tile] -= self.origin

        in_tiles(centre, strips(len(part), rows_at_a_time(self.d)), READ_SECONDS * part.size)
        return part

    @property
    def entries(self) -> int:
        """nd."""
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        """Of the source and μ."""
        return self.source.nbytes + self.origin.nbytes


class SomeRows(RowSource):
    """Some rows of a source, gathered anew from each block in every pass: for more of them than should be kept.

    index (k,): Which rows; ascending, at least one.
    """

    def __init__(self, source: RowSource, index: IntArray) -> None:
        self.source, self.index = source, index
        self.team = source.team
        self.is_sparse = source.is_sparse
        self.n, self.d = len(index), source.d

    def blocks(self) -> Iterator[Block]:
        """What is taken of each block of the source."""
        start = 0
        for block, at, _ in self.source.holding(self.index):
            part = as_block(block.take(at), start)
            yield part
            start += part.n

    def holding(self, rows: IntArray) -> Iterator[Found]:
        """The same rows, where the source has them."""
        return self.source.holding(self.index[rows])

    @remembered
    def entries(self) -> int:
        """Numbers stored, counted in one pass."""
        return sum(block.entries for block in self.blocks())

    @property
    def nbytes(self) -> int:
        """Of the source and the index."""
        return self.source.nbytes + self.index.nbytes


class Tiled(RowSource):
    """The rows of a source several times over, kept once: the two rows that a sample of a regression has in its dual.

    times: How often.
    """

    def __init__(self, source: RowSource, times: int) -> None:
        self.source, self.times = source, times
        self.team = source.team
        self.is_sparse = source.is_sparse
        self.n, self.d = source.n * times, source.d

    def blocks(self) -> Iterator[Block]:
        """The blocks of the source, over and over, each at its place."""
        for start in [k * self.source.n for k in range(self.times)]:
            for block in self.source.blocks():
                again = copy.copy(block)
                again.rows = slice(block.rows.start + start, block.rows.stop + start)
                yield again

    def margins(self, w: FloatArray) -> FloatArray:
        """X w once, repeated."""
        once = self.source.margins(w)
        return np.concatenate([once] * self.times)

    def squared_norms(self) -> FloatArray:
        """‖x_i‖² once, repeated."""
        return np.tile(self.source.squared_norms(), self.times)

    def own_weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Xᵀ of the sum of the parts of β."""
        if rows is not None:
            return self.source.own_weights(beta, rows % self.source.n)
        return self.source.own_weights(beta.reshape(self.times, self.source.n, *beta.shape[1:]).sum(axis=0))

    def own_sum_of_squares(self) -> float:
        """So many times that of the source."""
        return self.times * self.source.own_sum_of_squares()

    def take(self, rows: IntArray | slice) -> Matrix:
        """Rows of the source."""
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        return self.source.take(index % self.source.n)

    def inner(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Inner products of rows of the source."""
        left = rows % self.source.n
        return self.source.inner(left, left if others is rows else others % self.source.n)

    @property
    def entries(self) -> int:
        """So many times those of the source."""
        return self.times * self.source.entries

    @property
    def nbytes(self) -> int:
        """Of the source: nothing is copied."""
        return self.source.nbytes


class WithOnes(RowSource):
    """The rows (x_i, 1): an intercept as the weight of one more feature, without a copy of the others."""

    def __init__(self, source: RowSource) -> None:
        self.source, self.team = source, source.team
        self.is_sparse = source.is_sparse
        self.n, self.d = source.n, source.d + 1

    def blocks(self) -> Iterator[Block]:
        """The source's blocks, each with its ones."""
        for block in self.source.blocks():
            yield OnesBlock(block)

    def holding(self, rows: IntArray) -> Iterator[Found]:
        """The same rows of the source, with ones."""
        for block, at, where in self.source.holding(rows):
            yield OnesBlock(block), at, where

    @property
    def entries(self) -> int:
        """Those of the source, and a one a row."""
        return self.source.entries + self.n

    @property
    def nbytes(self) -> int:
        """Of the source: ones take no memory."""
        return self.source.nbytes


class OnesBlock(Block):
    """The rows (x_i, 1) of a block.

    block: The rows x_i.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.rows, self.n, self.d = block.rows, block.n, block.d + 1

    @property
    def matrix(self) -> Matrix:
        """[X, 1], a copy."""
        return _with_ones(self.block.matrix)

    def margins(self, w: FloatArray) -> FloatArray:
        """X w + b for (w, b)."""
        out = self.block.margins(w[:-1])
        out += w[-1]
        return out

    def weights(self, beta: FloatArray) -> FloatArray:
        """(Xᵀβ, 1ᵀβ)."""
        return np.concatenate([self.block.weights(beta), beta.sum(axis=0)[None]])

    def weights_at(self, beta: FloatArray, at: Places) -> FloatArray:
        """(X_Jᵀβ, 1ᵀβ)."""
        return np.append(self.block.weights_at(beta, at), beta.sum())

    def take(self, at: Places) -> Matrix:
        """[X_J, 1], a copy."""
        return _with_ones(self.block.take(at))

    def moments(self, at: Places, scale: FloatArray | None = None) -> Moments:
        """The moments of X_J, bordered by its sums."""
        S, s = self.block.moments(at, scale)
        sums = np.append(s, float(len(np.arange(self.n)[at]) if scale is None else scale.sum()))
        return np.block([[S, s[:, None]], [sums]]), sums

    def squared_norms(self) -> FloatArray:
        """‖x_i‖² + 1."""
        return self.block.squared_norms() + 1.0

    def sum_of_squares(self) -> float:
        """Σ ‖x_i‖² + k."""
        return self.block.sum_of_squares() + self.n

    def column_sums(self) -> FloatArray:
        """(Xᵀ1, k)."""
        return np.append(self.block.column_sums(), float(self.n))

    def column_squares(self) -> FloatArray:
        """Those of X, and k."""
        return np.append(self.block.column_squares(), float(self.n))

    @property
    def entries(self) -> int:
        """Those of X, and a one a row."""
        return self.block.entries + self.n

    @property
    def longest_row(self) -> int:
        """One more than without."""
        return self.block.longest_row + 1

    @property
    def nbytes(self) -> int:
        """Of X."""
        return self.block.nbytes

    def pieces(self) -> Iterator[Block]:
        """Those of X, each with its ones."""
        for piece in self.block.pieces():
            yield OnesBlock(piece)


def _with_ones(X: Matrix) -> Matrix:
    """[X, 1]: (k, d + 1)."""
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])
