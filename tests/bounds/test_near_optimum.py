"""Bounds near the optimum, of every machine, against optima in fractions and against solutions to the last digits."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from claims import ClaimJudge, build_problem, draw_task
from each import for_each
from exact_optimum import ExactOptimum

import qpsvm
from qpsvm.bounds.near_points import NearFunction


@for_each("seed", range(40))
def test_every_exact_optimum_is_within_the_bounds(seed):
    """Also those of points that are far from it."""
    task = draw_task(seed)
    judge = ClaimJudge(task)
    best = ExactOptimum(task.stated, task.new)
    if not best.is_known:
        return
    problem = build_problem(task.stated)
    rng = np.random.default_rng(seed)
    result = qpsvm.solve(problem, tol=1e-12, check=False)
    size = np.where(np.isfinite(result.upper), result.upper, result.alpha.max())
    size = np.resize(size, len(result.alpha))
    for noise in (0.0, 1e-2, 1e-5):
        moved = np.maximum(result.alpha + noise * size * rng.normal(size=len(size)), 0.0)
        judge.check_values(f"noise {noise}", problem.at(moved) if noise else result, best)
    assert not judge.faults


RNG = np.random.default_rng(7)
X = np.vstack([RNG.normal(-1.0, 1.0, (20, 2)), RNG.normal(1.0, 1.0, (25, 2))])
Y = np.repeat([0, 1], [20, 25])
TARGET = X @ [1.0, -0.5] + 0.3 * RNG.normal(size=45)
APART = X + np.where(Y == 1, 6.0, 0.0)[:, None]
NEW = RNG.normal(size=(40, 2)) * 2.0
GRADES = np.round(TARGET)
ROWS = [qpsvm.Constraints([[1.0, 0.0]], [0.5])]
#: Every machine, with kernels, intercepts and rows of a user's that treat b and w in their own ways.
MACHINES = {
    "nu": lambda **how: qpsvm.NuSVM(X, Y, nu=0.37, **how),
    "nu weighted": lambda **how: qpsvm.NuSVM(X, Y, nu=0.37, sample_weight=1.0 + Y, **how),
    "primal hinge": lambda **how: qpsvm.PrimalHinge(X, Y, lam=0.05, **how),
    "huber": lambda **how: qpsvm.HuberHinge(X, Y, C=1.0, width=0.5, **how),
    "squared": lambda **how: qpsvm.SquaredHinge(X, Y, C=1.0, **how),
    "hard": lambda **how: qpsvm.HardMargin(APART, Y, **how),
    "one-class": lambda **how: qpsvm.OneClass(X + 4.0, nu=0.33, **how),
    "ball": lambda **how: qpsvm.SVDD(X, nu=0.3, **how),
    "nu-svr": lambda **how: qpsvm.NuSVR(X, TARGET, nu=0.37, C=1.0, **how),
    "quantile": lambda **how: qpsvm.QuantileSVR(X, TARGET, quantile=0.8, C=1.0, **how),
    "svr": lambda **how: qpsvm.EpsilonSVR(X, TARGET, epsilon=0.2, C=1.0, **how),
    "ranking": lambda **how: qpsvm.Ranking(X, GRADES, C=0.1, **how),
    "c": lambda **how: qpsvm.CSVM(X, Y, C=1.0, **how),
    "constrained": lambda **how: qpsvm.CSVM(X, Y, C=1.0, constraints=ROWS, **how),
    "several": lambda **how: qpsvm.CrammerSinger(X, GRADES, C=0.1, intercept="penalised", **how),
    "several without b": lambda **how: qpsvm.WestonWatkins(X, GRADES, C=0.1, intercept=None, **how),
}


@pytest.mark.parametrize("name", MACHINES)
@for_each("kernel", ["linear", "rbf", "polynomial"])
def test_every_machine_has_bounds_that_hold_and_that_say_something(name, kernel):
    if name == "constrained" and kernel != "linear":
        kernel = "linear"
    problem = MACHINES[name](kernel=qpsvm.Polynomial(2, coef0=1.0) if kernel == "polynomial" else kernel)
    best = qpsvm.solve(problem, tol=1e-12, check=False)
    f = best.decision_function(NEW)
    rng = np.random.default_rng(3)
    low, high = best.decision_bounds(NEW)
    assert (low <= f).all()
    assert (f <= high).all()
    assert np.median(high - low) <= 1e-3 * np.abs(f).max()
    within = {"within": 0.05} if problem._target_kind in ("numbers", "ranks") else {}
    if f.ndim == 2:
        near = np.sort(f, axis=1)[:, -1] - np.sort(f, axis=1)[:, -2]
    else:
        near = np.abs(f)
    assert best.proven(NEW, **within)[near > 1e-9].mean() >= 0.95  # the program of some classes is symmetric in them
    own = np.asarray(best.alpha)
    for noise in (1e-2, 1e-4):
        moved = problem.at(np.abs(best.alpha + noise * own.max() * rng.normal(size=own.shape)))
        low, high = moved.decision_bounds(NEW)
        assert (low <= f + 1e-9).all()
        assert (f - 1e-9 <= high).all()


def test_bounds_of_a_kernel_matrix_hold():
    problem = qpsvm.CSVM(X @ X.T, Y, kernel="precomputed")
    K = NEW @ X.T
    best = qpsvm.solve(problem, tol=1e-12, check=False)
    f = best.decision_function(K)
    for point in (best, problem.at(0.9 * best.alpha)):
        low, high = point.decision_bounds(K, diagonal=np.square(NEW).sum(axis=1))
        assert (low <= f + 1e-9).all()
        assert (f - 1e-9 <= high).all()


def test_what_cannot_be_answered_is_said():
    result = qpsvm.solve(qpsvm.CSVM(X, Y))
    result.proven(NEW)
    again = pickle.loads(pickle.dumps(result))
    assert "_near_optimum" not in vars(again)
    with pytest.raises(qpsvm.UnsupportedError, match="problem="):
        again.decision_bounds(NEW)
    np.testing.assert_array_equal(again.proven(NEW, problem=qpsvm.CSVM(X, Y)), result.proven(NEW))
    for wrong in ({"within": 0.1}, {"diagonal": np.ones(len(NEW))}):
        with pytest.raises(qpsvm.ParameterError):
            result.proven(NEW, **wrong)
    with pytest.raises(qpsvm.ParameterError, match="within"):
        qpsvm.solve(MACHINES["svr"]()).proven(NEW)
    with pytest.raises(qpsvm.ParameterError, match="not be negative"):
        qpsvm.solve(MACHINES["svr"]()).proven(NEW, within=-0.1)
    with pytest.raises(qpsvm.DataError):
        result.decision_bounds(NEW[:, :1])
    matrix = qpsvm.solve(qpsvm.CSVM(X @ X.T, Y, kernel="precomputed"))
    with pytest.raises(qpsvm.ParameterError, match="diagonal"):
        matrix.decision_bounds(NEW @ X.T)


def test_intercepts_that_share_samples_have_no_bounds():
    low, high = qpsvm.solve(qpsvm.CrammerSinger(X, GRADES, C=0.1)).decision_bounds(NEW)
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_f_at_a_point_where_it_cancels_is_between_its_bounds():
    """Rounding of f itself, of an optimum that is known exactly: a ball of radius 0."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=40)
    b = 0.3
    X = 1e6 * rng.normal(size=(200, 40))
    X -= np.outer(X @ w / (w @ w), w)
    model = qpsvm.solve(qpsvm.CSVM(np.vstack([w, -w]), [1, 0])).model
    object.__setattr__(model, "w", w)
    object.__setattr__(model, "b", b)
    low, high, _ = NearFunction(0.0, (0.0, 0.0), 0.0, 1.0, None)(model, X, None)
    for i in range(len(X)):
        f = sum((Fraction(p) * Fraction(q) for p, q in zip(X[i], w, strict=True)), Fraction(b))
        assert Fraction(low[i, 0]) <= f <= Fraction(high[i, 0])
