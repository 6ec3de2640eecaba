"""CVXOPT: a primal-dual interior point method on dense or sparse matrices (Andersen, Dahl & Vandenberghe).

CVXOPT on a QP with P = ZZᵀ + diag(d), a box and few equality rows, without an n × n matrix.

`cvxopt.solvers.coneqp` takes P as a function where it is given a function that solves its KKT systems,

    (KKT.1)  Px + Aᵀy + Gᵀz = r_x,  Ax = r_y,  Gx − W²z = r_z                     W = diag(w), the scaling of the cone

G holds −I for the finite lower bounds and I for the finite upper ones, so that z goes out at once, and what is left is

    (KKT.2)  (ZZᵀ + D)x + Aᵀy = r,  Ax = r_y,  D = d + Gᵀ W⁻² G, diagonal

which is the system (IPM.1) of our own interior points, with D for θ: solved as there, with one step of refinement.
Memory is O(nk); an iteration costs O(n(k + p)²).

Accuracy: with w² from 1e-8 to 1e8 the residuals of every row of (KKT.1) stay below 1e-12 of the terms in it (a test
holds this), and on the dual of a linear SVM CVXOPT's answer is that of its own dense solver to 1e-13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.abilities import ALL_MACHINES, Abilities
from qpsvm.backends.base import Backend
from qpsvm.backends.contract import Compiled, Limits, SolverData, build_failed_solution
from qpsvm.backends.requirements import LazyImport, Memory
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import ParameterError
from qpsvm.program.qp import QP
from qpsvm.program.solution import QPSolution, Status
from qpsvm.solvers.interior_point.systems import FactoredNewton, as_columns
from qpsvm.space.operators import Diagonal, LowRank


class StructuredKKT:
    """The KKT systems (KKT.1) of one QP: B = [Z − AᵀC, Aᵀ], made once, and the rows of the box.

    Z (n, k)
    d (n,): Not negative; may be zero where there is a bound.
    lb, ub (n,): May be infinite.
    A (p, n) or None: Few equality rows.
    """

    def __init__(self, Z: Matrix, d: FloatArray, lb: FloatArray, ub: FloatArray, A: FloatArray | None) -> None:
        A = np.zeros((0, len(d))) if A is None else A
        self.G, self.h = build_box_rows(lb, ub)
        self.GT, self.d, self.A, self.k = sp.csr_array(self.G.T), d, A, Z.shape[1]
        self.center = np.zeros((len(A), self.k))
        if len(A) and not sp.issparse(Z):  # Zv + Aᵀy = (Z − AᵀC)v + Aᵀ(y + Cv): keeps the digits of uncentred data
            self.center = np.linalg.pinv(A @ A.T, hermitian=True) @ (A @ Z)
        self.newton = FactoredNewton(as_columns(Z, A, self.center), self.k, np.zeros(self.k + len(A)))
        self.newton.needs_refinement = True

    def factor(self, scaling: Mapping[str, Any]) -> Callable[[Any, Any, Any], None]:
        """Return CVXOPT's `kktsolver`: a function of the scaling W that solves (KKT.1) in place (z goes out as Wz)."""
        inverse = np.array(scaling["di"]).ravel()  # 1/w
        newton, nothing = self.newton, np.zeros(len(self.d))
        newton.factor(self.d + abs(self.GT) @ (inverse * inverse), nothing, nothing, np.zeros(self.k + len(self.A)))

        def solve(x: Any, y: Any, z: Any) -> None:
            rx, ry, rz = (np.array(part).ravel() for part in (x, y, z))
            newton.residual = np.concatenate([ry @ self.center, -ry])
            out, u, _ = newton.solve(rx + self.GT @ (inverse * inverse * rz))
            _assign(x, out)
            _assign(y, u[self.k :] - self.center @ u[: self.k])
            _assign(z, inverse * (self.G @ out - rz))

        return solve


def build_box_rows(lb: FloatArray, ub: FloatArray) -> tuple[Matrix, FloatArray]:
    """Return the finite bounds as rows −x ≤ −lb, then x ≤ ub: G, sparse, and h."""
    low, high = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    values = np.concatenate([-np.ones(len(low)), np.ones(len(high))])
    places = np.arange(len(values)), np.concatenate([low, high])
    G = sp.csr_array((values, places), shape=(len(values), len(lb)))
    return G, np.concatenate([-lb[low], ub[high]])


def _assign(target: Any, values: FloatArray) -> None:
    """Write values (m,) into a CVXOPT matrix (m, 1)."""
    from cvxopt import matrix

    if len(values):
        target[:] = matrix(values)


