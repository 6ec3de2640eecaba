"""Solve duals by LIBSVM, through scikit-learn's SVC and NuSVC: SMO (Chang & Lin 2011) with its own stopping rule.

LIBSVM's loop checks neither a clock nor Ctrl-C, so `run_within_time` turns a time limit into limits of iterations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled, build_failed_solution
from qpsvm.backends.limits import DEFAULT_TOLERANCE, Limits
from qpsvm.backends.own.interval_problem import IntervalProblem
from qpsvm.backends.own.kernel_newton_ import INTERVALS, LIBSVM_IMPORT, MARGINS, extract_kernel_samples
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.stop_reasons import find_run_status
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.resources.clock import Clock
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.svm_dual import Statement, SVMDual
from qpsvm.solvers.kernel.libsvm import bound_iterations, build_silent_class, is_libsvm_problem, run_libsvm_loop
from qpsvm.solvers.shared.timed_loop import run_within_time
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.space.kernels.kernel_blocks import KernelBlocks
from qpsvm.space.operators import LowRank

#: Maximum number of rows of a linear regression or one-class machine: its loop works on the full Gram matrix.
MAX_LINEAR_INTERVAL_ROWS = 1000
#: LIBSVM's default tolerance, for the largest violation of the optimality conditions.
DEFAULT_EPS = 1e-3
#: Factor of the tolerance for ν-SVMs and all machines with a given sum of α: their objective is small, so the same
#: violation is a larger relative gap.
GIVEN_SUM_EPS_FACTOR = 0.1
#: Default iteration limit of a ν-SVM: `ITERATIONS_PER_ROW` × n + `NU_ITERATIONS`. Without a limit LIBSVM may not
#: terminate when the reduced hulls intersect.
NU_ITERATIONS = 20_000
#: Default iteration limit of any other machine, as in LIBSVM: `ITERATIONS_PER_ROW` × n, but at least `MIN_ITERATIONS`.
#: If C is large, rounding errors may prevent the loop from terminating.
ITERATIONS_PER_ROW, MIN_ITERATIONS = 100, 10_000_000
#: Cost of a sparse product, per stored entry, relative to a dense one.
SPARSE_FACTOR = 4.0
#: Traits of the ν-SVMs.
NU_TRAITS = INTERVALS - {"level 1", "other levels", "balance", "sum", "two-sided α"}


class LibsvmBackend(Backend):
    """`sklearn.svm.SVC` and `NuSVC`."""

    name = "libsvm"
    abilities = Abilities(
        summary="dual of a machine with bounds and a free intercept; for comparison",
        dual=(  # C-SVMs; ν-SVMs; other machines with a kernel, and linear ones with few rows
            MachineSet(MARGINS - {"unbounded"}), MachineSet(NU_TRAITS), MachineSet(INTERVALS - {"linear"}),
            MachineSet(INTERVALS, MAX_LINEAR_INTERVAL_ROWS),
        ),
        missing_form_reason="it solves the dual", handles_interrupt=True,
        package="scikit-learn",
        options=frozenset({"eps", "cache_size", "shrinking"}),  # `eps`: its tolerance for the largest violation
    )  # fmt: skip
    lazy_import = LazyImport("sklearn.svm", LIBSVM_IMPORT)
    memory = Memory(dual=0.0, primal=0.0, copies=1.0)

    def compile(self, qp: QP) -> LibsvmCompiled | LoopCompiled:
        """Build X or the Gram matrix, y, and sample weights that carry C, or the bounds of a ν-SVM."""
        statement = self.read_statement(qp)
        svm = statement.svm
        if uses_intervals(svm):
            kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
            return LoopCompiled(self, qp, SolverData(kernel=kernel, X=X, gram=gram), statement=statement)
        if isinstance(svm.gram, LowRank):
            return LibsvmCompiled(self, qp, _build_data(svm.gram.Z, svm, {"kernel": "linear"}), statement)
        kernel, X, gram = extract_kernel_samples(svm.gram, self.name)
        svc_kernel = _translate_kernel(kernel) if gram is None else None
        if svc_kernel is None:
            K = kernel(X, X) if gram is None else gram
            return LibsvmCompiled(self, qp, _build_data(K, svm, {"kernel": "precomputed"}), statement)
        return LibsvmCompiled(self, qp, _build_data(X, svm, svc_kernel), statement)


def uses_intervals(svm: SVMDual) -> bool:
    """Return whether a machine is solved as an `IntervalProblem`: it is neither a C-SVM, a hard margin, nor a ν-SVM."""
    is_two_class = svm.has_one_row_per_sample and not svm.has_curvature and svm.groups[0].total == 0.0
    is_nu_svm = len(svm.groups) == 2  # yᵀα = 0 and the sum of α
    return not (is_two_class and (svm.common_level == 1.0 or is_nu_svm))


def _choose_eps(tol: float, has_given_sum: bool) -> float:
    """Return LIBSVM's tolerance for a relative gap of `tol`, at most its default."""
    factor = GIVEN_SUM_EPS_FACTOR if has_given_sum else 1.0
    return factor * DEFAULT_EPS * min(1.0, tol / DEFAULT_TOLERANCE)


