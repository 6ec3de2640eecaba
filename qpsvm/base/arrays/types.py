"""Define the types of arrays: floats, indices, and matrices that may be sparse."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
#: A dense array (n, d), or a SciPy CSR array of that shape. SciPy has no types for it.
Matrix: TypeAlias = Any


def as_dense(matrix: Matrix) -> FloatArray:
    """Return the matrix (n, d) itself if it is dense, else a dense copy."""
    dense: FloatArray = matrix.toarray() if sp.issparse(matrix) else matrix
    return dense


def as_dense_rows(matrix: Matrix | None, right: FloatArray | None, n: int) -> tuple[FloatArray, FloatArray]:
    """Return rows and right-hand side as dense float64 arrays, (m, n) and (m,); without rows for None."""
    if matrix is None or right is None:
        return np.zeros((0, n)), np.zeros(0)
    rows = np.asarray(as_dense(matrix), dtype=np.float64).reshape(-1, n)
    return rows, np.asarray(right, dtype=np.float64).reshape(len(rows))
