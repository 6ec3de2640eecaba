"""An optimal value of 0 is certified whatever else the table holds: constant columns, columns of zeros."""

import numpy as np
import pytest
from each import for_each

import qpsvm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = RNG.integers(0, 2, 120)  # noise: the reduced hulls meet


@for_each("constant", [0.0, 0.1, 3.0, 1e8])
def test_a_constant_column_changes_nothing_where_b_is_free(constant):
    result = qpsvm.solve(qpsvm.NuSVM(np.column_stack([X, np.full(len(X), constant)]), Y, nu=0.3))
    assert (result.status, result.primal) == ("optimal", 0.0)
    assert result.verify().gap <= result.gap * (1.0 + 1e-9)


def test_a_column_of_zeros_changes_nothing_around_the_origin():
    samples = np.column_stack([X - X.mean(axis=0), np.zeros(len(X))])
    result = qpsvm.solve(qpsvm.OneClass(samples, nu=0.5, kernel="linear"))
    assert (result.status, result.primal) == ("optimal", 0.0)
    assert result.verify().gap <= result.gap * (1.0 + 1e-9)


def test_a_constant_column_is_a_direction_of_its_own_without_a_free_intercept():
    """All samples are on one side of the origin: the optimum is not 0."""
    samples = np.column_stack([X - X.mean(axis=0), np.full(len(X), 0.1)])
    result = qpsvm.solve(qpsvm.OneClass(samples, nu=0.5, kernel="linear"))
    assert result.status == "optimal"
    assert result.w[-1] == pytest.approx(0.1 * result.alpha.sum())
    assert result.primal < 0.0


def test_of_points_that_prove_nothing_the_better_one_is_kept():
    """A function inside the tube has P = 0, which no relative gap certifies; b is still the best one."""
    problem = qpsvm.EpsilonSVR([[2.0], [1.0], [1.0], [0.0]], [2.0, 1.9999, 2.0001, 1.0001], C=1.0, epsilon=0.5)
    for backend in ("auto", "interior_point", "kernel_newton"):
        assert qpsvm.solve(problem, backend, check=False).primal <= 1e-15
