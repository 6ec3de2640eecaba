"""Few rows: balances that are exact, and linear machines over their Gram matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest

import qpsvm
from qpsvm import CSVM
from qpsvm.bounds.repair import exactly_balanced, feasible


def clouds(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + y[:, None] / np.sqrt(d), y


@pytest.mark.parametrize("seed", range(5))
def test_the_balance_is_exact_to_the_last_bit_where_a_row_is_free(seed):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    svm = CSVM(rng.normal(size=(200, 2)), sign, C=1.0).svm
    alpha = feasible(svm, rng.uniform(-0.5, 1.5, 200))
    assert math.fsum((sign * alpha).tolist()) == 0.0
    assert ((alpha >= 0.0) & (alpha <= 1.0)).all()


def test_a_balance_that_no_row_can_take_stays_as_it_is():
    sign, upper = np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.3])
    alpha = upper.copy()  # 0.1 + 0.2 ≠ 0.3, and all are at their bounds
    np.testing.assert_array_equal(exactly_balanced(alpha.copy(), sign, upper), alpha)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("d", [1, 3, 120])
def test_linear_machines_of_few_rows_are_certified_whatever_C_is(C, d):
    X, y = clouds(100, d, seed=d)
    problem = CSVM(X, y, C=C)
    result = qpsvm.solve(problem)
    assert result.status is qpsvm.Status.OPTIMAL
    other = qpsvm.solve(problem, "interior_point")
    assert result.primal == pytest.approx(other.primal, rel=3e-6)
