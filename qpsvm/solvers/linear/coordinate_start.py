"""When coordinate descent goes first, and what its point is worth: the answer, or where the Newton steps begin.

Its passes cost two products with each row that is not set aside, whatever the number of columns, and gain digits as
long as few α are free or C is small. A Newton step costs a system: dear where columns are too many for a factor. So it
goes first on wide sparse rows, and for hinges where C‖x‖² is small. (Of a squared loss, C is 1/δ.) Whether its pair is
good enough says the gap (ALM.5).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import repeated, total
from qpsvm.arrays.quantile import quantile_interval
from qpsvm.solvers.linear.coordinate import Descent, compiled_train, descend, fits, is_loaded, numbers_of, task_of
from qpsvm.solvers.linear.row_losses import mean
from qpsvm.solvers.linear.row_problem import Point, RowProblem, Start, certified
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.working_set import is_large
from qpsvm.solvers.shared.stopping import Budget, Clock


def goes_first(problem: RowProblem) -> bool:
    """Whether it is expected to save more than it costs."""
    rows, losses, X = problem.rows, problem.losses, problem.rows.source.whole
    if X is None or is_large(rows.n, rows.d):
        return False
    if not is_loaded() and numbers_of(X) < SETTINGS.coordinate_worth_importing:
        return False
    wide, free = sp.issparse(X) and rows.d > SETTINGS.direct_columns, problem.free_intercept
    narrow = losses.plain and not free and (sp.issparse(X) or X.size <= SETTINGS.coordinate_numbers)
    if not (wide or narrow) or not _takes(problem):
        return False
    penalty = 1.0 / mean(losses.curvature) if losses.endless else losses.jump
    reach = penalty * (rows.source.sum_of_squares() / rows.n + rows.unit)
    least = SETTINGS.coordinate_least_reach if free else 0.0
    most = most_reach(rows.n)
    if wide:
        crowded = rows.n > SETTINGS.coordinate_rows_per_column * rows.d
        most = SETTINGS.coordinate_crowded_reach if crowded else np.inf
    return least <= reach <= most and fits(X) and compiled_train() is not None


def _takes(problem: RowProblem) -> bool:
    """Whether it has such losses; a sum of α that is given it does not have."""
    return not problem.offset.any() and task_of(problem.losses, problem.rows.y, problem.rows.unit > 0.0) is not None


def most_reach(n: int) -> float:
    """The mean of C‖(x, 1)‖² up to which it goes first on n rows of few columns."""
    few = n <= SETTINGS.coordinate_few_rows
    return SETTINGS.coordinate_few_reach if few else SETTINGS.coordinate_reach


def coordinate_point(problem: RowProblem, tol: float, budget: Budget) -> Point | None:
    """The pair that it ends with, its gap measured; None where there is none."""
    rows, X = problem.rows, problem.rows.source.whole
    if X is None or not fits(X) or not _takes(problem):
        return None
    limit = None if budget.clock.limit is None else max(SETTINGS.coordinate_share * budget.clock.left, 0.0)
    squared = problem.losses.endless
    most = SETTINGS.coordinate_squared_passes if squared else SETTINGS.coordinate_passes
    eps = SETTINGS.coordinate_squared_eps * float(np.sqrt(tol)) if squared else SETTINGS.coordinate_eps * tol
    if not squared and not problem.losses.one_sided:
        eps = SETTINGS.coordinate_tube_eps * tol
    found = descend(
        X, rows.y, problem.losses, rows.unit > 0.0, mean=rows.mean, clock=Clock(limit), verbose=budget.verbose,
        eps=float(np.clip(eps, *SETTINGS.coordinate_eps_limits)),
        most=most if budget.most is None else min(most, budget.most - budget.steps),
    )  # fmt: skip
    budget.steps += found.iterations
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
    return certified(problem, Point(W, found.alpha, r, 0.0, 0.0, losses.warm_sigma))
