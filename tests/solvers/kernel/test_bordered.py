"""The point of a split: exact where LIBSVM's loop found it, and never taken for more than it is where it did not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from each import for_each

import qpsvm
from qpsvm import CSVM, RBF
from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.bounds.repair import make_feasible
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.newton_step import MAX_EXACT_FREE, solve_bordered


def clouds(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + y[:, None] / np.sqrt(d), y


@for_each("kernel", [RBF(0.2), qpsvm.Linear()])
@for_each("weighted", [False, True])
def test_one_system_gives_the_last_digits_of_what_the_loop_began(kernel, weighted):
    X, y = clouds(90, 4)
    X = X - X.mean(axis=0)
    upper = np.linspace(0.5, 1.5, 90) if weighted else repeat_value(1.0, 90)
    K = kernel(X, X)
    problem = KernelDual.from_hinges(y, upper)
    beta = Effort().run_loop(problem, K, 1e-3).beta
    before = problem.build_point(beta, K @ beta)
    point = solve_bordered(K, problem, beta)
    assert point is not None
    assert point.gap < 1e-12 < before.gap
    assert ((point.beta >= problem.low) & (point.beta <= problem.high)).all()
    assert abs(point.beta.sum()) < 1e-14


def test_of_more_free_rows_than_the_system_has_solutions_for_nothing_good_is_claimed():
    """A singular system solves to anything: the point's own gap says what it is worth."""
    X, y = clouds(60, 2)
    K = X @ X.T
    problem = KernelDual.from_hinges(y, repeat_value(1.0, 60))
    beta = problem.make_feasible(0.3 * y)  # every row free: K has rank 2
    point = solve_bordered(K, problem, beta)
    if point is not None:
        u = K @ point.beta
        assert problem.build_point(point.beta, u).gap == pytest.approx(point.gap)


def test_nothing_free_and_too_much_free_is_left_to_others():
    n = MAX_EXACT_FREE + 50
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    K = np.eye(n)
    problem = KernelDual.from_hinges(y, repeat_value(1.0, n))
    assert solve_bordered(K, problem, np.zeros(n)) is None
    assert solve_bordered(K, problem, 0.5 * y) is None


@for_each("seed", range(5))
def test_the_balance_is_exact_to_the_last_bit_where_a_row_is_free(seed):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    svm = CSVM(rng.normal(size=(200, 2)), sign, C=1.0).svm
    alpha = make_feasible(svm, rng.uniform(-0.5, 1.5, 200))
    assert math.fsum((sign * alpha).tolist()) == 0.0
    assert ((alpha >= 0.0) & (alpha <= 1.0)).all()


def test_a_balance_that_no_row_can_take_stays_as_it_is():
    svm = CSVM(np.eye(3), [1, 1, 0], C=1.0, sample_weight=[0.1, 0.2, 0.3]).svm
    alpha = svm.upper.copy()  # 0.1 + 0.2 ≠ 0.3, and all are at their bounds
    np.testing.assert_array_equal(make_feasible(svm, alpha), alpha)


@for_each("C", [0.01, 1.0, 100.0, 1e4])
@for_each("d", [1, 3, 120])
def test_linear_machines_of_few_rows_are_certified_whatever_C_is(C, d):
    X, y = clouds(100, d, seed=d)
    problem = CSVM(X, y, C=C)
    result = qpsvm.solve(problem)
    assert result.status is qpsvm.Status.OPTIMAL
    other = qpsvm.solve(problem, "interior_point")
    assert result.primal == pytest.approx(other.primal, rel=3e-6)
