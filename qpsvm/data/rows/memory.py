"""Store rows as one array in memory, or as several.

Arrays of a caller's must stay as they are while a problem holds them: a change in place is noticed, and said. A copy
would take as much memory as the samples. So what is kept is the CRC-32 of each strip of the bytes: a change is noticed
but for a chance of 2⁻³² a strip.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import as_read_only, is_ours, list_arrays
from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.data.rows.blocks import ALL, Block, DenseBlock
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock

#: Bytes of a strip, a quarter of a megabyte, and the seconds that one takes.
STRIP_BYTES, BYTE_SECONDS = 1 << 18, 3e-10


class ChangeGuard:
    """Arrays as they were when they were given.

    arrays: Kept by reference. Those that cannot be written to are left out.
    name: What messages call them.
    """

    def __init__(self, arrays: Iterable[Matrix], name: str) -> None:
        self.name = name
        self._parts = [part for array in arrays if not is_ours(array) for part in map(as_read_only, list_arrays(array))]
        self._sums: list[list[int]] | None = None
        self._is_started = False

    def start_run(self) -> None:
        """Scan the arrays before anything is computed from them, unless that was done."""
        self._is_started = self._sums is None
        self._sums = self._scan_parts() if self._is_started else self._sums

    def end_run(self) -> None:
        """End the run."""
        self._is_started = False

    def _scan_parts(self) -> list[list[int]]:
        return [compute_checksums(part) for part in self._parts]

    def check(self) -> None:
        """Look whether they are what they were at the first look; a run that began with it needs no other."""
        if self._is_started or not self._parts:
            return
        sums = self._scan_parts()
        if self._sums is None:
            self._sums = sums
        elif sums != self._sums:
            raise DataError(
                f"{self.name} was changed in place since the problem was made, which has worked things out of the "
                f"former numbers: make a new problem of the new ones, or give it a copy, {self.name}.copy(), from the "
                "start"
            )


def compute_checksums(array: NDArray[Any]) -> list[int]:
    """Return the checksum of each strip of the bytes of an array."""
    if array.T.flags.c_contiguous:
        array = array.T
    if array.nbytes <= STRIP_BYTES:
        return [zlib.crc32(np.ascontiguousarray(array).data)]
    tiles = split_strips(len(array), max(1, STRIP_BYTES * len(array) // max(array.nbytes, 1)))
    sums = [0] * len(tiles)

    def add(k: int) -> None:
        sums[k] = zlib.crc32(np.ascontiguousarray(array[tiles[k]]).data)

    run_tiles(add, range(len(tiles)), BYTE_SECONDS * array.nbytes)
    return sums


def as_block(X: Matrix, start: int = 0, columns: slice | IntArray = ALL) -> Block:
    """Wrap an array (k, …) of numbers of any kind, dense or compressed, as the block that begins at row `start`.

    Of a dense one, `columns` (d,) are which of its columns are features.
    """
    if not isinstance(X, np.ndarray):
        return SparseBlock(X, start)
    if isinstance(columns, slice) and columns != ALL:
        X, columns = X[:, columns], ALL
    if X.dtype == np.float64 and X.flags.aligned and isinstance(columns, slice):
        return DenseBlock(X, start)
    d = X.shape[1] if isinstance(columns, slice) else len(columns)
    return Block(len(X), d, start, lambda at: np.asarray(X[at][:, columns], dtype=np.float64))


class ArrayRows(RowSource):
    """The rows of an array, by reference.

    X (n, d): Dense in C or F order; sparse without duplicate entries.
    """

    def __init__(self, X: Matrix) -> None:
        self.is_sparse = not isinstance(X, np.ndarray)
        self.d = int(X.shape[1])
        self._store_parts([X])

    def _store_parts(self, parts: Sequence[Matrix]) -> None:
        self.n, self._parts, self._blocks = 0, [as_read_only(part) for part in parts], list[Block]()
        for part in self._parts:
            self._blocks.append(as_block(part, self.n))
            self.n += int(part.shape[0])

    def blocks(self) -> Iterator[Block]:
        return iter(self._blocks)

    @property
    def memory_matrix(self) -> Matrix | None:
        return self._parts[0]

    def sum_of_squares(self) -> float:
        if self.is_sparse:
            return float(sum(part.data @ part.data for part in self._parts))
        one = len(self._parts) == 1
        if not one or self._parts[0].dtype != np.float64:  # squares of other numbers overflow, or are rounded
            return super().sum_of_squares()
        values = self._parts[0].ravel(order="K")
        return float(values @ values)

    @property
    def entries(self) -> int:
        return sum(block.entries for block in self._blocks)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for held in self._parts for part in list_arrays(held))


def as_row_source(X: Any) -> RowSource:
    """Return a source of the rows of X: X itself if it is one. Shapes: X (n, d)."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, np.ndarray) or not sp.issparse(X):
        return ArrayRows(np.asarray(X, dtype=np.float64))
    return ArrayRows(_compress(X, columns=True))


def _compress(X: Any, columns: bool = False) -> Matrix:
    """Convert to compressed rows of float64 without duplicates; with `columns`, keep compressed columns."""
    kinds = (sp.csr_array, sp.csc_array) if columns else (sp.csr_array,)
    if not isinstance(X, kinds) or X.dtype != np.float64:
        X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's own arrays are left as they are
        X.sum_duplicates()
    return X
