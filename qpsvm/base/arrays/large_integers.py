"""Refuse numbers that no double represents, such as long identifiers, instead of rounding them (`check_not_rounded`).

Rounding an integer beyond 2⁵³ or a long double would change the data. A text with a decimal point, such as 0.1, is read
as the nearest double, as usual; a text of digits only is an integer.
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

#: All integers up to this size are doubles.
MAX_EXACT_INTEGER = 2.0**53
#: What to do with numbers that would be rounded; part of the error messages.
ADVICE = "leave out what only identifies, subtract an offset, or round it yourself by astype(float)"
_DIGITS = re.compile(r"\s*[+-]?\d{16,}\s*")


def check_not_rounded(original: Any, values: Matrix, name: str, columns: Sequence[Any] | None = None) -> None:
    """Refuse original numbers that differ from the values to which they were converted. Raises DataError."""
    if sp.issparse(original):
        if original.dtype.itemsize < 8 or original.dtype == np.float64:
            return
        entries = original.tocoo()
        position = find_first_rounded(entries.data)
        if position is not None:
            cell = (int(entries.row[position]), int(entries.col[position]))
            raise build_rounding_error(entries.data[position], name, cell, columns)
        return
    raw = original if isinstance(original, np.ndarray) else None
    if raw is None and has_large_integers(values):
        raw = _as_objects(original)
    if raw is None or raw.size != np.size(values):
        return
    position = find_first_rounded(raw)
    if position is not None:
        index = tuple(int(k) for k in np.unravel_index(position, raw.shape))
        raise build_rounding_error(raw[index], name, index, columns)


def check_texts(cells: Iterable[str], values: FloatArray) -> None:
    """Refuse texts of digits whose integer differs from the double read from it: values (n,). Raises DataError."""
    if not has_large_integers(values):
        return
    for cell, value in zip(cells, values.tolist(), strict=True):
        is_large = MAX_EXACT_INTEGER <= abs(value) < math.inf and _DIGITS.fullmatch(cell)
        if is_large and Decimal(cell) != Decimal(value):
            raise build_rounding_error(Decimal(cell), "a cell")


def find_first_rounded(raw: NDArray[Any]) -> int | None:
    """Return the position, in the flattened array, of the first number that is not a double; None if there is none."""
    if raw.dtype == object:
        return next((position for position, number in enumerate(raw.flat) if _is_rounded(number)), None)
    kind, size = raw.dtype.kind, raw.dtype.itemsize
    if kind not in "iuf" or size < 8 or raw.dtype == np.float64 or not raw.size:
        return None
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, which is refused elsewhere
        values: FloatArray = raw.astype(np.float64)
    if kind == "f":
        is_equal = (values.astype(raw.dtype) == raw) | ~np.isfinite(values)
    elif has_large_integers(values):
        is_in_range = values < (2.0**63 if kind == "i" else 2.0**64)
        is_equal = np.zeros(raw.shape, dtype=np.bool_)
        is_equal[is_in_range] = values[is_in_range].astype(raw.dtype) == raw[is_in_range]
    else:
        return None
    return None if is_equal.all() else int(np.argmin(is_equal.ravel()))


def has_large_integers(values: NDArray[Any]) -> bool:
    """Return whether some number is so large, or NaN, that it may be a rounded integer."""
    return bool(values.size) and not (values.max() < MAX_EXACT_INTEGER and values.min() > -MAX_EXACT_INTEGER)


def build_rounding_error(
    number: Any, name: str, index: Sequence[int] = (), columns: Sequence[Any] | None = None
) -> DataError:
    """Build the error about a rounded number at an index of the named array."""
    location = ""
    if len(index) == 2:
        if columns is not None and index[1] < len(columns):
            named = f" ({columns[index[1]]!r})"
        else:
            named = ""
        location = f" in row {index[0]}, column {index[1]}{named}"
    elif len(index) == 1:
        location = f"[{index[0]}]"
    if len(index) < 2:
        text = f"{name}{location} is {number}"
    else:
        text = f"{name} has {number}{location}"
    return DataError(f"{text}, which no double is equal to (the nearest is {float(number)!r}); {ADVICE}")


def _as_objects(original: Any) -> NDArray[Any]:
    """Return the numbers of a list or a data frame as objects, unconverted."""
    try:  # np.asarray would convert the columns of a frame to one type
        objects: NDArray[Any] = original.to_numpy(dtype=object)
    except (AttributeError, TypeError):  # not a pandas frame
        rows = getattr(original, "rows", None)
        objects = np.array(rows() if callable(rows) else original, dtype=object)
    return objects


def _is_rounded(number: Any) -> bool:
    """Return whether a number is an integer that no double is equal to."""
    is_integer = isinstance(number, (int, np.integer)) or (isinstance(number, Decimal) and number == int(number))
    return is_integer and abs(int(number)) < 2**1023 and float(number) != int(number)
