"""Newer libraries that take samples: oneDAL through scikit-learn-intelex, ReHLine, Snap ML.

What each of them minimises was read in its code and documentation, and held against CVXOPT's optimum (in the tests):

- `sklearnex.svm.SVC` and `NuSVC`: the same problems, and the same scale of α, as scikit-learn's. Not LIBSVM's loop but
  oneDAL's "thunder" working sets, which end after 10 000 rounds where `max_iter=-1`, that is no limit, was asked for;
  `fit_status_` is 0 always.
- `rehline.plq_Ridge_Classifier` with the loss "svm": C Σ max(0, 1 − y_i f(x_i)) + ½‖β‖², where β includes the weight of
  a column of ones if there is to be an intercept: LIBLINEAR's problem. Its dual variables Λ are in [0, 1]: α = CΛ. Its
  other losses, and those of `plq_Ridge_Regressor`, likewise: squared and smooth hinge, tube, quantile.
- `snapml.SupportVectorMachine`: Σ max(0, 1 − y_i f(x_i)) + ½λ‖β‖², β as before: λ = 1/C, the same machine. It computes
  in single precision, and gives no dual point. Its licence is IBM's own, not a free one. To import it makes the whole
  process compute with denormal numbers as 0, silently: here that is undone, for the sake of whoever judges.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.samples import FloatArray
from benchmarks.solvers.base import Entrant, Point, Rung, Said
from benchmarks.solvers.machines import (
    MAX_PASSES,
    VIOLATIONS,
    compute_libsvm_alpha,
    is_known_to_libsvm,
    record_convergence,
    to_small_csr,
)
from benchmarks.tasks import BenchmarkMachine, Task
from benchmarks.threads import ALL
from qpsvm.base.arrays.types import as_dense

#: The names of ReHLine's losses; its smooth hinge is Huber's of width 1.
REHLINE = {
    "hinge": "svm", "squared-hinge": "squared SVM", "huber-hinge": "smooth SVM", "epsilon-svr": "SVR",
    "quantile-svr": "QR",
}  # fmt: skip
#: Rounds after which oneDAL ends, as scikit-learn-intelex sets it (onedal/svm/svm.py) where no other limit is given.
ONEDAL_ROUNDS = 10_000


class Sklearnex(Entrant):
    """`sklearnex.svm.SVC` or `NuSVC`: oneDAL, in one thread or in as many as it takes by itself."""

    package = "scikit-learn-intelex"
    tolerances = VIOLATIONS

    def __init__(self, variant: str, every_thread: bool = False) -> None:
        self.name = f"sklearnex {'NuSVC' if variant == 'nu' else 'SVC'}{ALL if every_thread else ''}"
        self.variant = variant
        self.every_thread = every_thread

    def accepts(self, task: Task) -> bool:
        return is_known_to_libsvm(task) and (task.variant == "nu") == (self.variant == "nu")

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        from sklearnex import svm

        task = data.task
        settings = {"kernel": task.kernel, "gamma": data.gamma, "tol": rung.tol}
        if self.variant == "nu":
            machine = svm.NuSVC(nu=task.nu, **settings)
        else:
            machine = svm.SVC(C=task.C, **settings)
        machine.set_params(n_jobs=None if self.every_thread else 1)
        with record_convergence() as said:
            machine.fit(data.X, data.y)
        rounds = int(np.ravel(machine.n_iter_)[0])
        solved = machine.fit_status_ == 0
        words = "fitted" if solved else "not converged"
        return machine, Said(words, solved, rounds, exhausted=rounds >= ONEDAL_ROUNDS, warned=said.warned)

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        values = as_dense(answer.dual_coef_).ravel()
        return compute_libsvm_alpha(data, np.asarray(answer.support_, dtype=int), values)


def _is_linear(task: Task) -> bool:
    """With a penalised intercept, or with none."""
    return task.kernel == "linear" and task.intercept != "free"


class ReHLine(Entrant):
    """`rehline.plq_Ridge_Classifier`, `…Regressor`: coordinate descent on the dual; its tolerance is a relative gap."""

    name = "rehline"
    package = "rehline"

    def accepts(self, task: Task) -> bool:
        known = task.variant in REHLINE and (task.variant != "huber-hinge" or task.width == 1.0)
        return _is_linear(task) and known

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        from rehline import plq_Ridge_Classifier, plq_Ridge_Regressor

        task = data.task
        loss: dict[str, Any] = {"name": REHLINE[task.variant]}
        if data.is_regression:
            loss |= {"epsilon": task.epsilon} if task.variant == "epsilon-svr" else {"qt": task.quantile}
        machine = (plq_Ridge_Regressor if data.is_regression else plq_Ridge_Classifier)(
            loss=loss, C=task.C, fit_intercept=task.intercept is not None, tol=rung.tol,
            max_iter=MAX_PASSES,
        )  # fmt: skip
        with record_convergence() as said:
            machine.fit(data.X, data.y)
        solved = bool(machine.converged_)
        words = "converged" if solved else "iteration limit"
        return machine, Said(words, solved, int(machine.n_iter_), exhausted=not solved, warned=said.warned)

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        return Point(
            _compute_rehline_alpha(data, answer), np.ravel(answer.coef_), float(np.ravel(answer.intercept_)[0])
        )


def _compute_rehline_alpha(data: BenchmarkMachine, answer: Any) -> FloatArray:
    """α from the multipliers Λ of its ReLUs, a row for each, and Γ of its ReHUs, whose slopes have √C."""
    task = data.task
    match task.variant:
        case "squared-hinge":
            found = np.sqrt(2.0 * task.C) * np.ravel(answer._Gamma)
        case "huber-hinge":
            found = np.sqrt(task.C) * np.ravel(answer._Gamma)
        case "epsilon-svr":
            found = task.C * answer._Lambda[[1, 0]].ravel()
        case "quantile-svr":
            found = task.C * (np.array([[task.quantile], [1.0 - task.quantile]]) * answer._Lambda).ravel()
        case _:
            found = task.C * np.ravel(answer._Lambda)
    return np.asarray(found, dtype=float)


def _reset_float_environment() -> None:
    """Compute as IEEE 754 says again, in this thread: `fesetenv(FE_DFL_ENV)` of the GNU library."""
    if sys.platform == "linux":
        ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))


class SnapML(Entrant):
    """`snapml.SupportVectorMachine`, hinge loss, linear: coordinate descent on the dual, no word of how it ended."""

    name = "snapml"
    package = "snapml"
    tolerances = tuple(10.0**-k for k in range(3, 12, 2))

    def accepts(self, task: Task) -> bool:
        return _is_linear(task) and task.variant == "hinge"

    def prepare(self, machine: BenchmarkMachine) -> Any:
        """It reads CSR of the old kind and dense rows."""
        if sp.issparse(machine.X):
            rows = to_small_csr(machine.X)
        else:
            rows = np.ascontiguousarray(machine.X)
        return machine, rows

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        from snapml import SupportVectorMachine

        _reset_float_environment()
        machine, rows = data
        task = machine.task
        fitted = SupportVectorMachine(
            loss="hinge", regularizer=1.0 / task.C, fit_intercept=task.intercept is not None, tol=rung.tol,
            max_iter=MAX_PASSES, n_jobs=1,
        )  # fmt: skip
        with record_convergence() as said:
            fitted.fit(rows, machine.y)
        exhausted = int(fitted.n_iter_) >= MAX_PASSES
        words = "iteration limit" if exhausted else "ended"
        return fitted, Said(words, not exhausted, int(fitted.n_iter_), exhausted=exhausted, warned=said.warned)

    def point(self, data: Any, answer: Any) -> Point:
        del data
        intercept = float(np.ravel(answer.intercept_)[0])
        return Point(w=np.ravel(answer.coef_).astype(float), b=intercept)
