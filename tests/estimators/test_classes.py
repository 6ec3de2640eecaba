"""Several classes, weights of classes and samples, and ties."""

from __future__ import annotations

import numpy as np
import pytest
from each import for_each
from kinds import ALL, CLASSIFIERS, WITH_KERNEL, X2, X, data, fitted, values, y, y2
from sklearn import svm
from sklearn.multiclass import OneVsRestClassifier

import qpsvm
from qpsvm.estimators import SVC, LinearSVC, NuSVC

NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


def test_scores_of_classes_and_values_of_pairs():
    machine = SVC().fit(X, NAMES)
    assert machine.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    scores = machine.decision_function(X)
    assert scores.shape == (len(X), 3)
    theirs = svm.SVC(tol=1e-9).fit(X, NAMES)
    np.testing.assert_allclose(scores, theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), theirs.predict(X))
    machine.set_params(decision_function_shape="ovo")
    pairs = machine.decision_function(X)
    np.testing.assert_allclose(pairs, theirs.set_params(decision_function_shape="ovo").decision_function(X), atol=1e-4)
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (y == i) | (y == j)
        alone = SVC(gamma=machine._gamma).fit(X[rows], y[rows])
        np.testing.assert_allclose(-alone.decision_function(X), pairs[:, p], atol=1e-4)
    machine.set_params(break_ties=True)
    with pytest.raises(ValueError, match="break_ties must be False"):
        machine.predict(X)


def test_one_against_all_others():
    machine = SVC(multi_class="ovr", gamma=0.3).fit(X, y)
    meta = OneVsRestClassifier(SVC(gamma=0.3)).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), meta.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), meta.predict(X))
    assert machine.dual_coef_.shape == (3, len(machine.support_))
    assert len(machine.results_) == 3


