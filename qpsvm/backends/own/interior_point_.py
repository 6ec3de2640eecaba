"""Solve duals and primals by the built-in Mehrotra predictor-corrector methods (`InteriorPointBackend`).

They take boxes, few equality rows and any P; primal forms are solved by the dual of their rows. Machines of several
classes in one program have a method of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.abilities import Abilities, MachineSet
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.limits import Limits, build_common_settings
from qpsvm.backends.own.class_duals import build_class_solution, find_class_features, get_class_dual
from qpsvm.backends.requirements import Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.backends.traits import ONE_FUNCTION
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.svm_dual import SVMDual
from qpsvm.solvers.shared.budget import Budget
from qpsvm.space.operators import Diagonal

#: Maximum number of entries of the samples of a machine of several classes, or of a factor of its kernel matrix, which
#: are stored densely.
MAX_ENTRIES = 100_000_000
#: Maximum number of equality rows, which are stored densely.
MAX_ROWS = 10
#: The solver's tolerance as a share of the certificate's: α alone certifies less well than the primal-dual pair at
#: which it stops.
TOL_SHARE = 0.1
DEFAULT_TOLERANCE = 1e-8
#: Smallest tolerance: below it, rounding errors stop the solver before its stopping rule does.
MIN_TOL = 1e-12


class InteriorPointBackend(Backend):
    """`solvers.interior_point.mehrotra`, `recognise_soft_rows` for primal forms, `solvers.class_interior_point`."""

    name = "interior_point"
    abilities = Abilities(
        summary="the dual and the primal of every machine; it uses low rank, box and slacks",
        dual=(MachineSet(frozenset({"linear", "kernel", "several functions"})), MachineSet(ONE_FUNCTION)),
        primal=(MachineSet(ONE_FUNCTION),),
        handles_interrupt=True,
    )
    memory = Memory(dual=7.5, primal=13.0, copies=4.0)

    def compile(self, qp: QP) -> Compiled:
        """Build P (an operator), q, A, b, lb, ub; or the `SoftRows` of a QP with inequality rows."""
        lb, ub = qp.bounds
        if qp.G is None:
            if qp.A is not None and qp.A.shape[0] > MAX_ROWS:
                raise UnsupportedError(f"interior_point takes at most {MAX_ROWS} equality rows; use cvxopt or osqp")
            if qp.A is None and not (np.isfinite(lb).any() or np.isfinite(ub).any() or qp.P.diagonal().any()):
                raise UnsupportedError("interior_point needs a bound, an equality row or a P that is not 0; use cvxopt")
            return BoxCompiled(self, qp, SolverData(P=qp.P, q=qp.q, A=qp.A, b=qp.b, lb=lb, ub=ub))
        from qpsvm.solvers.interior_point.rows import recognise_soft_rows

        rows = None
        if isinstance(qp.P, Diagonal) and qp.A is None and qp.h is not None:
            rows = recognise_soft_rows(qp.P.diagonal(), qp.q, qp.G, qp.h, lb, ub)
        if rows is None:
            raise UnsupportedError(
                "interior_point takes inequality rows only where each has at most one slack of linear cost and one of "
                "squared cost of its own, and P is diagonal, as in the primal forms; use cvxopt, osqp or cvxpy"
            )
        return RowsCompiled(self, qp, rows)

    def can_solve_dual(self, svm: SVMDual) -> bool:
        """Return whether the machine has several classes."""
        return svm.classes is not None

    def solve_dual(self, svm: SVMDual, limits: Limits, options: Mapping[str, Any]) -> DualSolution:  # noqa: ARG002
        """Solve the dual of a machine of several classes, over a factor of K. Raises UnsupportedError."""
        from qpsvm.solvers.class_interior_point import solve_classes_by_interior_point

        dual, gram = get_class_dual(svm)
        X = find_class_features(gram, MAX_ENTRIES // dual.n)
        if X is None:
            raise UnsupportedError(
                f"{self.name} takes up to {MAX_ENTRIES:.0e} numbers in memory, of the samples or of a factor of the "
                "kernel matrix; use sequential_dual"
            )
        budget = Budget(limits.max_iter, limits.time_limit, limits.verbose)
        found = solve_classes_by_interior_point(as_dense(X), dual, _choose_tolerance(limits), budget)
        return build_class_solution(self, dual, found)


def _choose_tolerance(limits: Limits) -> float:
    if limits.tol is None:
        return DEFAULT_TOLERANCE
    return max(TOL_SHARE * limits.tol, MIN_TOL)


def _build_settings(limits: Limits, options: Mapping[str, Any]) -> dict[str, Any]:
    return build_common_settings(limits, options, _choose_tolerance(limits))


class BoxCompiled(Compiled):
    """P, q, A, b, lb, ub, in the order of `solve_mehrotra`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from qpsvm.solvers.interior_point.mehrotra import solve_mehrotra

        solution = solve_mehrotra(*self.data, **_build_settings(limits, options))
        return self._build_run_solution(solution, solution.x, y=solution.y, box=solution.z_box, v=solution.v)


class RowsCompiled(Compiled):
    """The rows with the penalties of their slacks: `data` is a `SoftRows`."""

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        solution = self.data.solve(**_build_settings(limits, options))
        return self._build_run_solution(solution, solution.x, z=solution.z, box=solution.z_box)
