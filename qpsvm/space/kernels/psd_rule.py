"""Test whether a Gram matrix is positive semidefinite, and store one that was made so (`is_psd`, `TreatedGram`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.space.kernels.positive_part import PositivePart
from qpsvm.space.operators import Operator, find_largest_asymmetry

#: Relative difference of K and Kᵀ that may be rounding.
ASYMMETRY = 1e-8


def check_symmetric(K: FloatArray, name: str) -> None:
    """Check K = Kᵀ up to rounding. Raises DataError."""
    i, j, difference = find_largest_asymmetry(K)
    if difference > ASYMMETRY:
        raise DataError(
            f"{name} is not symmetric: entry ({i}, {j}) is {K[i, j]:.12g} and ({j}, {i}) is {K[j, i]:.12g}; "
            "a kernel has K(x, z) = K(z, x); if single precision makes the difference, use (K + Kᵀ)/2"
        )


def check_range(K: FloatArray, name: str) -> None:
    """Check that K and its products are finite in double precision. Raises DataError."""
    largest_entry = float(np.abs(K).max())
    if not largest_entry < LARGEST_VALUE:
        raise DataError(
            f"the Gram matrix of {name} has entries up to {largest_entry:.1e}, which overflow; standardise X"
        )


PSDRule = Literal["raise", "clip", "shift"]


@dataclass(frozen=True, eq=False)
class TreatedGram:
    """A Gram matrix made positive semidefinite.

    gram, centred (n, n): As in `FeatureSpace`.
    positive_part or None: Where `gram` is the positive part of a matrix (psd="clip").
    shift: σ added to the diagonal (psd="shift").
    smallest_eigenvalue: That of a matrix that was clipped, or of one that was shifted where it matters; else 0.
    with_ones: It is K + 1 that was treated: the penalised intercept is part of it.
    asymmetry: The largest change, relative to the largest entry, that made the kernel's own matrix symmetric.
    largest: A bound on the numbers that it was made of, of which much may have cancelled: |K_ij|, and 1 with
        ones.
    """

    gram: Operator
    centred: Operator
    positive_part: PositivePart | None = None
    shift: float = 0.0
    smallest_eigenvalue: float = 0.0
    with_ones: bool = False
    asymmetry: float = 0.0
    largest: float = 0.0


def centre_twice(K: FloatArray) -> FloatArray:
    """HKH with H = I − 11ᵀ/n: (n, n)."""
    row = K.mean(axis=0)
    H: FloatArray = K - row
    H -= row[:, None]
    H += row.mean()
    return H


def is_psd(K: FloatArray, tolerance: float) -> bool:
    """Return whether no eigenvalue of K (n, n) is below −tolerance, by Cholesky of K + tolerance·I."""
    if not K.any():
        return True  # which a factorisation with nothing added to it does not see
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += tolerance
    return bool(lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] == 0)  # K = Kᵀ, in LAPACK's order
