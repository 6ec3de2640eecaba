"""Nearly all rows are free: Newton steps by conjugate gradients on the whole Gram matrix in single precision.

    (KDENSE.1)  d minimises ½dᵀ(K_FF + ρI)d − rᵀd,  1ᵀd = 0,  r = (y − u − b)_F, F the rows that can move (KNEWTON.1)
    (KDENSE.2)  preconditioner: (G_F G_Fᵀ + diag(ϱ_F + ρ))⁻¹ of the low-rank model, minus its part along 1
    (KDENSE.3)  entries of β + d outside the box are held at their bound, and the others solved for again;  then the
                exact minimiser along the way from β, at most 1: the dual value never falls

No loop over pairs and no factorisation reaches thousands of free rows cheaply; here a step is a few products with K,
each 4n² bytes of memory traffic. Products in single precision carry K's error times |β|. So u is made afresh in double
precision once, when little is left to move; what moves afterwards is small, and so is its error.
Sources: Steihaug (1983) for the truncated steps; Woodbury's identity for (KDENSE.2).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, HingeDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.newton_step import moving_rows
from qpsvm.solvers.kernel.nystrom import Guess, SingleArray

#: Most rows: K is 4·20000² = 1.6 GB.
LARGEST_DENSE = 20_000
#: Rows of K made at a time.
STRIP = 64
#: Conjugate gradient stops at this share of its first residual, or after so many products.
REDUCTION, PRODUCTS = 0.2, 30
#: Newton steps, and the gap at which u is made afresh in double precision.
STEPS, REFRESH = 40, 1e-3
#: ρ, and the least diagonal of the preconditioner, in units of the diagonal of K.
RIDGE, LEAST_REST = 1e-7, 1e-3
#: Entries that leave the box are held at their bound and the others solved for again, so often in a step.
HOLDS = 8
#: A change of β below this share of the step is rounding.
ROUNDING = 1e-9
#: So many steps in a row that leave more than this share of the gap are a stall.
STALL, STALL_STEPS = 0.5, 4
#: Where the gaps promise to end within it, this many times the seconds allowed.
PATIENCE = 3.0


def dense_point(
    blocks: KernelBlocks, problem: HingeDual, guess: Guess, target: float, effort: Effort, seconds: float
) -> DualPoint | None:
    """Solve from what is foretold; None where time runs out before K is made.

    Parameters
    ----------
    blocks : KernelBlocks
        Of at most `LARGEST_DENSE` rows.
    problem : HingeDual
    guess : Guess
    target : float
        Relative gap.
    effort : Effort
    seconds : float
        To be given up after, or after `PATIENCE` times that where the gaps so far promise an end within it.
    """
    allowed = min(PATIENCE * seconds, effort.clock.left)
    hard = Effort(max(allowed, 0.0) if np.isfinite(allowed) else None)
    K = _whole(blocks, hard)
    if K is None:
        return None
    beta, everything = problem.balanced(guess.beta.copy()), np.arange(problem.n)
    point = best = problem.point(beta, _product(K, beta))
    exact, gaps = False, [point.gap]
    for _ in range(STEPS):
        if hard.late() or (exact and best.gap <= target) or not _promising(gaps, target, hard.clock.seconds / seconds):
            break
        if not exact and point.gap <= REFRESH:
            point = best = problem.point(point.beta, blocks.product(everything, point.beta, everything))
            exact, gaps = True, [point.gap]
            continue
        moved = _step(K, problem, point, guess, target, hard)
        if moved is None:
            break
        point = moved
        effort.newton_steps += 1
        gaps.append(point.gap)
        effort.report("dense", len(moving_rows(problem, point, target)), point.gap)
        best = min(best, point, key=lambda p: p.gap)
        if len(gaps) > STALL_STEPS and point.gap > STALL * gaps[-1 - STALL_STEPS]:
            if exact:
                break
            point = best = problem.point(point.beta, blocks.product(everything, point.beta, everything))
            exact, gaps = True, [point.gap]
    return best


def _promising(gaps: list[float], target: float, spent: float) -> bool:
    """Whether to go on: always while `spent`, a share, is below one; then where `PATIENCE` times that seems to do."""
    if spent < 1.0:
        return True
    steps = len(gaps) - 1
    if steps < 2 or not 0.0 < gaps[-1] < gaps[-3]:
        return False
    wanted = np.log(max(gaps[-1] / target, 1.0)) / np.log(gaps[-3] / gaps[-1]) * 2.0
    return bool(wanted * spent <= steps * (PATIENCE - spent))


def _whole(blocks: KernelBlocks, effort: Effort) -> SingleArray | None:
    """K, (n, n) float32; None where time runs out."""
    n = blocks.n
    K: SingleArray = np.empty((n, n), dtype=np.float32)
    for start in range(0, n, STRIP):
        if effort.late():
            return None
        blocks.fill(K[start : start + STRIP], start)
    return K


def _product(K: SingleArray, x: FloatArray) -> FloatArray:
    product: FloatArray = (K @ x.astype(np.float32)).astype(np.float64)
    return product


class _Preconditioner:
    """(KDENSE.2) on F."""

    def __init__(self, guess: Guess, rows: IntArray) -> None:
        self.G = guess.features[rows, :-1]
        self.diagonal = np.maximum(guess.rest[rows], LEAST_REST) + RIDGE
        self._lower, self._info = np.empty((0, 0)), 1
        if self.G.shape[1]:
            self._factor()
        one = self._solve(np.ones(len(rows)))
        self.along = one / float(one.sum())

    def _factor(self) -> None:
        scaled = self.G / np.sqrt(self.diagonal).astype(np.float32)[:, None]
        inner = (scaled.T @ scaled).astype(np.float64)
        inner.flat[:: len(inner) + 1] += 1.0
        self._lower, self._info = lapack.dpotrf(inner, lower=1)

    def _solve(self, x: FloatArray) -> FloatArray:
        w = x / self.diagonal
        if self._info != 0:
            return w
        inner = lapack.dpotrs(self._lower, (w.astype(np.float32) @ self.G).astype(np.float64), lower=1)[0]
        solution: FloatArray = w - (self.G @ inner.astype(np.float32)) / self.diagonal
        return solution

    def __call__(self, x: FloatArray) -> FloatArray:
        z = self._solve(x)
        projected: FloatArray = z - self.along * float(z.sum())
        return projected


def _step(
    K: SingleArray, problem: HingeDual, point: DualPoint, guess: Guess, target: float, effort: Effort
) -> DualPoint | None:
    """One step of (KDENSE.3); None where it does not descend or nothing can move."""
    n, beta, rows = problem.n, point.beta, moving_rows(problem, point, target)
    change, image, pull = np.zeros(n), np.zeros(n), problem.y * point.slack
    for _ in range(HOLDS):
        if not len(rows):
            break
        moved = np.zeros(n)
        moved[rows] = _direction(K, (pull - image)[rows], -float(change.sum()), rows, guess, effort)
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
    if np.abs(rest).sum() > ROUNDING * np.abs(change).sum():
        image += _product(K, rest)
    change = balanced - beta
    descent, curvature = float(pull @ change), float(change @ image)  # Σ change = 0: b does not matter
    if not descent > 0 or not np.isfinite(curvature):
        return None
    length = min(1.0, descent / curvature) if curvature > 0 else 1.0
    return problem.point(problem.balanced(beta + length * change), point.u + length * image)


def _direction(K: SingleArray, r: FloatArray, total: float, rows: IntArray, guess: Guess, effort: Effort) -> FloatArray:
    """(KDENSE.1) with 1ᵀd = total, by projected conjugate gradients: d (m,)."""
    precondition, full = _Preconditioner(guess, rows), np.zeros(len(K))
    d = total * precondition.along
    residual = r.copy()
    if total:
        full[rows] = d
        residual -= _product(K, full)[rows]
    z = precondition(residual)
    p, energy = z.copy(), float(residual @ z)
    first = energy
    for _ in range(PRODUCTS):
        if not energy > REDUCTION**2 * first or effort.late():
            break
        full[rows] = p
        Kp = _product(K, full)[rows] + RIDGE * p
        curvature = float(p @ Kp)
        if not curvature > 0:
            break
        d += (energy / curvature) * p
        residual -= (energy / curvature) * Kp
        z = precondition(residual)
        before, energy = energy, float(residual @ z)
        p = z + (energy / before) * p
    return d
