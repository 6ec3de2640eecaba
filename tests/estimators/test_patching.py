"""Programs written for scikit-learn, run on this library's estimators: what they get, and what they get back."""

from __future__ import annotations

import logging
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.calibration
from each import for_each
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import _classes

import qpsvm
from qpsvm import estimators
from qpsvm.estimators.patch import classes as patched
from qpsvm.estimators.patch import patching
from qpsvm.estimators.patch.classes import CLASSES
from qpsvm.solvers.kernel.libsvm import build_silent_class

X, Y = load_iris(return_X_y=True)
#: Two classes that overlap, and every third sample of them.
X2, Y2 = X[50::3], Y[50::3]
ORIGINALS = {name: getattr(svm, name) for name in CLASSES}


@pytest.fixture
def _patch():
    """Scikit-learn's names, taken over for one test."""
    with qpsvm.patch_sklearn():
        yield


# --- names ------------------------------------------------------------------------------------------------------------


def names_now() -> dict[str, type]:
    return {name: getattr(svm, name) for name in CLASSES}


def test_names_are_taken_and_given_back_as_they_were():
    listed = list(svm.__all__)
    doc = svm.__doc__
    first = qpsvm.patch_sklearn()
    assert names_now() == CLASSES
    assert first.names == tuple(CLASSES)
    assert sklearn.calibration.LinearSVC is CLASSES["LinearSVC"]
    assert {name: getattr(_classes, name) for name in CLASSES} == ORIGINALS  # by which pickles find them
    second = qpsvm.patch_sklearn()
    assert second.names == ()
    with second:  # took nothing, and so gives nothing back
        pass
    assert names_now() == CLASSES
    assert (svm.__all__, svm.__doc__) == (listed, doc)
    for _ in range(2):
        qpsvm.unpatch_sklearn()
        assert names_now() == ORIGINALS
    assert sklearn.calibration.LinearSVC is ORIGINALS["LinearSVC"]


def test_some_names_only():
    with qpsvm.patch_sklearn("SVC"), qpsvm.patch_sklearn(["LinearSVC", "SVC"]) as inner:
        assert inner.names == ("LinearSVC",)
        assert "LinearSVC" in repr(inner)
        assert {name for name, kind in names_now().items() if kind is CLASSES[name]} == {"SVC", "LinearSVC"}
        qpsvm.unpatch_sklearn("SVC")
        assert svm.SVC is ORIGINALS["SVC"]
    assert names_now() == ORIGINALS
    for function in (qpsvm.patch_sklearn, qpsvm.unpatch_sklearn):
        with pytest.raises(qpsvm.UnknownOptionError, match="did you mean 'LinearSVC'"):
            function(["SVC", "linear_svc"])
    assert names_now() == ORIGINALS


def test_what_somebody_else_had_put_there_comes_back(monkeypatch):
    other = type("SVC", (), {})
    monkeypatch.setattr(svm, "SVC", other)
    with qpsvm.patch_sklearn():
        assert svm.SVC is CLASSES["SVC"]
    assert svm.SVC is other
    qpsvm.patch_sklearn()
    svm.SVC = other  # put there after us: it is not ours to take away
    qpsvm.unpatch_sklearn()
    assert svm.SVC is other


def test_imports_before_the_patch_are_told(caplog, monkeypatch):
    early = type(sys)("early_bird")
    early.Machine = ORIGINALS["NuSVC"]
    monkeypatch.setitem(sys.modules, "early_bird", early)
    monkeypatch.setattr(patching, "MAX_LISTED", 1000)  # other tests import NuSVC, too, and the first few are named
    with qpsvm.patch_sklearn("NuSVC"):
        assert early.Machine is ORIGINALS["NuSVC"]
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.name.startswith("qpsvm")
    assert "early_bird.Machine" in record.getMessage()


# --- the same problems ------------------------------------------------------------------------------------------------


