"""Solve QPs by OSQP: the alternating direction method of multipliers on sparse matrices (Stellato et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled, build_failed_solution
from qpsvm.backends.limits import Limits
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.resources.captured_output import capture_output
from qpsvm.program.qp import QP
from qpsvm.program.residuals import compute_lagrangian_gradient
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.space.operators import Diagonal, LowRank, Operator

#: OSQP's defaults of the settings that limits change. They are set in every run, because a solver that is reused for a
#: warm start would otherwise keep those of the last run.
DEFAULT_SETTINGS = {"eps_abs": 1e-3, "eps_rel": 1e-3, "max_iter": 4000, "time_limit": 1e10}
#: The error code of OSQP's setup if it rejects the settings; other codes are about the problem.
SETTINGS_ERROR = "2"
#: Iteration limit if only a tolerance is given: OSQP's default, 4000, is too low for small tolerances.
DEFAULT_MAX_ITERATIONS = 20_000
#: OSQP's status numbers. Its arrays hold a point only with a status in `WITH_POINT`.
STATUS = {
    1: Status.OPTIMAL,  # solved
    2: Status.INACCURATE,  # solved inaccurate
    3: Status.INFEASIBLE,  # primal infeasible
    4: Status.INFEASIBLE,  # primal infeasible inaccurate
    5: Status.UNBOUNDED,  # dual infeasible
    6: Status.UNBOUNDED,  # dual infeasible inaccurate
    7: Status.ITERATION_LIMIT,  # maximum iterations reached
    8: Status.TIME_LIMIT,  # run time limit reached
    9: Status.NUMERICAL_ERROR,  # problem non convex
    10: Status.INTERRUPTED,  # OSQP handles Ctrl-C itself
    11: Status.NUMERICAL_ERROR,  # unsolved
}
WITH_POINT = frozenset({Status.OPTIMAL, Status.INACCURATE, Status.ITERATION_LIMIT, Status.TIME_LIMIT})


class OsqpBackend(Backend):
    """`osqp.OSQP`."""

    name = "osqp"
    abilities = Abilities(
        summary="any QP; sparse matrices, low-rank P lifted",
        dual=ALL_MACHINES,
        primal=ALL_MACHINES,
        accepts_any_qp=True,
        tolerances=(None, 1e-6, 1e-9),
        supports_warm_start=True,
        linear_form="primal",
        package="osqp",
    )
    lazy_import = LazyImport("osqp", 3e8)
    memory = Memory(dual=6.0, primal=10.0, copies=20.0)

    def options(self) -> frozenset[str]:
        """Return the names of OSQP's settings."""
        import osqp

        return frozenset(name for name in dir(osqp.OSQP().ext.OSQPSettings) if not name.startswith("_"))

    def compile(self, qp: QP) -> OsqpCompiled:
        """Build P (upper triangle), q, A, l, u, where A has the rows of G, those of A, and one per bounded variable.

        A low-rank P = ZZᵀ + diag(d) is lifted if Z (n, k) has fewer entries than the upper triangle of P, 2k < n: x is
        followed by v = Zᵀx, so that P becomes diagonal.
        """
        self.require_package()
        lifted = isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n
        return OsqpCompiled(self, qp, _build_data(qp.to_lifted() if lifted else qp), lifted=lifted)


def _build_data(qp: QP) -> SolverData:
    """Stack the rows of G, of A and of the bounds."""
    lb, ub = qp.bounds
    bounded = _find_bounded_variables(qp)
    entries = (np.ones(len(bounded)), (np.arange(len(bounded)), bounded))
    rows: list[tuple[Matrix, FloatArray, FloatArray]] = []
    if qp.G is not None and qp.h is not None:
        rows.append((qp.G, np.full(len(qp.h), -np.inf), qp.h))
    if qp.A is not None and qp.b is not None:
        rows.append((qp.A, qp.b, qp.b))
    rows.append((sp.csc_array(entries, shape=(len(bounded), qp.n)), lb[bounded], ub[bounded]))
    blocks, lower, upper = zip(*rows, strict=True)
    A = sp.csc_matrix(sp.vstack([sp.csc_array(block) for block in blocks]))  # OSQP requires the matrix class
    return SolverData(P=extract_upper_triangle(qp.P), q=qp.q, A=A, l=np.concatenate(lower), u=np.concatenate(upper))


def _find_bounded_variables(qp: QP) -> IntArray:
    """Return the indices of the variables with a finite bound."""
    lb, ub = qp.bounds
    return np.flatnonzero(np.isfinite(lb) | np.isfinite(ub))


