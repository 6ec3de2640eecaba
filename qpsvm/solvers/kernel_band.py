"""Many vectors at C: LIBSVM's loop on a band around the margin, everything else resting at 0 or C.

    (KBAND.1)  s̄ = mean of the slacks by two disjoint subsamples,  τ = rms(s₁ − s₂), two deviations of s̄
    (KBAND.2)  |s̄| ≤ τ: the band W;  s̄ > τ: rest at C, the set U;  s̄ < −τ: rest at 0
    (KBAND.3)  the loop sees each class of U as one point, the mean of its members in feature space, with upper bound
               Σ C_i over them: as long as both end at their bound, W is solved exactly

U enters through u_U = Σ_U K_ij C_j y_j only, streamed once; K is made on the band alone, in single precision for the
loop. What rests wrongly joins the band; Newton steps and the watch over all rows finish (`WorkingSet`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.solvers.kernel_blocks import KernelBlocks
from qpsvm.solvers.kernel_dual import HingeDual
from qpsvm.solvers.kernel_probe import Probe
from qpsvm.solvers.kernel_working_set import LOOP_TOL, MANY_JOIN, Effort, Outcome, WorkingSet

#: τ in units of rms(s₁ − s₂), and its least value: a row left out by mistake joins later.
DEVIATIONS, LEAST_BAND = 1.0, 0.05
#: Most rows of the band: its Gram matrix is 8·8000² = 512 MB.
LARGEST_BAND = 8000
#: An overfull class gives this many times its surplus to the band.
EXCESS = 1.5
#: Rounds of joining: more of them say that the prediction was bad.
ROUNDS = 8
#: Rows that violate by at most this, in units of the margin, are left to Newton steps.
SLIGHT = 0.01
#: Rows this far inside the wrong side of being right join with those that violate.
LOOKAHEAD = 0.1
#: A class point below this share of its bound has left it: (KBAND.3) does not hold.
AT_BOUND = 1 - 1e-6


def band_outcome(
    blocks: KernelBlocks, problem: HingeDual, first: Probe, second: Probe, target: float, effort: Effort
) -> Outcome | None:
    """Solve by the band of two subsamples; None where it would be too wide to pay."""
    n = problem.n
    slacks = first.slack(blocks, problem), second.slack(blocks, problem)
    mean, difference = 0.5 * (slacks[0] + slacks[1]), slacks[0] - slacks[1]
    tau = max(DEVIATIONS * float(np.sqrt(np.mean(difference**2))), LEAST_BAND)  # (KBAND.1)
    in_band, at_upper = np.abs(mean) <= tau, mean > tau  # (KBAND.2)
    beta = np.where(at_upper, problem.upper * problem.y, 0.0)
    resting_u = _contribution(blocks, beta, at_upper)
    for _ in range(ROUNDS):
        rows = np.flatnonzero(in_band)
        effort.report(f"band {tau:.2f}", len(rows), np.inf)
        if not 0 < len(rows) <= min(LARGEST_BAND, n // 2) or effort.late() or effort.exhausted():
            return None
        solved, overfull = _loop_with_classes(blocks, problem, rows, at_upper, resting_u, effort)
        if overfull.any():  # a class point left its bound: its least certain members join the band
            joins = at_upper & overfull & (mean < _quota(problem, mean, at_upper & overfull, solved, beta))
            resting_u -= _contribution(blocks, beta, joins)
            beta[joins] = 0.0
            in_band, at_upper = in_band | joins, at_upper & ~joins
            continue
        beta[rows] = problem.restricted(rows, float(beta[at_upper].sum())).balanced(solved)
        if abs(beta.sum()) > 1e-9 * problem.upper.sum():
            return None
        support = rows[solved != 0]
        u = resting_u + blocks.product(support, beta[support], np.arange(n), rough=True)
        slack = 1.0 - problem.y * (u + problem.intercept(u))
        reach = np.where(at_upper, -slack, slack)
        reach[rows] = -np.inf
        if reach.max() <= SLIGHT and np.count_nonzero(reach > LOOP_TOL) <= MANY_JOIN:
            return WorkingSet(blocks, problem, rows, beta, effort, u).run(target, False)
        joins = reach > -LOOKAHEAD
        resting_u -= _contribution(blocks, beta, joins & at_upper)
        beta[joins] = 0.0
        in_band, at_upper = in_band | joins, at_upper & ~joins
    return None


def _contribution(blocks: KernelBlocks, beta: FloatArray, mask: NDArray[np.bool_]) -> FloatArray:
    """Σ K_ij β_j over the rows of a mask, for all rows, rough: (n,)."""
    index = np.flatnonzero(mask)
    return blocks.product(index, beta[index], np.arange(blocks.n), rough=True)


def _loop_with_classes(
    blocks: KernelBlocks,
    problem: HingeDual,
    rows: IntArray,
    at_upper: NDArray[np.bool_],
    resting_u: FloatArray,
    effort: Effort,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(KBAND.3): β over W (w,), and a mask (n,) of the classes whose point left its bound."""
    y, upper, m = problem.y, problem.upper, len(rows)
    members = [index for sign in (1.0, -1.0) if len(index := np.flatnonzero(at_upper & (y == sign)))]
    mass = np.array([float(upper[index].sum()) for index in members])
    signs = np.array([float(y[index[0]]) for index in members])
    k = len(members)
    K = np.empty((m + k, m + k))
    K[:m, :m] = blocks.rough_symmetric(rows)
    images = []
    for i, index in enumerate(members):
        if i == 0:
            images.append(blocks.product(index, upper[index], np.arange(problem.n), rough=True) / mass[0])
        else:  # what the first class leaves of u_U
            images.append((resting_u - signs[0] * mass[0] * images[0]) / (signs[1] * mass[1]))
        K[m + i, :m] = K[:m, m + i] = images[i][rows]
    for i, image in enumerate(images):
        for j, other in enumerate(members):
            K[m + i, m + j] = float(upper[other] @ image[other]) / mass[j]
    part = HingeDual(np.concatenate([y[rows], signs]), np.concatenate([upper[rows], mass]))
    beta = effort.loop(part, K, LOOP_TOL)
    left = signs[np.abs(beta[m:]) < AT_BOUND * mass]
    return beta[:m], np.isin(y, left)


def _quota(
    problem: HingeDual, mean: FloatArray, members: NDArray[np.bool_], solved: FloatArray, beta: FloatArray
) -> float:
    """The slack below which members of an overfull class join: they hold `EXCESS` times what the class has too much."""
    index = np.flatnonzero(members)
    index = index[np.argsort(mean[index])]
    others = (beta != 0) & ~members
    surplus = abs(float(beta[index].sum() + beta[others].sum() + solved.sum()))
    held = np.cumsum(problem.upper[index])
    return float(mean[index[min(int(np.searchsorted(held, EXCESS * surplus)), len(index) - 1)]])
