"""Standardise the rows of a source when they are read, without a copy (`standardise_rows`, `StandardisedRows`).

    (STD.1)  x̃_ij = (x_ij − μ_j)/s_j,   s_j² = (1/n) Σ_i (x_ij − μ_j)²

Both are sums over blocks. A first pass computes μ. A second pass sums the deviations from that μ, whose mean is its
rounding error, and their squares. Sparse rows stay sparse: they are divided by s, and μ is not subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock
from qpsvm.data.rows.transformed import ShiftTransform, TransformedRows


def standardise_rows(source: RowSource) -> StandardisedRows:
    """Standardise the rows of a source to mean 0 and deviation 1 in every column; a constant column has s = 1.

    Sparse rows are divided by the same s, but are not centred.
    """
    n = source.n
    low, high, total, n_zeros = _scan_columns(source)
    peak = np.maximum(np.abs(low), np.abs(high))  # deviations are divided by it, so that squares do not overflow
    peak[peak == 0.0] = 1.0
    mean = total / n
    deviations, squares = _sum_deviations(source, mean, peak)
    mean_deviation = (deviations - n_zeros * (mean / peak)) / n  # the rounding error of `mean`, over peak
    squares = squares + n_zeros * (mean / peak) ** 2
    scale = peak * np.sqrt(np.maximum(squares / n - mean_deviation * mean_deviation, 0.0))
    is_constant = low == high
    mean = np.where(is_constant, low, mean + peak * mean_deviation)  # exact if constant
    return StandardisedRows(source, mean, np.where(is_constant | (scale == 0.0), 1.0, scale))


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


@dataclass(frozen=True)
class DivideTransform:
    """Transform of a block of sparse rows, without duplicate entries, to the rows x_i/s, for s (d,)."""

    scale: FloatArray

    def __call__(self, block: Block) -> Block:
        rows = sp.csr_array(block.matrix)
        divided = sp.csr_array((rows.data / self.scale[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
        divided.has_canonical_format = True
        return SparseBlock(divided, block.rows.start)


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
    deviations = np.zeros(source.d)
    squares = np.zeros(source.d)
    for X in _iter_tiles(source):
        if sp.issparse(X):
            deviation = (X.data - mean[X.indices]) / peak[X.indices]
            deviations += np.bincount(X.indices, deviation, source.d)
            squares += np.bincount(X.indices, deviation * deviation, source.d)
        else:
            deviation = (X - mean) / peak
            deviations += deviation.sum(axis=0)
            squares += np.einsum("ij,ij->j", deviation, deviation)
    return deviations, squares


def _iter_tiles(source: RowSource) -> Iterator[Matrix]:
    """Yield all rows in tiles, as dense or CSR arrays."""
    for block in source.blocks():
        for tile in block.iter_tiles():
            if tile.n:
                yield sp.csr_array(tile.matrix) if source.is_sparse else tile.matrix


def _flatten(row: Any) -> FloatArray:
    """Return a row that may be sparse as a vector."""
    return np.asarray(row.toarray() if sp.issparse(row) else row, dtype=np.float64).ravel()
