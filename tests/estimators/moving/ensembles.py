"""Stacking, voting, bagging, boosting"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
train, test, y_train, y_test = X[:200], X[200:400], y[:200], y[200:400]
stacked = StackingClassifier(
    [("rbf", SVC(C=3)), ("nu", NuSVC(nu=0.2)), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))],
    final_estimator=make_pipeline(StandardScaler(), LogisticRegression()),
    cv=3,
    passthrough=False,
).fit(train, y_train)
voting = VotingClassifier([("rbf", SVC()), ("poly", SVC(kernel="poly", coef0=1)), ("linear", LinearSVC(C=0.01))])
voting.fit(train, y_train)
bagged = BaggingClassifier(SVC(C=10), n_estimators=4, max_samples=0.6, random_state=0).fit(train, y_train)
boosted = AdaBoostClassifier(SVC(C=0.05, kernel="linear"), n_estimators=3, random_state=0).fit(train, y_train)
numbers = StackingRegressor([("svr", SVR(C=10)), ("ridge", Ridge())], final_estimator=Ridge(), cv=3)
numbers.fit(train[:, 1:], train[:, 0])

found = {
    "stacking: labels": stacked.predict(test),
    "stacking: method of each": stacked.stack_method_,
    "stacking: probabilities": stacked.predict_proba(test),
    "voting: labels": voting.predict(test),
    "bagging: labels": bagged.predict(test),
    "bagging: decision values": bagged.decision_function(test),
    "boosting: labels": boosted.predict(test),
    "stacked regression": numbers.predict(test[:, 1:]),
}