def extract_upper_triangle(P: Operator) -> Matrix:
    """Return the upper triangle of P as a CSC matrix."""
    n = P.shape[0]
    if isinstance(P, Diagonal):
        return sp.csc_matrix(sp.diags_array(P.d))
    indices = np.tril_indices(n)[1]  # as P is symmetric, the lower triangle by rows is the upper one by columns
    values = P.dense()[np.tril(np.ones((n, n), dtype=bool))]
    indptr = np.concatenate([[0], np.cumsum(np.arange(1, n + 1))])
    return sp.csc_matrix((values, indices.astype(np.int32), indptr.astype(np.int32)), shape=(n, n))


class OsqpCompiled(Compiled):
    """P, q, A, l, u: the arguments of `OSQP.setup`. A second solve resumes from the first: to time it, compile anew."""

    lifted: bool
    _solver: Any = None
    _options: dict[str, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit OSQP's object, which cannot be pickled: the copy sets it up again, without the last point."""
        return {**self.__dict__, "_solver": None, "_options": None}

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        settings: dict[str, Any] = {"verbose": limits.verbose, **DEFAULT_SETTINGS}
        if limits.tol is not None:
            settings |= {"eps_abs": limits.tol, "eps_rel": limits.tol, "max_iter": DEFAULT_MAX_ITERATIONS}
        if limits.max_iter is not None:
            settings["max_iter"] = int(limits.max_iter)
        if limits.time_limit is not None:
            settings["time_limit"] = float(limits.time_limit)
        settings |= options
        with capture_output("osqp", limits.verbose) as printed:
            error_code = self._set_up(settings, options)
            if error_code is None:
                if limits.start is not None:
                    self._solver.warm_start(*self._build_start(limits.start))
                result = self._solver.solve(raise_error=False)
        if error_code is not None:
            return build_failed_solution(
                self.qp, self._describe_solver(f"setup ended with code {error_code}{printed.first_line}")
            )
        return self._map_solution(result)

    def _set_up(self, settings: Mapping[str, Any], options: Mapping[str, Any]) -> str | None:
        """Set OSQP up, or change its settings; return the error code if it rejects the problem, else None.

        Raises ValueError if it rejects the settings.
        """
        import osqp

        if self._solver is not None and self._options == dict(options):
            self._solver.update_settings(**settings)
            return None
        self._solver = osqp.OSQP()
        try:
            self._solver.setup(**self.data, **settings)
        except osqp.OSQPException as error:
            self._solver = None
            if str(error) == SETTINGS_ERROR:
                raise ValueError(f"OSQP's setup ended with code {error}") from error
            return str(error)
        self._options = dict(options)
        return None

    def _build_start(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Extend a start x (n,) to OSQP's variables, with matching multipliers of its rows.

        The multipliers of G are 0. Those of A satisfy (QP.1) in the least-squares sense for the variables strictly
        between their bounds, and those of the bounds absorb the remainder. The multipliers of v = Zᵀx are v itself.
        """
        qp = self.qp
        lb, ub = qp.bounds
        y = np.zeros(0 if qp.b is None else len(qp.b))
        z = np.zeros(0 if qp.h is None else len(qp.h))
        free = np.flatnonzero((x > lb) & (x < ub))
        gradient = compute_lagrangian_gradient(qp, x, y, z)
        if qp.A is not None and len(free):
            y = np.asarray(np.linalg.lstsq(as_dense(qp.A)[:, free].T, -gradient[free])[0])
            gradient += qp.A.T @ y
        z_box = -gradient[_find_bounded_variables(qp)]
        factor = qp.P.factor() if self.lifted else None
        if factor is None:
            return x, np.concatenate([z, y, z_box])
        v = factor[0].T @ x
        return np.concatenate([x, v]), np.concatenate([z, y, v, z_box])

    def _map_solution(self, result: Any) -> QPSolution:
        """Map OSQP's variables and multipliers to those of the QP, in the order of rows of `OsqpBackend.compile`."""
        status = STATUS[int(result.info.status_val)]
        solver = self._describe_solver(result.info.status)
        iterations = int(result.info.iter)
        if status not in WITH_POINT:
            return self._build_solution(status, solver, iterations)
        n = self.qp.n
        m = 0 if self.qp.h is None else len(self.qp.h)
        p = 0 if self.qp.b is None else len(self.qp.b)
        x, duals = np.array(result.x), np.array(result.y)
        z_box = np.zeros(len(x))
        bounded = _find_bounded_variables(self.qp)  # lifted variables have no bounds
        z_box[bounded] = duals[len(duals) - len(bounded) :]
        y = duals[m : m + p]
        v = x[n:] if self.lifted else None
        return self._build_solution(status, solver, iterations, x[:n], y=y, z=duals[:m], box=z_box[:n], v=v)
