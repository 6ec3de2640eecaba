"""Solve small QPs by SciPy's SLSQP, a general method on dense matrices that many textbooks use: for study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits, build_common_settings
from qpsvm.backends.requirements import Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution

#: Its workspace is about ten dense n × n matrices and an iteration costs O(n³).
MAX_VARIABLES = 2000


class SlsqpBackend(Backend):
    """`scipy.optimize.minimize(method="SLSQP")`."""

    name = "slsqp"
    abilities = Abilities(
        summary=f"any QP of at most {MAX_VARIABLES} variables, dense; a general method",
        dual=(MachineSet(max_rows=MAX_VARIABLES),),
        primal=(MachineSet(max_rows=MAX_VARIABLES),),
        accepts_any_qp=True,
        handles_interrupt=True,
        is_educational=True,
        package="scipy",
        options=frozenset({"ftol"}),  # SciPy's absolute tolerance of the objective
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

        solution = solve_slsqp(*self.data, **build_common_settings(limits, options))
        return self._build_run_solution(
            solution.trace, solution.x, str(solution.message), y=solution.y, z=solution.z, box=solution.z_box
        )
