"""Estimators as users call them, fitted and asked to predict: `qpsvm.estimators`, `sklearn.svm`, scikit-learn-intelex.

`LinearSVC` and `LinearSVR` penalise the intercept, as scikit-learn's do: ours by `intercept_scaling=1`.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.solvers.base import Entrant, FittedEstimator, Rung, Said
from benchmarks.solvers.fitted import extract_points, take_fitted_rows, take_held_out_rows
from benchmarks.solvers.machines import MAX_PASSES, record_convergence
from benchmarks.tasks import BenchmarkMachine, Task

#: Predictions are repeated until they took so many seconds together, or as often.
LONG_ENOUGH, OFTEN_ENOUGH = 0.1, 100
#: Classes that have a kernel.
WITH_KERNEL = frozenset({"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"})
#: What scikit-learn-intelex solves by its own methods.
OF_ONEDAL = WITH_KERNEL - {"OneClassSVM"}
#: The parameters that each class has, besides tolerance and kernel.
OWN: dict[str, tuple[str, ...]] = {
    "SVC": ("C",), "NuSVC": ("nu",), "LinearSVC": ("C",), "SVR": ("C", "epsilon"), "NuSVR": ("C", "nu"),
    "LinearSVR": ("C", "epsilon"), "OneClassSVM": ("nu",),
}  # fmt: skip


class EstimatorEntrant(Entrant):
    """The classes of one package.

    Parameters
    ----------
    name, package : str
    module : str
        Where the classes are.
    tolerances : tuple of float
        The default of the package first.
    """

    def __init__(self, name: str, package: str, module: str, tolerances: tuple[float, ...]) -> None:
        self.name = name
        self.package = package
        self.module = module
        self.tolerances = tolerances

    def accepts(self, task: Task) -> bool:
        return task.estimator is not None and (self.name != "sklearnex" or task.estimator in OF_ONEDAL)

    def prepare(self, machine: BenchmarkMachine) -> Any:
        """The rows that are fitted, and those that are held out."""
        return take_fitted_rows(machine), take_held_out_rows(machine)

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        part, _ = data
        estimator = self.build_estimator(part, rung.tol)
        with record_convergence() as said:
            if part.task.variant == "one-class":
                estimator.fit(part.X)
            else:
                estimator.fit(part.X, part.y)
        solved = getattr(estimator, "fit_status_", 0) == 0 and not said.warned
        words = "fitted" if solved else "not converged"
        return estimator, Said(words, solved, int(np.max(estimator.n_iter_)), warned=said.warned)

    def build_estimator(self, part: BenchmarkMachine, tol: float | None) -> Any:
        """The estimator with the parameters of the task."""
        task = part.task
        assert task.estimator is not None
        settings: dict[str, Any] = {name: getattr(task, name) for name in OWN[task.estimator]}
        if task.estimator in WITH_KERNEL:
            settings |= {"kernel": task.kernel, "gamma": part.gamma}
        else:
            settings["intercept_scaling"] = 1.0
            settings |= {} if self.name == "qpsvm" else {"max_iter": MAX_PASSES, "random_state": 0}
        if task.estimator == "LinearSVC":
            settings["loss"] = task.variant.replace("-", "_")
        kind = getattr(importlib.import_module(self.module), task.estimator)
        return kind(tol=tol, **settings)

    def point(self, data: Any, answer: Any) -> FittedEstimator:
        """Its machines as its attributes have them, what it predicts, and how long that takes."""
        part, (X, _) = data
        predicted = np.asarray(answer.predict(X), dtype=float)
        return FittedEstimator(
            extract_points(part, answer), predicted, measure_seconds(lambda: answer.predict(X)),
            measure_seconds(lambda: answer.predict(X[:1])),
        )  # fmt: skip


def measure_seconds(call: Callable[[], object]) -> float:
    """Median seconds of the processor."""
    found: list[float] = []
    while sum(found) < LONG_ENOUGH and len(found) < OFTEN_ENOUGH:
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return statistics.median(found)
