"""A pivoted factor of a kernel matrix, and the certificate of coefficients over few samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from each import for_each
from exact_arithmetic import as_fractions, dot
from judge import exact_gram

import qpsvm
from qpsvm import CSVM, RBF, Polynomial
from qpsvm.base.errors import DataError
from qpsvm.bounds import span
from qpsvm.bounds.span import Span
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.kernels.pivoted_cholesky import factorise_pivoted
from qpsvm.space.kernels.space import FeatureSpace

EPS = float(np.finfo(float).eps)


def draw_hard_labels(n: int, seed: int = 0, d: int = 2) -> tuple[Any, Any]:
    """Draw labels that two features hardly tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(rng.random(n) < 0.3 + 0.2 * np.tanh(X[:, 0]), 1.0, -1.0)


# --- the factor -------------------------------------------------------------------------------------------------------


@for_each("kernel", [RBF(0.5), RBF(30.0), Polynomial(degree=3, gamma=0.5, coef0=1.0)])
def test_the_factor_leaves_a_rest_that_is_positive_semidefinite(kernel: Any) -> None:
    X = draw_hard_labels(250)[0]
    blocks = KernelBlocks(kernel, X)
    K = blocks.compute_full_matrix().copy()
    found = factorise_pivoted(KernelBlocks(kernel, X), np.arange(250), np.ones(250), 1e-8, 250)
    assert found is not None
    assert found.is_reached
    left = K - found.L @ found.L.T
    largest = float(K.diagonal().max())
    assert np.abs(left.diagonal() - found.residual).max() <= 1e-13 * largest
    assert np.linalg.eigvalsh(left).min() >= -1e-12 * largest
    assert np.abs(left[found.pivots]).max() <= 1e-12 * largest
    assert len(np.unique(found.pivots)) == found.rank
    assert np.sqrt(found.residual).mean() ** 2 <= 1e-8 * largest


def test_a_polynomial_of_few_features_has_the_rank_of_its_monomials() -> None:
    X = draw_hard_labels(400)[0]
    found = factorise_pivoted(
        KernelBlocks(Polynomial(degree=2, gamma=1.0, coef0=1.0), X), np.arange(400), np.ones(400), 1e-13, 400
    )
    assert found is not None
    assert found.is_reached
    assert found.rank == 6  # 1, x, z, x², xz, z²


def test_equal_rows_are_one_pivot() -> None:
    X = np.repeat([[0.0], [1.0], [5.0]], 40, axis=0)
    found = factorise_pivoted(KernelBlocks(RBF(1.0), X), np.arange(120), np.ones(120), 1e-12, 120)
    assert found is not None
    assert found.is_reached
    assert found.rank == 3


def test_a_rank_that_is_too_high_is_given_up_and_a_late_factor_is_none() -> None:
    X = draw_hard_labels(600, d=6)[0]
    rows = np.arange(600)
    ones = np.ones(600)
    blocks = KernelBlocks(RBF(2.0), X)
    found = factorise_pivoted(blocks, rows, ones, 1e-10, 150)
    assert found is not None
    assert not found.is_reached
    assert found.rank <= 150
    assert factorise_pivoted(blocks, rows, ones, 1e-10, 150, is_late=lambda: True) is None


# --- the distance, exactly --------------------------------------------------------------------------------------------


@for_each("scale", [1e-3, 1.0, 30.0])
@for_each("kernel", [RBF(0.25), RBF(1e-7), Polynomial(degree=2, gamma=0.5, coef0=1.0)])
def test_the_distance_is_bounded_from_above(kernel: Any, scale: float) -> None:
    """‖w − w(α)‖² in exact arithmetic, for pivots that are few, many, and twice the same sample."""
    rng = np.random.default_rng(3)
    X = scale * rng.normal(size=(18, 2))
    X[9] = X[2]
    space = FeatureSpace(kernel, X, "free", "raise")
    K = exact_gram(kernel, X)
    beta = 10.0 ** rng.integers(-3, 4) * rng.normal(size=18)
    for count in (1, 3, 9, 18):
        pivots = np.sort(rng.permutation(18)[:count])
        span = Span(space, beta, pivots)
        for coef in (span.nearest, span.nearest * (1.0 + 1e-7 * rng.normal(size=count)), rng.normal(size=count)):
            whole = np.zeros(18)
            whole[pivots] = coef
            delta = [a - b for a, b in zip(as_fractions(whole), as_fractions(beta), strict=True)]
            exact = math.sqrt(max(float(dot(delta, [dot(row, delta) for row in K])), 0.0))
            measured, radius = span.bound_distance(coef)
            assert radius >= 0.0
            assert exact <= (measured + radius) * (1.0 + 4.0 * EPS)


# --- certificates -----------------------------------------------------------------------------------------------------


def test_coefficients_over_few_samples_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span, "AFFORDABLE_VALUES", 0.0)  # as of many rows: w(α) itself is not looked at
    X, y = draw_hard_labels(900)
    problem = CSVM(X, y, kernel=RBF(0.5))
    result = qpsvm.solve(problem, "kernel_newton")
    factor = factorise_pivoted(KernelBlocks(RBF(0.5), X), np.arange(900), np.ones(900), 1e-13, 900)
    assert factor is not None
    coef = np.zeros(900)
    coef[factor.pivots] = Span(FeatureSpace(RBF(0.5), X, "free", "raise"), y * result.alpha, factor.pivots).nearest
    found = problem.certify(result.alpha, coef)
    assert found.sparse_coef is not None
    assert found.gap <= 1e-6
    worse = problem.certify(result.alpha, 1.1 * coef)
    assert worse.gap <= 1e-6  # those nearest to w(α) over the same samples are looked at too
    with pytest.raises(DataError, match="coefficients over the samples"):
        problem.certify(result.alpha, coef[:-1])
