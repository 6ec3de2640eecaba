"""Answers to another question than the one that was asked."""

from __future__ import annotations

import warnings

import numpy as np
from exhibits import Shown, alpha_of, excess, exhibit, issue, solve_timed, time_call
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.utils import shuffle

import qpsvm
from qpsvm import estimators


@exhibit(issue(4195), 2015, "published")
def oneclass_small_nu() -> Shown:
    """With ν so small that no sample may be an outlier, all 2000 are."""
    X = np.random.RandomState(0).random_sample((2000, 4))
    nu = 1e-6
    model, seconds = time_call(lambda: OneClassSVM(nu=nu, kernel="rbf", gamma=0.25).fit(X))
    problem = qpsvm.OneClass(X, nu, kernel=qpsvm.RBF(0.25))
    ours, our_seconds = solve_timed(problem)
    inside = float(np.mean(model.predict(X) == 1))
    gap = float(problem.at(alpha_of(model, len(X))).gap)
    right = bool((ours.decision_function(X) >= -1e-9 * ours.rho).all())
    said = f"{inside:.0%} of the training samples are inside, after {int(model.n_iter_)} iterations"
    return Shown(inside < 0.5 and gap > 1e-2, said, gap, seconds, ours, our_seconds, right)


@exhibit(issue(11715), 2018, "of that kind")
def linearsvc_penalised_intercept() -> Shown:
    """LIBLINEAR's b is a weight of a feature of ones, and is paid for: samples away from the origin suffer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    X = X + 10.0
    s = np.where(y > 0, 1.0, -1.0)
    model, seconds = time_call(lambda: LinearSVC(loss="hinge", tol=1e-6, max_iter=10**6, random_state=0).fit(X, y))
    ours, our_seconds = solve_timed(qpsvm.CSVM(X, y))
    w = model.coef_[0]
    above = excess(0.5 * w @ w + np.maximum(0.0, 1.0 - s * model.decision_function(X)).sum(), ours)
    score = float(model.score(X, y))
    accuracy = float(np.mean(ours.predict(X) == y))
    said = f"{above:.0%} above the optimum; accuracy {score:.3f}, that of the SVM {accuracy:.3f}"
    right = estimators.LinearSVC(loss="hinge").fit(X, y).score(X, y) == accuracy > score
    return Shown(above > 0.1, said, above, seconds, ours, our_seconds, right)


@exhibit(issue(18955), 2020, "published")
def svc_sigmoid() -> Shown:
    """An indefinite kernel is taken without a word; the dual is then no convex program."""
    X, y = load_iris(return_X_y=True)
    X = X[y > 0, :2]
    y = y[y > 0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model, seconds = time_call(lambda: SVC(kernel="sigmoid").fit(X, y))
    score = float(model.score(X, y))

    def solve_sigmoid() -> qpsvm.SVMResult | qpsvm.QPSVMError:
        try:
            return qpsvm.solve(qpsvm.CSVM(X, y, kernel=qpsvm.Sigmoid("scale", 0.0)))
        except qpsvm.IndefiniteKernelError as error:
            return error

    ours, our_seconds = time_call(solve_sigmoid)
    right = isinstance(ours, qpsvm.IndefiniteKernelError) and "smallest eigenvalue" in str(ours)
    words = f"'converged', no warning; accuracy {score:.2f} on the training samples"
    fails = model.fit_status_ == 0 and not said and score < 0.5
    return Shown(fails, words, float("nan"), seconds, ours, our_seconds, right)


@exhibit(issue(14100), 2019, "published")
def svc_probabilities() -> Shown:
    """`predict_proba` says one class, `predict` another."""
    iris = load_iris()
    X, y = shuffle(iris.data, iris.target, random_state=57)
    X, y = X[:30], y[:30]

    def fitted() -> SVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # deprecated since 1.9
            return SVC(class_weight="balanced", probability=True, random_state=0).fit(X, y)

    model, seconds = time_call(fitted)
    torn = int(np.sum(model.predict(X) != model.predict_proba(X).argmax(axis=1)))
    pair = y > 0
    balanced = len(y) / (3.0 * np.bincount(y)[y])
    ours, our_seconds = solve_timed(
        qpsvm.CSVM(X[pair], y[pair], kernel=qpsvm.RBF(float(1 / (4 * X.var()))), sample_weight=balanced[pair])
    )
    right = bool((ours.predict(X[pair]) == np.where(ours.decision_function(X[pair]) > 0, 2, 1)).all())
    machines = [estimators.SVC(class_weight="balanced", probability=True, random_state=seed) for seed in (0, 1)]
    first, second = (machine.fit(X, y).predict_proba(X) for machine in machines)
    right &= bool((first == second).all())  # nothing is random
    said = f"{torn} of 30 training samples have two answers"
    return Shown(torn > 0, said, float("nan"), seconds, ours, our_seconds, right)
