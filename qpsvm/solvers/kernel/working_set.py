"""Solve by Newton steps on a working set W that grows by violating rows (`WorkingSet`); over all rows, `solve_from`.

Few rows become support vectors. So Newton steps run on W only. After them all rows outside W are checked, and those
that violate their optimality condition join W. The result is optimal for any initial W (`initial_sets`).

    (KSET.1)  W ∪ outside = all rows;  outside all are at a bound, β_i ∈ {0, C_i y_i};  u = Kβ over all rows
    (KSET.2)  v_i = s_i for rows that are at 0, −s_i for rows that are at C, s_i = 1 − y_i f_i:  the violation, by how
              much a row is on the wrong side
    (KSET.3)  rows outside with v_i > −ε join W, where ε covers the error of a u from rough kernel values
    (KSET.4)  P − D over all rows = that over W + Σ C_i max(v_i, 0) over the rows outside with v_i > −ε

For general intervals, read "0 or C_i y_i" as "an end of the interval, or the kink". A row with v_i < −ε contributes
exactly nothing. So its u need only be accurate to ε, and the kernel values of rows outside are in single precision,
those of W in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint, Multipliers
from qpsvm.solvers.kernel.effort import ENTRIES_PER_CLOCK_CHECK, Effort
from qpsvm.solvers.kernel.initial_sets import InitialSet, estimate_rough_error
from qpsvm.solvers.kernel.newton_step import (
    MAX_EXACT_FREE,
    MAX_EXACT_ROWS,
    MAX_FREE_SET,
    ROUNDED_GAP,
    choose_max_moving_rows,
    multiply_gram,
    polish_by_newton,
)
from qpsvm.space.kernels.gram_blocks import GramBlocks

#: Limits of the rounds of Newton steps, between which rows join, and of the steps of a round.
MAX_ROUNDS, NEWTON_STEPS = 10, 10
#: Newton steps on W aim at this share of the target; the rest is for rows outside and rounding.
TARGET_SHARE = 0.7
#: Largest relative gap of a point of a ν-SVR from which Newton steps, or a search for its tube, begin. After a loop it
#: is larger only if the optimum has no tube, (KDUAL.8): there Newton steps on (KDUAL.7) do not converge.
MAX_NU_SVR_GAP = 0.05


class WorkingSet:
    """W with its Gram matrix, and the state of all rows.

    rows, outside: The indices of W (w,), in the order of `K` (w, w), and of the other rows.
    beta, u (n,): Of all rows.
    is_full: Whether W is all rows.
    """

    def __init__(self, blocks: GramBlocks, problem: KernelDual, initial: InitialSet, effort: Effort) -> None:
        self.blocks = blocks
        self.problem = problem
        self.effort = effort
        self.rows = initial.rows
        self.beta = initial.beta.copy()
        self.u = initial.u.copy()
        self._is_warm = initial.is_warm
        self.is_full = len(self.rows) == problem.n
        self._has_grown = False
        if self.is_full:
            self.outside = np.empty(0, dtype=np.intp)
        else:
            self.outside = self._find_outside()
        if self.is_full:
            self.K = blocks.compute_full_matrix()
        else:
            self.K = blocks.compute_symmetric(self.rows)
        self._fixed = self._compute_fixed_part(self.rows)
        if initial.is_warm:
            self.u[self.rows] = self._multiply(self.beta[self.rows])

    def run_loop(self, tolerance: float) -> None:
        """Run the loop; W must be all rows."""
        start, u = (self.beta, self.u) if self._is_warm else (None, None)
        result = self.effort.run_loop(self.problem, self.K, tolerance, start, u)
        self._move_to(result.beta, result.u)

    def refine(self, target: float, max_free_set: int = MAX_FREE_SET) -> KernelPoint:
        """Take Newton steps on W and add rows, until the gap over all rows is at most `target`."""
        if self.problem.is_nu_svr:
            point = self.problem.build_point(self.beta, self.u)
            if point.gap > MAX_NU_SVR_GAP:
                return point
        best: KernelPoint | None = None
        for _ in range(MAX_ROUNDS):
            point = self._run_newton(target, max_free_set)
            if not self._move_to(point.beta, point.u):
                break
            gap, joining = self._scan_outside(point)
            self.effort.report("Newton", len(self.rows), gap)
            if best is None or gap < best.gap:
                best = self.problem.build_point_at(self.beta.copy(), self.u.copy(), point.multipliers, gap, point.scale)
            if gap <= target or self.effort.is_over() or not len(joining):
                break
            self._add_rows(joining)
        if best is None:
            return self.problem.build_point(self.beta, self.u)
        return best

    def _run_newton(self, target: float, max_free_set: int) -> KernelPoint:
        """Return the point of the restricted problem after Newton steps from the present β."""
        K = self.K
        restricted = self._restrict_problem()
        beta = self.beta[self.rows]
        u = self.u[self.rows]
        aim = target if self.is_full else TARGET_SHARE * target
        polished = polish_by_newton(K, restricted, beta, aim, NEWTON_STEPS, u, self.effort.is_late, max_free_set)
        self.effort.newton_steps += polished.steps
        point = polished.point
        is_cheap = len(self.rows) <= MAX_EXACT_ROWS and polished.max_free_rows <= MAX_EXACT_FREE
        if is_cheap and ROUNDED_GAP < point.gap <= target:  # a few more steps are cheaper than polishing later
            polished = polish_by_newton(
                K, restricted, point.beta, ROUNDED_GAP, NEWTON_STEPS, point.u, self.effort.is_late
            )
            self.effort.newton_steps += polished.steps
        return polished.point

    def _scan_outside(self, point: KernelPoint) -> tuple[float, IntArray]:
        """Return the gap over all rows (KSET.4), and the rows to join (KSET.3)."""
        if self.is_full:
            return point.gap, self.outside
        violation = self._compute_violation(point.multipliers)
        u_error = estimate_rough_error(self.beta)
        candidates = (violation > -u_error).nonzero()[0]
        if len(candidates):  # evaluate these in double precision
            support = self.beta.nonzero()[0]
            near = self.outside[candidates]
            self.u[near] = self.blocks.compute_product(support, self.beta[support], near)
            violation = self._compute_violation(point.multipliers)
        excess = float(self.problem.weight[self.outside[candidates]] @ np.maximum(violation[candidates], 0.0))
        gap = point.gap + excess / max(point.scale, SMALLEST_NORMAL)
        # rows farther on their right side are unlikely to violate next
        worst = float(violation[candidates].max(initial=0.0))
        return gap, self.outside[violation > -worst] if worst > 0.0 else self.outside[:0]

    def _compute_violation(self, multipliers: Multipliers) -> FloatArray:
        """Compute (KSET.2) for the rows outside."""
        return self.problem.compute_violation(self.beta, self.u, multipliers, self.outside)

    def _move_to(self, beta: FloatArray, u: FloatArray | None = None) -> bool:
        """Set β of W, (w,), with its u if known, and the u of all other rows; return False if time runs out."""
        if len(self.outside):
            change = beta - self.beta[self.rows]
            changed = change.nonzero()[0]
            added = _stream_product(self.blocks, self.rows[changed], change[changed], self.outside, self.effort)
            if added is None:
                return False
            self.u[self.outside] += added
        self.beta[self.rows] = beta
        self._is_warm = True
        self.u[self.rows] = self._multiply(beta) if u is None else u
        return True

    def _add_rows(self, added: IntArray) -> None:
        """Add rows to W with their present β."""
        w = len(self.rows)
        old_rows = self.rows
        nonzero = added[self.beta[added] != 0]
        self._fixed = self._fixed - self.blocks.compute_product(nonzero, self.beta[nonzero], old_rows)
        self.K = self.blocks.grow_symmetric(self.K, old_rows, added)
        self.rows = np.append(old_rows, added)
        self.outside = self._find_outside()
        self.is_full = not len(self.outside)
        self._has_grown = True
        self._fixed = np.append(self._fixed, self._compute_fixed_part(added))
        self.u[added] = self.K[w:] @ self.beta[self.rows] + self._fixed[w:]

    def _find_outside(self) -> IntArray:
        mask = np.ones(self.problem.n, dtype=bool)
        mask[self.rows] = False
        return mask.nonzero()[0]

    def _compute_fixed_part(self, rows: IntArray) -> FloatArray:
        """Compute Σ K_ij β_j over the rows j outside, at a bound, for i in `rows`: the part of u not due to W, (r,)."""
        fixed = self.outside[self.beta[self.outside] != 0]
        return self.blocks.compute_product(fixed, self.beta[fixed], rows)

    def _multiply(self, beta: FloatArray) -> FloatArray:
        """Compute u of W for β of W, (w,)."""
        return multiply_gram(self.K, beta, beta.nonzero()[0]) + self._fixed

    def _restrict_problem(self) -> KernelDual:
        """Return (KDUAL.1) over W."""
        if self.is_full and not self._has_grown:
            return self.problem
        fixed = self.beta[self.outside]
        if fixed.any() and self._is_warm:
            scale = self.problem.build_point(self.beta, self.u).scale
        else:
            scale = None
        return self.problem.restrict(self.rows, fixed, scale)


@dataclass(frozen=True)
class LoopStage:
    """A run of LIBSVM's loop, and the Newton steps after it."""

    #: Of the loop, in units of the margin.
    tolerance: float
    #: Newton steps run after the loop if at most this many rows can move, or few more than the free ones.
    max_free_rows: int = MAX_FREE_SET