def _translate_kernel(kernel: Kernel) -> dict[str, Any] | None:
    """Return the kernel in the parameters of SVC, or None if SVC has no such kernel."""
    if isinstance(kernel, Linear):
        return {"kernel": "linear"}
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": kernel.gamma}
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    if isinstance(kernel, Polynomial) and float(kernel.degree).is_integer():
        return {"kernel": "poly", "degree": int(kernel.degree), "gamma": kernel.gamma, "coef0": kernel.coef0}
    return None


def _build_data(X: Any, svm: SVMDual, kernel: dict[str, Any]) -> SolverData:
    return SolverData(X=sp.csr_matrix(X) if sp.issparse(X) else X, y=svm.sign, sample_weight=svm.upper, kernel=kernel)


class LibsvmCompiled(Compiled):
    """A C-SVM or ν-SVM as X, y and sample_weight of scikit-learn's `fit`, and the kernel's parameters."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, statement: Statement) -> None:
        super().__init__(backend, qp, data, statement=statement)
        svm = statement.svm
        self._alpha_sum = sum(group.total / float(group.column[0]) for group in svm.margin_groups)  # of a ν-SVM, else 0
        self._nu = min(1.0, self._alpha_sum / float(svm.upper.sum())) if svm.is_homogeneous else None

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        data, statement = self.data, self.statement
        estimator, settings = self._choose_estimator(limits, options)
        clock = Clock(limits.time_limit)
        max_iter = limits.max_iter or self._find_default_max_iter()
        # C is the largest weight, and NuSVC scales α so that only ratios of weights matter
        loop = partial(fit, estimator, settings, data.X, data.y, data.sample_weight / data.sample_weight.max())
        try:
            fitted = run_within_time(loop, max_iter, self._bound_iterations, self._build_initial_fit, clock)
        except ValueError as error:  # rounding: LIBSVM may reject the largest feasible ν as infeasible
            return build_failed_solution(self.qp, self._describe_solver(str(error)))
        status, raw = find_run_status(fitted, max_iter, clock)
        scaled_alpha = np.zeros(len(data.y))
        scaled_alpha[fitted.support] = np.abs(fitted.coefficients)
        rho = 1.0
        if self._nu is not None:  # NuSVC returns α/ρ and b/ρ; ρ follows from the known sum of α
            if scaled_alpha.any():
                rho = self._alpha_sum / float(scaled_alpha.sum())
            else:
                rho = np.nan
        multipliers = statement.to_row_multipliers({"b": rho * fitted.intercept, "rho": rho})
        x = statement.to_qp_variables(rho * scaled_alpha)
        return self._build_solution(status, self._describe_solver(raw), fitted.iterations, x, y=multipliers)

    def _choose_estimator(self, limits: Limits, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the name of scikit-learn's estimator, and its settings."""
        settings = {"tol" if name == "eps" else name: value for name, value in options.items()}
        settings |= {"verbose": limits.verbose, **self.data.kernel}
        if limits.tol is not None:
            settings.setdefault("tol", _choose_eps(limits.tol, has_given_sum=self._nu is not None))
        if self._nu is None:
            return "SVC", {"C": float(self.data.sample_weight.max()), **settings}
        return "NuSVC", {"nu": self._nu, **settings}

    def _find_default_max_iter(self) -> int:
        """Return the default iteration limit."""
        n = len(self.data.y)
        if self._nu is not None:
            return ITERATIONS_PER_ROW * n + NU_ITERATIONS
        return max(ITERATIONS_PER_ROW * n, MIN_ITERATIONS)

    def _bound_iterations(self, seconds: float) -> int:
        """Return a number of iterations that certainly takes no longer than the given seconds."""
        X = self.data.X
        n = len(self.data.y)
        start_rows = 0.0 if self._nu is None else self._nu * n
        if self.data.kernel["kernel"] == "precomputed":
            return bound_iterations(seconds, n, None, start_rows=start_rows)
        width = int(SPARSE_FACTOR * X.nnz / n) if sp.issparse(X) else X.shape[1]
        return bound_iterations(seconds, n, width, start_rows=start_rows)

    def _build_initial_fit(self) -> FittedMachine:
        """Return LIBSVM's initial point: 0, or for a ν-SVM the first rows of each class at their bounds."""
        weight, sign = self.data.sample_weight, self.data.y
        alpha = np.zeros(len(sign))
        if self._nu is not None:
            for rows in (sign > 0, sign < 0):
                preceding = np.cumsum(weight[rows]) - weight[rows]
                alpha[rows] = np.clip(0.5 * self._nu * weight.sum() - preceding, 0.0, weight[rows])
        support = np.flatnonzero(alpha)
        return FittedMachine(support, alpha[support], 0.0, 0, False)


