"""Rows that are an array in memory: one block, so that each product is one call of the BLAS; or several arrays.

Arrays of a caller's must stay as they are while a problem holds them: a change in place is noticed, and said. A copy
would take as much memory as the samples. So what is kept is a checksum of each strip of the bytes: any change of one
number is noticed for certain, any other one but for a chance of about 2⁻³² a strip.

    (SEAL.1)  Σ_j k_j (x_j ⊕ ⌊x_j/2³²⌋) mod 2⁶⁴ of a strip of words x of 64 bits, for odd keys k that were drawn once

The words are mixed before they are multiplied, because the numbers of a table often differ in their upper bits alone.
Sums of this kind take about half the time of CRC-32, which is kept for the last bytes, and for arrays of few.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import is_ours, parts_of_array, read_only
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.base.resources.communicator import SERIAL, Communicator
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.data.rows.blocks import Block, DenseBlock, stored_block
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock

#: Words of a strip; strips that are mixed at a time, a quarter of a megabyte; and the seconds that a byte takes.
WORDS, STRIPS, BYTE_SECONDS = 4096, 8, 1.5e-10


class Seal:
    """Arrays as they were when they were given.

    arrays: Kept by reference. Those that nobody can write to are left out.
    name: What messages call them.
    """

    def __init__(self, arrays: Iterable[Matrix], name: str) -> None:
        self.name = name
        self._parts = [part for array in arrays if not is_ours(array) for part in map(read_only, parts_of_array(array))]
        self._sums: list[list[int]] | None = None
        self._begun = False

    def begin(self) -> None:
        """The first look, if there was none: before anything is worked out of them."""
        self._begun = self._sums is None
        self._sums = self._look() if self._begun else self._sums

    def end(self) -> None:
        """The end of what began there."""
        self._begun = False

    def _look(self) -> list[list[int]]:
        return [checksums(part) for part in self._parts]

    def check(self) -> None:
        """Look whether they are what they were at the first look; a run that began with that one does without another.

        Raises DataError.
        """
        if self._begun or not self._parts:
            return
        sums = self._look()
        if self._sums is None:
            self._sums = sums
        elif sums != self._sums:
            raise DataError(
                f"{self.name} was changed in place since the problem was made, which has worked things out of the "
                f"former numbers: make a new problem of the new ones, or give it a copy, {self.name}.copy(), from the "
                "start"
            )


def checksums(array: NDArray[Any]) -> list[int]:
    """The checksum of each strip of the bytes of an array."""
    if not array.flags.c_contiguous:
        if not array.T.flags.c_contiguous:
            step = max(1, 8 * WORDS * STRIPS * len(array) // max(array.nbytes, 1))
            parts = (np.ascontiguousarray(array[i : i + step]) for i in range(0, len(array), step))
            return [each for part in parts for each in checksums(part)]
        array = array.T
    if array.nbytes < 8 * WORDS:
        return [zlib.crc32(array.data)]
    octets = array.reshape(-1).view(np.uint8)
    whole = len(octets) // (8 * WORDS)
    words, rest = octets[: 8 * WORDS * whole].view(np.uint64).reshape(whole, WORDS), octets[8 * WORDS * whole :]
    sums, keys = np.zeros(whole, dtype=np.uint64), _keys()

    def add(tile: slice) -> None:
        mixed = words[tile] >> np.uint64(32)
        mixed ^= words[tile]
        sums[tile] = np.einsum("ij,j->i", mixed, keys)  # (SEAL.1)

    in_tiles(add, strips(whole, STRIPS), BYTE_SECONDS * array.nbytes)
    return [*sums.tolist(), zlib.crc32(rest.data)]


@cache
def _keys() -> NDArray[np.uint64]:
    """k of (SEAL.1)."""
    return np.random.default_rng(27).integers(2**63, size=WORDS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def as_block(X: Matrix, start: int = 0) -> Block:
    """An array of float64, (k, d), dense or compressed, as the block that begins at a row of its source."""
    return DenseBlock(X, start) if isinstance(X, np.ndarray) else SparseBlock(X, start)


class ArrayRows(RowSource):
    """The rows of an array, by reference.

    X (n, d): Dense in C or F order; sparse without duplicate entries.
    comm: Whoever has the other rows.
    """

    def __init__(self, X: Matrix, comm: Communicator = SERIAL) -> None:
        self.comm = comm
        self.is_sparse = not isinstance(X, np.ndarray)
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
        return sum(part.nbytes for part in parts_of_array(self.whole))


class ChunkRows(RowSource):
    """The rows of several arrays in memory, one behind the other, by reference: what a member of a communicator has.

    Numbers other than float64 are converted a tile at a time, in each pass. There may be no array at all, or arrays
    without rows. Every member of the communicator makes one at the same time.

    chunks (k, d): Of the same width; all are taken as sparse where any is, on any member. Sparse ones that are
        not compressed rows of float64 without duplicates are converted, which takes a copy.
    comm: Whoever has the other rows.
    width: d, where no member has an array that says so.
    """

    def __init__(self, chunks: Sequence[Matrix], comm: Communicator = SERIAL, width: int | None = None) -> None:
        self.comm = comm
        own = [(int(chunk.shape[1]), int(sp.issparse(chunk))) for chunk in chunks]
        own += [] if width is None else [(width, 0)]
        told = comm.allgather(np.array(own, dtype=np.intp).reshape(-1, 2))
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
            yield as_block(chunk, start) if plain else stored_block(chunk, start)

    @property
    def entries(self) -> int:
        return sum(int(chunk.nnz) if self.is_sparse else int(chunk.size) for chunk in self._chunks)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for chunk in self._chunks for part in parts_of_array(chunk))


def as_row_source(X: Any, comm: Communicator = SERIAL) -> RowSource:
    """A source of the rows of X: X itself if it is one. Shapes: X (n, d)."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, np.ndarray) or not sp.issparse(X):
        return ArrayRows(np.asarray(X, dtype=np.float64), comm)
    return ArrayRows(_compressed(X, columns=True), comm)


def _compressed(X: Any, columns: bool = False) -> Matrix:
    """Compressed rows of float64 without duplicates; compressed columns are left as they are, if so wished."""
    kinds = (sp.csr_array, sp.csc_array) if columns else (sp.csr_array,)
    if not isinstance(X, kinds) or X.dtype != np.float64:
        X = sp.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's own arrays are left as they are
        X.sum_duplicates()
    return X
