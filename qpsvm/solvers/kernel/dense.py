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

import time
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.workers import in_tiles, strips
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.libsvm import Effort
from qpsvm.solvers.kernel.newton_step import moving_rows
from qpsvm.solvers.kernel.nystrom import SingleArray
from qpsvm.space.kernels.blocks import KernelBlocks, entry_seconds


@dataclass(frozen=True)
class Settings:
    """Constants of the engine."""

    #: Rows of K made at a time, and the entries between two looks at the clock: a tenth of a second.
    strip: int = 64
    entries: float = 5e7
    #: Rows of K multiplied at a time, and the seconds of one of their entries, roughly: it is read from memory.
    rows: int = 256
    read_seconds: float = 2.5e-10
    #: Conjugate gradients stop at this share of their first residual, or after so many products.
    reduction: float = 0.2
    products: int = 30
    #: Newton steps, and the gap at which u is made afresh in double precision.
    steps: int = 40
    refresh: float = 1e-3
    #: ρ in units of the diagonal of K.
    ridge: float = 1e-7
    #: Entries that leave the box are held at their bound and the others solved for again, so often in a step.
    holds: int = 8
    #: A change of β below this share of the step is rounding.
    rounding: float = 1e-9
    #: So many steps in a row that leave more than this share of the gap are a stall.
    stall: float = 0.5
    stall_steps: int = 4


SETTINGS = Settings()
#: Others that share the machine do not matter; a browser has no such clock.
thread_time = getattr(time, "thread_time", time.perf_counter)


def dense_point(
    blocks: KernelBlocks, problem: KernelDual, beta: FloatArray, target: float, effort: Effort, seconds: float
) -> DualPoint | None:
    """Solve from what is estimated; None where time runs out before K is made.

    Shapes: beta (n,).
    """
    began = thread_time()
    K = _whole(blocks, effort)
    if K is None:
        return None
    everything = np.arange(problem.n)
    beta = problem.balanced(beta.copy())
    point = best = problem.point(beta, _product(K, beta))
    exact, gaps = False, [point.gap]
    for _ in range(SETTINGS.steps):
        if effort.late() or (exact and best.gap <= target) or thread_time() - began > seconds:
            break
        stalled = len(gaps) > SETTINGS.stall_steps and point.gap > SETTINGS.stall * gaps[-1 - SETTINGS.stall_steps]
        if stalled and exact:
            break
        if not exact and (stalled or point.gap <= SETTINGS.refresh):
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


def _whole(blocks: KernelBlocks, effort: Effort) -> SingleArray | None:
    """K, (n, n) float32; None where time runs out."""
    n = blocks.n
    K: SingleArray = np.empty((n, n), dtype=np.float32)
    tiles, many = strips(n, SETTINGS.strip), max(1, int(SETTINGS.entries / (n * SETTINGS.strip)))
    for first in range(0, len(tiles), many):
        if effort.late():
            return None
        seconds = entry_seconds(blocks.width) * n * SETTINGS.strip * many if blocks.fast else 0.0
        in_tiles(lambda tile: blocks.fill(K[tile], tile.start), tiles[first : first + many], seconds)
    return K


def _product(K: SingleArray, x: FloatArray) -> FloatArray:
    product, single = np.empty(len(K)), x.astype(np.float32)

    def multiply(tile: slice) -> None:
        product[tile] = np.dot(K[tile], single)

    in_tiles(multiply, strips(len(K), SETTINGS.rows), SETTINGS.read_seconds * K.size)
    return product


def _step(K: SingleArray, problem: KernelDual, point: DualPoint, target: float, effort: Effort) -> DualPoint | None:
    """One step of (KDENSE.2); None where it does not descend or nothing can move."""
    n, beta, rows = problem.n, point.beta, moving_rows(problem, point, target)
    change, image, gradient = np.zeros(n), np.zeros(n), point.gradient
    for _ in range(SETTINGS.holds):
        if not len(rows):
            break
        moved = np.zeros(n)
        moved[rows] = _direction(K, (gradient - image)[rows], -float(change.sum()), rows, effort)
        wanted = beta + change + moved
        clipped = np.clip(wanted, problem.low, problem.high)
        image += _product(K, clipped - beta - change)
        change = clipped - beta
        leaving = (wanted != clipped)[rows]
        if not leaving.any():
            break
        rows = rows[~leaving]
    balanced = problem.balanced(beta + change)
    rest = balanced - beta - change
    if np.abs(rest).sum() > SETTINGS.rounding * np.abs(change).sum():
        image += _product(K, rest)
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
        residual -= _product(K, full)[rows]
    residual -= residual.mean()
    p, energy = residual.copy(), float(residual @ residual)
    first = energy
    for _ in range(SETTINGS.products):
        if not energy > SETTINGS.reduction**2 * first or effort.late():
            break
        full[rows] = p
        Kp = _product(K, full)[rows] + SETTINGS.ridge * p
        Kp -= Kp.mean()
        curvature = float(p @ Kp)
        if not curvature > 0:
            break
        d += (energy / curvature) * p
        residual -= (energy / curvature) * Kp
        before, energy = energy, float(residual @ residual)
        p = residual + (energy / before) * p
    return d
