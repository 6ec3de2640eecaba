"""A pivoted factor of a kernel matrix, the linear machine over its rows, and the certificate from the pivots alone."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dyadic import Dyadic
from exact import faults
from exact_space import gram
from proof import Task

import qpsvm
from qpsvm import CSVM, RBF, Polynomial
from qpsvm.backends.own.kernel_newton_ import over_factor
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.bounds import points
from qpsvm.bounds import points as spanned
from qpsvm.bounds.points import Span
from qpsvm.solvers.kernel import low_rank
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.portfolio import solve_kernel
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.pivoted_cholesky import pivoted_factor
from qpsvm.space.kernels.space import FeatureSpace

EPS = float(np.finfo(float).eps)


def hardly_told(n: int, seed: int = 0, d: int = 2) -> tuple[Any, Any]:
    """Labels that two features hardly tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(rng.random(n) < 0.3 + 0.2 * np.tanh(X[:, 0]), 1.0, -1.0)


@pytest.fixture
def any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """The road over few samples, taken for a handful of them too."""
    monkeypatch.setattr(spanned, "MOST_SHARE", math.inf)


# --- the factor -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(0.5), RBF(30.0), Polynomial(degree=3, gamma=0.5, coef0=1.0)])
def test_the_factor_leaves_a_rest_that_is_positive_semidefinite(kernel: Any) -> None:
    X = hardly_told(250)[0]
    blocks = KernelBlocks(kernel, X)
    K = blocks.all().copy()
    found = pivoted_factor(KernelBlocks(kernel, X), np.arange(250), np.ones(250), 1e-8, 250)
    assert found is not None
    assert found.reached
    left, largest = K - found.L @ found.L.T, float(K.diagonal().max())
    assert np.abs(left.diagonal() - found.rest).max() <= 1e-13 * largest
    assert np.linalg.eigvalsh(left).min() >= -1e-12 * largest
    assert np.abs(left[found.pivots]).max() <= 1e-12 * largest
    assert len(np.unique(found.pivots)) == found.rank
    assert np.sqrt(found.rest).mean() ** 2 <= 1e-8 * largest


def test_a_polynomial_of_few_features_has_the_rank_of_its_monomials() -> None:
    X = hardly_told(400)[0]
    found = pivoted_factor(
        KernelBlocks(Polynomial(degree=2, gamma=1.0, coef0=1.0), X), np.arange(400), np.ones(400), 1e-13, 400
    )
    assert found is not None
    assert found.reached
    assert found.rank == 6  # 1, x, z, x², xz, z²


def test_equal_rows_are_one_pivot() -> None:
    X = np.repeat([[0.0], [1.0], [5.0]], 40, axis=0)
    found = pivoted_factor(KernelBlocks(RBF(1.0), X), np.arange(120), np.ones(120), 1e-12, 120)
    assert found is not None
    assert found.reached
    assert found.rank == 3


def test_a_rank_that_is_too_high_is_given_up_and_a_late_factor_is_none() -> None:
    X = hardly_told(600, d=6)[0]
    rows, ones, blocks = np.arange(600), np.ones(600), KernelBlocks(RBF(2.0), X)
    found = pivoted_factor(blocks, rows, ones, 1e-10, 150)
    assert found is not None
    assert not found.reached
    assert found.rank <= 150
    assert pivoted_factor(blocks, rows, ones, 1e-10, 150, late=lambda: True) is None


# --- the distance, exactly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("kernel", [RBF(0.25), RBF(1e-7), Polynomial(degree=2, gamma=0.5, coef0=1.0)])
def test_the_distance_is_bounded_from_above(kernel: Any, scale: float) -> None:
    """‖w − w(α)‖² in exact arithmetic, for pivots that are few, many, and twice the same sample."""
    rng = np.random.default_rng(3)
    X = scale * rng.normal(size=(18, 2))
    X[9] = X[2]
    space = FeatureSpace(kernel, X, "free", "raise")
    K = gram(kernel, Dyadic.of(X))
    beta = 10.0 ** rng.integers(-3, 4) * rng.normal(size=18)
    for count in (1, 3, 9, 18):
        pivots = np.sort(rng.permutation(18)[:count])
        span = Span(space, beta, pivots)
        for coef in (span.nearest, span.nearest * (1.0 + 1e-7 * rng.normal(size=count)), rng.normal(size=count)):
            whole = np.zeros(18)
            whole[pivots] = coef
            delta = Dyadic.of(whole) - Dyadic.of(beta)
            exact = math.sqrt(max(float((delta @ (K @ delta)).fraction()), 0.0))
            measured, radius = span.distance(coef)
            assert radius >= 0.0
            assert exact <= (measured + radius) * (1.0 + 4.0 * EPS)


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("any_share")
@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize(
    ("kernel", "C"),
    [(RBF(0.5), 1.0), (RBF(1e-6), 1e4), (RBF(1e3), 1.0), (Polynomial(degree=2, gamma=0.3, coef0=1.0), 10.0)],
)
def test_claims_hold_exactly(kernel: Any, C: float, polish: bool) -> None:
    for n in (2, 5, 40):
        X, y = hardly_told(n, seed=n)
        y[:2] = -1.0, 1.0
        X[-1] = X[0]
        task = Task(X, y, kernel=kernel, C=C)
        result = task.solve("kernel_newton", engine="low_rank", polish=polish)
        assert faults(task, result) == [], n


