"""The semismooth-Newton augmented Lagrangian for linear machines: no n × n matrix, few passes over the samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, own_settings
from qpsvm.backends.recognise import RecognisedCSVM, recognise
from qpsvm.dual.certificate import hinge_intercepts, middle
from qpsvm.errors import UnsupportedError
from qpsvm.operators import LowRank
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution

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
        data = SolverData(X=qp.P.source, y=problem.y, C=problem.C, intercept="free" if problem.row else None)
        return AugmentedLagrangianCompiled(self, qp, data, problem)


class AugmentedLagrangianCompiled(Compiled):
    """X, y, C, intercept of the C-SVM that the QP is the dual of."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, problem: RecognisedCSVM) -> None:
        super().__init__(backend, qp, data)
        self._problem = problem

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.linear.solve import solve_linear

        data, problem = self.data, self._problem
        settings = own_settings(limits, options, limits.tol or DEFAULT_TOLERANCE)
        answer = solve_linear(
            data.X, data.y, data.C, intercept=data.intercept, start=self._start(limits.start), **settings
        )
        v = answer.w * (problem.target / problem.unit)
        return self._answer(answer, problem.x(answer.alpha), y=problem.balance(answer.b), v=v)

    def _start(self, x: FloatArray | None) -> tuple[FloatArray, float, FloatArray] | None:
        """w, b and α at a point of the QP: b is the best one for w."""
        if x is None:
            return None
        X, y, C = self.data.X, self.data.y, self.data.C
        alpha = np.clip(self._problem.alpha(x), 0.0, C)
        w = X.weights(alpha * y)
        return w, middle(*hinge_intercepts(X.margins(w), y, C)) if self.data.intercept else 0.0, alpha
