"""Leave-one-out machines against solves of the others."""

from __future__ import annotations

import numpy as np
import pytest

import qpsvm
from qpsvm.machines.problem.derived_problems import restrict_to_rows


def machine(which: int, rounded: bool) -> qpsvm.Problem:
    rng = np.random.default_rng(which)
    X = rng.normal(size=(24, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=24) > 0.0, 1, 0)
    y[:2] = 0, 1
    t = X[:, 0] + 0.3 * rng.normal(size=24)
    X = np.round(X) if rounded else X
    rbf = qpsvm.RBF(0.5)
    weight = np.where(np.arange(24) % 3, 1.0, 2.0)
    return [
        lambda: qpsvm.CSVM(X, y, C=2.0, kernel=rbf, sample_weight=weight), lambda: qpsvm.CSVM(X, y, C=10.0),
        lambda: qpsvm.PrimalHinge(X, y, lam=0.02, kernel=rbf), lambda: qpsvm.NuSVM(X, y, nu=0.4, kernel=rbf),
        lambda: qpsvm.SquaredHinge(X, y, C=2.0, kernel=rbf), lambda: qpsvm.HuberHinge(X, y, C=2.0, kernel=rbf),
        lambda: qpsvm.EpsilonSVR(X, t, C=3.0, kernel=rbf), lambda: qpsvm.NuSVR(X, t, C=3.0, kernel=rbf),
        lambda: qpsvm.QuantileSVR(X, t, quantile=0.3, kernel=rbf), lambda: qpsvm.OneClass(X, nu=0.3, kernel=rbf),
        lambda: qpsvm.SVDD(X, nu=0.3, kernel=rbf), lambda: qpsvm.HardMargin(X, y, kernel=qpsvm.RBF(5.0)),
    ][which]()  # fmt: skip


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("which", range(12))
def test_decisions_are_those_of_the_others(which, rounded):
    if which == 11 and rounded:
        pytest.skip("rounded samples are of both classes: there is no hard margin")
    problem = machine(which, rounded)
    found = qpsvm.leave_one_out(problem)
    assert found.status == "optimal"
    for i in range(0, problem.n, 3):
        own = qpsvm.solve(restrict_to_rows(problem, np.delete(np.arange(problem.n), i)), tol=1e-12, check=False)
        width = own.b_interval[1] - own.b_interval[0]
        assert found.gap[i] <= 1e-6
        assert abs(found.decision[i] - own.decision_function(problem.X[[i]])[0]) <= 1e-5 + 1.001 * width


def test_groups_are_left_out_together():
    problem = machine(0, False)
    groups = np.arange(24) % 4
    found = qpsvm.leave_one_out(problem, groups=groups)
    for group in range(4):
        own = qpsvm.solve(restrict_to_rows(problem, np.flatnonzero(groups != group)), tol=1e-12, check=False)
        np.testing.assert_allclose(found.decision[groups == group], own.decision_function(problem.X[groups == group]),
                                   atol=1e-6)  # fmt: skip


def test_the_last_sample_of_its_class_has_no_machine():
    found = qpsvm.leave_one_out(qpsvm.CSVM([[0.0], [1.0], [2.0]], [0, 1, 1]))
    assert np.isnan(found.decision[0])
    assert np.isfinite(found.decision[1:]).all()
    assert "no other sample of its class" in found.message


def test_samples_of_weight_0_train_nothing():
    X = np.array([[0.0], [1.0], [3.0], [4.5], [1.5]])
    problem = qpsvm.CSVM(X, [0, 0, 1, 1, 1], sample_weight=[1, 1, 1, 1, 0])
    found = qpsvm.leave_one_out(problem)
    assert found.decision[4] == pytest.approx(qpsvm.solve(problem).decision_function(X[4:])[0])
    groups = np.array(["a", "a", "b", "c", "b"])  # the last sample is left out with the third one
    for of_groups in (qpsvm.leave_one_out(problem, groups=groups), qpsvm.influence(problem, groups=groups).left_out):
        others = qpsvm.solve(qpsvm.CSVM(X[[0, 1, 3]], [0, 0, 1]))
        np.testing.assert_allclose(of_groups.decision[[2, 4]], others.decision_function(X[[2, 4]]))


def test_a_result_to_begin_from_changes_nothing():
    problem = machine(0, True)
    rough = qpsvm.solve(problem, tol=1e-3, polish=False, check=False)
    one = qpsvm.leave_one_out(problem, rough)
    other = qpsvm.leave_one_out(problem)
    np.testing.assert_allclose(one.decision, other.decision, atol=1e-7)


def test_a_time_limit_leaves_what_was_reached():
    found = qpsvm.leave_one_out(machine(0, False), qpsvm.solve(machine(0, False), tol=1e-12), time_limit=1e-9)
    assert found.status == "time_limit"
    assert np.isnan(found.decision).all()


def test_what_is_refused():
    problem = machine(0, False)
    with pytest.raises(qpsvm.DataError):
        qpsvm.leave_one_out(problem, groups=[1, 2])
    with pytest.raises(qpsvm.DataError):
        qpsvm.leave_one_out(problem, qpsvm.solve(qpsvm.CSVM([[0.0], [1.0]], [0, 1])))
    with pytest.raises(qpsvm.ParameterTypeError):
        qpsvm.leave_one_out([[0.0]])
    with pytest.raises(qpsvm.UnsupportedError):
        qpsvm.leave_one_out(qpsvm.Ranking([[0.0], [1.0], [2.0]], [0, 1, 2]))
