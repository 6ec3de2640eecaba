"""Solve QPs by CVXOPT: a primal-dual interior-point method on dense or sparse matrices (Andersen et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend
from qpsvm.backends.compiled import Compiled, build_failed_solution
from qpsvm.backends.external.cvxopt_structured import build_box_rows, solve_structured, to_sparse
from qpsvm.backends.limits import Limits
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.backends.solver_data import SolverData
from qpsvm.base.arrays.types import as_dense
from qpsvm.base.errors import ParameterError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution
from qpsvm.program.status import Status
from qpsvm.space.operators import Diagonal, LowRank

#: Number of variables from which a low-rank P is not converted to a dense n × n matrix, but solved by
#: `cvxopt_structured`, with its own `kktsolver`.
MIN_STRUCTURED_VARIABLES = 2000
#: Relative violation of an equality, above which a solution that CVXOPT calls optimal is rejected.
MAX_EQUALITY_VIOLATION = 1e-4
#: CVXOPT's default iteration limit.
DEFAULT_MAX_ITERATIONS = 100
#: Exceptions that CVXOPT raises at a numerical breakdown, for which it has no status.
BREAKDOWNS = (ValueError, ArithmeticError)
#: The settings that CVXOPT documents, and its argument `kktsolver`.
OPTIONS = frozenset(("abstol", "reltol", "feastol", "maxiters", "refinement", "show_progress", "kktreg", "kktsolver"))
STATUS = {"optimal": Status.OPTIMAL, "unknown": Status.NUMERICAL_ERROR}


class CvxoptBackend(Backend):
    """`cvxopt.solvers.qp`."""

    name = "cvxopt"
    abilities = Abilities(
        summary="any QP; a large low-rank P by its structure",
        dual=ALL_MACHINES,
        primal=ALL_MACHINES,
        accepts_any_qp=True,
        enforced_limits=frozenset({"max_iter"}),
        package="cvxopt",
        options=OPTIONS,
    )
    lazy_import = LazyImport("cvxopt", 5e8)
    memory = Memory(dual=4.5, primal=19.0, copies=10.0)

    def compile(self, qp: QP) -> CvxoptCompiled:
        """Build P, q, G, h, A, b, where the bounds are rows of the sparse G; or, for a large low-rank P, its factor."""
        self.require_package()
        if qp.n >= MIN_STRUCTURED_VARIABLES and isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n and qp.G is None:
            lb, ub = qp.bounds
            Z, d = qp.P.factor()
            if (np.isfinite(lb) | np.isfinite(ub) | (d > 0.0)).all():  # otherwise D of (KKT.2) there is singular
                A = None if qp.A is None else as_dense(qp.A)
                data = SolverData(Z=Z, d=d, q=qp.q, lb=lb, ub=ub, A=A, b=qp.b)
                return CvxoptCompiled(self, qp, data, structured=True)
        return CvxoptCompiled(self, qp, _build_data(qp), structured=False)


def _build_data(qp: QP) -> SolverData:
    """Build the arguments of `cvxopt.solvers.qp`."""
    from cvxopt import matrix, spdiag

    convert = to_sparse if sp.issparse(qp.A) else matrix
    G, h = build_box_rows(*qp.bounds)
    if qp.G is not None and qp.h is not None:  # the rows of G, followed by the box
        G = sp.vstack([sp.csr_array(qp.G), G], format="csr")
        h = np.concatenate([qp.h, h])
    return SolverData(
        P=spdiag(matrix(qp.P.d)) if isinstance(qp.P, Diagonal) else matrix(qp.P.dense()),
        q=matrix(qp.q),
        G=to_sparse(G) if len(h) else None,
        h=matrix(h) if len(h) else None,
        A=None if qp.A is None else convert(qp.A),
        b=None if qp.b is None else matrix(qp.b),
    )


class CvxoptCompiled(Compiled):
    """P, q, G, h, A, b, in the order of `cvxopt.solvers.qp`; if `structured`, Z, d, q, lb, ub, A, b of a low-rank P."""

    structured: bool

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from cvxopt import solvers

        settings: dict[str, Any] = {
            "show_progress": limits.verbose,
            "maxiters": limits.max_iter or DEFAULT_MAX_ITERATIONS,
        }
        if limits.tol is not None:  # the default `abstol` stops far too early if the objective is small (ν-SVM)
            settings |= {"abstol": 1e-30, "reltol": limits.tol / 10, "feastol": min(1e-7, limits.tol / 10)}
        settings |= options
        kktsolver = settings.pop("kktsolver", None)
        try:
            if self.structured:
                result = solve_structured(**self.data, options=settings)
            else:
                result = solvers.qp(*self.data, kktsolver=kktsolver, options=settings)
        except BREAKDOWNS as error:
            if isinstance(error, ValueError) and ("options" in str(error) or "kktsolver" in str(error)):
                raise ParameterError(f"cvxopt refused its settings {dict(options)}: {error}") from error
            return build_failed_solution(self.qp, self._describe_solver(f"raised {type(error).__name__}: {error}"))
        status = STATUS[result["status"]]
        if status is Status.NUMERICAL_ERROR and result["iterations"] >= settings["maxiters"]:
            status = Status.ITERATION_LIMIT
        solution = self._map_solution(result, status)
        if status is Status.OPTIMAL and self._violates_equalities(solution):
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, solution.solver, iterations=solution.iterations)
        return solution

    def _violates_equalities(self, solution: QPSolution) -> bool:
        """Return whether an equality is violated; CVXOPT may ignore one of two contradictory equalities."""
        A = self.qp.A
        b = self.qp.b
        x = solution.x
        if A is None or b is None or x is None or not b.any():  # equalities Ax = 0 do not contradict each other
            return False
        size = float(np.abs(b).max()) + float((abs(A) @ np.abs(x)).max())
        return bool(np.abs(A @ x - b).max() > MAX_EQUALITY_VIOLATION * size)

    def _map_solution(self, result: dict[str, Any], status: Status) -> QPSolution:
        x, y, z = (np.array(result[part]).ravel() for part in ("x", "y", "z"))
        m = 0 if self.qp.h is None else len(self.qp.h)
        z_box = build_box_rows(*self.qp.bounds)[0].T @ z[m:]
        return self._build_solution(
            status, self._describe_solver(result["status"]), result["iterations"], x, y=y, z=z[:m], box=z_box
        )
