"""Multi-label `OneVsRestClassifier`, several outputs, chains, codes"""

import numpy as np
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.linear_model import LinearRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.svm import SVC, SVR, LinearSVC

X, Y = make_multilabel_classification(120, n_features=10, n_classes=3, allow_unlabeled=True, random_state=0)
X = X / 10.0
rest = OneVsRestClassifier(SVC(C=5)).fit(X, Y)
linear = OneVsRestClassifier(LinearSVC(intercept_scaling=1)).fit(X, Y)
outputs = MultiOutputClassifier(SVC(kernel="poly")).fit(X, Y)
chain = ClassifierChain(SVC(kernel="linear"), order=[2, 0, 1]).fit(X, Y)
several = MultiOutputRegressor(SVR(C=2)).fit(X[:, :7], X[:, 7:])
digits, y = load_digits(return_X_y=True)
digits, y = digits[:300] / 16.0, y[:300]
pairs = OneVsOneClassifier(SVC(C=3)).fit(digits[:200], y[:200])
codes = OutputCodeClassifier(SVC(), code_size=1.5, random_state=0).fit(digits[:200], y[:200])

found = {
    "one against the rest: labels": rest.predict(X),
    "one against the rest: values": rest.decision_function(X),
    "linear: labels": linear.predict(X),
    "linear: F1": f1_score(Y, linear.predict(X), average="micro"),
    "several outputs: labels": np.asarray(outputs.predict(X)),
    "chain: labels": chain.predict(X),
    "several numbers": several.predict(X[:, :7]),
    "R²": several.score(X[:, :7], X[:, 7:]) - LinearRegression().fit(X[:, :7], X[:, 7:]).score(X[:, :7], X[:, 7:]),
    "pairs: labels": pairs.predict(digits[200:]),
    "codes: labels": codes.predict(digits[200:]),
}
