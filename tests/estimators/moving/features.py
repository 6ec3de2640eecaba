"""Feature selection by `coef_`, permutation importance, partial dependence"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SelectKBest, SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:150], y[:150]
dropped = RFE(SVC(kernel="linear", C=0.1), n_features_to_select=5, step=5).fit(X, y)
checked = RFECV(SVC(kernel="linear", C=0.01), step=10, cv=3, min_features_to_select=5).fit(X, y)
chosen = SelectFromModel(LinearSVC(C=0.05, intercept_scaling=1), threshold="1.5*median").fit(X, y)
forward = SequentialFeatureSelector(SVC(), n_features_to_select=2, cv=2).fit(X[:, :5], y)
piped = make_pipeline(SelectKBest(k=5), SVC()).fit(X, y)
shuffled = permutation_importance(piped, X, y, n_repeats=2, random_state=0)
A, t = load_diabetes(return_X_y=True, as_frame=True)
curve = SVR(C=100).fit(A[:150], t[:150])
along = partial_dependence(curve, A[:150], ["bmi"], grid_resolution=10)
score = partial_dependence(
    SVC().fit(X[:, :4], y), X[:, :4], [0], response_method="decision_function", grid_resolution=5
)

found = {
    "RFE: features": dropped.support_,
    "RFE: ranking": dropped.ranking_,
    "RFECV: number": checked.n_features_,
    "SelectFromModel: features": chosen.get_support(indices=True),
    "forward selection": forward.get_support(indices=True),
    "permutation importance": shuffled.importances_mean,
    "partial dependence of a regression": along["average"],
    "partial dependence of a class": np.ravel(score["average"]),
}
