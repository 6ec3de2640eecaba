"""Prove that a matrix is positive semidefinite, by multiplying out a Cholesky factor (`prove_definiteness`).

    (DEF.1)  K − cI = GGᵀ + E  and ‖E‖ ≤ b, for any floats G:  K + (b − c)I is positive semidefinite, and K if b ≤ c
    (DEF.2)  E is computed by subtracting GGᵀ in blocks of columns B: the error of a product is γ_{|B|} ‖G_iB‖‖G_jB‖,
             in norm γ_{|B|} ‖G_B‖²_F, and the relative error of a difference is u
    (DEF.3)  if K is only known up to a matrix R, b grows by ‖R‖
    (DEF.4)  if 1ᵀβ is the same for all β, only δ with 1ᵀδ = 0 matter, for which δᵀKδ = δᵀ(K + 1aᵀ + a1ᵀ)δ with any a.
             For a_i = ½(t + mean of K) − mean of row i the matrix is HKH + t11ᵀ, H = I − 11ᵀ/n; t > 0 makes 1 regular
    (DEF.5)  for any v, 1ᵀv = η:  vᵀKv = vᵀ(K + 1aᵀ + a1ᵀ)v − 2η aᵀv ≥ −σ‖v‖² − 2|η| |a|ᵀ|v|
    (DEF.6)  k·11ᵀ with k ≥ 0 is positive semidefinite

So K + σI is proven semidefinite for σ = max(0, b − c). Rump derives b from the error analysis of Cholesky's algorithm.
Computing E by (DEF.2) makes the proof independent of how LAPACK computes G, and b smaller, because what is left after
a few blocks is tiny.

Sources: Rump, *Verification of positive definiteness*, BIT 46 (2006); Higham (2002), sections 3.5 and 10.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.double_double import NEXT_TO_NOTHING, UNDERFLOW
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.kernels.values import ROWS

#: Largest number of rows for which a proof is tried: 5000 take some seconds.
MAX_ROWS = 5000
#: A σ up to this many roundings of the trace counts as rounding, and (DEF.4) is not tried.
MAX_SHIFT_ROUNDINGS = 512.0
#: What is added to the diagonal grows by GROWTH until there is a Cholesky factor, up to MAX_ADDED of the mean diagonal.
GROWTH, MAX_ADDED = 8.0, 1e-6


@dataclass(frozen=True, eq=False)
class Definiteness:
    """What is proven about a kernel matrix.

    sigma: K + 1aᵀ + a1ᵀ + σI is positive semidefinite; infinite if nothing is proven.
    offset (n,): a of (DEF.4); None for 0.
    is_by_construction: Whether K is positive semidefinite by construction, so that nothing was computed.
    """

    sigma: float
    offset: FloatArray | None = None
    is_by_construction: bool = False


def prove_definiteness(K: FloatArray, radius: float = 0.0, has_fixed_sum: bool = False) -> Definiteness:
    """Find a small σ for K (n, n), known up to a matrix of norm `radius`.

    has_fixed_sum: Whether 1ᵀβ is the same for all β, so that (DEF.4) may be used.
    """
    if not len(K) or (radius == 0.0 and K[0, 0] >= 0.0 and bool((K[0, 0] == K).all())):  # (DEF.6)
        return Definiteness(0.0)
    with np.errstate(all="ignore"):
        sigma = find_psd_shift(K, radius)
        if not has_fixed_sum or sigma <= MAX_SHIFT_ROUNDINGS * UNIT * float(np.abs(K.diagonal()).sum()):
            return Definiteness(sigma)
        a = _compute_offset(K)
        shifted = a[:, None] + a
        error = UNIT * _bound_norm(shifted)
        shifted += K
        error += UNIT * _bound_norm(shifted)
        shifted_sigma = find_psd_shift(shifted, radius + error * (1.0 + gamma(8)))
    if shifted_sigma < sigma:
        return Definiteness(shifted_sigma, a)
    return Definiteness(sigma)


def _compute_offset(K: FloatArray) -> FloatArray:
    """Return a of (DEF.4), approximately, since any a is valid."""
    row_means = K.mean(axis=0)
    mean = float(K.mean())
    t = float(np.abs(K.diagonal() - 2.0 * row_means + mean).mean()) / len(K)  # then t11ᵀ has the mean eigenvalue of HKH
    a: FloatArray = 0.5 * (mean + t) - row_means
    return a


def find_psd_shift(K: FloatArray, radius: float = 0.0) -> float:
    """Return σ ≥ 0 of (DEF.1) for K (n, n), known up to a matrix of norm `radius`; infinity if none was found."""
    largest_entry = float(np.abs(K).max(initial=0.0))
    if not 0.0 < largest_entry < math.inf:
        return radius if largest_entry == 0.0 else math.inf
    power = math.frexp(largest_entry)[1]
    scaled = np.ldexp(K, -power)  # exact except for underflow
    scaled_radius = math.ldexp(radius, -power) * (1.0 + gamma(1)) + len(K) * UNDERFLOW
    return math.ldexp(_find_scaled_shift(scaled, scaled_radius), power) * (1.0 + gamma(1))


def _find_scaled_shift(K: FloatArray, radius: float) -> float:
    """As `find_psd_shift`, for a matrix with entries up to 1."""
    n = len(K)
    mean = float(np.abs(K.diagonal()).mean())
    size = UNIT * n * mean
    if not size > 0.0:
        return math.inf
    subtracted = (2.0 * min(n, ROWS) + n / 8.0) * size + 1.01 * radius  # a guess of b, and of c: K itself is definite
    for _ in range(2):  # if b ≤ c; the second c is made of the b of the first
        residual = _bound_residual(K, -subtracted)
        if residual is None:
            break
        if residual + radius <= subtracted:
            return 0.0
        subtracted = 2.0 * residual + 1.01 * radius
    added = size
    while added <= MAX_ADDED * mean:
        residual = _bound_residual(K, added)
        if residual is not None:
            return (added + residual + radius) * (1.0 + gamma(8))
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
    # ‖·‖²_F of the lower block triangle of what is left of K − cI, after each block of columns and at the end: E
    squares = np.zeros(-(-n // ROWS))
    final_square = 0.0
    for top in range(0, n, ROWS):
        rows = slice(top, min(top + ROWS, n))
        remainder = K[rows, : rows.stop].copy()  # the lower half suffices, as E is symmetric
        remainder[np.arange(len(remainder)), np.arange(*rows.indices(n))] = diagonal[rows]
        for k, start in enumerate(range(0, rows.stop, ROWS)):
            block = slice(start, start + ROWS)
            columns = remainder[:, start:]
            columns -= G[rows, block] @ G[start : rows.stop, block].T
            squares[k] += _sum_squares(columns)
        final_square += _sum_squares(remainder)
    error = UNIT * (float(np.linalg.norm(diagonal)) + float(np.sqrt(2.0 * squares).sum()))
    error += gamma(min(n, ROWS) + 1) * _sum_squares(G) + math.sqrt(2.0 * final_square)
    bound = error * (1.0 + gamma(n * n + 64)) + n * NEXT_TO_NOTHING
    return bound if math.isfinite(bound) else None


def _sum_squares(A: FloatArray) -> float:
    """Return ‖A‖²_F, rounded."""
    return float(np.einsum("ij,ij->", A, A))


def _bound_norm(A: FloatArray) -> float:
    """Return an upper bound of ‖A‖_F."""
    return math.sqrt(_sum_squares(A)) * (1.0 + gamma(A.size + 8)) + len(A) * NEXT_TO_NOTHING