def solve_structured(
    Z: Matrix, d: FloatArray, q: FloatArray, lb: FloatArray, ub: FloatArray, A: FloatArray | None,
    b: FloatArray | None, options: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Run `cvxopt.solvers.coneqp`: minimise ½xᵀ(ZZᵀ + diag(d))x + qᵀx subject to Ax = b, lb ≤ x ≤ ub.

    Shapes: q (n,), b (p,) or None. Raises ArithmeticError, ValueError.
    """
    from cvxopt import matrix, solvers

    kkt = StructuredKKT(Z, d, lb, ub, A)

    def quadratic(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        """Compute y ← αPx + βy."""
        at = np.array(x).ravel()
        product = alpha * (Z @ (Z.T @ at) + d * at)
        _assign(y, product if beta == 0.0 else product + beta * np.array(y).ravel())

    answer: dict[str, Any] = solvers.coneqp(
        quadratic, matrix(q), _to_sparse(kkt.G), matrix(kkt.h), None,
        matrix(kkt.A), matrix(np.zeros(0) if b is None else b, (len(kkt.A), 1)),
        kktsolver=kkt.factor, options=dict(options),
    )  # fmt: skip
    return answer


#: Rows from which a low-rank P stays a factor (the KKT system below) instead of becoming a dense n × n matrix.
STRUCTURED_ROWS = 2000
#: A row missed by this share of its terms is not met.
MAX_ROW_VIOLATION = 1e-4
#: Default of the solver's own iteration limit.
MAX_ITERATIONS = 100
#: What the solver raises when it breaks down; it has no status for that.
BREAKDOWNS = (ValueError, ArithmeticError, ZeroDivisionError)


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
        options=OPTIONS,  # the documented ones, and `kktsolver`
    )
    lazy_import = LazyImport("cvxopt", 5e8)
    memory = Memory(dual=4.5, primal=19.0, copies=10.0)

    def compile(self, qp: QP) -> CvxoptCompiled:
        """Build P, q, G, h, A, b as CVXOPT matrices: the bounds are rows of G, which is sparse."""
        self.require_package()
        if qp.n >= STRUCTURED_ROWS and isinstance(qp.P, LowRank) and 2 * qp.P.source.d < qp.n and qp.G is None:
            (lb, ub), (Z, d) = qp.bounds, qp.P.factor()
            if (np.isfinite(lb) | np.isfinite(ub) | (d > 0.0)).all():  # else D of (KKT.2) has zeros
                A = None if qp.A is None else as_dense(qp.A)
                data = SolverData(Z=Z, d=d, q=qp.q, lb=lb, ub=ub, A=A, b=qp.b)
                return CvxoptCompiled(self, qp, data, structured=True)
        return CvxoptCompiled(self, qp, _build_data(qp), structured=False)


def _build_data(qp: QP) -> SolverData:
    from cvxopt import matrix, spdiag

    G, h = build_box_rows(*qp.bounds)
    if qp.G is not None and qp.h is not None:  # G, then the box
        G, h = sp.vstack([sp.csr_array(qp.G), G], format="csr"), np.concatenate([qp.h, h])
    return SolverData(
        P=spdiag(matrix(qp.P.d)) if isinstance(qp.P, Diagonal) else matrix(qp.P.dense()), q=matrix(qp.q),
        G=_to_sparse(G) if len(h) else None, h=matrix(h) if len(h) else None,
        A=None if qp.A is None else _to_sparse(qp.A) if sp.issparse(qp.A) else matrix(qp.A),
        b=None if qp.b is None else matrix(qp.b),
    )  # fmt: skip


def _to_sparse(M: Matrix) -> Any:
    from cvxopt import spmatrix

    coo = sp.coo_array(M)
    row, column = (index.astype(np.int64) for index in coo.coords)
    return spmatrix(coo.data.astype(np.float64), row, column, size=coo.shape)


class CvxoptCompiled(Compiled):
    """Six matrices, in the order of `cvxopt.solvers.qp`; or Z, d, q, lb, ub, A, b where P = ZZᵀ + diag(d) is large."""

    structured: bool

    def _run(self, limits: Limits, options: Mapping[str, Any]) -> QPSolution:
        from cvxopt import solvers

        settings: dict[str, Any] = {"show_progress": limits.verbose}
        if limits.tol is not None:  # its absolute tolerance stops small objectives (ν-SVM) far too early
            settings |= {"abstol": 1e-30, "reltol": limits.tol / 10, "feastol": min(1e-7, limits.tol / 10)}
        settings["maxiters"] = limits.max_iter or MAX_ITERATIONS
        settings |= options
        kktsolver = settings.pop("kktsolver", None)
        try:
            if self.structured:
                answer = solve_structured(**self.data, options=settings)
            else:
                answer = solvers.qp(*self.data, kktsolver=kktsolver, options=settings)
        except BREAKDOWNS as error:
            if isinstance(error, ValueError) and ("options" in str(error) or "kktsolver" in str(error)):
                raise ParameterError(f"cvxopt refused its settings {dict(options)}: {error}") from error
            return build_failed_solution(self.qp, self._describe_solver(f"raised {type(error).__name__}: {error}"))
        status = STATUS[answer["status"]]
        if status is Status.NUMERICAL_ERROR and answer["iterations"] >= settings["maxiters"]:
            status = Status.ITERATION_LIMIT
        solution = self._map_solution(answer, status)
        if status is Status.OPTIMAL and self._violates_equalities(solution):
            return QPSolution(self.qp, Status.NUMERICAL_ERROR, solution.solver, iterations=solution.iterations)
        return solution

    def _violates_equalities(self, solution: QPSolution) -> bool:
        """Return whether the equality rows are violated: CVXOPT may drop one of rows that contradict each other."""
        A, b, x = self.qp.A, self.qp.b, solution.x
        if A is None or b is None or x is None:
            return False
        size = float(np.abs(b).max()) + float((abs(A) @ np.abs(x)).max()) if len(b) else 0.0
        return bool(len(b) and np.abs(A @ x - b).max() > MAX_ROW_VIOLATION * size)

    def _map_solution(self, answer: dict[str, Any], status: Status) -> QPSolution:
        x, y, z = (np.array(answer[part]).ravel() for part in ("x", "y", "z"))
        m = 0 if self.qp.h is None else len(self.qp.h)
        z_box = build_box_rows(*self.qp.bounds)[0].T @ z[m:]
        return self._build_solution(
            status, self._describe_solver(answer["status"]), answer["iterations"], x, y=y, z=z[:m], box=z_box
        )
