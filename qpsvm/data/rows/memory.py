"""Use an array in memory as a source of rows (`ArrayRows`), and detect in-place changes of arrays (`ChangeGuard`).

The caller's arrays must not change while a problem refers to them. Comparing with a copy would take as much memory as
the samples, so the CRC-32 of each strip of bytes is stored instead. A changed strip goes undetected with probability
2⁻³².
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import as_read_only, list_arrays, owns_frozen_data
from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.data.rows.blocks import ALL, Block, DenseBlock
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock

#: Size of a strip.
STRIP_BYTES = 1 << 18
#: Estimated time of a checksum.
SECONDS_PER_BYTE = 3e-10


class ChangeGuard:
    """Detect in-place changes of arrays since they were first scanned.

    A run is a solve. The first run scans the arrays before it computes anything from them. Checks after it scan again.

    arrays: Referenced, not copied. Frozen arrays of the library itself are skipped.
    name: Name of the arrays in messages.
    """

    def __init__(self, arrays: Iterable[Matrix], name: str) -> None:
        self.name = name
        shared = [array for array in arrays if not owns_frozen_data(array)]
        self._parts = [as_read_only(part) for array in shared for part in list_arrays(array)]
        self._checksums: list[list[int]] | None = None
        self._is_in_first_run = False

    def start_run(self) -> None:
        """Scan the arrays, unless they have been scanned before."""
        self._is_in_first_run = self._checksums is None
        if self._checksums is None:
            self._checksums = self._compute_checksums()

    def end_run(self) -> None:
        """End the run, so that `check` scans again."""
        self._is_in_first_run = False

    def check(self) -> None:
        """Compare the arrays with the first scan; make that scan if there is none. Raises DataError if they differ.

        During the first run, which has just scanned the arrays, nothing is compared.
        """
        if self._is_in_first_run or not self._parts:
            return
        checksums = self._compute_checksums()
        if self._checksums is None:
            self._checksums = checksums
        elif checksums != self._checksums:
            raise DataError(
                f"{self.name} was changed in place since the problem was built, which caches results of the old "
                f"values: build a new problem from the new values, or pass a copy, {self.name}.copy(), from the start"
            )

    def _compute_checksums(self) -> list[list[int]]:
        return [compute_checksums(part) for part in self._parts]


def compute_checksums(array: NDArray[Any]) -> list[int]:
    """Return the checksum of each strip of the bytes of an array."""
    if array.T.flags.c_contiguous:
        array = array.T  # the strips are then views, not copies
    if array.nbytes <= STRIP_BYTES:
        return [zlib.crc32(np.ascontiguousarray(array).data)]
    rows_per_strip = max(1, STRIP_BYTES * len(array) // max(array.nbytes, 1))
    strips = split_strips(len(array), rows_per_strip)
    checksums = [0] * len(strips)

    def compute_strip(k: int) -> None:
        checksums[k] = zlib.crc32(np.ascontiguousarray(array[strips[k]]).data)

    run_tiles(compute_strip, range(len(strips)), SECONDS_PER_BYTE * array.nbytes)
    return checksums


def as_block(X: Matrix, start: int = 0, columns: slice | IntArray = ALL) -> Block:
    """Wrap a matrix of k rows, dense or sparse and compressed, as the block that begins at row `start`.

    columns (d,): The columns of a dense matrix that are features.
    """
    if not isinstance(X, np.ndarray):
        return SparseBlock(X, start)
    if not isinstance(columns, slice):
        return Block(len(X), len(columns), start, lambda rows: np.asarray(X[rows][:, columns], dtype=np.float64))
    features = X if columns == ALL else X[:, columns]  # a view
    if features.dtype == np.float64 and features.flags.aligned:
        return DenseBlock(features, start)  # computes with the array itself; other blocks convert rows on access
    return Block(len(X), features.shape[1], start, lambda rows: np.asarray(features[rows], dtype=np.float64))


class ArrayRows(RowSource):
    """The rows of an array, which is referenced, not copied.

    X (n, d): Dense in C or F order, or compressed sparse without duplicate entries.
    """

    def __init__(self, X: Matrix) -> None:
        self.is_sparse = not isinstance(X, np.ndarray)
        self.n, self.d = map(int, X.shape)
        self._matrix: Matrix = as_read_only(X)
        self._block = as_block(self._matrix)

    def blocks(self) -> Iterator[Block]:
        return iter([self._block])

    @property
    def memory_matrix(self) -> Matrix | None:
        return self._matrix

    def sum_of_squares(self) -> float:
        has_other_dtype = not self.is_sparse and self._matrix.dtype != np.float64
        if has_other_dtype:  # its squares may be rounded, or overflow
            return super().sum_of_squares()
        values = self._matrix.data if self.is_sparse else self._matrix.ravel(order="K")
        return float(values @ values)

    @property
    def entries(self) -> int:
        return self._block.entries

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in list_arrays(self._matrix))


def as_row_source(X: Any) -> RowSource:
    """Return a source of the rows of X (n, d): X itself if it is a source."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, np.ndarray) or not sp.issparse(X):
        return ArrayRows(np.asarray(X, dtype=np.float64))
    return ArrayRows(_compress(X))


def _compress(X: Any) -> Matrix:
    """Convert to compressed rows (or leave compressed columns) of float64, without duplicate entries."""
    if not isinstance(X, (sp.csr_array, sp.csc_array)) or X.dtype != np.float64:
        X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's array is not changed
        X.sum_duplicates()
    return X
