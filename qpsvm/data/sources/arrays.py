"""Open arrays and .npy files as rows, by memory mapping (`open_array`, `open_npy_files`, `MemoryMap`, `SparseMap`).

`MemoryMap` has dense rows: memory maps of files, or arrays of any dtype. `SparseMap` has sparse rows in the three
arrays of CSR, which may be memory maps.

A block is a view of the stored array. If that is float64 and C-contiguous, products use it directly; otherwise
`as_block` converts one tile at a time to float64. So a pass needs the memory of a few tiles only, and the operating
system caches as much of a map as fits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_raw_array, as_real_vector
from qpsvm.base.arrays.frozen import as_read_only
from qpsvm.base.arrays.types import IntArray
from qpsvm.base.damaged_files import DAMAGE
from qpsvm.base.errors import DataError, DataTypeError, FileFormatError, ParameterError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.kinds import is_mapped
from qpsvm.data.rows.blocks import ALL, Block
from qpsvm.data.rows.memory import ChangeGuard, as_block
from qpsvm.data.rows.sparse_block import SparseBlock
from qpsvm.data.sources.chosen_columns import choose_columns
from qpsvm.data.sources.first_pass import check_and_sum_squares, check_sum_of_squares
from qpsvm.data.sources.stored import FileWatch, Origin, StoredRows


def open_npy_files(paths: Sequence[str], target: Any, columns: Any, weight: Any, block_rows: int | None) -> MemoryMap:
    """Open the rows of .npy files, one file after the other. Raises the errors of `open_array`."""
    watch = FileWatch(paths)  # before the files are mapped, so that it notices every later change
    return _open_parts([map_npy(path) for path in paths], ".npy", watch, paths, target, columns, weight, block_rows)


def open_array(X: NDArray[Any], target: Any, columns: Any, weight: Any, block_rows: int | None) -> MemoryMap:
    """Open an array as rows. Raises DataError, DataTypeError, FileFormatError, ParameterError, UnknownOptionError."""
    name = os.fspath(getattr(X, "filename", None) or "")  # only a memory map has a name
    watch = FileWatch([name])
    kind = "map of" if name else "array"
    return _open_parts([as_raw_array(X, "X")], kind, watch, [name], target, columns, weight, block_rows)


def _open_parts(
    arrays: Sequence[NDArray[Any]], kind: str, watch: FileWatch, names: Sequence[str], target: Any, columns: Any,
    weight: Any, block_rows: int | None,
) -> MemoryMap:  # fmt: skip
    """Open the rows of arrays, one after the other; kind, watch and names are as in `Origin`."""
    where = names[0] or "X"
    for array, name in zip(arrays, names, strict=True):
        _check_shape(array, name or "X")
        if array.shape[1] != arrays[0].shape[1]:
            raise DataError(f"{name} has {array.shape[1]} columns, but {names[0]} has {arrays[0].shape[1]}")
    width = arrays[0].shape[1]
    names = [name for array, name in zip(arrays, names, strict=True) if len(array)]
    parts = [array for array in arrays if len(array)]
    if not parts or not width:
        raise DataError(f"{where}: there are no {'columns' if parts else 'rows'}")
    features = _choose_features(width, where, target, columns, weight)
    labels, weights = _read_vector(parts, target, "target"), _read_vector(parts, weight, "weight")
    weights = None if weights is None else as_real_vector(weights, "weight")
    origin = Origin(kind, tuple(names), tuple(map(len, parts)), watch, labels, weights)
    source = MemoryMap(parts, origin, features, block_rows)
    _check_numbers(source)
    watch.check()
    return source


def _choose_features(width: int, where: str, target: Any, columns: Any, weight: Any) -> slice | IntArray:
    """Return the columns that are features; without `columns`, all that are not those of target and weight."""
    indices = [str(j) for j in range(width)]  # in place of names, which the columns of an array do not have
    target, weight = (given if _is_column_index(given) else None for given in (target, weight))
    return _as_range([int(name) for name in choose_columns(indices, where, target, columns, weight).features])


def read_width(path: str) -> int:
    """Read the number of columns of a .npy file. Raises FileFormatError, DataError, DataTypeError."""
    array = map_npy(path)
    _check_shape(array, path)
    return int(array.shape[1])


def map_npy(path: str) -> NDArray[Any]:
    """Map the array of a .npy file. Raises FileFormatError."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGE as error:
        if "Python objects" in str(error) or "object" in str(error).lower():
            raise FileFormatError(f"{path} holds Python objects, not numbers; save the array as float64") from None
        raise FileFormatError(f"{path} is not a .npy file, or it is cut short: {error}") from None
    return array