@for_each("name", CLASSES)
def test_parameters_are_scikit_learns_and_ours(name):
    theirs, ours = ORIGINALS[name]().get_params(), CLASSES[name]().get_params()
    assert theirs.keys() <= ours.keys()
    assert ours.keys() == getattr(estimators, name)().get_params().keys()
    differ = {key for key in theirs if ours[key] != theirs[key]}
    assert differ <= {"tol", "max_iter"}
    assert repr(CLASSES[name](verbose=True)) == f"{name}(verbose=True)"
    assert CLASSES[name].__doc__


@for_each("name", CLASSES)
def test_answers_are_scikit_learns_at_a_fine_tolerance(name):
    labels = X2[:, 0] * X2[:, 2] if name.endswith("SVR") else Y2
    points = (X2 - X2.mean(axis=0)) / X2.std(axis=0)
    how = {"max_iter": 100_000, "random_state": 0} if name.startswith("Linear") else {}
    theirs = ORIGINALS[name](tol=1e-7, **how).fit(points, labels)
    ours = CLASSES[name]().fit(points, labels)
    assert ours.fallback_ is None
    assert ours.gap_ <= 1e-6
    answer = "predict" if name.endswith("SVR") else "decision_function"
    np.testing.assert_allclose(getattr(ours, answer)(points), getattr(theirs, answer)(points), atol=5e-3)
    if name.startswith("Linear"):  # not the free intercept, which is another
        free = getattr(estimators, name)().fit(points + 10, labels)
        penalised = CLASSES[name]().fit(points + 10, labels)
        at_ten = ORIGINALS[name](tol=1e-7, **how).fit(points + 10, labels)
        assert abs(penalised.intercept_ - at_ten.intercept_) < 0.1 * abs(penalised.intercept_ - free.intercept_)


# --- what falls back --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The `probability` parameter", "ignore:Liblinear failed")
@pytest.mark.usefixtures("_patch")
def test_what_is_refused_is_fitted_by_scikit_learn_and_said(caplog):
    caplog.set_level(logging.INFO, "qpsvm")
    machine = svm.SVC(probability=True, random_state=0)
    assert hasattr(machine, "predict_proba")
    with pytest.raises(NotFittedError):
        machine.predict_proba(X)
    machine.fit(X, Y)
    assert type(machine.fallback_) is ORIGINALS["SVC"]
    expected = ORIGINALS["SVC"](probability=True, random_state=0).fit(X, Y)
    for attribute in ("support_", "dual_coef_", "n_support_", "classes_", "intercept_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(machine, attribute), getattr(expected, attribute))
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(again.decision_function(X), expected.decision_function(X))
    assert machine.score(X, Y) == expected.score(X, Y)
    for absent in ("gap_", "coef_", "no_such_thing"):
        assert not hasattr(machine, absent)
    machine.set_params(probability=False).fit(X, Y)  # and back
    assert machine.fallback_ is None
    assert machine.gap_ <= 1e-6
    assert not hasattr(machine, "predict_proba")
    machine.set_params(kernel="sigmoid").fit(X, Y)
    assert not hasattr(machine, "gap_")
    how = {"penalty": "l1", "dual": False, "random_state": 0}
    sparse = svm.LinearSVC(**how).fit(X2, Y2)
    np.testing.assert_array_equal(sparse.coef_, ORIGINALS["LinearSVC"](**how).fit(X2, Y2).coef_)
    said = [(record.levelname, record.getMessage()) for record in caplog.records if "fit" in record.getMessage()
            or "falls" in record.getMessage()]  # fmt: skip
    fits = [line for line in said if line[1].startswith(("SVC is", "SVC falls", "LinearSVC falls"))]
    assert [level for level, _ in fits] == ["WARNING", "INFO", "WARNING", "WARNING"]
    for (_, text), word in zip(fits, ("probability=True", "gap", "indefinite", "penalty='l1'"), strict=True):
        assert word in text


@pytest.mark.usefixtures("_patch")
def test_errors_of_a_program_for_scikit_learn_are_scikit_learns():
    for wrong, points in (({"C": -1.0}, X), ({"kernel": "no"}, X), ({}, np.full_like(X, np.nan))):
        with pytest.raises(ValueError, match=r"\w") as ours:
            svm.SVC(**wrong).fit(points, Y)
        with pytest.raises(ValueError, match=r"\w") as theirs:
            ORIGINALS["SVC"](**wrong).fit(points, Y)
        assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))
        assert ours.value.__context__ is None or not isinstance(ours.value.__context__, qpsvm.QPSVMError)
    with pytest.raises(NotFittedError):
        svm.SVC().predict(X)


