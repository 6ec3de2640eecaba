"""Initial working sets: which rows W holds, and at which bound the others are fixed.

| initial set      | W                                                                     | bound of the others    |
|------------------|-----------------------------------------------------------------------|------------------------|
| all              | every row, and what conjugate gradients say where nearly all are free | –                      |
| `outlying`       | of a novelty machine, the rows that are farthest out                  | 0                      |
| `subsample`      | rows that a subsample does not see far on their right side            | 0                      |
| `estimated_band` | a band around the margin that a low-rank model estimates (`nystrom`)  | 0 or C                 |
| `at_point`       | rows of a known point that are free, near the margin, or wrong        | as in the point        |

An initial set costs time, never accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import ENTRIES, Effort
from qpsvm.solvers.kernel.nystrom import Estimate
from qpsvm.space.kernels.blocks import KernelBlocks


@dataclass(frozen=True)
class Settings:
    """Constants of the initial sets. Distances are in units of the margin."""

    #: The subsample: every so many-th row of each class; and the tolerance of its loop.
    stride: int = 8
    sample_tolerance: float = 1e-2
    #: Rows that the subsample sees closer than this to the margin are in W: its errors are large.
    reach: float = 0.3
    #: The whole Gram matrix is cheaper where the kernel values of W, and those of the support and the rows outside, are
    #: more than this share of n²: what is saved on values is lost on repeated loops. So it is where more than this
    #: share of the subsample supports.
    largest_share: float = 0.3
    #: Of novelty machines where at most this share of the rows can be outside: so many times as many are in W, those
    #: that so many others see farthest out.
    most_outlying: float = 0.05
    outlying: float = 2.0
    looking: int = 64
    #: The band is |s| ≤ `band`, and holds at most this share of rows besides those estimated as free.
    band: float = 0.1
    neighbours: float = 0.5
    #: But W may always have so many rows.
    besides: int = 30
    #: W holds this many times what it must to balance the rows that are at C.
    room: float = 1.1
    #: Relative error of a kernel value in single precision, times four. In u the errors add up like a random walk: ε is
    #: four of its deviations, between limits.
    rough_value: float = 1.6e-6
    least_margin: float = 1e-4
    largest_margin: float = 0.05


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class InitialSet:
    """An initial working set.

    rows (w,): W.
    beta, u (n,): β is 0 or C_i y_i outside W;  u = Kβ, rough.
    known: Whether β is a feasible point, good enough for Newton steps. Otherwise it is 0 on W.
    violation (n,) or None: r of (KSET.2), as estimated.
    """

    rows: IntArray
    beta: FloatArray
    u: FloatArray
    known: bool
    violation: FloatArray | None = None


def subsample(blocks: KernelBlocks, problem: KernelDual, effort: Effort) -> InitialSet | None:
    """W holds the rows that a subsample's decision function does not see far inside; None where that would be too many.

    The subsample's penalties are raised so that their sum is that of all rows. (The rows that it sees at C are in W,
    too: its errors are too large to leave them there, and each wrong row costs a factorisation.)
    """
    n, y = problem.n, problem.sign
    rows = np.concatenate([(y > 0).nonzero()[0][:: SETTINGS.stride], (y < 0).nonzero()[0][:: SETTINGS.stride]])
    sample = problem.of(rows).times(n / len(rows))
    K = blocks.symmetric(rows)
    beta = effort.loop(sample, K, SETTINGS.sample_tolerance).beta
    support = beta.nonzero()[0]
    if len(support) > SETTINGS.largest_share * len(rows):
        return None
    b = sample.intercept(beta[support] @ K[support])
    u = blocks.product(rows[support], beta[support], np.arange(n), rough=True)
    inside = (y * (problem.level - u - b) > -SETTINGS.reach).nonzero()[0]
    near, supporting = len(inside) / n, len(support) / len(rows)
    if near * near + supporting * (1.0 - near) > SETTINGS.largest_share:
        return None
    zero = np.zeros(n)
    return InitialSet(inside, zero, zero, False) if 0 < np.count_nonzero(y[inside] > 0) < len(inside) else None


def outlying(blocks: KernelBlocks, problem: KernelDual) -> InitialSet | None:
    """W holds the rows that are farthest out, as the mean of a few others sees it; None where many are to support."""
    n, share = problem.n, problem.share
    if share is None or share > (1.0 + 1e-9) * SETTINGS.most_outlying:  # that of ν = .05, in whatever units
        return None
    some = np.random.default_rng(0).permutation(n)[: SETTINGS.looking]
    beta = np.full(len(some), problem.total / len(some))
    r = problem.level - blocks.product(some, beta, np.arange(n), rough=True)
    count = min(int(SETTINGS.outlying * share * n) + SETTINGS.besides, n)
    zero = np.zeros(n)
    return InitialSet(np.sort(np.argpartition(-r, count - 1)[:count]), zero, zero, False)


def in_band(estimate: Estimate) -> NDArray[np.bool_]:
    """The rows estimated as free or near the margin: a mask, (n,)."""
    n, distance = len(estimate.violation), np.where(estimate.free, 0.0, np.abs(estimate.violation))
    free = int(np.count_nonzero(estimate.free))
    near = min(int(np.count_nonzero(distance <= SETTINGS.band)), int((1.0 + SETTINGS.neighbours) * free))
    count = min(max(SETTINGS.besides, near), n)
    mask = np.zeros(n, dtype=bool)
    mask[np.argpartition(distance, count - 1)[:count]] = True
    return mask


def estimated_band(blocks: KernelBlocks, problem: KernelDual, estimate: Estimate, effort: Effort) -> InitialSet | None:
    """W holds a band around the estimated margin; the others at the bound that it says. None where time runs out."""
    inside = in_band(estimate)
    beta = np.where(inside, 0.0, estimate.at_bound)
    rows = np.flatnonzero(inside)
    rows = np.sort(np.append(rows, with_room(problem, rows, rows[:0], beta, estimate.violation)))
    beta[rows] = 0.0
    fixed = beta.nonzero()[0]
    u = streamed(blocks, fixed, beta[fixed], np.arange(problem.n), effort)
    return None if u is None else InitialSet(rows, beta, u, False, estimate.violation)


def with_room(
    problem: KernelDual, rows: IntArray, join: IntArray, beta: FloatArray, reach: FloatArray | None
) -> IntArray:
    """`join`, and the rows at C that are least sure to belong there, until W can balance all others: (j,)."""
    outside = np.ones(problem.n, dtype=bool)
    outside[rows] = outside[join] = False
    if reach is None or not beta[outside].any():
        return join
    added, total = [join], problem.total
    for sign in (1.0, -1.0):
        fixed = sign * (float(beta[outside].sum()) - total)
        room = -problem.low if sign > 0 else problem.high
        lacking = SETTINGS.room * fixed - float(room[~outside].sum())
        if fixed <= 0 or lacking <= 0:
            continue
        members = np.flatnonzero(outside & (beta * sign > 0))
        members = members[np.argsort(-reach[members])]
        members = members[: int(np.searchsorted(np.cumsum(np.abs(beta[members])), lacking)) + 1]
        added.append(members)
        outside[members] = False
    return np.concatenate(added)


def at_point(point: DualPoint, reach: float = 0.0) -> InitialSet:
    """W holds the rows that are free, on the wrong side for their bound, or within `reach` of the margin.

    The margin is that of ε in (KSET.3) where it is wider.
    """
    beta, gradient = point.beta, point.gradient
    rises, falls = beta < point.high, beta > point.low
    moves = (rises & falls) | ((gradient > 0) & rises) | ((gradient < 0) & falls)
    return InitialSet(np.flatnonzero(moves | (np.abs(gradient) < reach)), beta, point.u, True)


def rough_margin(beta: FloatArray) -> float:
    """ε of (KSET.3) for u from rough kernel values and β (n,)."""
    error = SETTINGS.rough_value * float(np.sqrt(beta @ beta))
    return min(max(error, SETTINGS.least_margin), SETTINGS.largest_margin)


def streamed(
    blocks: KernelBlocks, support: IntArray, weights: FloatArray, rows: IntArray, effort: Effort
) -> FloatArray | None:
    """Σ_j weights_j K(x_j, x_i) over j in `support` for i in `rows`, rough: (r,); None where time runs out."""
    total, step = np.zeros(len(rows)), max(1, int(ENTRIES / max(len(rows), 1)))
    for start in range(0, len(support), step):
        if effort.late():
            return None
        part = slice(start, start + step)
        total += blocks.product(support[part], weights[part], rows, rough=True)
    return total
