"""Regressions: symmetries, what ν and τ bound, equivalences, intervals, and ordinary inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

import qpsvm
from qpsvm import RBF, EpsilonSVR, NuSVR, QuantileSVR

RNG = np.random.default_rng(11)
N = 30
X = RNG.normal(size=(N, 3))
T = 2.0 * np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.4 * RNG.normal(size=N) + 3.0
WEIGHT = np.where(np.arange(N) % 7 == 0, 0.0, RNG.uniform(0.3, 2.0, N))
MACHINES: dict[str, Any] = {
    "absolute": lambda X, t, **k: EpsilonSVR(X, t, 2.0, 0.3, **k),
    "squared": lambda X, t, **k: EpsilonSVR(X, t, 2.0, 0.3, "squared", **k),
    "no tube": lambda X, t, **k: EpsilonSVR(X, t, 0.7, 0.0, **k),
    "wide tube": lambda X, t, **k: EpsilonSVR(X, t, 2.0, 50.0, **k),
    "nu": lambda X, t, **k: NuSVR(X, t, 2.0, 0.4, **k),
    "nu = 1": lambda X, t, **k: NuSVR(X, t, 2.0, 1.0, **k),
    "quantile": lambda X, t, **k: QuantileSVR(X, t, 2.0, 0.2, **k),
}
BACKENDS = ("auto", "interior_point", "cvxopt", "cvxpy", "osqp")


# --- what is always true ----------------------------------------------------------------------------------------------


@for_each("kernel", ["linear", RBF(0.4)])
@for_each("name", [name for name in MACHINES if name != "wide tube"])
def test_symmetries(name: str, kernel: Any) -> None:
    machine = MACHINES[name]
    result = qpsvm.solve(machine(X, T, kernel=kernel), tol=1e-10)
    moved = qpsvm.solve(machine(X, T + 100.0, kernel=kernel), tol=1e-10)
    np.testing.assert_allclose(moved.predict(X) - 100.0, result.predict(X), atol=1e-5)
    np.testing.assert_allclose(moved.b - 100.0, result.b, atol=1e-5)
    np.testing.assert_allclose(moved.coef, result.coef, atol=1e-4)
    twice = qpsvm.solve(machine(np.vstack([X, X[:5]]), np.concatenate([T, T[:5]]), kernel=kernel), tol=1e-10)
    weight = np.where(np.arange(N) < 5, 2.0, 1.0)
    weighted = qpsvm.solve(machine(X, T, kernel=kernel, sample_weight=weight), tol=1e-10)
    np.testing.assert_allclose(twice.predict(X), weighted.predict(X), atol=1e-5)
    absent = qpsvm.solve(machine(X, T, kernel=kernel, sample_weight=WEIGHT), tol=1e-10)
    kept = WEIGHT > 0
    left = qpsvm.solve(machine(X[kept], T[kept], kernel=kernel, sample_weight=WEIGHT[kept]), tol=1e-10)
    np.testing.assert_allclose(absent.predict(X), left.predict(X), atol=1e-5)


def test_what_nu_and_tau_bound() -> None:
    for nu in (0.1, 0.5, 0.9):
        result = qpsvm.solve(NuSVR(X, T, 5.0, nu, kernel=RBF(1.0), sample_weight=WEIGHT))
        missed = np.abs(T - result.predict(X))
        total = WEIGHT.sum()
        assert (
            WEIGHT[missed > result.epsilon + 1e-8].sum() <= nu * total <= WEIGHT[missed >= result.epsilon - 1e-8].sum()
        )
    fan = [qpsvm.solve(QuantileSVR(X, T, 5.0, tau, sample_weight=WEIGHT)) for tau in (0.1, 0.5, 0.9)]
    for tau, result in zip((0.1, 0.5, 0.9), fan, strict=True):
        left = T - result.predict(X)
        assert WEIGHT[left < -1e-8].sum() <= tau * WEIGHT.sum() <= WEIGHT[left <= 1e-8].sum()


def test_without_a_norm_a_quantile_svr_is_the_quantile_regression() -> None:
    free = QuantileRegressor(quantile=0.2, alpha=0.0, solver="highs").fit(X, T)
    loose = qpsvm.solve(QuantileSVR(X, T, 1e7, 0.2))  # so large a penalty that the norm hardly counts
    np.testing.assert_allclose(loose.w, free.coef_, atol=1e-4)


# --- equivalences -----------------------------------------------------------------------------------------------------


@for_each("kernel", ["linear", RBF(0.4)])
def test_nu_and_epsilon_are_two_ways_to_say_it(kernel: Any) -> None:
    problem = NuSVR(X, T, 2.0, 0.4, kernel=kernel, sample_weight=WEIGHT)
    result = qpsvm.solve(problem, tol=1e-10)
    twin = problem.equivalent_epsilon_svr(result)
    assert twin.epsilon == result.epsilon
    assert twin.at(result.alpha, tol=1e-6).status == "optimal"  # the α found is optimal there
    again = qpsvm.solve(twin, tol=1e-10)
    np.testing.assert_allclose(again.predict(X), result.predict(X), atol=1e-6)
    back = twin.equivalent_nu_svr(again)
    third = qpsvm.solve(back, tol=1e-10)
    np.testing.assert_allclose(third.predict(X), result.predict(X), atol=1e-5)
    low, high = third.intervals["epsilon"]
    assert low - 1e-6 <= result.epsilon <= high + 1e-6


def test_the_median_is_an_epsilon_svr_without_a_tube() -> None:
    for intercept in ("free", "penalised", None):
        median = QuantileSVR(X, T, 2.0, sample_weight=WEIGHT, intercept=intercept)
        twin = median.equivalent_epsilon_svr()
        result = qpsvm.solve(median)
        same = qpsvm.solve(twin)
        assert same.primal == pytest.approx(result.primal, rel=1e-6)
        np.testing.assert_allclose(same.predict(X), result.predict(X), atol=1e-5)
        assert twin.space is median.space


def test_equivalences_that_do_not_exist_say_so() -> None:
    with pytest.raises(qpsvm.ParameterError, match="only the median"):
        QuantileSVR(X, T, quantile=0.3).equivalent_epsilon_svr()
    wide = EpsilonSVR(X, T, epsilon=100.0)
    with pytest.raises(qpsvm.ParameterError, match="every α is 0"):
        wide.equivalent_nu_svr(qpsvm.solve(wide))
    for other in (EpsilonSVR(X, T, loss="squared"), EpsilonSVR(X, T, intercept=None)):
        with pytest.raises(qpsvm.ParameterError, match="a ν-SVR has the absolute loss"):
            other.equivalent_nu_svr(qpsvm.solve(other))
    with pytest.raises(qpsvm.DataError, match="rows"):
        wide.equivalent_nu_svr(qpsvm.solve(EpsilonSVR(X[:9], T[:9])))


# --- ordinary inputs --------------------------------------------------------------------------------------------------


@for_each("backend", BACKENDS)
def test_targets_that_one_number_fits_have_the_optimum_zero(backend: str) -> None:
    """The optimal value is 0, and no gap is relative to that: the point itself is the proof."""
    same = np.full(N, 3.7)
    for machine in MACHINES.values():
        result = qpsvm.solve(machine(X, same), backend)
        assert (result.status, result.primal, result.dual, result.gap) == ("optimal", 0.0, 0.0, 0.0)
        assert not result.w.any()
        assert result.b_interval[0] <= 3.7 <= result.b_interval[1]
    wide = qpsvm.solve(EpsilonSVR(X, T, 2.0, 50.0), backend)
    assert not wide.alpha.any()
    np.testing.assert_allclose(wide.b_interval, [T.max() - 50.0, T.min() + 50.0])
    assert set(wide.kind) == {0}


@for_each("name", MACHINES)
def test_one_sample_and_two(name: str) -> None:
    for n in (1, 2):
        result = qpsvm.solve(MACHINES[name](X[:n], T[:n]))
        assert result.status == "optimal"
        assert result.predict(X[:n]).shape == (n,)


@for_each("nu", [1e-12, 1e-6, 1.0])
def test_nu_at_the_ends_of_its_range(nu: float) -> None:
    for kernel in ("linear", RBF(0.4)):
        for backend in ("interior_point", "cvxopt", "cvxpy"):
            result = qpsvm.solve(NuSVR(X, T, 2.0, nu, kernel=kernel), backend)
            assert result.status == "optimal"
            assert result.epsilon >= 0.0
    if nu == 1e-12:
        assert result.epsilon == pytest.approx(np.ptp(T) / 2, rel=1e-6)


@for_each("name", MACHINES)
def test_samples_as_they_may_come(name: str) -> None:
    machine = MACHINES[name]
    result = qpsvm.solve(machine(X, T), tol=1e-9)
    sparse = qpsvm.solve(machine(sp.csr_array(X), T), tol=1e-9)
    np.testing.assert_allclose(sparse.predict(X), result.predict(X), atol=1e-5)
    made = qpsvm.solve(machine(X @ X.T, T, kernel=qpsvm.Precomputed()), tol=1e-9)
    np.testing.assert_allclose(made.decision_function(X @ X.T), result.predict(X), atol=1e-5)
    spoilt = np.hstack([X, np.ones((N, 1)), X[:, :1]])  # a constant column, and one twice
    assert qpsvm.solve(machine(np.vstack([spoilt, spoilt]), np.tile(T, 2))).status == "optimal"
    assert qpsvm.solve(machine(np.zeros((N, 2)), T)).status == "optimal"
    for kernel in (qpsvm.Polynomial(2, 0.5, 1.0), RBF(3.0), lambda A, B: A @ B.T):
        assert qpsvm.solve(machine(X, T, kernel=kernel)).status == "optimal"


@for_each("scale", [1e-8, 1e8])
@for_each("backend", BACKENDS)
def test_targets_of_any_size(scale: float, backend: str) -> None:
    for problem in (
        EpsilonSVR(X, scale * T, 2.0 * scale, 0.3 * scale), EpsilonSVR(X, scale * T, 2.0, 0.3 * scale, "squared"),
        NuSVR(X, scale * T, 2.0 * scale, 0.4), QuantileSVR(X, scale * T, 2.0 * scale, 0.2),
    ):  # fmt: skip
        assert qpsvm.solve(problem, backend).status == "optimal"


# --- intervals --------------------------------------------------------------------------------------------------------


def test_intervals_are_what_a_linear_program_finds() -> None:
    """All b (and ε) of the optimal value at the optimal w: the least and the largest by an LP."""
    t = np.array([0.0, 0.0, 1.0, 1.0])
    Z = np.array([[0.0], [0.0], [0.0], [0.0]])
    result = qpsvm.solve(QuantileSVR(Z, t, 1.0, 0.5))
    np.testing.assert_allclose(result.b_interval, [0.0, 1.0], atol=1e-9)
    result = qpsvm.solve(NuSVR(Z, t, 1.0, 0.5))  # each edge may be anywhere between 0 and 1 on its own side
    for name, (low, high) in {"b": result.b_interval, **result.intervals}.items():
        least, most = _ends(Z @ result.w, t, 0.5, name)
        assert low <= least + 1e-8
        assert high >= most - 1e-8


def _ends(u: Any, t: Any, nu: float, name: str) -> tuple[float, float]:
    """The least and largest b or ε among the minimisers of ν n ε + Σ max(0, |t − u − b| − ε), by two LPs each."""
    n = len(t)
    cost = np.concatenate([[0.0, nu * n], np.ones(2 * n)])  # b, ε, ξ, ξ*
    one = np.ones((n, 1))
    A = np.vstack(
        [np.hstack([-one, -one, -np.eye(n), 0 * np.eye(n)]), np.hstack([one, -one, 0 * np.eye(n), -np.eye(n)])]
    )
    bounds = [(None, None), *[(0, None)] * (2 * n + 1)]
    limit = np.concatenate([-(t - u), t - u])
    best = linprog(cost, A, limit, bounds=bounds).fun
    ends = []
    for sign in (1.0, -1.0):
        wanted = np.zeros(2 + 2 * n)
        wanted[0 if name == "b" else 1] = sign
        found = linprog(wanted, np.vstack([A, cost]), np.append(limit, best + 1e-12), bounds=bounds)
        ends.append(sign * found.fun)
    return ends[0], ends[1]


# --- results ----------------------------------------------------------------------------------------------------------


def test_results_start_neighbours_are_saved_and_summed_up(tmp_path: Any) -> None:
    for machine in MACHINES.values():
        problem = machine(X, T, kernel=RBF(0.4), sample_weight=WEIGHT)
        result = qpsvm.solve(problem)
        again = qpsvm.solve(problem.replace(C=2.2), start=result)
        assert again.status == "optimal"
        result.save(tmp_path / "model.npz")
        np.testing.assert_array_equal(qpsvm.load(tmp_path / "model.npz").predict(X), result.predict(X))
        assert "intercept" in result.summary()
        table = result.kkt
        assert (table["alpha_above"] * table["alpha_below"] == 0.0).all() or "ν-SVR" in result.title
        assert table["gap"].sum() <= result.primal - result.dual + 1e-6 * (1 + abs(result.primal))
        absent = np.flatnonzero(WEIGHT == 0)
        assert not result.coef[absent].any()
        np.testing.assert_allclose(table["f"][absent], result.predict(X[absent]), atol=1e-9)
