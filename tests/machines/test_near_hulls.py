"""Classes whose hulls are as near as rounding: what is said of them is judged by a simplex in rational numbers."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm

SQUARED = qpsvm.Polynomial(2, gamma=1.0, coef0=1.0)


def has_common_point(rows, y):
    """Say whether u, v ≥ 0 with sums 1 and Σ u_i x_i = Σ v_j x_j exist: phase one of the simplex, with Bland's rule."""
    A = [[x if s else -x for x, s in zip(column, y, strict=True)] for column in zip(*rows, strict=True)]
    A += [[Fraction(int(s == side)) for s in y] for side in (1, 0)]
    m, n = len(A), len(y)
    right = [Fraction(0)] * (m - 2) + [Fraction(1)] * 2
    table = [[*row, r] for row, r in zip(A, right, strict=True)]
    cost = [-sum(column) for column in zip(*table, strict=True)]
    basis = [n + i for i in range(m)]
    while (enters := next((j for j in range(n) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[enters], basis[i], i) for i, row in enumerate(table) if row[enters] > 0]
        leaves = min(ratios)[2]
        table[leaves] = [v / table[leaves][enters] for v in table[leaves]]
        for i in range(m):
            if i != leaves and table[i][enters]:
                factor = table[i][enters]
                table[i] = [a - factor * b for a, b in zip(table[i], table[leaves], strict=True)]
        factor = cost[enters]
        cost = [a - factor * b for a, b in zip(cost, table[leaves], strict=True)]
        basis[leaves] = enters
    return cost[-1] == 0


def features(X, kernel):
    """Exact coordinates of the kernel's feature space, but for positive factors."""
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    if kernel == "linear":
        return rows
    return [[a * b for a, b in product([*row, Fraction(1)], repeat=2)] for row in rows]


def draw_near_hulls(rng):
    """Draw few samples, of which some nearly touch those of the other class; often far from the origin."""
    n = int(rng.integers(4, 8))
    d = int(rng.integers(1, 3))
    style = int(rng.integers(0, 4))
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    X = rng.standard_normal((n, d))
    if style == 0:
        X[:, 0] = np.where(y == 1, 1, -1) * (np.abs(X[:, 0]) + 10.0 ** rng.uniform(-10, -1))
    elif style == 1:
        X[:, 0] = np.where(y == 1, 10.0 ** rng.uniform(-12, -5), 0.0) * rng.choice([1.0, 2.0], n)
    elif style == 2:
        X = rng.integers(-2, 3, (n, d)).astype(float)
    else:
        X[1] = X[y == 0].mean(axis=0) * (1 + 10.0 ** rng.uniform(-14, -5))
    return X + 10.0 ** rng.uniform(0, 8) * rng.choice([0, 1]), y


def count_errors(make, count=25):
    """Count how often each error was raised, where what it says is true."""
    rng = np.random.default_rng(0)
    said = []
    for _ in range(count):
        problem, truth = make(rng)
        result = qpsvm.solve(problem, check=False)
        said.append(type(result.error))
        if isinstance(result.error, qpsvm.NotSeparableError):
            assert truth
            assert result.status == "infeasible"
            assert result.error.verify()
        elif isinstance(result.error, qpsvm.MarginNotFoundError):
            assert result.status == "numerical_error"
            assert not (truth and result.error.separable)
            assert not result.error.verify()
        else:
            assert not truth or result.status != "optimal"
    return said


@pytest.mark.parametrize(
    ("storage", "kernel"), [(np.asarray, "linear"), (sp.csr_array, "linear"), (np.asarray, SQUARED)]
)
def test_what_is_said_of_hulls_near_rounding_is_true(storage, kernel):
    def make(rng):
        X, y = draw_near_hulls(rng)
        return qpsvm.HardMargin(storage(X), y, kernel=kernel), has_common_point(features(X, kernel), y.tolist())

    said = count_errors(make)
    assert qpsvm.NotSeparableError in said
    assert kernel == "linear" or qpsvm.MarginNotFoundError in said


def test_a_gaussian_is_not_said_to_separate_nothing():
    """Features of different samples are independent."""

    def make(rng):
        X, y = draw_near_hulls(rng)
        shared = {*map(tuple, X[y == 1].tolist())} & {*map(tuple, X[y == 0].tolist())}
        return qpsvm.HardMargin(X, y, kernel=qpsvm.RBF(10.0 ** rng.uniform(-4, 1))), bool(shared)

    assert qpsvm.MarginNotFoundError in count_errors(make)


@pytest.mark.parametrize("n", [40, 3000])
def test_sparse_rows_far_from_the_origin_are_measured_from_their_mean(n):
    """As dense ones are: an offset takes no digits from the distance of the hulls."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 3))
    X[:, 0] = np.where(y == 1, 1.0, -1.0) * (np.abs(X[:, 0]) + 1e-3)
    found = [qpsvm.HardMargin(storage(X + 2.0**27), y).hulls() for storage in (np.asarray, sp.csr_array)]
    assert not any(hulls.meet for hulls in found)
    assert found[0].distance == pytest.approx(found[1].distance, rel=1e-3)


def test_an_error_that_is_no_claim_is_caught_as_what_it_is():
    X = np.random.default_rng(1).standard_normal((20, 2))
    problem = qpsvm.HardMargin(X, np.arange(20) % 2, kernel=qpsvm.RBF(1e-6))
    with pytest.raises(qpsvm.MarginNotFoundError, match="can be separated, but by a margin too narrow") as caught:
        qpsvm.solve(problem)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, qpsvm.SolverError)
    assert not isinstance(caught.value, qpsvm.NotSeparableError)
    assert caught.value.u.sum() == pytest.approx(1.0)
    assert caught.value.v.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [100, 400])
def test_where_reduced_hulls_meet_nothing_is_polished(n, monkeypatch):
    def refuse_polish(*_: object, **__: object) -> None:
        raise AssertionError("w(α) is rounding: there is nothing to polish")

    monkeypatch.setattr("qpsvm.machines.problem.certifier.polish", refuse_polish)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = rng.integers(2, size=n)
    result = qpsvm.solve(qpsvm.NuSVM(X, y, nu=0.2))
    assert result.status == "optimal"
    assert result.rho == 0.0
    assert not result.w.any()
