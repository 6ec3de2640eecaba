"""Solve primals by subgradient descent, for study (`SubgradientBackend`).

It descends on the hinge form of a primal: with the slacks ξ eliminated, it
minimises ½uᵀdiag(d)u + qᵀu + Σ c_i (h_i − (Mu)_i)₊ over the other variables u.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits, build_common_settings
from qpsvm.backends.requirements import Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import UnsupportedError
from qpsvm.machines.problem import forms
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.space.operators import Diagonal

#: Traits of the machines whose primal it accepts: those with a slack for each α.
SLACKS = ONE_FUNCTION - {"unbounded", "partly bounded", "curved", "partly curved"}


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
        # the constant step of the published method, in the units of the compiled QP, which `solve` scales
        options=frozenset({"learning_rate"}),
    )
    memory = Memory(dual=5.5, primal=5.5, copies=5.0)

    def compile(self, qp: QP) -> SubgradientCompiled:
        """Build M, h, c, d, q of the hinge form. Raises UnsupportedError."""
        is_hinge_primal = "xi" in qp.variables and any(name in qp.constraints for name in forms.LEVEL_ROWS)
        if not is_hinge_primal or not isinstance(qp.P, Diagonal):
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

    rest: IntArray  # indices of the variables other than slacks
    scale: FloatArray  # factors of the slacks in their rows

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.subgradient import hinge_subgradient

        solution = hinge_subgradient(*self.data, **build_common_settings(limits, options, limits.tol))
        x, z_box = np.zeros(self.qp.n), np.zeros(self.qp.n)
        slack = _find_slacks(self.qp)
        x[self.rest] = solution.u
        x[slack] = np.maximum(self.data.h - self.data.M @ solution.u, 0.0) / self.scale
        z_box[slack] = self.scale * solution.z - self.qp.q[slack]  # stationarity in ξ
        return self._build_run_solution(solution.trace, x, z=solution.z, box=z_box)
