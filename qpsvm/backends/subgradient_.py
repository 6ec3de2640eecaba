"""Subgradient descent on the hinge form: takes a primal with slacks `xi`, eliminates them, and is measured like all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.backends.abilities import ANYTHING, Abilities, Form, Machines
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.contract import Limits, SolverData, own_settings
from qpsvm.costs import Cost, Matrices, Rows, Size
from qpsvm.errors import UnsupportedError
from qpsvm.operators import Diagonal
from qpsvm.problems import forms
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution

#: Whose primals it takes: those with a slack for each α.
SLACKS = ANYTHING - {"unbounded", "partly bounded", "curved", "partly curved"}
#: Its passes over the coordinates of K = LLᵀ, and over the samples of a linear machine.
COORDINATES, PASSES = Matrices(1.5e-8, 1.3e-10, 1.3e-10, 5.5), Rows((2.5e-7, 0.0), (2.5e-5, 0.0), 5.0)


class SubgradientBackend(Backend):
    """`solvers.study.subgradient.hinge_subgradient`."""

    name = "subgradient"
    abilities = Abilities(
        needs="primal forms with slacks xi (not the hard margin); a textbook method",
        primal=(Machines(SLACKS),), because="it descends on the hinge form", polls=True, study=True,
        linear_form="primal", kernel_form="primal",
    )  # fmt: skip

    def options(self) -> frozenset[str]:
        """The constant step of the published method, in the units of the QP compiled; `solve` compiles a scaled one."""
        return frozenset({"learning_rate"})

    def estimate(self, size: Size, form: Form) -> Cost:
        """Passes over the rows; with a kernel over its coordinates, which are made first."""
        del form
        return PASSES.cost(size) if size.linear else COORDINATES.cost(size.rows) + size.gram

    def compile(self, qp: QP) -> SubgradientCompiled:
        """M, h, c, d, q of ½uᵀdiag(d)u + qᵀu + Σ c_i (h_i − (Mu)_i)₊: what is left when the slacks are eliminated."""
        named = "xi" in qp.variables and any(name in qp.constraints for name in forms.LEVEL_ROWS)
        if not named or not isinstance(qp.P, Diagonal):
            raise UnsupportedError(
                "subgradient needs a QP with slack variables named 'xi' and rows named 'margin' (C-SVM, nu-SVM and "
                "primal hinge in primal form); for others use cvxopt, osqp or cvxpy"
            )
        slack = _slacks(qp)
        rest = np.setdiff1d(np.arange(qp.n), np.arange(slack.start, slack.stop))
        lb, ub = (bound[rest] for bound in qp.bounds)
        if qp.A is not None or np.isfinite(lb).any() or np.isfinite(ub).any() or qp.G is None or qp.h is None:
            raise UnsupportedError("subgradient cannot take equality rows, or bounds other than xi >= 0; use cvxopt")
        scale = -qp.G[:, slack].diagonal()  # rows M u + s ξ ≥ h: a slack may carry a factor
        data = SolverData(M=-qp.G[:, rest].tocsr(), h=-qp.h, c=qp.q[slack] / scale, d=qp.P.d[rest], q=qp.q[rest])
        return SubgradientCompiled(self, qp, data, rest, scale)


def _slacks(qp: QP) -> slice:
    """Where the slacks are: ξ, and of a regression ξ* behind it."""
    parts = [qp.variables[name] for name in forms.SLACKS if name in qp.variables]
    return slice(parts[0].start, parts[-1].stop)


class SubgradientCompiled(Compiled):
    """M, h, c, d, q, in the order of `hinge_subgradient`."""

    def __init__(self, backend: Backend, qp: QP, data: SolverData, rest: Any, scale: FloatArray) -> None:
        super().__init__(backend, qp, data)
        self._rest = rest
        self._scale = scale

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.subgradient import hinge_subgradient

        answer = hinge_subgradient(*self.data, **own_settings(limits, options, limits.tol))
        x, z_box = np.zeros(self.qp.n), np.zeros(self.qp.n)
        slack = _slacks(self.qp)
        x[self._rest] = answer.u
        x[slack] = np.maximum(self.data.h - self.data.M @ answer.u, 0.0) / self._scale
        z_box[slack] = self._scale * answer.z - self.qp.q[slack]  # stationarity in ξ
        return self._answer(answer.trace, x, z=answer.z, box=z_box)
