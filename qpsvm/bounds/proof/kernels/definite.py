"""Prove that a matrix is positive semidefinite, by multiplying out a Cholesky factor.

    (DEF.1)  K − cI = GGᵀ + E  and ‖E‖ ≤ b, for any floats G:  K + (b − c)I is positive semidefinite, K if b ≤ c
    (DEF.2)  E is what is left when GGᵀ is taken off in blocks of columns B: a product is off by γ_{|B|} ‖G_iB‖‖G_jB‖,
             in norm γ_{|B|} ‖G_B‖²_F, and a difference by u of itself
    (DEF.3)  K that is only known to ‖R‖: b grows by that
    (DEF.4)  where 1ᵀβ is the same for all β, only 1ᵀδ = 0 matters for δ, where δᵀKδ = δᵀ(K + 1aᵀ + a1ᵀ)δ for any a.
             a_i = ½(t + mean of K) − mean of row i makes that HKH + t11ᵀ, H = I − 11ᵀ/n, with t > 0 not singular
    (DEF.5)  for any v, 1ᵀv = η:  vᵀKv = vᵀ(K + 1aᵀ + a1ᵀ)v − 2η aᵀv ≥ −σ‖v‖² − 2|η| |a|ᵀ|v|
    (DEF.6)  k·11ᵀ with k ≥ 0 is positive semidefinite as it is

Rump takes b from what is known of Cholesky's algorithm and need not multiply. We do: G is then no better than what it
is, a LAPACK may compute it as it likes, and E, of which nearly nothing is left after few blocks, makes b less.

Sources: Rump, *Verification of positive definiteness*, BIT 46 (2006); Higham (2002), sections 3.5 and 10.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.gap_bounds import NEXT_TO_NOTHING
from qpsvm.bounds.proof.kernels.values import ROWS

#: Rows up to which a matrix is proven to be positive semidefinite: 5000 take some seconds.
MOST_ROWS = 5000
#: σ in roundings of the trace from which on it is worth while to look whether only 1ᵀδ = 0 matters.
ROUNDED = 512.0
#: What is added to a diagonal grows by this until there is a factor, and in all up to this share of the mean diagonal.
GROWTH, MOST_ADDED = 8.0, 1e-6


@dataclass(frozen=True, eq=False)
class Definiteness:
    """What is proven of a kernel matrix.

    sigma: K + 1aᵀ + a1ᵀ + σI is positive semidefinite; infinite where nothing is proven.
    offset (n,): a of (DEF.4); None for 0.
    built: Whether K is so by construction.
    said: Of which matrix, in words.
    """

    sigma: float
    offset: FloatArray | None = None
    built: bool = False
    said: str = "the kernel matrix"


def definiteness(K: FloatArray, radius: float = 0.0, plane: bool = False) -> Definiteness:
    """The least σ that is easily found. Shapes: K (n, n)."""
    if not len(K) or (radius == 0.0 and K[0, 0] >= 0.0 and bool((K[0, 0] == K).all())):  # (DEF.6)
        return Definiteness(0.0)
    with np.errstate(all="ignore"):
        sigma = find_psd_shift(K, radius)
        if not plane or sigma <= ROUNDED * UNIT * float(np.abs(K.diagonal()).sum()):
            return Definiteness(sigma)
        a = _offset(K)
        moved = a[:, None] + a
        off = UNIT * _norm(moved)
        moved += K
        off += UNIT * _norm(moved)
        there = find_psd_shift(moved, radius + off * (1.0 + gamma(8)))
    return Definiteness(there, a) if there < sigma else Definiteness(sigma)


def _offset(K: FloatArray) -> FloatArray:
    """a of (DEF.4), some floats: any are right."""
    row, mean = K.mean(axis=0), float(K.mean())
    added = float(np.abs(K.diagonal() - 2.0 * row + mean).mean()) / len(K)
    a: FloatArray = 0.5 * (mean + added) - row
    return a


def find_psd_shift(K: FloatArray, radius: float = 0.0) -> float:
    """Return σ ≥ 0 such that K + σI is positive semidefinite, or infinity, by (DEF.1): K (n, n), known to `radius`."""
    largest = float(np.abs(K).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return radius if largest == 0.0 else math.inf
    power = math.frexp(largest)[1]
    scaled = np.ldexp(K, -power)  # exact, but for what underflows
    lost = math.ldexp(radius, -power) * (1.0 + gamma(1)) + len(K) * UNDERFLOW
    return math.ldexp(_find_scaled_shift(scaled, lost), power) * (1.0 + gamma(1))


def _find_scaled_shift(K: FloatArray, radius: float) -> float:
    """Return `lacking` of a matrix with entries up to 1."""
    n, mean = len(K), float(np.abs(K.diagonal()).mean())
    size = UNIT * n * mean
    if not size > 0.0:
        return math.inf
    taken = (2.0 * min(n, ROWS) + n / 8.0) * size + 1.01 * radius
    for _ in range(2):  # of a matrix that is positive definite by more than rounding
        left = _bound_residual(K, -taken)
        if left is None:
            break
        if left + radius <= taken:
            return 0.0
        taken = 2.0 * left + 1.01 * radius
    added = size
    while added <= MOST_ADDED * mean:
        left = _bound_residual(K, added)
        if left is not None:
            return (added + left + radius) * (1.0 + gamma(8))
        added *= GROWTH
    return math.inf


def _bound_residual(K: FloatArray, added: float) -> float | None:
    """Return b of (DEF.1) and (DEF.2) for c = −added; None if there is no factor."""
    n = len(K)
    diagonal = K.diagonal() + added
    shifted = K.copy()
    np.fill_diagonal(shifted, diagonal)
    G, failed = lapack.dpotrf(shifted.T, lower=1, clean=1, overwrite_a=1)  # K = Kᵀ, in LAPACK's order
    if failed:
        return None
    rounded, left = np.zeros(-(-n // ROWS)), 0.0  # squares of what is left after each block, and in the end
    for top in range(0, n, ROWS):
        rows = slice(top, min(top + ROWS, n))
        rest = K[rows, : rows.stop].copy()  # E is symmetric
        rest[np.arange(len(rest)), np.arange(*rows.indices(n))] = diagonal[rows]
        for k, start in enumerate(range(0, rows.stop, ROWS)):
            some = slice(start, start + ROWS)
            part = rest[:, start:]
            part -= G[rows, some] @ G[start : rows.stop, some].T
            rounded[k] += _square(part)
        left += _square(rest)
    off = UNIT * (float(np.linalg.norm(diagonal)) + float(np.sqrt(2.0 * rounded).sum()))
    off += gamma(min(n, ROWS) + 1) * _square(G) + math.sqrt(2.0 * left)
    found = off * (1.0 + gamma(n * n + 64)) + n * NEXT_TO_NOTHING
    return found if math.isfinite(found) else None


def _square(A: FloatArray) -> float:
    """‖A‖²_F, rounded."""
    return float(np.einsum("ij,ij->", A, A))


def _norm(A: FloatArray) -> float:
    """‖A‖_F from above."""
    return math.sqrt(_square(A)) * (1.0 + gamma(A.size + 8)) + len(A) * NEXT_TO_NOTHING
