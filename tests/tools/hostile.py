"""Draw a hostile problem for each seed, solve it, and list its false claims.

A problem is any machine over samples that are spoilt in one way (`SPOILERS`), stored in any form, with parameters of
any size. `examine_seed(seed)` draws the problem, solves it, and returns its status and faults.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from judge import find_faults

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


def draw_decades(rng: np.random.Generator, size: Any = None) -> Any:
    """Draw numbers between 10^−8 and 10^8, uniform in the logarithm."""
    return 10.0 ** rng.uniform(-DECADES, DECADES, size)


def draw_samples(rng: np.random.Generator, spoiler: str, max_samples: int = 41) -> tuple[Any, Any]:
    """Draw X (n, d) and y (n,) of ±1 with n < `max_samples` (before spoilers repeat rows), spoilt in one way."""
    n = int(rng.integers(2, max_samples))
    d = int(rng.choice([1, 2, 5, 12, 45]))
    positives = int(np.clip(round(rng.choice([0.02, 0.2, 0.5]) * n), 1, n - 1))
    y = np.where(rng.permutation(n) < positives, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 0.5, 2.0]) * y[:, None]
    if spoiler == "scale":
        X *= draw_decades(rng)
    elif spoiler == "columns":
        X *= draw_decades(rng, d)
    elif spoiler == "one column":
        X[:, rng.integers(d)] *= draw_decades(rng)
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
        X = np.vstack([X, X])
        y = np.concatenate([y, -y])
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
    """Return X in another form; integers and float32 round it."""
    if how == "integer":
        if np.abs(X).max() < 1e15:
            return np.round(3 * X).astype(np.int64)
        return X
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


def draw_hostile_problem(seed: int) -> tuple[qpsvm.Problem, dict[str, Any]]:
    """Draw a problem and the options of its solve; the library's error is raised if the problem is refused."""
    rng = np.random.default_rng(seed)
    machine = MACHINES[seed % len(MACHINES)]
    max_samples = 13 if machine == "Ranking" else 41  # pairs are many more
    X, y = draw_samples(rng, SPOILERS[seed % len(SPOILERS)], max_samples)
    X = store(X, str(rng.choice(STORAGE)))
    n, d = X.shape
    kernel: Any = Linear()
    if rng.random() < 0.5:
        gamma = float(10.0 ** rng.uniform(-3, 3) / (d * (float(abs(X).max()) or 1.0) ** 2))
        if machine == "SVDD" or rng.random() < 0.8:
            kernel = RBF(gamma)
        else:
            kernel = Polynomial(2, gamma=gamma, coef0=1.0)
    weight = rng.choice([0.0, 0.5, 1.0, 100.0], n) if rng.random() < 0.2 else None
    if weight is not None and not all(weight[y == sign].any() for sign in (-1, 1)):
        weight = None
    t = (y + rng.standard_normal(n)) * 10.0 ** rng.uniform(-6, 6) + rng.choice([0.0, 0.0, 1e4])
    t = np.round(t) if rng.random() < 0.2 else t
    problem = _build_machine(rng, machine, X, y, t, {"kernel": kernel, "sample_weight": weight})
    options = {"backend": str(rng.choice(BACKENDS)), "tol": float(rng.choice(TOLERANCES)), "check": False}
    return problem, {**options, "polish": bool(rng.random() < 0.8)}


def _build_machine(rng: np.random.Generator, machine: str, X: Any, y: Any, t: Any, common: dict[str, Any]) -> Any:
    """Build the machine with random parameters of any size."""
    C = float(10.0 ** rng.uniform(-6, 8))
    nu = float(rng.choice([1e-12, 1e-3, 0.1, 0.5, 1.0, rng.random() + 1e-9]))
    intercept: Any = [None, "free", "free", "penalised"][int(rng.integers(4))]
    width = float(10.0 ** rng.uniform(-4, 2))
    tau = float(rng.choice([0.001, 0.1, 0.5, 0.9]))
    epsilon = float(rng.choice([0.0, 1e-3, 0.1, 2.0])) * (float(np.ptp(t)) or 1.0)
    any_b = {**common, "intercept": intercept}
    match machine:
        case "CSVM":
            penalties = C if rng.random() < 0.8 else draw_decades(rng, len(y))
            return qpsvm.CSVM(X, y, penalties, **any_b)
        case "NuSVM":
            feasible = qpsvm.NuSVM(X, y, 1e-12, **common)
            return feasible.replace(nu=max(nu * feasible.nu_max, 1e-12))
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


def examine_solve(problem: qpsvm.Problem, options: dict[str, Any]) -> tuple[str, list[str]]:
    """Solve a problem; return its status and everything that is wrong with its claims."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = qpsvm.solve(problem, **options)
        except qpsvm.QPSVMError as error:
            return type(error).__name__, []
        except Exception as error:  # any foreign exception is a fault
            return "exception", [f"exception: {type(error).__name__}: {error}"]
    foreign = [f"warning: {one.message}" for one in caught if not issubclass(one.category, qpsvm.QPSVMWarning)]
    return str(result.status), foreign + find_faults(problem, result, options["tol"])


def examine_seed(seed: int) -> tuple[str, list[str]]:
    """Return the status of the hostile problem of a seed, and everything that is wrong with its claims."""
    try:
        problem, options = draw_hostile_problem(seed)
    except qpsvm.QPSVMError as error:
        return type(error).__name__, []
    return examine_solve(problem, options)
