"""Clarabel: an interior point method for cones, by a homogeneous embedding (Goulart & Chen 2024)."""

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

#: Its own tolerance, of the gap and of the residuals; a larger one leads to points that polishing cannot use.
FINE = 1e-8

#: Clarabel's statuses by name.
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
#: Those whose x is a certificate of something else, or nothing.
WITHOUT_POINT = (Status.INFEASIBLE, Status.UNBOUNDED, Status.NUMERICAL_ERROR)


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
        """Build P (upper triangle, CSC), q, A, b, cones: zero for rows of A, nonnegative for those of G and bounds.

        Its form is: minimise ½xᵀPx + qᵀx subject to Ax + s = b, s in the cones; its multipliers are those of (QP.1).
        """
        self.require_package()
        lifted = isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n
        return ClarabelCompiled(self, qp, _build_data(qp.to_lifted() if lifted else qp), lifted=lifted)


def _build_data(qp: QP) -> SolverData:
    import clarabel

    box, ends = build_box_rows(*qp.bounds)
    p, m = (0 if side is None else len(side) for side in (qp.b, qp.h))
    rows = [sp.csc_array(M) for M in (qp.A, qp.G, box) if M is not None]
    sides = [np.asarray(side) for side in (qp.b, qp.h, ends) if side is not None]
    cones = [clarabel.ZeroConeT(p), clarabel.NonnegativeConeT(m + len(ends))]
    return SolverData(
        P=extract_upper_triangle(qp.P), q=np.array(qp.q), A=sp.csc_matrix(sp.vstack(rows, format="csc")),
        b=np.concatenate(sides), cones=[cone for cone, size in zip(cones, (p, m + len(ends)), strict=True) if size],
    )  # fmt: skip


class ClarabelCompiled(Compiled):
    """P, q, A, b, cones, in the order of `clarabel.DefaultSolver`, which takes the settings behind them."""

    lifted: bool

    def __getstate__(self) -> tuple[Backend, QP]:
        """Leave out Clarabel's cones, which cannot be pickled: the copy builds its data again."""
        return self.backend, self.qp

    def __setstate__(self, state: tuple[Backend, QP]) -> None:
        backend, qp = state
        self.__dict__.update(vars(backend.compile(qp)))

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        import clarabel

        settings = clarabel.DefaultSettings()
        asked: dict[str, Any] = {"verbose": limits.verbose, "max_threads": 1}
        if limits.tol is not None:
            asked |= dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), min(limits.tol, FINE))
        if limits.max_iter is not None:
            asked["max_iter"] = int(limits.max_iter)
        if limits.time_limit is not None:
            asked["time_limit"] = float(limits.time_limit)
        for name, value in {**asked, **options}.items():
            setattr(settings, name, value)
        with SettingsTranslator(options):
            solver = clarabel.DefaultSolver(*self.data, settings)
        return self._map_solution(solver.solve())

    def _map_solution(self, answer: Any) -> QPSolution:
        raw = str(answer.status)
        status, solver, iterations = STATUS[raw], self._describe_solver(raw), int(answer.iterations)
        if status in WITHOUT_POINT:
            return self._build_solution(status, solver, iterations)
        n, m = self.qp.n, 0 if self.qp.h is None else len(self.qp.h)
        x, duals = np.array(answer.x), np.array(answer.z)
        p = 0 if self.qp.b is None else len(self.qp.b)
        first = p + (len(x) - n)  # behind A's rows, those of the lift
        z, box = duals[first : first + m], build_box_rows(*self.qp.bounds)[0].T @ duals[first + m :]
        v = x[n:] if self.lifted else None
        return self._build_solution(status, solver, iterations, x[:n], y=duals[:p], z=z, box=box, v=v)


class SettingsTranslator:
    """A block that passes settings to Clarabel: turns its plain `Exception` about a setting into a ValueError."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the error again by its kind."""
        if self.options and type(error) is Exception:
            raise ValueError(str(error)) from error
