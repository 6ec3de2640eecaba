"""ONNX export: scikit-learn's twin predicts the same, and so does the exported model where its packages are there."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from each import for_each
from kinds import values
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from qpsvm import estimators
from qpsvm.base.errors import MissingExtraError, UnsupportedError
from qpsvm.estimators.onnx import build_twin, register_onnx, to_onnx

X, y = load_iris(return_X_y=True)
X, y = X[::3].astype(np.float32).astype(float), y[::3]
NAMES = np.array(["zero", "one", "two"])
FITTED = {
    "SVC": estimators.SVC().fit(X, NAMES[y]),
    "SVC, two": estimators.SVC(kernel="poly").fit(X, y // 2),
    "SVC, linear": estimators.SVC(kernel="linear", decision_function_shape="ovo").fit(X, y),
    "NuSVC": estimators.NuSVC(nu=0.2).fit(X, y),
    "SVR": estimators.SVR().fit(X, X[:, 0]),
    "NuSVR": estimators.NuSVR(kernel="linear").fit(X, X[:, 0]),
    "QuantileSVR": estimators.QuantileSVR().fit(X, X[:, 0]),
    "OneClassSVM": estimators.OneClassSVM(nu=0.2).fit(X),
    "LinearSVC": estimators.LinearSVC(C=0.1).fit(X, y),
    "LinearSVR": estimators.LinearSVR().fit(X, X[:, 0]),
}


@for_each("name", FITTED)
def test_scikit_learns_twin_predicts_the_same(name):
    np.testing.assert_allclose(values(build_twin(FITTED[name]), X), values(FITTED[name], X), rtol=1e-9, atol=1e-9)


@for_each("name", FITTED)
def test_the_exported_model_predicts_the_same(name):
    """By this library's function; and by skl2onnx itself, pipelines within pipelines, once it was told."""
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    machine = FITTED[name]
    some = X[:1].astype(np.float32)
    scaled = StandardScaler().fit(X)
    piped = make_pipeline(scaled, machine)
    nested = make_pipeline(scaled, make_pipeline(scaled, machine))
    register_onnx()
    register_onnx()  # a second time does no harm
    same = make_pipeline(FunctionTransformer().fit(X), machine)
    for exported, export, times in (
        (machine, to_onnx, 0), (piped, to_onnx, 1), (nested, skl2onnx.to_onnx, 2), (same, skl2onnx.to_onnx, 0),
    ):  # fmt: skip
        rows = X
        for _ in range(times):
            rows = scaled.inverse_transform(rows)
        given = X[:1] if export is to_onnx else some
        session = runtime.InferenceSession(export(exported, given).SerializeToString())
        told = session.run(None, {"X": rows.astype(np.float32)})[0].ravel()
        expected = exported.predict(rows)
        if name == "OneClassSVM":
            clear = np.abs(machine.decision_function(X)) > 1e-4
            assert (told == expected)[clear].all()
        elif hasattr(machine, "classes_"):
            assert (told == expected).all()
        else:
            np.testing.assert_allclose(told, expected, rtol=1e-4, atol=1e-4)


def test_options_of_skl2onnx_and_estimators_in_others_are_kept():
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    register_onnx()
    scaled = StandardScaler().fit(X)
    some = X[:1].astype(np.float32)

    def run(model, **options):
        made = skl2onnx.to_onnx(model, some, **options)
        return runtime.InferenceSession(made.SerializeToString()).run(None, {"X": X.astype(np.float32)})

    machine = estimators.SVC(kernel="linear", decision_function_shape="ovr").fit(scaled.transform(X), y)
    raw = {"raw_scores": True, "zipmap": False}
    by_us = run(make_pipeline(scaled, machine), options={id(machine): raw})
    same = build_twin(machine)
    by_scikit_learn = run(make_pipeline(scaled, same), options={id(same): raw})
    for ours, theirs in zip(by_us, by_scikit_learn, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (run(make_pipeline(scaled, machine), options={"svc__zipmap": False})[0] == by_us[0]).all()
    stacked = StackingClassifier([("svc", estimators.SVC())], cv=2).fit(X, y)
    assert (run(stacked)[0] == stacked.predict(X)).all()
    with pytest.raises(UnsupportedError, match="no twin"):
        skl2onnx.to_onnx(make_pipeline(scaled, estimators.SVDD(nu=0.2).fit(X)), some)


def test_what_has_no_twin_is_refused(monkeypatch):
    for machine in (
        estimators.SVDD(nu=0.2).fit(X),
        estimators.SVC(multi_class="ovr").fit(X, y),
        estimators.SVC(kernel="precomputed").fit(X @ X.T, y),
    ):
        with pytest.raises(UnsupportedError):
            build_twin(machine)
    with pytest.raises(NotFittedError):
        build_twin(estimators.SVC())
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    for exports in (lambda: to_onnx(FITTED["SVC"], X), register_onnx):
        with pytest.raises(MissingExtraError, match="onnx"):
            exports()
