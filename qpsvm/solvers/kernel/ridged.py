"""Cholesky factors of matrices that are positive semidefinite up to rounding: a ridge that grows until there is one."""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.shared.cholesky import factored

#: A ridge that did not do is made so many times as large.
GROWTH = 100.0


def ridged_cholesky(A: FloatArray, ridge: float, next_ridge: float = 0.0) -> tuple[FloatArray, float]:
    """L with LLᵀ = A + ρI, below the diagonal (m, m), and ρ: the first of `ridge`, `next_ridge`, … that does.

    Raises
    ------
    LinAlgError
        A holds NaN or infinity, or no ridge was given.
    """
    while True:
        L = factored(A, ridge)
        if L is not None:
            return L.astype(np.float64, copy=False), ridge
        ridge = max(GROWTH * ridge, next_ridge)
        if not 0 < ridge < np.inf:
            raise np.linalg.LinAlgError("the matrix has no Cholesky factor at any ridge")


__all__ = ["ridged_cholesky"]
