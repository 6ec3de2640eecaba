"""Few rows: the whole Gram matrix once, LIBSVM's loop on it until the split is nearly right, and Newton steps.

The loop finds which rows support and which rest at C faster than anything else that NumPy can call; but its last digits
are dear, and `newton_polish` gets all of them with one factorisation as soon as the split is right. So the loop stops
early, and what Newton steps cannot do from there a second run of the loop, at a tighter tolerance, may. Two kinds of
problem go another way: where nearly all rows are free the loop is not needed, and where few rows support most of the
Gram matrix is not (`kernel_few`).
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import DualPoint, HingeDual
from qpsvm.solvers.kernel.few import few_support_outcome
from qpsvm.solvers.kernel.loop import short_loop
from qpsvm.solvers.kernel.newton_step import LARGEST_FREE_SET, most_moving, newton_polish
from qpsvm.solvers.kernel.working_set import Effort, Outcome

#: From this many rows on the subsample of `kernel_few` costs less than it saves, on the average.
FEW_FROM = 800
#: The loop's tolerances, in units of the margin: first, and where Newton steps fell short of the target. It keeps its
#: matrix in single precision: less than the last one has no meaning.
LOOP_TOLERANCES = (3e-3, 1e-4, 2e-6, 2e-7)
#: Where a run took more iterations than this, a row, another one would too: Newton steps with patience go on.
WEARISOME = 30
#: The gap that further Newton steps are made for where they cost little: rounding.
ROUNDING = 1e-13
#: They cost little where F has at most this many rows, of at most so many in all.
FEW_FREE, FEW_ROWS = 150, 1000
#: Only from this C in units of 1/κ on can nearly all rows be free.
LARGE_PENALTY = 1.5
#: The effective rank (tr K)²/‖K‖² must be at least this share of n, by so many rows: over few clusters the unbounded
#: solution is as easy to find, but another one, sparse, is meant.
LEAST_RANK_SHARE, SAMPLED_ROWS = 0.1, 16
#: After each of so many products, conjugate gradients must have brought the residual below this share of the first one.
GUESS_RESIDUALS = (0.8, 0.6, 0.4)
#: Share of their guess that must lie in the box.
NEARLY_ALL = 0.8
#: Newton steps after a run of the loop.
NEWTON_STEPS = 10


def small_outcome(blocks: KernelBlocks, problem: HingeDual, tol: float, effort: Effort) -> Outcome:
    """Solve with the Gram matrix of all rows, or without it where that is faster and the caller does not keep it.

    Parameters
    ----------
    blocks : KernelBlocks
        Its Gram matrix is made and kept, except where few rows support.
    problem : HingeDual
    tol : float
        Relative gap.
    effort : Effort

    Returns
    -------
    Outcome
    """
    if problem.n > FEW_FROM and blocks.whole is None and blocks.single:
        outcome = few_support_outcome(blocks, problem, tol, effort)
        if outcome is not None:
            return outcome
    return gram_outcome(blocks, problem, tol, effort)


def gram_outcome(blocks: KernelBlocks, problem: HingeDual, tol: float, effort: Effort) -> Outcome:
    """Solve with the Gram matrix of all rows, which is kept; otherwise as `small_outcome`."""
    K = blocks.all()
    best = _direct(K, problem, tol, effort)
    for tolerance in () if best is not None and best.gap <= tol else LOOP_TOLERANCES:
        before = effort.iterations
        beta = short_loop(K, problem, tolerance, effort) if best is None else effort.loop(problem, K, tolerance)
        most = LARGEST_FREE_SET if tolerance == LOOP_TOLERANCES[-1] else most_moving(problem, beta)
        point = _polished(K, problem, beta, tol, effort, most)
        effort.report("small", problem.n, point.gap)
        if best is None or point.gap < best.gap:
            best = point
        wearisome = effort.iterations - before > WEARISOME * problem.n
        if best.gap <= tol or wearisome or effort.late() or effort.exhausted():
            break
    assert best is not None  # there is at least one tolerance
    return Outcome(best.beta, best.u, np.ones(problem.n, dtype=bool), best.b, best.gap)


def _direct(K: FloatArray, problem: HingeDual, tol: float, effort: Effort) -> DualPoint | None:
    """Newton steps from a guess at the unbounded solution, where nearly all of that lies in the box; else None.

    Where C is large and the kernel narrow, K is close to diagonal: conjugate gradients on Kβ = y − b show within a few
    products whether they converge and where to, and the loop would visit every row several times.
    """
    n, y = problem.n, problem.y
    kappa = float(K.trace()) / n
    if not problem.total_penalty * kappa > n * LARGE_PENALTY:
        return None
    sample = K[:: n // SAMPLED_ROWS + 1]
    if float(np.einsum("ij,ij->", sample, sample)) > len(sample) * kappa * kappa / LEAST_RANK_SHARE:
        return None
    residual = y - y.mean()  # 1ᵀβ = 0: everything happens among the vectors that sum to zero
    beta, direction = np.zeros(n), residual
    first = size = float(residual @ residual)
    for bound in GUESS_RESIDUALS:
        image = K @ direction
        image -= image.mean()
        curvature = float(direction @ image)
        if not curvature > 0:
            return None
        length = size / curvature
        beta = beta + length * direction
        residual = residual - length * image
        before, size = size, float(residual @ residual)
        if not size <= bound * bound * first:
            return None
        direction = residual + (size / before) * direction
    inside = (beta >= problem.low) & (beta <= problem.high)
    if np.count_nonzero(inside) < NEARLY_ALL * n:
        return None
    return _polished(K, problem, problem.balanced(beta), tol, effort)


def _polished(
    K: FloatArray, problem: HingeDual, beta: FloatArray, tol: float, effort: Effort, most: int = LARGEST_FREE_SET
) -> DualPoint:
    """Newton steps to the target, and to rounding where those cost little."""
    polished = newton_polish(K, problem, beta, tol, NEWTON_STEPS, stop=effort.late, most=most)
    steps, point = polished.steps, polished.point
    effort.free = max(effort.free, polished.largest)
    if point.gap <= tol and point.gap > ROUNDING and problem.n <= FEW_ROWS and polished.largest <= FEW_FREE:
        last = newton_polish(K, problem, point.beta, ROUNDING, 1, point.u, effort.late)
        steps, point = steps + last.steps, last.point
    effort.newton_steps += steps
    return point
