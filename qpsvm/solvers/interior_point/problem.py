"""Prepare a QP for the interior-point method (`reduce_problem`): remove fixed variables, choose scales, build a start.

A variable starts at the distances l and h from its two bounds, l + h = c, such that the forces s = μ/l and t = μ/h
satisfy s − t = q. The smaller distance is

    (IPM.10)  (c/2)(1 + 1/(S + 2a))/(1 + S),  a = |q|c/(4μ),  S = √(1 + 4a²)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.solvers.interior_point.chunk import SETTINGS
from qpsvm.solvers.interior_point.systems import (
    DenseNewton,
    FactoredNewton,
    NewtonSolver,
    build_columns,
    choose_storage,
)
from qpsvm.space.operators import Operator

#: Replaces an infinite bound. Its square, and the square of its inverse, are still normal floats.
HUGE = 1e140
#: Forces below this come from bounds at HUGE, and are reported as 0.
NO_FORCE = 1e-100


@dataclass(frozen=True, eq=False)
class QPScales:
    """Scales of the problem, so that neither the start nor the stopping test depends on the user's units.

    force: Scale of a gradient entry: its root mean square at the point nearest 0 with Ax = b, clipped to the box.
    room: Scale of a variable: the mean width of the box, or an estimate if no variable has two bounds.
    v: Scale of an entry of Zᵀx: force over the root of the mean diagonal of P.
    theta: Smallest weight θ of (IPM.1); 0 if every variable has a bound or curvature.
    """

    force: float
    room: float
    v: float
    theta: float


@dataclass(frozen=True, eq=False)
class WideFactor:
    """Map back from L (n', n'), which replaces the centred factor Z − AᵀW = LQᵀ (n', k), k > n'.

    Q (k, n'): Orthonormal columns.
    offset (k,): v = Qv' + offset, for v' of the QP with L.
    center (p, k): W.
    """

    Q: FloatArray
    offset: FloatArray
    center: FloatArray


@dataclass(frozen=True, eq=False)
class ReducedQP:
    """The QP (IPM.4) in the n' variables that are not fixed, and the data that map its solution back.

    newton: Solver of its Newton systems.
    q, lb, ub (n',): Linear term and bounds; a bound is ±HUGE if it is infinite.
    d (n',): None if it is zero, or part of a dense P.
    A, b (p, n'), (p,): Equalities.
    center (p, k): W of Z − AᵀW, which replaced Z; k = 0 if P is dense.
    constant: Contribution of the fixed variables to the objective.
    free_variables (n',): Indices of the variables that are not fixed; None if none is fixed.
    wide: Set if Z had many more columns than rows, else None.
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
        """Size k of v."""
        return int(self.center.shape[1])

    def objective(self, x: FloatArray, u: FloatArray, m: FloatArray) -> float:
        """Return ½xᵀPx + qᵀx at x (n',), from u and m = Bu, including the fixed variables."""
        value = self.newton.compute_quadratic_term(x, u, m) + float(self.q @ x) + self.constant
        if self.d is None:
            return value
        return value + 0.5 * float(self.d @ (x * x))

    def compute_row_residual(self, residual: FloatArray, x: FloatArray, u: FloatArray) -> float:
        """Return the largest residual of Bᵀx − Ru = g (k + p,), each relative to the size of its own terms."""
        k = self.n_lifted
        max_residual = 0.0
        if k:
            v_size = self.scales.v + float(np.abs(u[:k]).max())
            max_residual = float(np.abs(residual[:k]).max()) / v_size
        if len(self.b):
            sizes = np.abs(self.b) + self._row_norms() * np.sqrt(x @ x)
            max_residual = max(max_residual, float((np.abs(residual[k:]) / np.where(sizes > 0, sizes, 1.0)).max()))
        return max_residual

    def _row_norms(self) -> FloatArray:
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", self.A, self.A))
        return norms

    def compute_start(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x (n',), its room c to both bounds, negative to the upper one, and the forces f = μ/c: (2, n') each.

        Between two bounds f₀ + f₁ = q, (IPM.10), with q the gradient of the diagonal part at the midpoint. With a lower
        bound only f = (q + √(q² + 4κ²))/2, κ the scale of forces: this is positive, and near q if q is large.
        """
        scales = self.scales
        lb = self.lb
        ub = self.ub
        mu = SETTINGS.start_product * scales.force * scales.room
        width = ub - lb
        has_both_bounds = width < HUGE
        all_have_both = bool(has_both_bounds.all())
        if not all_have_both:
            width = np.where(has_both_bounds, width, 1.0)  # any number: low and high are replaced below
        if self.d is None:
            gradient = self.q
        else:
            gradient = self.q + self.d * np.where(has_both_bounds, lb + 0.5 * width, 0.0)
        a = np.abs(gradient) * width / (4.0 * mu)
        S = np.sqrt(1.0 + 4.0 * a * a)
        shorter = 0.5 * width * (1.0 + 1.0 / (S + 2.0 * a)) / (1.0 + S)  # (IPM.10)
        longer = width - shorter
        low, high = np.where(gradient > 0, shorter, longer), np.where(gradient > 0, longer, shorter)
        if not all_have_both:
            has_lower = lb > -HUGE
            has_upper = ub < HUGE
            inward = np.where(has_upper, -gradient, gradient)  # in the direction away from the single bound
            root = np.sqrt(inward * inward + 4.0 * scales.force**2)
            single_force = np.where(inward > 0, 0.5 * (inward + root), 2.0 * scales.force**2 / (root - inward))
            distance = mu / single_force
            x = np.where(has_lower, lb + distance, np.where(has_upper, ub - distance, 0.0))
            low = np.where(has_both_bounds, low, np.where(has_lower, distance, x - lb))
            high = np.where(has_both_bounds, high, np.where(has_upper & ~has_lower, distance, ub - x))
        room = np.empty((2, len(low)))
        room[0] = low
        np.negative(high, out=room[1])
        x = np.where(low < high, lb + low, ub - high)
        if not all_have_both:
            x[~(has_lower | has_upper)] = 0.0  # a variable without bounds starts at 0
        return x, room, mu / room

    def restore_solution(
        self, x: FloatArray, force: FloatArray, u: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
        """Return x (n',) clipped to its bounds, z_box (n',), y (p,) for the Z before centring, and v (k,) or None."""
        k = self.n_lifted
        z_box = -(force[0] + force[1])
        z_box[np.abs(z_box) < NO_FORCE] = 0.0
        x = np.clip(x, self.lb, self.ub)
        v = u[:k]
        center = self.center
        if self.wide is not None:
            v = self.wide.Q @ v + self.wide.offset
            center = self.wide.center
        return x, z_box, u[k:] - center @ v, None if isinstance(self.newton, DenseNewton) else v


def reduce_problem(
    P: Operator, q: FloatArray, A: FloatArray, b: FloatArray, lb: FloatArray, ub: FloatArray
) -> ReducedQP:
    """Remove the fixed variables from (IPM.4), choose the Newton system, and compute the scales.

    Shapes: P (n, n), q, lb, ub (n,), A, b (p, n).
    """
    is_fixed = lb == ub
    free = np.flatnonzero(~is_fixed) if is_fixed.any() else None
    factor = P.factor()
    constant = 0.0
    offset = np.zeros(0 if factor is None else factor[0].shape[1])
    dense = P.dense() if factor is None else None
    if free is not None:
        fixed = np.flatnonzero(is_fixed)
        fixed_values = lb[fixed]
        b = b - A[:, fixed] @ fixed_values
        constant = float(q[fixed] @ fixed_values)
        q = q[free]
        A = A[:, free]
        lb = lb[free]
        ub = ub[free]
        if factor is not None:
            Z, d = factor
            offset = Z[fixed].T @ fixed_values  # Zᵀx of the fixed variables
            constant += 0.5 * float(d[fixed] @ (fixed_values * fixed_values))
            factor = Z[free], d[free]
        elif dense is not None:
            constant += 0.5 * float(fixed_values @ dense[np.ix_(fixed, fixed)] @ fixed_values)
            q = q + dense[np.ix_(free, fixed)] @ fixed_values
            dense = dense[np.ix_(free, free)]
    parts = _QPParts(q, A, b, lb, ub)
    if factor is not None:
        return _reduce_with_factor(parts, *factor, offset, constant, free)
    assert dense is not None
    return _reduce_with_matrix(parts, dense, constant, free)


@dataclass(frozen=True, eq=False)
class _QPParts:
    """The vectors and rows of the reduced QP, and quantities that do not depend on P."""

    q: FloatArray
    A: FloatArray
    b: FloatArray
    lb: FloatArray
    ub: FloatArray

    @cached_property
    def inverse_row_gram(self) -> FloatArray:
        """(AAᵀ)⁻¹, or its pseudo-inverse if rows are dependent: (p, p)."""
        row_gram = self.A @ self.A.T
        if len(row_gram) <= 1:
            return np.where(row_gram > 0, 1.0 / row_gram, 0.0)
        inverse: FloatArray = np.asarray(np.linalg.pinv(row_gram, hermitian=True), dtype=np.float64)
        return inverse

    @cached_property
    def nearest_point(self) -> FloatArray:
        """The x nearest 0 with Ax = b, clipped to the box: (n',)."""
        if len(self.b):
            x = self.b @ self.inverse_row_gram @ self.A
        else:
            x = np.zeros(len(self.q))
        x = np.maximum(x, self.lb, out=x)
        return np.minimum(x, self.ub, out=x)

    def compute_scales(self, Px: FloatArray | float, trace: float, d: FloatArray | None) -> QPScales:
        """Compute the scales from Px at the nearest point (n',), the trace of P, and d."""
        count = max(1, len(self.q))
        curvature = trace / count or 1.0
        force = _root_mean_square(self.q + Px) or 1.0
        width = self.ub - self.lb
        has_both_bounds = np.isfinite(width)
        if has_both_bounds.all():
            return QPScales(force, float(np.add.reduce(width)) / count, v=force / np.sqrt(curvature), theta=0.0)
        if has_both_bounds.any():
            room = float(width[has_both_bounds].mean())
        else:
            room = _root_mean_square(self.nearest_point) or force / curvature
        needs_theta = np.isinf(self.lb) & np.isinf(self.ub)
        if d is not None:
            needs_theta &= d <= 0
        theta = SETTINGS.proximal * curvature if needs_theta.any() else 0.0
        return QPScales(force, room, v=force / np.sqrt(curvature), theta=theta)

    def build_reduced(
        self, newton: NewtonSolver, d: FloatArray | None, center: FloatArray, scales: QPScales, constant: float,
        free: IntArray | None,
    ) -> ReducedQP:  # fmt: skip
        lb = np.maximum(self.lb, -HUGE)
        ub = np.minimum(self.ub, HUGE)
        return ReducedQP(newton, self.q, lb, ub, d, self.A, self.b, center, scales, constant, free)


def _reduce_with_factor(
    parts: _QPParts, Z: Matrix, d: FloatArray, offset: FloatArray, constant: float, free: IntArray | None
) -> ReducedQP:
    """Reduce for P = ZZᵀ + diag(d), Z (n', k) and d (n',), with Zᵀx = offset (k,) from the fixed variables."""
    Z = choose_storage(Z)
    A = parts.A
    b = parts.b
    x = parts.nearest_point
    center = np.zeros((len(b), Z.shape[1]))
    if len(b) and not sp.issparse(Z):
        center = parts.inverse_row_gram @ (A @ Z)
    offset = offset + b @ center  # v = Zᵀx + offset, for the centred Z
    wide = None
    if not sp.issparse(Z) and len(Z) >= SETTINGS.min_wide_rows and Z.shape[1] > SETTINGS.min_wide_ratio * len(Z):
        Q, R = qr((Z - A.T @ center).T, mode="economic", overwrite_a=True, check_finite=False)
        Z = np.ascontiguousarray(R.T)
        projected = Q.T @ offset
        wide = WideFactor(Q, offset - Q @ projected, center)
        constant += 0.5 * float(wide.offset @ wide.offset)
        offset = projected
        center = np.zeros((len(b), len(R)))
    newton = FactoredNewton(build_columns(Z, A, center), Z.shape[1], np.concatenate([-offset, b]))
    values = (Z.data if sp.issparse(Z) else Z).ravel(order="K")
    trace = float(values @ values) + float(d.sum())
    nonzero_d = d if d.any() else None
    if x.any() or offset.any():
        Px = Z @ (Z.T @ x + offset) + d * x
    else:
        Px = 0.0
    scales = parts.compute_scales(Px, trace, nonzero_d)
    return replace(parts.build_reduced(newton, nonzero_d, center, scales, constant, free), wide=wide)


def _reduce_with_matrix(parts: _QPParts, P: FloatArray, constant: float, free: IntArray | None) -> ReducedQP:
    """Reduce for a dense P (n', n')."""
    newton = DenseNewton(P, parts.A, parts.b)
    scales = parts.compute_scales(P @ parts.nearest_point, float(P.trace()), None)
    return parts.build_reduced(newton, None, np.zeros((len(parts.b), 0)), scales, constant, free)


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt(values @ values / max(1, len(values))))
