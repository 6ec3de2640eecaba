"""`decision_function_shape`, `break_ties`, class and sample weights, fitted attributes"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC, NuSVC

X, y = load_iris(return_X_y=True, as_frame=True)
names = np.array(["setosa", "versicolor", "virginica"])[y]
by_class = SVC(C=2.0, break_ties=True).fit(X, names)
by_pair = clone(by_class).set_params(decision_function_shape="ovo", break_ties=False).fit(X, names)
linear = SVC(kernel="linear", class_weight={"virginica": 3.0}).fit(X, names)
balanced = LinearSVC(class_weight="balanced", intercept_scaling=1, C=0.5).fit(X[20:], names[20:])
weights = np.where(y == 2, 2.0, 0.5)
weighted = NuSVC(nu=0.2).fit(X, names, sample_weight=weights)

found = {
    "decision values of classes": by_class.decision_function(X),
    "decision values of pairs": by_pair.decision_function(X),
    "labels, ties broken": by_class.predict(X),
    "support_": by_class.support_,
    "n_support_": by_class.n_support_,
    "dual_coef_": by_class.dual_coef_,
    "support_vectors_": by_class.support_vectors_,
    "intercept_": by_class.intercept_,
    "coef_": linear.coef_,
    "class_weight_": linear.class_weight_,
    "balanced: labels": balanced.predict(X),
    "weighted: labels": weighted.predict(X),
    "score, weighted": weighted.score(X, names, sample_weight=weights),
    "names of features": by_class.feature_names_in_,
    "shape_fit_": by_class.shape_fit_,
    "fit_status_": by_class.fit_status_,
    "parameters": {name for name in SVC().get_params() if name in ("C", "kernel", "gamma", "tol", "break_ties")},
}
