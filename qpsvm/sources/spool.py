"""Decoding once: the first pass writes the numbers to a file without a name, and all other passes map it.

A linear machine reads its samples some twenty times. Decoding Parquet or text as often would cost many times what the
solve does. So the numbers go to a scratch file as they are found, which costs as much disk as an array would memory.
The file has no name as soon as it is open: whatever happens to the process, nothing is left behind.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.types import Matrix, as_dense
from qpsvm.errors import DataError, FileAccessError, TooLargeError
from qpsvm.resources.memory import in_words
from qpsvm.sources.batches import Batch, Decoder, LabelsOfAll, ahead
from qpsvm.sources.dense import MemoryMap
from qpsvm.sources.sparse import SparseMap
from qpsvm.sources.stored import Beside, Origin, StoredRows, at_row
from qpsvm.sources.values import check_values

#: Room that is left on the disk of scratch files: others need some.
LEFT_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Place:
    """Where scratch files go: a folder, by default that of the system."""

    folder: str

    @classmethod
    def of(cls, scratch: Any) -> Place:
        """The folder that a user named, or the system's for None."""
        folder = tempfile.gettempdir() if scratch is None or scratch is True else os.fspath(scratch)
        if not os.path.isdir(folder):
            raise FileAccessError(f"scratch={folder!r} is no folder; name one with room for the decoded numbers")
        return cls(folder)

    def check(self, needed: float, what: str) -> None:
        """Refuse what there is no room for.

        Raises
        ------
        TooLargeError
        """
        free = shutil.disk_usage(self.folder).free
        if needed + LEFT_BYTES > free:
            raise TooLargeError(
                f"{what} needs {in_words(needed)} of scratch in {self.folder}, where {in_words(free)} are free; name a "
                "folder on a larger disk by scratch=, or give scratch=False to decode anew in every pass"
            )

    def opened(self) -> Scratch:
        """A new scratch file."""
        try:
            return Scratch(self, tempfile.TemporaryFile(dir=self.folder, prefix="qpsvm-"))
        except OSError as error:
            raise FileAccessError(f"no scratch file can be made in {self.folder}: {error.strerror}") from error


class Scratch:
    """A file without a name, written from its beginning to its end and then mapped."""

    def __init__(self, place: Place, file: IO[bytes]) -> None:
        self._place, self._file = place, file

    def add(self, values: NDArray[Any], what: str) -> None:
        """Write numbers behind the others.

        Raises
        ------
        TooLargeError
            The disk is full.
        FileAccessError
            It cannot be written.
        """
        self._place.check(values.nbytes, what)
        try:
            self._file.write(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise TooLargeError(
                    f"{self._place.folder} became full while {what} was decoded; name a folder on a larger disk by "
                    "scratch=, or give scratch=False to decode anew in every pass"
                ) from error
            raise FileAccessError(f"the scratch file in {self._place.folder}: {error.strerror}") from error

    def mapped(self, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """All that was written, as one array; the file is given up with it."""
        self._file.flush()
        if 0 in shape:
            return np.empty(shape, dtype)
        return np.asarray(np.memmap(self._file, dtype, "r", shape=shape))

    def close(self) -> None:
        """Give the file up; a map of it stays."""
        self._file.close()


class Tally:
    """What is counted and gathered while batches go by: how many rows each file has, labels and weights."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.lengths = dict.fromkeys(decoder.names, 0)
        self._labels: LabelsOfAll | None = None
        self._weights: list[NDArray[Any]] = []

    def add(self, batch: Batch) -> None:
        """Check the numbers of a batch, and count it."""
        check_values(batch.X, lambda row: at_row(batch.name, batch.start + row), self.decoder.feature_names)
        self.lengths[batch.name] += batch.X.shape[0]
        if batch.labels is not None:
            self._labels = self._labels or LabelsOfAll()
            self._labels.add(batch.labels)
        if batch.weight is not None:
            self._weights.append(batch.weight)

    @property
    def n(self) -> int:
        """The rows so far."""
        return sum(self.lengths.values())

    def origin(self) -> Origin:
        """Where they are from."""
        names = tuple(name for name, length in self.lengths.items() if length)
        return Origin(f"{self.decoder.kind}, decoded", names, tuple(self.lengths[name] for name in names))

    def beside(self) -> Beside:
        """What stood beside them."""
        target = None if self._labels is None else self._labels.joined()
        weight = np.concatenate(self._weights) if self._weights else None
        return Beside(target, weight, self.decoder.feature_names)


def spooled(decoder: Decoder, place: Place, block_rows: int | None = None) -> StoredRows:
    """Decode everything once, check it, and map it.

    Raises
    ------
    DataError
        A value is missing or not finite; there are no rows; a file changes meanwhile.
    TooLargeError
        There is no room for the scratch file.
    """
    known = decoder.shape()
    if known is not None and not decoder.is_sparse:
        place.check(float(known[0]) * known[1] * decoder.dtype.itemsize, said(decoder.names))
    tally = Tally(decoder)
    write = _sparse if decoder.is_sparse else _dense
    source = write(decoder, place, tally, block_rows)
    decoder.watch.check()
    return source


def said(names: tuple[str, ...]) -> str:
    """The files in a message."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def no_rows(decoder: Decoder) -> DataError:
    """What is said where no file has any."""
    return DataError(f"{said(decoder.names)}: there are no rows")


def _each(decoder: Decoder, tally: Tally, take: Callable[[Matrix, str], None]) -> int:
    """Hand all batches to whoever writes them; the number of columns."""
    d = 0
    for batch in ahead(decoder.batches()):
        if batch.X.shape[0]:
            tally.add(batch)
            take(batch.X, batch.name)
            d = max(d, batch.X.shape[1])
    if tally.n == 0:
        raise no_rows(decoder)
    return d


def _dense(decoder: Decoder, place: Place, tally: Tally, block_rows: int | None) -> MemoryMap:
    scratch = place.opened()
    try:
        dtype = decoder.dtype
        d = _each(decoder, tally, lambda X, name: scratch.add(np.asarray(as_dense(X), dtype=dtype), name))
        values = scratch.mapped(dtype, (tally.n, d))
    finally:
        scratch.close()
    return MemoryMap([values], tally.origin(), tally.beside(), block_rows=block_rows)


def _sparse(decoder: Decoder, place: Place, tally: Tally, block_rows: int | None) -> SparseMap:
    data, indices = place.opened(), place.opened()
    lengths: list[NDArray[Any]] = []

    def take(X: Matrix, name: str) -> None:
        X = sp.csr_array(X)
        data.add(X.data.astype(np.float64, copy=False), name)
        indices.add(X.indices.astype(np.int32, copy=False), name)
        lengths.append(np.diff(X.indptr))

    try:
        d = _each(decoder, tally, take)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
        nnz = int(indptr[-1])
        stored = data.mapped(np.float64, (nnz,)), indices.mapped(np.int32, (nnz,))
    finally:
        data.close()
        indices.close()
    return SparseMap(*stored, indptr, d, tally.origin(), tally.beside(), block_rows)
