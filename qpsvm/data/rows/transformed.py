"""Transform the rows of another source when they are read, without a copy.

Centred, standardised, with a one, some of them, all of them twice, several sources one behind the other: a leaf says
what a block of the source becomes.

    (STD.1)  x̃_ij = (x_ij − μ_j)/s_j,   s_j² = (1/n) Σ_i (x_ij − μ_j)²

The two passes that find μ and s are sums over blocks. Sparse rows stay sparse: they are divided by s, and no
μ is subtracted.

Features φ(x_i) that a map makes cost as much as kernel values, and passes over the rows are many. So all are made once
and kept, where they fit into memory. Where they do not, each pass makes them again: in the same tiles, so that they are
the same numbers to the last bit, in every pass. A certificate is one of them, and takes several passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.limits import MEMORY_SHARE, find_available_memory
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.data.rows.blocks import Block, DenseBlock, Moments, RowIndex, compute_tile_rows, with_ones
from qpsvm.data.rows.memory import as_block, as_row_source
from qpsvm.data.rows.source import BlockRows, RowMap, RowSource, Task
from qpsvm.data.rows.sparse_block import SparseBlock
from qpsvm.data.rows.tasks import ComposedTask, take

#: Bytes of some rows that come here from elsewhere, rather than that they are kept there.
MAX_FETCHED_BYTES = 1e9
#: Tiles that are made at a time, where the features are not kept: enough for several threads.
TILES_AT_A_TIME = 16


class TransformedRows(RowSource):
    """Rows of another source, each block as a transform makes it: as many rows, with as many numbers stored.

    source: What they are made from; it is not copied.
    transform: Makes a block of one; it can be pickled, because it goes where the rows are.
    d: The columns, where they are not those of the source.
    """

    def __init__(self, source: RowSource, transform: Callable[[Block], Block], d: int | None = None) -> None:
        self.source, self.transform, self.is_sparse = source, transform, source.is_sparse
        self.n, self.d, self.is_remote = source.n, source.d if d is None else d, source.is_remote

    def blocks(self) -> Iterator[Block]:
        return map(self.transform, self.source.blocks())

    def map_blocks(
        self, task: Task, *along: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        return self.source.map_blocks(ComposedTask(self.transform, task), *along, rows=rows, add=add)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        for block, at, where in self.source.locate_rows(rows):
            yield self.transform(block), at, where

    def persist(self, task: Task, index: IntArray | None = None) -> RowSource:
        return self.source.persist(ComposedTask(self.transform, task), index)

    @property
    def entries(self) -> int:
        stored = self.source.entries if self.is_sparse else self.n * self.source.d
        return stored + self.n * (self.d - self.source.d)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


def shift_block(block: Block, mean: FloatArray, scale: FloatArray | None = None) -> Block:
    """Return the rows (x_i − μ)/s of a block, as exact as a copy. Shapes: mean, scale (d,); no scale means 1."""

    def build_rows(at: RowIndex) -> FloatArray:
        rows: FloatArray = as_dense(block.take(at)) - mean
        if scale is not None:
            rows /= scale
        return rows

    return Block(block.n, block.d, block.rows.start, build_rows)


@dataclass(frozen=True)
class ShiftTransform:
    """`shift_block`, as a transform."""

    mean: FloatArray
    scale: FloatArray | None = None

    def __call__(self, block: Block) -> Block:
        return shift_block(block, self.mean, self.scale)


@dataclass(frozen=True)
class DivideTransform:
    """The rows of a sparse block with their columns divided, in a copy of their numbers. scale: (d,)."""

    scale: FloatArray

    def __call__(self, block: Block) -> Block:
        return SparseBlock(divide_columns(block.matrix, self.scale), block.rows.start)


def append_ones(block: Block) -> Block:
    """Return the rows (x_i, 1) of a block."""
    if isinstance(block, SparseBlock):
        return SparseBlock(with_ones(block.matrix), block.rows.start)
    return Block(block.n, block.d + 1, block.rows.start, lambda at: with_ones(block.take(at)))


class CentredRows(TransformedRows):
    """The rows x_i − μ, as exact as a centred copy: μ is subtracted from a few rows at a time, which then multiply.

    X w − μᵀw would cost nothing a row, and lose the digits that an offset costs. A solver may choose to.

    origin (d,): μ.
    """

    def __init__(self, source: RowSource, origin: FloatArray) -> None:
        super().__init__(source, ShiftTransform(origin))
        self.origin, self.is_sparse = origin, False


class RowsWithOnes(TransformedRows):
    """The rows (x_i, 1): an intercept as the weight of one more feature, without a copy of the others."""

    def __init__(self, source: RowSource) -> None:
        super().__init__(source, append_ones, source.d + 1)


class SomeRows(RowSource):
    """Some rows of a source, gathered again from each block in every pass: for more of them than should be kept.

    index (k,): Which rows; ascending, at least one.
    """

    def __init__(self, source: RowSource, index: IntArray) -> None:
        self.source, self.index, self.n, self.d = source, index, len(index), source.d
        self.is_sparse = source.is_sparse

    def blocks(self) -> Iterator[Block]:
        start = 0
        for block, at, _ in self.source.locate_rows(self.index):
            part = as_block(block.take(at), start)
            yield part
            start += part.n

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        return self.source.locate_rows(self.index[rows])

    @cached
    def entries(self) -> int:
        return sum(block.entries for block in self.blocks())

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self.index.nbytes


def select_rows(source: RowSource, index: IntArray) -> RowSource:
    """Select some rows of a source, ascending, at least one: (k, d).

    Of rows elsewhere they come here where they are few enough, and else are gathered, and kept, where they are.
    """
    if not source.is_remote:
        return SomeRows(source, index)
    if 8.0 * source.entries * len(index) <= MAX_FETCHED_BYTES * source.n:
        return as_row_source(source.take(index))
    return source.persist(take, index)


class StackedRows(RowSource):
    """The rows of the first source, then those of the second, and so on, without a copy of any.

    sources: Of the same width, all dense or all sparse.
    """

    def __init__(self, sources: Sequence[RowSource]) -> None:
        self.sources, first = tuple(sources), sources[0]
        self.n, self.d = sum(source.n for source in sources), first.d
        self.is_sparse = first.is_sparse

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of each source, shifted to their rows."""
        start = 0
        for source in self.sources:
            for block in source.blocks():
                moved = copy.copy(block)
                moved.rows = slice(block.rows.start + start, block.rows.stop + start)
                yield moved
            start += source.n

    @property
    def entries(self) -> int:
        return sum(source.entries for source in self.sources)

    @property
    def nbytes(self) -> int:
        return sum(source.nbytes for source in {id(source): source for source in self.sources}.values())


