"""Prepare a QP for the interior point method: remove its fixed variables, choose scales, and build the centred start.

Between two bounds, with l + h = C the width, s = μ/l, t = μ/h and s − t = q, the smaller room of the start is

    (IPM.10)  (C/2)(1 + 1/(S + 2a))/(1 + S),  a = |q|C/(4μ),  S = √(1 + 4a²)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.solvers.interior_point.chunk import SETTINGS
from qpsvm.solvers.interior_point.systems import DenseNewton, FactoredNewton, NewtonSolver, as_columns, choose_storage
from qpsvm.space.operators import Operator

#: Where an infinite bound is put. Its square, and the square of its inverse, are still normal numbers.
HUGE = 1e140
#: Forces below this are those of bounds at HUGE, and are reported as 0.
NO_FORCE = 1e-100


@dataclass(frozen=True, eq=False)
class QPScales:
    """Natural sizes, so that neither the start nor the end depends on the user's units.

    force: Of a gradient entry: its root mean square at the point nearest 0 with Ax = b, put into the box.
    room: Of a variable: mean width of the box, or what is known without one.
    v: Of an entry of Zᵀx: force over the root of the mean diagonal of P.
    theta: Smallest weight θ; 0 where every variable has a bound or curvature of its own.
    """

    force: float
    room: float
    v: float
    theta: float


@dataclass(frozen=True, eq=False)
class WideFactor:
    """What leads back from a factor Z = LQᵀ (n', k), k > n', replaced by L (n', n').

    Q (k, n')
    rest (k,): v = Qv' + rest.
    center (p, k): W: LQᵀ = Z − AᵀW.
    """

    Q: FloatArray
    rest: FloatArray
    center: FloatArray


@dataclass(frozen=True, eq=False)
class ReducedQP:
    """The QP (IPM.4) in its n' variables that are not fixed, with what leads back.

    newton: Its Newton systems.
    q, lb, ub (n',): Bounds at ±HUGE where they are infinite.
    d (n',): None where it is zero, or inside a dense P.
    A, b (p, n')
    center (p, k): W: Z was replaced by Z − AᵀW; k = 0 where P is dense.
    constant: What the fixed variables add to the objective.
    free_variables (n',): Places of the variables that are not fixed; None where none is fixed.
    wide or None: Where Z had many more columns than rows.
    """

    newton: NewtonSolver
    q: FloatArray
    lb: FloatArray
    ub: FloatArray
    d: FloatArray | None
    A: FloatArray
    b: FloatArray
    center: FloatArray
    scales: QPScales
    constant: float
    free_variables: IntArray | None
    wide: WideFactor | None = None

    @property
    def n_lifted(self) -> int:
        """k, the size of v."""
        return int(self.center.shape[1])

    def objective(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """½xᵀPx + qᵀx at x (n',), from u and m = Bu, with what the fixed variables add."""
        value = self.newton.compute_energy(x, u, m) + float(self.q @ x) + self.constant
        return value if self.d is None else value + 0.5 * float(self.d @ (x * x))

    def compute_row_residual(self, residual: FloatArray, x: FloatArray, u: FloatArray) -> float:
        """Return the largest residual of Bᵀx − Ru = g (k + p,), each relative to the size of its own terms."""
        k = self.n_lifted
        largest = 0.0
        if k:
            v_size = self.scales.v + float(np.abs(u[:k]).max())
            largest = float(np.abs(residual[:k]).max()) / v_size
        if len(self.b):
            sizes = np.abs(self.b) + self._row_norms() * np.sqrt(x @ x)
            largest = max(largest, float((np.abs(residual[k:]) / np.where(sizes > 0, sizes, 1.0)).max()))
        return largest

    def _row_norms(self) -> FloatArray:
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", self.A, self.A))
        return norms

    def compute_start(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """x (n',), room and force (2, n') with c∘f = μ everywhere, and f₀ + f₁ = q between two bounds (IPM.10).

        With one bound, s = (q + √(q² + 4κ²))/2 for κ the scale of forces, which is positive and tends to q.
        """
        scales, lb, ub = self.scales, self.lb, self.ub
        mu = SETTINGS.start_product * scales.force * scales.room
        width = ub - lb
        both = width < HUGE
        bounded = bool(both.all())
        if not bounded:
            width = np.where(both, width, 1.0)
        gradient = self.q if self.d is None else self.q + self.d * np.where(both, lb + 0.5 * width, 0.0)
        a = np.abs(gradient) * width / (4.0 * mu)
        S = np.sqrt(1.0 + 4.0 * a * a)
        near = 0.5 * width * (1.0 + 1.0 / (S + 2.0 * a)) / (1.0 + S)  # (IPM.10)
        far = width - near
        low, high = np.where(gradient > 0, near, far), np.where(gradient > 0, far, near)
        if not bounded:
            below, above = lb > -HUGE, ub < HUGE
            inward = np.where(above, -gradient, gradient)  # seen from the one bound
            root = np.sqrt(inward * inward + 4.0 * scales.force**2)
            single = mu / np.where(inward > 0, 0.5 * (inward + root), 2.0 * scales.force**2 / (root - inward))
            x = np.where(below, lb + single, np.where(above, ub - single, 0.0))
            low = np.where(both, low, np.where(below, single, x - lb))
            high = np.where(both, high, np.where(above & ~below, single, ub - x))
        room = np.empty((2, len(low)))
        room[0] = low
        np.negative(high, out=room[1])
        x = np.where(low < high, lb + low, ub - high)
        if not bounded:
            x[~(below | above)] = 0.0
        return x, room, mu / room

    def restore_solution(
        self, x: FloatArray, force: FloatArray, u: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
        """x (n',) inside its bounds, z_box (n',), y (p,) of the caller's Z, since centring changed y, and v (k,)."""
        k = self.n_lifted
        z_box = -(force[0] + force[1])
        z_box[np.abs(z_box) < NO_FORCE] = 0.0
        x = np.clip(x, self.lb, self.ub)
        v, center = u[:k], self.center
        if self.wide is not None:
            v, center = self.wide.Q @ v + self.wide.rest, self.wide.center
        return x, z_box, u[k:] - center @ v, None if isinstance(self.newton, DenseNewton) else v


def reduce_problem(
    P: Operator, q: FloatArray, A: FloatArray, b: FloatArray, lb: FloatArray, ub: FloatArray
) -> ReducedQP:
    """Take the fixed variables out of (IPM.4), choose the Newton system, and measure the scales.

    Shapes: P (n, n), q, lb, ub (n,), A, b (p, n).
    """
    fixed = lb == ub
    moving = np.flatnonzero(~fixed) if fixed.any() else None
    factor = P.factor()
    constant, offset = 0.0, np.zeros(0 if factor is None else factor[0].shape[1])
    dense = P.dense() if factor is None else None
    if moving is not None:
        held = np.flatnonzero(fixed)
        at = lb[held]
        b = b - A[:, held] @ at
        constant = float(q[held] @ at)
        q, A, lb, ub = q[moving], A[:, moving], lb[moving], ub[moving]
        if factor is not None:
            Z, d = factor
            offset = Z[held].T @ at  # Zᵀx of the fixed variables
            constant += 0.5 * float(d[held] @ (at * at))
            factor = Z[moving], d[moving]
        elif dense is not None:
            constant += 0.5 * float(at @ dense[np.ix_(held, held)] @ at)
            q, dense = q + dense[np.ix_(moving, held)] @ at, dense[np.ix_(moving, moving)]
    parts = _QPParts(q, A, b, lb, ub)
    if factor is not None:
        return _reduce_with_factor(parts, *factor, offset, constant, moving)
    assert dense is not None
    return _reduce_with_matrix(parts, dense, constant, moving)


@dataclass(frozen=True, eq=False)
class _QPParts:
    """The vectors and rows of the reduced QP, and what is known before its P."""

    q: FloatArray
    A: FloatArray
    b: FloatArray
    lb: FloatArray
    ub: FloatArray

    @cached_property
    def weights(self) -> FloatArray:
        """(AAᵀ)⁻¹, or its pseudo-inverse where rows are repeated: (p, p)."""
        S = self.A @ self.A.T
        if len(S) <= 1:
            return np.where(S > 0, 1.0 / S, 0.0)
        inverse: FloatArray = np.asarray(np.linalg.pinv(S, hermitian=True), dtype=np.float64)
        return inverse

    @cached_property
    def nearest_point(self) -> FloatArray:
        """The x nearest 0 with Ax = b, put into the box: (n',)."""
        x = self.b @ self.weights @ self.A if len(self.b) else np.zeros(len(self.q))
        x = np.maximum(x, self.lb, out=x)
        return np.minimum(x, self.ub, out=x)

    def compute_scales(self, reduced_gradient: FloatArray | float, trace: float, d: FloatArray | None) -> QPScales:
        """Compute the scales from Px at the nearest point (n',), the trace of P, and d."""
        count = max(1, len(self.q))
        curvature = trace / count or 1.0
        force = _root_mean_square(self.q + reduced_gradient) or 1.0
        width = self.ub - self.lb
        both = np.isfinite(width)
        if count and both.all():
            return QPScales(force, float(np.add.reduce(width)) / count, force / np.sqrt(curvature), 0.0)
        room = float(width[both].mean()) if both.any() else _root_mean_square(self.nearest_point) or force / curvature
        free = np.isinf(self.lb) & np.isinf(self.ub)
        if d is not None:
            free &= d <= 0
        return QPScales(force, room, force / np.sqrt(curvature), SETTINGS.proximal * curvature if free.any() else 0.0)

    def build_reduced(
        self, newton: NewtonSolver, d: FloatArray | None, center: FloatArray, scales: QPScales, constant: float,
        moving: IntArray | None,
    ) -> ReducedQP:  # fmt: skip
        lb, ub = np.maximum(self.lb, -HUGE), np.minimum(self.ub, HUGE)
        return ReducedQP(newton, self.q, lb, ub, d, self.A, self.b, center, scales, constant, moving)


def _reduce_with_factor(
    parts: _QPParts, Z: Matrix, d: FloatArray, offset: FloatArray, constant: float, moving: IntArray | None
) -> ReducedQP:
    """Reduce for P = ZZᵀ + diag(d), Z (n', k) and d (n',), with Zᵀx = offset (k,) from the fixed variables."""
    Z = choose_storage(Z)
    A, b, x = parts.A, parts.b, parts.nearest_point
    center = np.zeros((len(b), Z.shape[1]))
    if len(b) and not sp.issparse(Z):
        center = parts.weights @ (A @ Z)
    offset = offset + b @ center  # v = Zᵀx + offset, for the centred Z
    wide = None
    if not sp.issparse(Z) and len(Z) >= SETTINGS.wide_rows and Z.shape[1] > SETTINGS.wide * len(Z):
        Q, R = qr((Z - A.T @ center).T, mode="economic", overwrite_a=True, check_finite=False)
        Z, inside = np.ascontiguousarray(R.T), Q.T @ offset
        wide = WideFactor(Q, offset - Q @ inside, center)
        constant += 0.5 * float(wide.rest @ wide.rest)
        offset, center = inside, np.zeros((len(b), len(R)))
    newton = FactoredNewton(as_columns(Z, A, center), Z.shape[1], np.concatenate([-offset, b]))
    values = (Z.data if sp.issparse(Z) else Z).ravel(order="K")
    trace = float(values @ values) + float(d.sum())
    curved = d if d.any() else None
    reduced_gradient = Z @ (Z.T @ x + offset) + d * x if x.any() or offset.any() else 0.0
    scales = parts.compute_scales(reduced_gradient, trace, curved)
    return replace(parts.build_reduced(newton, curved, center, scales, constant, moving), wide=wide)


def _reduce_with_matrix(parts: _QPParts, P: FloatArray, constant: float, moving: IntArray | None) -> ReducedQP:
    """Reduce for a dense P (n', n')."""
    newton = DenseNewton(P, parts.A, parts.b)
    scales = parts.compute_scales(P @ parts.nearest_point, float(P.trace()), None)
    return parts.build_reduced(newton, None, np.zeros((len(parts.b), 0)), scales, constant, moving)


def _root_mean_square(values: FloatArray) -> float:
    """Return the root mean square."""
    return float(np.sqrt(values @ values / max(1, len(values))))
