"""Random hostile problems: thirteen ways to spoil samples, seven to store them, parameters over fourteen orders."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from proof import Task

import qpsvm
from qpsvm import RBF, Linear, Polynomial

SPOILERS = (
    "plain", "scales", "offset", "heavy", "constant", "duplicate columns", "collinear", "twice", "contradictory",
    "separable", "ties", "tiny", "huge",
)  # fmt: skip
STORAGE = ("float64", "float32", "integer", "fortran", "csr", "csc", "csr with zeros")


def samples(rng: np.random.Generator, spoiler: str) -> tuple[Any, Any]:
    """X (n, d) and y (n,), spoilt in one way."""
    n, d = int(rng.integers(2, 41)), int(rng.choice([1, 2, 5, 12, 45]))
    positives = int(np.clip(round(rng.choice([0.02, 0.2, 0.5]) * n), 1, n - 1))
    y = np.where(rng.permutation(n) < positives, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 0.5, 2.0]) * y[:, None]
    if spoiler == "scales":
        X *= 10.0 ** rng.uniform(-8, 8, d)
    elif spoiler == "offset":
        X += 1e6
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
    elif spoiler in ("tiny", "huge"):
        X *= {"tiny": 1e-8, "huge": 1e8}[spoiler]
    return X, y


def stored(X: Any, how: str) -> Any:
    """The same numbers, or what is left of them, in another form."""
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


def hostile_task(seed: int) -> Task:
    """One problem: a way to spoil, a way to store, a kernel, a variant, and parameters over fourteen orders."""
    rng = np.random.default_rng(seed)
    X, y = samples(rng, SPOILERS[seed % len(SPOILERS)])
    X = stored(X, str(rng.choice(STORAGE)))
    size = float(abs(X).max()) or 1.0
    d = X.shape[1]
    kernel = Linear()
    if rng.random() < 0.5:
        gamma = float(10.0 ** rng.uniform(-3, 3) / (d * size**2))
        kernel = RBF(gamma) if rng.random() < 0.8 else Polynomial(2, gamma=gamma, coef0=1.0)
    weight = rng.choice([0.0, 0.5, 1.0, 100.0], len(y)) if rng.random() < 0.2 else None
    if weight is not None and not all(weight[y == sign].any() for sign in (-1, 1)):
        weight = None
    C = float(10.0 ** rng.uniform(-6, 8))
    if rng.random() < 0.7:
        return Task(X, y, "c", kernel, C=C, weight=weight)
    intercept = [None, "free", "penalised"][int(rng.integers(3))]
    return Task(X, y, "hinge", kernel, lam=1 / (C * len(y)), intercept=intercept, weight=weight)


#: The machines that are not a hinge loss over two classes.
MACHINES = (
    "squared hinge", "huber", "eps-svr", "eps-svr squared", "nu-svr", "quantile", "one class", "svdd", "ranking",
)  # fmt: skip


def hostile_machine(seed: int) -> tuple[str, str, qpsvm.Problem]:
    """What spoils the samples, which machine, and the problem: parameters over many orders, targets of any size."""
    rng = np.random.default_rng(seed)
    spoiler, name = SPOILERS[seed % len(SPOILERS)], MACHINES[seed % len(MACHINES)]
    X, y = samples(rng, spoiler)
    X = stored(X, str(rng.choice(STORAGE)))
    n, d = X.shape
    gamma = float(10.0 ** rng.uniform(-3, 3) / (d * (float(abs(X).max()) or 1.0) ** 2))
    kernel: Any = RBF(gamma) if name in ("one class", "svdd") or rng.random() < 0.5 else Linear()
    weight = rng.choice([0.0, 0.5, 1.0, 100.0], n) if rng.random() < 0.2 else None
    if weight is not None and not all(weight[y == sign].any() for sign in (-1, 1)):
        weight = None
    common: dict[str, Any] = {"kernel": kernel, "sample_weight": weight}
    t = (y + rng.standard_normal(n)) * 10.0 ** rng.uniform(-6, 6)
    t = np.round(t) if rng.random() < 0.2 else t
    spread = float(np.ptp(t)) or 1.0
    C = float(10.0 ** rng.uniform(-6, 6))
    epsilon = float(rng.choice([0.0, 1e-3, 0.1, 2.0])) * spread
    nu = float(rng.choice([1e-9, 0.1, 0.5, 1.0]))
    if name == "squared hinge":
        return spoiler, name, qpsvm.SquaredHinge(X, y, C, **common)
    if name == "huber":
        return spoiler, name, qpsvm.HuberHinge(X, y, C, width=float(10.0 ** rng.uniform(-4, 2)), **common)
    if name.startswith("eps-svr"):
        loss: Any = "squared" if name.endswith("squared") else "absolute"
        return spoiler, name, qpsvm.EpsilonSVR(X, t, C, epsilon, loss=loss, **common)
    if name == "nu-svr":
        return spoiler, name, qpsvm.NuSVR(X, t, C, nu, **common)
    if name == "quantile":
        return spoiler, name, qpsvm.QuantileSVR(X, t, C, float(rng.choice([0.05, 0.5, 0.9])), **common)
    if name == "ranking":
        return spoiler, name, qpsvm.Ranking(X, t, C, **common)
    machine = qpsvm.OneClass if name == "one class" else qpsvm.SVDD
    return spoiler, name, machine(X, nu, **common)