class MemoryMap(StoredRows):
    """The rows of dense arrays, one after the other.

    parts (n_k, ·): Arrays of any numeric dtype and memory order; they are not copied.
    origin: Has a name and a length for each part, or for each of the files that were decoded into one part.
    columns (d,): The columns that are features.
    """

    is_sparse = False

    def __init__(
        self, parts: Sequence[NDArray[Any]], origin: Origin, columns: slice | IntArray = ALL,
        block_rows: int | None = None,
    ) -> None:  # fmt: skip
        self.parts = tuple(as_read_only(np.asarray(part)) for part in parts)
        self._change_guard = ChangeGuard(
            [part for part in parts if np.asarray(part).flags.writeable], "the array of the rows"
        )
        self.columns = columns
        if len(origin.names) == len(self.parts):
            self._files = origin.names
        else:
            self._files = ("",) * len(self.parts)
        d = len(np.arange(self.parts[0].shape[1])[columns])
        super().__init__((sum(map(len, self.parts)), d), origin, block_rows)

    def blocks(self) -> Iterator[Block]:
        """Yield views of some rows of a part; before each, the file is checked for a change."""
        start = 0
        watch = self.origin.watch
        watch.check()
        for part, name in zip(self.parts, self._files, strict=True):
            for i in range(0, len(part), self.block_rows):
                watch.check(name)
                yield as_block(part[i : i + self.block_rows], start + i, self.columns)
            start += len(part)

    def check(self) -> None:
        self.origin.watch.check()
        self._change_guard.check()

    def start_run(self) -> None:
        self.origin.watch.check()
        self._change_guard.start_run()

    def end_run(self) -> None:
        self._change_guard.end_run()

    @property
    def entries(self) -> int:
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        """Bytes that stay in memory, without memory maps."""
        return sum(part.nbytes for part in self.parts if not is_mapped(part))


class SparseMap(StoredRows):
    """The rows of a CSR array without duplicate entries.

    data (m,): The stored entries, row after row.
    indices (m,): Their columns.
    indptr (n + 1,): The start of each row in `data`.
    d: The number of columns.
    block_rows: Rows per block; by default as many as contain `BLOCK_NUMBERS` entries.
    """

    is_sparse = True

    def __init__(
        self, data: NDArray[Any], indices: NDArray[Any], indptr: IntArray, d: int, origin: Origin,
        block_rows: int | None = None,
    ) -> None:  # fmt: skip
        self.data = as_read_only(data)
        self.indices = as_read_only(indices)
        self.indptr = as_read_only(indptr)
        n = len(indptr) - 1
        super().__init__((n, d), origin, block_rows or max(1, BLOCK_NUMBERS * n // max(len(data), 1)))

    def blocks(self) -> Iterator[Block]:
        for start in range(0, self.n, self.block_rows):
            self.origin.watch.check()
            bounds = self.indptr[start : start + self.block_rows + 1]
            first = int(bounds[0])
            end = int(bounds[-1])
            indptr = bounds - first
            if indptr[-1] <= np.iinfo(self.indices.dtype).max:
                indptr = indptr.astype(self.indices.dtype)
            values = np.asarray(self.data[first:end], dtype=np.float64)
            X = sp.csr_array((values, self.indices[first:end], indptr), shape=(len(indptr) - 1, self.d))
            X.has_canonical_format = True
            yield SparseBlock(X, start)

    @property
    def entries(self) -> int:
        return len(self.data)

    @property
    def nbytes(self) -> int:
        """Bytes that stay in memory, without memory maps."""
        return sum(part.nbytes for part in (self.data, self.indices, self.indptr) if not is_mapped(part))


def _check_shape(array: NDArray[Any], name: str) -> None:
    if array.ndim != 2:
        hint = "; for one feature write X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise DataError(f"{name} must be two-dimensional (samples in rows), got shape {array.shape}{hint}")
    if array.dtype.kind not in "biuf":
        raise DataTypeError(f"{name} has entries of type {array.dtype}; samples must be real numbers")


def _check_numbers(source: MemoryMap) -> None:
    """Check all stored numbers in one pass. Raises DataError."""
    start, squares = 0, 0.0
    for part in source.parts:
        for i in range(0, len(part), source.block_rows):
            X = part[i : i + source.block_rows][:, source.columns]
            squares += check_and_sum_squares(X, lambda row, first=start + i: source.where(first + row), None)  # type: ignore[misc]
            check_sum_of_squares(squares)
        start += len(part)


def _is_column_index(given: Any) -> bool:
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def _as_range(columns: list[int]) -> slice | IntArray:
    """Convert consecutive columns to a slice, for which indexing returns a view."""
    first = columns[0]
    end = columns[-1] + 1
    if columns == list(range(first, end)):
        return slice(first, end)
    return np.array(columns, dtype=np.intp)


def _read_vector(parts: Sequence[NDArray[Any]], given: Any, option: str) -> NDArray[Any] | None:
    """Read labels or weights from a column, an array, or a .npy file: (n,)."""
    if given is None:
        return None
    if _is_column_index(given):
        return np.concatenate([np.asarray(part[:, given]) for part in parts])
    if isinstance(given, (str, os.PathLike)):
        name = os.fspath(given)
        if not name.endswith(".npy"):
            raise ParameterError(
                f"{option}={name!r}: the columns of an array have no names; give the index of the column, from 0, an "
                "array, or a .npy file"
            )
        vector = np.asarray(map_npy(name)[:])
    else:
        name = option
        vector = as_raw_array(given, option)
    n = sum(map(len, parts))
    if vector.shape != (n,):
        raise DataError(f"{name} has shape {vector.shape} where ({n},) is expected: one for each row")
    return vector
