"""w and α of one result belong together: w = Σ α_i y_i x_i, the first equation that a reader checks."""

from __future__ import annotations

import numpy as np
from each import for_each

import qpsvm


def one_hot(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Five numbers and a category of fifty values, standardised; a target of both."""
    rng = np.random.default_rng(seed)
    category = rng.integers(0, 50, size=n)
    X = np.hstack([rng.normal(size=(n, 5)), np.eye(50)[category]])
    target = X[:, :5] @ rng.normal(size=5) + rng.normal(size=50)[category] + rng.normal(size=n)
    return (X - X.mean(axis=0)) / X.std(axis=0), target


@for_each("seed, n", [(1, 800), (3, 2000)])
def test_w_is_that_of_alpha(seed, n):
    X, target = one_hot(seed, n)
    y = np.where(target > np.median(target), 1.0, -1.0)
    problems = [
        qpsvm.SquaredHinge(X, y, C=10.0), qpsvm.EpsilonSVR(X, target, C=10.0, epsilon=0.1, loss="squared"),
        qpsvm.SquaredHinge(X[:, :10], y, C=1.0), qpsvm.CSVM(X, y, C=10.0),
    ]  # fmt: skip
    for problem in problems:
        result = qpsvm.solve(problem)
        assert result.status == "optimal"
        apart = result.w - result.coef @ (problem.X if len(result.coef) == n else problem.X[result.support])
        assert np.linalg.norm(apart) <= 1e-6 * np.linalg.norm(result.w), problem.title
