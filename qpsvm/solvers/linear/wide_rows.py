"""Reduce a wide matrix X (n, d), with at least twice as many columns as rows, to a square one (`reduce_wide`).

    (WIDE.1)  X − 1μᵀ = L Qᵀ,  L (n, n),  QᵀQ = I:  w = Qv has the decision values Lv and the norm of v

Every optimal w has the form Qv: a part orthogonal to the samples would only increase ‖w‖². Only the factorisation
takes time for all d columns; the solver then works on the n columns of L. Q is stored as LAPACK's reflections.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray, Matrix

#: The factorisation pays off for at most this many rows, with at least this many columns per row. Its 2dn² operations
#: run sixteen times as fast as in passes over X, so it costs n/16 passes: for n = 500, about ten Newton steps.
MAX_REDUCED_ROWS, MIN_COLUMNS_PER_ROW = 500, 2


def reduce_wide(X: Matrix | None, centred: bool) -> WideReduction | None:
    """Apply (WIDE.1) to a dense X (n, d) if that saves time, else return None; μ is the mean if `centred`, else 0."""
    if X is None or sp.issparse(X) or X.shape[0] > MAX_REDUCED_ROWS or X.shape[1] < MIN_COLUMNS_PER_ROW * X.shape[0]:
        return None
    n = len(X)
    mean = X.mean(axis=0) if centred else None
    rows = np.array(X, order="C") if mean is None else np.ascontiguousarray(X - mean)  # a copy, overwritten below
    factor, scales, _, _ = lapack.dgeqrf(rows.T, overwrite_a=1)
    return WideReduction(np.ascontiguousarray(np.triu(factor[:n]).T), mean, factor, scales)


@dataclass(frozen=True, eq=False)
class WideReduction:
    """The reduction (WIDE.1), with L (n, n), μ as `mean` (d,), None for 0, and Q as LAPACK's reflections."""

    L: FloatArray
    mean: FloatArray | None
    _reflections: FloatArray
    _scales: FloatArray

    @property
    def width(self) -> int:
        """Number of columns of X, d."""
        return int(self._reflections.shape[0])

    def expand(self, v: FloatArray) -> FloatArray:
        """Return Q v for v (n,): (d,)."""
        padded = np.zeros(self.width)
        padded[: len(v)] = v
        return self._apply_reflections("N", padded)

    def project(self, w: FloatArray) -> FloatArray:
        """Return Qᵀw for w (d,): (n,)."""
        return self._apply_reflections("T", w)[: len(self.L)]

    def _apply_reflections(self, trans: str, vector: FloatArray) -> FloatArray:
        """Return the square orthogonal matrix, whose first n columns are Q, times a vector (d,); "T": its transpose."""
        product = lapack.dormqr(
            side="L", trans=trans, a=self._reflections, tau=self._scales, c=vector[:, None], lwork=64
        )[0]
        return np.asarray(product[:, 0], dtype=np.float64)
