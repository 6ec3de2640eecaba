"""Projected gradient on the dual, the textbook's method with its balance row kept: for study, not for accuracy.

SciPy's SLSQP: a general method on dense matrices, as in the textbook; for study on small problems.

Subgradient descent on the hinge form: takes a primal with slacks `xi`, eliminates them, and is measured like all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import ALL_TRAITS, Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled, Limits, SolverData, build_common_settings
from qpsvm.backends.requirements import Memory
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.machines.problem import forms
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.space.operators import Diagonal


class DualAscentBackend(Backend):
    """`solvers.study.dual_ascent.projected_gradient`."""

    name = "dual_ascent"
    abilities = Abilities(
        summary="dual forms: a box and at most two equality rows; a textbook method",
        dual=(MachineSet(ALL_TRAITS - {"other rows"}),), missing_form_reason="it projects on a box and a balance row",
        supports_warm_start=True, handles_interrupt=True, is_educational=True,
        options=frozenset({"step", "accelerated"}),  # a fixed step, and momentum
    )  # fmt: skip
    memory = Memory(dual=1.0, primal=1.0, copies=1.0)

    def compile(self, qp: QP) -> DualAscentCompiled:
        """Build P (an operator), q, A, b, lb, ub: nothing is copied."""
        if qp.G is not None:
            raise UnsupportedError("dual_ascent cannot take inequality rows G x <= h; use cvxopt, osqp or cvxpy")
        lb, ub = qp.bounds
        return DualAscentCompiled(self, qp, SolverData(P=qp.P, q=qp.q, A=qp.A, b=qp.b, lb=lb, ub=ub))


class DualAscentCompiled(Compiled):
    """P, q, A, b, lb, ub, in the order of `projected_gradient`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.dual_ascent import projected_gradient

        answer = projected_gradient(*self.data, x0=limits.start, **build_common_settings(limits, options, limits.tol))
        return self._build_run_solution(answer.trace, answer.x, y=answer.y, box=answer.z_box)


#: Its workspace is about ten dense n × n matrices and an iteration costs O(n³).
MAX_VARIABLES = 2000


class SlsqpBackend(Backend):
    """`scipy.optimize.minimize(method="SLSQP")`."""

    name = "slsqp"
    abilities = Abilities(
        summary=f"any QP of at most {MAX_VARIABLES} variables, dense; a general method",
        dual=(MachineSet(rows=MAX_VARIABLES),),
        primal=(MachineSet(rows=MAX_VARIABLES),),
        accepts_any_qp=True,
        handles_interrupt=True,
        is_educational=True,
        package="scipy",
        options=frozenset({"ftol"}),  # its absolute tolerance of the objective
    )
    memory = Memory(dual=12.5, primal=100.0)

    def compile(self, qp: QP) -> SlsqpCompiled:
        """Build P, q, G, h, A, b, lb, ub, all dense."""
        if qp.n > MAX_VARIABLES:
            raise UnsupportedError(
                f"slsqp works on dense matrices and takes at most {MAX_VARIABLES} variables, this QP has {qp.n}; "
                "use cvxopt or osqp"
            )
        lb, ub = qp.bounds
        data = SolverData(
            P=qp.P.dense(), q=qp.q, G=None if qp.G is None else as_dense(qp.G), h=qp.h,
            A=None if qp.A is None else as_dense(qp.A), b=qp.b, lb=lb, ub=ub,
        )  # fmt: skip
        return SlsqpCompiled(self, qp, data)


class SlsqpCompiled(Compiled):
    """P, q, G, h, A, b, lb, ub, in the order of `solvers.study.slsqp.solve_slsqp`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.slsqp import solve_slsqp

        answer = solve_slsqp(*self.data, **build_common_settings(limits, options))
        said = str(answer.message)
        return self._build_run_solution(answer.trace, answer.x, said, y=answer.y, z=answer.z, box=answer.z_box)


#: Whose primals it takes: those with a slack for each α.
SLACKS = ALL_TRAITS - {"unbounded", "partly bounded", "curved", "partly curved"}


class SubgradientBackend(Backend):
    """`solvers.study.subgradient.hinge_subgradient`."""

    name = "subgradient"
    abilities = Abilities(
        summary="primal forms with slacks xi (not the hard margin); a textbook method",
        primal=(MachineSet(SLACKS),),
        missing_form_reason="it descends on the hinge form",
        handles_interrupt=True,
        is_educational=True,
        linear_form="primal",
        kernel_form="primal",
        # The constant step of the published method, in the units of the QP compiled, which `solve` scales.
        options=frozenset({"learning_rate"}),
    )
    memory = Memory(dual=5.5, primal=5.5, copies=5.0)

    def compile(self, qp: QP) -> SubgradientCompiled:
        """Build M, h, c, d, q of ½uᵀdiag(d)u + qᵀu + Σ c_i (h_i − (Mu)_i)₊, with the slacks eliminated."""
        named = "xi" in qp.variables and any(name in qp.constraints for name in forms.LEVEL_ROWS)
        if not named or not isinstance(qp.P, Diagonal):
            raise UnsupportedError(
                "subgradient needs a QP with slack variables named 'xi' and rows named 'margin' (C-SVM, nu-SVM and "
                "primal hinge in primal form); for others use cvxopt, osqp or cvxpy"
            )
        slack = _find_slacks(qp)
        rest = np.setdiff1d(np.arange(qp.n), np.arange(slack.start, slack.stop))
        lb, ub = (bound[rest] for bound in qp.bounds)
        if qp.A is not None or np.isfinite(lb).any() or np.isfinite(ub).any() or qp.G is None or qp.h is None:
            raise UnsupportedError("subgradient cannot take equality rows, or bounds other than xi >= 0; use cvxopt")
        scale = -qp.G[:, slack].diagonal()  # rows M u + s ξ ≥ h: a slack may carry a factor
        data = SolverData(M=-qp.G[:, rest].tocsr(), h=-qp.h, c=qp.q[slack] / scale, d=qp.P.d[rest], q=qp.q[rest])
        return SubgradientCompiled(self, qp, data, rest=rest, scale=scale)


def _find_slacks(qp: QP) -> slice:
    """Return the slice of the slacks: ξ, followed by ξ* for a regression."""
    parts = [qp.variables[name] for name in forms.SLACKS if name in qp.variables]
    return slice(parts[0].start, parts[-1].stop)


class SubgradientCompiled(Compiled):
    """M, h, c, d, q, in the order of `hinge_subgradient`."""

    rest: IntArray
    scale: FloatArray

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.subgradient import hinge_subgradient

        answer = hinge_subgradient(*self.data, **build_common_settings(limits, options, limits.tol))
        x, z_box = np.zeros(self.qp.n), np.zeros(self.qp.n)
        slack = _find_slacks(self.qp)
        x[self.rest] = answer.u
        x[slack] = np.maximum(self.data.h - self.data.M @ answer.u, 0.0) / self.scale
        z_box[slack] = self.scale * answer.z - self.qp.q[slack]  # stationarity in ξ
        return self._build_run_solution(answer.trace, x, z=answer.z, box=z_box)
