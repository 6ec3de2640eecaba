"""Projected gradient, subgradient descent and SLSQP on arrays: optimality conditions, limits, output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from cvxopt import matrix
from cvxopt import solvers as cvxopt_solvers
from each import for_each

from qpsvm.base.errors import DataError, ParameterError, UnsupportedError
from qpsvm.solvers.study import dual_ascent
from qpsvm.solvers.study.dual_ascent import (
    BoxAndRows,
    find_disjoint_combination,
    find_knapsack_multiplier,
    projected_gradient,
)
from qpsvm.solvers.study.slsqp import solve_slsqp
from qpsvm.solvers.study.subgradient import hinge_subgradient

INF = np.inf


@dataclass
class Problem:
    """A QP as arrays, all of them present: rows that do not exist are empty."""

    P: np.ndarray
    q: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    b: np.ndarray
    lb: np.ndarray
    ub: np.ndarray

    def value(self, x):
        return float(0.5 * x @ self.P @ x + self.q @ x)

    def optimum(self):
        """The optimal value by cvxopt, on bounds as rows."""
        n = len(self.q)
        low, high = np.isfinite(self.lb), np.isfinite(self.ub)
        G = np.concatenate([self.G, -np.eye(n)[low], np.eye(n)[high]])
        h = np.concatenate([self.h, -self.lb[low], self.ub[high]])
        rows = (matrix(self.A), matrix(self.b)) if len(self.A) else ()
        tight = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-11, "feastol": 1e-11}
        solution = cvxopt_solvers.qp(matrix(self.P), matrix(self.q), matrix(G), matrix(h), *rows, options=tight)
        return self.value(np.array(solution["x"]).ravel())

    def stationarity(self, x, y, z, z_box):
        return np.abs(self.P @ x + self.q + self.A.T @ y + self.G.T @ z + z_box).max()

    def assert_multipliers(self, x, z, z_box, tol):
        """Signs hold exactly, complementarity to `tol`."""
        assert (z >= 0).all()
        assert np.abs(z * (self.h - self.G @ x)).max(initial=0.0) <= tol
        assert ((self.lb <= x) & (x <= self.ub)).all()
        assert (x - self.lb)[z_box < 0].max(initial=0.0) <= tol
        assert (self.ub - x)[z_box > 0].max(initial=0.0) <= tol


def samples(n=80, d=4, seed=0, gap=0.5):
    """Two overlapping classes off the origin, mean squared norm 1."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.3
    X[:, 0] += gap * y
    return X / np.sqrt((X**2).sum(axis=1).mean()), y