class TiledRows(StackedRows):
    """The rows of a source several times over, kept once: the two rows that a sample of a regression has in its dual.

    times: How often.
    """

    def __init__(self, source: RowSource, times: int) -> None:
        super().__init__([source] * times)
        self.source, self.times = source, times

    def margins(self, w: FloatArray) -> FloatArray:
        once = self.source.margins(w)
        return np.concatenate([once] * self.times)

    def squared_norms(self) -> FloatArray:
        return np.tile(self.source.squared_norms(), self.times)

    def moments(self, rows: IntArray, scale: FloatArray | None = None) -> Moments:
        """Return the moments of the rows of the source, some of them twice."""
        return self.source.moments(rows % self.source.n, scale)

    def weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return Xᵀ of the sum of the parts of β."""
        if rows is not None:
            return self.source.weights(beta, rows % self.source.n)
        return self.source.weights(beta.reshape(self.times, self.source.n, *beta.shape[1:]).sum(axis=0))

    def take(self, rows: IntArray | slice) -> Matrix:
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        return self.source.take(index % self.source.n)


@dataclass(frozen=True)
class FeatureTask:
    """The features of rows of a block: (k, r)."""

    row_map: RowMap

    def __call__(self, block: Block, at: RowIndex) -> FloatArray:
        return self.row_map.features(block.take(at))


def map_rows(source: RowSource, row_map: RowMap) -> RowSource:
    """Return the rows φ(x_i) that a map makes; of remote rows they are made and stored there."""
    if not source.is_remote:
        return FeatureRows(source, row_map)
    made = source.persist(FeatureTask(row_map))
    made.row_map = row_map
    return made


class FeatureRows(RowSource):
    """The rows φ(x_i) of a source of rows x_i.

    source: Of x_i, (n, d).
    row_map: φ; it stays as it is.
    keep: Whether the features are kept in memory; by default where they fit.
    """

    is_sparse = False
    row_map: RowMap

    def __init__(self, source: RowSource, row_map: RowMap, keep: bool | None = None) -> None:
        self.source, self.row_map = source, row_map
        self.n, self.d = source.n, row_map.width
        self._keep = keep

    @cached
    def is_cached(self) -> bool:
        """Whether the features are kept in memory."""
        return 8.0 * self.entries <= MEMORY_SHARE * find_available_memory() if self._keep is None else self._keep

    @cached
    def memory_matrix(self) -> Matrix | None:
        if not self.is_cached:
            return None
        out = np.empty((self.n, self.d))
        for block in self.source.blocks():
            self._fill(block, 0, out[block.rows])
        return out

    @property
    def _tile_rows(self) -> int:
        """Rows of a tile: both x and φ(x) of them stay in the cache."""
        return compute_tile_rows(max(self.source.d, self.d))

    def _fill(self, block: Block, start: int, out: FloatArray) -> None:
        """Compute the features of rows of a block from `start` on, where a tile begins."""
        tiles = split_strips(len(out), self._tile_rows)

        def make(tile: slice) -> None:
            out[tile] = self.row_map.features(block.take(slice(start + tile.start, start + tile.stop)))

        run_tiles(make, tiles, len(out) * self.row_map.row_seconds)

    def blocks(self) -> Iterator[Block]:
        """Yield the one block of cached features; or some tiles of each block of the source."""
        if self.memory_matrix is not None:
            yield DenseBlock(self.memory_matrix)
            return
        for block in self.source.blocks():
            for part in split_strips(block.n, TILES_AT_A_TIME * self._tile_rows):
                out = np.empty((part.stop - part.start, self.d))
                self._fill(block, part.start, out)
                yield DenseBlock(out, block.rows.start + part.start)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Yield the tiles that contain the given rows, each computed as a whole."""
        if self.memory_matrix is not None:
            yield from super().locate_rows(rows)
            return
        order = np.argsort(rows, kind="stable")
        places = rows[order]
        for block in self.source.blocks():
            for tile in split_strips(block.n, self._tile_rows):
                start = block.rows.start + tile.start
                low, high = np.searchsorted(places, [start, block.rows.start + tile.stop])
                if low < high:
                    out = np.empty((tile.stop - tile.start, self.d))
                    self._fill(block, tile.start, out)
                    yield DenseBlock(out, start), places[low:high] - start, order[low:high]

    @property
    def entries(self) -> int:
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + (8 * self.entries if self.is_cached else 0)


