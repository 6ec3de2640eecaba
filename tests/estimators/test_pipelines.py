"""The estimators in scikit-learn's company, and what they take besides: solvers, limits, constraints, callbacks."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from kinds import ALL, X2, XR, X, by_name, data, fitted, t, values, y, y2
from sklearn import svm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm.estimators import SVC, SVDD, SVR, GapWarning, LinearSVC, LinearSVR, NuSVC, OneClassSVM

#: What asks for scikit-learn's own problem.
INTERCEPTS = ({"intercept_scaling": 1.0}, {"intercept_scaling": 2.5}, {"fit_intercept": False})


@pytest.mark.parametrize(**by_name(ALL))
def test_in_a_pipeline_and_a_search(kind):
    own, target = data(kind)
    pipeline = make_pipeline(StandardScaler(), kind())
    grid = {f"{kind.__name__.lower()}__tol": [1e-4, 1e-6]}
    scoring = None if target is not None else lambda machine, A, _=None: float(np.mean(machine.predict(A) == 1))
    search = GridSearchCV(pipeline, grid, cv=2, scoring=scoring).fit(own, target)
    assert search.best_estimator_[-1].gap_ <= 1e-4
    assert np.isfinite(cross_val_score(pipeline, own, target, cv=2, scoring=scoring)).all()


def test_weights_are_routed():
    weight = np.where(y2 == 1, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        machine = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, machine).fit(X2, y2, sample_weight=weight)
        search = GridSearchCV(make_pipeline(scaler, machine), {"svc__C": [1.0]}, cv=2)
        search.fit(X2, y2, sample_weight=weight)
    alone = SVC().fit(StandardScaler().fit_transform(X2), y2, sample_weight=weight)
    np.testing.assert_allclose(
        pipeline.decision_function(X2), alone.decision_function(StandardScaler().fit_transform(X2))
    )
    np.testing.assert_array_equal(search.decision_function(X2), pipeline.decision_function(X2))


def test_probabilities_by_calibration():
    machine = CalibratedClassifierCV(SVC(), cv=2).fit(X, y)
    chance = machine.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert machine.score(X, y) > 0.8


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    machine = SVC().fit(frame, pandas.Series(y))
    assert machine.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    same = SVC().fit(X, y).decision_function(X)  # a frame's columns lie one behind the other, which sums otherwise
    np.testing.assert_allclose(machine.decision_function(frame), same, rtol=1e-9, atol=1e-9)  # as far as is solved
    with pytest.raises(ValueError, match="feature names should match"):
        machine.predict(frame[["b", "a", "c", "d"]])


def test_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=["a", "b", "c", "d"])
    machine = SVC().fit(frame, polars.Series(y))
    np.testing.assert_array_equal(machine.predict(frame), SVC().fit(X, y).predict(X))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "given", [{"intercept_scaling": 1.0}, {"intercept_scaling": 2.5}, {"fit_intercept": False}], ids=str
)
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
            w, b = machine.coef_.ravel(), float(np.ravel(machine.intercept_)[0]) if machine.fit_intercept else 0.0
            return 0.5 * w @ w + 0.5 * (b / given.get("intercept_scaling", 1.0)) ** 2 + cost(samples @ w + b)

        mine = ours(loss=loss, tol=1e-9, **given).fit(samples, target)
        peer = theirs(loss=loss, tol=1e-10, max_iter=200_000, dual=True, random_state=0, **given).fit(samples, target)
        assert objective(mine) <= objective(peer) * (1.0 + 1e-9)
        np.testing.assert_allclose(objective(mine), objective(peer), rtol=1e-5)


def test_a_free_intercept_does_not_care_where_the_origin_is():
    machine, moved = LinearSVC().fit(X2, y2), LinearSVC().fit(X2 + 50.0, y2)
    np.testing.assert_allclose(machine.decision_function(X2), moved.decision_function(X2 + 50.0), atol=1e-4)
    through = SVC(kernel="linear", fit_intercept=False).fit(X2, y2)
    assert through.intercept_ == 0.0
    np.testing.assert_allclose(through.decision_function(X2), X2 @ through.coef_[0])
    for kind in (LinearSVC, LinearSVR, SVR):
        target = data(kind)[1]
        assert not np.any(kind(fit_intercept=False).fit(data(kind)[0], target).intercept_)


@pytest.mark.parametrize(**by_name([SVC, NuSVC, LinearSVC, SVR, LinearSVR, OneClassSVM, SVDD]))
def test_any_backend_gives_the_same(kind):
    own, _ = data(kind)
    usual, other = fitted(kind), fitted(kind, backend="cvxopt")
    results = other.results_ if hasattr(other, "results_") else [other.result_]
    assert {result.solver.name for result in results} == {"cvxopt"}
    np.testing.assert_allclose(values(usual, own), values(other, own), atol=1e-3)


def test_constraints_are_kept():
    limit = qpsvm.Constraints([[1.0, 0.0, 0.0, 0.0]], [-0.5], names=["w_0 at most −1/2"])
    assert SVC(kernel="linear", constraints=limit).fit(X2, y2).coef_[0, 0] <= -0.5 + 1e-9
    for machine in (LinearSVR(constraints=limit), SVR(kernel="linear", constraints=limit)):
        assert machine.fit(XR, t).coef_.ravel()[0] <= -0.5 + 1e-9


@pytest.mark.parametrize(**by_name([SVC, LinearSVC, SVR, OneClassSVM]))
def test_a_warm_start_is_where_the_last_fit_ended(kind):
    own, target = data(kind)
    machine = kind(warm_start=True, backend="auto").fit(own, target)
    first = values(machine, own)
    machine.fit(own, target)
    np.testing.assert_allclose(values(machine, own), first, atol=1e-4)
    machine.fit(own[:40], None if target is None else target[:40])  # of other samples: from nowhere
    assert machine.gap_ <= machine.tol


def test_limits_end_with_the_best_point_and_its_gap():
    rng = np.random.default_rng(0)
    samples, labels = rng.normal(size=(800, 5)), rng.integers(0, 3, 800)
    for limit in ({"max_iter": 2}, {"time_limit": 1e-2}):
        machine = SVC(C=1e4, **limit)
        with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \((max_iter|time_limit)=") as said:
            machine.fit(samples, labels)
        assert issubclass(said[0].category, GapWarning)
        assert said[0].filename == __file__
        assert f"{machine.gap_:.2g}" in str(said[0].message)
        assert machine.fit_status_ == 1
        assert machine.gap_ > machine.tol
        assert "max_iter" not in limit or (machine.n_iter_ <= 2).all()


def test_processes_and_progress(caplog):
    alone = SVC(backend="cvxopt").fit(X, y)
    together = SVC(backend="cvxopt", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.decision_function(X), together.decision_function(X))
    with caplog.at_level(logging.INFO, logger="qpsvm"):
        SVR(verbose=True).fit(XR, t)
    assert "gap" in caplog.text


def test_several_machines_are_counted(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
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


def test_nothing_is_said_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ALL:
            fitted(kind)
