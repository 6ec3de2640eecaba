"""Sparse rows that are stored in three arrays, CSR, which may be maps of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.frozen import read_only
from qpsvm.arrays.types import IntArray
from qpsvm.rows.blocks import Block
from qpsvm.rows.sparse_block import SparseBlock
from qpsvm.sources.kinds import is_mapped
from qpsvm.sources.stored import BLOCK_NUMBERS, Beside, Origin, StoredRows


class SparseMap(StoredRows):
    """The rows of a CSR array without duplicate entries.

    data (m,): The numbers, row behind row.
    indices (m,): Their columns.
    indptr (n + 1,): Where each row begins.
    d: The columns.
    block_rows: By default a block has as many rows as hold so many numbers (`BLOCK_NUMBERS`).
    """

    is_sparse = True

    def __init__(
        self, data: NDArray[Any], indices: NDArray[Any], indptr: IntArray, d: int, origin: Origin, beside: Beside,
        block_rows: int | None = None,
    ) -> None:  # fmt: skip
        self.data, self.indices, self.indptr = read_only(data), read_only(indices), read_only(indptr)
        n = len(indptr) - 1
        super().__init__((n, d), origin, beside, block_rows or max(1, BLOCK_NUMBERS * n // max(len(data), 1)))

    def blocks(self) -> Iterator[Block]:
        """Views of some rows."""
        for start in range(0, self.n, self.block_rows):
            self.origin.watch.check()
            bounds = self.indptr[start : start + self.block_rows + 1]
            first, end = int(bounds[0]), int(bounds[-1])
            places = bounds - first
            if places[-1] <= np.iinfo(self.indices.dtype).max:
                places = places.astype(self.indices.dtype)
            values = np.asarray(self.data[first:end], dtype=np.float64)
            X = sp.csr_array((values, self.indices[first:end], places), shape=(len(places) - 1, self.d))
            X.has_canonical_format = True
            yield SparseBlock(X, start)

    @property
    def entries(self) -> int:
        """The numbers stored."""
        return len(self.data)

    @property
    def nbytes(self) -> int:
        """Of what lies in memory for good: a map does not."""
        return sum(part.nbytes for part in (self.data, self.indices, self.indptr) if not is_mapped(part))
