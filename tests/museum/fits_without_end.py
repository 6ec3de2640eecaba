"""Fits that never end, or end where they are by themselves: at a plateau."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
from exhibits import Shown, alpha_of, centre, excess, exhibit, gap_of, issue, show_stop, solve_timed, time_call
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, NuSVR

import qpsvm

#: Iterations after which a fit on a handful of rows counts as one without end: LIBSVM needs some tens for such.
MANY = 100_000


@exhibit(issue(30353), 2024, "of that kind")
def svc_one_feature() -> Shown:
    """A polynomial of degree 4 over one feature; the published file of over 2000 rows is gone, these are 40."""
    rng = np.random.default_rng(6)
    X = 4.0 * rng.normal(size=(40, 1))
    y = (rng.random(40) < 0.5).astype(int)
    gamma = 0.9597420397825849
    weights = {0: 1.04884106, 1: 0.95550528}
    kernel = qpsvm.Polynomial(4, gamma, 0.0)
    s = np.where(y == 0, weights[0], weights[1])
    machine = SVC(C=100, kernel="poly", degree=4, gamma=gamma, tol=0.01, class_weight=weights, max_iter=10 * MANY)
    return show_stop(qpsvm.CSVM(X, y, 100, kernel, sample_weight=s), lambda: machine.fit(X, y))


@exhibit(issue(13075), 2019, "published")
def nusvc_five_rows() -> Shown:
    """Five of the six published rows, in the first order without an end: `probability=True` takes a random one."""
    X = np.zeros((6, 13))
    X[:, 9] = [0.31865753, 0.59230137, 0.31778082, 0.36430137, 0.33638356, 0.31843836]
    X[[0, 5], 2], X[[0, 5], 5], X[[0, 5], 6] = 0.3, 1.0, 0.625
    X[1, [5, 6, 10, 12]] = [0.33333333, 0.61538462, 1.0, 1.0]
    X[[2, 4], 10] = 1.0
    X[3, [0, 3, 4, 5, 7, 8]] = [0.66666667, 0.5, 1.0, 0.8, 1.0, 0.5625]
    y = np.array([0, 1, 1, 0, 1, 0])
    nu = 2 / 7
    settings = {"nu": nu, "kernel": "poly", "gamma": "auto", "coef0": 10.0}
    for order in map(list, permutations((0, 2, 3, 4, 5))):
        early = NuSVC(**settings, max_iter=MANY // 10).fit(X[order], y[order])
        if early.fit_status_ == 1:
            break
    X, y = X[order], y[order]
    problem = qpsvm.NuSVM(X, y, nu, qpsvm.Polynomial(3, 1 / 13, 10.0))
    model, seconds = time_call(lambda: NuSVC(**settings, max_iter=10 * MANY).fit(X, y))
    gap = gap_of(problem, model)
    no_nearer = gap > 0.9 * gap_of(problem, early)
    fails = model.fit_status_ == 1 and gap > 1e-5 and no_nearer
    said = f"no end after {int(model.n_iter_[0]):,} iterations, no nearer than after {MANY // 10:,}"
    without_mean = NuSVC(nu=nu, kernel="precomputed", max_iter=100).fit(centre(problem), y)
    return Shown(bool(fails), said, gap, seconds, *solve_timed(problem), because=without_mean.fit_status_ == 0)


@exhibit(issue(4648), 2015, "published", tolerance=1e-5)
def svc_two_points() -> Shown:
    """Two points far from the origin, which any eye can separate. Of 20 digits of K(x, x) ten cancel."""
    X = np.array([[1.0, 99999.0], [2.0, 99999.0]])
    y = [0, 1]
    problem = qpsvm.CSVM(X, y, kernel=qpsvm.Polynomial(2, 0.5, 0.0))
    shown = show_stop(
        problem, lambda: SVC(kernel="poly", degree=2, gamma="auto", max_iter=10 * MANY).fit(X, y), tol=1e-5
    )
    without_mean = SVC(kernel="precomputed", max_iter=100).fit(centre(problem), y)
    return replace(shown, right=bool((shown.ours.predict(X) == y).all()), because=without_mean.fit_status_ == 0)


@exhibit(issue(2615, "alteryx/evalml"), 2021, "of that kind")
def svc_one_large_column() -> Shown:
    """A linear kernel where one column is a coordinate in metres, 10⁷, and the others are single digits."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1e8, -7e7, 60), rng.normal(5.0, 2.0, size=(60, 3))])
    y = (X[:, 1] + rng.normal(size=60) > 5.0).astype(int)
    return show_stop(qpsvm.CSVM(X, y), lambda: SVC(kernel="linear", max_iter=10 * MANY).fit(X, y))