@pytest.mark.parametrize("multi_class", ["crammer_singer", "weston_watkins"])
def test_joint_machines(multi_class):
    problem = {"crammer_singer": qpsvm.CrammerSinger, "weston_watkins": qpsvm.WestonWatkins}[multi_class]
    machine = SVC(kernel="linear", multi_class=multi_class, C=0.5).fit(X, NAMES)
    alone = qpsvm.solve(problem(X, NAMES, 0.5))
    np.testing.assert_allclose(machine.decision_function(X), alone.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(machine.predict(X), NAMES[[NAMES.tolist().index(c) for c in alone.predict(X)]])
    linear = LinearSVC(multi_class=multi_class, C=0.5).fit(X, NAMES)
    np.testing.assert_allclose(linear.coef_, machine.coef_, atol=1e-4)
    np.testing.assert_allclose(X @ linear.coef_.T + linear.intercept_, linear.decision_function(X))
    two = LinearSVC(multi_class=multi_class).fit(X2, y2)
    assert two.coef_.shape == (1, 4)
    np.testing.assert_array_equal(two.predict(X2), two.classes_[(two.decision_function(X2) > 0).astype(int)])
    with pytest.raises(qpsvm.UnsupportedError, match="takes no constraints"):
        SVC(kernel="linear", multi_class=multi_class, constraints=qpsvm.Constraints([[1.0, 0, 0, 0]], [1.0])).fit(X, y)
    with pytest.raises(qpsvm.UnknownOptionError, match="known: 'ovo', 'ovr'"):
        NuSVC(multi_class=multi_class).fit(X, y)


def test_liblinears_joint_machine():
    """Its intercept is penalised, or absent; `penalty` has no effect."""
    for given in (
        {"intercept_scaling": 1.0}, {"fit_intercept": False}, {"intercept_scaling": 3.0},
        {"intercept_scaling": 1.0, "penalty": "l1"},
    ):  # fmt: skip
        ours = LinearSVC(multi_class="crammer_singer", tol=1e-9, **given).fit(X, y)
        theirs = svm.LinearSVC(multi_class="crammer_singer", tol=1e-9, max_iter=100_000, **given).fit(X, y)
        f, g = ours.decision_function(X), theirs.decision_function(X)
        np.testing.assert_allclose(f - f.mean(axis=1, keepdims=True), g - g.mean(axis=1, keepdims=True), atol=1e-4)


@for_each("kind", CLASSIFIERS)
def test_weights_of_classes(kind):
    weights = {1: 1.0, 2: 0.9}
    machine = kind(class_weight=weights).fit(X2, y2)
    assert machine.class_weight_.tolist() == [1.0, 0.9]
    by_sample = kind().fit(X2, y2, sample_weight=np.where(y2 == 2, 0.9, 1.0))
    np.testing.assert_allclose(machine.decision_function(X2), by_sample.decision_function(X2), atol=1e-5)
    few = np.r_[np.flatnonzero(y2 == 1), np.flatnonzero(y2 == 2)[:12]]
    balanced = kind(class_weight="balanced").fit(X2[few], y2[few])
    np.testing.assert_allclose(balanced.class_weight_, len(few) / (2 * np.bincount(y2[few])[1:]))
    for bad, words in (({3: 1.0, 4: 1.0}, "not in class_weight"), ({1: -1.0}, "must be positive")):
        with pytest.raises(ValueError, match=words):
            kind(class_weight=bad).fit(X2, y2)
    texts = np.where(y2 == 1, "1", "01")  # text that could be read as numbers, even as the same one
    for weights, factors in (({"1": 0.9}, [1.0, 0.9]), ({"01": 0.8, "1": 0.9}, [0.8, 0.9])):
        assert kind(class_weight=weights).fit(X2, texts).class_weight_.tolist() == factors
    for bad, words in (({"2": 1.0}, "not in class_weight"), ({"1": None}, "must be positive"), ({"1": "a"}, "float")):
        with pytest.raises(qpsvm.QPSVMError, match=words):
            kind(class_weight=bad).fit(X2, texts)


@for_each("kind", ALL)
def test_a_sample_without_weight_takes_no_part(kind):
    own, target = data(kind)
    parameters = {"gamma": 0.4} if kind in WITH_KERNEL else {}
    weight = np.ones(len(own))
    weight[1::7] = [0.0, -1.0, *np.zeros(len(weight[1::7]) - 2)]
    kept = weight > 0
    machine = fitted(kind, weight=weight, **parameters)
    without = kind(**parameters).fit(own[kept], None if target is None else target[kept])
    np.testing.assert_allclose(values(machine, own), values(without, own), atol=1e-5)
    if kind in WITH_KERNEL:
        assert kept[machine.support_].all()


@for_each("kind", CLASSIFIERS)
def test_classes_without_weight_are_refused(kind):
    with pytest.raises(ValueError, match=r"positive weights belong to the same class|infeasible|class 1 are 0"):
        kind().fit(X2, y2, sample_weight=(y2 == 2).astype(float))
    with pytest.raises(ValueError, match=r"class 1 has weight 0|class 1 are 0|specified nu is infeasible"):
        kind().fit(X, y, sample_weight=(y != 1).astype(float))
    with pytest.raises(qpsvm.DataError, match="all samples have zero or negative weights"):
        kind().fit(X, y, sample_weight=np.zeros(len(X)))


def test_feasible_values_of_nu_depend_on_ratios_of_weights_only():
    """Their smallest double is no ordinary number; ν is at most 1 where both classes weigh as much."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = [0, 0, 1, 1]
    expected = NuSVC(nu=0.9, kernel="linear").fit(X, y)
    machine = NuSVC(nu=0.9, kernel="linear").fit(X, y, sample_weight=5e-324)
    np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_an_infeasible_nu_is_told_before_there_is_a_kernel_value():
    asked = []

    def kernel(A, B):
        asked.append(len(A))
        return A @ B.T

    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1), np.flatnonzero(y == 2)[:3]]
    with pytest.raises(qpsvm.InfeasibleNuError, match="specified nu is infeasible") as caught:
        NuSVC(nu=0.5, kernel=kernel).fit(X[few], y[few])
    assert caught.value.nu_max == pytest.approx(2 * 3 / (3 + (y == 0).sum()))
    assert not asked