@pytest.mark.usefixtures("_patch")
def test_who_asks_for_what_only_this_library_has_gets_its_error():
    with pytest.raises(qpsvm.UnsupportedError, match="probability=True"):
        svm.SVC(probability=True, backend="osqp").fit(X, Y)
    with pytest.raises(qpsvm.ParameterError):
        svm.SVC(C=-1.0, kernel=qpsvm.RBF()).fit(X, Y)
    with pytest.raises(qpsvm.NotSeparableError):  # LIBSVM would not end
        svm.SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0])


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_patch")
def test_pipelines_searches_clones_and_subclasses():
    class Mine(svm.SVC):
        def __init__(self, C: float = 1.0) -> None:
            super().__init__(C=C, kernel="linear")

        def predict(self, X: Any) -> Any:
            return super().predict(X)

    search = GridSearchCV(make_pipeline(StandardScaler(), svm.SVC()), {"svc__C": [0.1, 10.0]}, cv=3).fit(X, Y)
    assert isinstance(search.best_estimator_[-1], svm.SVC)
    assert type(clone(svm.LinearSVC(C=3))) is CLASSES["LinearSVC"]
    mine = Mine(C=2.0).fit(X, Y)
    assert mine.fallback_ is None
    assert mine.get_params() == {"C": 2.0}
    np.testing.assert_array_equal(mine.predict(X), CLASSES["SVC"](C=2.0, kernel="linear").fit(X, Y).predict(X))
    assert not isinstance(ORIGINALS["SVC"](), Mine)
    assert cross_val_score(Mine(), X, Y, cv=3).min() > 0.9


@pytest.mark.usefixtures("_patch")
def test_models_of_scikit_learn_from_before_are_read_and_known():
    before = pickle.dumps(ORIGINALS["SVC"]().fit(X, Y))
    old = pickle.loads(before)
    assert type(old) is ORIGINALS["SVC"]
    assert isinstance(old, svm.SVC)
    assert not isinstance(old, svm.SVR)
    assert old.score(X, Y) > 0.9


@pytest.mark.usefixtures("_patch")
def test_solvers_of_this_library_go_on_with_scikit_learns_own(caplog):
    """What is solved by way of scikit-learn's own code is no second fit of ours."""
    caplog.set_level(logging.INFO, "qpsvm.patch")
    assert svm.LinearSVC(multi_class="crammer_singer").fit(X, Y).gap_ <= 1e-6
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["LinearSVC is fitted by qpsvm"]
    assert patched.SVC not in build_silent_class.__wrapped__("SVC").__mro__
    root = Path(qpsvm.__file__).parent
    taken = re.compile(
        r"^ *(?:from sklearn\.svm import (?!_)|import sklearn\.svm|from sklearn import svm)", re.MULTILINE
    )
    assert [path.name for path in root.rglob("*.py") if taken.search(path.read_text("utf-8"))] == ["patching.py"]


def test_class_weights_of_several_classes_are_liblinears():
    """It weighs the class that is separated, and not the rest, so that its own class fits."""
    several = CLASSES["LinearSVC"](class_weight={2: 5.0}).fit(X, Y)
    np.testing.assert_array_equal(several.predict(X), svm.LinearSVC(class_weight={2: 5.0}).fit(X, Y).predict(X))
    assert several.fallback_ is not None
    assert CLASSES["LinearSVC"](class_weight={1: 5.0}).fit(X, Y > 0).fallback_ is None
