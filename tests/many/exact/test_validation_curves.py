"""Cross-validation over an interval: the curves against independent solves at random values."""

from __future__ import annotations

import numpy as np
import pytest
from counted import CountingClock
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.many.exact import active_set, path
from qpsvm.many.exact.error_curve import ErrorCurve
from qpsvm.many.exact.validation import average_curves

X, Y = make_moons(60, noise=0.35, random_state=3)
ROWS = np.arange(len(X))
FOLDS = [(ROWS[k != ROWS % 3], ROWS[k == ROWS % 3]) for k in range(3)]
RBF = qpsvm.RBF(1.0)
MACHINES = {
    "CSVM": (qpsvm.CSVM, {"kernel": RBF}, "C", 0.05, 50.0),
    "linear": (qpsvm.CSVM, {}, "C", 0.05, 50.0),
    "weights": (qpsvm.CSVM, {"kernel": RBF, "sample_weight": True}, "C", 0.05, 50.0),
    "no intercept": (qpsvm.CSVM, {"kernel": RBF, "intercept": None}, "C", 0.05, 50.0),
    "hinge": (qpsvm.PrimalHinge, {"kernel": RBF}, "lam", 0.001, 1.0),
    "nu": (qpsvm.NuSVM, {"kernel": RBF, "nu": 0.3}, "nu", 0.2, 0.7),
}


@pytest.mark.parametrize("name", MACHINES)
def test_curves_are_what_solves_of_their_own_say(name):
    machine, given, parameter, low, high = MACHINES[name]
    weight = np.where(ROWS % 4, 1.0, 2.0)
    weighted = given.get("sample_weight", False)
    given = {key: value for key, value in given.items() if key != "sample_weight"}
    whole = machine(X, Y, **given, **({"sample_weight": weight} if weighted else {}))
    found = qpsvm.cross_validate(whole, folds=FOLDS, **{parameter: qpsvm.Interval(low, high)})
    assert (found.status == "optimal").all()
    assert (found.reached == high).all()
    rng = np.random.default_rng(0)
    judged = 0
    for value in np.exp(rng.uniform(np.log(low), np.log(high), 25)):
        errors = []
        sure = True
        for (train, test), curve in zip(FOLDS, found.curves, strict=True):
            extra = {"sample_weight": weight[train]} if weighted else {}
            own = machine(X[train], Y[train], **{**given, **extra, parameter: float(value)})
            result = qpsvm.solve(own, tol=1e-10)
            f = result.decision_function(X[test])
            if not len(result.on_margin) or np.abs(f).min() < 1e-5:  # b, or the label, is one of several
                sure = False
                continue
            errors.append(float(np.mean((f > 0) != (Y[test] == 1))))
            k = int(np.searchsorted(curve.edges, value)) - 1
            assert curve.values[k] == pytest.approx(errors[-1], abs=1e-12)
        if sure:
            judged += 1
            assert found.at(float(value)) == pytest.approx(np.mean(errors), abs=1e-12)
    assert judged >= 5


def test_the_least_error_is_no_larger_than_on_any_grid():
    problem = qpsvm.CSVM(X, Y, kernel=RBF)
    values = np.geomspace(0.05, 100, 40)
    grid = qpsvm.cross_validate(problem, C=values, gamma=[0.3, 2.0], folds=FOLDS)
    found = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.05, 100), gamma=[0.3, 2.0], folds=FOLDS, tol=1e-8)
    assert found.best_score <= 1.0 - grid.best_score + 1e-12
    np.testing.assert_array_equal(found.axes["gamma"], [0.3, 2.0])
    assert found.curves.shape == (3, 2)
    assert found.mean.shape == found.bests.shape == (2,)
    assert (found.gaps <= 1e-8).all()
    low, high = found.best_interval
    inside = np.exp(np.random.default_rng(1).uniform(np.log(low), np.log(high), 20))
    assert (found.at(inside)[found.best_index] == found.best_score).all()
    everywhere = found.at(np.geomspace(0.05, 100, 5000)).min()
    assert everywhere >= found.best_score
    np.testing.assert_allclose(found.best_problem.C, found.best["C"])
    assert found.best_problem.kernel.gamma == found.best["gamma"]
    assert found.refit().status == "optimal"
    assert "every C from 0.05 to 100" in str(found)


