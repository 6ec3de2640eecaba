"""Compare our estimators with scikit-learn's on its own data: who is how far from the optimum, and what differs.

Scikit-learn's α is certified by this library, machine by machine. The weights of two points with absolute gaps g and g'
differ by at most √(2g) + √(2g'), so f − b differs by at most that times √K(x, x); and if b is not unique, two solutions
may differ by up to the length of its interval. A difference that neither explains is a disagreement.

`compare` fits one pair of estimators; `python tests/tools/agreement.py` runs the whole grid and prints a table.
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
#: Tolerance of ours: with 1e-6, f could still be off by √(2·1e-6).
TOL = 1e-10
#: Tolerance and iteration limit of scikit-learn's solvers: some would not end otherwise.
SK_TOL, SK_ITERATIONS = 1e-6, 2_000_000
#: Relative tolerance of decision values (to the largest, or 1), and the gap below which a fit counts as optimal.
VALUE_TOL, OPTIMAL_GAP = 1e-4, 1e-6
#: A ν-SVM whose ρ is no larger than this has no margin: w = 0.
NO_MARGIN = 1e-9
#: The problems of this library behind the estimators with a kernel.
PROBLEMS: dict[str, Any] = {"SVC": qpsvm.CSVM, "NuSVC": qpsvm.NuSVM, "SVR": qpsvm.EpsilonSVR, "NuSVR": qpsvm.NuSVR,
                            "OneClassSVM": qpsvm.OneClass}  # fmt: skip
NAMES = {"C": "C", "nu": "nu", "epsilon": "epsilon"}


@dataclass
class Record:
    """The comparison of one fit of each library.

    `gap` and `theirs` are the worst certified relative gaps of the machines. `difference` is the largest one of
    decision values, relative to the largest value or 1. `unexplained` counts those that are larger than `VALUE_TOL` and
    than what gaps and intervals of b explain. `labels` counts predictions that differ, and `wrong` those
    of them that are not ties, since every |f| is larger than that. `seconds` are ours and theirs.
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


