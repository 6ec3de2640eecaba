"""Projected gradient on the dual, the textbook's method with its balance row kept: for study, not for accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.backends.base import Backend, Compiled, Limits, SolverData, own_settings
from qpsvm.errors import UnsupportedError
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution


class DualAscentBackend(Backend):
    """`solvers.dual_ascent.projected_gradient`."""

    name = "dual_ascent"
    package = "qpsvm"
    module = "qpsvm.solvers.study.dual_ascent"
    study = True
    starts = True
    polls = True
    takes = "dual forms: a box and at most two equality rows; a textbook method, for study"

    def options(self) -> frozenset[str]:
        """A fixed step, and momentum."""
        return frozenset({"step", "accelerated"})

    def refuse(self, form: str) -> str | None:
        """The primal has inequality rows."""
        if form == "primal":
            return "dual_ascent projects on a box and a balance row, so it takes the dual form; form='dual', or cvxopt"
        return None

    def compile(self, qp: QP) -> DualAscentCompiled:
        """P (an operator), q, A, b, lb, ub: nothing is copied."""
        if qp.G is not None:
            raise UnsupportedError("dual_ascent cannot take inequality rows G x <= h; use cvxopt, osqp or cvxpy")
        lb, ub = qp.bounds
        return DualAscentCompiled(self, qp, SolverData(P=qp.P, q=qp.q, A=qp.A, b=qp.b, lb=lb, ub=ub))


class DualAscentCompiled(Compiled):
    """P, q, A, b, lb, ub, in the order of `projected_gradient`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.study.dual_ascent import projected_gradient

        answer = projected_gradient(*self.data, x0=limits.start, **own_settings(limits, options, limits.tol))
        return self._answer(answer.trace, answer.x, y=answer.y, box=answer.z_box)
