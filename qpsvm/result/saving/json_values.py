"""Convert values to JSON without loss, and reject others before a file is written (`as_json`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import ParameterTypeError

#: Largest depth of nested values that Python's JSON reader surely accepts.
MAX_DEPTH = 100
#: Largest number of bits of an integer that it surely accepts.
MAX_BITS = 10_000


def as_json(value: Any, where: str, depth: int = 0) -> Any:
    """Convert a dict, or a value in it, to what reading its JSON returns.

    NumPy scalars become Python's, and tuples become lists. Nothing else changes.

    where: Description of the value in messages.
    depth: Number of containers around the value.

    Raises ParameterTypeError.
    """
    if depth == 0 and not isinstance(value, dict):
        raise ParameterTypeError(f"{where} must be a dict, got {type(value).__name__}")
    if not isinstance(value, (dict, list, tuple)):
        return _convert_scalar(value, where)
    if depth >= MAX_DEPTH:
        raise ParameterTypeError(f"metadata is nested more than {MAX_DEPTH} deep, or contains itself")
    if not isinstance(value, dict):
        return [as_json(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    for key in value:
        if not isinstance(key, str):
            text = format_value(key)
            raise ParameterTypeError(f"{where} has the key {text}; keys in a file are text: use {text!r}")
    return {str(key): as_json(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}


def _convert_scalar(value: Any, where: str) -> Any:
    """Convert a value that contains no others. Raises ParameterTypeError."""
    # to NumPy, a time difference is a signed integer
    if isinstance(value, (np.bool_, np.integer, np.floating)) and not isinstance(value, np.timedelta64):
        value = as_python(value)
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int) and value.bit_length() <= MAX_BITS:
        return value
    if isinstance(value, np.ndarray):
        hint = "; use its tolist()"
    else:
        hint = "; make it text or numbers"
    raise ParameterTypeError(
        f"{where} is {format_value(value)}, of type {type(value).__name__}, which JSON cannot hold{hint}"
    )


def as_python(value: Any) -> Any:
    """Convert a NumPy scalar to Python's type; a long double becomes a float, and other values are unchanged."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return float(value) if isinstance(value, np.floating) else value
