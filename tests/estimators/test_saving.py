"""Fitted estimators leave and come back: as pickles of a sensible size, and as files that hold no code."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from each import for_each
from kinds import values
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qpsvm
from qpsvm import estimators
from qpsvm.base.errors import FileFormatError, UnsupportedError

X, y = load_iris(return_X_y=True)
X, y = X[::3] + np.array([0.0, 1e3, 0.0, 0.0]), y[::3]
NAMES = np.array(["zero", "one", "two"], dtype=object)
TWO = y > 0


def fitted() -> dict[str, tuple[Any, Any]]:
    """Estimators of every kind, with samples to predict."""
    K = X @ X.T / 1e6
    return {
        "pairs": (estimators.SVC(gamma=0.5).fit(X, NAMES[y]), X),
        "pairs, values": (estimators.SVC(decision_function_shape="ovo", kernel="poly", C=3).fit(X, y), X),
        "pairs, ties broken": (estimators.SVC(break_ties=True, kernel="linear").fit(X, y), X),
        "pairs, sparse": (estimators.SVC(gamma=0.5).fit(sp.csr_array(X), y), sp.csr_array(X)),
        "pairs, nu": (estimators.NuSVC(nu=0.2).fit(X, y), X),
        "pairs, precomputed": (estimators.SVC(kernel="precomputed").fit(K, y), K),
        "rest": (estimators.SVC(multi_class="ovr", gamma=0.5).fit(X, y), X),
        "two": (estimators.SVC().fit(X, TWO), X),
        "two, nu": (estimators.NuSVC(nu=0.2, kernel="linear").fit(X, TWO), X),
        "linear": (estimators.LinearSVC().fit(X - X.mean(0), y), X - X.mean(0)),
        "number": (estimators.SVR().fit(X, X[:, 0]), X),
        "linear, number": (estimators.LinearSVR().fit(X, X[:, 0]), X),
        "novelty": (estimators.OneClassSVM(nu=0.2).fit(X), X),
        "ball": (estimators.SVDD(nu=0.2).fit(X), X),
        "linear ball": (estimators.SVDD(nu=0.2, kernel="linear").fit(X), X),
        "order": (estimators.RankingSVM().fit(X[:12], X[:12, 0]), X),
    }


FITTED = fitted()


@for_each("name", FITTED)
def test_a_pickle_predicts_the_same_bits(name, tmp_path):
    machine, Z = FITTED[name]
    joblib.dump(machine, tmp_path / "machine.joblib")
    loaded = joblib.load(tmp_path / "machine.joblib")
    for again in (pickle.loads(pickle.dumps(machine)), copy.deepcopy(machine), loaded):
        np.testing.assert_array_equal(values(again, Z), values(machine, Z))
        np.testing.assert_array_equal(again.predict(Z), machine.predict(Z))
        assert again.gap_ == machine.gap_
        clone(again).set_params(tol=1e-4)
        assert {"predict", "gap_"} <= set(dir(again))  # which looks at every property, as a notebook does
        assert "Fitted" in again._repr_html_()


@for_each("name", FITTED)
def test_a_file_predicts_the_same(name, tmp_path):
    machine, Z = FITTED[name]
    machine.save(tmp_path / "machine.npz")
    model = qpsvm.load(tmp_path / "machine.npz")
    if hasattr(machine, "classes_"):
        np.testing.assert_array_equal(model.predict(Z), machine.predict(Z))
    elif name == "novelty" or "ball" in name:  # on the boundary, rounding says which side
        inside = np.abs(machine.decision_function(Z)) > 1e-9
        np.testing.assert_array_equal(model.predict(Z)[inside], machine.predict(Z)[inside])
    else:
        np.testing.assert_allclose(model.predict(Z), machine.predict(Z), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(Z), values(machine, Z), rtol=1e-9, atol=1e-9)


def test_another_process_predicts_the_same_bits(tmp_path):
    machine, Z = FITTED["pairs"]
    (tmp_path / "machine.pickle").write_bytes(pickle.dumps((machine, Z)))
    machine.save(tmp_path / "machine.npz")
    program = (
        "import pickle, sys, qpsvm; machine, Z = pickle.load(open(sys.argv[1] + '/machine.pickle', 'rb'));"
        "model = qpsvm.load(sys.argv[1] + '/machine.npz');"
        "print(machine.decision_function(Z).tobytes().hex(), model.decision_function(Z).tobytes().hex())"
    )
    told = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert set(told.stdout.split()) == {machine.decision_function(Z).tobytes().hex()}


PAIRS = [("SVC", {}), ("SVC", {"kernel": "linear"}), ("NuSVC", {"nu": 0.1}), ("LinearSVC", {}),
         ("SVR", {}), ("NuSVR", {}), ("LinearSVR", {}), ("OneClassSVM", {})]  # fmt: skip


@for_each("name, given", PAIRS)
def test_a_pickled_pipeline_is_about_as_large_as_scikit_learns(name, given):
    """Nothing in it has a number for each sample of the fit: 1500 samples are no larger than their support vectors."""
    X, y = make_classification(1500, 5, n_redundant=0, class_sep=2.0, random_state=0)
    target = X @ np.arange(5.0) if name.endswith("SVR") else y
    both = [make_pipeline(StandardScaler(), getattr(m, name)(**given)).fit(X, target) for m in (svm, estimators)]
    theirs, own = (len(pickle.dumps(pipeline)) for pipeline in both)
    assert own <= 1.5 * theirs
    again = pickle.loads(pickle.dumps(both[1]))
    np.testing.assert_array_equal(again.predict(X), both[1].predict(X))
    assert again[-1].gap_ == both[1][-1].gap_
    again[-1].set_params(warm_start=True)
    again.fit(X, target)  # begins anew: what it would begin at was left out
    assert again[-1].gap_ <= 1e-6


def test_a_pickle_leaves_the_samples_out():
    """Neither the samples nor a Gram matrix; the results that were asked for stay, and the gap always does."""
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(size=(100, 50)) + 20.0 * c for c in np.eye(3, 50)])
    codes = np.repeat([0, 1, 2], 100)
    machine = estimators.SVC(kernel="linear", C=10).fit(far, codes)
    assert len(machine.support_) < 30
    assert len(pickle.dumps(machine)) < far.nbytes / 2
    asked = machine.results_[1].gap
    again = pickle.loads(pickle.dumps(machine))
    assert again.results_[1].gap == asked
    with pytest.raises(UnsupportedError, match="samples of the fit"):
        again.results_[0]
    assert machine.results_[0].gap <= 1e-6
    two = estimators.SVC(kernel="linear").fit(far[:200], codes[:200])
    silent = pickle.loads(pickle.dumps(two))
    with pytest.raises(AttributeError, match="before the pickle is made"):
        _ = silent.result_
    with pytest.raises(UnsupportedError, match="before the pickle is made"):
        silent.proven(far)
    assert silent.notes_ == ()
    assert silent.gap_ == two.gap_
    assert two.result_.gap == pickle.loads(pickle.dumps(two)).result_.gap <= 1e-6
    again.set_params(warm_start=True).fit(far, codes)
    assert again.results_[0].gap <= 1e-6


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="callable"):
        estimators.SVC(kernel=lambda A, B: A @ B.T).fit(X, y).save(tmp_path / "machine.npz")
    assert not list(tmp_path.iterdir())


def test_files_of_pairs_that_do_not_fit_together_are_refused(tmp_path):
    """Each array and each rule that only such a file has, damaged in turn."""
    path = tmp_path / "machine.npz"
    FITTED["pairs"][0].save(path)
    with np.load(path) as archive:
        whole = dict(archive)
    header = str(whole["header"])
    wrong: list[dict[str, Any]] = [
        {"counts": whole["counts"] - 1},
        {"counts": whole["counts"] * np.array([1, 1, -1])},
        {"counts": whole["counts"][:2]},
        {"counts": whole["counts"] + np.array([2**62, -(2**62), 0])},
        {"counts": whole["counts"].astype(float)},
        {"coef": whole["coef"].T},
        {"coef": whole["coef"] * np.nan},
        {"b": whole["b"][:2]},
        {"classes": whole["classes"][:2]},
        {"classes": np.array(["a", "a", "b"])},
        {"header": np.array(header.replace('"break_ties": false', '"break_ties": 0'))},
        {"header": np.array(header.replace('"by_class": true', '"by_class": "yes"'))},
        {"header": np.array(header.replace('"format": 4', '"format": 3'))},
        {"header": np.array(header.replace('"format": 4', '"format": 5'))},
    ]  # fmt: skip
    for change in wrong:
        np.savez(path, **{**whole, **change})
        with pytest.raises(FileFormatError):
            qpsvm.load(path)
    np.savez(path, **{name: array for name, array in whole.items() if name != "counts"})
    with pytest.raises(FileFormatError):
        qpsvm.load(path)
    raw = Path(path).read_bytes()
    for cut in range(0, len(raw), len(raw) // 7):
        path.write_bytes(raw[:cut])
        with pytest.raises(FileFormatError):
            qpsvm.load(path)
