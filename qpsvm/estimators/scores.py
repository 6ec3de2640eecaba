"""The decision values of several machines at once: one kernel block for all of them, by one matrix product.

    (SCORES.1)  F = K(X, S) Aᵀ + 1bᵀ:  (m, P) for m samples, support vectors S (s, d), coefficients A (P, s), b (P,)
    (SCORES.2)  F = X Wᵀ + 1bᵀ  of a linear kernel, with W (P, d)

X is taken in blocks, so that the kernel values stay in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.kernels.functions import Kernel, Precomputed

#: Kernel values that are evaluated at a time: 8 MB, which stay in the last cache.
BLOCK_VALUES = 1_000_000


@dataclass(frozen=True, eq=False)
class Scores:
    """What several decision functions are made of.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    support : ndarray of int, shape (s,)
        The rows of the fit that the coefficients are of; what a precomputed kernel picks.
    vectors : ndarray or csr_array, shape (s, d)
        These rows.
    coef : ndarray, shape (P, s)
    b : ndarray, shape (P,)
    w : ndarray, shape (P, d), or None
        Of a linear kernel.
    """

    kernel: Kernel
    support: NDArray[Any]
    vectors: Matrix
    coef: FloatArray
    b: FloatArray
    w: FloatArray | None = None

    def __call__(self, X: Matrix) -> FloatArray:
        """The values of every function at each row of checked samples: (m, P)."""
        if self.w is not None:  # (SCORES.2)
            return np.asarray(X @ self.w.T) + self.b
        if isinstance(self.kernel, Precomputed):
            return np.asarray(X[:, self.support] @ self.coef.T) + self.b
        m, s = X.shape[0], self.coef.shape[1]
        if not s:
            return np.tile(self.b, (m, 1))
        turned = sp.issparse(X) and not sp.issparse(self.vectors)
        step = max(1, BLOCK_VALUES // (max(s, X.shape[1]) if turned else s))
        parts = (X[i : i + step] for i in range(0, m, step))
        blocks = [self.kernel(part.toarray() if turned else part, self.vectors) @ self.coef.T for part in parts]
        return np.concatenate(blocks) + self.b  # (SCORES.1)


def rows_of(X: Matrix, rows: NDArray[Any]) -> Matrix:
    """Some rows of samples, with storage of their own."""
    found: Matrix = sp.csr_array(X[rows]) if sp.issparse(X) else np.ascontiguousarray(X[rows])
    return found
