"""Find the rows of a linear machine in memory, and lay them out for the compiled loops (`build_table`)."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.space.operators import LowRank, Operator

#: Values, columns, starts, and bytes of an index: 0 for dense rows.
Table: TypeAlias = tuple[Any, Any, Any, int]


def build_table(X: Matrix, mean: FloatArray | None = None) -> Table:
    """Return the rows X (n, d), minus their mean if they are dense and it is given, in the form that the loop reads."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X if mean is None else X - mean, dtype=np.float64), b"", b"", 0
    X = X.tocsr()
    table = X.data.astype(np.float64, copy=False), X.indices, X.indptr.astype(X.indices.dtype, copy=False)
    values, columns, starts = (np.ascontiguousarray(array) for array in table)
    return values, columns, starts, X.indices.itemsize


def find_rows_in_memory(gram: Operator) -> Matrix | None:
    """Return X (n, d) of the Gram matrix XXᵀ if it is in memory; otherwise None."""
    if not isinstance(gram, LowRank) or gram.scale is not None or gram.d is not None:
        return None
    return gram.source.memory_matrix
