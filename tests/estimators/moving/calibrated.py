"""Calibration, thresholds, `probability=True`"""

import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

warnings.simplefilter("ignore", FutureWarning)  # scikit-learn is to drop probability=True
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :8]
train, test, y_train, y_test = X[:120], X[120:300], y[:120], y[120:300]
platt = CalibratedClassifierCV(LinearSVC(C=0.1, intercept_scaling=1), cv=3).fit(train, y_train)
isotonic = CalibratedClassifierCV(SVC(), method="isotonic", ensemble=False, cv=3).fit(train, y_train)
frozen = CalibratedClassifierCV(FrozenEstimator(SVC().fit(train[:70], y_train[:70]))).fit(train[70:], y_train[70:])
tuned = TunedThresholdClassifierCV(SVC(), scoring="f1", cv=3).fit(train, y_train)
fixed = FixedThresholdClassifier(SVC(), threshold=0.5, response_method="decision_function").fit(train, y_train)
likely = SVC(probability=True, random_state=0).fit(train, y_train)
share = likely.predict_proba(test)

found = {
    "Platt: probabilities": platt.predict_proba(test),
    "isotonic: labels": isotonic.predict(test),
    "frozen: probabilities": frozen.predict_proba(test),
    "reliability curve": calibration_curve(y_test, platt.predict_proba(test)[:, 1], n_bins=3)[0],
    "tuned threshold: labels": tuned.predict(test),
    "fixed threshold: labels": fixed.predict(test),
    "probability=True: rows sum to one": bool(np.allclose(share.sum(axis=1), 1.0)),
    "probability=True: log is the log": bool(np.allclose(np.log(share), likely.predict_log_proba(test))),
    "probability=True: labels": likely.predict(test),
    "probability=True: probabilities": share,
}
