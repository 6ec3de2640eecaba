"""Libraries that take samples and not QPs: scikit-learn, LIBSVM and LIBLINEAR through their own packages."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.capture import capture_output
from benchmarks.solvers.base import Entrant, Point, Rung, Said
from benchmarks.tasks import BenchmarkMachine, Task
from benchmarks.threads import ALL
from qpsvm.base.arrays.types import as_dense

#: Tolerances of coordinate descent and SMO: how far a KKT condition may be violated.
VIOLATIONS = tuple(10.0**-k for k in range(1, 10))
#: Passes that LIBLINEAR's method gets in scikit-learn: its default is 1000.
MAX_PASSES = 10_000


@dataclass
class ConvergenceRecord:
    """Whether a block warned that it did not converge, in Python's own way."""

    warned: bool = False


@contextmanager
def record_convergence() -> Iterator[ConvergenceRecord]:
    """The warnings of the block are not printed, but known of after it."""
    found = ConvergenceRecord()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield found
        finally:
            found.warned = any("Convergence" in warning.category.__name__ for warning in caught)


def is_known_to_libsvm(task: Task) -> bool:
    """C- and ν-SVM with a free intercept."""
    return task.variant in ("c", "nu") or (task.variant == "hinge" and task.intercept == "free")


def is_one_libsvm_machine(task: Task) -> bool:
    """Its regressions and its one-class SVM."""
    return task.variant in ("epsilon-svr", "nu-svr", "one-class") and task.intercept == "free"


#: LIBLINEAR's number of the dual solver of a loss.
LIBLINEAR = {"hinge": 3, "squared-hinge": 1, "epsilon-svr": 13}


def is_known_to_liblinear(task: Task) -> bool:
    """A linear machine with a penalised intercept, and one of these losses."""
    return task.kernel == "linear" and task.intercept == "penalised" and task.variant in LIBLINEAR


class SVC(Entrant):
    """`sklearn.svm.SVC` or `NuSVC`: LIBSVM with dense or sparse rows."""

    package = "scikit-learn"
    tolerances = VIOLATIONS

    def __init__(self, variant: str, every_thread: bool = False) -> None:
        self.name = ("NuSVC" if variant == "nu" else "SVC") + (ALL if every_thread else "")
        self.variant = variant
        self.every_thread = every_thread

    def accepts(self, task: Task) -> bool:
        return is_known_to_libsvm(task) and (task.variant == "nu") == (self.variant == "nu")

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        from sklearn import svm

        task = data.task
        settings = {"kernel": task.kernel, "gamma": data.gamma, "tol": rung.tol}
        if self.variant == "nu":
            machine = svm.NuSVC(nu=task.nu, **settings)
        else:
            machine = svm.SVC(C=task.C, **settings)
        machine.fit(data.X, data.y)
        solved = machine.fit_status_ == 0
        return machine, Said("fitted" if solved else "not converged", solved, int(machine.n_iter_[0]))

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        return compute_libsvm_alpha(data, answer.support_, as_dense(answer.dual_coef_).ravel())


def compute_libsvm_alpha(machine: BenchmarkMachine, support: Any, values: Any) -> Point:
    """α from LIBSVM's coefficients; those of its ν-SVM are divided by ρ, so that only their sum has to be set.

    A coefficient of a regression is α⁺ where it is positive, and −α⁻ where it is negative.
    """
    coef = np.zeros(len(machine.y))
    coef[support] = values
    if machine.is_regression:
        return Point(np.concatenate([np.maximum(coef, 0.0), np.maximum(-coef, 0.0)]))
    alpha = np.abs(coef)
    if machine.task.variant == "nu" and alpha.any():
        alpha *= machine.task.nu / alpha.sum()
    return Point(alpha)


