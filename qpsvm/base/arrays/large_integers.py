"""Refuse numbers that no double represents, such as long identifiers, instead of rounding them (`check_not_rounded`).

Whole numbers beyond 2⁵³ and long doubles are exact already: to round them would make other data of them. A decimal text
such as 0.1 is the double nearest to it, as everywhere; a text of digits alone is a whole number.
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

#: Whole numbers up to here are doubles, every one.
MAX_EXACT_INTEGER = 2.0**53
#: What to do about others.
ADVICE = "leave out what only identifies, subtract an offset, or round it yourself by astype(float)"
_DIGITS = re.compile(r"\s*[+-]?\d{16,}\s*")


def check_not_rounded(given: Any, values: Matrix, name: str, columns: Sequence[Any] | None = None) -> None:
    """Refuse numbers that were rounded on conversion. Raises DataError."""
    if sp.issparse(given):
        if given.dtype.itemsize < 8 or given.dtype == np.float64:
            return
        exact = given.tocoo()
        place = find_first_rounded(exact.data)
        if place is not None:
            raise build_rounding_error(exact.data[place], name, (int(exact.row[place]), int(exact.col[place])), columns)
        return
    raw = given if isinstance(given, np.ndarray) else None
    if raw is None and has_large_integers(values):
        raw = _as_objects(given)
    place = None if raw is None or raw.size != np.size(values) else find_first_rounded(raw)
    if place is not None:
        assert raw is not None
        index = tuple(int(k) for k in np.unravel_index(place, raw.shape))
        raise build_rounding_error(raw[index], name, index, columns)


def find_first_rounded(raw: NDArray[Any]) -> int | None:
    """Return the position in the flattened array of the first number that no double equals; None if there is none."""
    if raw.dtype == object:
        return next((place for place, number in enumerate(raw.flat) if _is_rounded(number)), None)
    kind, size = raw.dtype.kind, raw.dtype.itemsize
    if kind not in "iuf" or size < 8 or raw.dtype == np.float64 or not raw.size:
        return None
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, and is named as such
        values: FloatArray = raw.astype(np.float64)
    if kind == "f":
        same = (values.astype(raw.dtype) == raw) | ~np.isfinite(values)
    elif has_large_integers(values):
        inside = values < (2.0**63 if kind == "i" else 2.0**64)
        same = np.zeros(raw.shape, dtype=np.bool_)
        same[inside] = values[inside].astype(raw.dtype) == raw[inside]
    else:
        return None
    return None if same.all() else int(np.argmin(same.ravel()))


def _as_objects(given: Any) -> NDArray[Any]:
    """Return the numbers of a list or a frame as objects, unconverted."""
    try:  # np.asarray makes one type of the columns of a frame first
        objects: NDArray[Any] = given.to_numpy(dtype=object)
    except (AttributeError, TypeError):  # no frame, or none of pandas
        rows = getattr(given, "rows", None)
        objects = np.array(rows() if callable(rows) else given, dtype=object)
    return objects


def _is_rounded(number: Any) -> bool:
    """Return whether an integer is not equal to its double."""
    whole = isinstance(number, (int, np.integer)) or (isinstance(number, Decimal) and number == int(number))
    return whole and abs(int(number)) < 2**1023 and float(number) != int(number)


def build_rounding_error(
    number: Any, name: str, index: Sequence[int] = (), columns: Sequence[Any] | None = None
) -> DataError:
    """Build the error about a rounded number at an index of the named array."""
    at = ""
    if len(index) == 2:
        named = f" ({columns[index[1]]!r})" if columns is not None and index[1] < len(columns) else ""
        at = f" in row {index[0]}, column {index[1]}{named}"
    elif len(index) == 1:
        at = f"[{index[0]}]"
    text = f"{name}{at} is {number}" if len(index) < 2 else f"{name} has {number}{at}"
    return DataError(f"{text}, which no double is equal to (the nearest is {float(number)!r}); {ADVICE}")


def check_texts(cells: Iterable[str], values: FloatArray) -> None:
    """Refuse texts of digits alone whose whole number is not the double, (n,), that they were read as.

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
