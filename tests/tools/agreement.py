"""Our estimators beside scikit-learn's on its own data: who is how far from the optimum, and what differs for it.

Scikit-learn's α goes through our certificate, machine by machine. Two points with gaps g and g' (absolute) have weights
that differ by √(2g) + √(2g') at most, so that f − b differs by that times √K(x, x) at most; and where b is not unique,
two solutions may differ by any part of its interval. What neither explains is a disagreement.

`python tests/tools/agreement.py` walks the whole grid, and prints a table.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler, scale

import qpsvm
from qpsvm import estimators

DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits,
        "diabetes": load_diabetes}  # fmt: skip
#: The gap that is asked of ours: of one of 1e-6, √(2·1e-6) of the values may be left.
TOL = 1e-10
#: Tolerance of scikit-learn's solvers, and their most iterations: some do not end on their own.
SK_TOL, SK_ITERATIONS = 1e-6, 2_000_000
#: Values agree up to this times the largest of them, or 1; a gap below `ENOUGH` is optimal enough to say so.
VALUES, ENOUGH = 1e-4, 1e-6
#: A ν-machine has no margin at all, w = 0, where its ρ is no larger.
NO_MARGIN = 1e-9
#: The machines of this library behind the estimators with a kernel.
PROBLEMS: dict[str, Any] = {"SVC": qpsvm.CSVM, "NuSVC": qpsvm.NuSVM, "SVR": qpsvm.EpsilonSVR, "NuSVR": qpsvm.NuSVR,
                            "OneClassSVM": qpsvm.OneClass}  # fmt: skip
NAMES = {"C": "C", "nu": "nu", "epsilon": "epsilon"}


@dataclass
class Record:
    """One fit of each.

    `gap` and `theirs` are the worst certified relative gaps of the machines. `difference` is the largest one of the
    decision values, relative to the largest value or 1. `unexplained` counts those that are larger than `VALUES` and
    than what gaps and intervals of b explain. `labels` counts predictions that differ, and `wrong` those of them with
    no |f| as small as that.
    """

    data: str
    estimator: str
    given: dict[str, Any]
    gap: float
    theirs: float
    difference: float
    unexplained: int
    labels: int
    wrong: int
    seconds: tuple[float, float]


def data(name: str, few: int | None = None) -> tuple[Any, Any]:
    """Samples, standardised where features differ in units, and targets."""
    X, y = DATA[name](return_X_y=True)
    X = X / 16.0 if name == "digits" else StandardScaler().fit_transform(X)
    y = scale(y) if name == "diabetes" else y
    return (X, y) if few is None else (X[:: len(X) // few], y[:: len(X) // few])


def grid() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The whole of it: data, estimator, parameters."""
    classes, targets = ("iris", "wine", "breast_cancer", "digits"), ("diabetes", "breast_cancer")
    kernels: list[dict[str, Any]] = [
        {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "rbf"}, {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    ]  # fmt: skip
    for name, kernel in product(classes, kernels):
        for C in (0.1, 1.0, 100.0):
            yield name, "SVC", {"C": C, **kernel}
        for nu in (0.05, 0.3):
            yield name, "NuSVC", {"nu": nu, **kernel}
    for name, kernel in product((*classes, "diabetes"), kernels):
        for nu in (0.1, 0.5):
            yield name, "OneClassSVM", {"nu": nu, **kernel}
    for name, kernel, C in product(targets, kernels, (0.1, 10.0)):
        for epsilon in (0.05, 0.4):
            yield name, "SVR", {"C": C, "epsilon": epsilon, **kernel}
        for nu in (0.2, 0.6):
            yield name, "NuSVR", {"C": C, "nu": nu, **kernel}
    for name, loss, C in product(classes, ("hinge", "squared_hinge"), (0.1, 1.0)):
        yield name, "LinearSVC", {"loss": loss, "C": C, "intercept_scaling": 1.0}
    for name, loss, C in product(targets, ("epsilon_insensitive", "squared_epsilon_insensitive"), (0.1, 1.0)):
        yield name, "LinearSVR", {"loss": loss, "C": C, "epsilon": 0.1, "intercept_scaling": 1.0}


def compare(name: str, estimator: str, given: dict[str, Any], few: int | None = None) -> Record:
    """Fit both, and see what differs."""
    X, y = data(name, few)
    target = None if estimator == "OneClassSVM" else y
    shape = {"decision_function_shape": "ovo"} if estimator in ("SVC", "NuSVC") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        ours = getattr(estimators, estimator)(**given, **shape, tol=TOL).fit(X, target)
        half = time.process_time()
        theirs = getattr(sklearn.svm, estimator)(**given, **shape, tol=SK_TOL, max_iter=SK_ITERATIONS)
        theirs.fit(X, target)
    seconds = half - start, time.process_time() - half
    f, g = (as_columns(each, X) for each in (ours, theirs))
    gap, allowed = (allowances_of_linear if estimator in ("LinearSVC", "LinearSVR") else allowances)(
        estimator, ours, theirs, given, X, y, g
    )
    tolerated = VALUES * max(1.0, float(np.abs(f).max()))
    explained = np.maximum(allowed, tolerated)
    other = ours.predict(X) != theirs.predict(X) if hasattr(ours, "classes_") else np.zeros(len(X), dtype=bool)
    wrong = other & (np.abs(f) > explained).all(axis=1)
    return Record(
        name, estimator, given, ours.gap_, gap, float(np.abs(f - g).max() / tolerated * VALUES),
        int((np.abs(f - g) > explained).sum()), int(other.sum()), int(wrong.sum()), seconds,
    )  # fmt: skip


def as_columns(fitted: Any, X: Any) -> Any:
    """f of each machine: (n, P)."""
    values = fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict(X)
    return values.reshape(len(X), -1)


def allowances(
    estimator: str, ours: Any, theirs: Any, given: dict[str, Any], X: Any, y: Any, g: Any
) -> tuple[float, Any]:
    """Their worst gap, and by how much f of each machine may differ for gaps and free intercepts: (n, P)."""
    kernel = ours._scores.kernel
    own = {name: value for name, value in given.items() if name in NAMES}
    long = np.sqrt(kernel.diagonal(X))
    worst, allowed = 0.0, np.zeros_like(g)
    pairs = list(combinations(range(len(ours.classes_)), 2)) if hasattr(ours, "classes_") else [None]
    for p, pair in enumerate(pairs):
        rows, coef = coefficients(theirs, pair, X, y)
        labelled = () if estimator == "OneClassSVM" else (y[rows],)
        problem = PROBLEMS[estimator](X[rows], *labelled, **own, kernel=kernel, psd="clip")
        result = ours.results_[p] if hasattr(ours, "results_") else ours.result_
        two_sided = len(result.alpha) > len(rows)
        alpha = np.concatenate([np.maximum(coef, 0), np.maximum(-coef, 0)]) if two_sided else np.abs(coef)
        unit = alpha.sum() / result.alpha.sum() if estimator in ("NuSVC", "OneClassSVM") else 1.0
        certificate = problem.certify(alpha / unit)
        worst = max(worst, certificate.gap)
        radius = root_of_gap(certificate) + root_of_gap(result)
        free = max(certificate.b_interval[1], result.b_interval[1]) - min(
            certificate.b_interval[0], result.b_interval[0]
        )
        if estimator == "OneClassSVM":  # its b is −ρ, without an interval
            free = abs(certificate.b - result.b)
        if estimator == "NuSVC" and result.rho <= NO_MARGIN:  # f/ρ means nothing where the best margin is 0
            free = np.inf
        # of a ν-machine f is divided by ρ, whose own error counts relatively
        allowed[:, p] = unit * (radius * long * (1.0 + np.abs(g[:, p])) + free) * (1.0 if unit == 1.0 else 2.0)
    return worst, allowed


def root_of_gap(point: Any) -> float:
    """√(2 gap): how far the weights of a point may be from the best ones."""
    return float(np.sqrt(2.0 * max(point.primal - point.dual, 0.0)))


def coefficients(theirs: Any, pair: tuple[int, int] | None, X: Any, y: Any) -> tuple[Any, Any]:
    """The rows of a machine, and their coefficients in its dual: (m,) each."""
    dual = np.zeros((len(theirs.dual_coef_), len(X)))
    dual[:, theirs.support_] = theirs.dual_coef_
    if pair is None:
        return np.arange(len(X)), dual[0]
    i, j = pair
    codes = np.searchsorted(theirs.classes_, y)
    rows = np.flatnonzero((codes == i) | (codes == j))
    coef = np.where(codes == i, dual[j - 1], dual[i]) if len(theirs.classes_) > 2 else dual[0]
    return rows, coef[rows]


def allowances_of_linear(
    estimator: str, ours: Any, theirs: Any, given: dict[str, Any], X: Any, y: Any, g: Any
) -> tuple[float, Any]:
    """The same of LIBLINEAR's problems, from the objective at their own w and b: its α are not to be had."""
    w = np.hstack([np.atleast_2d(theirs.coef_), np.atleast_1d(theirs.intercept_)[:, None]])
    if estimator == "LinearSVC":
        k = len(ours.classes_)
        sign = np.where(y[:, None] == (ours.classes_ if k > 2 else ours.classes_[1:])[None, :], 1.0, -1.0)
        slack = np.maximum(1.0 - sign * g, 0.0)
        results = ours.results_
    else:
        slack = np.maximum(np.abs(g - y[:, None]) - given["epsilon"], 0.0)
        results = [ours.result_]
    losses = slack**2 if given["loss"].startswith("squared") else slack
    primal = 0.5 * (w * w).sum(axis=1) + given["C"] * losses.sum(axis=0)
    dual = np.array([result.dual for result in results])
    radius = np.sqrt(2.0 * np.maximum(primal - dual, 0.0)) + np.array([root_of_gap(result) for result in results])
    long = np.sqrt((X * X).sum(axis=1) + 1.0)
    return float(((primal - dual) / np.maximum(primal, 1.0)).max()), long[:, None] * radius[None, :]


def main(names: list[str]) -> None:
    """Print a line for every fit whose values differ, and the table."""
    found: list[Record] = []
    for name, estimator, given in grid():
        if names and name not in names:
            continue
        record = compare(name, estimator, given)
        found.append(record)
        if record.difference > VALUES or record.labels or record.gap > ENOUGH:
            print(record, flush=True)
    print("| data | estimator | fits | theirs ≤ 1e-6 | ours ≤ 1e-6 | f within 1e-4 | unexplained | labels | not ties |")
    for key in dict.fromkeys((each.data, each.estimator) for each in found):
        some = [each for each in found if (each.data, each.estimator) == key]
        counts = [len(some), sum(each.theirs <= ENOUGH for each in some), sum(each.gap <= ENOUGH for each in some),
                  sum(each.difference <= VALUES for each in some), sum(each.unexplained for each in some),
                  sum(each.labels for each in some), sum(each.wrong for each in some)]  # fmt: skip
        print("|", " | ".join([*key, *map(str, counts)]), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
