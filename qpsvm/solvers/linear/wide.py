"""Far more columns than rows: the same machine in as many coordinates as there are rows.

    (WIDE.1)  X − 1μᵀ = L Qᵀ,  L (n, n),  QᵀQ = I:  w = Qv has the decision values Lv and the norm of v

Every w that helps is of this form: what is orthogonal to the samples adds to ‖w‖² and nothing else. Q stays a product
of reflections (LAPACK's geqrf), so that the columns cost one factorisation, and n each product afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray, Matrix

#: Most rows, and columns a row, for which the factorisation pays. It takes 2dn² operations at the speed of a matrix
#: product, sixteen times that of a pass over X, and so costs n/16 passes: at 500 rows, some ten Newton steps.
MOST_ROWS, COLUMNS_PER_ROW = 500, 2


@dataclass(frozen=True, eq=False)
class Reduced:
    """(WIDE.1).

    L (n, n)
    mean (d,): μ; None for 0.
    """

    L: FloatArray
    mean: FloatArray | None
    _reflections: FloatArray
    _scales: FloatArray

    @property
    def width(self) -> int:
        """The number of columns, d."""
        return int(self._reflections.shape[0])

    def expand(self, v: FloatArray) -> FloatArray:
        """Q v for v (n,): (d,)."""
        padded = np.zeros(self.width)
        padded[: len(v)] = v
        return self._applied("N", padded)

    def project(self, w: FloatArray) -> FloatArray:
        """Qᵀw for w (d,): (n,)."""
        return self._applied("T", w)[: len(self.L)]

    def _applied(self, side: str, vector: FloatArray) -> FloatArray:
        product = lapack.dormqr("L", side, self._reflections, self._scales, vector[:, None], lwork=64)[0]
        return np.asarray(product[:, 0], dtype=np.float64)


def reduced(X: Matrix | None, centred: bool) -> Reduced | None:
    """(WIDE.1) for a dense X (n, d) in memory, where it pays; μ is the column means if `centred`, else 0."""
    if X is None or sp.issparse(X) or X.shape[0] > MOST_ROWS or X.shape[1] < COLUMNS_PER_ROW * X.shape[0]:
        return None
    n, mean = len(X), X.mean(axis=0) if centred else None
    rows = np.array(X, order="C") if mean is None else np.ascontiguousarray(X - mean)
    factor, scales, _, _ = lapack.dgeqrf(rows.T, overwrite_a=1)
    return Reduced(np.ascontiguousarray(np.triu(factor[:n]).T), mean, factor, scales)
