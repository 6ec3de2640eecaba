"""Transform the rows of other sources when they are read, without a copy.

The subclasses of `RowSource` here centre or standardise rows, append ones, select or repeat rows, and concatenate
several sources.

    (STD.1)  x̃_ij = (x_ij − μ_j)/s_j,   s_j² = (1/n) Σ_i (x_ij − μ_j)²

The two passes that compute μ and s are sums over blocks. Sparse rows stay sparse: they are divided by s, and μ is not
subtracted.

Features φ(x_i) of a map (`FeatureRows`) cost as much as kernel values, and are needed in many passes. So they are
computed once and cached if they fit into memory. Otherwise each pass computes them again, in the same tiles, so that
all passes get the same floating-point values; a certificate needs this.
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

#: Largest size in bytes of selected rows that are fetched from a remote source; more are stored there.
MAX_FETCHED_BYTES = 1e9
#: Number of tiles of features computed at a time if they are not cached: enough for several threads.
TILES_AT_A_TIME = 16


class TransformedRows(RowSource):
    """Rows of another source, transformed block by block. The number of rows and of stored entries stays the same.

    source: The other source, which is not copied.
    transform: Computes a block from a block; picklable, because it may be sent to other processes.
    d: The number of columns; None for that of the source.
    """

    def __init__(self, source: RowSource, transform: Callable[[Block], Block], d: int | None = None) -> None:
        self.source = source
        self.transform = transform
        self.is_sparse = source.is_sparse
        self.is_remote = source.is_remote
        self.n = source.n
        self.d = source.d if d is None else d

    def blocks(self) -> Iterator[Block]:
        return map(self.transform, self.source.blocks())

    def map_blocks(
        self, task: Task, *along: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        return self.source.map_blocks(ComposedTask(self.transform, task), *along, rows=rows, add=add)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        for block, block_rows, positions in self.source.locate_rows(rows):
            yield self.transform(block), block_rows, positions

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
    """Return the rows (x_i − μ)/s of a block, computed as exactly as in a copy.

    mean, scale (d,): μ and s; no scale means 1.
    """

    def build_rows(block_rows: RowIndex) -> FloatArray:
        rows: FloatArray = as_dense(block.take(block_rows)) - mean
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
    """Division of the columns of a sparse block by a scale (d,), in a copy of its entries."""

    scale: FloatArray

    def __call__(self, block: Block) -> Block:
        return SparseBlock(divide_columns(block.matrix, self.scale), block.rows.start)


def append_ones(block: Block) -> Block:
    """Return the rows (x_i, 1) of a block."""
    if isinstance(block, SparseBlock):
        return SparseBlock(with_ones(block.matrix), block.rows.start)
    return Block(block.n, block.d + 1, block.rows.start, lambda block_rows: with_ones(block.take(block_rows)))


class CentredRows(TransformedRows):
    """The rows x_i − μ, computed as exactly as in a centred copy: μ is subtracted from each tile before a product.

    X w − μᵀw would be faster, but loses digits if μ is large.

    origin (d,): μ.
    """

    def __init__(self, source: RowSource, origin: FloatArray) -> None:
        super().__init__(source, ShiftTransform(origin))
        self.origin, self.is_sparse = origin, False


class RowsWithOnes(TransformedRows):
    """The rows (x_i, 1), whose last weight is an intercept, without a copy of the x_i."""

    def __init__(self, source: RowSource) -> None:
        super().__init__(source, append_ones, source.d + 1)


class SomeRows(RowSource):
    """Some rows of a source, gathered from its blocks in every pass, because a copy may be too large.

    index (k,): Indices of the rows, ascending; at least one.
    """

    def __init__(self, source: RowSource, index: IntArray) -> None:
        self.source = source
        self.index = index
        self.n = len(index)
        self.d = source.d
        self.is_sparse = source.is_sparse

    def blocks(self) -> Iterator[Block]:
        start = 0
        for block, block_rows, _ in self.source.locate_rows(self.index):
            selected = as_block(block.take(block_rows), start)
            yield selected
            start += selected.n

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

    From a remote source, few rows are fetched; more are gathered and stored in its processes.
    """
    if not source.is_remote:
        return SomeRows(source, index)
    if 8.0 * source.entries * len(index) <= MAX_FETCHED_BYTES * source.n:
        return as_row_source(source.take(index))
    return source.persist(take, index)


