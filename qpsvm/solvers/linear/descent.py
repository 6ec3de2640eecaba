"""Run dual coordinate descent (`find_descent_point`), whose pair often suffices; else Newton steps start there.

A pass costs two products with each row that is not shrunk, for any number of columns, and gains digits as long as few α
are free or C is small. A Newton step costs a linear system, which is expensive if there are too many columns for a
factor. Which is better for a data set shows after some passes: descent continues while the digits gained so far predict
that it will finish before Newton steps would, and at least for half of their estimated time (`DescentPace`). So a wrong
choice costs at most half of the right one.

The compiled loop (`qpsvm/core/c/descent.c`) takes every loss of `RowLosses`, and a free intercept as the multiplier of
yᵀα = 0. Without the compiled core Newton steps run at once. Whether a pair is good enough is decided by the gap
(ALM.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.constant_vectors import repeat_value, sum_where
from qpsvm.base.arrays.quantiles import find_quantile_interval
from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.losses import Loss, PerRow
from qpsvm.solvers.linear.effort import (
    DESCENT_ENTRY_SECONDS,
    estimate_descent_seconds,
    estimate_newton_seconds,
    is_squared_newton_quick,
    is_wide,
)
from qpsvm.solvers.linear.row_problem import LinearPoint, LinearStart, RowProblem, certify_separated, compute_mean
from qpsvm.solvers.linear.squared_losses import has_squared_losses
from qpsvm.solvers.shared.budget import MAX_ITERATIONS, Budget
from qpsvm.solvers.shared.row_table import Table, build_table

#: Passes before the first prediction, the number of predictions per estimated time of the Newton steps, and the limit.
FIRST_PASSES, PREDICTIONS, MAX_PASSES = 16, 4, 1000
#: Limit of the successive goals of the compiled loop, whose own estimate of the gap is not exact.
MAX_GOALS = 3
#: Seconds of all Newton steps that are negligible: from a good pair, a few of them reach rounding.
NEGLIGIBLE_SECONDS = 5e-3
#: Share of the remaining time that descent leaves to Newton steps under a time limit.
TIME_SHARE = 0.5


def should_start_with_descent(problem: RowProblem) -> bool:
    """Return whether coordinate descent is predicted to finish before Newton steps."""
    rows = problem.rows
    X = rows.source.memory_matrix
    if core.compiled is None or X is None or problem.offset.any():
        return False
    if has_squared_losses(problem) and is_squared_newton_quick(rows.n, rows.d, count_entries(X), sp.issparse(X)):
        return False
    conditioning = 0.0 if is_wide(rows.n, rows.d) else _compute_conditioning(problem)
    descent_seconds = estimate_descent_seconds(rows.n, rows.d, count_entries(X), conditioning)
    return descent_seconds < predict_newton_seconds(problem, X)


def find_descent_point(problem: RowProblem, tol: float, budget: Budget) -> LinearPoint | None:
    """Run coordinate descent and return its last pair, or None; its own estimate of the gap needs a check."""
    X = problem.rows.source.memory_matrix
    if core.compiled is None or X is None or problem.offset.any():
        return None
    rows = problem.rows
    table = build_table(X, rows.mean)
    newton_seconds = predict_newton_seconds(problem, X)
    best: LinearPoint | None = None
    run = DescentRun(
        table, rows.d, rows.y, problem.losses, intercept_feature=rows.unit,
        has_free_intercept=problem.has_free_intercept, newton_seconds=newton_seconds, tol=tol, budget=budget,
    )  # fmt: skip
    for _ in range(MAX_GOALS):
        result = run.run()
        point = _measure_if_finite(problem, result, budget)
        if point is None or not result.converged:
            if best is None or (point and point.gap < best.gap):
                return point
            return best
        best = point
        if point.relative_gap <= tol:
            break
        run.goal *= 0.5 * tol / point.relative_gap
    return best


def as_start(problem: RowProblem, point: LinearPoint) -> LinearStart:
    """Return the start of Newton steps that resume from a pair."""
    return LinearStart(point.W, point.alpha, problem.losses.warm_sigma, point.residuals)


def is_newton_cheap(problem: RowProblem) -> bool:
    """Return whether Newton steps to rounding, from a good pair, are cheap: smooth losses and small systems."""
    X = problem.rows.source.memory_matrix
    smooth = problem.losses.has_infinite_bound or bool(np.any(problem.losses.curvature))
    return smooth and X is not None and predict_newton_seconds(problem, X) <= NEGLIGIBLE_SECONDS


def predict_newton_seconds(problem: RowProblem, X: Matrix) -> float:
    """Predict the seconds of Newton steps."""
    rows = problem.rows
    return estimate_newton_seconds(rows.n, rows.d, count_entries(X), problem.losses.has_infinite_bound, sp.issparse(X))


def count_entries(X: Matrix) -> int:
    """Count the stored numbers of X (n, d)."""
    return int(X.nnz if sp.issparse(X) else X.size)


def _compute_conditioning(problem: RowProblem) -> float:
    """Compute the mean of C‖(x, 1)‖²; for a squared loss, C is 1/δ."""
    losses = problem.losses
    if losses.has_infinite_bound:
        penalty = 1.0 / compute_mean(losses.curvature)
    else:
        penalty = losses.jump
    rows = problem.rows
    mean_square = 0.0 if rows.mean is None else float(rows.mean @ rows.mean)
    squares = rows.source.sum_of_squares() / max(rows.n, 1) - mean_square
    return penalty * (max(squares, 0.0) + (0.0 if problem.has_free_intercept else rows.unit))


def _measure_if_finite(problem: RowProblem, result: DescentResult, budget: Budget) -> LinearPoint | None:
    """Return the pair with its gap; None if it is not finite."""
    finite = np.isfinite(result.alpha).all() and np.isfinite(result.w).all() and np.isfinite(result.b)
    if not finite or not result.iterations:
        return None
    point = _measure_point(problem, result)
    budget.report("coordinates", result.iterations, gap=point.relative_gap)
    return point if np.isfinite(point.gap) else None


def _measure_point(problem: RowProblem, result: DescentResult) -> LinearPoint:
    """Return the pair with its gap; with a free intercept, after choosing the best b and balancing α."""
    rows, losses = problem.rows, problem.losses
    W = np.append(result.w, result.b)
    r = losses.compute_residuals(rows.margins(W))
    if problem.has_free_intercept and losses.is_hinge:
        if isinstance(losses.high, float):
            C = repeat_value(losses.high, rows.n)
        else:
            C = losses.high
        low, high = find_quantile_interval(rows.y * r, C, sum_where(C, rows.y > 0))
        shift = low if np.isinf(high) else low + (high - low) / 2
        W[-1] += shift
        r -= shift * rows.y
    return certify_separated(problem, LinearPoint(W, result.alpha, r, 0.0, 0.0, losses.warm_sigma), result.gradient)


@dataclass(frozen=True, eq=False)
class DescentResult:
    """w (d,), b, α (n,), the passes made, whether the loop converged by its own test, and Zᵀα (d + 1,) or None."""

    w: FloatArray
    b: float
    alpha: FloatArray
    iterations: int
    converged: bool
    gradient: FloatArray | None = None


class DescentRun:
    """The compiled loop on rows (n, d), which resumes where it stopped.

    goal: Target of the relative gap.
    intercept_feature: Value of the constant feature whose weight is b; 0 without an intercept.
    has_free_intercept: Whether b is not penalised.
    newton_seconds: Estimated seconds of Newton steps.
    """

    def __init__(
        self, table: Table, d: int, y: FloatArray, losses: Loss, *, intercept_feature: float, has_free_intercept: bool,
        newton_seconds: float, tol: float, budget: Budget,
    ) -> None:  # fmt: skip
        self.goal = tol
        self._budget = budget
        self._table = table
        self._y = y
        self._intercept_feature, self._has_free_intercept = intercept_feature, has_free_intercept
        self._rows = tuple(
            _as_loop_array(value) for value in (y, losses.level, losses.low, losses.high, losses.tube, losses.curvature)
        )
        self._intercept_scale = intercept_feature
        self._b = 0.0
        if has_free_intercept:  # scale of the step for b, like that of a typical row: it changes only the path
            mean_square = float(np.vdot(table[0], table[0])) / max(len(y), 1)
            self._intercept_scale = max(mean_square, SMALLEST_NORMAL)
        self._alpha = np.zeros(len(y))
        self._w = np.zeros(d)
        self._pace = DescentPace(newton_seconds / DESCENT_ENTRY_SECONDS, tol)

    def run(self) -> DescentResult:
        """Run passes until the goal is met, or until Newton steps are predicted to finish sooner."""
        budget = self._budget
        pace = self._pace
        clock = self._budget.clock
        passes_made, converged = 0, False
        pace.goal = self.goal
        max_passes, max_work = FIRST_PASSES, MAX_ITERATIONS
        if clock.limit is None:
            reserved_seconds = 0.0
        else:
            reserved_seconds = TIME_SHARE * max(clock.remaining, 0.0)
        find_stop = partial(clock.find_stop_reason, reserved_seconds)
        while budget.find_stop_reason() is None and not find_stop():
            max_passes = min(max_passes, MAX_PASSES - passes_made)
            if budget.max_steps is not None:
                max_passes = min(max_passes, budget.max_steps - budget.steps)
            self._b, passes, work, converged, gap, dual = core.compiled.descend(
                *self._table, *self._rows, self._alpha, self._w, self._intercept_scale, self._has_free_intercept,
                self._b if self._has_free_intercept else 0.0, max_passes, max_work, self.goal, find_stop,
            )  # fmt: skip
            passes_made += passes
            budget.steps += passes
            size = max(abs(dual + gap), abs(dual))
            relative_gap = gap / size if size > 0.0 else math.inf
            if converged or passes_made >= MAX_PASSES or not pace.should_continue(work, relative_gap):
                break
            max_passes = MAX_PASSES
            max_work = int(pace.newton_work / PREDICTIONS)
        gradient = np.append(self._w, self._intercept_feature * float(self._y @ self._alpha))
        return DescentResult(self._w, self._b, self._alpha, passes_made, converged, gradient)


@dataclass
class DescentPace:
    """Progress of coordinate descent: the work done, and the relative gap reached.

    newton_work: The estimated work of Newton steps, in the units of `work`.
    """

    newton_work: float
    goal: float
    work: float = 0.0
    gap: float = math.inf

    def should_continue(self, work: float, gap: float) -> bool:
        """Record this work and gap, and return whether to continue."""
        gained = math.log(self.gap / gap) if 0.0 < gap < self.gap < math.inf else 0.0
        self.work += work
        self.gap = gap
        if not math.isfinite(gap):
            return False
        if self.work < 0.5 * self.newton_work:
            return True
        return gained > 0.0 and work * math.log(gap / self.goal) / gained < self.newton_work


def _as_loop_array(value: PerRow) -> FloatArray:
    """Return one number for all rows, or one per row, as an array (1,) or (n,)."""
    return np.ascontiguousarray(value, dtype=np.float64).reshape(-1)
