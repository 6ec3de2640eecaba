"""Weights that are ignored, and weights of 0 that change which sample, or which class, is meant."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from exhibits import Shown, exhibit, gap_of, issue, solve_timed, time_call
from sklearn.svm import SVC, NuSVC

import qpsvm
from qpsvm import estimators

#: The corners of a cube in three classes, as published.
CUBE = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], dtype=float)
THREE = np.array([0, 0, 0, 1, 1, 1, 2, 2])


def two_clouds() -> tuple[np.ndarray, np.ndarray]:
    """Twenty points of two classes."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 2)) - 1.0, rng.normal(size=(10, 2)) + 1.0])
    return X, np.repeat([0, 1], 10)


@exhibit(issue(30332), 2024, "of that kind")
def nusvc_class_weight() -> Shown:
    """`NuSVC(class_weight=…)` is accepted, kept in `class_weight_`, and without effect."""
    X, y = two_clouds()
    settings = {"nu": 0.3, "kernel": "rbf", "gamma": 0.5}
    model, seconds = time_call(lambda: NuSVC(**settings, class_weight={0: 5.0, 1: 1.0}).fit(X, y))
    same = np.array_equal(model.decision_function(X), NuSVC(**settings).fit(X, y).decision_function(X))
    problem = qpsvm.NuSVM(X, y, 0.3, qpsvm.RBF(0.5), sample_weight=np.where(y == 0, 5.0, 1.0))
    ours, our_seconds = solve_timed(problem)
    gap = gap_of(problem, model)
    twin = estimators.NuSVC(**settings, class_weight={0: 5.0, 1: 1.0}).fit(X, y)
    right = bool(np.allclose(twin.decision_function(X) * ours.rho, ours.decision_function(X), atol=1e-6 * ours.rho))
    return Shown(same and gap > 1e-3, "the machine without weights", gap, seconds, ours, our_seconds, right)


@exhibit(issue(5150), 2015, "published")
def svc_zeroed_class() -> Shown:
    """A class of which every sample has weight 0: what is left is predicted as other classes."""
    weight = np.array([0, 0, 0, 1, 1, 1, 1, 1.0])
    model, seconds = time_call(lambda: SVC(kernel="linear", C=10).fit(CUBE, THREE, weight))
    kept = weight > 0
    hits = float(np.mean(model.predict(CUBE[kept]) == THREE[kept]))
    ours, our_seconds = solve_timed(qpsvm.CSVM(CUBE[kept], THREE[kept], 10, sample_weight=weight[kept]))
    right = bool((ours.predict(CUBE[kept]) == THREE[kept]).all())
    try:
        twin = estimators.SVC(kernel="linear", C=10).fit(CUBE, THREE, weight)
        right &= bool((twin.predict(CUBE[kept]) == THREE[kept]).all())
    except qpsvm.DataError as error:
        right &= "has weight 0" in str(error)
    said = f"of the samples that have a weight, {hits:.0%} are predicted right"
    return Shown(hits < 0.5, said, float("nan"), seconds, ours, our_seconds, right)


@exhibit(issue(25380), 2023, "of that kind")
def svc_zeroed_class_sparse() -> Shown:
    """The same with sparse samples: an error about sizes, which says nothing of weights."""
    weight = np.array([1, 1, 1, 0, 0, 0, 1, 1.0])
    begun = "no error"

    def fitted() -> str:
        try:
            SVC(kernel="linear").fit(sp.csr_array(CUBE), THREE, weight)
        except ValueError as error:
            return str(error)
        return begun

    said, seconds = time_call(fitted)
    kept = weight > 0
    problem = qpsvm.CSVM(sp.csr_array(CUBE[kept]), THREE[kept], sample_weight=weight[kept])
    return Shown("same size" in said, f"ValueError: {said}", float("nan"), seconds, *solve_timed(problem))


@exhibit("https://github.com/scikit-learn/scikit-learn/pull/27763", 2023, "of that kind")
def svc_support_of_others() -> Shown:
    """With weights of 0, `support_` counts the samples that are left: it names others than `support_vectors_`."""
    X, y = two_clouds()
    weight = np.ones(20)
    weight[[0, 3, 12]] = 0.0
    model, seconds = time_call(lambda: SVC(kernel="linear").fit(X, y, weight))
    problem = qpsvm.CSVM(X, y, sample_weight=weight)
    ours, our_seconds = solve_timed(problem)
    wrong = not np.array_equal(X[model.support_], model.support_vectors_)
    said = f"support_ = {model.support_.tolist()}, where the vectors are those of {ours.support.tolist()}"
    twin = estimators.SVC(kernel="linear").fit(X, y, weight)
    right = np.array_equal(X[twin.support_], twin.support_vectors_) and set(twin.support_) == set(ours.support)
    return Shown(wrong, said, gap_of(problem, model), seconds, ours, our_seconds, right)
