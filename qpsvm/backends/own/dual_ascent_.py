"""Solve duals by projected gradient, the textbook method, with the row yᵀα = 0: for study, not for accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits, build_common_settings
from qpsvm.backends.requirements import Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution


class DualAscentBackend(Backend):
    """`solvers.study.dual_ascent.projected_gradient`."""

    name = "dual_ascent"
    abilities = Abilities(
        summary="dual forms: a box and at most two equality rows; a textbook method",
        dual=(MachineSet(ONE_FUNCTION - {"other rows"}),), missing_form_reason="it projects on a box and a balance row",
        supports_warm_start=True, handles_interrupt=True, is_educational=True,
        options=frozenset({"step", "accelerated"}),  # a fixed step, and momentum
    )  # fmt: skip
    memory = Memory(dual=1.0, primal=1.0, copies=1.0)

    def compile(self, qp: QP) -> DualAscentCompiled:
        """Build P (an operator), q, A, b, lb, ub, without copies."""
        if qp.G is not None:
            raise UnsupportedError("dual_ascent cannot take inequality rows G x <= h; use cvxopt, osqp or cvxpy")
        lb, ub = qp.bounds
        return DualAscentCompiled(self, qp, SolverData(P=qp.P, q=qp.q, A=qp.A, b=qp.b, lb=lb, ub=ub))


class DualAscentCompiled(Compiled):
    """P, q, A, b, lb, ub, in the order of `projected_gradient`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.dual_ascent import projected_gradient

        settings = build_common_settings(limits, options, limits.tol)
        solution = projected_gradient(*self.data, x0=limits.start, **settings)
        return self._build_run_solution(solution.trace, solution.x, y=solution.y, box=solution.z_box)
