"""LIBSVM, through scikit-learn's SVC and NuSVC: decomposition by pairs (Chang & Lin 2011), at its own stopping rule."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import as_dense
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData
from qpsvm.backends.kernel_newton_ import kernel_csvm, kernel_machine
from qpsvm.backends.recognise import RecognisedCSVM, RecognisedNuSVM, recognise, recognise_nu
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.operators import LowRank
from qpsvm.qp import QP
from qpsvm.result import QPSolution, Solver, Status

#: LIBSVM's own tolerance, for the largest violation, and the relative gap that it stands for.
DEFAULT_EPS, USUAL_GAP = 1e-3, 1e-6
#: The objective of a ν-SVM is small beside the loss, so that a violation weighs more in its gap: by this factor less.
NU_SHARE = 0.1
#: Iterations of a ν-SVM, a row and besides, unless more are asked for: where the reduced hulls meet, it never ends.
NU_ITERATIONS_PER_ROW, NU_ITERATIONS = 100, 20_000


class LibsvmBackend(Backend):
    """`sklearn.svm.SVC` and `NuSVC`."""

    name = "libsvm"
    package = "scikit-learn"
    module = "sklearn.svm"
    limits = frozenset({"max_iter"})
    takes = "dual of a C-SVM, nu-SVM or primal hinge problem with a free intercept; the peer to compare with"

    def options(self) -> frozenset[str]:
        """LIBSVM's own: `eps`, its tolerance for the maximal violation, `cache_size` and `shrinking`."""
        return frozenset({"eps", "cache_size", "shrinking"})

    def refuse(self, form: str) -> str | None:
        """It solves the dual."""
        return "libsvm solves the dual; form='dual', or osqp" if form == "primal" else None

    def compile(self, qp: QP) -> LibsvmCompiled:
        """X or the Gram matrix, y, and sample weights that carry C, or the bounds of a ν-SVM."""
        second_row = qp.A is not None and qp.A.shape[0] == 2
        problem: RecognisedCSVM | RecognisedNuSVM
        if isinstance(qp.P, LowRank) and qp.P.scale is not None and qp.P.d is None:
            problem = (recognise_nu if second_row else recognise)(qp, qp.P.scale, self.name)
            return LibsvmCompiled(self, qp, _data(qp.P.Z, problem, {"kernel": "linear"}), problem)
        if second_row:
            problem, kernel, X, gram = kernel_machine(qp, self.name, recognise_nu)
        else:
            problem, kernel, X, gram = kernel_csvm(qp, self.name)
        words = _words(kernel) if gram is None else None
        if words is None:
            K = kernel(X, X) if gram is None else gram
            return LibsvmCompiled(self, qp, _data(K, problem, {"kernel": "precomputed"}), problem)
        return LibsvmCompiled(self, qp, _data(X, problem, words), problem)


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


def _data(X: Any, problem: RecognisedCSVM | RecognisedNuSVM, kernel: dict[str, Any]) -> SolverData:
    weight = problem.C if isinstance(problem, RecognisedCSVM) else problem.upper
    return SolverData(X=sp.csr_matrix(X) if sp.issparse(X) else X, y=problem.y, sample_weight=weight, kernel=kernel)


class LibsvmCompiled(Compiled):
    """X, y, sample_weight of `SVC.fit` or `NuSVC.fit`, and the kernel's parameters."""

    def __init__(
        self, backend: Backend, qp: QP, data: SolverData, problem: RecognisedCSVM | RecognisedNuSVM
    ) -> None:
        super().__init__(backend, qp, data)
        self._problem = problem

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from sklearn.exceptions import ConvergenceWarning

        data, version = self.data, self.backend.version() or "?"
        largest = float(data.sample_weight.max())
        machine = self._machine(largest, limits, options)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the status says it
                machine.fit(data.X, data.y, sample_weight=data.sample_weight / largest)
        except ValueError as error:  # of the largest feasible ν it says "infeasible", for rounding
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, Solver(self.backend.name, version, str(error)))
        raw = "converged" if machine.fit_status_ == 0 else "stopped early"
        status = Status.OPTIMAL if machine.fit_status_ == 0 else Status.ITERATION_LIMIT
        solver, iterations = Solver(self.backend.name, version, raw), int(np.max(machine.n_iter_))
        coefficients = np.zeros(len(data.y))
        coefficients[machine.support_] = np.abs(as_dense(machine.dual_coef_)[0])
        b, problem = float(machine.intercept_[0]), self._problem
        if isinstance(problem, RecognisedCSVM):
            x, multipliers = problem.x(coefficients), problem.balance(b)
        elif np.isfinite(coefficients).all() and np.isfinite(b) and coefficients.any():
            x, multipliers = problem.x(coefficients), problem.multipliers(coefficients, b)
        else:  # α/ρ, where ρ is 0
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, solver, iterations=iterations)
        return QPSolution(self.qp, status, solver, x=x, y=multipliers, iterations=iterations)

    def _machine(self, largest: float, limits: Limits, options: Mapping[str, Any]) -> Any:
        """`SVC` or `NuSVC` with its settings."""
        from sklearn.svm import SVC, NuSVC

        settings = {"tol" if name == "eps" else name: value for name, value in options.items()}
        settings |= {"verbose": limits.verbose, **self.data.kernel}
        if limits.tol is not None:
            share = NU_SHARE if isinstance(self._problem, RecognisedNuSVM) else 1.0
            settings.setdefault("tol", share * min(DEFAULT_EPS, DEFAULT_EPS / USUAL_GAP * limits.tol))
        if isinstance(self._problem, RecognisedCSVM):
            return SVC(C=largest, max_iter=limits.max_iter or -1, **settings)
        enough = NU_ITERATIONS_PER_ROW * len(self.data.y) + NU_ITERATIONS
        return NuSVC(nu=self._problem.nu, max_iter=limits.max_iter or enough, **settings)