class LinearSVC(Entrant):
    """`sklearn.svm.LinearSVC` or `LinearSVR`: coordinate descent on the dual, penalised intercept, no α returned."""

    package = "scikit-learn"
    tolerances = VIOLATIONS

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, task: Task) -> bool:
        return is_known_to_liblinear(task) and (task.variant == "epsilon-svr") == (self.name == "LinearSVR")

    def run(self, data: BenchmarkMachine, rung: Rung) -> tuple[Any, Said]:
        from sklearn import svm

        task = data.task
        shared = {"C": task.C, "tol": rung.tol, "max_iter": MAX_PASSES}
        if self.name == "LinearSVR":
            machine = svm.LinearSVR(epsilon=task.epsilon, loss="epsilon_insensitive", **shared)
        else:
            machine = svm.LinearSVC(loss=task.variant.replace("-", "_"), **shared)
        with record_convergence() as said:
            machine.fit(data.X, data.y)
        solved = machine.n_iter_ < MAX_PASSES
        words = "converged" if solved else "iteration limit"
        return machine, Said(words, solved, int(machine.n_iter_), exhausted=not solved, warned=said.warned)

    def point(self, data: BenchmarkMachine, answer: Any) -> Point:
        del data
        return Point(w=np.ravel(answer.coef_), b=float(np.ravel(answer.intercept_)[0]))


class Libsvm(Entrant):
    """LIBSVM's own Python package, from its own data structure."""

    name = "libsvm"
    package = "libsvm-official"
    tolerances = VIOLATIONS

    def accepts(self, task: Task) -> bool:
        return is_known_to_libsvm(task) or is_one_libsvm_machine(task)

    def prepare(self, machine: BenchmarkMachine) -> Any:
        from libsvm.svm import svm_problem

        return machine, svm_problem(machine.y, to_small_csr(machine.X))

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        from libsvm.svmutil import svm_train

        machine, problem = data
        task = machine.task
        kinds = {
            "nu": f"-s 1 -n {task.nu!r}", "one-class": f"-s 2 -n {task.nu!r}",
            "epsilon-svr": f"-s 3 -c {task.C!r} -p {task.epsilon!r}", "nu-svr": f"-s 4 -c {task.C!r} -n {task.nu!r}",
        }  # fmt: skip
        kind = kinds.get(task.variant, f"-s 0 -c {task.C!r}")
        kernel = "-t 0" if task.kernel == "linear" else f"-t 2 -g {machine.gamma!r}"
        with capture_output() as printed:
            model = svm_train(problem, f"{kind} {kernel} -e {rung.tol!r}")
        return model, _parse_output(printed())

    def point(self, data: Any, answer: Any) -> Point:
        machine, _ = data
        support = np.array(answer.get_sv_indices()) - 1
        return compute_libsvm_alpha(machine, support, np.array(answer.get_sv_coef(), dtype=float).ravel())


class Liblinear(Entrant):
    """LIBLINEAR's own Python package: duals of hinge, squared hinge and tube, penalised intercept; no α returned."""

    name = "liblinear"
    package = "liblinear-official"
    tolerances = VIOLATIONS

    def accepts(self, task: Task) -> bool:
        return is_known_to_liblinear(task)

    def prepare(self, machine: BenchmarkMachine) -> Any:
        from liblinear.liblinear import problem

        return machine, problem(machine.y, to_small_csr(machine.X), bias=1)

    def run(self, data: Any, rung: Rung) -> tuple[Any, Said]:
        from liblinear.liblinearutil import train

        machine, problem = data
        with capture_output() as printed:
            task = machine.task
            tube = f" -p {task.epsilon!r}" if machine.is_regression else ""
            model = train(problem, f"-s {LIBLINEAR[task.variant]} -c {task.C!r} -B 1 -e {rung.tol!r}{tube}")
        return model, _parse_output(printed())

    def point(self, data: Any, answer: Any) -> Point:
        machine, _ = data
        w, b = answer.get_decfun()
        w = np.array(w[: machine.X.shape[1]])
        w = np.append(w, np.zeros(machine.X.shape[1] - len(w)))
        sign = 1 if machine.is_regression else answer.get_labels()[0]  # the class that its f calls positive
        return Point(w=sign * w, b=sign * float(b))


def to_small_csr(X: Any) -> Any:
    """Convert to CSR with 32-bit indices, from which these packages build their rows fastest."""
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _parse_output(printed: str) -> Said:
    """LIBSVM and LIBLINEAR say how they ended only on the screen."""
    limited = "max number of iterations" in printed
    found = re.findall(r"#iter = (\d+)", printed)
    words = "iteration limit" if limited else "finished"
    iterations = int(found[-1]) if found else None
    return Said(words, not limited, iterations, exhausted=limited, warned=limited)
