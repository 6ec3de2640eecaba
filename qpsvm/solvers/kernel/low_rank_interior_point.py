"""Solve a ν-SVM or one-class SVM whose optimum seems to be 0 (`solve_with_low_rank`).

The optimum is 0 if the reduced hulls of the two classes meet, or the origin is in the reduced hull of the samples. Then
no gap is small relative to the optimum, and working-set and active-set methods converge slowly. But K usually has a low
numerical rank, so that interior points are cheap, (IPM.2):

    (KLOW.1)  K = LLᵀ up to rounding, L (n, r):  w(β) = 0 if and only if Lᵀβ = 0
    (KLOW.2)  minimise ½‖Lᵀβ‖²  subject to  low ≤ β ≤ high,  Eᵀβ = t:  the sum of β over each class, or over all rows

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

#: If the relative gap of a rough point is at least this, w seems to be 0 at the optimum: then every gap would be 1.
VANISHING_GAP = 0.9
#: Maximum rank r in (KLOW.1), as a share of n: above it, other methods are cheaper.
MAX_RANK_SHARE = 0.9
#: Maximum number n r² of products in a step, which take .3 s.
MAX_PRODUCTS = 5e9
#: ‖w(β)‖² counts as 0 up to this share of the rounding error of its n terms, (VANISH.2).
ZERO_SHARE = 0.9
#: Relative gap at which the interior points stop, and Newton steps on the free rows take over. If the optimum is 0, no
#: gap is that small, and `solve_mehrotra` stops where the gap is only rounding.
TARGET_GAP = 1e-3
#: If the optimum is not 0, a β at most this share of its interval from an end is set to that end.
SNAP_SHARE = 1e-3


def seems_to_have_zero_w(problem: KernelDual, point: KernelPoint) -> bool:
    """Return whether the optimum may be 0, and the gap of a rough solution suggests that it is."""
    return problem.is_homogeneous and point.gap >= VANISHING_GAP


@dataclass(frozen=True, eq=False)
class LowRankPoint:
    """A feasible β (n,), and whether w(β) is 0 up to rounding."""

    beta: FloatArray
    has_zero_w: bool


def solve_with_low_rank(blocks: GramBlocks, problem: KernelDual, effort: Effort) -> LowRankPoint | None:
    """Solve (KLOW.2) for a homogeneous problem; None if the rank is too high, time runs out, or the steps fail."""
    n = problem.n
    low = problem.low
    high = problem.high
    max_rank = int(min(MAX_RANK_SHARE * n, math.sqrt(MAX_PRODUCTS / n)))
    rows = np.arange(n)
    factor = factorise_pivoted(blocks, rows, problem.weight, ROUNDED_ERROR, max_rank, effort.is_late)
    if factor is None or not factor.is_reached:
        return None
    E, t = build_sum_columns(problem, rows, fixed_beta=np.zeros(n), side=None)
    seconds = None if effort.seconds is None else effort.clock.remaining
    solution = solve_mehrotra(LowRank(factor.L), np.zeros(n), E.T, t, low, high, tol=TARGET_GAP, time_limit=seconds)
    effort.newton_steps += solution.iterations
    beta = solution.x
    if _has_zero_w(factor.L, beta, problem.is_nu_svm):
        return LowRankPoint(problem.make_feasible(beta), has_zero_w=True)
    if solution.reason != "converged":
        return None
    snap_distance = SNAP_SHARE * problem.weight
    is_low = beta - low <= snap_distance
    is_high = high - beta <= snap_distance
    snapped = np.select([is_low, is_high], [low, high], beta)
    return LowRankPoint(problem.make_feasible(snapped), has_zero_w=False)


def _has_zero_w(L: FloatArray, beta: FloatArray, is_nu_svm: bool) -> bool:
    """Return whether ‖Lᵀβ‖² is 0 up to the rounding of a sum of this size, (VANISH.2)."""
    w = beta @ L
    beta_sizes = np.abs(beta)
    centre = L[beta_sizes.argmax()] if is_nu_svm else 0.0  # if 1ᵀβ = 0, a shift of the rows does not change Lᵀβ
    size = float(beta_sizes.sum()) * float(np.linalg.norm(L - centre, axis=1).mean())
    return float(w @ w) <= ZERO_SHARE * len(beta) * UNIT * size * size
