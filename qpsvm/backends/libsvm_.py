"""LIBSVM, through scikit-learn's SVC: decomposition by pairs (Chang & Lin 2011), at its own stopping rule."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.base import Backend, Compiled, Limits, SolverData
from qpsvm.backends.kernel_newton_ import kernel_csvm
from qpsvm.backends.recognise import RecognisedCSVM, recognise
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.operators import LowRank
from qpsvm.qp import QP
from qpsvm.result import QPSolution, Solver, Status

#: LIBSVM's own tolerance, for the largest violation, and the relative gap that it stands for.
DEFAULT_EPS, USUAL_GAP = 1e-3, 1e-6


class LibsvmBackend(Backend):
    """`sklearn.svm.SVC`."""

    name = "libsvm"
    package = "scikit-learn"
    module = "sklearn.svm"
    limits = frozenset({"max_iter"})
    takes = "dual of a C-SVM or primal hinge problem with a free intercept; the peer to compare with"

    def options(self) -> frozenset[str]:
        """LIBSVM's own: `eps`, its tolerance for the maximal violation, `cache_size` and `shrinking`."""
        return frozenset({"eps", "cache_size", "shrinking"})

    def refuse(self, form: str) -> str | None:
        """It solves the dual."""
        return "libsvm solves the dual; form='dual', or osqp" if form == "primal" else None

    def compile(self, qp: QP) -> LibsvmCompiled:
        """X or the Gram matrix, y, and sample weights that carry C."""
        if isinstance(qp.P, LowRank) and qp.P.scale is not None and qp.P.d is None:
            problem = recognise(qp, qp.P.scale, self.name)
            kernel: Kernel = Linear()
            X = qp.P.Z
        else:
            problem, kernel, X, gram = kernel_csvm(qp, self.name)
            if gram is not None or _words(kernel) is None:
                K = kernel(X, X) if gram is None else gram
                return LibsvmCompiled(self, qp, _data(K, problem, {"kernel": "precomputed"}), problem)
        return LibsvmCompiled(self, qp, _data(X, problem, _words(kernel) or {}), problem)


def _words(kernel: Kernel) -> dict[str, Any] | None:
    """The kernel as SVC is told of it, or None where it has no name there."""
    if isinstance(kernel, Linear):
        return {"kernel": "linear"}
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": kernel.gamma}
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        return {"kernel": "poly", "degree": int(kernel.degree), "gamma": kernel.gamma, "coef0": kernel.coef0}
    return None


def _data(X: Any, problem: RecognisedCSVM, kernel: dict[str, Any]) -> SolverData:
    return SolverData(X=sp.csr_matrix(X) if sp.issparse(X) else X, y=problem.y, sample_weight=problem.C, kernel=kernel)


class LibsvmCompiled(Compiled):
    """X, y, sample_weight of `SVC.fit`, and the kernel's parameters."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, problem: RecognisedCSVM) -> None:
        super().__init__(backend, qp, data)
        self._problem = problem

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC

        settings = {"tol" if name == "eps" else name: value for name, value in options.items()}
        if limits.tol is not None:
            settings.setdefault("tol", min(DEFAULT_EPS, DEFAULT_EPS / USUAL_GAP * limits.tol))
        data, problem = self.data, self._problem
        largest = float(data.sample_weight.max())
        machine = SVC(C=largest, max_iter=limits.max_iter or -1, verbose=limits.verbose, **data.kernel, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
            machine.fit(data.X, data.y, sample_weight=data.sample_weight / largest)
        raw = "converged" if machine.fit_status_ == 0 else "stopped early"
        status = Status.OPTIMAL if machine.fit_status_ == 0 else Status.ITERATION_LIMIT
        alpha = np.zeros(len(data.y))
        coefficients = machine.dual_coef_
        alpha[machine.support_] = np.abs((coefficients.toarray() if sp.issparse(coefficients) else coefficients)[0])
        b, iterations = float(machine.intercept_[0]), int(np.max(machine.n_iter_))
        balance = problem.balance(b)
        solver = Solver(self.backend.name, self.backend.version() or "?", raw)
        return QPSolution(
            self.qp, status, solver, x=problem.x(alpha), y=balance, iterations=iterations
        )
