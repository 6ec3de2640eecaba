"""Solve QPs by Clarabel: an interior-point method for cones, with a homogeneous embedding (Goulart & Chen 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled
from qpsvm.backends.external.cvxopt_structured import build_box_rows
from qpsvm.backends.external.osqp_ import extract_upper_triangle
from qpsvm.backends.limits import Limits
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.space.operators import LowRank

#: Upper limit of the requested tolerance, which is Clarabel's default: coarser points cannot be polished.
MAX_TOL = 1e-8
#: Status of each of Clarabel's statuses, by its name.
STATUS = {
    "Unsolved": Status.NUMERICAL_ERROR,
    "Solved": Status.OPTIMAL,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostSolved": Status.INACCURATE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "AlmostDualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "NumericalError": Status.NUMERICAL_ERROR,
    "InsufficientProgress": Status.INACCURATE,
    "CallbackTerminated": Status.INTERRUPTED,
}
#: Statuses for which x is not a point: it is a certificate of infeasibility or unboundedness, or meaningless.
STATUSES_WITHOUT_POINT = (Status.INFEASIBLE, Status.UNBOUNDED, Status.NUMERICAL_ERROR)


class ClarabelBackend(Backend):
    """`clarabel.DefaultSolver`."""

    name = "clarabel"
    abilities = Abilities(
        summary="any QP; sparse matrices, low-rank P lifted",
        dual=ALL_MACHINES,
        primal=ALL_MACHINES,
        accepts_any_qp=True,
        linear_form="primal",
        package="clarabel",
    )
    lazy_import = LazyImport("clarabel", 1e8)
    memory = Memory(dual=10.0, primal=14.0, copies=30.0)

    def options(self) -> frozenset[str]:
        """Return the names of Clarabel's settings."""
        import clarabel

        return frozenset(name for name in dir(clarabel.DefaultSettings()) if not name.startswith("_")) - {"default"}

    def compile(self, qp: QP) -> ClarabelCompiled:
        """Build the arguments P (upper triangle, CSC), q, A, b and cones.

        Clarabel minimises ½xᵀPx + qᵀx subject to Ax + s = b, with s in the cones; its multipliers are those of (QP.1).
        Its rows are those of A, in the zero cone, then those of G and of the finite bounds, in the nonnegative cone.
        """
        self.require_package()
        lifted = isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n  # lifting adds d variables
        return ClarabelCompiled(self, qp, _build_data(qp.to_lifted() if lifted else qp), lifted=lifted)


def _build_data(qp: QP) -> SolverData:
    """Build the arguments of `clarabel.DefaultSolver`."""
    import clarabel

    box_rows, box_sides = build_box_rows(*qp.bounds)
    blocks = [sp.csc_array(M) for M in (qp.A, qp.G, box_rows) if M is not None]
    sides = [np.asarray(side) for side in (qp.b, qp.h, box_sides) if side is not None]
    n_equalities = 0 if qp.b is None else len(qp.b)
    n_inequalities = len(box_sides) + (0 if qp.h is None else len(qp.h))
    cones = []
    if n_equalities:
        cones.append(clarabel.ZeroConeT(n_equalities))
    if n_inequalities:
        cones.append(clarabel.NonnegativeConeT(n_inequalities))
    return SolverData(
        P=extract_upper_triangle(qp.P), q=np.array(qp.q), A=sp.csc_matrix(sp.vstack(blocks, format="csc")),
        b=np.concatenate(sides), cones=cones,
    )  # fmt: skip


class ClarabelCompiled(Compiled):
    """The arguments P, q, A, b, cones of `clarabel.DefaultSolver`.

    lifted: Whether they are those of `QP.to_lifted`.
    """

    lifted: bool

    def __getstate__(self) -> tuple[Backend, QP]:
        """Omit the data, as Clarabel's cones cannot be pickled: the copy compiles the QP again."""
        return self.backend, self.qp

    def __setstate__(self, state: tuple[Backend, QP]) -> None:
        backend, qp = state
        self.__dict__.update(vars(backend.compile(qp)))

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        import clarabel

        settings = clarabel.DefaultSettings()
        for name, value in {**_list_settings(limits), **options}.items():
            setattr(settings, name, value)
        with SettingErrorTranslator(options):
            solver = clarabel.DefaultSolver(*self.data, settings)
        return self._map_solution(solver.solve())

    def _map_solution(self, result: Any) -> QPSolution:
        status_name = str(result.status)
        status = STATUS[status_name]
        solver = self._describe_solver(status_name)
        iterations = int(result.iterations)
        if status in STATUSES_WITHOUT_POINT:
            return self._build_solution(status, solver, iterations)
        qp = self.qp
        x = np.array(result.x)
        n_equalities = 0 if qp.b is None else len(qp.b)
        n_inequalities = 0 if qp.h is None else len(qp.h)
        n_lifted = len(x) - qp.n  # the rows that define these variables follow those of A
        ends = np.cumsum([n_equalities, n_lifted, n_inequalities])
        y, _, z, box = np.split(np.array(result.z), ends)
        box = build_box_rows(*qp.bounds)[0].T @ box  # one per variable, negative at lb
        v = x[qp.n :] if self.lifted else None
        return self._build_solution(status, solver, iterations, x[: qp.n], y=y, z=z, box=box, v=v)


def _list_settings(limits: Limits) -> dict[str, Any]:
    """Return Clarabel's settings for the limits."""
    settings: dict[str, Any] = {"verbose": limits.verbose, "max_threads": 1}
    if limits.tol is not None:
        settings |= dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), min(limits.tol, MAX_TOL))
    if limits.max_iter is not None:
        settings["max_iter"] = int(limits.max_iter)
    if limits.time_limit is not None:
        settings["time_limit"] = float(limits.time_limit)
    return settings


class SettingErrorTranslator:
    """Context manager that raises a ValueError in place of Clarabel's plain `Exception` about an invalid setting.

    options: Settings of the caller; without any, the exception has another cause and is left as it is.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    def __enter__(self) -> None:
        """Enter the context; nothing has to be prepared."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Translate the exception."""
        if self.options and type(error) is Exception:
            raise ValueError(str(error)) from error
