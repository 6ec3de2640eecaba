"""Decode rows once, into a scratch file that later passes map into memory (`decode_to_scratch`).

A linear machine reads its samples about twenty times. Decoding Parquet or text every time would take far longer than
the solve itself. So the decoded numbers are written to a scratch file, which is as large as the array would be in
memory. The file has no name, so nothing is left behind whatever happens to the process. Without disk space for it, rows
are decoded again in every pass (`DecodedRows`).
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import Matrix, as_dense
from qpsvm.base.errors import DataError, FileAccessError, TooLargeError
from qpsvm.base.resources.limits import format_bytes
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.memory import as_block
from qpsvm.data.sources.arrays import MemoryMap, SparseMap
from qpsvm.data.sources.decoder import Batch, Decoder, describe_files, normalise_labels
from qpsvm.data.sources.first_pass import Tally, run_first_pass
from qpsvm.data.sources.stored import StoredRows

#: Disk space that scratch files leave free for other programs.
RESERVED_BYTES = 64 * 2**20
#: Error numbers of the system if a disk or a quota is full, or a file may not become larger.
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: What to do about a full disk, for messages.
REMEDY = "name a folder on a larger disk by scratch=, or give scratch=False to decode again in every pass"


def find_scratch_folder(scratch: Any) -> str:
    """Return the folder of scratch files: the given one, or the system's for None or True. Raises FileAccessError."""
    if scratch is None or scratch is True:
        folder = tempfile.gettempdir()
    else:
        folder = os.fspath(scratch)
    if not os.path.isdir(folder):
        raise FileAccessError(f"scratch={folder!r} is not a folder; name one with room for the decoded numbers")
    return str(folder)


def check_disk_space(folder: str, needed: float, name: str) -> None:
    """Check that a folder has this many bytes of disk space for the rows of a file, by name. Raises TooLargeError."""
    free = shutil.disk_usage(folder).free
    if needed + RESERVED_BYTES > free:
        raise TooLargeError(
            f"{name} needs {format_bytes(needed)} of scratch in {folder}, where {format_bytes(free)} are free; {REMEDY}"
        )


