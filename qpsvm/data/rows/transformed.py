"""Transform, select, repeat or concatenate the rows of other sources when they are read, without a copy.

Each class is a `RowSource` over other sources. `features` and `standardised` have further transforms.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.data.rows.blocks import Block, Moments, RowIndex, with_ones
from qpsvm.data.rows.memory import as_block, as_row_source
from qpsvm.data.rows.source import BlockRows, RowSource, Task
from qpsvm.data.rows.sparse_block import SparseBlock
from qpsvm.data.rows.tasks import ComposedTask, take

#: Largest size in bytes of selected rows that are fetched from a remote source; larger selections are stored there.
MAX_FETCHED_BYTES = 1e9


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
        self, task: Task, *vectors: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        return self.source.map_blocks(ComposedTask(self.transform, task), *vectors, rows=rows, add=add)

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


@dataclass(frozen=True)
class ShiftTransform:
    """Transform of a block to the dense rows (x_i − μ)/s, computed as exactly as in a copy.

    mean (d,): μ.
    scale (d,): s; None for 1.
    """

    mean: FloatArray
    scale: FloatArray | None = None

    def __call__(self, block: Block) -> Block:
        def build_rows(block_rows: RowIndex) -> FloatArray:
            rows: FloatArray = as_dense(block.take(block_rows)) - self.mean
            if self.scale is not None:
                rows /= self.scale
            return rows

        return Block(block.n, block.d, block.rows.start, build_rows)


class CentredRows(TransformedRows):
    """The rows x_i − μ, computed as exactly as in a centred copy: μ is subtracted from each tile before a product.

    X w − μᵀw would be faster, but loses digits if μ is large.

    origin (d,): μ.
    """

    def __init__(self, source: RowSource, origin: FloatArray) -> None:
        super().__init__(source, ShiftTransform(origin))
        self.origin = origin
        self.is_sparse = False  # x_i − μ has no zeros


class RowsWithOnes(TransformedRows):
    """The rows (x_i, 1), whose last weight is an intercept, without a copy of the x_i."""

    def __init__(self, source: RowSource) -> None:
        super().__init__(source, append_ones, source.d + 1)


def append_ones(block: Block) -> Block:
    """Return the rows (x_i, 1) of a block."""
    if isinstance(block, SparseBlock):
        return SparseBlock(with_ones(block.matrix), block.rows.start)
    return Block(block.n, block.d + 1, block.rows.start, lambda block_rows: with_ones(block.take(block_rows)))


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

    From a remote source, up to `MAX_FETCHED_BYTES` are fetched; more rows are gathered and stored in its processes.
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
    """All rows of a source, then all again, stored once: the two rows per sample in the dual of a regression.

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
        """Return the moments as in `RowSource.moments`; the source may be asked for a row several times."""
        return self.source.moments(rows % self.source.n, scale)

    def weights(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Return Xᵀβ or X_Jᵀβ; over all rows, the parts of β are summed first."""
        if rows is not None:
            return self.source.weights(beta, rows % self.source.n)
        return self.source.weights(beta.reshape(self.times, self.source.n, *beta.shape[1:]).sum(axis=0))

    def take(self, rows: IntArray | slice) -> Matrix:
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        return self.source.take(index % self.source.n)
