"""Arrays and .npy files as rows: mapped, never read as a whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.checks import as_real_vector, raw_array
from qpsvm.arrays.types import IntArray
from qpsvm.errors import DataError, DataTypeError, FileFormatError, ParameterError
from qpsvm.sources.chosen import chosen
from qpsvm.sources.dense import MemoryMap
from qpsvm.sources.stored import Beside, Origin
from qpsvm.sources.values import check_source, check_values
from qpsvm.sources.watch import Watch


def width_of(path: str) -> int:
    """The columns of a .npy file.

    Raises FileFormatError, DataError, DataTypeError.
    """
    array = mapped(path)
    _check_shape(array, path)
    return int(array.shape[1])


def mapped(path: str) -> NDArray[Any]:
    """The array of a .npy file, as a map of it.

    Raises FileFormatError.
    """
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        if "Python objects" in str(error) or "object" in str(error).lower():
            raise FileFormatError(f"{path} holds Python objects, not numbers; save the array as float64") from None
        raise FileFormatError(f"{path} is not a .npy file, or it is cut short: {error}") from None
    return array


def from_files(paths: Sequence[str], target: Any, columns: Any, weight: Any, block_rows: int | None) -> MemoryMap:
    """The rows of .npy files, below each other."""
    parts: list[NDArray[Any]] = []
    watch = Watch(paths)
    for path in paths:
        part = mapped(path)
        _check_shape(part, path)
        if parts and part.shape[1] != parts[0].shape[1]:
            raise DataError(f"{path} has {part.shape[1]} columns, but {paths[0]} has {parts[0].shape[1]}")
        parts.append(part)
    return _rows(parts, paths, watch, ".npy", target, columns, weight, block_rows)


def from_array(X: Any, target: Any, columns: Any, weight: Any, block_rows: int | None) -> MemoryMap:
    """The rows of an array in memory, or of a map."""
    raw = raw_array(X, "X")
    _check_shape(raw, "X")
    name = os.fspath(getattr(X, "filename", None) or "")
    kind = "map of" if name else "array"
    return _rows([raw], [name], Watch([name] if name else []), kind, target, columns, weight, block_rows)


def _check_shape(array: NDArray[Any], name: str) -> None:
    if array.ndim != 2:
        hint = "; for one feature write X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise DataError(f"{name} must be two-dimensional (samples in rows), got shape {array.shape}{hint}")
    if array.dtype.kind not in "biuf":
        raise DataTypeError(f"{name} has entries of type {array.dtype}; samples must be real numbers")


def _rows(
    parts: Sequence[NDArray[Any]], names: Sequence[str], watch: Watch, kind: str, target: Any, columns: Any,
    weight: Any, block_rows: int | None,
) -> MemoryMap:  # fmt: skip
    kept = [(part, name) for part, name in zip(parts, names, strict=True) if len(part)]
    what = names[0] or "X"
    if not kept:
        raise DataError(f"{what}: there are no rows")
    if parts[0].shape[1] == 0:
        raise DataError(f"{what}: there are no columns")
    parts = [part for part, _ in kept]
    n, width = sum(map(len, parts)), parts[0].shape[1]
    columns_at = {option: given for option, given in (("target", target), ("weight", weight)) if _is_place(given)}
    numbered = [str(j) for j in range(width)]
    picked = chosen(numbered, what, columns_at.get("target"), columns, columns_at.get("weight"))
    origin = Origin(kind, tuple(name for _, name in kept), tuple(map(len, parts)), watch)
    y = _column(parts, picked.target) if _is_place(target) else beside(target, n, "target")
    s = _column(parts, picked.weight) if _is_place(weight) else beside(weight, n, "weight")
    s = None if s is None else as_real_vector(s, "weight")
    source = MemoryMap(parts, origin, Beside(y, s), _as_range([int(name) for name in picked.features]), block_rows)
    check_source(source, source.where, None)
    _refuse_rounded(source)
    watch.check()
    return source


def _refuse_rounded(source: MemoryMap) -> None:
    """Look at stored integers and long doubles before they become doubles.

    Raises DataError.
    """
    start = 0
    for part in source.parts:
        if part.dtype != np.float64 and part.dtype.itemsize >= 8:
            for i in range(0, len(part), source.block_rows):
                first = start + i
                check_values(
                    part[i : i + source.block_rows][:, source.columns],
                    lambda row, first=first: source.where(first + row),  # type: ignore[misc]
                    None,
                )
        start += len(part)


def _is_place(given: Any) -> bool:
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def _column(parts: Sequence[NDArray[Any]], name: str | None) -> NDArray[Any]:
    assert name is not None
    return np.concatenate([np.asarray(part[:, int(name)]) for part in parts])


def _as_range(places: list[int]) -> slice | IntArray:
    """Columns that follow each other as a slice, which takes a view."""
    first, end = places[0], places[-1] + 1
    return slice(first, end) if places == list(range(first, end)) else np.array(places, dtype=np.intp)


def beside(given: Any, n: int, option: str) -> NDArray[Any] | None:
    """Labels or weights that stand in an array, or a .npy file, of their own: (n,).

    Raises ParameterError, DataError.
    """
    if given is None:
        return None
    if isinstance(given, (str, os.PathLike)):
        name = os.fspath(given)
        if not name.endswith(".npy"):
            raise ParameterError(
                f"{option}={name!r}: the columns of an array have no names; give the place of the column, from 0, an "
                "array, or a .npy file"
            )
        found = np.asarray(mapped(name)[:])
    else:
        name, found = option, raw_array(given, option)
    if found.shape != (n,):
        raise DataError(f"{name} has shape {found.shape} where ({n},) is expected: one for each row")
    return found
