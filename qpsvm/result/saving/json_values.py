"""Convert values to JSON that gives them back unchanged, and refuse others before a file is touched (`as_json`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import ParameterTypeError

#: How deep values may be nested, so that Python's reader of JSON takes them.
DEEPEST = 100
#: How many bits a whole number may have, for the same reason.
LONGEST_NUMBER = 10_000


def as_json(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value as JSON gives it back: NumPy's scalars become Python's, tuples lists. Nothing else changes.

    Raises ParameterTypeError.
    """
    if depth == 0 and not isinstance(value, dict):
        raise ParameterTypeError(f"{where} must be a dict, got {type(value).__name__}")
    if isinstance(value, dict) and depth < DEEPEST:
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:
            raise ParameterTypeError(
                f"{where} has the key {format_value(odd)}; keys in a file are text: use {format_value(odd)!r}"
            )
        return {str(key): as_json(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < DEEPEST:
        return [as_json(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, (np.bool_, np.number)) and not isinstance(value, (np.complexfloating, np.timedelta64)):
        value = as_python(value)
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int) and value.bit_length() <= LONGEST_NUMBER:
        return value
    if isinstance(value, (dict, list, tuple)):
        raise ParameterTypeError(f"metadata is nested more than {DEEPEST} deep, or contains itself")
    hint = "; use its tolist()" if isinstance(value, np.ndarray) else "; make it text or numbers"
    raise ParameterTypeError(
        f"{where} is {format_value(value)}, of type {type(value).__name__}, which JSON cannot hold{hint}"
    )


def as_python(value: Any) -> Any:
    """Return a NumPy scalar as Python's. A long double has no counterpart there and becomes a float."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return float(value) if isinstance(value, np.floating) else value
