"""Hostile problems, one for each seed: any machine over samples that are spoilt in some way, parameters of any size."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from judge import faults

import qpsvm
from qpsvm import RBF, Linear, Polynomial

SPOILERS = (
    "plain", "scale", "columns", "one column", "offset", "heavy", "constant", "duplicate columns", "collinear", "twice",
    "contradictory", "separable", "ties", "near", "tiny", "huge", "one place",
)  # fmt: skip
STORAGE = ("float64", "float32", "integer", "fortran", "csr", "csc", "csr with zeros")
MACHINES = (
    "CSVM", "NuSVM", "PrimalHinge", "HardMargin", "SquaredHinge", "HuberHinge", "EpsilonSVR", "squared EpsilonSVR",
    "NuSVR", "QuantileSVR", "OneClass", "SVDD", "Ranking",
)  # fmt: skip
BACKENDS = ("auto", "auto", "auto", "interior_point", "cvxopt", "osqp")
TOLERANCES = (1e-6, 1e-6, 1e-8, 1e-10, 1e-12)
#: Scales, penalties and weights are between 10^−DECADES and 10^DECADES.
DECADES = 8.0


def decades(rng: np.random.Generator, size: Any = None) -> Any:
    """Numbers between 10^−8 and 10^8, all orders alike."""
    return 10.0 ** rng.uniform(-DECADES, DECADES, size)


def samples(rng: np.random.Generator, spoiler: str, most: int = 41) -> tuple[Any, Any]:
    """X (n, d) and y (n,) of ±1, spoilt in one way."""
    n, d = int(rng.integers(2, most)), int(rng.choice([1, 2, 5, 12, 45]))
    positives = int(np.clip(round(rng.choice([0.02, 0.2, 0.5]) * n), 1, n - 1))
    y = np.where(rng.permutation(n) < positives, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 0.5, 2.0]) * y[:, None]
    if spoiler == "scale":
        X *= decades(rng)
    elif spoiler == "columns":
        X *= decades(rng, d)
    elif spoiler == "one column":
        X[:, rng.integers(d)] *= decades(rng)
    elif spoiler == "offset":
        X += rng.choice([1.0, 1e3, 1e6]) * rng.choice([1.0, 1.1], d)
    elif spoiler == "heavy":
        X = rng.standard_cauchy((n, d)) + y[:, None]
    elif spoiler == "constant":
        X[:, rng.integers(d)] = 3.0
    elif spoiler == "duplicate columns":
        X = np.hstack([X, X])
    elif spoiler == "collinear":
        X = np.hstack([X, X @ rng.standard_normal((d, 2))])
    elif spoiler == "twice":
        X, y = np.vstack([X, X]), np.concatenate([y, y])
    elif spoiler == "contradictory":
        X, y = np.vstack([X, X]), np.concatenate([y, -y])
    elif spoiler == "separable":
        X[:, 0] += 20 * y
    elif spoiler == "ties":
        X = np.round(X)
    elif spoiler == "near":
        X[-1] = X[0] * (1 + rng.choice([1e-4, 1e-8, 1e-12]))
    elif spoiler in ("tiny", "huge"):
        X *= {"tiny": 1e-8, "huge": 1e8}[spoiler]
    elif spoiler == "one place":
        X = np.repeat(X[:1] + 0.1, n, axis=0)
    return X, y


def store(X: Any, how: str) -> Any:
    """Return the same numbers, or what is left of them, in another form."""
    if how == "integer":
        return np.round(3 * X).astype(np.int64) if np.abs(X).max() < 1e15 else X
    if how == "float32":
        return X.astype(np.float32)
    if how == "fortran":
        return np.asfortranarray(X)
    if how == "csc":
        return sp.csc_array(X)
    if how == "csr":
        return sp.csr_matrix(X)
    if how == "csr with zeros":
        matrix = sp.csr_array(np.where(np.arange(X.shape[1]) % 2, X, 1.0))
        matrix.data[::2] *= np.where(np.arange(len(matrix.data[::2])) % 3, 1.0, 0.0)
        matrix.indices, matrix.data = matrix.indices.copy(), matrix.data.copy()
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            matrix.indices[part], matrix.data[part] = matrix.indices[part][::-1], matrix.data[part][::-1]
        matrix.has_sorted_indices = False
        return matrix
    return X


def hostile_problem(seed: int) -> tuple[qpsvm.Problem, dict[str, Any]]:
    """A problem, and the options of its solve. Raises what the library says of a problem that cannot be posed."""
    rng = np.random.default_rng(seed)
    machine = MACHINES[seed % len(MACHINES)]
    most = 13 if machine == "Ranking" else 41  # of pairs there are many more
    X, y = samples(rng, SPOILERS[seed % len(SPOILERS)], most)
    X = store(X, str(rng.choice(STORAGE)))
    n, d = X.shape
    kernel: Any = Linear()
    if rng.random() < 0.5:
        gamma = float(10.0 ** rng.uniform(-3, 3) / (d * (float(abs(X).max()) or 1.0) ** 2))
        kernel = RBF(gamma) if machine == "SVDD" or rng.random() < 0.8 else Polynomial(2, gamma=gamma, coef0=1.0)
    weight = rng.choice([0.0, 0.5, 1.0, 100.0], n) if rng.random() < 0.2 else None
    if weight is not None and not all(weight[y == sign].any() for sign in (-1, 1)):
        weight = None
    t = (y + rng.standard_normal(n)) * 10.0 ** rng.uniform(-6, 6) + rng.choice([0.0, 0.0, 1e4])
    t = np.round(t) if rng.random() < 0.2 else t
    made = _machine(rng, machine, X, y, t, {"kernel": kernel, "sample_weight": weight})
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return made, {**options, "polish": bool(rng.random() < 0.8)}


def _machine(rng: np.random.Generator, machine: str, X: Any, y: Any, t: Any, common: dict[str, Any]) -> Any:
    """The machine with parameters of any size."""
    C, nu = float(10.0 ** rng.uniform(-6, 8)), float(rng.choice([1e-12, 1e-3, 0.1, 0.5, 1.0, rng.random() + 1e-9]))
    intercept: Any = [None, "free", "free", "penalised"][int(rng.integers(4))]
    width, tau = float(10.0 ** rng.uniform(-4, 2)), float(rng.choice([0.001, 0.1, 0.5, 0.9]))
    epsilon = float(rng.choice([0.0, 1e-3, 0.1, 2.0])) * (float(np.ptp(t)) or 1.0)
    any_b = {**common, "intercept": intercept}
    match machine:
        case "CSVM":
            penalties = C if rng.random() < 0.8 else decades(rng, len(y))
            return qpsvm.CSVM(X, y, penalties, **any_b)
        case "NuSVM":
            whole = qpsvm.NuSVM(X, y, 1e-12, **common)
            return whole.replace(nu=max(nu * whole.nu_max, 1e-12))
        case "PrimalHinge":
            return qpsvm.PrimalHinge(X, y, 1 / (C * len(y)), **any_b)
        case "HardMargin":
            return qpsvm.HardMargin(X, y, common["kernel"])
        case "SquaredHinge":
            return qpsvm.SquaredHinge(X, y, C, **any_b)
        case "HuberHinge":
            return qpsvm.HuberHinge(X, y, C, width, **any_b)
        case "EpsilonSVR":
            return qpsvm.EpsilonSVR(X, t, C, epsilon, **any_b)
        case "squared EpsilonSVR":
            return qpsvm.EpsilonSVR(X, t, C, epsilon, loss="squared", **any_b)
        case "NuSVR":
            return qpsvm.NuSVR(X, t, C, nu, **common)
        case "QuantileSVR":
            return qpsvm.QuantileSVR(X, t, C, tau, **any_b)
        case "Ranking":
            return qpsvm.Ranking(X, t, C, **common)
    return getattr(qpsvm, machine)(X, nu, **common)


def examined_result(problem: qpsvm.Problem, options: dict[str, Any]) -> tuple[str, list[str]]:
    """How a solve ends, and everything that is wrong with what is claimed of it."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = qpsvm.solve(problem, **options)
        except qpsvm.QPSVMError as error:
            return type(error).__name__, []
        except Exception as error:  # whatever it is: that it came is the finding
            return "exception", [f"exception: {type(error).__name__}: {error}"]
    foreign = [f"warning: {one.message}" for one in heard if not issubclass(one.category, qpsvm.QPSVMWarning)]
    return str(result.status), foreign + faults(problem, result, options["tol"])


def examine_seed(seed: int) -> tuple[str, list[str]]:
    """Say how the solve of a seed's hostile problem ends, and what is wrong with what is claimed of it."""
    try:
        problem, options = hostile_problem(seed)
    except qpsvm.QPSVMError as error:
        return type(error).__name__, []
    return examined_result(problem, options)
