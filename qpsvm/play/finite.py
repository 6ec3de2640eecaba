"""Numbers as JSON can hold them: null for what is not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def number(value: float | None) -> float | None:
    """A finite number, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(values: ArrayLike) -> list[Any]:
    """An array of any shape as nested lists, with None for what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if np.isfinite(array).all():
        listed: list[Any] = array.tolist()
        return listed
    if array.ndim > 1:
        return [numbers(row) for row in array]
    return [value if math.isfinite(value) else None for value in array.tolist()]
