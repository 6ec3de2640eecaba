"""Callable, precomputed and sigmoid kernels, kernels of `pairwise`"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

X, y = load_digits(n_class=4, return_X_y=True)
X, y = X[:240] / 16.0, y[:240]
train, test = np.arange(160), np.arange(160, 240)


def intersection(A, B):
    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)


called = SVC(kernel=intersection).fit(X[train], y[train])
chi2 = SVC(kernel=chi2_kernel).fit(X[train], y[train])
K = laplacian_kernel(X, gamma=0.05)
precomputed = SVC(kernel="precomputed", C=10).fit(K[np.ix_(train, train)], y[train])
search = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.01, 1.0]}, cv=3).fit(K, y)
curve = SVR(kernel="precomputed").fit(rbf_kernel(X[train], gamma=0.1), y[train].astype(float))
usual = OneClassSVM(kernel=intersection, nu=0.2).fit(X[train])
mapped = make_pipeline(Nystroem(n_components=40, random_state=0), LinearSVC(intercept_scaling=1)).fit(
    X[train], y[train]
)
sigmoid = SVC(kernel="sigmoid", gamma=0.005, coef0=0.0, C=10).fit(X[train], y[train])

found = {
    "callable: labels": called.predict(X[test]),
    "callable: values": called.decision_function(X[test]),
    "chi2: labels": chi2.predict(X[test]),
    "precomputed: labels": precomputed.predict(K[np.ix_(test, train)]),
    "precomputed: values": precomputed.decision_function(K[np.ix_(test, train)]),
    "precomputed: search": search.best_params_,
    "precomputed: scores of folds": cross_val_score(SVC(kernel="precomputed"), K, y, cv=3),
    "regression": curve.predict(rbf_kernel(X[test], X[train], gamma=0.1)),
    "novelty": usual.decision_function(X[test]),
    "Nyström: labels": mapped.predict(X[test]),
    "sigmoid: labels": sigmoid.predict(X[test]),
}