def load_data(name: str, few: int | None = None) -> tuple[Any, Any]:
    """Load X and y, standardised unless features share a unit; `few` takes about that many rows, evenly."""
    X, y = DATA[name](return_X_y=True)
    X = X / 16.0 if name == "digits" else StandardScaler().fit_transform(X)
    y = scale(y) if name == "diabetes" else y
    if few is None:
        return X, y
    return X[:: len(X) // few], y[:: len(X) // few]


def iter_grid() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the whole grid: data, estimator, parameters."""
    classes = "iris", "wine", "breast_cancer", "digits"
    targets = "diabetes", "breast_cancer"
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
    """Fit both estimators and compare them; `few` limits the number of rows."""
    X, y = load_data(name, few)
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
    gap, allowed = (bound_differences_of_linear if estimator in ("LinearSVC", "LinearSVR") else bound_differences)(
        estimator, ours, theirs, given, X, y, g
    )
    tolerated = VALUE_TOL * max(1.0, float(np.abs(f).max()))
    explained = np.maximum(allowed, tolerated)
    if hasattr(ours, "classes_"):
        other = ours.predict(X) != theirs.predict(X)
    else:
        other = np.zeros(len(X), dtype=bool)
    wrong = other & (np.abs(f) > explained).all(axis=1)
    return Record(
        name, estimator, given, ours.gap_, gap, float(np.abs(f - g).max() / tolerated * VALUE_TOL),
        int((np.abs(f - g) > explained).sum()), int(other.sum()), int(wrong.sum()), seconds,
    )  # fmt: skip


def as_columns(fitted: Any, X: Any) -> Any:
    """Return f of each of the P machines: (n, P)."""
    if hasattr(fitted, "decision_function"):
        values = fitted.decision_function(X)
    else:
        values = fitted.predict(X)
    return values.reshape(len(X), -1)


def bound_differences(
    estimator: str, ours: Any, theirs: Any, given: dict[str, Any], X: Any, y: Any, g: Any
) -> tuple[float, Any]:
    """Return their worst relative gap, and how far f may differ by gaps and free intercepts: (n, P)."""
    kernel = ours._scores.kernel
    own = {name: value for name, value in given.items() if name in NAMES}
    norms = np.sqrt(kernel.diagonal(X))
    worst = 0.0
    allowed = np.zeros_like(g)
    if hasattr(ours, "classes_"):
        pairs = list(combinations(range(len(ours.classes_)), 2))
    else:
        pairs = [None]
    for p, pair in enumerate(pairs):
        rows, coef = read_coefficients(theirs, pair, X, y)
        labelled = () if estimator == "OneClassSVM" else (y[rows],)
        problem = PROBLEMS[estimator](X[rows], *labelled, **own, kernel=kernel, psd="clip")
        result = ours.results_[p] if hasattr(ours, "results_") else ours.result_
        two_sided = len(result.alpha) > len(rows)
        if two_sided:
            alpha = np.concatenate([np.maximum(coef, 0), np.maximum(-coef, 0)])
        else:
            alpha = np.abs(coef)
        if estimator in ("NuSVC", "OneClassSVM"):
            unit = alpha.sum() / result.alpha.sum()
        else:
            unit = 1.0
        certificate = problem.certify(alpha / unit)
        worst = max(worst, certificate.gap)
        radius = bound_weight_distance(certificate) + bound_weight_distance(result)
        free = max(certificate.b_interval[1], result.b_interval[1]) - min(
            certificate.b_interval[0], result.b_interval[0]
        )
        if estimator == "OneClassSVM":  # its b is −ρ and has no interval
            free = abs(certificate.b - result.b)
        if estimator == "NuSVC" and result.rho <= NO_MARGIN:  # f/ρ means nothing if the optimal margin is 0
            free = np.inf
        # f of a ν-SVM is divided by ρ, whose relative error adds
        allowed[:, p] = unit * (radius * norms * (1.0 + np.abs(g[:, p])) + free) * (1.0 if unit == 1.0 else 2.0)
    return worst, allowed


def bound_weight_distance(point: Any) -> float:
    """Bound the distance of the weights of a point from the optimal ones by √(2 gap)."""
    return float(np.sqrt(2.0 * max(point.primal - point.dual, 0.0)))


def read_coefficients(theirs: Any, pair: tuple[int, int] | None, X: Any, y: Any) -> tuple[Any, Any]:
    """Return the rows of a machine and their dual coefficients in scikit-learn's estimator: (m,) each."""
    dual = np.zeros((len(theirs.dual_coef_), len(X)))
    dual[:, theirs.support_] = theirs.dual_coef_
    if pair is None:
        return np.arange(len(X)), dual[0]
    i, j = pair
    codes = np.searchsorted(theirs.classes_, y)
    rows = np.flatnonzero((codes == i) | (codes == j))
    if len(theirs.classes_) > 2:
        coef = np.where(codes == i, dual[j - 1], dual[i])
    else:
        coef = dual[0]
    return rows, coef[rows]


def bound_differences_of_linear(
    estimator: str, ours: Any, theirs: Any, given: dict[str, Any], X: Any, y: Any, g: Any
) -> tuple[float, Any]:
    """Do as `bound_differences` for LIBLINEAR, which returns no α: P at its w and b, D of our result."""
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
    radius = np.sqrt(2.0 * np.maximum(primal - dual, 0.0)) + np.array(
        [bound_weight_distance(result) for result in results]
    )
    norms = np.sqrt((X * X).sum(axis=1) + 1.0)
    return float(((primal - dual) / np.maximum(primal, 1.0)).max()), norms[:, None] * radius[None, :]


def main(names: list[str]) -> None:
    """Print a line for every fit whose values differ, then the table."""
    found: list[Record] = []
    for name, estimator, given in iter_grid():
        if names and name not in names:
            continue
        record = compare(name, estimator, given)
        found.append(record)
        if record.difference > VALUE_TOL or record.labels or record.gap > OPTIMAL_GAP:
            print(record, flush=True)
    print("| data | estimator | fits | theirs ≤ 1e-6 | ours ≤ 1e-6 | f within 1e-4 | unexplained | labels | not ties |")
    for key in dict.fromkeys((each.data, each.estimator) for each in found):
        some = [each for each in found if (each.data, each.estimator) == key]
        counts = [len(some), sum(each.theirs <= OPTIMAL_GAP for each in some),
                  sum(each.gap <= OPTIMAL_GAP for each in some),
                  sum(each.difference <= VALUE_TOL for each in some), sum(each.unexplained for each in some),
                  sum(each.labels for each in some), sum(each.wrong for each in some)]  # fmt: skip
        print("|", " | ".join([*key, *map(str, counts)]), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
