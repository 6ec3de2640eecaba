"""Find the exact optimum of a small C-SVM or ν-SVM from a nearby point, by guessing the free α.

    (SETTLE.1)  [K_FF 1; 1ᵀ 0][β_F; b] = [y_F − K_FB β_B; −1ᵀβ_B]:  the free rows F are on their margin, those of B are
                at their bounds, β = α∘y, and the others are 0
    (SETTLE.2)  next, a free row whose α leaves its box goes to that end of it; a row short of its margin at α = 0, or
                beyond it at α = C, becomes free
    (SETTLE.3)  of a ν-SVM, K_FF β_F + b − ρy_F = −K_FB β_B,  1ᵀβ = 0 and yᵀβ = ν

Where (SETTLE.2) changes nothing, the point is the optimum. It need not come to that, and then another solver solves the
machine: every point is certified in any case.

Source: Hintermüller, Ito & Kunisch, *The primal-dual active set strategy as a semismooth Newton method*, SIAM J. Optim.
13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.rounding import ROUNDED
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certificate import middle
from qpsvm.many.multiclass.stack import StackKernel

#: Guesses. From the loop's points at a tolerance of 1e-2 two are usual, and five rare.
ROUNDS = 12
#: A row within so much of its margin, in units of that, is on it: rounding.
TOUCHING = 1e-10
#: As many rows may become free in a round as are free, and so many in any case: the farthest from where they belong.
JOINING = 8
#: More free rows than the first guess had, by this factor and so many, are no guess any more.
GROWTH, SLACK = 3, 30
#: Free rows up to which a system is solved afresh in every round: beyond, others take less.
MOST_FREE = 500
#: α up to this share of the largest are rounding, and their samples no support vectors.
NOISE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ExactPoint:
    """α (m,), the intercept, the margin, which is 1 for a C-SVM, and f without the intercept, u (m,)."""

    alpha: FloatArray
    b: float
    rho: float
    u: FloatArray


def find_exact_point(
    values: StackKernel, y: FloatArray, upper: FloatArray, alpha: FloatArray, nu: float | None = None
) -> ExactPoint | None:
    """The optimum by (SETTLE.1) to (SETTLE.3), or None. Shapes: y, upper, alpha (m,)."""
    full = alpha >= upper
    free = (alpha > 0.0) & ~full
    bounded = upper * y
    most = min(values.rank + 1, GROWTH * int(np.count_nonzero(free)) + SLACK, MOST_FREE)
    for _ in range(ROUNDS):
        F, B = free.nonzero()[0], full.nonzero()[0]
        if len(F) > most:
            return None
        fixed = bounded[B]
        found = (
            _initial_set(values, y, F, B, fixed, nu) if len(F) else _solve_without_free(values, y, upper, B, fixed, nu)
        )
        if found is None:
            return None
        beta, b, rho, u = found
        a = beta * y[F]
        low, high = a < 0.0, a > upper[F]
        t = rho - y * (u + b)
        joining = np.where(full, t < -TOUCHING * rho, (t > TOUCHING * rho) & ~free)
        settled = not (low.any() or high.any())
        if not len(F) and abs(np.add.reduce(fixed)) > ROUNDED * np.add.reduce(np.abs(fixed)):
            joining[np.argmin(np.abs(t))], settled = True, False
        if settled and not joining.any():
            alpha = np.where(full, upper, 0.0)
            alpha[F] = a
            return ExactPoint(alpha, b, rho, u)
        free[F[low | high]] = False
        full[F[high]] = True
        joining = _farthest(joining, t, max(JOINING, len(F)))
        free |= joining
        full &= ~joining
    return None


#: β_F (f,), b, the margin, and u (m,).
InitialWorkingSet = tuple[FloatArray, float, float, FloatArray]


def _initial_set(
    values: StackKernel, y: FloatArray, F: IntArray, B: IntArray, fixed: FloatArray, nu: float | None
) -> InitialWorkingSet | None:
    """(SETTLE.1) or (SETTLE.3); None where they have no solution, or a margin that is not positive."""
    n, signs = len(F), y[F]
    k = n + 1 if nu is None else n + 2
    system, right = np.ones((k, k)), np.zeros(k)
    system[:n, :n], system[n:, n:] = values.block(F, F), 0.0
    if nu is None:
        right[:n] = signs
    else:
        if not -n < np.add.reduce(signs) < n:  # of one class, b and ρ are not to be told apart
            return None
        system[n + 1, :n], system[:n, n + 1], right[n + 1] = signs, -signs, nu
    if len(B):
        right[:n] -= values.block(F, B) @ fixed
        right[n] = -np.add.reduce(fixed)
        if nu is not None:
            right[n + 1] = nu - np.add.reduce(np.abs(fixed))
    *_, solution, failed = lapack.dgesv(system, right, overwrite_a=1)
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (solution[:n], fixed))
    solution[:n][np.abs(solution[:n]) <= NOISE * largest] = 0.0  # before what is certified is computed
    beta, b, rho = solution[:n], float(solution[n]), 1.0 if nu is None else float(solution[n + 1])
    if failed or not (np.isfinite(b) and rho > 0.0):
        return None
    return beta, b, rho, values.product(np.concatenate([F, B]), np.concatenate([beta, fixed]))


def _solve_without_free(
    values: StackKernel, y: FloatArray, upper: FloatArray, B: IntArray, fixed: FloatArray, nu: float | None
) -> InitialWorkingSet | None:
    """Solve where no row is free: of a C-SVM, find the best intercept for the given α."""
    if nu is not None:
        return None
    u = values.product(B, fixed)
    return np.zeros(0), find_best_intercept(u, y, upper), 1.0, u


def find_best_intercept(u: FloatArray, y: FloatArray, upper: FloatArray) -> float:
    """The middle of all b that are best for f = u + b, (LEVEL.3); all (m,)."""
    return middle(*find_quantile_interval(y - u, upper, float(upper[y > 0.0].sum())))


def _farthest(joining: NDArray[np.bool_], t: FloatArray, most: int) -> NDArray[np.bool_]:
    """Return at most `most` of some rows, those with the largest |t|: masks (m,)."""
    rows = joining.nonzero()[0]
    if len(rows) <= most:
        return joining
    few = np.zeros_like(joining)
    few[rows[np.argpartition(-np.abs(t[rows]), most)[:most]]] = True
    return few
