"""SciPy's SLSQP: a general method on dense matrices, as in the textbook; for study on small problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.arrays.types import as_dense
from qpsvm.backends.abilities import Abilities, Form, Machines
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.contract import Limits, SolverData, own_settings
from qpsvm.costs import Cost, Matrices, Size
from qpsvm.errors import UnsupportedError
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution

#: Its workspace is about ten dense n × n matrices and an iteration costs O(n³).
MOST_VARIABLES = 2000
#: Its dense matrices, of a dual and of a primal.
DUAL, PRIMAL = Matrices(1e-7, 1.4e-9, 3e-8, 12.5), Matrices(1e-7, 1.2e-8, 2.4e-7, 100.0)


class SlsqpBackend(Backend):
    """`scipy.optimize.minimize(method="SLSQP")`."""

    name = "slsqp"
    abilities = Abilities(
        needs=f"any QP of at most {MOST_VARIABLES} variables, dense; a general method",
        dual=(Machines(rows=MOST_VARIABLES),), primal=(Machines(rows=MOST_VARIABLES),), any_qp=True, polls=True,
        study=True, package="scipy",
    )  # fmt: skip

    def options(self) -> frozenset[str]:
        """Its absolute objective tolerance."""
        return frozenset({"ftol"})

    def estimate(self, size: Size, form: Form) -> Cost:
        """An iteration factors a dense matrix of all variables and rows."""
        found = (DUAL if form == "dual" else PRIMAL).cost(size.rows)
        return found if size.linear else found + size.gram

    def compile(self, qp: QP) -> SlsqpCompiled:
        """P, q, G, h, A, b, lb, ub, all dense."""
        if qp.n > MOST_VARIABLES:
            raise UnsupportedError(
                f"slsqp works on dense matrices and takes at most {MOST_VARIABLES} variables, this QP has {qp.n}; "
                "use cvxopt or osqp"
            )
        lb, ub = qp.bounds
        data = SolverData(
            P=qp.P.dense(), q=qp.q, G=None if qp.G is None else as_dense(qp.G), h=qp.h,
            A=None if qp.A is None else as_dense(qp.A), b=qp.b, lb=lb, ub=ub,
        )  # fmt: skip
        return SlsqpCompiled(self, qp, data)


class SlsqpCompiled(Compiled):
    """P, q, G, h, A, b, lb, ub, in the order of `solvers.study.slsqp.slsqp`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.slsqp import slsqp

        answer = slsqp(*self.data, **own_settings(limits, options))
        said = str(answer.message)
        return self._answer(answer.trace, answer.x, said, y=answer.y, z=answer.z, box=answer.z_box)
