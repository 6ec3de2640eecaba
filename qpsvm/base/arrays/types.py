"""The types of arrays: floats, indices, and matrices that may be sparse.

Frozen dataclasses of many parts, made in a fraction of the time that their `__init__` takes.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

T = TypeVar("T")


def made(kind: type[T], /, **parts: Any) -> T:
    """An object of a frozen dataclass from its parts by name; what has a plain default may be left out.
    Its arrays, which have to be ours, are frozen.

    `__init__` of a frozen class sets each part by a call of its own, as long as a small vector takes to be added up.
    """
    for part in parts.values():
        if isinstance(part, np.ndarray):
            part.flags.writeable = False
    new = object.__new__(kind)
    new.__dict__.update(parts)
    return new


FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
#: A dense array (n, d), or a SciPy CSR array of that shape. SciPy has no types for it.
Matrix: TypeAlias = Any


def as_dense(matrix: Matrix) -> FloatArray:
    """The matrix (n, d) itself where it is dense, else a dense copy."""
    dense: FloatArray = matrix.toarray() if sp.issparse(matrix) else matrix
    return dense


def dense_rows(matrix: Matrix | None, right: FloatArray | None, n: int) -> tuple[FloatArray, FloatArray]:
    """Rows and their right-hand side as dense float64 arrays, (m, n) and (m,); none of them for None."""
    if matrix is None or right is None:
        return np.zeros((0, n)), np.zeros(0)
    rows = np.asarray(as_dense(matrix), dtype=np.float64).reshape(-1, n)
    return rows, np.asarray(right, dtype=np.float64).reshape(len(rows))


__all__ = ["made"]
