"""Learning curves, `cross_val_predict`, scores and displays"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import RocCurveDisplay, classification_report, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    cross_val_predict,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.svm import SVC

X, y = make_moons(160, noise=0.3, random_state=0)
sizes, trained, tested = learning_curve(SVC(C=5), X, y, train_sizes=[0.3, 1.0], cv=4, shuffle=True, random_state=0)
over = validation_curve(SVC(), X, y, param_name="gamma", param_range=[0.01, 1.0, 100.0], cv=3)[1]
values = cross_val_predict(SVC(), X, y, cv=4, method="decision_function")
scores = cross_validate(
    SVC(),
    X,
    y,
    groups=np.arange(160) % 8,
    cv=GroupKFold(4),
    scoring=("roc_auc", "balanced_accuracy"),
    return_estimator=True,
)
machine = SVC(gamma=2, C=10).fit(X, y)
display = DecisionBoundaryDisplay.from_estimator(machine, X, response_method="decision_function", grid_resolution=20)
roc = RocCurveDisplay.from_estimator(machine, X, y)
plt.close("all")

found = {
    "learning curve: training": trained.mean(axis=1),
    "learning curve: validation": tested.mean(axis=1),
    "validation curve": over.mean(axis=1),
    "values on unseen folds": values,
    "area under the curve": roc_auc_score(y, values),
    "scores of groups": scores["test_balanced_accuracy"],
    "estimators kept": len(scores["estimator"]),
    "boundary, drawn": display.response,
    "ROC, drawn": roc.roc_auc,
    "report": classification_report(y, machine.predict(X), output_dict=True)["macro avg"],
    "permutation test": permutation_test_score(SVC(), X, y, n_permutations=3, cv=2, random_state=0)[1],
}
