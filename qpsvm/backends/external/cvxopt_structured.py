"""Run CVXOPT on a QP with low-rank P without forming an n × n matrix (`solve_structured`).

The QP has P = ZZᵀ + diag(d), a box and few equality rows. `cvxopt.solvers.coneqp` accepts P as a function if it also
receives a function that solves its KKT systems,

    (KKT.1)  Px + Aᵀy + Gᵀz = r_x,  Ax = r_y,  Gx − W²z = r_z                     W = diag(w), the scaling of the cone

G holds −I for the finite lower bounds and I for the finite upper ones, so z can be eliminated directly, which leaves

    (KKT.2)  (ZZᵀ + D)x + Aᵀy = r,  Ax = r_y,  D = d + Gᵀ W⁻² G, diagonal

This is the system (IPM.1) of the built-in interior-point method with D for θ, and is solved as there (`StructuredKKT`),
with one step of refinement. Memory is O(nk); an iteration costs O(n(k + p)²).

Accuracy: with w² from 1e-8 to 1e8 the residual of every row of (KKT.1) is below 1e-12 of the terms in it (a test checks
this), and on the dual of a linear SVM the solution agrees with that of CVXOPT's dense solver to 1e-13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.solvers.interior_point.systems import FactoredNewton, build_columns


def solve_structured(
    Z: Matrix, d: FloatArray, q: FloatArray, lb: FloatArray, ub: FloatArray, A: FloatArray | None,
    b: FloatArray | None, options: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Run `cvxopt.solvers.coneqp`: minimise ½xᵀ(ZZᵀ + diag(d))x + qᵀx subject to Ax = b, lb ≤ x ≤ ub.

    Shapes: q (n,), b (p,) or None. Raises ArithmeticError, ValueError.
    """
    from cvxopt import matrix, solvers

    kkt = StructuredKKT(Z, d, lb, ub, A)

    def apply_hessian(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        """Compute y ← αPx + βy."""
        x_array = np.array(x).ravel()
        product = alpha * (Z @ (Z.T @ x_array) + d * x_array)
        _assign(y, product if beta == 0.0 else product + beta * np.array(y).ravel())

    solution: dict[str, Any] = solvers.coneqp(
        apply_hessian, matrix(q), to_sparse(kkt.G), matrix(kkt.h), None,
        matrix(kkt.A), matrix(np.zeros(0) if b is None else b, (len(kkt.A), 1)),
        kktsolver=kkt.factor, options=dict(options),
    )  # fmt: skip
    return solution


class StructuredKKT:
    """The KKT systems (KKT.1) of one QP, by its bounds as rows G, h and B = [Z − AᵀC, Aᵀ], which is computed once.

    C (p, k) is `center`, the coefficients of the columns of Z projected on the rows of A (0 if Z is sparse).

    Shapes: Z (n, k); d (n,) ≥ 0, positive for variables without a bound; lb, ub (n,), maybe infinite; A (p, n) or None.
    """

    def __init__(self, Z: Matrix, d: FloatArray, lb: FloatArray, ub: FloatArray, A: FloatArray | None) -> None:
        A = np.zeros((0, len(d))) if A is None else A
        self.G, self.h = build_box_rows(lb, ub)
        self.GT = sp.csr_array(self.G.T)
        self.d = d
        self.A = A
        self.k = Z.shape[1]
        self.center = np.zeros((len(A), self.k))
        if len(A) and not sp.issparse(Z):  # Zv + Aᵀy = (Z − AᵀC)v + Aᵀ(y + Cv): avoids cancellation in uncentred data
            self.center = np.linalg.pinv(A @ A.T, hermitian=True) @ (A @ Z)
        self.newton = FactoredNewton(build_columns(Z, A, self.center), self.k, np.zeros(self.k + len(A)))
        self.newton.needs_refinement = True

    def factor(self, scaling: Mapping[str, Any]) -> Callable[[Any, Any, Any], None]:
        """Factorise for a scaling W; return a function that overwrites (r_x, r_y, r_z) with x, y and Wz of (KKT.1).

        `factor` is CVXOPT's argument `kktsolver`.
        """
        inverse = np.array(scaling["di"]).ravel()  # 1/w
        newton = self.newton
        zeros = np.zeros(len(self.d))
        newton.factorise(self.d + abs(self.GT) @ (inverse * inverse), zeros, zeros, np.zeros(self.k + len(self.A)))

        def solve(x: Any, y: Any, z: Any) -> None:
            rx, ry, rz = (np.array(part).ravel() for part in (x, y, z))
            newton.residual = np.concatenate([ry @ self.center, -ry])
            x_new, u, _ = newton.solve(rx + self.GT @ (inverse * inverse * rz))
            _assign(x, x_new)
            _assign(y, u[self.k :] - self.center @ u[: self.k])
            _assign(z, inverse * (self.G @ x_new - rz))

        return solve


def build_box_rows(lb: FloatArray, ub: FloatArray) -> tuple[Matrix, FloatArray]:
    """Return G, sparse, and h of the finite bounds as rows −x ≤ −lb, followed by x ≤ ub."""
    lower_index, upper_index = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
    values = np.concatenate([-np.ones(len(lower_index)), np.ones(len(upper_index))])
    positions = np.arange(len(values)), np.concatenate([lower_index, upper_index])
    G = sp.csr_array((values, positions), shape=(len(values), len(lb)))
    return G, np.concatenate([-lb[lower_index], ub[upper_index]])


def _assign(target: Any, values: FloatArray) -> None:
    """Write values (m,) into a CVXOPT matrix (m, 1)."""
    from cvxopt import matrix

    if len(values):
        target[:] = matrix(values)


def to_sparse(M: Matrix) -> Any:
    """Convert a matrix to CVXOPT's sparse type."""
    from cvxopt import spmatrix

    coo = sp.coo_array(M)
    row, column = (index.astype(np.int64) for index in coo.coords)
    return spmatrix(coo.data.astype(np.float64), row, column, size=coo.shape)