def solve_from(
    blocks: GramBlocks, problem: KernelDual, initial: InitialSet, stages: tuple[LoopStage, ...], target: float,
    effort: Effort,
) -> KernelPoint | None:  # fmt: skip
    """Solve over all rows to a relative gap of `target`; return None if time runs out before any point is known.

    Each stage continues from the previous one, if that missed the target.
    """
    W = WorkingSet(blocks, problem, initial, effort)
    best = W.refine(target) if initial.is_warm else None
    for stage in stages:
        if best is not None and (best.gap <= target or effort.is_over() or problem.has_no_tube(best)):
            break
        W.run_loop(stage.tolerance)
        point = W.refine(target, max(choose_max_moving_rows(problem, W.beta), stage.max_free_rows))
        best = point if best is None or point.gap < best.gap else best
    return best


def _stream_product(
    blocks: GramBlocks, support: IntArray, weights: FloatArray, rows: IntArray, effort: Effort
) -> FloatArray | None:
    """Compute rough Σ_j weights_j K(x_j, x_i) over j in `support` for i in `rows`: (r,); None if time runs out."""
    total = np.zeros(len(rows))
    step = max(1, int(ENTRIES_PER_CLOCK_CHECK / max(len(rows), 1)))
    for start in range(0, len(support), step):
        if effort.is_late():
            return None
        batch = slice(start, start + step)
        total += blocks.compute_product(support[batch], weights[batch], rows, rough=True)
    return total
