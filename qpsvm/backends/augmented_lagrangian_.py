"""The semismooth-Newton augmented Lagrangian for linear machines: no n × n matrix, few passes over the samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray
from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, built_in_version, stopped
from qpsvm.errors import UnsupportedError
from qpsvm.operators import LowRank
from qpsvm.qp import QP
from qpsvm.result import QPSolution, Solver

#: How far what should be one number in every row may vary, relatively: scaling rounds.
UNIFORM = 1e-12
#: The relative gap aimed at where no tolerance is given.
DEFAULT_TOLERANCE = 1e-6


class AugmentedLagrangianBackend(Backend):
    """`solvers.linear.solve_linear`."""

    name = "augmented_lagrangian"
    package = "qpsvm"
    module = "qpsvm.solvers.linear"
    takes = "dual of a linear C-SVM or primal hinge problem, any n; fast"

    def options(self) -> frozenset[str]:
        """None of its own."""
        return frozenset()

    def refuse(self, form: str) -> str | None:
        """The data are read off the dual's factor."""
        if form == "primal":
            return "augmented_lagrangian reads the samples off the dual's factor; form='dual', or osqp"
        return None

    def compile(self, qp: QP) -> AugmentedLagrangianCompiled:
        """X, y, C and the intercept of the C-SVM that the dual is, by reference: nothing is copied."""
        P = qp.P
        lb, ub = qp.bounds
        if not isinstance(P, LowRank) or P.scale is None or P.d is not None or not len(qp.q):
            raise UnsupportedError(
                "augmented_lagrangian needs a dual with P = diag(y) X Xᵀ diag(y) as its factor, that is a linear "
                "kernel; use cvxopt or osqp for others"
            )
        unit, target = float(np.abs(P.scale).max()), float(-qp.q[0])
        y = np.sign(P.scale)
        uniform = _same(np.abs(P.scale), unit) and target > 0 and _same(-qp.q, target)
        if not uniform or lb.any() or not np.isfinite(ub).all() or (ub <= 0).any() or qp.G is not None:
            raise UnsupportedError(
                "augmented_lagrangian takes C-SVM and primal hinge problems (q = −1, 0 ≤ alpha ≤ C); for hard margin "
                "and nu-SVM use interior_point, cvxopt or osqp"
            )
        if qp.A is not None and (qp.A.shape[0] != 1 or qp.b is None or qp.b.any() or not _balances(qp.A, y)):
            raise UnsupportedError("augmented_lagrangian takes no equality row but yᵀα = 0; use interior_point")
        intercept = None if qp.A is None else "free"
        stretch = unit * unit / target  # α of the C-SVM on X is α̃ times this
        data = SolverData(X=P.Z, y=y, C=ub * stretch, intercept=intercept)
        return AugmentedLagrangianCompiled(self, qp, data, unit, target)


def _same(values: FloatArray, value: float) -> bool:
    return bool(np.abs(values - value).max() <= UNIFORM * abs(value))


def _first_row(A: Any) -> FloatArray:
    row: FloatArray = (A.toarray() if sp.issparse(A) else A)[0]
    return row


def _balances(A: Any, y: FloatArray) -> bool:
    row = _first_row(A)
    return _same(row * y, float(row[0] * y[0])) and row[0] * y[0] > 0


class AugmentedLagrangianCompiled(Compiled):
    """X, y, C, intercept of the C-SVM that the QP is the dual of."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, unit: float, target: float) -> None:
        super().__init__(backend, qp, data)
        self._unit = unit
        self._target = target

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        del options
        from qpsvm.solvers.linear import solve_linear

        settings: dict[str, Any] = {"time_limit": limits.time_limit, "verbose": limits.verbose}
        if limits.max_iter is not None:
            settings["max_iter"] = int(limits.max_iter)
        data = self.data
        answer = solve_linear(
            data.X, data.y, data.C, intercept=data.intercept, tol=limits.tol or DEFAULT_TOLERANCE, **settings
        )
        status, raw = stopped(answer.reason)
        solver = Solver("augmented_lagrangian", built_in_version(), raw)
        if not (np.isfinite(answer.alpha).all() and np.isfinite(answer.w).all()):
            return QPSolution(self.qp, status, solver, iterations=answer.iterations)
        x = answer.alpha * (self._target / (self._unit * self._unit))
        v = answer.w * (self._target / self._unit)
        y = np.zeros(0) if self.qp.A is None else np.array([answer.b * self._target / abs(_first_row(self.qp.A)[0])])
        return QPSolution(
            self.qp, status, solver, x=x, y=y, z_box=self._box_multipliers(y, v), iterations=answer.iterations, v=v
        )

    def _box_multipliers(self, y: FloatArray, v: FloatArray) -> FloatArray:
        """What stationarity (QP.1) leaves for the bounds, with Px taken at the explicit w."""
        P = self.qp.P
        assert isinstance(P, LowRank)
        assert P.scale is not None
        gradient: FloatArray = P.scale * (P.Z @ v) + self.qp.q
        if self.qp.A is not None:
            gradient += _first_row(self.qp.A) * y[0]
        return -gradient
