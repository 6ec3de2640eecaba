"""Regression and novelty"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVR, NuSVR, OneClassSVM

X, y = load_diabetes(return_X_y=True)
X, y = StandardScaler().fit_transform(X), y / 100.0
train, test = slice(0, 200), slice(200, 442)
tube = SVR(kernel="rbf", C=1.0, epsilon=0.1).fit(X[train], y[train])
poly = SVR(kernel="poly", degree=2, coef0=1.0, C=0.1).fit(X[train], y[train], sample_weight=np.linspace(0.5, 2.0, 200))
nu = NuSVR(C=1.0, nu=0.4).fit(X[train], y[train])
linear = LinearSVR(epsilon=0.2, intercept_scaling=1.0, max_iter=10_000).fit(X[train], y[train])
usual = OneClassSVM(nu=0.1, gamma=0.05).fit(X[train])
lengths = make_pipeline(StandardScaler(), OneClassSVM(nu=0.2)).fit_predict(X[:, :2])

found = {
    "SVR": tube.predict(X[test]),
    "SVR, weighted polynomial": poly.predict(X[test]),
    "NuSVR": nu.predict(X[test]),
    "LinearSVR": linear.predict(X[test]),
    "mean error": mean_absolute_error(y[test], tube.predict(X[test])),
    "scores of folds": cross_val_score(SVR(), X, y, cv=KFold(3), scoring="r2"),
    "novelty: values": usual.decision_function(X[test]),
    "novelty: scores": usual.score_samples(X[test]),
    "novelty: offset_": usual.offset_,
    "novelty: share outside": float(np.mean(lengths < 0)),
}
