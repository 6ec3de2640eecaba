"""Few support vectors among some hundred rows: a subsample shows which rows lie far inside, and the others are solved.

Where few rows support, most of the Gram matrix is never looked at, and making it would take longer than LIBSVM's loop.
W starts as the rows that the subsample's decision function does not see far on their right side; the rows outside have
α = 0 and are asked, after the loop in single precision and at the end in double, whether they violate: those join.
The subsample's penalties are raised so that their sum is that of all rows. (The rows that it sees at C are not held
there: its errors are too large for that, and each wrong guess costs a factorisation.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.loop import short_loop
from qpsvm.solvers.kernel.newton_step import most_moving, newton_polish, product
from qpsvm.solvers.kernel.working_set import Effort, Outcome, rough_margin

#: The subsample: every `STRIDE`-th row of each class, but at least so many in all.
STRIDE, LEAST_SAMPLE = 8, 120
#: Where more than this share of the subsample supports, or where the kernel values of W, and those of the support and
#: all rows outside W (which are asked for twice), would be more than this share of n², this is not the way: what is
#: saved on values is lost on repeated loops.
MOST_SUPPORT, ASKED, LARGEST_SHARE = 0.3, 1.4, 0.35
#: Rows that the subsample sees closer than this to the margin are in W at first; later, those closer than this join
#: where some violate.
REACH, LATER_REACH = 0.3, 0.05
#: Tolerances of the loop for the subsample and for W, in units of the margin.
SAMPLE_TOLERANCE, LOOP_TOLERANCE = 1e-2, 3e-3
#: Where the loop on the subsample takes more iterations than this, a row, those on W would be long, too.
LONG = 6
#: The loop runs again where more rows than this share of W join, at most so often; fewer join by Newton steps.
MANY_JOIN, LOOPS = 0.1, 3
#: At most so many times as many rows as W has join it at once, and at least so many may: those that violate most.
GROWTH, LEAST_GROWTH = 1.0, 100
#: Rounds of Newton steps and joining.
ROUNDS = 5
#: F may always have so many rows: the factorisation costs less than the Gram matrix of all rows.
MOST_MOVING = 300
#: The polish aims below the target, which leaves room for rows outside.
AIM = 0.7


@dataclass(eq=False)
class _Near:
    """W with its Gram matrix.

    Attributes
    ----------
    rows : ndarray of int, shape (w,)
    K : ndarray, shape (w, w)
    beta : ndarray, shape (w,)
    outside : ndarray of int, shape (n - w,)
    """

    blocks: KernelBlocks
    problem: HingeDual
    rows: IntArray
    K: FloatArray
    beta: FloatArray
    outside: IntArray

    @property
    def part(self) -> HingeDual:
        """The problem over W: all other rows rest at 0."""
        return self.problem.restricted(self.rows)

    def reach(self, b: float, rough: bool) -> tuple[FloatArray, FloatArray]:
        """Slack and u of the rows outside, (n - w,) each; a positive slack is a violation."""
        support = self.beta.nonzero()[0]
        u = self.blocks.product(self.rows[support], self.beta[support], self.outside, rough)
        return 1.0 - self.problem.y[self.outside] * (u + b), u

    def join(self, joining: NDArray[np.bool_]) -> int:
        """Take some of the rows outside into W, with α = 0; their number."""
        added = self.outside[joining]
        if len(added):
            self.K = self.blocks.grown(self.K, self.rows, added)
            self.rows = np.concatenate([self.rows, added])
            self.beta = np.concatenate([self.beta, np.zeros(len(added))])
            self.outside = self.outside[~joining]
        return len(added)


def few_support_outcome(
    blocks: KernelBlocks, problem: HingeDual, tol: float, effort: Effort, most_support: float = MOST_SUPPORT
) -> Outcome | None:
    """Solve by the rows near the margin; None where too many are, or where that did not reach the tolerance.

    Parameters
    ----------
    blocks : KernelBlocks
    problem : HingeDual
    tol : float
        Relative gap.
    effort : Effort
    most_support : float
        The largest share of the subsample that may support.

    Returns
    -------
    Outcome or None
        With u = Kβ in double precision for all rows.
    """
    inside = _seen_near(blocks, problem, effort, most_support)
    if inside is None:
        return None
    rows = inside.nonzero()[0]
    near = _Near(blocks, problem, rows, blocks.symmetric(rows), np.zeros(len(rows)), (~inside).nonzero()[0])
    if not 0 < near.part.positives < len(rows):
        return None
    for _ in range(LOOPS):
        joined = _run_loop(near, effort)
        if joined <= MANY_JOIN * len(near.rows):
            break
    return _newton_rounds(near, tol, effort)


def _seen_near(
    blocks: KernelBlocks, problem: HingeDual, effort: Effort, most_support: float
) -> NDArray[np.bool_] | None:
    """The rows that a subsample's decision function does not see far inside, (n,); None where too many support."""
    n, y = problem.n, problem.y
    stride = min(STRIDE, n // LEAST_SAMPLE)
    rows = np.concatenate([(y > 0).nonzero()[0][::stride], (y < 0).nonzero()[0][::stride]])
    sample = HingeDual(y[rows], problem.upper[rows] * (n / len(rows)))
    K = blocks.symmetric(rows)
    before = effort.iterations
    beta = effort.loop(sample, K, SAMPLE_TOLERANCE)
    support = beta.nonzero()[0]
    long = effort.iterations - before > LONG * len(rows)
    if long or len(support) > most_support * len(rows):
        return None
    b = sample.intercept(beta[support] @ K[support])
    u = blocks.product(rows[support], beta[support], np.arange(n), rough=True)
    inside: NDArray[np.bool_] = 1.0 - y * (u + b) > -REACH
    near, supporting = np.count_nonzero(inside) / n, len(support) / len(rows)
    return inside if near * near + ASKED * supporting * (1.0 - near) <= LARGEST_SHARE else None


def _run_loop(near: _Near, effort: Effort) -> int:
    """LIBSVM's loop on W, from the start; the number of rows that joined because some violate."""
    part = near.part
    near.beta = short_loop(near.K, part, LOOP_TOLERANCE, effort)
    b = part.intercept(product(near.K, near.beta, near.beta.nonzero()[0]))
    reach, _ = near.reach(b, rough=True)
    margin = rough_margin(near.beta)
    if not (reach > -margin).any():
        return 0
    most = max(int(GROWTH * len(near.rows)), LEAST_GROWTH)
    last = np.partition(reach, len(reach) - most)[len(reach) - most] if most < len(reach) else -np.inf
    return near.join(reach > max(-max(margin, LATER_REACH), last))


def _newton_rounds(near: _Near, tol: float, effort: Effort) -> Outcome | None:
    """Newton steps on W until no row outside adds to the gap."""
    problem = near.problem
    for _ in range(ROUNDS):
        part = near.part
        most = max(most_moving(part, near.beta), MOST_MOVING)
        polished = newton_polish(near.K, part, near.beta, AIM * tol, stop=effort.late, most=most)
        effort.newton_steps += polished.steps
        effort.free = max(effort.free, polished.largest)
        point = polished.point
        near.beta = point.beta
        reach, u = near.reach(point.b, rough=False)
        excess = float(problem.upper[near.outside] @ np.maximum(reach, 0.0))
        gap = point.gap + excess / max(point.scale, np.finfo(float).tiny)
        effort.report("few support", len(near.rows), gap)
        if gap <= tol:
            beta, whole = np.zeros(problem.n), np.empty(problem.n)
            beta[near.rows], whole[near.rows], whole[near.outside] = point.beta, point.u, u
            return Outcome(beta, whole, np.ones(problem.n, dtype=bool), point.b, gap)
        if point.gap > tol or effort.late():
            break
        near.join(reach > 0.0)
    return None


__all__ = ["few_support_outcome"]
