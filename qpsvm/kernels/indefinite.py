"""Gram matrices that are not positive semidefinite by construction: tested, and refused, clipped or shifted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray
from qpsvm.kernels.positive_part import PositivePart
from qpsvm.operators import Operator

Intercept = Literal["free", "penalised"] | None
PSDRule = Literal["raise", "clip", "shift"]


@dataclass(frozen=True, eq=False)
class Treated:
    """A Gram matrix made positive semidefinite.

    gram, centred (n, n): As in `FeatureSpace`.
    part or None: Where `gram` is the positive part of a matrix (psd="clip").
    shift: σ added to the diagonal (psd="shift").
    with_ones: It is K + 1 that was treated: the penalised intercept is part of it.
    asymmetry: The largest change, relative to the largest entry, that made the kernel's own matrix symmetric.
    largest: A bound on the numbers that it was made of, of which much may have cancelled: |K_ij|, and 1 with
        ones.
    """

    gram: Operator
    centred: Operator
    part: PositivePart | None = None
    shift: float = 0.0
    with_ones: bool = False
    asymmetry: float = 0.0
    largest: float = 0.0


def doubly_centred(K: FloatArray) -> FloatArray:
    """HKH with H = I − 11ᵀ/n: (n, n)."""
    row = K.mean(axis=0)
    H: FloatArray = K - row
    H -= row[:, None]
    H += row.mean()
    return H


def is_psd(K: FloatArray, tolerance: float) -> bool:
    """Whether no eigenvalue of K (n, n) is below −tolerance, by Cholesky of K + tolerance·I."""
    if not K.any():
        return True  # which a factorisation with nothing added to it does not see
    shifted = K.copy()
    shifted[np.diag_indices_from(shifted)] += tolerance
    return bool(lapack.dpotrf(shifted.T, lower=1, overwrite_a=1, clean=0)[1] == 0)  # K = Kᵀ, in LAPACK's order
