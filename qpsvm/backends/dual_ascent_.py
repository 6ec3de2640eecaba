"""Projected gradient on the dual, the textbook's method with its balance row kept: for study, not for accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qpsvm.backends.abilities import ANYTHING, Abilities, Form, Machines
from qpsvm.backends.base import Backend, Compiled
from qpsvm.backends.contract import Limits, SolverData, own_settings
from qpsvm.costs import Cost, Rows, Size
from qpsvm.errors import UnsupportedError
from qpsvm.qp.program import QP
from qpsvm.qp.solution import QPSolution

#: Products with the samples.
PASSES = Rows((3e-8, 0.0), (2e-5, 0.0), 1.0)
#: Products with P before the first step and in all, and rows up to which P is kept for them.
FIRST_PRODUCTS, PRODUCTS, KEPT_ROWS = 15.0, 100.0, 10_000


class DualAscentBackend(Backend):
    """`solvers.study.dual_ascent.projected_gradient`."""

    name = "dual_ascent"
    abilities = Abilities(
        needs="dual forms: a box and at most two equality rows; a textbook method",
        dual=(Machines(ANYTHING - {"other rows"}),), because="it projects on a box and a balance row",
        starts=True, polls=True, study=True,
    )  # fmt: skip

    def options(self) -> frozenset[str]:
        """A fixed step, and momentum."""
        return frozenset({"step", "accelerated"})

    def estimate(self, size: Size, form: Form) -> Cost:
        """Products with P, over and over; made anew each time where P cannot be kept."""
        del form
        if size.linear:
            return PASSES.cost(size)
        kept = size.rows <= KEPT_ROWS
        streamed = size.gram_seconds * (1.0 if kept else FIRST_PRODUCTS)
        return Cost(streamed, PRODUCTS * streamed, 8.0 * size.rows**2 if kept else 0.0)

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