def test_several_processes_say_the_same():
    problem = qpsvm.CSVM(X, Y, kernel=RBF)
    one = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 10), gamma=[0.5, 1.0], folds=3)
    two = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.1, 10), gamma=[0.5, 1.0], folds=3, n_jobs=2)
    for a, b in zip(one.curves.ravel(), two.curves.ravel(), strict=True):
        np.testing.assert_allclose(a.edges, b.edges, rtol=1e-9)
        np.testing.assert_array_equal(a.values, b.values)


def test_means_merge_edges_and_count_in_whole_numbers():
    one = ErrorCurve(np.array([1.0, 2.0, 4.0]), np.array([1 / 3, 2 / 3]))
    two = ErrorCurve(np.array([1.0, 3.0, 4.0]), np.array([4 / 7, 0.0]))
    mean = average_curves([one, two], [3, 7])
    np.testing.assert_array_equal(mean.edges, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(mean.values, [(1 / 3 + 4 / 7) / 2, (2 / 3 + 4 / 7) / 2, 1 / 3])
    short = ErrorCurve(np.array([1.0, 2.5]), np.array([0.0]))
    np.testing.assert_array_equal(average_curves([one, short], [3, 5]).edges, [1.0, 2.0, 2.5])
    none = ErrorCurve(np.array([1.0]), np.zeros(0))
    assert not len(average_curves([one, none], [3, 5]).values)


@pytest.mark.parametrize("looks", [0, 3])
def test_a_path_that_stops_early_is_said_and_used(monkeypatch, looks):
    monkeypatch.setattr(CountingClock, "looks", looks)
    monkeypatch.setattr(path, "Clock", CountingClock)
    monkeypatch.setattr(active_set, "EVENTS_PER_CLOCK_CHECK", 1)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(300, 5))
    labels = np.arange(300) % 2
    problem = qpsvm.CSVM(many, labels, kernel=qpsvm.RBF(0.5))
    with pytest.warns(qpsvm.InaccurateWarning, match="what was reached is used"):
        found = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.01, 1e4), folds=2)
    assert (found.status == "time_limit").all()
    assert (found.reached < 1e4).all()
    end = found.reached.min()
    assert (end > 0.01) == (looks > 0)
    assert np.isnan(found.at(9e3))
    if looks:
        assert found.mean[()].edges[-1] == end
        assert found.best["C"] <= end
    else:
        with pytest.raises(qpsvm.UnsupportedError, match="no point has a path"):
            found.best  # noqa: B018


def test_what_is_refused():
    problem = qpsvm.CSVM(X, Y, kernel=RBF)
    all_c = qpsvm.Interval(0.1, 1)
    with pytest.raises(qpsvm.UnsupportedError, match=r"gamma does not enter the dual linearly.*gamma=\["):
        qpsvm.cross_validate(problem, gamma=all_c)
    with pytest.raises(qpsvm.UnsupportedError, match="degree does not enter"):
        qpsvm.cross_validate(qpsvm.CSVM(X, Y, kernel="polynomial"), degree=qpsvm.Interval(1, 3))
    with pytest.raises(qpsvm.UnknownOptionError, match="no parameter 'nu'"):
        qpsvm.cross_validate(problem, nu=all_c)
    with pytest.raises(qpsvm.UnknownOptionError, match="backend"):
        qpsvm.cross_validate(problem, C=all_c, backend="osqp")
    with pytest.raises(qpsvm.UnsupportedError, match="wrong labels"):
        qpsvm.cross_validate(problem, C=all_c, scoring="roc_auc")
    with pytest.raises(qpsvm.UnsupportedError, match="predicts numbers"):
        qpsvm.cross_validate(qpsvm.EpsilonSVR(X, X[:, 0]), C=all_c)
    with pytest.raises(qpsvm.UnsupportedError, match="bends the loss"):
        qpsvm.cross_validate(qpsvm.SquaredHinge(X, Y), C=all_c)
    with pytest.raises(qpsvm.ParameterError, match="intervals"):
        qpsvm.cross_validate(qpsvm.NuSVR(X, X[:, 0]), C=all_c, nu=qpsvm.Interval(0.1, 0.5))
    with pytest.raises(qpsvm.UnsupportedError, match="exact_path"):
        qpsvm.path(problem, C=all_c)
