"""A task is one support vector machine on one set of samples: what every solver of a suite is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import qpsvm
from benchmarks.samples import FloatArray, Source

Variant = Literal[
    "hard", "c", "nu", "hinge", "squared-hinge", "huber-hinge", "epsilon-svr", "nu-svr", "quantile-svr", "one-class",
    "svdd", "ranking",
]  # fmt: skip
#: Rows that are ranked with each other: so many, one after the other, are a group.
GROUP_ROWS = 10


@dataclass(frozen=True)
class Grid:
    """Exact cross-validation: for every C, largest first, the machine on all rows and on those of all folds but one."""

    penalties: tuple[float, ...]
    folds: int = 5

    def assign_folds(self, n: int) -> NDArray[np.int64]:
        """Assign each row to the fold that leaves it out (n,), the same for every solver."""
        return np.random.default_rng(0).permutation(n) % self.folds


@dataclass(frozen=True)
class Task:
    """One machine on one set of samples.

    Attributes
    ----------
    name : str
        Unique within its suite.
    source : Source
        Makes the samples.
    variant : str
        The machine, by its word on the command line.
    C : float
        Of the C-SVM; for the hinge loss λ = 1/(Cn), which is the same machine.
    nu, epsilon, quantile, width : float
        Of the machines that have them.
    kernel : "linear" or "rbf"
    gamma : "scale" or "1/d"
        1/(d · variance of all entries), or 1/d.
    intercept : "free", "penalised" or None
        Another than a free one: of losses of level 1, of ε-SVR and quantiles.
    facts : dict
        What a report sorts and labels by.
    grid : Grid or None
        Not one machine, but this one for many C, on all rows and on all folds.
    estimator : str or None
        Not one machine, but scikit-learn's class of this name, on whatever classes there are.
    """

    name: str
    source: Source
    facts: dict[str, Any]
    variant: Variant = "c"
    C: float = 1.0
    nu: float = 0.3
    kernel: Literal["linear", "rbf"] = "linear"
    gamma: Literal["scale", "1/d"] = "1/d"
    intercept: Literal["free", "penalised"] | None = "free"
    grid: Grid | None = None
    epsilon: float = 0.1
    quantile: float = 0.9
    width: float = 1.0
    estimator: str | None = None

    def build_machine(self, X: Any, y: FloatArray) -> BenchmarkMachine:
        """This task's machine on its samples."""
        return BenchmarkMachine(self, X, y, self._compute_gamma(X))

    def _compute_gamma(self, X: Any) -> float:
        columns = float(X.shape[1])
        if self.gamma == "1/d":
            return 1.0 / columns
        if sp.issparse(X):
            variance = X.multiply(X).mean() - X.mean() ** 2
        else:
            variance = X.var()
        return 1.0 / (columns * float(variance))


@dataclass(frozen=True)
class BenchmarkMachine:
    """A task with its samples in memory, and γ as a number."""

    task: Task
    X: Any
    y: FloatArray
    gamma: float

    @property
    def grid(self) -> Grid:
        """The grid of a task that has one."""
        assert self.task.grid is not None
        return self.task.grid

    @property
    def lam(self) -> float:
        """λ of the hinge loss."""
        return 1.0 / (self.task.C * len(self.y))

    @property
    def is_regression(self) -> bool:
        """Whether y are numbers, and both sides of f cost."""
        return self.task.variant in ("epsilon-svr", "nu-svr", "quantile-svr")

    def build_problem(self) -> qpsvm.Problem:
        """A new problem object: nothing is kept from one run to the next."""
        task = self.task
        X = self.X
        y = self.y
        kernel = qpsvm.Linear() if task.kernel == "linear" else qpsvm.RBF(self.gamma)
        kept: Any = {"kernel": kernel, "intercept": task.intercept}
        match task.variant:
            case "hard":
                return qpsvm.HardMargin(X, y, kernel)
            case "nu":
                return qpsvm.NuSVM(X, y, task.nu, kernel)
            case "hinge":
                return qpsvm.PrimalHinge(X, y, self.lam, **kept)
            case "squared-hinge":
                return qpsvm.SquaredHinge(X, y, task.C, **kept)
            case "huber-hinge":
                return qpsvm.HuberHinge(X, y, task.C, task.width, **kept)
            case "epsilon-svr":
                return qpsvm.EpsilonSVR(X, y, task.C, task.epsilon, **kept)
            case "nu-svr":
                return qpsvm.NuSVR(X, y, task.C, task.nu, kernel)
            case "quantile-svr":
                return qpsvm.QuantileSVR(X, y, task.C, task.quantile, **kept)
            case "one-class":
                return qpsvm.OneClass(X, task.nu, kernel)
            case "svdd":
                return qpsvm.SVDD(X, task.nu, kernel)
            case "ranking":
                return qpsvm.Ranking(X, y, task.C, np.arange(len(y)) // GROUP_ROWS, kernel=kernel)
            case _:
                return qpsvm.CSVM(X, y, task.C, kernel)

    def measure_size(self) -> dict[str, int]:
        """Rows, columns and stored non-zeros of X."""
        entries = self.X.nnz if sp.issparse(self.X) else int(np.count_nonzero(self.X))
        return {"n": self.X.shape[0], "d": self.X.shape[1], "nnz": entries}