def dual(kind, n=80, seed=0, nu=0.55):
    """The dual of an SVM of this kind. ν_max is about 0.67; at small ν the optimum is 0: the reduced hulls meet."""
    X, y = samples(n, seed=seed, gap=6.0 if kind == "hard" else 0.5)
    if "weighted" in kind:
        s = np.random.default_rng(seed + 1).uniform(0.2, 3.0, n)
    else:
        s = np.ones(n)
    s[:2] = 0.0 if "weighted" in kind else 1.0  # weight 0: lb = ub
    if "rbf" in kind:
        K = np.exp(-2.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    else:
        K = X @ X.T
    K = K + 1.0 if kind == "penalised" else K
    none = np.zeros((0, n))
    q = -np.ones(n)
    ub = 3.0 * s
    A = y[None].copy()
    b = np.zeros(1)
    if kind.startswith("nu"):
        A = np.stack([y, np.ones(n)])
        b = np.array([0.0, nu])
        q = np.zeros(n)
        ub = s / s.sum()
    if kind == "penalised":
        A = none
        b = np.zeros(0)
    if kind == "hard":
        ub = np.full(n, INF)
    return Problem(K * np.outer(y, y), q, none, np.zeros(0), A, b, np.zeros(n), ub)


def hinge(kind="c", n=80, C=1.0, weights=False):
    """M, h, c, d, q of a linear SVM, and the same as a QP with slack variables."""
    X, y = samples(n)
    d = X.shape[1]
    c = C * (np.random.default_rng(1).uniform(0.2, 3.0, n) if weights else np.ones(n))
    M = np.c_[y[:, None] * X, y]
    h = np.ones(n)
    curvature = np.r_[np.ones(d), 0.0]
    q = np.zeros(d + 1)
    if kind == "nu":
        M = np.c_[M, -np.ones(n)]
        h = np.zeros(n)
        c = np.full(n, 1 / n)
        curvature = np.r_[curvature, 0.0]
        q = np.r_[q, -0.55]
    if kind == "no intercept":
        M = M[:, :-1]
        curvature = curvature[:-1]
        q = q[:-1]
    k = M.shape[1]
    primal = Problem(
        np.diag(np.r_[curvature, np.zeros(n)]), np.r_[q, c], -np.c_[M, np.eye(n)], -h, np.zeros((0, k + n)),
        np.zeros(0), np.r_[np.full(k, -INF), np.zeros(n)], np.full(k + n, INF),
    )  # fmt: skip
    return (M, h, c, curvature, q), primal


def hinge_value(data, u):
    M, h, c, d, q = data
    return float(0.5 * u @ (d * u) + q @ u + c @ np.maximum(0, h - M @ u))


DUALS = ["c", "c rbf", "c weighted", "nu", "nu rbf", "nu weighted", "penalised", "hard"]


def gradient_run(p, **options):
    return projected_gradient(p.P, p.q, p.A, p.b, p.lb, p.ub, **options)


def slsqp_run(p, **options):
    return solve_slsqp(p.P, p.q, p.G, p.h, p.A, p.b, p.lb, p.ub, **options)


# Projection


def random_set(rng, n, rows):
    """A box with infinite, equal and repeated bounds, rows as in an SVM, and a point inside."""
    lb = -rng.integers(0, 3, n).astype(float)
    ub = rng.integers(0, 3, n).astype(float)
    lb[rng.random(n) < 0.2] = -INF
    ub[rng.random(n) < 0.2] = INF
    inside = np.clip(rng.normal(size=n), lb, ub)
    sign = rng.choice([-1.0, 1.0], n)
    A = [np.zeros((0, n)), sign[None], (sign * rng.uniform(0.5, 2.0, n))[None], np.stack([sign, np.ones(n)])][rows]
    return A, A @ inside, lb, ub, inside


@for_each("rows", [0, 1, 2, 3])
@for_each("seed", range(10))
def test_projection_is_the_nearest_point(rows, seed):
    rng = np.random.default_rng(seed)
    A, b, lb, ub, inside = random_set(rng, 30, rows)
    feasible = BoxAndRows(A, b, lb, ub)
    assert not feasible.is_empty()
    v = np.round(rng.normal(size=30) * 3, 1)  # ties among the breakpoints
    x, y = feasible.project(v)
    np.testing.assert_allclose(A @ x, b, atol=1e-12)
    np.testing.assert_allclose(x, np.clip(v - A.T @ y, lb, ub), atol=1e-12)
    others = [inside] + [feasible.project(rng.normal(size=30) * 5)[0] for _ in range(20)]
    for other in others:  # the variational inequality
        assert (v - x) @ (other - x) <= 1e-10


def test_projection_at_the_ends_of_the_range():
    lb = np.zeros(4)
    ub = np.array([1.0, 2.0, 3.0, 0.0])
    a = np.ones(4)
    for beta, corner in [(0.0, lb), (6.0, ub)]:
        x, _ = BoxAndRows(a, [beta], lb, ub).project(np.array([5.0, -1.0, 0.3, 9.0]))
        np.testing.assert_allclose(x, corner, atol=1e-15)
    assert not BoxAndRows(a, [6.0 * (1 + 1e-13)], lb, ub).is_empty()
    assert BoxAndRows(a, [6.1], lb, ub).is_empty()
    assert BoxAndRows(a, [-0.1], lb, ub).is_empty()
    assert BoxAndRows(0 * a, [1.0], lb, ub).is_empty()
    assert BoxAndRows(None, None, ub, lb).is_empty()
    assert find_knapsack_multiplier(np.zeros(2), np.ones(2), 3.0, np.full(2, -INF), np.full(2, INF)) == -1.5


def test_two_rows_combine_to_one_sum_per_class():
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    for rows in (np.stack([y, np.ones(5)]), np.stack([1e-6 * y, 1e6 * np.ones(5)]), np.stack([y, 2 * y])):
        T = find_disjoint_combination(rows)
        combined = T @ rows
        assert np.linalg.matrix_rank(T / np.abs(T).max(axis=0)) == 2
        assert np.abs(combined[0] * combined[1]).max() < 1e-12 * np.abs(combined).max() ** 2


def test_rows_that_do_not_combine_are_refused():
    p = dual("c")
    rng = np.random.default_rng(0)
    with pytest.raises(UnsupportedError, match="two directions"):
        projected_gradient(p.P, p.q, rng.normal(size=(2, 80)), np.zeros(2), p.lb, p.ub)
    with pytest.raises(UnsupportedError, match="at most 2"):
        projected_gradient(p.P, p.q, rng.normal(size=(3, 80)), np.zeros(3), p.lb, p.ub)


# Projected gradient


@pytest.mark.slow
@for_each("kind", DUALS)
def test_projected_gradient_meets_the_kkt_conditions(kind):
    p = dual(kind)
    r = gradient_run(p, accelerated=True, tol=1e-9, max_iter=20_000)
    assert r.trace.reason == "converged"
    np.testing.assert_allclose(p.A @ r.x, p.b, atol=1e-13)
    p.assert_multipliers(r.x, np.zeros(0), r.z_box, 0.0)
    scale = max(np.abs(p.P @ r.x).max(), np.abs(p.q).max())
    assert p.stationarity(r.x, r.y, np.zeros(0), r.z_box) <= 2e-9 * scale
    assert r.objective == pytest.approx(p.optimum(), rel=1e-7)
    assert r.residual == pytest.approx(p.stationarity(r.x, r.y, np.zeros(0), r.z_box), rel=1e-3, abs=1e-12 * scale)


@for_each("accelerated", [False, True])
def test_a_step_that_is_too_long_is_found_by_curvature(accelerated, monkeypatch):
    """Power iterations end below the largest eigenvalue; descent must not depend on how far below."""
    p = dual("c rbf", n=40)
    largest = np.linalg.eigvalsh(p.P)[-1]
    monkeypatch.setattr(dual_ascent, "_estimate_largest_eigenvalue", lambda P, n: largest / 1000)  # noqa: ARG005
    r = gradient_run(p, accelerated=accelerated)
    assert r.trace.reason == "converged"
    assert r.objective == pytest.approx(p.optimum(), rel=1e-5)
    assert r.step <= 100 / largest
    values = r.trace.history[:, 1]
    assert accelerated or (np.diff(values) <= 1e-12 * np.abs(values).max()).all()


def test_constant_step_as_published():
    p = dual("c")
    r = gradient_run(p, step=1e-3, max_iter=300)
    assert r.step == 1e-3
    x = np.zeros(80)
    for _ in range(300):
        x, _ = BoxAndRows(p.A, p.b, p.lb, p.ub).project(x - 1e-3 * (p.P @ x + p.q))
    np.testing.assert_allclose(r.x, x, atol=1e-12)
    wild = gradient_run(p, step=1e3, max_iter=50)  # far beyond 2/λ_max: no descent, but no worse than the start
    assert wild.trace.reason == "iteration_limit"
    assert wild.objective <= 0
    np.testing.assert_allclose(p.A @ wild.x, 0, atol=1e-12)


def test_projected_gradient_takes_operators_sparse_rows_and_starts():
    class Factored:
        def __init__(self, Z):
            self.Z = Z

        def __matmul__(self, x):
            return self.Z @ (self.Z.T @ x)

    X, y = samples()
    p = dual("c")
    dense = gradient_run(p, accelerated=True)
    r = projected_gradient(
        Factored(y[:, None] * X), p.q, sp.csr_array(p.A), p.b, p.lb, p.ub, accelerated=True, x0=dense.x
    )
    assert r.trace.iterations <= 10
    assert r.objective == pytest.approx(dense.objective, rel=1e-6)


def test_projected_gradient_without_curvature_is_a_linear_programme():
    q = np.array([-1.0, 2.0, -3.0])
    r = projected_gradient(np.zeros((3, 3)), q, None, None, np.zeros(3), np.ones(3))
    np.testing.assert_array_equal(r.x, [1.0, 0.0, 1.0])
    assert r.trace.reason == "converged"


def test_projected_gradient_at_an_optimum_of_zero():
    """Nothing sets a scale there, so that only the rounding of x can end the run."""
    p = dual("nu", nu=0.2)
    r = gradient_run(p, accelerated=True)
    assert r.trace.reason == "converged"
    assert 0 <= r.objective + 1e-16 <= 1e-12
    np.testing.assert_allclose(p.A @ r.x, p.b, atol=1e-15)


def test_projected_gradient_says_infeasible():
    r = gradient_run(dual("nu", nu=0.9))
    assert r.trace.reason == "infeasible"
    assert r.trace.iterations == 0


# Subgradient descent


@pytest.mark.slow
@for_each(
    "kind, C, weights, accuracy",
    [("c", 0.1, False, 1e-4), ("c", 1.0, True, 1e-3), ("no intercept", 1.0, False, 1e-3), ("nu", 1.0, False, 1e-2)],
)
def test_subgradient_approaches_the_optimum(kind, C, weights, accuracy):
    data, primal = hinge(kind, C=C, weights=weights)
    r = hinge_subgradient(*data)
    optimum = primal.optimum()
    assert r.objective == pytest.approx(hinge_value(data, r.u), rel=1e-9)
    assert 0 <= r.objective - optimum + 1e-9 * abs(optimum) <= accuracy * abs(optimum)
    M, _, c, d, q = data
    assert (r.z >= 0).all()
    assert (r.z <= c * (1 + 1e-12)).all()
    if kind != "no intercept":  # yᵀz = 0 holds in the limit only
        assert np.abs((q - M.T @ r.z)[d == 0]).max() <= 5e-3 * c.sum()


def test_the_average_is_a_dual_point():
    """Without coordinates of d = 0 z is dual feasible, and the gap to it is a bound."""
    (M, h, c, d, q), primal = hinge("no intercept")
    r = hinge_subgradient(M, h, c, d, q, tol=0.0)
    w = (M.T @ r.z - q) / d
    dual_value = h @ r.z - 0.5 * w @ (d * w)
    assert dual_value <= primal.optimum() * (1 + 1e-9)
    assert r.objective - dual_value <= 1e-3 * r.objective


def test_subgradient_stops_when_progress_ends():
    data, primal = hinge("c", C=0.1)
    r = hinge_subgradient(*data, tol=1e-3)
    assert r.trace.reason == "converged"
    assert 100 <= r.trace.iterations < 5000
    assert r.objective <= primal.optimum() * (1 + 1e-2)


@for_each("scale", [1e-6, 1.0, 1e8])
def test_subgradient_does_not_mind_the_units(scale):
    """Features and weights in other units, C changed with them: the same values."""
    (M, h, c, d, q), _ = hinge("c")
    reference = hinge_subgradient(M, h, c, d, q, max_iter=300)
    units = np.r_[np.full(4, scale), 1.0]
    r = hinge_subgradient(M * units, h, c / scale**2, d, q, max_iter=300)
    np.testing.assert_allclose(r.u * scale * np.r_[np.ones(4), 1 / scale], reference.u, rtol=1e-6, atol=1e-9)


def test_constant_learning_rate_as_published():
    (M, h, c, d, q), _ = hinge("c")
    r = hinge_subgradient(M, h, c, d, q, u0=np.ones(5), learning_rate=1e-4, max_iter=200)
    u = np.ones(5)
    for _ in range(199):
        u = u - 1e-4 * (d * u + q - M.T @ (c * (M @ u < h)))
    assert not r.is_average  # early in the run the last iterate is the lowest
    np.testing.assert_allclose(r.u, u, rtol=1e-10)


def test_sparse_and_dense_rows_agree():
    (M, h, c, d, q), _ = hinge("c")
    dense = hinge_subgradient(M, h, c, d, q, max_iter=200)
    sparse = hinge_subgradient(sp.csr_array(M), h, c, d, q, max_iter=200)
    np.testing.assert_allclose(sparse.u, dense.u, atol=1e-9)
    np.testing.assert_array_equal(dense.u, hinge_subgradient(M, h, c, d, q, max_iter=200).u)  # deterministic


def test_subgradient_checks_its_arrays():
    (M, h, c, d, q), _ = hinge("c")
    with pytest.raises(ParameterError, match="one row"):
        hinge_subgradient(M, h[1:], c, d, q)
    with pytest.raises(ParameterError, match="nonnegative"):
        hinge_subgradient(M, h, -c, d, q)
    with pytest.raises(ParameterError, match="learning_rate"):
        hinge_subgradient(M, h, c, d, q, learning_rate=np.nan)


# SLSQP


@for_each("kind", DUALS)
def test_slsqp_on_duals(kind):
    p = dual(kind, n=45)
    r = slsqp_run(p, ftol=1e-13)
    assert r.objective == pytest.approx(p.optimum(), rel=1e-6)
    assert np.abs(p.A @ r.x - p.b).max(initial=0.0) <= 1e-10
    p.assert_multipliers(r.x, r.z, r.z_box, 1e-6)
    assert p.stationarity(r.x, r.y, r.z, r.z_box) <= 1e-4 * max(1e-2, np.abs(p.P @ r.x).max())


@for_each("kind", ["c", "nu", "no intercept"])
def test_slsqp_on_primals(kind):
    _, p = hinge(kind, n=45)
    r = slsqp_run(p, ftol=1e-12)
    # older SciPy versions find no descent that rounding would not hide
    assert r.message in ("Optimization terminated successfully", "Positive directional derivative for linesearch")
    assert r.objective == pytest.approx(p.optimum(), rel=1e-6)
    p.assert_multipliers(r.x, r.z, r.z_box, 1e-5)
    assert p.stationarity(r.x, r.y, r.z, r.z_box) <= 2e-4


def test_slsqp_takes_none_for_rows():
    p = dual("penalised", n=30)
    r = solve_slsqp(p.P, p.q, None, None, None, None, p.lb, p.ub)
    assert (r.trace.reason, len(r.y), len(r.z)) == ("converged", 0, 0)
    with pytest.raises(ParameterError, match="lb must not exceed ub"):
        solve_slsqp(p.P, p.q, None, None, None, None, p.ub, p.lb)


def test_how_slsqp_ends_is_said_in_its_own_words():
    p = dual("c", n=30)
    r = slsqp_run(p, max_iter=3)
    assert (r.message, r.trace.reason) == ("Iteration limit reached", "iteration_limit")
    p.b = np.array([1e3])
    assert slsqp_run(p, max_iter=50).trace.reason != "converged"


# What the three share

RUNS = {
    "dual_ascent": lambda p=None, **options: gradient_run(p or dual("c", n=40), **options),
    "subgradient": lambda p=None, **options: hinge_subgradient(*(p or hinge("c", n=40)[0]), **options),
    "slsqp": lambda p=None, **options: slsqp_run(p or dual("c", n=40), **options),
}
EXACT = {"dual_ascent": {"tol": 0.0}, "subgradient": {"tol": 0.0}, "slsqp": {"ftol": 1e-30}}


@for_each("name", RUNS)
def test_verbose_lines(name, capsys):
    RUNS[name](max_iter=200)
    assert capsys.readouterr().out == ""
    r = RUNS[name](verbose=True, max_iter=20, **EXACT[name])
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == r.trace.iterations == 20
    assert all(line.startswith(name) and "objective" in line and line.endswith(" s") for line in lines)
    assert f"{name}: iteration limit after 20 iterations" in last
    RUNS[name](verbose=True, max_iter=200, **EXACT[name])
    assert len(capsys.readouterr().out.splitlines()) <= 21


@for_each("name", RUNS)
def test_limits(name):
    r = RUNS[name](max_iter=7, **EXACT[name])
    assert (r.trace.iterations, r.trace.reason) == (7, "iteration_limit")
    r = RUNS[name](time_limit=0.0, **EXACT[name])
    assert (r.trace.iterations, r.trace.reason) == (1, "time_limit")
    assert np.isfinite(r.objective)
    if name != "slsqp":
        r = RUNS[name](time_limit=0.1, max_iter=10**9, **EXACT[name])
        assert r.trace.reason == "time_limit"
        assert 0.1 <= r.trace.seconds < 30.0  # of the hours that so many iterations take
    for wrong in ({"max_iter": 0}, {"time_limit": -1.0}, {"time_limit": np.nan}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            RUNS[name](**wrong)


@for_each("name", RUNS)
def test_history_ends_with_the_value_returned(name):
    r = RUNS[name](max_iter=450, **EXACT[name])
    history = r.trace.history
    assert history.shape[1] == 2
    assert len(history) <= 201
    assert history[-1, 0] == r.trace.iterations
    assert history[-1, 1] == r.objective


@for_each("name", RUNS)
def test_starts_are_checked(name):
    start = "u0" if name == "subgradient" else "x0"
    with pytest.raises(DataError, match="shape"):
        RUNS[name](**{start: np.zeros(3)})
    with pytest.raises(DataError, match="finite"):
        RUNS[name](**{start: np.full(5 if name == "subgradient" else 40, np.nan)})


class FailsLater:
    """A matrix whose product is NaN from the k-th on."""

    def __init__(self, P, k):
        self.P, self.left = P, k

    def __matmul__(self, x):
        self.left -= 1
        if self.left >= 0:
            return self.P @ x
        return np.full(len(x), np.nan)


@for_each("run", [gradient_run, slsqp_run])
@for_each("after", [0, 1, 20])
def test_nan_ends_the_run_with_the_last_finite_point(run, after):
    p = dual("c", n=40)
    p.P = FailsLater(p.P, after)
    r = run(p)
    assert r.trace.reason == "numerical_error"
    assert r.trace.iterations <= 25
    assert np.isfinite(r.x).all()
    assert ((r.x >= p.lb) & (r.x <= p.ub)).all()


@for_each("run", [gradient_run, slsqp_run])
@for_each("bad", [np.nan, INF, 1e308])
def test_bad_numbers_in_the_objective_do_not_loop(run, bad):
    p = dual("c", n=40)
    p.P = np.full((40, 40), bad)
    assert np.isfinite(run(p, x0=np.ones(40), max_iter=100).x).all()
    p = dual("c", n=40)
    p.q[3] = bad
    assert np.isfinite(run(p, max_iter=100).x).all()


def test_subgradient_that_diverges_returns_its_best_point():
    data, _ = hinge("c", n=40)
    r = hinge_subgradient(*data, learning_rate=1e3)
    assert r.trace.reason == "numerical_error"
    assert np.isfinite(r.u).all()
    assert r.objective == pytest.approx(hinge_value(data, r.u))
    M, h, c, d, q = data
    M = M.copy()
    M[0, 0] = np.nan
    r = hinge_subgradient(M, h, c, d, q)
    assert (r.trace.reason, r.trace.iterations) == ("numerical_error", 0)
    np.testing.assert_array_equal(r.u, np.zeros(5))
