"""The bound on rounding: kernel values in long doubles, points taken over, and numbers at the ends of the range."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from hostile import draw_hostile_problem
from judge import exact_gram, find_faults, judge

import qpsvm
from qpsvm import RBF, Linear, Polynomial, Precomputed
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.proof.kernels.points import build_space_of_samples
from qpsvm.bounds.sharp_rows import SharpRows
from qpsvm.space.kernels import kernel_blocks
from qpsvm.space.kernels.space import FeatureSpace

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def samples(scale: float = 1.0, n: int = 14) -> tuple[Any, Any]:
    """Two classes that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return X * scale, np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


def twins(scale: float) -> tuple[Any, Any]:
    """Pairs of near samples, far from all others."""
    X = np.random.default_rng(1).standard_normal((6, 2)) * scale
    return np.vstack([X, X + 0.5]), np.repeat([1.0, -1.0], 6)


def machines(X: Any, y: Any, kernel: Any, names: Any = ("c", "nu", "hinge", "hard"), C: float = 1.0) -> Any:
    """The machines of two classes whose loss is a hinge, and the hard margin."""
    made = {
        "c": lambda: qpsvm.CSVM(X, y, C, kernel), "nu": lambda: qpsvm.NuSVM(X, y, 0.5, kernel),
        "hinge": lambda: qpsvm.PrimalHinge(X, y, 0.1, kernel), "hard": lambda: qpsvm.HardMargin(X, y, kernel),
    }  # fmt: skip
    return [made[name]() for name in names]


KERNELS = [
    RBF(0.7), RBF(1e-12), RBF(1e3), Polynomial(1, 0.3, 1.0), Polynomial(3, 2.0, 0.0), Polynomial(9, 1e-3, 1.0),
]  # fmt: skip


@for_each("scale", [1.0, 1e3, 1e6, 1e9, 1e150])
def test_epsilon_bounds_the_kernel_values_that_are_computed_with(scale):
    X = twins(scale)[0]
    space = FeatureSpace(RBF(1.0), X, "free", "raise")
    epsilon = Accuracy(space).epsilon
    K = space.gram.dense()
    true = exact_gram(RBF(1.0), X)
    assert epsilon <= 1.0
    worst = max(abs(Fraction(float(K[i, j])) - true[i][j]) for i in range(len(X)) for j in range(len(X)))
    assert worst <= Fraction(epsilon)


@for_each("gamma", [3.0, 8.0, 30.0, 1e6])
def test_raised_exponents_are_within_epsilon(gamma):
    """Where all values but the diagonal are far below e⁻⁴⁰, and where some are just above."""
    X, y = samples(2.0)
    space = FeatureSpace(RBF(gamma), X, "free", "raise")
    K = space.gram.dense()
    true = exact_gram(RBF(gamma), X)
    epsilon = Accuracy(space).epsilon
    low = [(i, j) for i in range(len(X)) for j in range(len(X)) if true[i][j] < Fraction(1, 10**20)]
    assert low
    assert all(K[i, j] > 4e-18 for i, j in low)
    assert all(abs(Fraction(float(K[i, j])) - true[i][j]) <= Fraction(epsilon) for i, j in low)
    for problem in machines(X, y, RBF(gamma), ("c", "nu", "hard"), C=1e6):
        result = qpsvm.solve(problem)
        assert result.status == "optimal"
        assert not find_faults(problem, result, 1e-6)


def test_epsilon_counts_the_columns_that_sparse_samples_get_when_they_are_centred(monkeypatch):
    """Rows of one number each: the squares of 700 means are each lost beside 1, all one way."""
    monkeypatch.setattr(kernel_blocks, "NONZERO_COST", 1e9)  # stored densely all the same
    ones = np.repeat([1.0, -1.0], 5)
    columns = 700
    rows = np.concatenate([np.arange(10), 20 + np.arange(columns)])
    X = sp.csr_array(
        (np.concatenate([ones, np.full(columns, 1e-5)]), (rows, np.append([0] * 10, np.arange(columns) + 1))),
        shape=(1000, columns + 1),
    )
    space = FeatureSpace(RBF(0.5), X, "free", "raise")
    assert space.gram.blocks.is_fast
    near = np.arange(10)
    true = np.exp(-0.5 * (ones[:, None] - ones).astype(np.longdouble) ** 2)
    off = np.abs(space.gram.block(near, near) - true)
    assert off.max() <= Accuracy(space).epsilon


def assert_within_radii(X: Any, values: Any, beta: Any, points: Any) -> None:
    """The sums Σ_j β_j K_ij of the Gaussian kernel at some points are within their radii of the exact ones."""
    true = exact_gram(RBF(1.0), X)
    for i, u, radius in zip(points, values.high, values.radius, strict=True):
        exact = sum(Fraction(float(b)) * value for b, value in zip(beta, true[i], strict=True))
        assert radius == np.inf or abs(Fraction(float(u)) - exact) <= Fraction(float(radius)) + Fraction(1, 1 << 190)