def test_a_result_over_few_samples_is_a_result_like_any_other(tmp_path: Path) -> None:
    X, y = hardly_told(1800)
    problem = CSVM(X, y, kernel=RBF(0.5))
    result = qpsvm.solve(problem, "kernel_newton", engine="low_rank")
    other = qpsvm.solve(problem, "kernel_newton", engine="gram")
    assert result.status == "optimal"
    assert "low_rank" in result.solver.status
    assert f"f rests on {len(result.model.coef)} of the samples" in result.message
    assert len(result.model.coef) < 0.5 * len(result.support)
    assert result.dual <= other.primal * (1.0 + 1e-12)
    assert other.dual <= result.primal * (1.0 + 1e-12)
    f = problem.kernel(X, result.model.vectors) @ result.model.coef + result.b
    assert np.abs(y * f - result.yf).max() <= 1e-9
    assert abs(result.terms.sum()) <= result.primal - result.dual + 1e-12 * result.primal
    result.save(tmp_path / "model.npz")
    assert (qpsvm.load(tmp_path / "model.npz").decision_function(X) == result.decision_function(X)).all()
    again = qpsvm.solve(CSVM(X, y, C=2.0, kernel=RBF(0.5)), "kernel_newton", start=result)
    assert again.status == "optimal"


def test_coefficients_over_few_samples_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "AFFORDABLE_VALUES", 0.0)  # as of many rows: w(α) itself is not looked at
    X, y = hardly_told(900)
    problem = CSVM(X, y, kernel=RBF(0.5))
    result = qpsvm.solve(problem, "kernel_newton", engine="low_rank", polish=False)
    vectors = {tuple(row): place for place, row in enumerate(X.tolist())}
    coef = np.zeros(900)
    coef[[vectors[tuple(row)] for row in result.model.vectors.tolist()]] = result.model.coef
    found = problem.certify(result.alpha, coef)
    assert found.explicit is not None
    assert found.gap <= 1.01 * result.gap
    worse = problem.certify(result.alpha, 1.1 * coef)
    assert worse.gap <= 1e-6  # those nearest to w(α) over the same samples are looked at too
    with pytest.raises(DataError, match="coefficients over the samples"):
        problem.certify(result.alpha, coef[:-1])


def test_weights_of_samples_and_ties_and_dear_rows() -> None:
    X, y = hardly_told(900)
    X = np.round(X, 1)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 900)
    weight[::17] = 0.0
    result = qpsvm.solve(
        CSVM(X, y, C=5.0, kernel=RBF(0.5), sample_weight=weight), "kernel_newton", engine="low_rank", check=False
    )
    assert result.status == "optimal"
    assert (result.alpha[weight == 0.0] == 0.0).all()


def test_without_a_linear_solver_it_is_refused_or_left_out() -> None:
    X, y = hardly_told(60)
    problem = KernelDual.of_hinges(y, np.ones(60))
    with pytest.raises(ParameterError, match="linear solver"):
        solve_kernel(KernelBlocks(RBF(1.0), X), problem, engine="low_rank")
    assert solve_kernel(KernelBlocks(RBF(1.0), X), problem).reason == "converged"


# --- when it is chosen ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_is_not_chosen_where_few_rows_support_or_there_are_many_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    told = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
    Z, y = hardly_told(2500, d=12)
    for problem in (CSVM(X, told, kernel=RBF(0.5)), CSVM(Z, y, kernel=RBF(0.1))):
        result = qpsvm.solve(problem, check=False, time_limit=60)
        assert "low_rank" not in result.solver.status


def test_it_takes_over_where_newton_steps_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """More free rows than the rank: the other engines are stopped from getting anywhere."""
    from qpsvm.solvers.kernel.engines import Engines

    monkeypatch.setattr(Engines, "_small", lambda _: None)
    X, y = hardly_told(500)
    problem = KernelDual.of_hinges(y, np.full(500, 1.0))
    engines = Engines(KernelBlocks(RBF(0.02), X), problem, 1e-6, Effort(), over_factor)
    alpha = np.where(np.arange(500) % 2 == 0, 0.5, 0.0)
    engines._best, engines.used = problem.point(problem.balanced(y * alpha), np.zeros(500)), "gram"
    engines.run("auto", None)
    assert engines.used == "low_rank"
    assert engines.best.gap <= 1e-6
    assert engines.coef is not None


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_time_limit_ends_in_a_certified_point() -> None:
    X, y = hardly_told(20_000)
    began = time.process_time()
    result = qpsvm.solve(CSVM(X, y, kernel=RBF(0.5)), "kernel_newton", engine="low_rank", time_limit=0.3, check=False)
    assert time.process_time() - began < 30.0  # a loaded machine; alone it is a second
    assert np.isfinite(result.gap)
    assert result.dual <= result.primal


@pytest.mark.slow
def test_it_stops_where_the_user_interrupts() -> None:
    """The clock is asked before every block of columns, and by the linear solver."""
    X, y = hardly_told(4000)
    effort = Effort()
    asked = threading.Event()
    effort.late = lambda: asked.is_set() or bool(asked.set())  # type: ignore[method-assign]
    problem = KernelDual.of_hinges(y, np.full(4000, 1.0))
    blocks = KernelBlocks(RBF(0.5), X)
    assert low_rank.low_rank_point(blocks, problem, 1e-6, problem.weight, over_factor, effort) is None
