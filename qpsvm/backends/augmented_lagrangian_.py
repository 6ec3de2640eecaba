"""The semismooth-Newton augmented Lagrangian for linear machines: no n × n matrix, few passes over the samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, built_in_version, own_settings, stopped
from qpsvm.backends.recognise import RecognisedCSVM, recognise
from qpsvm.dual.certificate import hinge_intercepts, middle
from qpsvm.errors import UnsupportedError
from qpsvm.operators import LowRank
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution, Solver
from qpsvm.rows import WithOnes

#: The relative gap aimed at where no tolerance is given.
DEFAULT_TOLERANCE = 1e-6


class AugmentedLagrangianBackend(Backend):
    """`solvers.linear.solve_linear`."""

    name = "augmented_lagrangian"
    package = "qpsvm"
    module = "qpsvm.solvers.linear"
    starts = True
    polls = True
    takes = "dual of a linear C-SVM or primal hinge problem, any n; fast"

    def options(self) -> frozenset[str]:
        """None of its own."""
        return frozenset()

    def refuse(self, form: str) -> str | None:
        """The samples are read off the dual's factor."""
        if form == "primal":
            return "augmented_lagrangian reads the samples off the dual's factor; form='dual', or osqp"
        return None

    def compile(self, qp: QP) -> AugmentedLagrangianCompiled:
        """X, y, C and the intercept of the C-SVM that the dual is, by reference: nothing is copied."""
        if not isinstance(qp.P, LowRank) or qp.P.scale is None or qp.P.d is not None:
            raise UnsupportedError(
                "augmented_lagrangian needs a dual with P = diag(y) X Xᵀ diag(y) as its factor, that is a linear "
                "kernel; use kernel_newton, cvxopt or osqp for others"
            )
        problem = recognise(qp, qp.P.scale, self.name)
        X, intercept = qp.P.source, "free" if problem.row else None
        if intercept is None and isinstance(X, WithOnes):  # the weight of a feature of ones
            X, intercept = X.source, "penalised"
        data = SolverData(X=X, y=problem.y, C=problem.C, intercept=intercept)
        return AugmentedLagrangianCompiled(self, qp, data, problem)


class AugmentedLagrangianCompiled(Compiled):
    """X, y, C, intercept of the C-SVM that the QP is the dual of."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, problem: RecognisedCSVM) -> None:
        super().__init__(backend, qp, data)
        self._problem = problem

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.linear.solve import solve_linear

        data, settings = self.data, own_settings(limits, options)
        answer = solve_linear(
            data.X, data.y, data.C, intercept=data.intercept, tol=limits.tol or DEFAULT_TOLERANCE,
            start=self._start(limits.start), **settings,
        )
        status, raw = stopped(answer.reason)
        solver = Solver(self.backend.name, built_in_version(), raw)
        if not (np.isfinite(answer.alpha).all() and np.isfinite(answer.w).all()):
            return QPSolution(self.qp, status, solver, iterations=answer.iterations)
        w = np.append(answer.w, answer.b) if data.intercept == "penalised" else answer.w
        v = w * (self._problem.target / self._problem.unit)
        x, balance = self._problem.x(answer.alpha), self._problem.balance(answer.b)
        return QPSolution(self.qp, status, solver, x=x, y=balance, iterations=answer.iterations, v=v)

    def _start(self, x: FloatArray | None) -> tuple[FloatArray, float, FloatArray] | None:
        """w, b and α at a point of the QP: b is the best one for w."""
        if x is None:
            return None
        X, y, C = self.data.X, self.data.y, self.data.C
        alpha = np.clip(self._problem.alpha(x), 0.0, C)
        w = X.weights(alpha * y)
        if self.data.intercept == "free":
            return w, middle(*hinge_intercepts(X.margins(w), y, C)), alpha
        return w, float(alpha @ y) if self.data.intercept else 0.0, alpha