class StackedRows(RowSource):
    """The rows of several sources, one source after the other, without a copy.

    sources: They have the same columns, and are all dense or all sparse.
    """

    def __init__(self, sources: Sequence[RowSource]) -> None:
        self.sources = tuple(sources)
        self.n = sum(source.n for source in sources)
        self.d = sources[0].d
        self.is_sparse = sources[0].is_sparse

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of each source, shifted to their rows."""
        start = 0
        for source in self.sources:
            for block in source.blocks():
                shifted = copy.copy(block)
                shifted.rows = slice(block.rows.start + start, block.rows.stop + start)
                yield shifted
            start += source.n

    @property
    def entries(self) -> int:
        return sum(source.entries for source in self.sources)

    @property
    def nbytes(self) -> int:
        return sum(source.nbytes for source in {id(source): source for source in self.sources}.values())


class TiledRows(StackedRows):
    """The rows of a source repeated, but stored once, as for the two rows per sample in the dual of a regression.

    times: Number of repetitions.
    """

    def __init__(self, source: RowSource, times: int) -> None:
        super().__init__([source] * times)
        self.source, self.times = source, times

    def margins(self, w: FloatArray) -> FloatArray:
        values = self.source.margins(w)
        return np.concatenate([values] * self.times)

    def squared_norms(self) -> FloatArray:
        return np.tile(self.source.squared_norms(), self.times)

    def moments(self, rows: IntArray, scale: FloatArray | None = None) -> Moments:
        """Return the moments as in `RowSource.moments`; the source may get a row several times."""
        return self.source.moments(rows % self.source.n, scale)

    def weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return Xᵀβ or X_Jᵀβ; over all rows, the parts of β are summed first."""
        if rows is not None:
            return self.source.weights(beta, rows % self.source.n)
        return self.source.weights(beta.reshape(self.times, self.source.n, *beta.shape[1:]).sum(axis=0))

    def take(self, rows: IntArray | slice) -> Matrix:
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        return self.source.take(index % self.source.n)


@dataclass(frozen=True)
class FeatureTask:
    """Task that computes the features of selected rows of a block: (k, r)."""

    row_map: RowMap

    def __call__(self, block: Block, block_rows: RowIndex) -> FloatArray:
        return self.row_map.features(block.take(block_rows))


def map_rows(source: RowSource, row_map: RowMap) -> RowSource:
    """Return the rows φ(x_i) of a map; for a remote source they are computed and stored in its processes."""
    if not source.is_remote:
        return FeatureRows(source, row_map)
    features = source.persist(FeatureTask(row_map))
    features.row_map = row_map
    return features


