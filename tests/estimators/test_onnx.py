"""ONNX export: scikit-learn's twin predicts the same, and so does the exported model where its packages are there."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qpsvm import estimators
from qpsvm.errors import MissingExtraError, UnsupportedError
from qpsvm.estimators.onnx import to_onnx, twin

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


def values(machine, Z):
    return machine.decision_function(Z) if hasattr(machine, "decision_function") else machine.predict(Z)


@pytest.mark.parametrize("name", FITTED)
def test_scikit_learns_twin_predicts_the_same(name):
    np.testing.assert_allclose(values(twin(FITTED[name]), X), values(FITTED[name], X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FITTED)
def test_the_exported_model_predicts_the_same(name):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    machine = FITTED[name]
    piped = [] if name == "LinearSVC" else [make_pipeline(StandardScaler().fit(X), machine)]  # skl2onnx 1.20 refuses it
    for exported in (machine, *piped):
        Z = X if exported is machine else exported[0].inverse_transform(X)
        session = runtime.InferenceSession(to_onnx(exported, X[:1].astype(np.float32)).SerializeToString())
        told = session.run(None, {"X": Z.astype(np.float32)})[0].ravel()
        if hasattr(machine, "classes_"):
            assert (told == machine.predict(X)).all()
        elif name == "OneClassSVM":
            clear = np.abs(machine.decision_function(X)) > 1e-4
            assert (told == machine.predict(X))[clear].all()
        else:
            np.testing.assert_allclose(told, machine.predict(X), rtol=1e-4, atol=1e-4)


def test_what_has_no_twin_is_refused(monkeypatch):
    for machine in (
        estimators.SVDD(nu=0.2).fit(X),
        estimators.SVC(multi_class="ovr").fit(X, y),
        estimators.SVC(kernel="precomputed").fit(X @ X.T, y),
    ):
        with pytest.raises(UnsupportedError):
            twin(machine)
    with pytest.raises(NotFittedError):
        twin(estimators.SVC())
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(MissingExtraError, match="onnx"):
        to_onnx(FITTED["SVC"], X)