@exhibit(issue(11079), 2018, "of that kind")
def nusvr_three_hours() -> Shown:
    """A linear ν-SVR on features of different units; the table that took three hours had 547 rows, this has 100."""
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(100, 5)) * 10.0 ** np.arange(5)
    t = X @ 10.0 ** -np.arange(5) + rng.normal(size=100)
    return show_stop(qpsvm.NuSVR(X, t), lambda: NuSVR(kernel="linear", max_iter=MANY).fit(X, t), 0.01)


@exhibit(issue(22283), 2022, "of that kind")
def linearsvc_stricter_is_worse() -> Shown:
    """A stricter tolerance makes the answer worse: C = .1, no intercept and tol = 1e-12 as published, the data not."""
    X, y = make_classification(200, 20, random_state=0)
    s = np.where(y > 0, 1.0, -1.0)
    C = 0.1
    ours, our_seconds = solve_timed(qpsvm.PrimalHinge(X, y, lam=1 / (C * len(y)), intercept=None))

    def compute_excess(tol: float) -> float:
        """Compute the excess at a tolerance, over the objective's λ form, whose factor is C n."""
        model = LinearSVC(
            C=C, loss="hinge", dual=True, fit_intercept=False, tol=tol, random_state=0, max_iter=MANY
        ).fit(X, y)
        w = model.coef_[0]
        return excess((0.5 * w @ w + C * np.maximum(0.0, 1.0 - s * (X @ w)).sum()) / (C * len(y)), ours)

    loose = compute_excess(1e-8)
    strict, seconds = time_call(lambda: compute_excess(1e-12))
    said = f"tol = 1e-8 ends {loose:.0e} above the optimum, tol = 1e-12 {strict:.0e} after {MANY:,} passes"
    return Shown(strict > 1e-5 and loose < 1e-8, said, strict, seconds, ours, our_seconds)


@exhibit(issue(11536), 2018, "of that kind")
def linearsvc_defaults() -> Shown:
    """The defaults on a table as it is; a hundred times as many iterations are no better."""
    X, y = load_breast_cancer(return_X_y=True)
    s = np.where(y > 0, 1.0, -1.0)
    ours, our_seconds = solve_timed(qpsvm.PrimalHinge(X, y, lam=1 / len(y), intercept="penalised"))

    def fit_for(iterations: int) -> tuple[float, float]:
        model = LinearSVC(loss="hinge", random_state=0, max_iter=iterations).fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
        value = (0.5 * (w @ w + b * b) + np.maximum(0.0, 1.0 - s * (X @ w + b)).sum()) / len(y)
        return excess(value, ours), float(model.score(X, y))

    (first, score), seconds = time_call(lambda: fit_for(1000))
    later, _ = fit_for(10_000)
    accuracy = float(np.mean(ours.predict(X) == y))
    said = f"{first:.0%} above the optimum, after ten times as many iterations {later:.0%}; accuracy {score:.3f}"
    return Shown(min(first, later) > 0.1, said, first, seconds, ours, our_seconds, accuracy > 0.96)


@exhibit("https://github.com/cjlin1/libsvm/pull/229", 2024, "ours")
def svc_tolerance_without_effect() -> Shown:
    """A tolerance of 1e-12 is reported as met, at a gap that 1e-6 has already."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    problem = qpsvm.CSVM(X, y, 100, qpsvm.RBF(1 / 30))
    settings = {"C": 100, "gamma": 1 / 30, "max_iter": 10 * MANY}
    usual = SVC(**settings, tol=1e-6).fit(X, y)
    model, seconds = time_call(lambda: SVC(**settings, tol=1e-12).fit(X, y))
    gap = gap_of(problem, model)
    before = float(problem.at(alpha_of(usual, len(y))).gap)
    ours, our_seconds = solve_timed(problem, tol=1e-10)
    said = f"'converged' at tol = 1e-12 with the gap of tol = 1e-6, {before:.1e}"
    fails = model.fit_status_ == 0 and gap > 1e-6 and gap > 0.9 * before
    return Shown(fails, said, gap, seconds, ours, our_seconds, ours.gap <= 1e-10)
