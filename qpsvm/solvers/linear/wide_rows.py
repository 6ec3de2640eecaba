"""Reduce rows with far more columns than rows to as many columns as rows (`reduce_wide`).

    (WIDE.1)  X − 1μᵀ = L Qᵀ,  L (n, n),  QᵀQ = I:  w = Qv has the decision values Lv and the norm of v

Every optimal w has this form: a part orthogonal to the samples would only increase ‖w‖². Q is stored as a product of
reflections (LAPACK's geqrf), so that the d columns cost one factorisation, and products afterwards have n columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray, Matrix

#: Limit of the rows, and minimal number of columns per row, for which the factorisation pays. It takes 2dn² operations,
#: sixteen times as fast as in a pass over X, so it costs n/16 passes: for 500 rows, about ten Newton steps.
MAX_REDUCED_ROWS, MIN_COLUMNS_PER_ROW = 500, 2


def reduce_wide(X: Matrix | None, centred: bool) -> WideReduction | None:
    """Apply (WIDE.1) to a dense X (n, d) if it pays, else return None; μ is the column means if `centred`, else 0."""
    if X is None or sp.issparse(X) or X.shape[0] > MAX_REDUCED_ROWS or X.shape[1] < MIN_COLUMNS_PER_ROW * X.shape[0]:
        return None
    n, mean = len(X), X.mean(axis=0) if centred else None
    rows = np.array(X, order="C") if mean is None else np.ascontiguousarray(X - mean)
    factor, scales, _, _ = lapack.dgeqrf(rows.T, overwrite_a=1)
    return WideReduction(np.ascontiguousarray(np.triu(factor[:n]).T), mean, factor, scales)


@dataclass(frozen=True, eq=False)
class WideReduction:
    """The reduction (WIDE.1).

    L (n, n)
    mean (d,): μ; None for 0.
    """

    L: FloatArray
    mean: FloatArray | None
    _reflections: FloatArray
    _scales: FloatArray

    @property
    def width(self) -> int:
        """Number of columns, d."""
        return int(self._reflections.shape[0])

    def expand(self, v: FloatArray) -> FloatArray:
        """Return Q v for v (n,): (d,)."""
        padded = np.zeros(self.width)
        padded[: len(v)] = v
        return self._apply_reflections("N", padded)

    def project(self, w: FloatArray) -> FloatArray:
        """Return Qᵀw for w (d,): (n,)."""
        return self._apply_reflections("T", w)[: len(self.L)]

    def _apply_reflections(self, side: str, vector: FloatArray) -> FloatArray:
        product = lapack.dormqr("L", side, self._reflections, self._scales, vector[:, None], lwork=64)[0]
        return np.asarray(product[:, 0], dtype=np.float64)
