"""Influence against the weights and functions of machines that are solved without each sample."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.machines.problem.derived_problems import restrict_to_rows

rng = np.random.default_rng(0)
X = rng.normal(size=(16, 2)) + 2.0
Y = X[:, 0] + 0.6 * rng.normal(size=16) > 2.0
T = np.sin(X[:, 0]) + 0.2 * rng.normal(size=16)
RBF = qpsvm.RBF(0.5)
PROBLEMS = {
    "linear": qpsvm.CSVM(X, Y, C=2.0),
    "rbf": qpsvm.CSVM(X, Y, C=2.0, kernel=RBF),
    "weights": qpsvm.CSVM(X, Y, kernel=RBF, sample_weight=1.0 + np.arange(16) % 3),
    "penalised": qpsvm.CSVM(X, Y, C=2.0, kernel=RBF, intercept="penalised"),
    "squared": qpsvm.SquaredHinge(X, Y, C=2.0),
    "precomputed": qpsvm.CSVM(RBF(X, X), Y, C=2.0, kernel="precomputed"),
    "map": qpsvm.CSVM(X, Y, C=2.0, kernel=qpsvm.Nystroem(RBF, 6)),
    "nu": qpsvm.NuSVM(X, Y, nu=0.4, kernel=RBF),
    "hard": qpsvm.HardMargin(X, Y, kernel=qpsvm.RBF(5.0)),
    "tube": qpsvm.EpsilonSVR(X, T, C=2.0, kernel=RBF, epsilon=0.1),
    "twice": qpsvm.CSVM(np.vstack([X, X[:4]]), np.append(Y, Y[:4]), C=2.0, kernel=RBF),
    "one class": qpsvm.OneClass(X, nu=0.3, kernel=RBF),
}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_distances_are_those_of_solves(name):
    problem = PROBLEMS[name]
    full = qpsvm.solve(problem, tol=1e-12, check=False)
    found = qpsvm.influence(problem, full)
    assert (found.gap < 1e-6).all()
    K = None if full.model.w is not None else np.asarray(problem.svm.gram.dense())
    for i in range(0, problem.n, 3):
        kept = np.delete(np.arange(problem.n), i)
        own = qpsvm.solve(restrict_to_rows(problem, kept), tol=1e-12, check=False)
        if K is None:
            distance = np.linalg.norm(full.model.w - own.model.w)
        else:
            coef = full.coef.copy()
            coef[kept] -= own.coef
            distance = np.sqrt(max(coef @ K @ coef, 0.0))
        near = full.nearness + own.nearness + 1e-6
        assert abs(found.distance[i] - distance) <= near
        seen = problem.X[:, kept] if name == "precomputed" else problem.X
        apart = np.abs(full.decision_function(problem.X) - own.decision_function(seen))
        loose = 1e-5 + np.ptp(full.b_interval) + np.ptp(own.b_interval)  # b is one of many where no sample is free
        assert found.largest[i] == pytest.approx(apart.max(), abs=loose)
        assert found.mean[i] == pytest.approx(apart.mean(), abs=loose)


@pytest.mark.parametrize("name", ["linear", "rbf", "weights", "twice"])
def test_it_is_at_most_what_the_sample_loses(name):
    """(INFLUENCE.3); and nothing where α = 0."""
    problem = PROBLEMS[name]
    full = qpsvm.solve(problem, tol=1e-12)
    found = qpsvm.influence(problem, full)
    hinge = lambda f: np.maximum(0.0, 1.0 - problem.y * f)  # noqa: E731
    penalties = np.array(problem.svm.upper)
    lost = penalties * (hinge(found.left_out.decision) - hinge(full.decision_function(problem.X)))
    assert (found.distance**2 <= lost + 1e-6).all()
    idle = full.alpha == 0.0
    assert idle.any()
    for each in (found.distance, found.largest, found.mean):
        assert (each[idle] == 0.0).all()
    assert set(found.order) <= set(np.flatnonzero(~idle))
    assert (np.diff(found.mean[found.order]) <= 0.0).all()
    w = full.model.w
    assert found.norm == pytest.approx(np.sqrt(2 * (full.primal - penalties @ hinge(full.decision_function(problem.X))))
                                       if w is None else np.linalg.norm(w), abs=1e-5)  # fmt: skip


def test_groups_weights_of_zero_and_the_last_of_a_class():
    twice = PROBLEMS["twice"]
    groups = np.append(np.arange(16), np.arange(4))
    found = qpsvm.influence(twice, groups=groups)
    alone = qpsvm.influence(qpsvm.CSVM(X, Y, C=2.0, kernel=RBF, sample_weight=1.0 + (np.arange(16) < 4)))
    np.testing.assert_allclose(found.distance[:16], alone.distance, atol=1e-5)
    np.testing.assert_array_equal(found.distance[16:], found.distance[:4])
    absent = qpsvm.influence(qpsvm.CSVM(X, Y, kernel=RBF, sample_weight=1.0 * (np.arange(16) > 2)))
    assert (absent.distance[:3] == 0.0).all()
    last = qpsvm.influence(qpsvm.CSVM([[0.0], [1.0], [2.5]], [0, 1, 1]))
    assert np.isnan(last.distance[0])
    assert np.isfinite(last.distance[1:]).all()
    assert 0 not in last.order
    assert "of 3 samples matter" in repr(last)


def test_what_is_refused():
    with pytest.raises(qpsvm.UnsupportedError, match="OneClass"):
        qpsvm.influence(qpsvm.SVDD(X, nu=0.5))
    with pytest.raises(qpsvm.ParameterTypeError):
        qpsvm.influence(X)
    with pytest.raises(qpsvm.DataError, match="groups"):
        qpsvm.influence(PROBLEMS["rbf"], groups=[1, 2])


def test_when_the_time_is_over_what_is_not_reached_is_unknown():
    found = qpsvm.influence(PROBLEMS["nu"], qpsvm.solve(PROBLEMS["nu"]), time_limit=1e-9)
    assert found.left_out.status is qpsvm.Status.TIME_LIMIT
    assert np.isnan(found.distance).any()
