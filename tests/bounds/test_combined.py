"""Rows that are combinations of samples, in twice the precision, against rational numbers; and rankings far away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from judge import judge_dual
from stated_machines import draw_stated_pairs, examine_stated_seed

import qpsvm
from qpsvm.base.arrays.double_double import sum_columns_to_pairs
from qpsvm.bounds.sharp_rows import SharpRows, combine_beta


@for_each("seed", range(6))
def test_column_sums_are_what_rational_numbers_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 6)), int(rng.integers(0, 60))
    columns = rng.integers(0, n, k)
    values = rng.normal(size=k) * 10.0 ** rng.uniform(-20, 20, k)
    if seed % 2 and k:
        values = np.concatenate([values, -values * (1 + 1e-15)])
        columns = np.concatenate([columns, columns])
    high, low, radii = sum_columns_to_pairs(columns, values, n)
    for j in range(n):
        exact = sum((Fraction(v) for v in values[columns == j]), Fraction(0))
        assert abs(exact - Fraction(high[j]) - Fraction(low[j])) <= Fraction(radii[j])
        assert radii[j] <= 1e-28 * np.abs(values).max(initial=0.0) * k


@for_each("kernel", [qpsvm.Linear(), qpsvm.Polynomial(2, 0.1, 1.0)])
@for_each("offset", [0.0, 1e7])
def test_values_and_coefficients_are_what_rational_numbers_say(kernel: qpsvm.Kernel, offset: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2)) + (offset if kernel == qpsvm.Linear() else 0.0)
    problem = qpsvm.Ranking(X, rng.integers(0, 3, 6), kernel=kernel)
    svm = problem.svm
    m = len(problem.pairs)
    alpha = rng.uniform(0, 1e6, m)
    w = rng.normal(size=2)
    high, low, radii = combine_beta(svm, alpha)
    beta = [Fraction(0)] * 6
    for a, (i, j) in zip(alpha, problem.pairs, strict=True):
        beta[i] += Fraction(a)
        beta[j] -= Fraction(a)
    assert all(abs(b - Fraction(h) - Fraction(o)) <= r for b, h, o, r in zip(beta, high, low, radii, strict=True))

    linear = problem.space.is_linear
    rows, levels = np.arange(m)[::2], np.ones(m)[::2]
    found = SharpRows(problem.space, svm).evaluate(rows, high, w if linear else None, 0.0, levels)
    assert found is not None
    K = [[sum((Fraction(a) * Fraction(b) for a, b in zip(x, z, strict=True)), Fraction(0)) for z in X] for x in X]
    if linear:
        f = [sum((Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True)), Fraction(0)) for x in X]
    else:
        power = [[(Fraction(0.1) * value + 1) ** 2 for value in row] for row in K]
        f = [sum((k * Fraction(c) for k, c in zip(row, high, strict=True)), Fraction(0)) for row in power]
    for k, value, radius in zip(rows, *found, strict=True):
        i, j = problem.pairs[k]
        exact = f[i] - f[j] - 1
        assert abs(exact - Fraction(value)) <= Fraction(radius)
        assert radius <= 1e-12 * max(abs(float(exact)), 1.0)


def test_rows_of_many_samples_have_an_evaluation_too() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 3)) * 1e5
    w = rng.normal(size=3)
    problem = qpsvm.Ranking(X, np.arange(8))
    A = sp.csr_array(np.where(rng.random((4, 8)) < 0.6, rng.normal(size=(4, 8)), 0.0))
    A = sp.csr_array(sp.vstack([A, sp.csr_array((1, 8))]))  # and a row of none
    svm = problem.svm
    mixed = type(svm)(svm.gram, *(v[:5] for v in (svm.sign, svm.level, svm.upper, svm.curvature)), mix=A)
    found = SharpRows(problem.space, mixed).evaluate(np.array([4, 0, 3]), np.zeros(8), w, 0.25, np.zeros(3))
    assert found is not None
    f = [sum((Fraction(a) * Fraction(b) for a, b in zip(x, w, strict=True)), Fraction(0)) for x in X]
    for k, value, radius in zip((4, 0, 3), *found, strict=True):
        exact = sum((Fraction(a) * g for a, g in zip(A.toarray()[k], f, strict=True)), Fraction(1, 4))
        assert abs(exact - Fraction(value)) <= Fraction(radius) <= Fraction(1, 10**12) * max(abs(exact), 1)


@for_each("C", [1.0, 1e3, 1e6])
@for_each("offset", [0.0, 1e4, 1e8])
def test_a_ranking_far_from_the_origin_is_certified_as_one_near_it(C: float, offset: float) -> None:
    """Pairs are differences: that both samples are far away is no loss of digits but that of X itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.round(X @ [1.0, 2.0, -1.0] + rng.normal(0.0, 0.3, 40))
    problem = qpsvm.Ranking(X + offset, y, C=C)
    result = qpsvm.solve(problem, tol=1e-7, check=False)
    assert result.status == "optimal", result.gap
    small = qpsvm.Ranking(X + offset, pairs=problem.pairs[::20], C=C)
    found = qpsvm.solve(small, check=False)
    assert judge_dual(small.svm, small.X, found).gap <= found.gap * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_what_is_claimed_of_pairs_is_true(seed: int) -> None:
    for each in range(seed, seed + 10):
        assert examine_stated_seed(each, draw_stated_pairs) == [], each
