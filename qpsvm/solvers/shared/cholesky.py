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

#: The first ridge above 0, and the factor from each to the next.
FIRST_RIDGE = 1e-15
RIDGE_GROWTH = 100.0
#: The largest ridge: a matrix that is semidefinite up to rounding needs no more.
MAX_RIDGE = 1e-2
#: Refinement is not needed if the diagonal entries of the factor exceed this, for M scaled to a unit diagonal.
MIN_UNREFINED_ENTRY = 1e-3
#: A factor in single precision can be refined if they exceed this: each step divides the error by about 10⁷p², where p
#: is the smallest of them.
MIN_SINGLE_ENTRY = 1e-2

Factor: TypeAlias = NDArray[np.floating[Any]]


class NumericalTrouble(ArithmeticError):
    """Raised if a system has no Cholesky factor, or if a step is not finite or cannot be made."""


def factorise(M: FloatArray, shift: float | FloatArray | None = None, single: bool = False) -> Factor | None:
    """Return the lower Cholesky factor of M + diag(shift), in Fortran order; None if the sum is not positive definite.

    M (k, k) is symmetric; shift is (k,) or one number. The upper triangle of the result is arbitrary.
    single: Use single precision, at half the cost.
    """
    shifted: Any = M.astype(np.float32 if single else np.float64, order="C")  # its transpose is in Fortran order
    if shift is not None:
        shifted.flat[:: len(M) + 1] += shift
    factor, info = (lapack.spotrf if single else lapack.dpotrf)(shifted.T, lower=1, clean=0, overwrite_a=1)
    return np.asarray(factor) if info == 0 else None


def factorise_with_ridge(
    M: FloatArray, ridge: float = 0.0, unit: float | FloatArray | None = None, max_ridge: float = MAX_RIDGE
) -> tuple[Factor, float]:
    """Return the factor of M + ρ diag(u), M (k, k), and the first ρ from `ridge` to `max_ridge` for which it exists.

    u is `unit`, (k,) or one number; by default the diagonal of M, with 1 in place of entries that are not positive.
    Raises NumericalTrouble.
    """
    if unit is None:
        unit = np.where(M.diagonal() > 0, M.diagonal(), 1.0)
    while ridge <= max_ridge:
        factor = factorise(M, ridge * unit if ridge else None)
        if factor is not None:
            return factor, ridge
        if not np.isfinite(M).all():  # no ridge helps
            break
        ridge = max(FIRST_RIDGE, RIDGE_GROWTH * ridge)
    raise NumericalTrouble("the matrix has no Cholesky factor")


class Cholesky:
    """Solver for a symmetric positive semidefinite M (k, k), by the factor of M, or of M + ρ diag(M).

    If a ridge or a small diagonal entry of the factor costs digits, iterative refinement recovers them.

    M (k, k): In C order; stored without a copy.
    ridge: The first ρ to try.
    single: Factorise in single precision if refinement can recover the digits.
    """

    def __init__(self, M: FloatArray, ridge: float = 0.0, single: bool = False) -> None:
        self._matrix = M
        self._single_scale = 0.0  # the number by which M is divided in single precision; 0 in double precision
        diagonal = M.diagonal()
        if single and (scale := float(diagonal.max(initial=0.0))) > 0.0:
            factor = factorise(M / scale, single=True)  # scaled, because single precision overflows early
            if factor is not None and _find_min_entry(factor, diagonal / scale) > MIN_SINGLE_ENTRY:
                self._factor = factor
                self._n_refinements = 2
                self._single_scale = scale
                return
        self._factor, ridge = factorise_with_ridge(M, ridge)
        if ridge or _find_min_entry(self._factor, diagonal) < MIN_UNREFINED_ENTRY:
            self._n_refinements = 1
        else:
            self._n_refinements = 0

    @property
    def is_single(self) -> bool:
        """Whether the factor is in single precision."""
        return self._single_scale > 0.0

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Solve Mx = rhs, for rhs (k,) or (k, r)."""
        if not rhs.size:
            return rhs
        x = self._solve_once(rhs)
        for _ in range(self._n_refinements):
            x += self._solve_once(rhs - self._matrix @ x)
        return x

    def _solve_once(self, rhs: FloatArray) -> FloatArray:
        """Solve with the factor, without refinement."""
        if not self.is_single:
            x: FloatArray = lapack.dpotrs(self._factor, rhs, lower=1)[0]
            return x
        rhs_scale = float(np.abs(rhs).max()) or 1.0
        x = lapack.spotrs(self._factor, rhs / rhs_scale, lower=1)[0].astype(np.float64)
        return x * (rhs_scale / self._single_scale)


def _find_min_entry(factor: Factor, diagonal: FloatArray) -> float:
    """Return the smallest diagonal entry of the factor for M scaled from its diagonal (k,) to ones; at most 1."""
    entries = factor.diagonal()
    return math.sqrt(np.minimum.reduce(entries * entries / diagonal, initial=1.0))
