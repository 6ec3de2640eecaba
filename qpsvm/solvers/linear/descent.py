"""Dual coordinate descent goes first: its pair is often the answer, else where the Newton steps begin.

Its passes cost two products with each row that is not set aside, whatever the number of columns, and gain digits as
long as few α are free or C is small. A Newton step costs a system: dear where columns are too many for a factor. What
is right for a table shows after some passes: it goes on while the digits gained so far foretell that it will end before
the Newton steps would, and at least for as long as half of these would take (`Pace`). So a wrong beginning costs half
of what would have been right.

The compiled loop (`qpsvm/core/c/descent.c`) takes every loss of `RowLosses`, and a free intercept as the multiplier of
yᵀα = 0. Without it LIBLINEAR's does (`coordinate`): hinges and tubes, whose intercept is penalised or none. It is begun
on wide sparse rows, and for hinges where C‖x‖² is small. (Of a squared loss, C is 1/δ.)

Whether a pair is good enough says the gap (ALM.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.frozen import repeated, total
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.resources.communicator import quantile_interval
from qpsvm.base.resources.progress import Clock
from qpsvm.program.losses import PerRow
from qpsvm.solvers.linear.coordinate import (
    Descent,
    compiled_train,
    descend,
    fits,
    is_loaded,
    numbers_of,
    task_of,
)
from qpsvm.solvers.linear.row_problem import Point, RowProblem, Start, mean, separated
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.working_set import is_large
from qpsvm.solvers.shared.stopping import MOST_ITERATIONS, Budget

#: Seconds of a run of the compiled loop, of a number in a pass, and the numbers that a row's own work is worth.
RUN, NUMBER, ROW = 3e-4, 1e-9, 16
#: Passes, whole ones that those of few rows add up to: where columns are not few, so many rows for each; else at least
#: so many, and more with how far a row's α can move its own margin, up to a reach beyond which they lead nowhere.
WIDE_PASSES, ROWS_PER_COLUMN, LEAST_PASSES, REACH_PASSES, MOST_REACH = 60.0, 4, 10.0, 5.0, 15.0
#: Seconds of the Newton steps: of a call; of their passes, for each number in X; of their systems, for each number in
#: at most so many rows and each column; where there are too many columns for a factor, for each number.
CALL, PASS, STEP, STEP_ROWS, WIDE = 4e-3, 1e-8, 1e-9, 3000, 2e-6
#: Passes before anything is foretold; in how many parts of what Newton steps would take it is asked again; the most.
FIRST_PASSES, PARTS, MOST_PASSES = 16, 4, 1000
#: Goals that the compiled loop is given, one after the other: what it takes for the gap is not yet the gap.
GOALS = 3


def newton_seconds(n: int, d: int, entries: int) -> float:
    """Seconds that Newton steps take from the beginning, for n rows of d columns with so many numbers."""
    if d > min(SETTINGS.direct_columns, n):
        return CALL + WIDE * entries
    return CALL + PASS * entries + STEP * min(n, STEP_ROWS) * d * entries / max(n, 1)


def is_wide(n: int, d: int) -> bool:
    """Whether there are columns enough for coordinate descent to end soon whatever C is."""
    return n <= ROWS_PER_COLUMN * d


def descent_seconds(n: int, d: int, entries: int, reach: float) -> float:
    """The same of coordinate descent, where the mean of C‖(x, 1)‖² is `reach`; infinite where it leads nowhere."""
    wide = is_wide(n, d)
    passes = WIDE_PASSES if wide else LEAST_PASSES + REACH_PASSES * reach
    return RUN + NUMBER * (entries + ROW * n) * passes if wide or reach <= MOST_REACH else math.inf


@dataclass
class Pace:
    """Whether to go on: the work done, and the relative gap that it led to.

    rival: The work that Newton steps are worth.
    """

    rival: float
    goal: float
    work: float = 0.0
    gap: float = math.inf

    def goes_on(self, work: float, gap: float) -> bool:
        """After so much work more, with this gap."""
        gained = math.log(self.gap / gap) if 0.0 < gap < self.gap < math.inf else 0.0
        self.work, self.gap = self.work + work, gap
        if self.work < 0.5 * self.rival:
            return True
        return gained > 0.0 and work * math.log(gap / self.goal) / gained < self.rival


def goes_first(problem: RowProblem) -> bool:
    """Whether it is expected to save more than it costs."""
    rows, losses, X = problem.rows, problem.losses, problem.rows.source.whole
    if X is None or problem.offset.any():
        return False
    if core.compiled is not None:
        size = rows.n, rows.d, numbers_of(X)
        reach = 0.0 if is_wide(rows.n, rows.d) else _reach(problem)
        return descent_seconds(*size, reach) < newton_seconds(*size)
    if is_large(rows.n, rows.d) or not _has_task(problem):
        return False
    if not is_loaded() and numbers_of(X) < SETTINGS.coordinate_worth_importing:
        return False
    wide, free = sp.issparse(X) and rows.d > SETTINGS.direct_columns, problem.free_intercept
    narrow = losses.plain and not free and (sp.issparse(X) or X.size <= SETTINGS.coordinate_numbers)
    if not (wide or narrow):
        return False
    least, reach = SETTINGS.coordinate_least_reach if free else 0.0, _reach(problem)
    most = most_reach(rows.n)
    if wide:
        crowded = rows.n > SETTINGS.coordinate_rows_per_column * rows.d
        most = SETTINGS.coordinate_few_reach if crowded else np.inf
    return least <= reach <= most and fits(X) and compiled_train() is not None


def _reach(problem: RowProblem) -> float:
    """The mean of C‖(x, 1)‖²."""
    losses = problem.losses
    penalty = 1.0 / mean(losses.curvature) if losses.endless else losses.jump
    squares = problem.rows.column_squares()
    return penalty * float(squares[: -1 if problem.free_intercept else None].sum()) / max(problem.rows.n, 1)


def most_reach(n: int) -> float:
    """The mean of C‖(x, 1)‖² up to which LIBLINEAR goes first on n rows of few columns."""
    few = n <= SETTINGS.coordinate_few_rows
    return SETTINGS.coordinate_few_reach if few else SETTINGS.coordinate_reach


def coordinate_point(problem: RowProblem, tol: float, budget: Budget) -> Point | None:
    """The pair that it ends with, its gap measured; None where there is none."""
    X = problem.rows.source.whole
    if X is None or problem.offset.any():
        return None
    if core.compiled is not None:
        return _compiled_point(problem, X, tol, budget)
    if not fits(X) or not _has_task(problem):
        return None
    return _judged(problem, _by_liblinear(problem, X, tol, budget), budget)


def _compiled_point(problem: RowProblem, X: Matrix, tol: float, budget: Budget) -> Point | None:
    """By the compiled loop; again for a smaller goal where what it takes for the gap is not yet the gap."""
    run, best = Run(problem, X, tol, budget), None
    for _ in range(GOALS):
        found = run.descent()
        point = _judged(problem, found, budget)
        if point is None or not found.finished:
            return point if best is None or (point and point.gap < best.gap) else best
        best = point
        if point.relative_gap <= tol:
            break
        run.goal *= 0.5 * tol / point.relative_gap
    return best


class Run:
    """The compiled loop on a problem, which goes on where it ended.

    goal: The relative gap that it is to end at.
    """

    def __init__(self, problem: RowProblem, X: Matrix, tol: float, budget: Budget) -> None:
        rows, losses, self.goal = problem.rows, problem.losses, tol
        self._budget, self._free = budget, problem.free_intercept
        if sp.issparse(X):
            X = X.tocsr()
            table = X.data.astype(np.float64, copy=False), X.indices, X.indptr.astype(X.indices.dtype, copy=False)
            self._table = (*(np.ascontiguousarray(part) for part in table), X.indices.itemsize)
        else:
            values = X if rows.mean is None else X - rows.mean
            self._table = np.ascontiguousarray(values, dtype=np.float64), b"", b"", 0
        self._rows = tuple(
            _numbers(value) for value in (rows.y, losses.level, losses.low, losses.high, losses.tube, losses.curvature)
        )
        square = rows.unit
        if self._free:  # as if a feature as long as the others were: what it is weighed by changes the path alone
            square = max(float(np.vdot(self._table[0], self._table[0])) / max(rows.n, 1), np.finfo(np.float64).tiny)
        self._square, self._b = square, 0.0
        self._alpha, self._w = np.zeros(rows.n), np.zeros(rows.d)
        rival = newton_seconds(rows.n, rows.d, numbers_of(X)) / NUMBER
        self._pace = Pace(rival, tol)

    def descent(self) -> Descent:
        """Passes until the goal is met, or until Newton steps are foretold to be sooner."""
        budget, pace, made, done = self._budget, self._pace, 0, False
        pace.goal = self.goal
        most, work = FIRST_PASSES, MOST_ITERATIONS
        while budget.spent() is None:
            most = min(most, MOST_PASSES - made if budget.most is None else budget.most - budget.steps)
            self._b, passes, worked, done, gap, dual = core.compiled.descend(
                *self._table, *self._rows, self._alpha, self._w, self._square, self._free,
                self._b if self._free else 0.0, most, work,
                self.goal, budget.clock.stopped,
            )  # fmt: skip
            made += passes
            budget.steps += passes
            size = max(abs(dual + gap), abs(dual))
            if done or not pace.goes_on(worked, gap / size if size > 0.0 else math.inf):
                break
            if made >= MOST_PASSES:
                break
            most, work = MOST_PASSES - made, int(pace.rival / PARTS)
        return Descent(self._w, self._b, self._alpha, made, done)


def _numbers(value: PerRow) -> FloatArray:
    return np.ascontiguousarray(value, dtype=np.float64).reshape(-1)


def _has_task(problem: RowProblem) -> bool:
    """Whether LIBLINEAR has such losses."""
    return task_of(problem.losses, problem.rows.y, problem.rows.unit > 0.0) is not None


def _by_liblinear(problem: RowProblem, X: Matrix, tol: float, budget: Budget) -> Descent:
    """LIBLINEAR's run, at a tolerance that mostly leads to such a gap."""
    rows = problem.rows
    limit = None if budget.clock.limit is None else max(SETTINGS.coordinate_share * budget.clock.left, 0.0)
    most = SETTINGS.coordinate_passes
    eps = SETTINGS.coordinate_eps * tol if problem.losses.one_sided else tol
    if problem.losses.endless:
        eps = SETTINGS.coordinate_squared_eps * float(np.sqrt(tol))
    found = descend(
        X, rows.y, problem.losses, rows.unit > 0.0, mean=rows.mean, clock=Clock(limit), verbose=budget.verbose,
        eps=eps,
        most=most if budget.most is None else min(most, budget.most - budget.steps),
    )  # fmt: skip
    budget.steps += found.iterations
    return found