class LoopCompiled(Compiled):
    """Any other machine as an `IntervalProblem`, with its kernel, X and, if it was computed, the Gram matrix."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.kernel.solve import choose_unit  # not at the top: most machines do without its imports

        machine = IntervalProblem.from_dual(self.statement.svm, self.backend.name)
        clock = Clock(limits.time_limit)
        problem, data = machine.problem, self.data
        blocks = machine.build_blocks(data.kernel, data.X, data.gram)
        has_given_sum = problem.mass is not None or problem.bound_share is not None
        eps = _choose_eps(limits.tol or DEFAULT_TOLERANCE, has_given_sum) * choose_unit(blocks, problem)
        max_iter = limits.max_iter or max(ITERATIONS_PER_ROW * problem.n, MIN_ITERATIONS)
        # LIBSVM evaluates the kernel itself, if it can state the problem as it is
        if isinstance(blocks, KernelBlocks) and is_libsvm_problem(problem):
            samples = blocks.samples
        else:
            samples = None
        loop = run_libsvm_loop(
            problem, blocks.compute_full_matrix() if samples is None else samples, max_iter, clock,
            gamma=None if samples is None else float(data.kernel.gamma),
            tol=options.get("eps", eps),
            settings={name: value for name, value in options.items() if name != "eps"},
        )  # fmt: skip
        status, raw = find_run_status(loop, max_iter, clock)
        support = loop.beta.nonzero()[0]
        u = blocks.compute_product(support, loop.beta[support], np.arange(problem.n))  # Kβ
        x = self.statement.to_qp_variables(machine.compute_alpha(loop.beta))
        y = self.statement.to_row_multipliers(machine.compute_multipliers(*problem.compute_multipliers(u)))
        return self._build_solution(status, self._describe_solver(raw), loop.iterations, x, y=y)


@dataclass(frozen=True, eq=False)
class FittedMachine:
    """A fitted machine: support (s,), coefficients y∘α of the support (s,), and whether LIBSVM's loop converged."""

    support: IntArray
    coefficients: FloatArray
    intercept: float
    iterations: int
    converged: bool


def fit(name: str, settings: dict[str, Any], X: Any, y: FloatArray, weight: FloatArray, max_iter: int) -> FittedMachine:
    """Fit the estimator of this name, `SVC` or `NuSVC`, with at most `max_iter` iterations."""
    machine = build_silent_class(name)(max_iter=max_iter, **settings).fit(X, y, sample_weight=weight)
    return FittedMachine(
        machine.support_, as_dense(machine.dual_coef_)[0], float(machine.intercept_[0]), int(np.max(machine.n_iter_)),
        machine.fit_status_ == 0,
    )  # fmt: skip
