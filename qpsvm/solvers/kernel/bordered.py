"""The exact point of a split into free rows and rows at their bounds, where few rows are free: one small linear system.

    (KBORDER.1)  K_FF β_F + b1 = t_F − K_FR β_R,  1ᵀβ_F = e − 1ᵀβ_R:  F the rows inside their box, R those at its ends

A solution of (KDUAL.1) with this split satisfies it, and where that lies in the box and no row is on its wrong side, it
is the solution. LIBSVM's loop finds the split of a hundred rows nearly always: then its digits cost one factorisation.
By LU with pivoting, because K_FF itself may be singular where the system is not: d + 1 free rows of d features.
Entries outside of the box are clipped, rows on their wrong side join F, and it is solved again while that helps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual


@dataclass(frozen=True)
class Settings:
    """Constants of the system."""

    #: Rows up to which it is tried, and free ones: a factorisation then takes no longer than LIBSVM's loop.
    rows: int = 600
    free: int = 200
    #: Rounds, and the gap of a split that is so nearly right that another one is worth its factorisation.
    rounds: int = 3
    promising: float = 0.01
    #: A slack below this, in units of the margin, is rounding; and so is this gap.
    slight: float = 1e-10
    rounding: float = 1e-13


SETTINGS = Settings()


def bordered_point(K: FloatArray, problem: KernelDual, beta: FloatArray) -> DualPoint | None:
    """The best point of a few rounds of (KBORDER.1).

    Shapes: K (n, n), beta (n,).
    """
    best: DualPoint | None = None
    low, high = problem.low, problem.high
    free = (beta > low) & (beta < high)
    for _ in range(SETTINGS.rounds):
        solved = _solved(K, problem, beta, free)
        if solved is None:
            break
        beta = problem.balanced(solved)
        point = problem.point(beta, K @ beta)
        if best is None or point.gap < best.gap:
            best = point
        if point.gap <= SETTINGS.rounding or not point.gap <= SETTINGS.promising:
            break
        rises, falls = beta < high, beta > low
        free = (rises & (falls | (point.gradient > SETTINGS.slight))) | (falls & (point.gradient < -SETTINGS.slight))
    return best


def _solved(K: FloatArray, problem: KernelDual, beta: FloatArray, free: NDArray[np.bool_]) -> FloatArray | None:
    """β (n,) with the solution of (KBORDER.1) in the rows of a mask, (n,), wherever that lies."""
    rows = free.nonzero()[0]
    m = len(rows)
    if not 0 < m <= SETTINGS.free:
        return None
    found = np.where(free, 0.0, beta)
    strip = K[rows]
    A, right = np.empty((m + 1, m + 1)), np.empty(m + 1)
    A[:m, :m] = strip[:, rows]
    A[m], A[:, m], A[m, m] = 1.0, 1.0, 0.0
    right[:m] = problem.level[rows]
    right[:m] -= strip @ found
    right[m] = problem.total - np.add.reduce(found)
    solution, info = lapack.dgesv(A, right, overwrite_a=1, overwrite_b=1)[2:]
    if info:
        return None
    found[rows] = solution[:m]
    return found


__all__ = ["bordered_point"]
