"""Coordinate descent over the rows of any losses, for many machines over one table of rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import scipy.sparse as sp

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.losses import Loss
from qpsvm.solvers.linear.descent import GOALS, DescentRun, build_table, count_entries
from qpsvm.solvers.linear.effort import estimate_newton_seconds, estimate_pass_seconds
from qpsvm.solvers.linear.row_problem import RowLosses, balance_alpha
from qpsvm.solvers.linear.working_set import is_large
from qpsvm.solvers.shared.budget import Budget


def is_descent_suitable(n: int, d: int) -> bool:
    """Return whether there is a loop for that many rows and columns, and nothing that is certainly better."""
    return core.compiled is not None and not is_large(n, d)


class DescentRows:
    """Rows (n, d) as the loop reads them.

    GOALS: How many goals a machine is worth.
    """

    GOALS = GOALS

    def __init__(self, X: Matrix) -> None:
        self.table, self.shape = build_table(X), X.shape
        self.entries, self.sparse = count_entries(X), sp.issparse(X)

    def estimate_newton_seconds(self, smooth: bool) -> float:
        """Estimate the seconds that Newton steps would take."""
        n, d = self.shape
        return estimate_newton_seconds(n, d, self.entries, smooth, self.sparse)


class RowDescent:
    """A machine over the rows, its α (n,) and b as far as they are, and whether the goal was met.

    Shapes: y (n,), 1 of regressions, whose α are signed. The losses are of one kind: all squared or none.
    """

    def __init__(self, rows: DescentRows, y: FloatArray, losses: Loss, intercept: str | None, tol: float) -> None:
        named = {field.name: getattr(losses, field.name) for field in fields(Loss)}
        self._y, self._losses = np.ascontiguousarray(y), RowLosses(**named)
        self._free, self._budget = intercept == "free", Budget()
        form, rival = (
            (1.0 if intercept else 0.0, self._free),
            rows.estimate_newton_seconds(not self._losses.is_piecewise_linear),
        )
        self._run = DescentRun(rows.table, rows.shape[1], self._y, self._losses, form, rival, tol, self._budget)
        self.continue_to_goal(1.0)

    def continue_to_goal(self, factor: float) -> None:
        """Run further passes, to a goal smaller by the factor."""
        self._run.goal *= factor
        found = self._run.run()
        self.alpha = balance_alpha(found.alpha, self._y, self._losses) if self._free else found.alpha
        self.b, self.done, self.iterations = found.b, found.converged, self._budget.steps


__all__ = ["DescentRows", "RowDescent", "estimate_pass_seconds", "is_descent_suitable"]
