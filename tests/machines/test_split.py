"""α and the kinds tell the same story: a sample is a support vector where its α is above 0, and at its bound on it."""

from __future__ import annotations

import numpy as np
from each import for_each

from qpsvm import CSVM, HardMargin, NuSVM, PrimalHinge, solve


def blobs(apart: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of 20 points each."""
    y = np.repeat([0, 1], 20)
    return np.random.default_rng(seed).normal(size=(40, 2)) + apart * y[:, None], y


OVERLAPPING, APART = blobs(1.2, 1), blobs(6.0, 2)
WEIGHT = np.random.default_rng(3).uniform(0.2, 3.0, 40)
PROBLEMS = {
    "nu-0.1": lambda kernel: NuSVM(*APART, nu=0.1, kernel=kernel),
    "nu-0.4": lambda kernel: NuSVM(*OVERLAPPING, nu=0.6, kernel=kernel),
    "nu-weights": lambda kernel: NuSVM(*OVERLAPPING, nu=0.7, kernel=kernel, sample_weight=WEIGHT),
    "c": lambda kernel: CSVM(*OVERLAPPING, kernel=kernel),
    "c-weights": lambda kernel: CSVM(*OVERLAPPING, kernel=kernel, sample_weight=WEIGHT),
    "hinge": lambda kernel: PrimalHinge(*OVERLAPPING, kernel=kernel),
    "hinge-penalised": lambda kernel: PrimalHinge(*OVERLAPPING, kernel=kernel, intercept="penalised"),
    "hard": lambda kernel: HardMargin(*APART, kernel=kernel),
}


@for_each("kernel", ["linear", "rbf"])
@for_each("backend", ["auto", "cvxopt", "osqp"])
@for_each("form", ["dual", "primal"])
@for_each("name", PROBLEMS)
def test_support_is_where_alpha_is_positive(name, kernel, backend, form):
    result = solve(PROBLEMS[name](kernel), backend, form=form)
    np.testing.assert_array_equal(result.support, np.flatnonzero(result.alpha > 0.0))
    np.testing.assert_array_equal(result.at_bound, np.flatnonzero(result.alpha >= result.upper))
