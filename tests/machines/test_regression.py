"""Regressions against the textbook's primal in CVXPY, scikit-learn, and what has to be true of them."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy
import numpy as np
import pytest
import scipy.sparse as sp
from primal import build_primal
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVR, LinearSVR
from sklearn.svm import NuSVR as PeerNuSVR

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
WITH_INTERCEPTS = [name for name in MACHINES if not name.startswith("nu")]
BACKENDS = ("auto", "interior_point", "cvxopt", "cvxpy", "osqp")


def textbook(problem: Any, K: Any = None) -> float:
    """The optimal value of the primal as a textbook writes it, over w, or over the coordinates of K = LLᵀ."""
    Z, t, C = problem.X, problem.t, problem.C * problem.sample_weight
    if K is not None:
        values, vectors = np.linalg.eigh(K)
        Z = vectors * np.sqrt(np.maximum(values, 0.0))
    w, b, width = cvxpy.Variable(Z.shape[1]), cvxpy.Variable(), cvxpy.Variable(nonneg=True)
    xi, star = cvxpy.Variable(len(t), nonneg=True), cvxpy.Variable(len(t), nonneg=True)
    f = Z @ w + (0.0 if problem.intercept is None else b)
    value = 0.5 * cvxpy.sum_squares(w) + (0.5 * cvxpy.square(b) if problem.intercept == "penalised" else 0.0)
    epsilon: Any = getattr(problem, "epsilon", 0.0)
    if isinstance(problem, NuSVR):
        epsilon, value = width, value + problem.nu * C.sum() * width + C @ (xi + star)
    elif isinstance(problem, QuantileSVR):
        value += problem.quantile * (C @ xi) + (1.0 - problem.quantile) * (C @ star)
    elif problem.loss == "squared":
        value += C @ (cvxpy.square(xi) + cvxpy.square(star))
    else:
        value += C @ (xi + star)
    primal = cvxpy.Problem(cvxpy.Minimize(value), [t - f <= epsilon + xi, f - t <= epsilon + star])
    return float(primal.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")  # of the textbook's, to 1e-11
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", MACHINES)
def test_the_optimum_is_that_of_the_textbook(name: str, kernel: str, weight: Any) -> None:
    problem = MACHINES[name](X, T, kernel=RBF(0.4) if kernel == "rbf" else "linear", sample_weight=weight)
    expected = textbook(problem, None if kernel == "linear" else RBF(0.4)(X, X))
    result = qpsvm.solve(problem, tol=1e-9)
    assert result.dual - 1e-6 * (1 + abs(expected)) <= expected <= result.primal + 1e-6 * (1 + abs(expected))
    assert result.gap <= 1e-9


@pytest.mark.parametrize("intercept", ["penalised", None])
@pytest.mark.parametrize("name", WITH_INTERCEPTS)
def test_other_intercepts_have_the_optimum_of_the_textbook(name: str, intercept: Any) -> None:
    problem = MACHINES[name](X, T, intercept=intercept)
    assert qpsvm.solve(problem, tol=1e-9).primal == pytest.approx(textbook(problem), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", MACHINES)
def test_the_primal_is_the_one_that_follows_from_the_dual(name: str) -> None:
    for intercept in ("free", "penalised", None) if name in WITH_INTERCEPTS else ("free",):
        options = {} if intercept == "free" else {"intercept": intercept}
        problem = MACHINES[name](X, T, sample_weight=WEIGHT, **options)
        ours, svm = (
            problem.qp("primal"),
            problem._build_dual(problem.space.centred_gram, problem.space.computed_intercept),
        )
        generic = build_primal(svm, problem.space.textbook_coordinates)
        np.testing.assert_allclose(ours.P.dense(), generic.P.dense(), rtol=1e-14)
        np.testing.assert_allclose(ours.q, generic.q, rtol=1e-14)
        np.testing.assert_array_equal(ours.G.toarray(), generic.G.toarray())
        np.testing.assert_array_equal(ours.h, generic.h)
        np.testing.assert_array_equal(ours.lb, generic.lb)
        assert list(ours.constraints) == ["above", "below"]
        assert {"xi", "xi_star"} <= set(ours.variables)
        assert "t_i − " in str(ours)


@pytest.mark.parametrize("form", ["dual", "primal"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_takes_them_in_both_forms(backend: str, form: str) -> None:
    for name, machine in MACHINES.items():
        if backend == "auto" and form == "primal":
            continue
        result = qpsvm.solve(machine(X, T), backend, form)
        assert result.status == "optimal", name
        assert len(result.alpha) == 2 * N
        assert len(result.kind) == N


# --- against scikit-learn ---------------------------------------------------------------------------------------------


def test_they_agree_with_scikit_learn() -> None:
    options = {"kernel": "rbf", "gamma": 0.4, "C": 2.0, "tol": 1e-8}
    ours = qpsvm.solve(EpsilonSVR(X, T, 2.0, 0.3, kernel=RBF(0.4)), tol=1e-10)
    np.testing.assert_allclose(ours.predict(X), SVR(epsilon=0.3, **options).fit(X, T).predict(X), atol=1e-5)
    ours, peer = qpsvm.solve(NuSVR(X, T, 2.0, 0.4, kernel=RBF(0.4)), tol=1e-10), PeerNuSVR(nu=0.4, **options).fit(X, T)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=1e-5)
    for loss, name in (("absolute", "epsilon_insensitive"), ("squared", "squared_epsilon_insensitive")):
        ours = qpsvm.solve(EpsilonSVR(X, T, 2.0, 0.3, loss, intercept=None), tol=1e-10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LinearSVR(epsilon=0.3, C=2.0, loss=name, fit_intercept=False, tol=1e-10, max_iter=200_000)
            model.fit(X, T)
        np.testing.assert_allclose(ours.w, model.coef_, atol=1e-4)
    free = QuantileRegressor(quantile=0.2, alpha=0.0, solver="highs").fit(X, T)
    loose = qpsvm.solve(QuantileSVR(X, T, 1e7, 0.2))  # so large a penalty that the norm hardly counts
    np.testing.assert_allclose(loose.w, free.coef_, atol=1e-4)


# --- what is always true ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", RBF(0.4)], ids=["linear", "rbf"])
@pytest.mark.parametrize("name", [name for name in MACHINES if name != "wide tube"])
def test_symmetries(name: str, kernel: Any) -> None:
    machine = MACHINES[name]
    result = qpsvm.solve(machine(X, T, kernel=kernel), tol=1e-10)
    moved = qpsvm.solve(machine(X, T + 100.0, kernel=kernel), tol=1e-10)
    np.testing.assert_allclose(moved.predict(X) - 100.0, result.predict(X), atol=1e-5)
    np.testing.assert_allclose(moved.b - 100.0, result.b, atol=1e-5)
    np.testing.assert_allclose(moved.coef, result.coef, atol=1e-4)
    order = np.random.default_rng(0).permutation(N)
    other = qpsvm.solve(machine(X[order], T[order], kernel=kernel), tol=1e-10)
    np.testing.assert_allclose(other.predict(X), result.predict(X), atol=1e-5)
    scale = 1e3
    problem = machine(X, T * scale, kernel=kernel)
    own = {"C": problem.C[0] * (1.0 if name == "squared" else scale)}
    if hasattr(problem, "epsilon"):
        own["epsilon"] = problem.epsilon * scale
    larger = qpsvm.solve(problem.replace(**own), tol=1e-10)
    np.testing.assert_allclose(larger.predict(X) / scale, result.predict(X), atol=1e-5)
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
        missed, total = np.abs(T - result.predict(X)), WEIGHT.sum()
        assert (
            WEIGHT[missed > result.epsilon + 1e-8].sum() <= nu * total <= WEIGHT[missed >= result.epsilon - 1e-8].sum()
        )
    fan = [qpsvm.solve(QuantileSVR(X, T, 5.0, tau, sample_weight=WEIGHT)) for tau in (0.1, 0.5, 0.9)]
    for tau, result in zip((0.1, 0.5, 0.9), fan, strict=True):
        left = T - result.predict(X)
        assert WEIGHT[left < -1e-8].sum() <= tau * WEIGHT.sum() <= WEIGHT[left <= 1e-8].sum()


# --- equivalences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", RBF(0.4)], ids=["linear", "rbf"])
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
        twin, result = median.equivalent_epsilon_svr(), qpsvm.solve(median)
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


@pytest.mark.parametrize("backend", BACKENDS)
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


@pytest.mark.parametrize("name", MACHINES)
def test_one_sample_and_two(name: str) -> None:
    for n in (1, 2):
        result = qpsvm.solve(MACHINES[name](X[:n], T[:n]))
        assert result.status == "optimal"
        assert result.predict(X[:n]).shape == (n,)


@pytest.mark.parametrize("nu", [1e-12, 1e-6, 1.0])
def test_nu_at_the_ends_of_its_range(nu: float) -> None:
    for kernel in ("linear", RBF(0.4)):
        for backend in ("interior_point", "cvxopt", "cvxpy"):
            result = qpsvm.solve(NuSVR(X, T, 2.0, nu, kernel=kernel), backend)
            assert result.status == "optimal"
            assert result.epsilon >= 0.0
    if nu == 1e-12:
        assert result.epsilon == pytest.approx(np.ptp(T) / 2, rel=1e-6)


@pytest.mark.parametrize("name", MACHINES)
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


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("backend", BACKENDS)
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
