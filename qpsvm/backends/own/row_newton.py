"""Minimise the primal of squared losses over rows that several machines may share (`minimise_over_rows`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.data.rows import RowSource
from qpsvm.program.losses import Loss
from qpsvm.solvers.linear.descent import count_entries
from qpsvm.solvers.linear.effort import is_squared_newton_quick
from qpsvm.solvers.linear.label_scaled_rows import LabelScaledRows
from qpsvm.solvers.linear.row_problem import LinearStart, RowLosses, RowProblem
from qpsvm.solvers.linear.squared_losses import minimise_squared
from qpsvm.solvers.shared.budget import Budget


class SquaredPoint(NamedTuple):
    """w (d,), the intercept b, the multipliers of the rows (n,), and the number of steps."""

    w: FloatArray
    b: float
    multipliers: FloatArray
    steps: int


def is_newton_suitable(X: Matrix) -> bool:
    """Return whether Newton steps over rows X (n, d) are predicted to be the fastest for squared losses."""
    n, d = X.shape
    return is_squared_newton_quick(n, d, count_entries(X), sp.issparse(X))


def minimise_over_rows(rows: RowSource, y: FloatArray, losses: Loss, intercept: str | None) -> SquaredPoint:
    """Return the point that Newton steps reach for rows (n, d) with labels y (n,): mostly the optimum.

    losses: All squared.
    intercept: "free", "penalised" or None.
    """
    scaled_rows = LabelScaledRows(rows, y, float(intercept is not None))
    row_losses = RowLosses.from_loss(losses)
    problem = RowProblem.from_rows(scaled_rows, row_losses, intercept == "free")
    budget = Budget()
    point = minimise_squared(problem, LinearStart(np.zeros(rows.d + 1), None, row_losses.first_sigma), budget)
    return SquaredPoint(point.W[:-1], float(point.W[-1]), point.alpha, budget.steps)
