"""LIBSVM's machines that are not two-class, in scikit-learn and in scikit-learn-intelex: SVR, NuSVR, OneClassSVM.

Their problems and the scale of their α are those of `qpsvm`: ν-SVR with LIBSVM's sum νnC, one-class with 0 ≤ α ≤ 1 and
the sum νn. With a kernel of constant diagonal, an SVDD is a one-class SVM whose α is divided by νn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.solvers.base import Entrant, Point, Rung, Said
from benchmarks.solvers.machines import VIOLATIONS, compute_libsvm_alpha, is_one_libsvm_machine, record_convergence
from benchmarks.tasks import BenchmarkMachine, Task
from qpsvm.base.arrays.types import as_dense

#: Of which machine each class is.
CLASSES = {"SVR": "epsilon-svr", "NuSVR": "nu-svr", "OneClassSVM": "one-class"}


class LibsvmEstimator(Entrant):
    """One of these classes, of scikit-learn or of `sklearnex`, whose solver is oneDAL's."""

    tolerances = VIOLATIONS

    def __init__(self, kind: str, package: str = "scikit-learn") -> None:
        self.kind, self.package = kind, package
        self.patched = package != "scikit-learn"
        self.name = f"sklearnex {kind}" if self.patched else kind

    def accepts(self, task: Task) -> bool:
        if self.kind == "OneClassSVM" and task.variant == "svdd":
            return task.kernel == "rbf"
        return is_one_libsvm_machine(task) and CLASSES[self.kind] == task.variant

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        if self.patched:
            from sklearnex import svm
        else:
            from sklearn import svm

        task = data.task
        own: dict[str, dict[str, Any]] = {
            "SVR": {"C": task.C, "epsilon": task.epsilon},
            "NuSVR": {"C": task.C, "nu": task.nu},
            "OneClassSVM": {"nu": task.nu},
        }
        machine = getattr(svm, self.kind)(kernel=task.kernel, gamma=data.gamma, tol=rung.tol, **own[self.kind])
        with record_convergence() as said:
            machine.fit(data.X, data.y)
        solved = machine.fit_status_ == 0
        rounds = int(np.ravel(machine.n_iter_)[0])
        return machine, Said("fitted" if solved else "not converged", solved, rounds, warned=said.warned)

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        found = compute_libsvm_alpha(data, np.asarray(answer.support_, dtype=int), as_dense(answer.dual_coef_).ravel())
        if data.task.variant == "svdd" and found.alpha is not None:
            return Point(found.alpha / (data.task.nu * len(data.y)))
        return found