class StandardisedRows(TransformedRows):
    """The rows (x_i − μ)/s, as exact as a standardised copy; sparse ones x_i/s.

    mean (d,): What is subtracted: zeros where rows are sparse.
    scale (d,)
    """

    def __init__(self, source: RowSource, mean: FloatArray, scale: FloatArray) -> None:
        super().__init__(source, DivideTransform(scale) if source.is_sparse else ShiftTransform(mean, scale))
        self.scale, self.mean = scale, np.zeros_like(mean) if source.is_sparse else mean
        self.feature_names = source.feature_names
        self.target, self.weight = getattr(source, "target", None), getattr(source, "weight", None)

    def where(self, row: int) -> str:
        """Describe a row, in the words of the source if it has some."""
        text = getattr(self.source, "where", None)
        return f"row {row}" if text is None else str(text(row))


def divide_columns(X: Matrix, scale: FloatArray) -> Matrix:
    """Divide the columns of sparse X (n, d), without duplicates: CSR."""
    rows = sp.csr_array(X)
    made = sp.csr_array((rows.data / scale[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    made.has_canonical_format = True
    return made


def standardise_rows(source: RowSource) -> StandardisedRows:
    """Standardise the rows of a source: mean 0, deviation 1 in every column; a constant column has the deviation 1."""
    n, (low, high, total, zeros) = source.n, _scan_columns(source)
    peak = np.maximum(np.abs(low), np.abs(high))  # squares of what is divided by it stay in range
    peak[peak == 0.0] = 1.0
    mean = total / n
    shift, squares = _sum_deviations(source, mean, peak)
    shift = (shift - zeros * (mean / peak)) / n
    squares = squares + zeros * (mean / peak) ** 2
    scale = peak * np.sqrt(np.maximum(squares / n - shift * shift, 0.0))
    constant = low == high
    mean = np.where(constant, low, mean + peak * shift)
    return StandardisedRows(source, mean, np.where(constant | (scale == 0.0), 1.0, scale))


def _scan_columns(source: RowSource) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return minimum, maximum and sum of each column, and the number of zeros that are not stored."""
    low, high = np.full(source.d, np.inf), np.full(source.d, -np.inf)
    total, stored = np.zeros(source.d), np.zeros(source.d)
    for X in _iter_tiles(source):
        low, high = np.minimum(low, _flatten(X.min(axis=0))), np.maximum(high, _flatten(X.max(axis=0)))
        total += _flatten(X.sum(axis=0))
        stored += np.bincount(X.indices, minlength=source.d) if sp.issparse(X) else X.shape[0]
    return low, high, total, source.n - stored


def _sum_deviations(source: RowSource, mean: FloatArray, peak: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of (x − μ)/p and of its square over what is stored: (d,), (d,)."""
    shift, squares = np.zeros(source.d), np.zeros(source.d)
    for X in _iter_tiles(source):
        if sp.issparse(X):
            deviation = (X.data - mean[X.indices]) / peak[X.indices]
            shift += np.bincount(X.indices, deviation, source.d)
            squares += np.bincount(X.indices, deviation * deviation, source.d)
        else:
            deviation = (X - mean) / peak
            shift += deviation.sum(axis=0)
            squares += np.einsum("ij,ij->j", deviation, deviation)
    return shift, squares


def _iter_tiles(source: RowSource) -> Iterator[Matrix]:
    """Yield all rows, a few at a time."""
    for block in source.blocks():
        for piece in block.iter_tiles():
            if piece.n:
                yield sp.csr_array(piece.matrix) if source.is_sparse else piece.matrix


def _flatten(row: Any) -> FloatArray:
    """Return a row that may be sparse as a vector."""
    return np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).ravel()
