"""The problems of the hunt: one for each seed, at any scale, and what they are to be solved with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from proof import Task
from sklearn import datasets

from qpsvm import RBF, Linear, Polynomial
from qpsvm.backends import get
from qpsvm.backends.abilities import machine_traits

#: Scales, prices and weights are between 10^−DECADES and 10^DECADES.
DECADES = 8.0
KERNELS = ("linear", "rbf", "poly")
#: What can spoil the samples; most often one scale for all columns, or one for each.
SPOILERS = (
    "none", "scale", "scale", "columns", "columns", "one column", "offset", "ties", "twice", "contradictory", "near",
)  # fmt: skip
#: Data sets that come with scikit-learn, and up to how many rows of them.
DATA, MOST_ROWS, MOST_KERNEL_ROWS = ("breast_cancer", "iris", "wine", "digits"), 200, 60


@dataclass(frozen=True)
class Drawn:
    """A problem, and how it is to be solved."""

    task: Task
    backend: str
    tol: float
    polish: bool

    @property
    def options(self) -> dict[str, Any]:
        """Keywords of `Task.solve`."""
        return {"backend": self.backend, "tol": self.tol, "polish": self.polish}

    def __str__(self) -> str:
        task = self.task
        prices = np.ravel(task.C)
        C = repr(task.C) if len(prices) == 1 else f"{prices.min():.3g}…{prices.max():.3g}"
        number = {"c": f"C={C}", "nu": f"nu={task.nu!r}", "hinge": f"lam={task.lam!r}", "hard": ""}[task.variant]
        storage = "csr" if sp.issparse(task.X) else "dense"
        weighted = "" if task.weight is None else ", weighted"
        intercept = f", intercept {task.intercept}" if task.variant == "hinge" else ""
        return (
            f"{task.variant} {task.X.shape} {storage} {task.kernel} {number}{intercept}{weighted}; {self.backend}, "
            f"tol={self.tol:g}, polish={self.polish}"
        )


def decades(rng: np.random.Generator, size: Any = None) -> Any:
    """Numbers between 10^−8 and 10^8, all orders alike."""
    return 10.0 ** rng.uniform(-DECADES, DECADES, size)


def drawn(seed: int, kernels: str = "linear", rows: int = 15) -> Drawn:
    """A random problem of 2 to `rows` rows and 1 to 6 features; `kernels` is one of `KERNELS`, or "all"."""
    rng = np.random.default_rng(seed)
    name = kernels if kernels != "all" else str(rng.choice(KERNELS))
    X, y = spoilt(rng, int(rng.integers(2, rows + 1)), int(rng.integers(1, 7)))
    return posed(rng, X, y, name)


def spoilt(rng: np.random.Generator, n: int, d: int) -> tuple[Any, Any]:
    """X (n, d) and y (n,), spoilt in one way."""
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 0.5, 3.0]) * y[:, None]
    spoiler = str(rng.choice(SPOILERS))
    if spoiler == "scale":
        X *= decades(rng)
    elif spoiler == "columns":
        X *= decades(rng, d)
    elif spoiler == "one column":
        X[:, rng.integers(d)] *= decades(rng)
    elif spoiler == "offset":
        X = (X + decades(rng, d)) * (decades(rng) if rng.random() < 0.3 else 1.0)
    elif spoiler == "ties":
        X = np.round(X) * decades(rng)
    elif spoiler == "twice":
        X, y = np.vstack([X, X[: n // 2]]), np.concatenate([y, y[: n // 2]])
    elif spoiler == "contradictory":
        X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])
    elif spoiler == "near":
        X = X * decades(rng)
        X[-1] = X[0] * (1 + rng.choice([1e-4, 1e-8, 1e-12]))
    return X, y


def posed(rng: np.random.Generator, X: Any, y: Any, name: str) -> Drawn:
    """A variant over these samples, with parameters of any size, weights, a storage, a backend and a tolerance."""
    n, d = X.shape
    size = float(np.abs(X).max()) or 1.0
    kernel: Any = Linear()
    if name != "linear":
        width = float(10.0 ** rng.uniform(-3, 3) / (d * size**2)) if rng.random() < 0.8 else float(decades(rng))
        degree, coef0 = int(rng.integers(1, 4)), float(rng.choice([0.0, 1.0]))
        kernel = RBF(width) if name == "rbf" else Polynomial(degree, width, coef0)
    task = Task(X, y, str(rng.choice(["c", "c", "c", "nu", "nu", "hinge", "hinge", "hard"])), kernel)
    if task.variant == "c":
        each = rng.random() < 0.1
        task = replace(task, C=decades(rng, n) if each else float(decades(rng)))
    elif task.variant == "hinge":
        intercept = [None, "free", "penalised"][int(rng.integers(3))]
        task = replace(task, lam=float(decades(rng) / n), intercept=intercept)
    if task.variant != "hard" and rng.random() < 0.3:
        weight = decades(rng, n) if rng.random() < 0.5 else rng.choice([0.0, 0.5, 1.0, 100.0], n)
        if all(weight[y == sign].any() for sign in (-1, 1)):
            task = replace(task, weight=weight)
    if task.variant == "nu":
        s = task.s
        most = min(1.0, 2 * min(s[y > 0].sum(), s[y < 0].sum()) / s.sum())
        share = rng.choice([rng.random(), rng.random(), 1.0, 10.0 ** -rng.uniform(0, 17)])
        task = replace(task, nu=float(most * share))
    if rng.random() < 0.2:
        task = replace(task, X=sp.csr_array(X))
    tol = float(rng.choice([1e-6, 1e-6, 1e-6, 1e-3, 1e-9]))
    return Drawn(task, backend_for(rng, task), tol, bool(rng.random() < 0.9))


def backend_for(rng: np.random.Generator, task: Task) -> str:
    """ "auto" most often, now and then another one that takes the task."""
    if rng.random() < 0.75:
        return "auto"
    problem = task.problem
    able = [
        name for name in ("cvxopt", "osqp", "interior_point", "augmented_lagrangian", "kernel_newton")
        if get(name).abilities.takes(machine_traits(problem), len(problem.labels), "dual")
    ]  # fmt: skip
    return str(rng.choice(able))


@cache
def table(name: str) -> tuple[Any, Any]:
    """A data set of scikit-learn, raw."""
    X, target = getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, target


def real(seed: int, kernels: str = "linear") -> Drawn:
    """20 to 200 rows of a data set as it is, one class against the others; fewer with a kernel, whose values cost."""
    rng = np.random.default_rng(seed)
    name = kernels if kernels != "all" else str(rng.choice(KERNELS))
    X, target = table(str(rng.choice(DATA)))
    n = int(rng.integers(20, (MOST_ROWS if name == "linear" else MOST_KERNEL_ROWS) + 1))
    chosen = rng.permutation(len(X))[:n]
    y = np.where(target[chosen] == rng.choice(np.unique(target[chosen])), 1.0, -1.0)
    return posed(rng, X[chosen], y, name)
