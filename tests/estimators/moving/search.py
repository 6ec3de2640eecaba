"""Pipelines in grid, randomised and halving searches"""

import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_wine(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=1, stratify=y)
pipeline = Pipeline([("scale", StandardScaler()), ("reduce", PCA(n_components=5)), ("svc", SVC())])
folds = StratifiedKFold(3, shuffle=True, random_state=0)
grid = [
    {"svc__kernel": ["linear"], "svc__C": [0.01, 1.0]},
    {"svc__kernel": ["rbf"], "svc__C": [0.1, 10.0], "svc__gamma": ["scale", 0.01]},
]
exhaustive = GridSearchCV(pipeline, grid, cv=folds, scoring=["accuracy", "f1_macro"], refit="f1_macro")
exhaustive.fit(train, y_train)
halving = HalvingGridSearchCV(SVC(), {"C": [0.01, 1.0, 100.0], "gamma": [1e-4, 1e-2]}, cv=folds, random_state=0)
halving.fit(StandardScaler().fit_transform(train), y_train)
drawn = RandomizedSearchCV(pipeline, {"svc__C": loguniform(1e-2, 1e2)}, n_iter=4, cv=folds, random_state=0)
drawn.fit(train, y_train)

found = {
    "best parameters": exhaustive.best_params_,
    "all mean scores": exhaustive.cv_results_["mean_test_accuracy"],
    "confusion matrix": confusion_matrix(y_test, exhaustive.predict(test)),
    "decision values": exhaustive.decision_function(test),
    "halving: parameters": halving.best_params_,
    "halving: rounds": halving.n_iterations_,
    "randomised: scores": drawn.cv_results_["mean_test_score"],
    "test accuracy": np.round(drawn.score(test, y_test), 3),
}
