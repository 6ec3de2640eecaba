"""Nearly all rows are free: Newton steps by conjugate gradients on the whole Gram matrix in single precision.

    (KDENSE.1)  d minimises ½dᵀ(K_FF + ρI)d − rᵀd,  1ᵀd = t,  r = (y − u − b)_F, F the rows that can move (KNEWTON.1)
    (KDENSE.2)  entries of β + d outside the box are held at their bound, and the others solved for again;  then the
                exact minimiser along the way from β, at most 1: the dual value never falls

No loop over pairs and no factorisation reaches thousands of free rows cheaply; here a step is a few products with K,
each 4n² bytes of memory traffic. They are few because K is close to its diagonal, or else most rows would not be free.
Products in single precision carry K's error times |β|. So u is made afresh in double precision once, when little is
left to move; what moves afterwards is small, and so is its error.
Source: Steihaug (1983) for the truncated steps.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.solvers.kernel.box_step import ROUNDS
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import ENTRIES, Effort
from qpsvm.solvers.kernel.newton_step import ROUNDING, moving_rows
from qpsvm.solvers.kernel.nystrom import RIDGE, SingleArray, single_product
from qpsvm.space.kernels.blocks import SYMMETRIC_STRIP, KernelBlocks, entry_seconds

#: The gap at which u is made afresh in double precision; the steps at most.
REFRESH, STEPS = 1e-3, 40
#: Conjugate gradients stop at this share of their first residual, or after so many products.
REDUCTION, PRODUCTS = 0.2, 30
#: So many steps in a row that leave more than this share of the gap are a stall.
STALL, STALL_STEPS = 0.5, 4


def dense_point(
    blocks: KernelBlocks, problem: KernelDual, beta: FloatArray, target: float, effort: Effort
) -> DualPoint | None:
    """Solve from what is estimated; None where time runs out before K is made.

    Shapes: beta (n,).
    """
    K = whole_matrix(blocks, effort)
    if K is None:
        return None
    everything = np.arange(problem.n)
    beta = problem.balanced(beta.copy())
    point = best = problem.point(beta, single_product(K, beta))
    exact, gaps = False, [point.gap]
    for _ in range(STEPS):
        if effort.late() or (exact and best.gap <= target):
            break
        stalled = len(gaps) > STALL_STEPS and point.gap > STALL * gaps[-1 - STALL_STEPS]
        if stalled and exact:
            break
        if not exact and (stalled or point.gap <= REFRESH):
            point = best = problem.point(point.beta, blocks.product(everything, point.beta, everything))
            exact, gaps = True, [point.gap]
            continue
        moved = _step(K, problem, point, target, effort)
        if moved is None:
            break
        point, best = moved, min(best, moved, key=lambda p: p.gap)
        effort.newton_steps += 1
        gaps.append(point.gap)
        effort.report("dense", problem.n, point.gap)
    return best


def whole_matrix(blocks: KernelBlocks, effort: Effort) -> SingleArray | None:
    """K, (n, n) float32; None where time runs out."""
    n = blocks.n
    K: SingleArray = np.empty((n, n), dtype=np.float32)
    tiles, many = strips(n, SYMMETRIC_STRIP), max(1, int(ENTRIES / (n * SYMMETRIC_STRIP)))
    for first in range(0, len(tiles), many):
        if effort.late():
            return None
        seconds = entry_seconds(blocks.width) * n * SYMMETRIC_STRIP * many if blocks.fast else 0.0
        in_tiles(lambda tile: blocks.fill(K[tile], tile.start), tiles[first : first + many], seconds)
    return K


def _step(K: SingleArray, problem: KernelDual, point: DualPoint, target: float, effort: Effort) -> DualPoint | None:
    """One step of (KDENSE.2); None where it does not descend or nothing can move."""
    n, beta, rows = problem.n, point.beta, moving_rows(problem, point, target)
    change, image, gradient = np.zeros(n), np.zeros(n), point.gradient
    for _ in range(ROUNDS):
        if not len(rows):
            break
        moved = np.zeros(n)
        moved[rows] = _direction(K, (gradient - image)[rows], -float(change.sum()), rows, effort)
        wanted = beta + change + moved
        clipped = np.clip(wanted, problem.low, problem.high)
        image += single_product(K, clipped - beta - change)
        change = clipped - beta
        leaving = (wanted != clipped)[rows]
        if not leaving.any():
            break
        rows = rows[~leaving]
    balanced = problem.balanced(beta + change)
    rest = balanced - beta - change
    if np.abs(rest).sum() > ROUNDING * np.abs(change).sum():
        image += single_product(K, rest)
    change = balanced - beta
    descent, curvature = float(gradient @ change), float(change @ image)  # Σ change = 0: b does not matter
    if not descent > 0 or not np.isfinite(curvature):
        return None
    length = min(1.0, descent / curvature) if curvature > 0 else 1.0
    return problem.point(problem.balanced(beta + length * change), point.u + length * image)


def _direction(K: SingleArray, r: FloatArray, total: float, rows: IntArray, effort: Effort) -> FloatArray:
    """(KDENSE.1) with t = total, by conjugate gradients among the vectors of that sum: d (m,)."""
    full, d = np.zeros(len(K)), np.full(len(rows), total / len(rows))
    residual = r.copy()
    if total:
        full[rows] = d
        residual -= single_product(K, full)[rows]
    residual -= residual.mean()
    p, energy = residual.copy(), float(residual @ residual)
    first = energy
    for _ in range(PRODUCTS):
        if not energy > REDUCTION**2 * first or effort.late():
            break
        full[rows] = p
        Kp = single_product(K, full)[rows] + RIDGE * p
        Kp -= Kp.mean()
        curvature = float(p @ Kp)
        if not curvature > 0:
            break
        d += (energy / curvature) * p
        residual -= (energy / curvature) * Kp
        before, energy = energy, float(residual @ residual)
        p = residual + (energy / before) * p
    return d