class ScratchFile:
    """An unnamed file in a folder, which is written sequentially and then mapped into memory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        try:
            self._file: Any = tempfile.TemporaryFile(dir=folder, prefix="qpsvm-", buffering=0)  # noqa: SIM115 - a map of it stays
        except OSError as error:
            raise FileAccessError(f"no scratch file can be made in {folder}: {error.strerror}") from error

    def append(self, values: NDArray[Any], name: str) -> None:
        """Append numbers of a file's rows, with the file's name for messages. Raises TooLargeError, FileAccessError."""
        check_disk_space(self._folder, values.nbytes, name)
        try:
            if values.size:
                remaining = np.ascontiguousarray(values).data.cast("B")
            else:
                remaining = memoryview(b"")
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
        except OSError as error:
            if error.errno in DISK_FULL_ERRORS:
                raise TooLargeError(f"{self._folder} became full while {name} was decoded; {REMEDY}") from error
            raise FileAccessError(f"the scratch file in {self._folder}: {error.strerror}") from error

    def map_array(self, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """Map all that was written as one array; the file is deleted with the map."""
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.asarray(np.memmap(self._file, dtype, "r", shape=shape))

    def clear(self) -> None:
        """Discard what was written."""
        self._file.seek(0)
        self._file.truncate()

    def __enter__(self) -> ScratchFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()  # its map stays valid


def decode_to_scratch(decoder: Decoder, folder: str, sparse: bool, block_rows: int | None = None) -> StoredRows:
    """Decode all rows once, check them, and map them, as a CSR matrix if `sparse`. Raises DataError, TooLargeError."""
    if sparse:
        return _decode_sparse(decoder, folder, block_rows)
    shape = decoder.shape()
    if shape is not None:
        check_disk_space(folder, float(shape[0]) * shape[1] * decoder.dtype.itemsize, describe_files(decoder))
    if decoder.is_sparse:  # the number of columns must be known before the first row is written
        return _decode_dense(StoredDecoder(_decode_sparse(decoder, folder, block_rows)), folder, block_rows)
    return _decode_dense(decoder, folder, block_rows)


def _decode_dense(decoder: Decoder, folder: str, block_rows: int | None) -> MemoryMap:
    """Decode dense batches."""
    with ScratchFile(folder) as scratch:
        tally = run_first_pass(decoder, lambda X, name: scratch.append(as_dense(X), name), scratch.clear)
        values = scratch.map_array(decoder.dtype, (tally.n, tally.d))
    return MemoryMap([values], tally.build_origin(), block_rows=block_rows)


def _decode_sparse(decoder: Decoder, folder: str, block_rows: int | None) -> SparseMap:
    """Decode batches of either kind to the three arrays of a CSR matrix."""
    with ScratchFile(folder) as data, ScratchFile(folder) as indices:
        lengths: list[NDArray[Any]] = []

        def write_batch(X: Matrix, name: str) -> None:
            X = sp.csr_array(X)
            data.append(X.data.astype(np.float64, copy=False), name)
            indices.append(X.indices.astype(np.int32, copy=False), name)
            lengths.append(np.diff(X.indptr))

        def restart() -> None:
            data.clear()
            indices.clear()
            lengths.clear()

        tally = run_first_pass(decoder, write_batch, restart)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        size = (int(indptr[-1]),)
        data_map = data.map_array(np.float64, size)
        index_map = indices.map_array(np.int32, size)
    return SparseMap(data_map, index_map, indptr, tally.d, tally.build_origin(), block_rows)


class StoredDecoder(Decoder):
    """Decoder of rows that are stored already, to store them dense instead of sparse or the other way round."""

    def __init__(self, rows: StoredRows) -> None:
        self.rows = rows
        self.feature_names = rows.feature_names
        self.is_sparse = rows.is_sparse
        self.kind = rows.origin.kind
        self.names = rows.origin.names
        self.watch = rows.origin.watch

    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    def batches(self) -> Iterator[Batch]:
        """Yield the blocks, split at the ends of files."""
        rows = self.rows
        y = rows.target
        s = rows.weight
        first = 0
        for name, end in zip(self.names, np.cumsum(rows.origin.lengths).tolist(), strict=True):
            for start in range(first, end, rows.block_rows):
                block = slice(start, min(start + rows.block_rows, end))
                labels = None if y is None else normalise_labels(y[block])
                yield Batch(rows.take(block), labels, None if s is None else s[block], name, start - first)
            first = end


class DecodedRows(StoredRows):
    """Rows that are decoded again in every pass.

    tally: The counts of a first pass over all rows.
    """

    def __init__(self, decoder: Decoder, tally: Tally) -> None:
        super().__init__((tally.n, tally.d), tally.build_origin())
        self._decoder = decoder
        self.is_sparse = decoder.is_sparse
        self._entries = tally.entries
        self._longest_row = tally.longest_row

    def blocks(self) -> Iterator[Block]:
        """Yield the batches of the decoder as blocks. Raises DataError."""
        start = 0
        self._decoder.watch.check()
        for batch in self._decoder.batches():
            if batch.X.shape[0]:
                yield as_block(self._to_matrix(batch), start)
                start += batch.X.shape[0]
        if start != self.n:
            raise DataError(f"{self.origin.describe_files()}: there were {self.n} rows at first and are {start} now")

    def _to_matrix(self, batch: Batch) -> Matrix:
        """Return the rows of a batch, (k, d), as float64; a sparse batch may have fewer columns."""
        X = batch.X
        if not self.is_sparse:
            return np.asarray(X, dtype=np.float64)
        matrix = sp.csr_array((X.data.astype(np.float64), X.indices, X.indptr), shape=(X.shape[0], self.d))
        matrix.has_canonical_format = True
        return matrix

    @property
    def entries(self) -> int:
        return self._entries

    @cached
    def longest_row(self) -> int:
        """Largest number of entries in a row, from the first pass."""
        return int(self._longest_row)

    @property
    def nbytes(self) -> int:
        return 0
