"""Run dual coordinate descent first (`find_descent_point`): its pair often suffices, else Newton steps start there.

Its passes cost two products with each row that is not set aside, whatever the number of columns, and gain digits as
long as few α are free or C is small. A Newton step costs a system: dear where columns are too many for a factor. What
is right for a table shows after some passes: it goes on while the digits gained so far foretell that it will end before
the Newton steps would, and at least for as long as half of these would take (`DescentPace`). So a wrong beginning costs
half of what would have been right.

The compiled loop (`qpsvm/core/c/descent.c`) takes every loss of `RowLosses`, and a free intercept as the multiplier of
yᵀα = 0. Without the compiled core Newton steps begin.

Whether a pair is good enough says the gap (ALM.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.frozen import repeat_value, sum_where
from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.losses import Loss, PerRow
from qpsvm.solvers.linear.effort import NUMBER, estimate_descent_seconds, estimate_newton_seconds, is_wide
from qpsvm.solvers.linear.row_problem import LinearPoint, LinearStart, RowProblem, certify_separated, mean
from qpsvm.solvers.shared.budget import MAX_ITERATIONS, Budget

#: Passes before anything is foretold; in how many parts of what Newton steps would take it is asked again; the most.
FIRST_PASSES, PARTS, MOST_PASSES = 16, 4, 1000
#: Goals that the compiled loop is given, one after the other: what it takes for the gap is not yet the gap.
GOALS = 3
#: Seconds of all Newton steps that are not noticeable: from a pair that is good already, a few of them reach rounding.
NEXT_TO_NOTHING = 5e-3
#: Share of the time left that it may take under a limit.
TIME_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class DescentResult:
    """w (d,), b, α (n,), the passes made, whether the loop's own test was met, and Zᵀα (d + 1,), where it is known."""

    w: FloatArray
    b: float
    alpha: FloatArray
    iterations: int
    converged: bool
    gradient: FloatArray | None = None


def count_entries(X: Matrix) -> int:
    """Count the stored numbers of X (n, d)."""
    return int(X.nnz if sp.issparse(X) else X.size)


@dataclass
class DescentPace:
    """Progress of coordinate descent: the work done, and the relative gap reached.

    newton_work: The work that Newton steps are worth.
    """

    newton_work: float
    goal: float
    work: float = 0.0
    gap: float = math.inf

    def should_continue(self, work: float, gap: float) -> bool:
        """Record this work and gap, and return whether to continue."""
        gained = math.log(self.gap / gap) if 0.0 < gap < self.gap < math.inf else 0.0
        self.work, self.gap = self.work + work, gap
        if not math.isfinite(gap):
            return False
        if self.work < 0.5 * self.newton_work:
            return True
        return gained > 0.0 and work * math.log(gap / self.goal) / gained < self.newton_work


def should_start_with_descent(problem: RowProblem) -> bool:
    """Return whether coordinate descent is predicted to finish before Newton steps."""
    rows, losses, X = problem.rows, problem.losses, problem.rows.source.memory_matrix
    if core.compiled is None or X is None or problem.offset.any():
        return False
    size = rows.n, rows.d, count_entries(X)
    reach = 0.0 if is_wide(rows.n, rows.d) else _compute_conditioning(problem)
    return estimate_descent_seconds(*size, reach) < estimate_newton_seconds(
        *size, losses.has_infinite_bound, sp.issparse(X)
    )


def _compute_conditioning(problem: RowProblem) -> float:
    """Compute the mean of C‖(x, 1)‖²; for a squared loss, C is 1/δ."""
    losses = problem.losses
    penalty = 1.0 / mean(losses.curvature) if losses.has_infinite_bound else losses.jump
    rows = problem.rows
    squares = rows.source.sum_of_squares() / max(rows.n, 1) - (
        0.0 if rows.mean is None else float(rows.mean @ rows.mean)
    )
    return penalty * (max(squares, 0.0) + (0.0 if problem.free_intercept else rows.unit))


def predict_newton_seconds(problem: RowProblem, X: Matrix) -> float:
    """Predict the seconds of Newton steps."""
    rows = problem.rows
    return estimate_newton_seconds(rows.n, rows.d, count_entries(X), problem.losses.has_infinite_bound, sp.issparse(X))


def is_newton_cheap(problem: RowProblem) -> bool:
    """Return whether Newton steps to rounding, from near, cost next to nothing: of a smooth loss, and small systems."""
    X = problem.rows.source.memory_matrix
    smooth = problem.losses.has_infinite_bound or bool(np.any(problem.losses.curvature))
    return smooth and X is not None and predict_newton_seconds(problem, X) <= NEXT_TO_NOTHING


def find_descent_point(problem: RowProblem, tol: float, budget: Budget) -> LinearPoint | None:
    """Run coordinate descent and return its last pair, or None; its own estimate of the gap needs a check."""
    X = problem.rows.source.memory_matrix
    if core.compiled is None or X is None or problem.offset.any():
        return None
    rows, intercept = problem.rows, (problem.rows.unit, problem.free_intercept)
    table, rival, best = build_table(X, rows.mean), predict_newton_seconds(problem, X), None
    run = DescentRun(table, rows.d, rows.y, problem.losses, intercept, rival, tol, budget)
    for _ in range(GOALS):
        found = run.run()
        point = _check_result(problem, found, budget)
        if point is None or not found.converged:
            return point if best is None or (point and point.gap < best.gap) else best
        best = point
        if point.relative_gap <= tol:
            break
        run.goal *= 0.5 * tol / point.relative_gap
    return best


