"""Rows that are an array in memory: one block, so that each product is one call of the BLAS; or several arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import read_only
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.base.resources.communicator import ALONE, Team
from qpsvm.data.rows.blocks import Block, DenseBlock, StoredBlock
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock


def as_block(X: Matrix, start: int = 0) -> Block:
    """An array of float64, (k, d), dense or compressed, as the block that begins at a row of its source."""
    return SparseBlock(X, start) if sp.issparse(X) else DenseBlock(X, start)


class ArrayRows(RowSource):
    """The rows of an array, by reference.

    X (n, d): Dense in C or F order; sparse without duplicate entries.
    team: Whoever has the other rows.
    """

    def __init__(self, X: Matrix, team: Team = ALONE) -> None:
        self.team = team
        self.is_sparse = sp.issparse(X)
        self._block = as_block(read_only(X))
        self.n, self.d = self._block.n, self._block.d

    def blocks(self) -> Iterator[Block]:
        return iter((self._block,))

    @property
    def whole(self) -> Matrix:
        return self._block.matrix

    @property
    def entries(self) -> int:
        return self._block.entries

    @property
    def nbytes(self) -> int:
        return self._block.nbytes


class ChunkRows(RowSource):
    """The rows of several arrays in memory, one behind the other, by reference: what a member of a team has.

    Numbers other than float64 are converted a tile at a time, in each pass. There may be no array at all, or arrays
    without rows. Every member of the team makes one at the same time.

    chunks (k, d): Of the same width; all are taken as sparse where any is, on any member. Sparse ones that are
        not compressed rows of float64 without duplicates are converted, which takes a copy.
    team: Whoever has the other rows.
    width: d, where no member has an array that says so.
    """

    def __init__(self, chunks: Sequence[Matrix], team: Team = ALONE, width: int | None = None) -> None:
        self.team = team
        own = [(int(chunk.shape[1]), int(sp.issparse(chunk))) for chunk in chunks]
        own += [] if width is None else [(width, 0)]
        told = team.joined(np.array(own, dtype=np.intp).reshape(-1, 2))
        widths = np.unique(told[:, 0])
        if len(widths) != 1:
            found = " and ".join(str(size) for size in widths.tolist()) or "no"
            raise DataError(f"the arrays of rows have {found} columns; they must all have the same number")
        self.d, self.is_sparse = int(widths[0]), bool(told[:, 1].any())
        self._chunks = [
            read_only(_compressed(chunk) if self.is_sparse else chunk) for chunk in chunks if chunk.shape[0]
        ]
        self._starts = np.cumsum([0, *(chunk.shape[0] for chunk in self._chunks)])
        self.n = int(self._starts[-1])

    def blocks(self) -> Iterator[Block]:
        for chunk, start in zip(self._chunks, self._starts[:-1].tolist(), strict=True):
            plain = self.is_sparse or chunk.dtype == np.float64
            yield as_block(chunk, start) if plain else StoredBlock(chunk, start)

    @property
    def entries(self) -> int:
        return sum(int(chunk.nnz) if self.is_sparse else int(chunk.size) for chunk in self._chunks)

    @property
    def nbytes(self) -> int:
        return sum(as_block(chunk).nbytes for chunk in self._chunks)


def as_row_source(X: Any, team: Team = ALONE) -> RowSource:
    """A source of the rows of X: X itself if it is one.

    Shapes: X (n, d).
    """
    if isinstance(X, RowSource):
        return X
    if not sp.issparse(X):
        return ArrayRows(np.asarray(X, dtype=np.float64), team)
    return ArrayRows(_compressed(X, columns=True), team)


def _compressed(X: Any, columns: bool = False) -> Matrix:
    """Compressed rows of float64 without duplicates; compressed columns are left as they are, if so wished."""
    kinds = (sp.csr_array, sp.csc_array) if columns else (sp.csr_array,)
    if not isinstance(X, kinds) or X.dtype != np.float64:
        X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's own arrays are left as they are
        X.sum_duplicates()
    return X
