"""Rows that are an array in memory: one block, so that each product is one call of the BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import Matrix
from qpsvm.rows.blocks import Block, DenseBlock
from qpsvm.rows.source import RowSource
from qpsvm.rows.sparse_block import SparseBlock


def as_block(X: Matrix, start: int = 0) -> Block:
    """An array of float64, (k, d), dense or compressed, as the block that begins at a row of its source."""
    return SparseBlock(X, start) if sp.issparse(X) else DenseBlock(X, start)


class ArrayRows(RowSource):
    """The rows of an array, by reference.

    Parameters
    ----------
    X : ndarray, csr_array or csc_array of float64, shape (n, d)
        Dense in C or F order; sparse without duplicate entries.
    """

    def __init__(self, X: Matrix) -> None:
        self.is_sparse = sp.issparse(X)
        self._block = as_block(X)
        self.n, self.d = self._block.n, self._block.d

    def blocks(self) -> Iterator[Block]:
        """The one block."""
        return iter((self._block,))

    @property
    def whole(self) -> Matrix:
        """The array itself."""
        return self._block.matrix

    @property
    def entries(self) -> int:
        """Numbers stored."""
        return self._block.entries

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self._block.nbytes


def as_row_source(X: Any) -> RowSource:
    """A source of the rows of X: X itself if it is one.

    Parameters
    ----------
    X : RowSource, ndarray or SciPy sparse, shape (n, d)
        An array of other numbers than float64, or a sparse one that is not compressed or holds duplicates, is
        converted, which takes a copy.
    """
    if isinstance(X, RowSource):
        return X
    if not sp.issparse(X):
        return ArrayRows(np.asarray(X, dtype=np.float64))
    if not isinstance(X, (sp.csr_array, sp.csc_array)) or X.dtype != np.float64:
        X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's own arrays are left as they are
        X.sum_duplicates()
    return ArrayRows(X)