class FeatureRows(RowSource):
    """The rows φ(x_i) of a source of rows x_i.

    source: The rows x_i, (n, d).
    row_map: The map φ, which must not change.
    keep: Whether to cache the features in memory; None to cache them if they fit.
    """

    is_sparse = False
    row_map: RowMap

    def __init__(self, source: RowSource, row_map: RowMap, keep: bool | None = None) -> None:
        self.source, self.row_map = source, row_map
        self.n, self.d = source.n, row_map.width
        self._keep = keep

    @cached
    def is_cached(self) -> bool:
        """Whether the features are cached in memory."""
        if self._keep is not None:
            return self._keep
        return 8.0 * self.entries <= MEMORY_SHARE * find_available_memory()

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
        """Number of rows of a tile, for which x and φ(x) stay in the cache."""
        return compute_tile_rows(max(self.source.d, self.d))

    def _fill(self, block: Block, start: int, out: FloatArray) -> None:
        """Fill `out` (j, r) with the features of j rows of a block from `start` on, where a tile must start."""
        tiles = split_strips(len(out), self._tile_rows)

        def compute_tile(tile: slice) -> None:
            out[tile] = self.row_map.features(block.take(slice(start + tile.start, start + tile.stop)))

        run_tiles(compute_tile, tiles, len(out) * self.row_map.row_seconds)

    def blocks(self) -> Iterator[Block]:
        """Yield the cached features as one block; otherwise blocks of several tiles."""
        if self.memory_matrix is not None:
            yield DenseBlock(self.memory_matrix)
            return
        for block in self.source.blocks():
            for strip in split_strips(block.n, TILES_AT_A_TIME * self._tile_rows):
                out = np.empty((strip.stop - strip.start, self.d))
                self._fill(block, strip.start, out)
                yield DenseBlock(out, block.rows.start + strip.start)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Yield the tiles that contain selected rows; each tile is computed completely."""
        if self.memory_matrix is not None:
            yield from super().locate_rows(rows)
            return
        order = np.argsort(rows, kind="stable")
        sorted_rows = rows[order]
        for block in self.source.blocks():
            for tile in split_strips(block.n, self._tile_rows):
                start = block.rows.start + tile.start
                low, high = np.searchsorted(sorted_rows, [start, block.rows.start + tile.stop])
                if low < high:
                    out = np.empty((tile.stop - tile.start, self.d))
                    self._fill(block, tile.start, out)
                    yield DenseBlock(out, start), sorted_rows[low:high] - start, order[low:high]

    @property
    def entries(self) -> int:
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + (8 * self.entries if self.is_cached else 0)


class StandardisedRows(TransformedRows):
    """The rows (x_i − μ)/s, computed as exactly as in a standardised copy; x_i/s for sparse rows.

    mean (d,): The subtracted μ, zeros for sparse rows.
    scale (d,): The divisors s.
    """

    def __init__(self, source: RowSource, mean: FloatArray, scale: FloatArray) -> None:
        super().__init__(source, DivideTransform(scale) if source.is_sparse else ShiftTransform(mean, scale))
        self.scale = scale
        self.mean = np.zeros_like(mean) if source.is_sparse else mean
        self.feature_names = source.feature_names
        self.target = getattr(source, "target", None)
        self.weight = getattr(source, "weight", None)

    def where(self, row: int) -> str:
        """Describe the position of a row, by the source's own method if it has one."""
        describe_row = getattr(self.source, "where", None)
        return f"row {row}" if describe_row is None else str(describe_row(row))


def divide_columns(X: Matrix, scale: FloatArray) -> Matrix:
    """Divide the columns of sparse X (n, d), without duplicate entries, by a scale (d,): a new CSR array."""
    rows = sp.csr_array(X)
    divided = sp.csr_array((rows.data / scale[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    divided.has_canonical_format = True
    return divided


def standardise_rows(source: RowSource) -> StandardisedRows:
    """Standardise the rows of a source to mean 0 and deviation 1 in every column; a constant column has s = 1."""
    n = source.n
    low, high, total, zeros = _scan_columns(source)
    peak = np.maximum(np.abs(low), np.abs(high))  # entries are divided by it, so that squares do not overflow
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
    """Return minimum, maximum and sum of each column, and its number of zeros that are not stored: (d,) each."""
    low = np.full(source.d, np.inf)
    high = np.full(source.d, -np.inf)
    total = np.zeros(source.d)
    n_stored = np.zeros(source.d)
    for X in _iter_tiles(source):
        low = np.minimum(low, _flatten(X.min(axis=0)))
        high = np.maximum(high, _flatten(X.max(axis=0)))
        total += _flatten(X.sum(axis=0))
        n_stored += np.bincount(X.indices, minlength=source.d) if sp.issparse(X) else X.shape[0]
    return low, high, total, source.n - n_stored


def _sum_deviations(source: RowSource, mean: FloatArray, peak: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of (x − μ)/peak and of its square over the stored entries of each column: (d,) each."""
    shift = np.zeros(source.d)
    squares = np.zeros(source.d)
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
    """Yield all rows in tiles, as dense or CSR arrays."""
    for block in source.blocks():
        for tile in block.iter_tiles():
            if tile.n:
                yield sp.csr_array(tile.matrix) if source.is_sparse else tile.matrix


def _flatten(row: Any) -> FloatArray:
    """Return a row that may be sparse as a vector."""
    return np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).ravel()
