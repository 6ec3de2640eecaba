"""The estimators in scikit-learn's company, and what they take besides: solvers, limits, constraints, callbacks."""

from __future__ import annotations

import importlib.util
import logging

import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from kinds import ALL, X2, XR, X, data, fitted, t, values, y, y2
from sklearn import svm
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM


@for_each("kind", ALL)
def test_in_a_pipeline_and_a_search(kind):
    own, target = data(kind)
    pipeline = make_pipeline(StandardScaler(), kind())
    grid = {f"{kind.__name__.lower()}__tol": [1e-4, 1e-6]}
    scoring = None if target is not None else lambda machine, A, _=None: float(np.mean(machine.predict(A) == 1))
    search = GridSearchCV(pipeline, grid, cv=2, scoring=scoring).fit(own, target)
    assert search.best_estimator_[-1].gap_ <= 1e-4
    assert np.isfinite(cross_val_score(pipeline, own, target, cv=2, scoring=scoring)).all()


@for_each("given, sparse", [({"intercept_scaling": 1.0}, False), ({"intercept_scaling": 2.5}, True),
                            ({"fit_intercept": False}, False), ({"fit_intercept": False}, True)])  # fmt: skip
def test_scikit_learns_problem_with_its_intercept(given, sparse):
    """Its objective, with the penalised intercept, is no lower at its own answer than at ours."""
    samples = sp.csr_array(X2 + 1.0) if sparse else X2 + 1.0
    targets = samples @ np.array([1.0, -0.5, 0.3, 0.2]) + 0.3 * np.sin(np.arange(len(y2)))
    signs = np.where(y2 == 2, 1.0, -1.0)
    cases = [
        (LinearSVC, svm.LinearSVC, "hinge", y2, lambda f: np.maximum(0.0, 1.0 - signs * f).sum()),
        (LinearSVC, svm.LinearSVC, "squared_hinge", y2, lambda f: (np.maximum(0.0, 1.0 - signs * f) ** 2).sum()),
        (LinearSVR, svm.LinearSVR, "epsilon_insensitive", targets, lambda f: np.abs(f - targets).sum()),
        (LinearSVR, svm.LinearSVR, "squared_epsilon_insensitive", targets, lambda f: ((f - targets) ** 2).sum()),
    ]
    for ours, theirs, loss, target, cost in cases:

        def objective(machine, cost=cost):
            w = machine.coef_.ravel()
            b = float(np.ravel(machine.intercept_)[0]) if machine.fit_intercept else 0.0
            return 0.5 * w @ w + 0.5 * (b / given.get("intercept_scaling", 1.0)) ** 2 + cost(samples @ w + b)

        mine = ours(loss=loss, tol=1e-9, **given).fit(samples, target)
        peer = theirs(loss=loss, tol=1e-10, max_iter=200_000, dual=True, random_state=0, **given).fit(samples, target)
        assert objective(mine) <= objective(peer) * (1.0 + 1e-9)
        np.testing.assert_allclose(objective(mine), objective(peer), rtol=1e-5)


def test_an_intercept_that_is_not_asked_for_is_0():
    through = SVC(kernel="linear", fit_intercept=False).fit(X2, y2)
    assert through.intercept_ == 0.0
    np.testing.assert_allclose(through.decision_function(X2), X2 @ through.coef_[0])
    assert not SVR(fit_intercept=False).fit(*data(SVR)).intercept_.any()
    for machine in (LinearSVC(), LinearSVC(penalty="l1"), LinearSVR()):
        through = machine.set_params(fit_intercept=False).fit(*data(type(machine)))
        assert type(through.intercept_) is float  # as in scikit-learn
        assert through.intercept_ == 0.0


@for_each("kind", [SVC, NuSVC, LinearSVC, SVR, LinearSVR, OneClassSVM, SVDD])
def test_any_backend_gives_the_same(kind):
    own, _ = data(kind)
    usual = fitted(kind)
    other = fitted(kind, backend="cvxopt")
    results = other.results_ if hasattr(other, "results_") else [other.result_]
    assert {result.solver.name for result in results} == {"cvxopt"}
    np.testing.assert_allclose(values(usual, own), values(other, own), atol=1e-3)


def test_names_of_columns():
    """Of a frame of pandas or of Polars; whose columns lie one behind the other, which sums otherwise."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    same = SVC().fit(X, y).decision_function(X)
    for frame, target in ((pandas.DataFrame(X, columns=["a", "b", "c", "d"]), pandas.Series(y)),
                          (polars.DataFrame(X, schema=["a", "b", "c", "d"]), polars.Series(y))):  # fmt: skip
        machine = SVC().fit(frame, target)
        assert machine.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        np.testing.assert_allclose(machine.decision_function(frame), same, rtol=1e-9, atol=1e-9)  # as far as is solved
        with pytest.raises(ValueError, match="feature names should match"):
            machine.predict(frame[["b", "a", "c", "d"]])
        with pytest.warns(UserWarning, match="feature names"):  # the quick way for plain arrays is not taken
            machine.predict(X)


def test_constraints_are_kept():
    limit = qpsvm.Constraints([[1.0, 0.0, 0.0, 0.0]], [-0.5], names=["w_0 at most −1/2"])
    assert SVC(kernel="linear", constraints=limit).fit(X2, y2).coef_[0, 0] <= -0.5 + 1e-9
    for machine in (LinearSVR(constraints=limit), SVR(kernel="linear", constraints=limit)):
        assert machine.fit(XR, t).coef_.ravel()[0] <= -0.5 + 1e-9


@for_each("kind", [SVC, LinearSVC, SVR, OneClassSVM])
def test_a_warm_start_is_where_the_last_fit_ended(kind):
    own, target = data(kind)
    machine = kind(warm_start=True, backend="auto").fit(own, target)
    first = values(machine, own)
    machine.fit(own, target)
    np.testing.assert_allclose(values(machine, own), first, atol=1e-4)
    machine.fit(own[:40], None if target is None else target[:40])  # of other samples: from nowhere
    assert machine.gap_ <= machine.tol


def test_processes_and_progress(caplog):
    alone = SVC(backend="cvxopt").fit(X, y)
    together = SVC(backend="cvxopt", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), together.decision_function(X))
    with caplog.at_level(logging.INFO, logger="qpsvm"):
        SVR(verbose=True).fit(XR, t)
    assert "gap" in caplog.text


def test_several_machines_are_counted(capsys, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None if name == "tqdm" else find_spec(name))
    SVC(backend="cvxopt", verbose=True).fit(X, y)
    assert "3 of 3 machines" in capsys.readouterr().out


def test_callbacks_hear_of_begin_and_end():
    callback = pytest.importorskip("sklearn.callback")
    heard = []

    class Listener:
        def setup(self, estimator, context):  # noqa: ARG002
            heard.append("setup")

        def teardown(self, estimator, context):  # noqa: ARG002
            heard.append("teardown")

        def on_fit_task_begin(self, estimator, context, *, X=None):  # noqa: ARG002
            heard.append(("begin", len(X)))

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):  # noqa: ARG002
            heard.append(("end", fitted_estimator.gap_ <= 1e-6))

    for kind in (SVC, LinearSVC, SVR, LinearSVR, SVDD):
        heard.clear()
        own, target = data(kind)
        kind().set_callbacks(Listener()).fit(own, target)
        assert heard == ["setup", ("begin", len(own)), ("end", True), "teardown"]
    assert issubclass(SVC, callback.CallbackSupportMixin)
