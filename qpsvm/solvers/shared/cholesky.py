"""Factorise by Cholesky, with a ridge or refinement if needed (`Cholesky`, `factorise_with_ridge`).

A matrix M that is positive semidefinite up to rounding may have no factor. M + ρ diag(u) has one for a large enough ρ,
which is found by trying ρ, 100ρ, … With u = diag(M) the result does not depend on the units of the rows, as if M had
been scaled to a unit diagonal.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray

#: The first ridge above 0, the factor to the next one, and the largest: a semidefinite matrix needs no more.
FIRST_RIDGE, GROWTH, MAX_RIDGE = 1e-15, 100.0, 1e-2
#: If all square roots of pivots exceed this, for a unit diagonal, so few digits are lost that refinement is skipped.
WELL_CONDITIONED = 1e-3
#: The same for a factor in single precision: each refinement gains a factor of 10⁷ times the square of the pivot.
SINGLE_PIVOT = 1e-2

Factor: TypeAlias = NDArray[np.floating[Any]]


class NumericalTrouble(ArithmeticError):
    """Raised for a system that no ridge makes factorable, or whose solution is not finite."""


def factorise(M: FloatArray, shift: float | FloatArray | None = None, single: bool = False) -> Factor | None:
    """Return the lower factor of M + diag(shift), M (k, k) symmetric, in LAPACK's order; None if there is none.

    It is computed in single precision, at half the cost, if `single`.
    """
    shifted: Any = M.astype(np.float32 if single else np.float64, order="C")  # transposed, it is in Fortran's order
    if shift is not None:
        shifted.flat[:: len(M) + 1] += shift
    factor, info = (lapack.spotrf if single else lapack.dpotrf)(shifted.T, lower=1, clean=0, overwrite_a=1)
    return np.asarray(factor) if info == 0 else None


def factorise_with_ridge(
    M: FloatArray, ridge: float = 0.0, unit: float | FloatArray | None = None, largest: float = MAX_RIDGE
) -> tuple[Factor, float]:
    """Return the factor of M + ρ diag(u), M (k, k), for the first ρ from `ridge` to `largest` that has one, and ρ.

    u is `unit`, (k,) or one number; by default the diagonal of M, with 1 in place of entries that are not positive.

    Raises NumericalTrouble.
    """
    while ridge <= largest:
        if ridge and unit is None:
            unit = np.where(M.diagonal() > 0, M.diagonal(), 1.0)
        factor = factorise(M, ridge * unit if ridge and unit is not None else None)
        if factor is not None:
            return factor, ridge
        if not np.isfinite(M).all():
            break
        ridge = max(FIRST_RIDGE, GROWTH * ridge)
    raise NumericalTrouble("the matrix has no Cholesky factor")


class Cholesky:
    """Solver for a symmetric positive semidefinite M (k, k), by the factor of M, or of M + ρ diag(M).

    If a ridge or a small pivot costs digits, iterative refinement recovers them.

    M (k, k): In C order; stored without a copy.
    ridge: The first ρ to try.
    single: Factor in single precision if refinement can recover the digits.
    """

    def __init__(self, M: FloatArray, ridge: float = 0.0, single: bool = False) -> None:
        self._matrix, self._size, diagonal = M, 0.0, M.diagonal()
        if single and (size := float(diagonal.max(initial=0.0))) > 0.0:
            factor = factorise(M / size, single=True)  # the range of single precision is short
            if factor is not None and _compute_min_pivot(factor, diagonal / size) > SINGLE_PIVOT:
                self._factor, self._refinements, self._size = factor, 2, size
                return
        self._factor, ridge = factorise_with_ridge(M, ridge)
        self._refinements = 1 if ridge or _compute_min_pivot(self._factor, diagonal) < WELL_CONDITIONED else 0

    @property
    def is_single(self) -> bool:
        """Whether the factor is in single precision."""
        return self._size > 0.0

    def solve(self, right: FloatArray) -> FloatArray:
        """Return M⁻¹ right, for right (k,) or (k, r)."""
        if not right.size:
            return right
        x = self._solve_once(right)
        for _ in range(self._refinements):
            x += self._solve_once(right - self._matrix @ x)
        return x

    def _solve_once(self, right: FloatArray) -> FloatArray:
        if not self.is_single:
            x: FloatArray = lapack.dpotrs(self._factor, right, lower=1)[0]
            return x
        unit = float(np.abs(right).max()) or 1.0
        x = lapack.spotrs(self._factor, right / unit, lower=1)[0].astype(np.float64)
        return x * (unit / self._size)


def _compute_min_pivot(factor: Factor, diagonal: FloatArray) -> float:
    """Return the smallest root of a pivot of the factor, for a matrix scaled to a unit diagonal; diagonal (k,)."""
    pivots = factor.diagonal()
    return math.sqrt(np.minimum.reduce(pivots * pivots / diagonal, initial=1.0))
