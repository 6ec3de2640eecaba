"""Rows whose columns have mean 0 and deviation 1, made from those of another source as they are needed.

    (STD.1)  x̃_ij = (x_ij − μ_j)/s_j,   s_j² = (1/n) Σ_i (x_ij − μ_j)²

The two passes that find μ and s are sums over blocks, and over the members of a team. Sparse rows stay sparse: they are
divided by s, and no μ is subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.rows.blocks import Block, Places
from qpsvm.rows.made import MadeBlock
from qpsvm.rows.source import RowSource
from qpsvm.rows.sparse_block import SparseBlock


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
