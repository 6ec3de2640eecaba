"""Bounds and proven predictions of estimators: those of a fit that is certified far closer are between them."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from each import for_each
from sklearn.datasets import load_iris

from qpsvm.base.errors import UnsupportedError
from qpsvm.estimators import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR

X, y = load_iris(return_X_y=True)
new = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (60, 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda tol: SVC(C=3, gamma=0.4, tol=tol),
        lambda tol: SVC(C=3, kernel="linear", tol=tol, decision_function_shape="ovo", class_weight={1: 2.0}),
        lambda tol: LinearSVC(C=0.5, tol=tol),
        lambda tol: LinearSVC(C=0.5, tol=tol, loss="hinge", intercept_scaling=3.0),
        lambda tol: NuSVC(nu=0.2, gamma=0.4, tol=tol),
    ],
)
@for_each("classes", [2, 3])
def test_labels_that_are_proven_are_those_of_a_closer_fit(make, classes):
    rows = y < classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rough, fine = make(1e-3).fit(X[rows], y[rows]), make(1e-10).fit(X[rows], y[rows])
    same = rough.predict(new) == fine.predict(new)
    assert same[rough.proven(new)].all()
    assert fine.proven(new).mean() > 0.9
    if isinstance(rough, NuSVC):
        with pytest.raises(UnsupportedError, match="divided"):
            rough.decision_bounds(new)
        return
    if isinstance(rough, SVC):
        fine.set_params(decision_function_shape="ovo")
    f, (low, high) = fine.decision_function(new), rough.decision_bounds(new)
    assert low.shape == f.shape
    slack = 1e-4 * (1.0 + abs(f))  # of the closer one
    assert (low <= f + slack).all()
    assert (f <= high + slack).all()


@for_each("kind", [SVR, NuSVR, QuantileSVR, LinearSVR])
def test_regressions(kind):
    target = X[:, 0] + 0.1 * np.sin(np.arange(len(X)))
    rough, fine = (kind(tol=tol).fit(X[:, 1:], target) for tol in (1e-4, 1e-10))
    f, (low, high) = fine.predict(new[:, 1:]), rough.decision_bounds(new[:, 1:])
    assert (low <= f + 1e-4).all()
    assert (f <= high + 1e-4).all()
    assert fine.proven(new[:, 1:], within=0.1).all()
    assert (~rough.proven(new[:, 1:], within=1e-14)).all()


@for_each("kind, kernel", itertools.product([OneClassSVM, SVDD], ["linear", "rbf"]))
def test_novelty(kind, kernel):
    far = X + 1.0
    rough, fine = (kind(nu=0.2, kernel=kernel, tol=tol).fit(far) for tol in (1e-2, 1e-12))
    seen = np.vstack([new + 1.0, far])
    f, (low, high) = fine.decision_function(seen), rough.decision_bounds(seen)
    slack = 1e-7 * (1.0 + abs(f))
    assert (low <= f + slack).all()
    assert (f <= high + slack).all()
    assert (rough.predict(seen) == fine.predict(seen))[rough.proven(seen)].all()
    assert fine.proven(new + 1.0).mean() > 0.9
    assert not fine.proven(far)[np.abs(fine.decision_function(far)) <= 1e-12].any()  # on the boundary


def test_what_has_no_samples_says_so():
    machine = SVC().fit(X, y)
    with pytest.raises(UnsupportedError):
        SVC(kernel="precomputed").fit(X @ X.T, y).decision_bounds(X @ X.T, diagonal=np.ones(len(X)))
    again = pickle.loads(pickle.dumps(machine))
    assert (again.predict(new) == machine.predict(new)).all()