Table: TypeAlias = tuple[Any, Any, Any, int]


def build_table(X: Matrix, mean: FloatArray | None = None) -> Table:
    """Return the rows X (n, d), less their mean where dense ones have one, as the loop reads them."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X if mean is None else X - mean, dtype=np.float64), b"", b"", 0
    X = X.tocsr()
    table = X.data.astype(np.float64, copy=False), X.indices, X.indptr.astype(X.indices.dtype, copy=False)
    values, columns, starts = (np.ascontiguousarray(part) for part in table)
    return values, columns, starts, X.indices.itemsize


class DescentRun:
    """The compiled loop on rows (n, d), which goes on where it ended.

    goal: The relative gap that it is to end at.
    rival: The seconds that Newton steps would take.
    """

    def __init__(
        self, table: Table, d: int, y: FloatArray, losses: Loss, intercept: tuple[float, bool], rival: float,
        tol: float, budget: Budget,
    ) -> None:  # fmt: skip
        self.goal, self._budget, self._table, self._y = tol, budget, table, y
        self._unit, self._free = intercept
        self._rows = tuple(
            _as_loop_array(value) for value in (y, losses.level, losses.low, losses.high, losses.tube, losses.curvature)
        )
        square = self._unit
        if self._free:  # as if a feature as long as the others were: what it is weighed by changes the path alone
            square = max(float(np.vdot(table[0], table[0])) / max(len(y), 1), np.finfo(np.float64).tiny)
        self._square, self._b = square, 0.0
        self._alpha, self._w = np.zeros(len(y)), np.zeros(d)
        self._pace = DescentPace(rival / NUMBER, tol)

    def run(self) -> DescentResult:
        """Run passes until the goal is met, or until Newton steps are predicted to finish sooner."""
        budget, pace, made, done = self._budget, self._pace, 0, False
        pace.goal = self.goal
        clock, most, work = budget.clock, FIRST_PASSES, MAX_ITERATIONS
        stopped = partial(
            clock.find_stop_reason, 0.0 if clock.limit is None else TIME_SHARE * max(clock.remaining, 0.0)
        )
        while budget.find_stop_reason() is None and not stopped():
            most = min(most, MOST_PASSES - made)
            most = most if budget.max_steps is None else min(most, budget.max_steps - budget.steps)
            self._b, passes, worked, done, gap, dual = core.compiled.descend(
                *self._table, *self._rows, self._alpha, self._w, self._square, self._free,
                self._b if self._free else 0.0, most, work, self.goal, stopped,
            )  # fmt: skip
            made += passes
            budget.steps += passes
            size = max(abs(dual + gap), abs(dual))
            if done or made >= MOST_PASSES or not pace.should_continue(worked, gap / size if size > 0.0 else math.inf):
                break
            most, work = MOST_PASSES, int(pace.newton_work / PARTS)
        gradient = np.append(self._w, self._unit * float(self._y @ self._alpha))
        return DescentResult(self._w, self._b, self._alpha, made, done, gradient)


def _as_loop_array(value: PerRow) -> FloatArray:
    """Return one number for all rows, or one per row, as the loop reads them: (1,) or (n,)."""
    return np.ascontiguousarray(value, dtype=np.float64).reshape(-1)


def _check_result(problem: RowProblem, found: DescentResult, budget: Budget) -> LinearPoint | None:
    """Return the pair with its gap; None if it is not finite."""
    finite = np.isfinite(found.alpha).all() and np.isfinite(found.w).all() and np.isfinite(found.b)
    if not finite or not found.iterations:
        return None
    point = _measure_point(problem, found)
    budget.report("coordinates", found.iterations, gap=point.relative_gap)
    return point if np.isfinite(point.gap) else None


def as_start(problem: RowProblem, point: LinearPoint) -> LinearStart:
    """Return the start of Newton steps that resume from a pair."""
    return LinearStart(point.W, point.alpha, problem.losses.warm_sigma, point.slack)


def _measure_point(problem: RowProblem, found: DescentResult) -> LinearPoint:
    """Return the pair with its gap; of a free intercept, with the best b, and α balanced."""
    rows, losses = problem.rows, problem.losses
    W = np.append(found.w, found.b)
    r = losses.compute_residuals(rows.margins(W))
    if problem.free_intercept and losses.is_hinge:
        C = losses.high if not isinstance(losses.high, float) else repeat_value(losses.high, rows.n)
        low, high = find_quantile_interval(rows.y * r, C, sum_where(C, rows.y > 0))
        moved = low if np.isinf(high) else low + (high - low) / 2
        W[-1] += moved
        r -= moved * rows.y
    return certify_separated(problem, LinearPoint(W, found.alpha, r, 0.0, 0.0, losses.warm_sigma), found.gradient)
