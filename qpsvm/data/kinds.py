"""Recognise samples by their type alone (`is_path`, `is_table`, `is_stored`), without importing what opens them."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Numbers of a memory map from which on it stays where it is: as an array of float64 they would take 256 MB.
LARGE_MAP = 1 << 25


def is_path(data: Any) -> bool:
    """Tell whether something names a file, a folder, or a pattern."""
    return isinstance(data, (str, os.PathLike))


def is_arrow(data: Any) -> bool:
    """Tell whether it is a table, batch or data set of pyarrow."""
    return type(data).__module__.partition(".")[0] == "pyarrow"


def is_table(data: Any) -> bool:
    """Tell whether it is a `qpsvm.Table`."""
    return type(data).__module__ == "qpsvm.data.table"


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array is a map of a file, or a view of one."""
    base: Any = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


def is_dask(values: Any) -> bool:
    """Tell whether something is a Dask collection; Dask is not imported for the question."""
    known = "dask" in sys.modules and not isinstance(values, np.ndarray)
    return known and hasattr(values, "__dask_graph__") and hasattr(values, "persist")


def is_stored(X: Any) -> bool:
    """Tell whether X says where samples are stored, so that `open_rows` is to open it."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.size >= LARGE_MAP and is_mapped(X)
    if isinstance(X, (list, tuple)):
        return bool(X) and all(map(is_path, X))
    return is_path(X) or is_arrow(X)


def is_column(given: Any) -> bool:
    """Tell whether a target or weights are a column of the samples' file, or a file of their own."""
    return isinstance(given, (str, os.PathLike, int, np.integer))
