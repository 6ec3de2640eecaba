"""Solve a ν-SVM or one-class SVM whose optimum seems to be 0 (`solve_with_low_rank`).

It is if the reduced hulls of the two classes meet, or the origin is in the reduced hull of the samples. No gap is then
small relative to the optimum, and methods that move two rows, or those of one split into free and bound rows, converge
slowly. But K usually has a low numerical rank, so that interior points are cheap, (IPM.2):

    (KLOW.1)  K = LLᵀ up to rounding, L (n, r):  w(β) = 0 if and only if Lᵀβ = 0
    (KLOW.2)  minimise ½‖Lᵀβ‖²  subject to  low ≤ β ≤ high,  Eᵀβ = t,  E (n, q):  the sum of each class, or of all β

Source: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.interior_point.mehrotra import solve_mehrotra
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.newton_step import build_sum_columns
from qpsvm.space.kernels.gram_blocks import GramBlocks
from qpsvm.space.kernels.pivoted_cholesky import ROUNDED_ERROR, factorise_pivoted
from qpsvm.space.operators import LowRank

#: From this relative gap of a rough point on, w seems to be 0 at the optimum: if it is, the gap of any point is 1.
VANISHING_GAP = 0.9
#: Limits of r in (KLOW.1), as a share of n, and of the n r² products of a step, which take .3 s: beyond, other methods
#: are cheaper.
MAX_RANK_SHARE, MAX_PRODUCTS = 0.9, 5e9
#: ‖w(β)‖² counts as 0 up to this share of the rounding error of its n terms, (VANISH.2).
ZERO_SHARE = 0.9
#: Relative gap that the interior points aim at. If the optimum is not 0, Newton steps on the free rows take over there;
#: if it is, `solve_mehrotra` ends where the gap is rounding.
TARGET_GAP = 1e-3
#: Share of an interval within which β then counts as at an end of it.
SNAP_SHARE = 1e-3


def seems_to_vanish(problem: KernelDual, point: KernelPoint) -> bool:
    """Return whether the optimum may be 0, and the gap of a rough solution suggests that it is."""
    return problem.is_homogeneous and point.gap >= VANISHING_GAP


@dataclass(frozen=True, eq=False)
class LowRankPoint:
    """A feasible β (n,), and whether w(β) is 0 up to rounding."""

    beta: FloatArray
    is_zero: bool


def solve_with_low_rank(blocks: GramBlocks, problem: KernelDual, effort: Effort) -> LowRankPoint | None:
    """Solve (KLOW.2) for a homogeneous problem; None if the rank is too high, time runs out, or the steps fail."""
    n = problem.n
    low = problem.low
    high = problem.high
    max_rank = int(min(MAX_RANK_SHARE * n, math.sqrt(MAX_PRODUCTS / n)))
    factor = factorise_pivoted(blocks, np.arange(n), problem.weight, ROUNDED_ERROR, max_rank, effort.is_late)
    if factor is None or not factor.is_reached:
        return None
    E, t = build_sum_columns(problem, np.arange(n), np.zeros(n), None)
    seconds = None if effort.seconds is None else effort.clock.remaining
    solution = solve_mehrotra(LowRank(factor.L), np.zeros(n), E.T, t, low, high, tol=TARGET_GAP, time_limit=seconds)
    effort.newton_steps += solution.iterations
    beta = solution.x
    is_zero = _is_zero(factor.L, solution.x, problem.is_nu_svm)
    if not is_zero:
        if solution.reason != "converged":
            return None
        margin = SNAP_SHARE * problem.weight
        beta = np.where(beta - low <= margin, low, np.where(high - beta <= margin, high, beta))
    return LowRankPoint(problem.make_feasible(beta), is_zero)


def _is_zero(L: FloatArray, beta: FloatArray, is_nu_svm: bool) -> bool:
    """Return whether ‖Lᵀβ‖² is 0 up to the rounding of a sum of this size, (VANISH.2)."""
    w = beta @ L
    sizes = np.abs(beta)
    centre = L[sizes.argmax()] if is_nu_svm else 0.0  # if 1ᵀβ = 0, the origin does not matter
    size = float(sizes.sum()) * float(np.linalg.norm(L - centre, axis=1).mean())
    return float(w @ w) <= ZERO_SHARE * len(beta) * UNIT * size * size
