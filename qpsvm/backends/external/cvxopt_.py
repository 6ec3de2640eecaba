"""CVXOPT: a primal-dual interior point method on dense or sparse matrices (Andersen, Dahl & Vandenberghe)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL, Abilities, Form
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled, Limits, SolverData, without_point
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import ParameterError
from qpsvm.program.costs import PRODUCT_SECONDS, Cost, General, Import, Matrices, Rows, Size
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Status
from qpsvm.space.operators import Diagonal, LowRank


def _box(lb: FloatArray, ub: FloatArray) -> tuple[Matrix, FloatArray]:
    """The finite bounds as rows −x ≤ −lb, then x ≤ ub: G, sparse, and h."""
    low, high = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    values = np.concatenate([-np.ones(len(low)), np.ones(len(high))])
    places = np.arange(len(values)), np.concatenate([low, high])
    G = sp.csr_array((values, places), shape=(len(values), len(lb)))
    return G, np.concatenate([-lb[low], ub[high]])


#: Rows from which a low-rank P is lifted, instead of becoming a dense n × n matrix.
LIFTED_ROWS = 2000
#: A row missed by this share of its terms is not met.
BROKEN = 1e-4
#: Default of the solver's own iteration limit.
MAX_ITERATIONS = 100
#: What the solver raises when it breaks down; it has no status for that.
BREAKDOWNS = (ValueError, ArithmeticError, ZeroDivisionError)

PRICES = General(
    dual=Matrices(6e-8, 4e-11, 3.5e-10, 4.5), primal=Matrices(6e-8, 4e-9, 3.5e-8, 19.0),
    rows=Rows((1e-7, 1e-9), (3e-6, 2e-8), 10.0),
)  # fmt: skip
#: Seconds of the dense dual of a linear machine: of a call, and times n³.
CALL, CUBE = 3e-3, 4e-10

OPTIONS = frozenset(("abstol", "reltol", "feastol", "maxiters", "refinement", "show_progress", "kktreg", "kktsolver"))
STATUS = {"optimal": Status.OPTIMAL, "unknown": Status.NUMERICAL_ERROR}


class CvxoptBackend(Backend):
    """`cvxopt.solvers.qp`."""

    name = "cvxopt"
    abilities = Abilities(
        needs="any QP; a large low-rank P lifted", dual=ALL, primal=ALL, any_qp=True,
        keeps=frozenset({"max_iter"}), package="cvxopt",
        options=OPTIONS,  # the documented ones, and `kktsolver`
    )  # fmt: skip
    loads = Import("cvxopt", 5e8)

    def estimate(self, size: Size, form: Form) -> Cost:
        """An iteration factors an n × n matrix; a large dual of low rank is lifted."""
        lifted = form == "dual" and size.low_rank and size.rows >= LIFTED_ROWS
        found = PRICES.rows.cost(size) if lifted else PRICES.matrices(size, form)
        if form == "primal" or not size.linear:
            return found
        return found.lasting(CALL + CUBE * size.rows**3 + size.rows * PRODUCT_SECONDS * size.weighed)

    def compile(self, qp: QP) -> CvxoptCompiled:
        """P, q, G, h, A, b as CVXOPT matrices: the bounds are rows of G, which is sparse."""
        self.require()
        if qp.n >= LIFTED_ROWS and isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n and qp.G is None:
            lb, ub = qp.bounds
            if (np.isfinite(lb) | np.isfinite(ub) | (qp.P.factor()[1] > 0.0)).all():  # its own steps ask for this
                return CvxoptCompiled(self, qp, _data(qp.lifted(), lifted=True), lifted=True)
        return CvxoptCompiled(self, qp, _data(qp), lifted=False)


def _data(qp: QP, lifted: bool = False) -> SolverData:
    """Rows as they are stored; those of the lift, which hold the samples, as a dense matrix: a third of the time."""
    from cvxopt import matrix, spdiag

    G, h = _box(*qp.bounds)
    if qp.G is not None and qp.h is not None:  # G, then the box
        G, h = sp.vstack([sp.csr_array(qp.G), G], format="csr"), np.concatenate([qp.h, h])
    return SolverData(
        P=spdiag(matrix(qp.P.d)) if isinstance(qp.P, Diagonal) else matrix(qp.P.dense()), q=matrix(qp.q),
        G=_sparse(G) if len(h) else None, h=matrix(h) if len(h) else None,
        A=None if qp.A is None else _sparse(qp.A) if sp.issparse(qp.A) and not lifted else matrix(as_dense(qp.A)),
        b=None if qp.b is None else matrix(qp.b),
    )  # fmt: skip


def _sparse(M: Matrix) -> Any:
    from cvxopt import spmatrix

    coo = sp.coo_array(M)
    row, column = (index.astype(np.int64) for index in coo.coords)
    return spmatrix(coo.data.astype(np.float64), row, column, size=coo.shape)


class CvxoptCompiled(Compiled):
    """Six matrices, in the order of `cvxopt.solvers.qp`."""

    lifted: bool

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from cvxopt import solvers

        settings: dict[str, Any] = {"show_progress": limits.verbose}
        if limits.tol is not None:  # its absolute tolerance stops small objectives (ν-SVM) far too early
            settings |= {"abstol": 1e-30, "reltol": limits.tol / 10, "feastol": min(1e-7, limits.tol / 10)}
        settings["maxiters"] = limits.max_iter or MAX_ITERATIONS
        settings |= options
        kktsolver = settings.pop("kktsolver", None)
        try:
            answer = solvers.qp(*self.data, kktsolver=kktsolver, options=settings)
        except BREAKDOWNS as error:
            if isinstance(error, ValueError) and ("options" in str(error) or "kktsolver" in str(error)):
                raise ParameterError(f"cvxopt refused its settings {dict(options)}: {error}") from error
            return without_point(self.qp, self._reported(f"raised {type(error).__name__}: {error}"))
        status = STATUS[answer["status"]]
        if status is Status.NUMERICAL_ERROR and answer["iterations"] >= settings["maxiters"]:
            status = Status.ITERATION_LIMIT
        solution = self._mapped(answer, status)
        if status is Status.OPTIMAL and self._breaks_rows(solution):
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, solution.solver, iterations=solution.iterations)
        return solution

    def _breaks_rows(self, solution: QPSolution) -> bool:
        """Whether the equality rows are not met: of rows that contradict each other cvxopt may drop one."""
        A, b, x = self.qp.A, self.qp.b, solution.x
        if A is None or b is None or x is None:
            return False
        size = float(np.abs(b).max()) + float((abs(A) @ np.abs(x)).max()) if len(b) else 0.0
        return bool(len(b) and np.abs(A @ x - b).max() > BROKEN * size)

    def _mapped(self, answer: dict[str, Any], status: Status) -> QPSolution:
        x, y, z = (np.array(answer[part]).ravel() for part in ("x", "y", "z"))
        qp, n = self.qp, self.qp.n
        p, m = (0 if side is None else len(side) for side in (qp.b, qp.h))
        solver, v = self._reported(answer["status"]), x[n:] if self.lifted else None
        box = _box(*qp.bounds)[0].T @ z[m:]  # what is lifted has no bounds
        return self._answer(status, solver, answer["iterations"], x[:n], y=y[:p], z=z[:m], box=box, v=v)
