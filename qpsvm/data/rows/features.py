"""Compute the features φ(x_i) of the rows of a source (`map_rows`, `FeatureRows`).

Features cost as much as kernel values, and are needed in many passes. So they are computed once and cached if they fit
into memory. Otherwise each pass computes them again, in the same tiles, so that all passes get the same floating-point
values; a certificate needs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.limits import MEMORY_SHARE, find_available_memory
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.data.rows.blocks import Block, DenseBlock, RowIndex, compute_tile_rows
from qpsvm.data.rows.source import BlockRows, RowMap, RowSource

#: Number of tiles of features computed at a time if they are not cached: enough for several threads.
TILES_AT_A_TIME = 16


def map_rows(source: RowSource, row_map: RowMap) -> RowSource:
    """Return the rows φ(x_i) of a map; for a remote source they are computed and stored in its processes."""
    if not source.is_remote:
        return FeatureRows(source, row_map)
    features = source.persist(FeatureTask(row_map))
    features.row_map = row_map
    return features


@dataclass(frozen=True)
class FeatureTask:
    """Task that computes the features of selected rows of a block: (k, r)."""

    row_map: RowMap

    def __call__(self, block: Block, block_rows: RowIndex) -> FloatArray:
        return self.row_map.features(block.take(block_rows))


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
