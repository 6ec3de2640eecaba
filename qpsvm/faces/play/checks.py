"""Check types, sizes and ranges of what the page sends; an error names the field.

Values are those of JSON: objects, lists, text, numbers, true, false and null. True and false are not numbers. Numbers
that are not finite are sent as null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import ParameterError, describe_nearest


class RequestError(ParameterError):
    """Raised for an invalid request.

    field or None: The part of the request that is wrong, such as "state.points".
    """

    def __init__(self, sentence: str, field: str | None = None) -> None:
        self.field = field
        super().__init__(sentence)

    def __reduce__(self) -> tuple[type[RequestError], tuple[str, str | None]]:
        return type(self), (str(self), self.field)


def describe_value(value: Any) -> str:
    """Describe a value for a message; of nested values, which may be deep, only the type."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return format_value(value)


def as_object(value: Any, field: str, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, Any]:
    """Check that a value is an object with known keys only. Raises RequestError."""
    if not isinstance(value, Mapping):
        raise RequestError(f"{field} must be an object, got {describe_value(value)}", field)
    names = list(known)
    for key in value:
        if not isinstance(key, str) or key not in names:
            if isinstance(key, str):
                near = describe_nearest(key, names)
            else:
                near = "keys are text"
            raise RequestError(f"{field} has no key {describe_value(key)}; {near}", field)
    for key in required:
        if key not in value:
            raise RequestError(f"{field} lacks the key {key!r}", f"{field}.{key}")
    return dict(value)


def as_items(value: Any, field: str, max_items: int, n_items: int | None = None) -> list[Any]:
    """Check that a value is a list with at most, or exactly, this many items. Raises RequestError."""
    if not isinstance(value, (list, tuple)):
        raise RequestError(f"{field} must be a list, got {describe_value(value)}", field)
    if n_items is not None and len(value) != n_items:
        raise RequestError(f"{field} must have {n_items} entries, got {len(value)}", field)
    if len(value) > max_items:
        raise RequestError(f"{field} may have {max_items} entries at the most, got {len(value)}", field)
    return list(value)


def as_number(value: Any, field: str, low: float, high: float) -> float:
    """Check that a value is a finite number from `low` to `high`. Raises RequestError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RequestError(f"{field} must be a number, got {describe_value(value)}", field)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not low <= number <= high:  # NaN is not
        raise RequestError(f"{field} must be a number from {low:g} to {high:g}, got {describe_value(value)}", field)
    return number


def as_integer(value: Any, field: str, low: int, high: int) -> int:
    """Check that a value is an integer from `low` to `high`, which JSON may write as 3.0. Raises RequestError."""
    number = as_number(value, field, low, high)
    if not number.is_integer():
        raise RequestError(f"{field} must be a whole number, got {describe_value(value)}", field)
    return int(number)


def as_number_list(value: Any, field: str, count: int, low: float, high: float) -> list[float]:
    """Check that a value is a list of exactly this many numbers from `low` to `high`. Raises RequestError."""
    return [as_number(item, f"{field}[{i}]", low, high) for i, item in enumerate(as_items(value, field, count, count))]


def as_choice(value: Any, field: str, known: Iterable[Any]) -> Any:
    """Check that a value is one of the known ones. Raises RequestError."""
    choices = list(known)
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    name = value if isinstance(value, str) else ""
    raise RequestError(f"unknown {field} {describe_value(value)}; {describe_nearest(name, map(str, choices))}", field)


def to_json_number(value: float | None) -> float | None:
    """Return a finite number, or None for any other."""
    return None if value is None or not math.isfinite(value) else float(value)


def to_json_list(values: ArrayLike) -> list[Any]:
    """Convert an array of any shape to nested lists, with None for numbers that are not finite."""
    array = np.asarray(values, dtype=np.float64)
    if np.isfinite(array).all():
        listed: list[Any] = array.tolist()
        return listed
    if array.ndim > 1:
        return [to_json_list(row) for row in array]
    return [value if math.isfinite(value) else None for value in array.tolist()]
