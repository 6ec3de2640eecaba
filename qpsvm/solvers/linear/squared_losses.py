"""Minimise the primal of squared losses by Newton's method (`minimise_squared`).

A squared loss is smooth, so that (ALM.1) needs neither multiplier estimates nor a penalty: α follows from W.

    (SQNEWTON.1)  α = S_ε(r)/δ,  r = ℓ − ZW,  and q = RW − h − Zᵀα is the gradient of (ALM.1)
    (SQNEWTON.2)  W ← W + sΔW,  ΔW = −H⁻¹q,  H = R + Z_JᵀDZ_J,  J the rows with α ≠ 0, D = diag(1/δ_J)

If at W + ΔW the same rows have a loss, on the same sides, W + ΔW is the optimum. Otherwise s is found by `line_search`.
Mostly about five steps suffice, whatever n and C are. If nearly all rows can be fitted and C is large, there are more,
as many as the augmented Lagrangian takes. With very many columns it may take fewer.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.losses import is_zero
from qpsvm.solvers.linear.effort import are_columns_few
from qpsvm.solvers.linear.newton_step import CholeskyNewton
from qpsvm.solvers.linear.row_problem import LinearPoint, LinearStart, RowProblem
from qpsvm.solvers.shared.budget import Budget
from qpsvm.solvers.shared.cholesky import NumericalTrouble
from qpsvm.solvers.shared.line_search import Slope, find_step

#: Limit of the steps; after it the augmented Lagrangian starts anew.
MAX_STEPS = 60


def has_squared_losses(problem: RowProblem) -> bool:
    """Return whether every loss is squared, and H has few enough columns to be factored."""
    rows, losses = problem.rows, problem.losses
    is_unbounded = bool(np.isinf(losses.high).all()) and (losses.is_one_sided or bool(np.isinf(losses.low).all()))
    return is_unbounded and are_columns_few(rows.n, rows.d)


def minimise_squared(problem: RowProblem, start: LinearStart, budget: Budget) -> LinearPoint:
    """Return the pair of squared losses that the steps reach from W of `start`: the optimum, unless they end early.

    They end after `MAX_STEPS`, at the limits of the budget, or if a system cannot be solved. Values of the pair are not
    computed.
    """
    rows = problem.rows
    losses = problem.losses
    ridge = problem.ridge
    newton = CholeskyNewton(rows, ridge)
    slope = 1.0 / losses.curvature
    threshold = None if is_zero(losses.tube) else slope * losses.tube
    W = start.W
    residual = losses.compute_residuals(rows.margins(W))
    alpha = losses.compute_optimal_dual(residual)
    is_optimal = False
    for step in range(MAX_STEPS):
        if budget.find_stop_reason() is not None:
            break
        row_sum = rows.gradient(alpha) + problem.offset
        gradient = ridge * W - row_sum
        if budget.on_progress is not None or budget.is_logging:
            budget.report(
                "squared", step, gap=_measure_gap(problem, W, alpha, gradient, row_sum), free=newton.free_count
            )
        try:
            direction = newton.step(alpha != 0.0, slope, gradient, W)
        except NumericalTrouble:
            break
        change = rows.margins(direction)
        length = 1.0
        next_alpha = losses.compute_optimal_dual(residual - change)
        is_optimal = np.array_equal(np.sign(next_alpha), np.sign(alpha))
        if not is_optimal:
            line_slope = Slope(
                float(direction @ (ridge * W - problem.offset)), float(direction @ (ridge * direction)),
                slope * residual, change, slope, losses.high, losses.low, threshold,
            )  # fmt: skip
            length = find_step(line_slope, float(direction @ gradient))
            if not np.isfinite(length):
                break
            next_alpha = losses.compute_optimal_dual(residual - length * change)
        W = W + length * direction
        residual = residual - length * change
        alpha = next_alpha
        budget.steps += 1
        if is_optimal:
            break
    return LinearPoint(W, alpha, residual, math.nan, math.nan, losses.warm_sigma)


def _measure_gap(
    problem: RowProblem, W: FloatArray, alpha: FloatArray, gradient: FloatArray, row_sum: FloatArray
) -> float:
    """Return the relative gap (ALM.5) of W and its α, given q and Zᵀα + h, (d + 1,) each."""
    residual, _, half_square = problem.measure_gap(float(W[-1]), gradient, row_sum, 0.0)
    dual = problem.compute_dual(problem.losses.compute_dual_value(alpha), half_square)
    return compute_relative_gap(residual, dual + residual, dual)
