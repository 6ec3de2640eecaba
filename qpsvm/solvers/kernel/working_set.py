"""Solve by Newton steps on a working set W that grows by violating rows (`solve_from`); on all rows the loop is first.

Whatever W was at first (`initial_sets`), the answer is exact.

    (KSET.1)  W ∪ outside = all rows;  outside all are at a bound, β_i ∈ {0, C_i y_i};  u = Kβ over all rows
    (KSET.2)  r_i = s_i for rows that are at 0, −s_i for rows that are at C:  how far a row is on the wrong side
    (KSET.3)  rows outside with r_i > −ε join W, where ε covers the error of a u from rough kernel values
    (KSET.4)  P − D over all rows = that over W + Σ C_i max(r_i, 0) over the rows outside with r_i > −ε

Of the problems of `interval`, "0 or C_i y_i" is: at an end of the interval, or at the kink.
A row with r_i < −ε contributes exactly nothing. So its u need only be known to ε, and the kernel values of rows outside
are in single precision. Those of W are in double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import DualPoint, Edges, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.initial_sets import InitialSet, estimate_margin, stream_product
from qpsvm.solvers.kernel.newton_step import (
    EXACT_FREE,
    EXACT_ROWS,
    LARGEST_FREE_SET,
    ROUNDED_GAP,
    bound_moving_rows,
    multiply_gram,
    polish_by_newton,
)
from qpsvm.space.kernels.blocks import KernelBlocks

#: Newton steps between two looks outside.
STEPS = 10
#: LIBSVM's tolerance, in units of the margin (its own default): a smaller violation is none to it.
LOOP_TOL = 1e-3


@dataclass(frozen=True)
class WorkingSetSettings:
    """Constants of the loop. Distances are in units of the margin."""

    #: Most rounds of Newton steps, each after rows have joined.
    rounds: int = 10
    #: Rows on their right side by up to this join with those on the wrong one, because they are next; after LIBSVM's
    #: loop at most so many for each of those, and in all so many or as many as W has.
    lookahead: float = 0.1
    joining_share: float = 0.25
    growth: int = 100
    #: Newton steps aim at this share of the target, which leaves room for rows outside and for rounding.
    target_share: float = 0.7


SETTINGS = WorkingSetSettings()


class WorkingSet:
    """W with its Gram matrix, and the state of all rows."""

    def __init__(self, blocks: KernelBlocks, problem: KernelDual, initial: InitialSet, effort: Effort) -> None:
        self.blocks, self.problem, self.effort = blocks, problem, effort
        self.rows, self.beta, self.u, self._known = initial.rows, initial.beta.copy(), initial.u.copy(), initial.known
        self.whole, self._joined = len(self.rows) == problem.n, False
        self.outside = np.empty(0, dtype=np.intp) if self.whole else self._find_outside()
        self.K = blocks.all() if self.whole else blocks.compute_symmetric(self.rows)
        self._fixed = self._compute_fixed_part(self.rows)
        if initial.known:
            self.u[self.rows] = self._multiply(self.beta[self.rows])

    def _find_outside(self) -> IntArray:
        mask = np.ones(self.problem.n, dtype=bool)
        mask[self.rows] = False
        return mask.nonzero()[0]

    def _compute_fixed_part(self, rows: IntArray) -> FloatArray:
        """Σ over the rows j at a bound of K_ij β_j for i in `rows`: what their u does not get from W. (r,)."""
        fixed = self.outside[self.beta[self.outside] != 0]
        return self.blocks.product(fixed, self.beta[fixed], rows)

    def _multiply(self, beta: FloatArray) -> FloatArray:
        """Compute u of W for β of W, (w,)."""
        return multiply_gram(self.K, beta, beta.nonzero()[0]) + self._fixed

    def _restrict_problem(self) -> KernelDual:
        """(KDUAL.1) over W."""
        if self.whole and not self._joined:
            return self.problem
        fixed = self.beta[self.outside]
        scale = self.problem.build_point(self.beta, self.u).scale if fixed.any() and self._known else None
        return self.problem.restrict(self.rows, fixed, scale)

    def run_loop(self, tolerance: float) -> None:
        """Run the loop on W, which is all rows."""
        start, u = (self.beta, self.u) if self._known else (None, None)
        found = self.effort.run_loop(self.problem, self.K, tolerance, start, u)
        self._move_to(found.beta, found.u)

    def _move_to(self, beta: FloatArray, u: FloatArray | None = None) -> bool:
        """Set β of W, (w,), with its u if known, and the u of all other rows; return False if time runs out."""
        if len(self.outside):
            change = beta - self.beta[self.rows]
            moved = change.nonzero()[0]
            added = stream_product(self.blocks, self.rows[moved], change[moved], self.outside, self.effort)
            if added is None:
                return False
            self.u[self.outside] += added
        self.beta[self.rows], self._known = beta, True
        self.u[self.rows] = self._multiply(beta) if u is None else u
        return True

    def _compute_violation(self, edges: Edges) -> FloatArray:
        """Compute (KSET.2) for the rows outside."""
        return self.problem.compute_violation(self.beta, self.u, edges, self.outside)

    @property
    def _max_exact_violators(self) -> float:
        """Largest number of violators that are all evaluated in double precision."""
        return 2.0 * math.sqrt(len(self.rows))

    def _bound_joining_rows(self, count: int) -> int:
        """Return the limit of rows that may join, if `count` rows have to."""
        return min(int((1.0 + SETTINGS.joining_share) * count), max(len(self.rows), SETTINGS.growth))

    def refine(
        self,
        target: float,
        most: int = LARGEST_FREE_SET,
        steps: int = STEPS,
        gain: float = np.inf,
        gap: float = np.inf,
    ) -> DualPoint:
        """Take Newton steps on W and add rows, until the gap over all rows is at most `target` or stops improving.

        Given up after a round that leaves more than the share `gain` of the gap, which is at first `gap`.
        """
        best: DualPoint | None = None
        for _ in range(SETTINGS.rounds):
            point = self._run_newton(target, steps, most)
            if not self._move_to(point.beta, point.u):
                break
            before = gap
            gap, join = self._scan_outside(point)
            self.effort.report("Newton", len(self.rows), gap)
            if best is None or gap < best.gap:
                best = self.problem.build_point_at(self.beta.copy(), self.u.copy(), point.edges, gap, point.scale)
            if gap <= target or gap > gain * before or self.effort.is_over() or not len(join):
                break
            self._add_rows(join)
        return self.problem.build_point(self.beta, self.u) if best is None else best

    def _run_newton(self, target: float, steps: int, most: int) -> DualPoint:
        K, part, beta, u = self.K, self._restrict_problem(), self.beta[self.rows], self.u[self.rows]
        aim = target if self.whole else SETTINGS.target_share * target
        polished = polish_by_newton(K, part, beta, aim, steps, u, self.effort.is_late, most)
        self.effort.newton_steps += polished.steps
        point, cheap = polished.point, len(self.rows) <= EXACT_ROWS and polished.max_free_rows <= EXACT_FREE
        if cheap and ROUNDED_GAP < point.gap <= target:  # a few more cost less than the polishing that follows would
            polished = polish_by_newton(K, part, point.beta, ROUNDED_GAP, steps, point.u, self.effort.is_late)
            self.effort.newton_steps += polished.steps
        return polished.point

    def _scan_outside(self, point: DualPoint) -> tuple[float, IntArray]:
        """Return the gap over all rows (KSET.4), and the rows to join (KSET.3)."""
        if self.whole:
            return point.gap, self.outside
        reach, margin = self._compute_violation(point.edges), estimate_margin(self.beta)
        near = (reach > -margin).nonzero()[0]
        wrong = int(np.count_nonzero(reach > max(LOOP_TOL, margin)))  # by more than LIBSVM itself would notice
        many = wrong > self._max_exact_violators
        if not many and len(near):
            support = self.beta.nonzero()[0]
            self.u[self.outside[near]] = self.blocks.product(support, self.beta[support], self.outside[near])
            reach = self._compute_violation(point.edges)
        excess = float(self.problem.weight[self.outside[near]] @ np.maximum(reach[near], 0.0))
        gap = point.gap + excess / max(point.scale, np.finfo(float).tiny)
        if many:
            return gap, self.outside[
                _take_largest(reach, (reach > -SETTINGS.lookahead).nonzero()[0], self._bound_joining_rows(wrong))
            ]
        worst = float(reach[near].max(initial=0.0))  # rows that are as far on their right side are not next
        return gap, self.outside[reach > -worst] if worst > 0.0 else self.outside[:0]

    def _add_rows(self, added: IntArray) -> None:
        """Take rows into W, with the β that they have."""
        w, before = len(self.rows), self.rows
        leaving = added[self.beta[added] != 0]
        self._fixed = self._fixed - self.blocks.product(leaving, self.beta[leaving], before)
        self.K = self.blocks.grow_symmetric(self.K, before, added)
        self.rows = np.append(before, added)
        self.outside = self._find_outside()
        self.whole, self._joined = not len(self.outside), True
        self._fixed = np.append(self._fixed, self._compute_fixed_part(added))
        self.u[added] = self.K[w:] @ self.beta[self.rows] + self._fixed[w:]


def _take_largest(reach: FloatArray, rows: IntArray, most: int) -> IntArray:
    """Take the rows of largest `reach`, at most `most` of them, in ascending order."""
    if len(rows) > most:
        rows = rows[np.argpartition(-reach[rows], most)[:most]]
    return np.sort(rows)


@dataclass(frozen=True)
class LoopStage:
    """A run of LIBSVM's loop, and the Newton steps after it."""

    #: In units of the margin.
    tolerance: float
    #: After a loose loop Newton steps are worth their factorisation where few more rows than the free ones can move,
    #: and always where at most so many can.
    max_free_rows: int = LARGEST_FREE_SET


def solve_from(
    blocks: KernelBlocks, problem: KernelDual, initial: InitialSet, stages: tuple[LoopStage, ...], target: float,
    effort: Effort,
) -> DualPoint | None:  # fmt: skip
    """Solve over all rows, to a relative gap; None where time runs out before any point is known.

    Each stage begins where the one before fell short of the target.
    """
    W = WorkingSet(blocks, problem, initial, effort)
    best = W.refine(target) if initial.known else None
    for stage in stages:
        if best is not None and (best.gap <= target or effort.is_over() or problem.needs_no_tube(best)):
            break
        W.run_loop(stage.tolerance)
        point = W.refine(target, max(bound_moving_rows(problem, W.beta), stage.max_free_rows))
        best = point if best is None or point.gap < best.gap else best
    return best
