"""The ten estimators, and small data for each."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

from qpsvm import estimators

iris = load_iris()
X = iris.data[::3] - iris.data.mean(axis=0)
y = iris.target[::3]
#: Two of the classes, which are not separable.
X2, y2 = X[y > 0], y[y > 0]
diabetes = load_diabetes()
XR, t = diabetes.data[:50, :4] * 10.0, diabetes.target[:50] / 100.0

CLASSIFIERS = (estimators.SVC, estimators.NuSVC, estimators.LinearSVC)
REGRESSORS = (estimators.SVR, estimators.NuSVR, estimators.LinearSVR, estimators.QuantileSVR)
DETECTORS = (estimators.OneClassSVM, estimators.SVDD)
ALL = (*CLASSIFIERS, *REGRESSORS, *DETECTORS, estimators.RankingSVM)
WITH_KERNEL = tuple(kind for kind in ALL if not kind.__name__.startswith("Linear"))


def data(kind):
    """Samples and a target that a kind of estimator can be fitted to."""
    if kind in CLASSIFIERS:
        return X, y
    if kind in REGRESSORS:
        return XR, t
    if kind in DETECTORS:
        return X, None
    return XR[:15], np.round(t[:15])


def fitted(kind, *, weight=None, X=None, **parameters):
    """An estimator of a kind, fitted to its data."""
    own, target = data(kind)
    estimator = kind(**parameters)
    given = {} if weight is None else {"sample_weight": weight}
    return estimator.fit(own if X is None else X, target, **given)


def values(estimator, X):
    """What the estimator is about, as numbers."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return estimator.predict(X)
