"""Derivatives of an optimum against differences of solves that are certified to the last digits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from each import for_each

import qpsvm

n, d = 24, 2
rng = np.random.default_rng(5)
X = rng.normal(size=(n, d))
y = np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0, 1, 0)
t = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
s = rng.uniform(0.5, 1.5, n)
Z = rng.normal(size=(3, d))
STEP = 1e-5

KERNELS = {"linear": qpsvm.Linear(), "rbf": qpsvm.RBF(0.6)}
MACHINES = {
    "c": lambda X, _, s, k: qpsvm.CSVM(X, y, C=1.3, kernel=k, sample_weight=s),
    "penalised": lambda X, _, s, k: qpsvm.CSVM(X, y, C=1.3, kernel=k, sample_weight=s, intercept="penalised"),
    "none": lambda X, _, s, k: qpsvm.CSVM(X, y, C=1.3, kernel=k, sample_weight=s, intercept=None),
    "hinge": lambda X, _, s, k: qpsvm.PrimalHinge(X, y, lam=0.07, kernel=k, sample_weight=s),
    "nu": lambda X, _, s, k: qpsvm.NuSVM(X, y, nu=0.55, kernel=k, sample_weight=s),
    "squared": lambda X, _, s, k: qpsvm.SquaredHinge(X, y, C=0.8, kernel=k, sample_weight=s),
    "huber": lambda X, _, s, k: qpsvm.HuberHinge(X, y, C=0.8, kernel=k, sample_weight=s),
    "svr": lambda X, t, s, k: qpsvm.EpsilonSVR(X, t, C=1.1, epsilon=0.15, kernel=k, sample_weight=s),
    "svr squared": lambda X, t, s, k: qpsvm.EpsilonSVR(
        X, t, C=1.1, epsilon=0.15, loss="squared", kernel=k, sample_weight=s
    ),
    "nu-svr": lambda X, t, s, k: qpsvm.NuSVR(X, t, C=1.1, nu=0.43, kernel=k, sample_weight=s),
    "quantile": lambda X, t, s, k: qpsvm.QuantileSVR(X, t, C=1.1, quantile=0.33, kernel=k, sample_weight=s),
    "one-class": lambda X, _, s, k: qpsvm.OneClass(X + 2.0, nu=0.37, kernel=k, sample_weight=s),
}
REGRESSIONS = ("svr", "svr squared", "nu-svr", "quantile")


def solve_problem(problem):
    return qpsvm.solve(problem, tol=1e-13, check=False)


def margin(result, problem):
    K = problem.kernel(problem.X, problem.X)
    return result.rho / np.sqrt(result.coef @ K @ result.coef)


def move_machine(machine, kernel, name, step, way):
    """Return the machine with one thing moved."""
    Xs, ts, ss = X.copy(), t.copy(), s.copy()
    if name == "X":
        Xs += step * way
    if name == "target":
        ts += step * way
    if name == "sample_weight":
        ss += step * way
    problem = MACHINES[machine](Xs, ts, ss, KERNELS[kernel])
    if name in ("X", "target", "sample_weight"):
        return problem
    value = float(np.ravel(getattr(problem, name) if name in problem._hyperparameters else problem.kernel.gamma)[0])
    return problem.replace(**{name: value + step})


def directions(machine, kernel):
    problem = MACHINES[machine](X, t, s, KERNELS[kernel])
    names = list(solve_problem(problem).sensitivity().parameters)
    names += ["X", "sample_weight", *(["target"] if machine in REGRESSIONS else [])]
    return problem, names


@pytest.mark.parametrize("machine", MACHINES)
@for_each("kernel", KERNELS)
def test_derivatives_are_those_of_differences(machine, kernel):
    problem, names = directions(machine, kernel)
    result = solve_problem(problem)
    system = result.sensitivity()
    assert not len(system.degenerate)
    ways = np.random.default_rng(1)
    cotangents = {"f": ways.normal(size=len(Z)), "b": 0.7, "objective": 0.3}
    w = ways.normal(size=d) if kernel == "linear" else None
    back = qpsvm.vjp(result, Z, w=w, **cotangents)
    moved_points = ways.normal(size=Z.shape)
    for name in names:
        way = ways.normal(size={"X": (n, d)}.get(name, n)) * (0.1 if name == "sample_weight" else 1.0)
        direction = way if name in ("X", "sample_weight", "target") else 1.0
        found = system.along(**{name: direction})
        less, more = (solve_problem(move_machine(machine, kernel, name, sign * STEP, way)) for sign in (-1, 1))
        assert max(less.gap, more.gap) < 1e-11

        def slope(of, pair=(less, more)):
            return (of(pair[1]) - of(pair[0])) / (2 * STEP)

        close = {"rtol": 2e-4, "atol": 2e-5, "err_msg": f"{machine} {kernel} {name}"}
        f = found.decision_function(Z)
        np.testing.assert_allclose(f, slope(lambda r: r.decision_function(Z)), **close)
        if machine != "one-class":
            np.testing.assert_allclose(found.b, slope(lambda r: r.b), **close)
        np.testing.assert_allclose(found.objective, slope(lambda r: r.dual), **close)
        if name not in ("X", "gamma"):
            np.testing.assert_allclose(found.margin, slope(lambda r: margin(r, problem)), **close)
        if kernel == "linear":
            np.testing.assert_allclose(found.w, slope(lambda r: r.w), **close)
        if "epsilon" in found.extras:
            np.testing.assert_allclose(found.extras["epsilon"], slope(lambda r: r.epsilon), **close)
        if machine in ("nu", "one-class"):
            np.testing.assert_allclose(found.extras["rho"], slope(lambda r: r.rho), **close)
        assert found.two_sided
        forwards = cotangents["f"] @ f + cotangents["b"] * found.b + cotangents["objective"] * found.objective
        forwards += w @ found.w if w is not None else 0.0
        np.testing.assert_allclose(np.sum(back[name] * direction), forwards, rtol=1e-7, atol=1e-9)
    ends = (result.decision_function(Z + sign * STEP * moved_points) for sign in (1, -1))
    slope = cotangents["f"] @ (next(ends) - next(ends)) / (2 * STEP)
    np.testing.assert_allclose((back["X_new"] * moved_points).sum(), slope, rtol=1e-5, atol=1e-7)
    assert found.alpha.shape == result.alpha.shape


def test_a_degenerate_optimum_has_one_sided_derivatives():
    """At a breakpoint of the exact path a row is at a bound without slack: each side has its own slope."""
    problem = MACHINES["c"](X, t, np.ones(n), KERNELS["rbf"])
    path = qpsvm.exact_path(problem, "C", 0.5, 3.0)
    C = float(path.breakpoints[len(path.breakpoints) // 2])
    system = solve_problem(problem.replace(C=C)).sensitivity()
    assert len(system.degenerate) == 1
    for sign in (1.0, -1.0):
        found = system.along(C=sign)
        assert not found.two_sided
        assert "one-sided" in found.message
        here, there = (solve_problem(problem.replace(C=C + step)) for step in (0.0, sign * STEP))
        slope = (there.decision_function(Z) - here.decision_function(Z)) / STEP
        np.testing.assert_allclose(found.decision_function(Z), slope, rtol=1e-3, atol=1e-5)


@for_each("machine", [qpsvm.EpsilonSVR, qpsvm.QuantileSVR])
def test_without_a_tube_both_rows_of_a_sample_are_one_variable(machine):
    """On integers, where many β are at a bound without slack: slopes of w are those of differences, or not stated."""
    n_slopes = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        samples = rng.integers(0, 3, (5, 1)).astype(float)
        targets = rng.integers(0, 3, 5).astype(float)
        options = {"epsilon": 0.0} if machine is qpsvm.EpsilonSVR else {"quantile": 0.5}
        problem = machine(samples, targets, C=1.0, **options)
        result = qpsvm.solve(problem, tol=1e-12, check=False)
        for sign in (1.0, -1.0):
            found = result.sensitivity().along(C=sign)
            moved = qpsvm.solve(problem.replace(C=1.0 + 1e-4 * sign), tol=1e-12, check=False)
            if np.isfinite(found.objective):
                n_slopes += 1
                np.testing.assert_allclose(found.w, (moved.w - result.w) / 1e-4, atol=1e-2)
                np.testing.assert_allclose(found.objective, (moved.primal - result.primal) / 1e-4, atol=1e-2)
    assert n_slopes > 60


def test_a_derivative_can_be_pickled():
    found = solve_problem(MACHINES["c"](X, t, s, KERNELS["rbf"])).sensitivity().along(C=1.0)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.decision_function(Z), found.decision_function(Z))


def test_where_rows_compete_no_number_is_stated():
    problem = qpsvm.CSVM([[2.0], [2.0], [2.0], [1.0]], [0, 1, 1, 0], C=1.0)
    found = solve_problem(problem).sensitivity().along(sample_weight=[0.0, 0.0, -1.0, 0.0])
    assert "no derivative" in found.message
    assert np.isnan(found.objective)


def test_a_weight_of_0_and_a_tube_of_width_0_have_no_derivative():
    weight = np.r_[0.0, np.ones(n - 1)]
    result = solve_problem(MACHINES["c"](X, t, weight, KERNELS["rbf"]))
    with pytest.raises(qpsvm.UnsupportedError, match="weight of 0"):
        result.sensitivity().along(sample_weight=np.ones(n))
    assert np.isfinite(result.sensitivity().along(sample_weight=weight).objective)
    assert np.isnan(qpsvm.vjp(result, objective=1.0)["sample_weight"]).tolist() == [True] + [False] * (n - 1)
    flat = qpsvm.solve(qpsvm.NuSVR([[2.0], [0.0]], [0.0, 2.0], C=1.0, nu=0.5))
    with pytest.raises(qpsvm.UnsupportedError, match="width 0"):
        flat.sensitivity()


def test_many_equal_samples_leave_f_its_derivatives():
    """α is not unique, f is; where rows compete the direction has no derivative, which is said."""
    twice = np.vstack([X, X])
    problem = qpsvm.EpsilonSVR(twice, np.r_[t, t], C=0.6, epsilon=0.2)
    result = solve_problem(problem)
    found = result.sensitivity().along(C=1.0)
    more, less = (solve_problem(problem.replace(C=0.6 + step)) for step in (STEP, -STEP))
    np.testing.assert_allclose(found.w, (more.w - less.w) / (2 * STEP), rtol=1e-4, atol=1e-6)


def test_bad_input():
    result = solve_problem(MACHINES["c"](X, t, s, KERNELS["rbf"]))
    system = result.sensitivity()
    with pytest.raises(qpsvm.UnknownOptionError, match="nu"):
        system.along(nu=1.0)
    with pytest.raises(qpsvm.UnsupportedError, match="not numbers"):
        system.along(target=np.ones(n))
    with pytest.raises(qpsvm.DataError):
        system.along(sample_weight=np.ones(n - 1))
    with pytest.raises(qpsvm.DataError):
        system.along(X=np.ones((n - 1, d)))
    with pytest.raises(qpsvm.DataError, match="both"):
        qpsvm.vjp(result, Z)
    with pytest.raises(qpsvm.UnsupportedError, match="no vector"):
        qpsvm.vjp(result, w=np.ones(d))
    with pytest.raises(qpsvm.ParameterTypeError, match="vjp takes"):
        qpsvm.vjp(3.0)
    for problem in (
        qpsvm.SVDD(X), qpsvm.CSVM(X @ X.T, y, kernel="precomputed"),
        qpsvm.CSVM(X, y, constraints=qpsvm.Constraints([[1.0, 0.0]], [5.0])),
        qpsvm.CrammerSinger(X, np.arange(len(X)) % 3),
    ):  # fmt: skip
        with pytest.raises(qpsvm.UnsupportedError, match="no derivatives"):
            qpsvm.solve(problem).sensitivity()
    with pytest.raises(qpsvm.DataError):
        result.sensitivity(qpsvm.CSVM(X[:-1], y[:-1]))
    polynomial = solve_problem(qpsvm.CSVM(X, y, kernel=qpsvm.Polynomial(2)))
    assert polynomial.sensitivity().along(C=1.0).two_sided
    with pytest.raises(qpsvm.UnsupportedError, match="RBF"):
        polynomial.sensitivity().along(X=X)
