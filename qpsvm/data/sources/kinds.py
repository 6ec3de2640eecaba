"""What a caller's samples are, by their type alone: what opens them is imported where there is something to open."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_path(data: Any) -> bool:
    """Whether something names a file, a folder, or a pattern."""
    return isinstance(data, (str, os.PathLike))


def is_arrow(data: Any) -> bool:
    """Whether it is a table, batch or data set of pyarrow."""
    return type(data).__module__.partition(".")[0] == "pyarrow"


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array is a map of a file, or a view of one."""
    base: Any = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)
