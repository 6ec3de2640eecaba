"""Rows of features that a map makes of the rows of another source: φ(x_i) in explicit coordinates, a few at a time.

Passes over the rows are many, and a feature costs as much as a kernel value. So all are made once and kept, where they
fit into memory. Where they do not, each pass makes them anew: in the same tiles, so that they are the same numbers to
the last bit, whoever asks for them. A certificate is one of these numbers, and takes several passes.

Rows whose columns have mean 0 and deviation 1, made from those of another source as they are needed.

    (STD.1)  x̃_ij = (x_ij − μ_j)/s_j,   s_j² = (1/n) Σ_i (x_ij − μ_j)²

The two passes that find μ and s are sums over blocks, and over the members of a team. Sparse rows stay sparse: they are
divided by s, and no μ is subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.resources.limits import available_memory
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.data.rows.blocks import Block, DenseBlock, Places, rows_at_a_time
from qpsvm.data.rows.made import MadeBlock
from qpsvm.data.rows.source import Found, RowSource
from qpsvm.data.rows.sparse_block import SparseBlock

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


class Standardised(RowSource):
    """The rows (x_i − μ)/s, as exact as a standardised copy; sparse ones x_i/s.

    mean (d,): What is subtracted: zeros where rows are sparse.
    scale (d,)
    """

    def __init__(self, source: RowSource, mean: FloatArray, scale: FloatArray) -> None:
        self.source, self.scale = source, scale
        self.mean = np.zeros_like(mean) if source.is_sparse else mean
        self.team, self.is_sparse, self.feature_names = source.team, source.is_sparse, source.feature_names
        self.n, self.d = source.shape
        self.target, self.weight = getattr(source, "target", None), getattr(source, "weight", None)

    def blocks(self) -> Iterator[Block]:
        """Those of the source, each standardised a tile at a time; sparse ones in a copy of their numbers."""
        for block in self.source.blocks():
            if not self.is_sparse:
                yield StandardisedBlock(block, self.mean, self.scale)
                continue
            X = sp.csr_array(block.matrix)
            divided = sp.csr_array((X.data / self.scale[X.indices], X.indices, X.indptr), shape=X.shape)
            divided.has_canonical_format = True
            yield SparseBlock(divided, block.rows.start)

    def where(self, row: int) -> str:
        """A row in words, where the source has some for it."""
        said = getattr(self.source, "where", None)
        return f"row {row}" if said is None else str(said(row))

    @property
    def entries(self) -> int:
        """Those of the source."""
        return self.source.entries

    @property
    def nbytes(self) -> int:
        """Of the source, μ and s."""
        return self.source.nbytes + self.mean.nbytes + self.scale.nbytes


class StandardisedBlock(MadeBlock):
    """The dense rows of a block, standardised.

    mean, scale (d,)
    """

    def __init__(self, block: Block, mean: FloatArray, scale: FloatArray) -> None:
        self._block, self._mean, self._scale = block, mean, scale
        self.n, self.d, self.rows = block.n, block.d, block.rows

    def made(self, at: Places) -> FloatArray:
        """(X_J − 1μᵀ)/s, in a new array."""
        made: FloatArray = self._block.take(at) - self._mean
        made /= self._scale
        return made


def standardised(source: RowSource) -> Standardised:
    """The rows of a source with mean 0 and deviation 1 in every column; of a constant one the deviation is called 1."""
    low, high, total, zeros, n = _ends(source)
    peak = np.maximum(np.abs(low), np.abs(high))  # squares of what is divided by it stay in range
    peak[peak == 0.0] = 1.0
    mean = total / n
    shift, squares = source.team.sums(*_deviations(source, mean, peak))
    shift = (shift - zeros * (mean / peak)) / n
    squares = squares + zeros * (mean / peak) ** 2
    scale = peak * np.sqrt(np.maximum(squares / n - shift * shift, 0.0))
    constant = low == high
    mean = np.where(constant, low, mean + peak * shift)
    return Standardised(source, mean, np.where(constant | (scale == 0.0), 1.0, scale))


def _ends(source: RowSource) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """The least, the largest and the sum of the numbers of each column, how many zeros are not stored; and n."""
    low, high = np.full(source.d, np.inf), np.full(source.d, -np.inf)
    total, stored = np.zeros(source.d), np.zeros(source.d)
    for X in _tiles(source):
        low, high = np.minimum(low, _flat(X.min(axis=0))), np.maximum(high, _flat(X.max(axis=0)))
        total += _flat(X.sum(axis=0))
        stored += np.bincount(X.indices, minlength=source.d) if sp.issparse(X) else X.shape[0]
    ends = source.team.joined(np.concatenate([low, -high])[None, :]).min(axis=0)
    total, stored, n = source.team.sums(total, stored, float(source.n))
    return ends[: source.d], -ends[source.d :], total, n - stored, n


def _deviations(source: RowSource, mean: FloatArray, peak: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums of (x − μ)/p and of its square over what this member stores: (d,), (d,)."""
    shift, squares = np.zeros(source.d), np.zeros(source.d)
    for X in _tiles(source):
        if sp.issparse(X):
            deviation = (X.data - mean[X.indices]) / peak[X.indices]
            shift += np.bincount(X.indices, deviation, source.d)
            squares += np.bincount(X.indices, deviation * deviation, source.d)
        else:
            deviation = (X - mean) / peak
            shift += deviation.sum(axis=0)
            squares += np.einsum("ij,ij->j", deviation, deviation)
    return shift, squares


def _tiles(source: RowSource) -> Iterator[Matrix]:
    """All rows, a few at a time."""
    for block in source.blocks():
        for piece in block.pieces():
            if piece.n:
                yield sp.csr_array(piece.matrix) if source.is_sparse else piece.matrix


def _flat(row: Any) -> FloatArray:
    """A row that may be sparse, as a vector."""
    return np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).ravel()


__all__ = ["Mapped", "RowMap"]
