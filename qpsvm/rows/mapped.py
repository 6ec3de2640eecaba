"""Rows of features that a map makes of the rows of another source: φ(x_i) in explicit coordinates, a few at a time.

Passes over the rows are many, and a feature costs as much as a kernel value. So all are made once and kept, where they
fit into memory. Where they do not, each pass makes them anew: in the same tiles, so that they are the same numbers to
the last bit, whoever asks for them. A certificate is one of these numbers, and takes several passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from qpsvm.arrays.remembered import remembered
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.resources.memory import available_memory
from qpsvm.resources.workers import in_tiles, strips
from qpsvm.rows.blocks import Block, DenseBlock
from qpsvm.rows.source import Found, RowSource
from qpsvm.rows.tiles import rows_at_a_time

#: Share of the memory that is there for features that are kept: a solver takes copies of some of the rows.
KEPT_SHARE = 0.4
#: Tiles that are made at a time, where the features are not kept: enough for several threads.
TILES_AT_A_TIME = 16


class RowMap(Protocol):
    """What makes features of rows."""

    @property
    def width(self) -> int:
        """r, how many features it makes."""

    def features(self, X: Matrix) -> FloatArray:
        """φ(x_i) for the rows of X (k, d): (k, r), a new array."""

    @property
    def row_seconds(self) -> float:
        """What the features of one row take one core, roughly."""


class Mapped(RowSource):
    """The rows φ(x_i) of a source of rows x_i.

    source: Of x_i, (n, d).
    row_map: φ; it stays as it is.
    keep: Whether the features are kept in memory; by default where they fit.
    """

    is_sparse = False

    def __init__(self, source: RowSource, row_map: RowMap, keep: bool | None = None) -> None:
        self.source, self.row_map = source, row_map
        self.n, self.d, self.team = source.n, row_map.width, source.team
        self._keep = keep

    @remembered
    def is_kept(self) -> bool:
        """Whether the features are kept in memory."""
        return 8.0 * self.entries <= KEPT_SHARE * available_memory() if self._keep is None else self._keep

    @remembered
    def whole(self) -> Matrix | None:
        """All features, (n, r), where they are kept."""
        if not self.is_kept:
            return None
        out = np.empty((self.n, self.d))
        for block in self.source.blocks():
            self._fill(block, 0, out[block.rows])
        return out

    @property
    def _step(self) -> int:
        """Rows of a tile: both x and φ(x) of them stay in the cache."""
        return rows_at_a_time(max(self.source.d, self.d))

    def _fill(self, block: Block, start: int, out: FloatArray) -> None:
        """The features of rows of a block from `start` on, where a tile begins."""
        tiles = strips(len(out), self._step)

        def make(tile: slice) -> None:
            out[tile] = self.row_map.features(block.take(slice(start + tile.start, start + tile.stop)))

        in_tiles(make, tiles, len(out) * self.row_map.row_seconds)

    def blocks(self) -> Iterator[Block]:
        """The one block of what is kept; or some tiles of each block of the source."""
        if self.whole is not None:
            yield DenseBlock(self.whole)
            return
        for block in self.source.blocks():
            for part in strips(block.n, TILES_AT_A_TIME * self._step):
                out = np.empty((part.stop - part.start, self.d))
                self._fill(block, part.start, out)
                yield DenseBlock(out, block.rows.start + part.start)

    def holding(self, rows: IntArray) -> Iterator[Found]:
        """The tiles that some rows lie in, each made whole."""
        if self.whole is not None:
            yield from super().holding(rows)
            return
        order = np.argsort(rows, kind="stable")
        places = rows[order]
        for block in self.source.blocks():
            for tile in strips(block.n, self._step):
                start = block.rows.start + tile.start
                low, high = np.searchsorted(places, [start, block.rows.start + tile.stop])
                if low < high:
                    out = np.empty((tile.stop - tile.start, self.d))
                    self._fill(block, tile.start, out)
                    yield DenseBlock(out, start), places[low:high] - start, order[low:high]

    @property
    def entries(self) -> int:
        """nr."""
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        """Of the source, and of the features where they are kept."""
        return self.source.nbytes + (8 * self.entries if self.is_kept else 0)


__all__ = ["Mapped", "RowMap"]
