"""Samples in batches: after each call the machine is that of all samples, however they were divided."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

import qpsvm
from qpsvm import estimators

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
THREE = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=90), [-0.5, 0.5])
TWO = np.where(THREE > 0, "yes", "no")
T = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=90)
WEIGHT = RNG.integers(1, 4, size=90).astype(float)
PARTS = np.split(np.arange(90), [40, 41, 70])
CASES = {
    "SVC": (estimators.SVC(C=3.0), TWO),
    "SVC, three": (estimators.SVC(gamma=0.5), THREE),
    "SVC, warm": (estimators.SVC(warm_start=True), TWO),
    "SVC, hard": (estimators.SVC(C=np.inf, gamma=20.0), TWO),
    "SVC, balanced": (estimators.SVC(class_weight="balanced", kernel="poly"), THREE),
    "SVC, rest": (estimators.SVC(multi_class="ovr"), THREE),
    "SVC, joint": (estimators.SVC(kernel="linear", multi_class="crammer_singer"), THREE),
    "SVC, function": (estimators.SVC(kernel=lambda A, B: (A @ B.T + 1.0) ** 2), TWO),
    "SVC, constraints": (
        estimators.SVC(kernel="linear", constraints=qpsvm.Constraints([[1.0, 0.0, 0.0]], [0.5])), TWO),
    "NuSVC": (estimators.NuSVC(nu=0.2), THREE),
    "LinearSVC": (estimators.LinearSVC(), THREE),
    "LinearSVC, hinge": (estimators.LinearSVC(loss="hinge", intercept_scaling=2.0), TWO),
    "SVR": (estimators.SVR(C=2.0), T),
    "NuSVR": (estimators.NuSVR(), T),
    "QuantileSVR": (estimators.QuantileSVR(quantile=0.3), T),
    "LinearSVR": (estimators.LinearSVR(epsilon=0.05), T),
    "OneClassSVM": (estimators.OneClassSVM(nu=0.2), None),
    "SVDD": (estimators.SVDD(nu=0.2), None),
}  # fmt: skip


def select_arguments(y, weight, rows, **more):
    """Return the arguments of a call beside X."""
    named = {} if y is None else {"y": y[rows]}
    return named | ({} if weight is None else {"sample_weight": weight[rows]}) | more


@pytest.mark.parametrize("name", CASES)
def test_batches_lead_to_the_machine_of_all_samples(name):
    """With weights or without, each machine with one of them; and after a fit, with the other."""
    estimator, y = CASES[name]
    weights = (None, WEIGHT)[:: 1 if len(name) % 2 else -1]
    assert_grows(estimator, y, weights[0], PARTS)
    if name != "SVC, function":  # which begins with partial_fit
        assert_grows(estimator, y, weights[1], [np.arange(60, 90)], first=slice(60))


def assert_grows(estimator, y, weight, parts, first=None):
    growing = clone(estimator)
    whole = clone(estimator).fit(X, **select_arguments(y, weight, slice(None)))
    if first is not None:
        growing.fit(X[first].copy(), **select_arguments(y, weight, first))
    for rows in parts:
        part = X[rows].copy()
        assert growing.partial_fit(part, **select_arguments(y, weight, rows)) is growing
        part[:] = np.nan  # a caller's own buffer, which is filled anew
    assert growing.gap_ <= 1e-6
    scores = [getattr(each, "decision_function", each.predict)(X) for each in (growing, whole)]
    np.testing.assert_allclose(*scores, atol=1e-3 * np.abs(scores[1]).max())
    results = [getattr(each, "results_", None) or [each.result_] for each in (growing, whole)]
    for one, other in zip(*results, strict=True):  # each bounds the other's value
        size = 1e-9 * max(abs(one.primal), abs(one.dual))
        assert one.dual <= other.primal + size
        assert other.dual <= one.primal + size


def test_each_call_is_certified_of_what_was_there():
    machine = estimators.SVC(gamma=0.7)
    seen = 0
    for rows in PARTS:
        machine.partial_fit(X[rows], TWO[rows], classes=["no", "yes"])
        seen += len(rows)
        assert machine.shape_fit_ == (seen, 3)
        assert machine.result_.verify(tol=1e-6)
    machine.fit(X[:40], TWO[:40])  # begins anew
    assert machine.shape_fit_ == (40, 3)


def test_a_matrix_of_kernel_values_takes_no_batches():
    assert not hasattr(estimators.SVC(kernel="precomputed"), "partial_fit")
    assert not hasattr(estimators.RankingSVM(), "partial_fit")
    assert hasattr(estimators.SVC(), "partial_fit")


def test_storage_and_columns():
    """Dense and sparse batches mix; columns are named once; single precision stays."""
    dense, sparse = estimators.SVC(), estimators.SVC()
    for rows in PARTS:
        dense.partial_fit(sp.csr_array(X[rows]) if len(rows) == 1 else X[rows], TWO[rows])
        sparse.partial_fit(X[rows] if len(rows) == 1 else sp.csr_array(X[rows]), TWO[rows])
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), atol=1e-9)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = estimators.SVR().partial_fit(frame[:50], T[:50]).partial_fit(frame[50:], T[50:])
    assert machine.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(qpsvm.DataError, match="feature names"):
        machine.partial_fit(frame[["c", "b", "a"]], T)
    single = estimators.SVC().partial_fit(X[:50].astype(np.float32), TWO[:50])
    assert single.support_vectors_.dtype == np.float32


def test_scikit_learns_wrappers_pass_batches_on():
    machine = OneVsRestClassifier(estimators.SVC(gamma=0.5))
    for rows in PARTS[:2]:
        machine.partial_fit(X[rows], THREE[rows], classes=[0, 1, 2])
    rows = np.concatenate(PARTS[:2])
    whole = OneVsRestClassifier(estimators.SVC(gamma=0.5)).fit(X[rows], THREE[rows])
    np.testing.assert_allclose(machine.decision_function(X), whole.decision_function(X), atol=1e-5)


def test_what_cannot_be_done_is_said_and_changes_nothing():
    machine = estimators.SVC().partial_fit(X[:50], TWO[:50])
    before = machine.decision_function(X)
    changed = X.copy()
    function = estimators.SVC(kernel=lambda A, B: A @ B.T).fit(X, TWO)
    fitted = estimators.SVC().fit(changed, TWO)
    changed[3] += 1.0
    for call, kind, words in (
        (lambda: estimators.SVC().partial_fit(X[:5], ["no"] * 5, classes=["no", "yes"]), qpsvm.DataError,
         "no sample of the class 'yes'"),
        (lambda: estimators.SVC().partial_fit(X[:5], ["no"] * 5), qpsvm.DataError, "number of classes"),
        (lambda: machine.partial_fit(X[:1], ["maybe"]), qpsvm.DataError, r"y\[0\] = 'maybe' is not one"),
        (lambda: machine.partial_fit(X[:1], ["no"], classes=["no", "maybe"]), qpsvm.DataError, "first call"),
        (lambda: machine.partial_fit(X[:2], ["no"]), qpsvm.DataError, "inconsistent"),
        (lambda: machine.partial_fit(X[:2], None), qpsvm.DataError, "requires y"),
        (lambda: machine.partial_fit(X[:2, :2], ["no", "no"]), qpsvm.DataError, "3 features"),
        (lambda: machine.partial_fit([[np.nan, 0.0, 0.0]], ["no"]), qpsvm.DataError, "NaN"),
        (lambda: machine.partial_fit(X[:2], ["no", "no"], sample_weight=[1.0]), qpsvm.DataError, "incompatible"),
        (lambda: fitted.partial_fit(X, TWO), qpsvm.DataError, "changed in place since"),
        (lambda: function.partial_fit(X, TWO), qpsvm.UnsupportedError, "begin with partial_fit"),
        (lambda: pickle.loads(pickle.dumps(machine)).partial_fit(X, TWO), qpsvm.UnsupportedError, "a pickle"),
        (lambda: copy.deepcopy(machine).partial_fit(X, TWO), qpsvm.UnsupportedError, "a copy"),
        (lambda: estimators.SVR().partial_fit(X, None), qpsvm.DataError, "requires y"),
        (lambda: estimators.SVC(C=-1.0).partial_fit(X, TWO), qpsvm.ParameterError, "C"),
    ):  # fmt: skip
        with pytest.raises(kind, match=words):
            call()
    np.testing.assert_array_equal(machine.decision_function(X), before)
    assert machine.partial_fit(X[50:], TWO[50:]).shape_fit_ == (90, 3)


def test_samples_that_are_stored_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(qpsvm.UnsupportedError, match="in memory"):
        estimators.LinearSVC().partial_fit(qpsvm.open_rows(tmp_path / "X.npy"), TWO)