def _judged(problem: RowProblem, found: Descent, budget: Budget) -> Point | None:
    """The pair with its gap; None where it is none."""
    finite = np.isfinite(found.alpha).all() and np.isfinite(found.w).all() and np.isfinite(found.b)
    if not finite or not found.iterations:
        return None
    point = _measured(problem, found)
    budget.report("coordinates", found.iterations, gap=point.relative_gap)
    return point if np.isfinite(point.gap) else None


def as_start(problem: RowProblem, point: Point) -> Start:
    """Where Newton steps go on from such a pair."""
    return Start(point.W, point.alpha, problem.losses.warm_sigma, point.slack)


def _measured(problem: RowProblem, found: Descent) -> Point:
    """The pair with its gap; of a free intercept, with the best b, and α balanced."""
    rows, losses = problem.rows, problem.losses
    W = np.append(found.w, found.b)
    r = losses.residuals(rows.margins(W))
    if problem.free_intercept and losses.plain:
        C = losses.high if not isinstance(losses.high, float) else repeated(losses.high, rows.n)
        low, high = quantile_interval(rows.y * r, C, total(C, rows.y > 0))
        moved = low if np.isinf(high) else low + (high - low) / 2
        W[-1] += moved
        r -= moved * rows.y
    return separated(problem, Point(W, found.alpha, r, 0.0, 0.0, losses.warm_sigma))
