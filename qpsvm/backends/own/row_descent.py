"""Run coordinate descent for several SVMs over the same rows, with any losses (`DescentRows`, `RowDescent`).

The compiled loop stops at a goal, a relative gap that it estimates itself. If the certified gap is still above the
tolerance, the caller lowers the goal and continues (`continue_to_goal`), up to `MAX_GOALS` times.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.losses import Loss
from qpsvm.solvers.linear.descent import MAX_GOALS, DescentRun, count_entries
from qpsvm.solvers.linear.effort import estimate_newton_seconds, estimate_pass_seconds
from qpsvm.solvers.linear.row_problem import RowLosses, balance_alpha
from qpsvm.solvers.linear.working_set import is_large
from qpsvm.solvers.shared.budget import Budget
from qpsvm.solvers.shared.row_table import build_table


def is_descent_suitable(n: int, d: int) -> bool:
    """Return whether the compiled loop exists, and n rows of d columns are not too many for it."""
    return core.compiled is not None and not is_large(n, d)


class DescentRows:
    """Rows (n, d) in the layout of the compiled loop.

    MAX_GOALS: Largest number of successive goals of one machine.
    """

    MAX_GOALS = MAX_GOALS

    def __init__(self, X: Matrix) -> None:
        self.table = build_table(X)
        self.shape = X.shape
        self.n_entries = count_entries(X)
        self.is_sparse = sp.issparse(X)

    def estimate_newton_seconds(self, is_squared: bool) -> float:
        """Estimate the seconds that Newton steps would take on these rows; `is_squared` means squared losses."""
        n, d = self.shape
        return estimate_newton_seconds(n, d, self.n_entries, is_squared, self.is_sparse)


class RowDescent:
    """Coordinate descent for one machine: its current α (n,) and b, and whether the last goal was met.

    y (n,): Labels; all 1 for a regression, whose α may have either sign.
    losses: Either all piecewise linear or all squared.
    intercept: "free", "penalised", or None.
    """

    def __init__(self, rows: DescentRows, y: FloatArray, losses: Loss, intercept: str | None, tol: float) -> None:
        self._y, self._losses = np.ascontiguousarray(y), RowLosses.from_loss(losses)
        self._has_free_intercept = intercept == "free"
        self._budget = Budget()
        newton_seconds = rows.estimate_newton_seconds(not self._losses.is_piecewise_linear)
        self._run = DescentRun(
            rows.table, rows.shape[1], self._y, self._losses, intercept_feature=1.0 if intercept else 0.0,
            has_free_intercept=self._has_free_intercept, newton_seconds=newton_seconds, tol=tol, budget=self._budget,
        )  # fmt: skip
        self.continue_to_goal(1.0)

    def continue_to_goal(self, factor: float) -> None:
        """Multiply the goal by `factor` (≤ 1) and run until the goal is met, or until the loop makes no progress."""
        self._run.goal *= factor
        result = self._run.run()
        if self._has_free_intercept:
            self.alpha = balance_alpha(result.alpha, self._y, self._losses)
        else:
            self.alpha = result.alpha
        self.iterations = self._budget.steps
        self.converged = result.converged
        self.b = result.b


__all__ = ["DescentRows", "RowDescent", "estimate_pass_seconds", "is_descent_suitable"]