@for_each("form", [np.asarray, sp.csr_array])
@for_each("scale", [0.3, 1.0, 30.0, 1e3, 1e6, 1e9])
def test_kernel_values_of_a_proof_are_within_their_radii(scale, form):
    """Near pairs that are far from all others; and the radii are much smaller than those known beforehand."""
    X, _ = twins(scale)
    X[::2] += 1e-3 * np.random.default_rng(5).standard_normal((6, 2))
    beta = np.random.default_rng(3).standard_normal(len(X)) * 10.0 ** np.arange(-6, 6)
    some = np.arange(len(X))[::3]
    values = build_space_of_samples(RBF(1.0), form(X)).evaluate_kernel(beta, some)
    assert_within_radii(X, values, beta, some)
    if 1.0 < scale < 1e9 and form is np.asarray:
        space = FeatureSpace(RBF(1.0), X, "free", "raise")
        assert np.median(values.radius) < 0.1 * Accuracy(space).compute_radius_factor(beta, None)


def test_kernel_values_near_one_are_within_their_radii():
    """Their exponents are as good as exact, and the values are rounded all the same, as are the sums."""
    X, _ = samples(1e-5)
    beta = np.random.default_rng(3).standard_normal(len(X))
    every = np.arange(len(X))
    assert_within_radii(X, build_space_of_samples(RBF(1.0), X).evaluate_kernel(beta, every), beta, every)


def test_nearly_all_values_zero_is_certified_without_twice_the_precision(monkeypatch):
    """Raw samples whose rows are far from each other: a-priori, rounding was bounded by Σ|β| for every row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [3e3, 2e4, 1e3]
    problem = qpsvm.CSVM(X, np.where(X[:, 0] + 1e3 * rng.standard_normal(300) > 0, 1.0, -1.0), 1e3, RBF(0.05))
    monkeypatch.setattr(SharpRows, "evaluate", lambda *_: pytest.fail("evaluated again"))
    result = qpsvm.solve(problem, tol=1e-8, polish=False)
    assert result.status == "optimal"
    assert not find_faults(problem, result, 1e-8)


def test_a_power_below_one_has_no_slope_at_zero():
    X = np.array([[1.0, 1.0], [1.0, -1.0 + 2.0**-52]]) / 3.0
    space = FeatureSpace(Polynomial(0.5, 1.0, 0.0), X, "free", "raise")
    assert Accuracy(space).epsilon >= 2.0**-27


@for_each("backend", ["osqp", "cvxpy"])
@for_each("form", ["dual", "primal"])
def test_hulls_that_meet_are_seen_from_an_alpha_nearby(backend, form):
    """The solver's w(α) is a few roundings too large, that of the nearest α is not: once inaccurate, gap 2e16."""
    X = [[0, 0], [0, 0], [-2, 0], [0, -1], [0, 0], [3.75, -0.1875], [-2, 1], [1, 1], [0.5, 0], [0, -1]]
    y = np.array([1.0, -1, -1, -1, 1, 1, 1, 1, -1, -1])
    result = qpsvm.solve(qpsvm.NuSVM(X, y, 0.001), backend, form)
    assert result.status == "optimal"
    assert result.rho == 0
    assert abs(y @ result.alpha) <= 1e-15
    assert result.alpha.sum() == pytest.approx(0.001, rel=1e-12)


@pytest.mark.slow
@for_each("scale", [1e150, 1e100, 1e-100, 1e-150])
@for_each("kernel", [Linear(), RBF(1.0)])
def test_no_scale_breaks_the_bound(scale, kernel):
    for problem in machines(*samples(scale), kernel):
        assert not find_faults(problem, qpsvm.solve(problem, check=False), 1e-6)


@for_each("intercept", ["free", "penalised", None])
def test_values_that_underflow_are_not_called_exact(intercept):
    X, y = samples()
    weight = 10.0 ** np.random.default_rng(1).uniform(-8, 8, len(y))
    problem = qpsvm.PrimalHinge(X, y, 1e280, intercept=intercept, sample_weight=weight)
    assert not find_faults(problem, qpsvm.solve(problem, check=False), 1e-6)


@for_each("C", [1.0, 1e4, 1e8])
def test_twins_far_out_are_judged_rightly(C):
    X, y = twins(1e7)
    problem = qpsvm.CSVM(X, y, C, RBF(1.0))
    assert not find_faults(problem, qpsvm.solve(problem, check=False), 1e-6)


def test_objective_values_of_huge_multipliers_are_those_of_rationals():
    """½‖w‖² of kernel values in doubles is wrong from the eighth digit on, the gap is not."""
    problem, options = draw_hostile_problem(254_586)
    result = qpsvm.solve(problem, **options)
    assert result.alpha.max() > 1e8
    verdict = judge(problem, result)
    assert result.primal == pytest.approx(float(verdict.primal), rel=1e-12)
    assert result.dual == pytest.approx(float(verdict.dual), rel=1e-11)


def test_a_matrix_is_taken_at_its_word():
    X, y = samples()
    K = X @ X.T
    problem = qpsvm.CSVM((K + K.T) / 2, y, 1e3, Precomputed())
    assert not find_faults(problem, qpsvm.solve(problem), 1e-6)
