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
FIRST_RIDGE, RIDGE_GROWTH, MAX_RIDGE = 1e-15, 100.0, 1e-2
#: If all diagonal entries of the factor exceed this, for M with a unit diagonal, refinement is not needed.
MIN_UNREFINED_PIVOT = 1e-3
#: Above this, a factor in single precision can be refined: each step gains a factor of 10⁷ times its square.
MIN_SINGLE_PIVOT = 1e-2

Factor: TypeAlias = NDArray[np.floating[Any]]


class NumericalTrouble(ArithmeticError):
    """Raised for a system that no ridge makes factorable, or whose solution is not finite."""


def factorise(M: FloatArray, shift: float | FloatArray | None = None, single: bool = False) -> Factor | None:
    """Return the lower Cholesky factor of M + diag(shift), in Fortran order; None if that is not positive definite.

    M (k, k) is symmetric; shift is (k,) or one number. The upper triangle of the result is arbitrary.
    single: Use single precision, at half the cost.
    """
    shifted: Any = M.astype(np.float32 if single else np.float64, order="C")  # its transpose is in Fortran order
    if shift is not None:
        shifted.flat[:: len(M) + 1] += shift
    factor, info = (lapack.spotrf if single else lapack.dpotrf)(shifted.T, lower=1, clean=0, overwrite_a=1)
    return np.asarray(factor) if info == 0 else None


def factorise_with_ridge(
    M: FloatArray, ridge: float = 0.0, unit: float | FloatArray | None = None, largest: float = MAX_RIDGE
) -> tuple[Factor, float]:
    """Return the factor of M + ρ diag(u), M (k, k), and ρ: the first one from `ridge` to `largest` for which it exists.

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
        ridge = max(FIRST_RIDGE, RIDGE_GROWTH * ridge)
    raise NumericalTrouble("the matrix has no Cholesky factor")


class Cholesky:
    """Solver for a symmetric positive semidefinite M (k, k), by the factor of M, or of M + ρ diag(M).

    If a ridge or a small pivot costs digits, iterative refinement recovers them.

    M (k, k): In C order; stored without a copy.
    ridge: The first ρ to try.
    single: Factorise in single precision if refinement can recover the digits.
    """

    def __init__(self, M: FloatArray, ridge: float = 0.0, single: bool = False) -> None:
        self._matrix, self._single_scale, diagonal = M, 0.0, M.diagonal()
        if single and (scale := float(diagonal.max(initial=0.0))) > 0.0:
            factor = factorise(M / scale, single=True)  # scaled, because single precision overflows early
            if factor is not None and _compute_min_pivot(factor, diagonal / scale) > MIN_SINGLE_PIVOT:
                self._factor, self._n_refinements, self._single_scale = factor, 2, scale
                return
        self._factor, ridge = factorise_with_ridge(M, ridge)
        self._n_refinements = 1 if ridge or _compute_min_pivot(self._factor, diagonal) < MIN_UNREFINED_PIVOT else 0

    @property
    def is_single(self) -> bool:
        """Whether the factor is in single precision."""
        return self._single_scale > 0.0

    def solve(self, right: FloatArray) -> FloatArray:
        """Return M⁻¹ right, for right (k,) or (k, r)."""
        if not right.size:
            return right
        x = self._solve_once(right)
        for _ in range(self._n_refinements):
            x += self._solve_once(right - self._matrix @ x)
        return x

    def _solve_once(self, right: FloatArray) -> FloatArray:
        """Solve with the factor, without refinement."""
        if not self.is_single:
            x: FloatArray = lapack.dpotrs(self._factor, right, lower=1)[0]
            return x
        right_scale = float(np.abs(right).max()) or 1.0
        x = lapack.spotrs(self._factor, right / right_scale, lower=1)[0].astype(np.float64)
        return x * (right_scale / self._single_scale)


def _compute_min_pivot(factor: Factor, diagonal: FloatArray) -> float:
    """Return the smallest diagonal entry of the factor, of a matrix with this diagonal (k,), scaled to ones."""
    pivots = factor.diagonal()
    return math.sqrt(np.minimum.reduce(pivots * pivots / diagonal, initial=1.0))
