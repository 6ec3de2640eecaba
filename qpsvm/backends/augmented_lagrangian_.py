"""The semismooth-Newton augmented Lagrangian for linear machines: no n × n matrix, few passes over the samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.backends.abilities import ANYTHING, Abilities, Form, Machines
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, own_settings
from qpsvm.backends.recognise import RecognisedCSVM, recognise
from qpsvm.costs import Cost, Rows, Size
from qpsvm.dual.certificate import hinge_intercepts, middle
from qpsvm.errors import UnsupportedError
from qpsvm.operators import LowRank
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution

#: The relative gap aimed at where no tolerance is given.
DEFAULT_TOLERANCE = 1e-6
#: Whose duals it takes: sums of hinge losses.
HINGE = ANYTHING - {
    "kernel", "level 0", "other levels", "unbounded", "partly bounded", "curved", "balance and total", "one row",
    "other rows", "several α a sample",
}  # fmt: skip
#: A pass over the samples before the first step, and no copy of them.
PASSES = Rows((1e-9, 0.0), (1e-9, 0.0), 1.0)
#: Seconds: of a call, of its passes a number of X, and of its Newton steps a number in at most so many rows.
CALL, PASS, STEP, STEP_ROWS = 5e-3, 8e-9, 1e-9, 3000


class AugmentedLagrangianBackend(Backend):
    """`solvers.linear.solve_linear`."""

    name = "augmented_lagrangian"
    abilities = Abilities(
        needs="dual of a linear machine with hinge losses, such as a C-SVM, any n; fast",
        dual=(Machines(HINGE),), because="it reads the samples off the dual's factor", starts=True, polls=True,
    )

    def options(self) -> frozenset[str]:
        """None of its own."""
        return frozenset()

    def estimate(self, size: Size, form: Form) -> Cost:
        """Passes over the samples, and Newton steps on the few rows that are free."""
        del form
        steps = STEP * min(size.rows, STEP_ROWS) * size.features * size.entries / size.rows
        return PASSES.cost(size).lasting(CALL + PASS * size.weighed + steps)

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
