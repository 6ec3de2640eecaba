"""Refuse numbers that no double represents, such as long identifiers, instead of rounding them (`check_not_rounded`).

Integers beyond 2⁵³ and long doubles are exact: rounding would change the data. A decimal text such as 0.1 is read as
    the nearest double, as usual; a text that consists of digits is an integer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError

#: All integers up to this are doubles.
MAX_EXACT_INTEGER = 2.0**53
#: Advice for other integers.
ADVICE = "leave out what only identifies, subtract an offset, or round it yourself by astype(float)"
_DIGITS = re.compile(r"\s*[+-]?\d{16,}\s*")


def check_not_rounded(original: Any, values: Matrix, name: str, columns: Sequence[Any] | None = None) -> None:
    """Refuse numbers that were rounded on conversion. Raises DataError."""
    if sp.issparse(original):
        if original.dtype.itemsize < 8 or original.dtype == np.float64:
            return
        exact = original.tocoo()
        position = find_first_rounded(exact.data)
        if position is not None:
            raise build_rounding_error(
                exact.data[position], name, (int(exact.row[position]), int(exact.col[position])), columns
            )
        return
    raw = original if isinstance(original, np.ndarray) else None
    if raw is None and has_large_integers(values):
        raw = _as_objects(original)
    position = None if raw is None or raw.size != np.size(values) else find_first_rounded(raw)
    if position is not None:
        assert raw is not None
        index = tuple(int(k) for k in np.unravel_index(position, raw.shape))
        raise build_rounding_error(raw[index], name, index, columns)


def find_first_rounded(raw: NDArray[Any]) -> int | None:
    """Return the position in the flattened array of the first number that no double equals; None if there is none."""
    if raw.dtype == object:
        return next((position for position, number in enumerate(raw.flat) if _is_rounded(number)), None)
    kind, size = raw.dtype.kind, raw.dtype.itemsize
    if kind not in "iuf" or size < 8 or raw.dtype == np.float64 or not raw.size:
        return None
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, and is named as such
        values: FloatArray = raw.astype(np.float64)
    if kind == "f":
        is_equal = (values.astype(raw.dtype) == raw) | ~np.isfinite(values)
    elif has_large_integers(values):
        inside = values < (2.0**63 if kind == "i" else 2.0**64)
        is_equal = np.zeros(raw.shape, dtype=np.bool_)
        is_equal[inside] = values[inside].astype(raw.dtype) == raw[inside]
    else:
        return None
    return None if is_equal.all() else int(np.argmin(is_equal.ravel()))


def _as_objects(original: Any) -> NDArray[Any]:
    """Return the numbers of a list or a frame as objects, unconverted."""
    try:  # np.asarray would convert the columns of a frame to one type
        objects: NDArray[Any] = original.to_numpy(dtype=object)
    except (AttributeError, TypeError):  # not a pandas frame
        rows = getattr(original, "rows", None)
        objects = np.array(rows() if callable(rows) else original, dtype=object)
    return objects


def _is_rounded(number: Any) -> bool:
    """Return whether an integer is not equal to its double."""
    is_integer = isinstance(number, (int, np.integer)) or (isinstance(number, Decimal) and number == int(number))
    return is_integer and abs(int(number)) < 2**1023 and float(number) != int(number)


def build_rounding_error(
    number: Any, name: str, index: Sequence[int] = (), columns: Sequence[Any] | None = None
) -> DataError:
    """Build the error about a rounded number at an index of the named array."""
    location = ""
    if len(index) == 2:
        named = f" ({columns[index[1]]!r})" if columns is not None and index[1] < len(columns) else ""
        location = f" in row {index[0]}, column {index[1]}{named}"
    elif len(index) == 1:
        location = f"[{index[0]}]"
    text = f"{name}{location} is {number}" if len(index) < 2 else f"{name} has {number}{location}"
    return DataError(f"{text}, which no double is equal to (the nearest is {float(number)!r}); {ADVICE}")


def check_texts(cells: Iterable[str], values: FloatArray) -> None:
    """Refuse texts of digits whose integer differs from the double, (n,), as which they were read.

    Raises DataError.
    """
    if not has_large_integers(values):
        return
    for cell, value in zip(cells, values.tolist(), strict=True):
        large = MAX_EXACT_INTEGER <= abs(value) < math.inf and _DIGITS.fullmatch(cell)
        if large and Decimal(cell) != Decimal(value):
            raise build_rounding_error(Decimal(cell), "a cell")


def has_large_integers(values: NDArray[Any]) -> bool:
    """Return whether some number is so large that not all integers near it are doubles."""
    return bool(values.size) and not (values.max() < MAX_EXACT_INTEGER and values.min() > -MAX_EXACT_INTEGER)
