"""CVXOPT on a QP with P = ZZᵀ + diag(d), a box and few equality rows, without an n × n matrix.

`cvxopt.solvers.coneqp` takes P, G and A as functions where it is given a function that solves its KKT systems,

    (KKT.1)  Px + Aᵀy + Gᵀz = r_x,  Ax = r_y,  Gx − W²z = r_z                     W = diag(w), the scaling of the cone

G holds −I for the finite lower bounds and I for the finite upper ones, so that z goes out at once, and what is left is

    (KKT.2)  (ZZᵀ + D)x + Aᵀy = r,  Ax = r_y,  D = d + Σ w⁻² over the bounds of a variable

    (KKT.3)  (ZZᵀ + D)⁻¹ = D⁻¹ − D⁻¹Z (I + ZᵀD⁻¹Z)⁻¹ ZᵀD⁻¹                        Sherman, Morrison, Woodbury

(KKT.3) in this form cancels where ZᵀD⁻¹Z is large. With B = [Z, Aᵀ] and v = Zᵀx both go into one system,

    (KKT.4)  (diag(I, 0) + BᵀD⁻¹B) (v, y) = BᵀD⁻¹r − (0, r_y),  x = D⁻¹(r − B(v, y))

of size k + p, solved by a Cholesky factorisation scaled to a unit diagonal, with one step of refinement of (KKT.2) as a
whole. Memory is O(nk); an iteration costs O(n(k + p)²).

Accuracy: with w² from 1e-8 to 1e8 the residuals of every row of (KKT.1) stay below 1e-12 of the terms in it (a test
holds this), and on the dual of a linear SVM CVXOPT's answer is that of its own dense solver to 1e-13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.solvers.interior_point.columns import Columns, as_columns
from qpsvm.solvers.shared.cholesky import Cholesky

#: Weight of a variable without bounds or curvature, as a share of the mean diagonal of ZZᵀ; refinement takes it out.
LEAST_WEIGHT = 1e-10
#: Steps of refinement of (KKT.2) as a whole.
REFINEMENTS = 1


class _Box:
    """G as rows −x_low ≤ −lb, x_high ≤ ub; low and high (n_l,), (n_u,) are indices."""

    def __init__(self, lb: FloatArray, ub: FloatArray) -> None:
        self.n = len(lb)
        self.low, self.high = np.flatnonzero(np.isfinite(lb)), np.flatnonzero(np.isfinite(ub))
        self.h = np.concatenate([-lb[self.low], ub[self.high]])

    def times(self, x: FloatArray) -> FloatArray:
        """G x: (n_l + n_u,)."""
        return np.concatenate([-x[self.low], x[self.high]])

    def transposed_times(self, z: FloatArray) -> FloatArray:
        """Gᵀz: (n,)."""
        out = np.zeros(self.n)
        out[self.low] = -z[: len(self.low)]
        out[self.high] += z[len(self.low) :]
        return out

    def weights(self, values: FloatArray) -> FloatArray:
        """GᵀVG for V = diag(values), which is diagonal: (n,)."""
        out = np.zeros(self.n)
        out[self.low] = values[: len(self.low)]
        out[self.high] += values[len(self.low) :]
        return out


class Structured:
    """The KKT systems (KKT.1) of one QP: B = [Z − AᵀC, Aᵀ], made once, and the box.

    Z (n, k)
    d (n,): Not negative; may be zero.
    lb, ub (n,): May be infinite. G is −I at the finite lower bounds, then I at the finite upper ones.
    A (p, n) or None: Few equality rows.
    """

    def __init__(self, Z: Matrix, d: FloatArray, lb: FloatArray, ub: FloatArray, A: FloatArray | None) -> None:
        A = np.zeros((0, len(d))) if A is None else A
        self.box, self.d, self.A, self.k = _Box(lb, ub), d, A, Z.shape[1]
        self.center = np.zeros((len(A), self.k))
        if len(A) and not sp.issparse(Z):  # Zv + Aᵀy = (Z − AᵀC)v + Aᵀ(y + Cv): keeps the digits of uncentred data
            self.center = np.linalg.pinv(A @ A.T, hermitian=True) @ (A @ Z)
        self.B: Columns = as_columns(Z, A, self.center)
        self.lift = np.where(np.arange(self.k + len(A)) < self.k, 1.0, 0.0)
        values = Z.data if sp.issparse(Z) else Z
        self.least = LEAST_WEIGHT * (float(np.vdot(values, values)) / len(d) or 1.0)

    def factor(self, scaling: Mapping[str, Any]) -> Callable[[Any, Any, Any], None]:
        """CVXOPT's `kktsolver`: for the scaling W, the function that solves (KKT.1) in place (z goes out as Wz)."""
        inverse = np.array(scaling["di"]).ravel()  # 1/w
        weights = self.d + self.box.weights(inverse * inverse)  # D of (KKT.2)
        safe = np.maximum(weights, self.least)
        D = 1.0 / safe
        nothing = np.zeros(len(D))
        M, _, _ = self.B.normal(D, nothing, nothing)
        M.flat[:: len(M) + 1] += self.lift
        cholesky = Cholesky(M)

        def reduced(r: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
            """(KKT.4) for r (n,) and g = (·, r_y): x (n,), u = (v, y')."""
            u = cholesky.solve(self.B.transposed_times(D * r) - g)
            return D * (r - self.B.times(u)), u

        def solve(x: Any, y: Any, z: Any) -> None:
            rx, ry, rz = (np.array(part).ravel() for part in (x, y, z))
            r = rx + self.box.transposed_times(inverse * inverse * rz)
            g = np.concatenate([-ry @ self.center, ry])
            out, u = reduced(r, g)
            for _ in range(REFINEMENTS):
                missing = r - self.B.times(u) - weights * out
                change, du = reduced(missing, g - self.B.transposed_times(out) + self.lift * u)
                out, u = out + change, u + du
            _assign(x, out)
            _assign(y, u[self.k :] - self.center @ u[: self.k])
            _assign(z, inverse * (self.box.times(out) - rz))

        return solve


def _assign(target: Any, values: FloatArray) -> None:
    """Write values (m,) into a CVXOPT matrix (m, 1)."""
    from cvxopt import matrix

    if len(values):
        target[:] = matrix(values)


def solve_structured(
    Z: Matrix,
    d: FloatArray,
    q: FloatArray,
    lb: FloatArray,
    ub: FloatArray,
    A: FloatArray | None,
    b: FloatArray | None,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """`cvxopt.solvers.coneqp` on minimise ½xᵀ(ZZᵀ + diag(d))x + qᵀx subject to Ax = b, lb ≤ x ≤ ub.

    Shapes: q (n,), b (p,) or None. Raises ArithmeticError, ValueError.
    """
    from cvxopt import matrix, solvers

    kktsolver = Structured(Z, d, lb, ub, A)

    def quadratic(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        """y ← αPx + βy."""
        at = np.array(x).ravel()
        product = alpha * (Z @ (Z.T @ at) + d * at)
        _assign(y, product if beta == 0.0 else product + beta * np.array(y).ravel())

    answer: dict[str, Any] = solvers.coneqp(
        quadratic, matrix(q), *_bound_rows(kktsolver.box), None,
        matrix(kktsolver.A), matrix(np.zeros(0) if b is None else b, (len(kktsolver.A), 1)),
        kktsolver=kktsolver.factor, options=dict(options),
    )  # fmt: skip
    return answer


def _bound_rows(box: _Box) -> tuple[Any, Any]:
    """G, sparse, and h."""
    from cvxopt import matrix, spmatrix

    index: IntArray = np.concatenate([box.low, box.high])
    values = np.concatenate([-np.ones(len(box.low)), np.ones(len(box.high))])
    places = (values, np.arange(len(index), dtype=np.int64), index.astype(np.int64))
    return spmatrix(*places, size=(len(index), box.n)), matrix(box.h)
