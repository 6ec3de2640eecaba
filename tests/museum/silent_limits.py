"""Ends far from the optimum, kept quiet: the limits of oneDAL, in place of LIBSVM, and a rule when to stop."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from exhibits import Shown, exhibit, gap_of, issue, solve_timed, time_call
from sklearn.linear_model import SGDOneClassSVM

import qpsvm

INTEL = {"package": "scikit-learn-intelex", "seen": ("2026.2.0",)}


def fitted(X: np.ndarray, y: np.ndarray, **settings: Any) -> tuple[Any, float, bool]:
    """A fitted SVC of oneDAL's, its processor time, and whether it warned."""
    from sklearnex.svm import SVC

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model, seconds = time_call(lambda: SVC(**settings).fit(X, y))
    return model, seconds, bool(said)


@exhibit(issue(1712, "uxlfoundation/scikit-learn-intelex"), 2024, "of that kind", dear=True, **INTEL)
def onedal_ten_thousand() -> Shown:
    """`max_iter=-1`, "no limit", is a limit of 10 000 rounds, reached without a warning and reported as success."""
    for n, seed in ((10, 0), (20, 0), (20, 2)):  # the first that runs into it: which one depends on the processor
        rng = np.random.default_rng(seed)
        X = 1000.0 * rng.normal(size=(n, 2))
        y = (X[:, 0] + 1000.0 * rng.normal(size=n) > 0).astype(int)
        model, seconds, warned = fitted(X, y, C=100, kernel="linear")
        if np.max(model.n_iter_) >= 10_000:
            break
    problem = qpsvm.CSVM(X, y, 100)
    gap = gap_of(problem, model)
    rounds = int(np.max(model.n_iter_))
    said = f"fit_status_ {model.fit_status_} after {rounds:,} rounds, {'a' if warned else 'no'} warning"
    fails = model.fit_status_ == 0 and not warned and rounds == 10_000 and gap > 0.1
    return Shown(fails, said, gap, seconds, *solve_timed(problem))


@exhibit(issue(1712, "uxlfoundation/scikit-learn-intelex"), 2024, "of that kind", dear=True, **INTEL)
def onedal_own_limit() -> Shown:
    """A limit of the user's own is kept, and reported as success; so is an end far from the optimum."""
    rng = np.random.default_rng(0)
    X = 3.0 * rng.normal(size=(100, 1))
    y = (rng.random(100) < 0.5).astype(int)
    model, seconds, warned = fitted(X, y, C=100, kernel="poly", degree=4, gamma=0.96, max_iter=3)
    problem = qpsvm.CSVM(X, y, 100, qpsvm.Polynomial(4, 0.96, 0.0))
    gap = gap_of(problem, model)
    said = f"fit_status_ {model.fit_status_} at max_iter=3, {'a' if warned else 'no'} warning"
    return Shown(model.fit_status_ == 0 and not warned and gap > 1e-3, said, gap, seconds, *solve_timed(problem))


@exhibit(issue(30027), 2024, "of that kind")
def sgd_oneclass() -> Shown:
    """Half of the samples are to be outside; stochastic gradients stop with a few. It was mended, to little avail."""
    n, nu = 500, 0.5
    X = np.random.default_rng(0).normal(size=(n, 50)) + 1.0
    model, seconds = time_call(lambda: SGDOneClassSVM(nu=nu, random_state=0).fit(X))
    ours, our_seconds = solve_timed(qpsvm.OneClass(X, nu, "linear"))
    w = model.coef_
    rho = float(model.offset_[0])
    value = 0.5 * w @ w - rho + float(np.maximum(0.0, rho - X @ w).mean()) / nu
    value *= (nu * n) ** 2  # from its units to those of α that add up to νn
    gap = (value - ours.dual) / max(abs(value), abs(ours.dual))
    values = model.decision_function(X), ours.decision_function(X)
    outside, right = (float(np.mean(f < -1e-12 * np.abs(f).max())) for f in values)  # on the boundary is not outside
    said = f"{outside:.0%} of the samples are outside after {model.n_iter_} epochs, no warning"
    return Shown(gap > 0.1, said, gap, seconds, ours, our_seconds, 0.4 < right <= nu)
