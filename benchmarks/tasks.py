"""A task is one support vector machine on one set of samples: what every solver of a suite is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import qpsvm
from benchmarks.samples import FloatArray, Source

Variant = Literal["hard", "c", "nu", "hinge"]


@dataclass(frozen=True)
class Grid:
    """Exact cross-validation: for every C, largest first, the machine on all rows and on those of all folds but one."""

    penalties: tuple[float, ...]
    folds: int = 5

    def fold_of(self, n: int) -> NDArray[np.int64]:
        """Which fold leaves a row out (n,), the same for everybody."""
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
    variant : "hard", "c", "nu" or "hinge"
    C : float
        Of the C-SVM; for the hinge loss λ = 1/(Cn), which is the same machine.
    nu : float
    kernel : "linear" or "rbf"
    gamma : "scale" or "1/d"
        1/(d · variance of all entries), or 1/d.
    intercept : "free", "penalised" or None
        Another than a free one: of the hinge loss only.
    facts : dict
        What a report sorts and labels by.
    grid : Grid or None
        Not one machine, but this one for many C, on all rows and on all folds.
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

    def machine(self, X: Any, y: FloatArray) -> Machine:
        """This task's machine on its samples."""
        return Machine(self, X, y, self._width(X))

    def _width(self, X: Any) -> float:
        columns = float(X.shape[1])
        if self.gamma == "1/d":
            return 1.0 / columns
        variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
        return 1.0 / (columns * float(variance))


@dataclass(frozen=True)
class Machine:
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

    def problem(self) -> qpsvm.Problem:
        """A new problem object: nothing is kept from one run to the next."""
        task = self.task
        kernel = qpsvm.Linear() if task.kernel == "linear" else qpsvm.RBF(self.gamma)
        if task.variant == "hard":
            return qpsvm.HardMargin(self.X, self.y, kernel)
        if task.variant == "nu":
            return qpsvm.NuSVM(self.X, self.y, task.nu, kernel)
        if task.variant == "hinge":
            return qpsvm.PrimalHinge(self.X, self.y, self.lam, kernel, task.intercept)
        return qpsvm.CSVM(self.X, self.y, task.C, kernel)

    def size(self) -> dict[str, int]:
        """Rows, columns and stored non-zeros of X."""
        entries = self.X.nnz if sp.issparse(self.X) else int(np.count_nonzero(self.X))
        return {"n": self.X.shape[0], "d": self.X.shape[1], "nnz": entries}
