"""Newton's method on squared losses: it ends where the gradient is 0, whatever the scale, or says that it has not."""

from __future__ import annotations

import numpy as np
from each import for_each

import qpsvm
from qpsvm.data.rows import as_row_source
from qpsvm.solvers.linear.label_scaled_rows import MAX_STORED, LabelScaledRows
from qpsvm.solvers.linear.row_problem import LinearStart, RowLosses, RowProblem, certify_pair
from qpsvm.solvers.linear.solve import solve_linear
from qpsvm.solvers.linear.squared_losses import has_squared_losses, minimise_squared
from qpsvm.solvers.shared.budget import Budget


def draw_problem(seed: int, n: int = 60, d: int = 4, intercept: str = "free") -> RowProblem:
    """A classification or a regression, with weights, of any scale and C."""
    g = np.random.default_rng(seed)
    X = g.standard_normal((n, d)) * 10.0 ** g.integers(-2, 3)
    curvature = 10.0 ** g.uniform(-4, 4) * g.uniform(0.5, 2.0, n)
    if seed % 2:
        y = np.ones(n)
        losses = RowLosses(np.inf, g.standard_normal(n), -np.inf, 0.1, curvature)
    else:
        y = np.where(g.random(n) < 0.5, 1.0, -1.0)
        losses = RowLosses(np.inf, curvature=curvature)
    return RowProblem.from_rows(LabelScaledRows(as_row_source(X), y, 1.0), losses, intercept == "free")


def start(problem: RowProblem) -> LinearStart:
    return LinearStart(np.zeros(problem.rows.d + 1), None, problem.losses.first_sigma)


@for_each("intercept", ["free", "penalised"])
@for_each("seed", range(12))
def test_the_gradient_is_zero(seed, intercept):
    problem = draw_problem(seed, intercept=intercept)
    budget = Budget()
    point = minimise_squared(problem, start(problem), budget)
    residual = problem.losses.level - problem.rows.margins(point.W)
    excess = problem.losses.compute_tube_excess(residual)
    loss_slopes = np.maximum(excess, 0.0) if problem.losses.is_one_sided else excess
    np.testing.assert_allclose(point.alpha, loss_slopes / problem.losses.curvature, rtol=1e-9, atol=1e-12)
    gradient = problem.ridge * point.W - problem.rows.gradient(point.alpha)
    Z = np.column_stack([problem.rows.source.matrix(), np.ones(problem.rows.n)])
    sizes = np.abs(problem.ridge * point.W) + np.abs(Z).T @ np.abs(point.alpha)
    assert (np.abs(gradient) <= 1e-8 * sizes).all()
    assert certify_pair(problem, point).relative_gap <= 1e-12
    assert 0 < budget.steps <= 15


def test_limits_end_the_steps_with_an_honest_gap():
    g = np.random.default_rng(0)
    X = g.standard_normal((80, 3))
    rows = LabelScaledRows(as_row_source(X), np.sign(X[:, 0] + g.standard_normal(80)), 1.0)
    problem = RowProblem(rows, RowLosses(np.inf, curvature=1e-3), np.ones(4), np.zeros(4))
    point = certify_pair(problem, minimise_squared(problem, start(problem), Budget(max_steps=1)))
    assert 1e-6 < point.relative_gap < np.inf
    assert solve_linear(X, rows.y, problem.losses, max_iter=1).reason == "iteration_limit"


def test_only_squared_losses_are_taken():
    rows = draw_problem(0).rows
    for losses, squared in (
        (RowLosses(np.inf, curvature=1.0), True),
        (RowLosses(1.0, curvature=1.0), False),  # Huber's
        (RowLosses(np.where(np.arange(rows.n) % 2, np.inf, 1.0), curvature=1.0), False),
        (RowLosses(np.inf, 0.0, -1.0, 0.0, 1.0), False),
    ):
        assert has_squared_losses(RowProblem(rows, losses, np.ones(rows.d + 1), np.zeros(rows.d + 1))) == squared


def test_rows_that_can_all_be_fitted_are_solved_too():
    g = np.random.default_rng(0)
    X = g.standard_normal((400, 100))
    result = qpsvm.solve(qpsvm.SquaredHinge(X, np.sign(X.sum(axis=1)), C=1e4))
    assert result.gap <= 1e-6


def test_stored_rows_have_the_products_of_the_source():
    g = np.random.default_rng(0)
    n = MAX_STORED // 4
    d = 3
    X = g.standard_normal((n, d)) + 5.0
    y = np.where(g.random(n) < 0.5, 1.0, -1.0)
    mean = np.full(d, 5.0)
    stored = LabelScaledRows(as_row_source(X[:-1]), y[:-1], 1.0, mean)
    computed = LabelScaledRows(as_row_source(X), y, 1.0, mean)
    assert stored._stored is not None
    assert computed._stored is None or n * (d + 1) <= MAX_STORED
    W = g.standard_normal(d + 1)
    a = g.standard_normal(n)
    rows = np.arange(0, n - 1, 7)
    a[-1] = 0.0
    np.testing.assert_allclose(stored.margins(W), computed.margins(W)[:-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(stored.gradient(a[:-1]), computed.gradient(a), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(stored.gradient(a[rows], rows), computed.gradient(a[rows], rows), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(stored.gram(rows), computed.gram(rows), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(
        stored.gram(rows, np.abs(a[rows])), computed.gram(rows, np.abs(a[rows])), rtol=1e-9, atol=1e-6
    )
