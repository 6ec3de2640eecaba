"""Evaluate ⟨w, φ(x_i)⟩ = Σ_j c_j K_ij with radii, in blocks that fit the cache (`KernelSpace`).

    (KSUM.1)  û_i = Σ_j c_j K̂_ij, summed in blocks of at most `WIDTH` terms, one block after the other:  the error is at
              most γ_k Σ|c_j||K̂_ij| for k = WIDTH + blocks + 1, plus Σ_j |c_j| times the radii of the values
    (KSUM.2)  the latter are sums with K̂ again: Σ|c_j||K̂_ij|(c + e_i + e_j) + t_i Σ|c_j| t_j
    (KSUM.3)  |vᵀKw| ≤ N(v)N(w),  N(v) = Σ|v_j| sizes_j, whether K is positive semidefinite or not
    (KSUM.4)  with δ = c − β:  ½βᵀKβ = ½cᵀKc − δᵀKc + ½δᵀKδ, where cᵀKc = Σc_i u_i, δᵀKc = Σδ_i u_i
    (KSUM.5)  δᵀKδ ≤ N(δ)²; if δ is more than rounding, δᵀKδ is computed like cᵀKc
    (KSUM.6)  ‖φ(x) − φ(z)‖² = K(x, x) − 2K(x, z) + K(z, z), for an RBF kernel −2(e^{−γ‖x − z‖²} − 1)

Kernel values between support vectors are computed once and used for both sides of the diagonal. Only columns with
c_j ≠ 0 are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound, two_sum
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.kernels.definite import MOST_ROWS, Definiteness, definiteness
from qpsvm.bounds.proof.kernels.exact import compute_exact_values
from qpsvm.bounds.proof.kernels.sharp import compute_sharp_diagonal, compute_sharp_sums
from qpsvm.bounds.proof.kernels.values import COLUMNS, ROWS, KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement, bound_norms_below
from qpsvm.space.kernels.functions import RBF, Kernel, Polynomial, Sigmoid

#: Terms of one sum.
WIDTH = max(ROWS, COLUMNS)
#: δ of (KSUM.5) is rounding if N(δ) is less than this share of N(c).
ROUNDING = 1e-10


class KernelSpace(Space):
    """The points of a kernel machine.

    values: Kernel values over the points.
    """

    def __init__(self, values: KernelValues) -> None:
        self.kernel_values = values
        self.n = values.n

    def measure(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        """Evaluate all points once, (KSUM.1) to (KSUM.5)."""
        assert primal_point.coef is not None
        with np.errstate(all="ignore"):
            return self._measure_coef(primal_point.coef, beta, beta_radius)

    def _measure_coef(self, coef: FloatArray, beta: FloatArray, beta_radius: FloatArray) -> SpaceMeasurement:
        values = self.kernel_values
        delta = coef - beta  # δ
        lost = beta_radius + UNIT * np.abs(delta)
        size, lost_size = self._norm(delta), self._norm(lost)
        is_significant = size > ROUNDING * self._norm(coef)  # δ is more than rounding
        support = np.flatnonzero((coef != 0.0) | (delta != 0.0) if is_significant else coef)
        columns = [coef, delta] if is_significant else [coef]
        sums, radii = _sums(values, support, np.column_stack([column[support] for column in columns]))
        u, radius = sums[:, 0], radii[:, 0]
        square, spread = _form(coef, u, radius)
        cross, cross_spread = _form(delta, u, radius)
        cross_spread += float(lost @ (np.abs(u) + radius)) * (1.0 + gamma(self.n + 2))
        square_high = size * size * FEW_ROUNDINGS
        square_low = -square_high
        if is_significant:
            delta_square, delta_spread = _form(delta, sums[:, 1], radii[:, 1])
            square_high, square_low = (
                min(square_high, (delta_square + delta_spread) * FEW_ROUNDINGS),
                max(square_low, delta_square - delta_spread * FEW_ROUNDINGS),
            )
        extra = (2.0 * size + lost_size) * lost_size * FEW_ROUNDINGS  # error of δ ± lost
        extra += UNDERFLOW if size or lost_size else 0.0
        square_high, square_low = max(square_high, 0.0) + extra, min(square_low, 0.0) - extra
        square_low = 0.0 if values.is_psd or not (size or lost_size) else square_low * FEW_ROUNDINGS
        half = _widen_interval(0.5 * square, 0.5 * spread)
        own_half = _widen_interval(
            0.5 * square - cross, 0.5 * spread + cross_spread, (square_low * 0.5, square_high * 0.5)
        )
        distance = math.sqrt(square_high) * FEW_ROUNDINGS if square_high >= 0.0 else math.inf
        floor = 0.0 if values.is_psd else -math.inf
        return SpaceMeasurement(
            PointValues(u, np.zeros(self.n), radius), distance,
            (max(half[0], floor), half[1]), (max(own_half[0], floor), own_half[1]), 0.5 * square_low,
        )  # fmt: skip

    def _norm(self, v: FloatArray) -> float:
        """Return an upper bound of N(v) of (KSUM.3)."""
        return float(np.abs(v) @ self.kernel_values.sizes) * (1.0 + gamma(self.n + 2))

    def evaluate_kernel(self, coef: FloatArray, points: IntArray) -> PointValues:
        """Return Kc for c (n,) at some points, (k,), in doubles, (KSUM.1) and (KSUM.2)."""
        support = np.flatnonzero(coef)
        with np.errstate(all="ignore"):
            return _sums_at(self.kernel_values, points, support, coef[support])

    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Return ⟨w, φ(x_i)⟩ at some points by (KTWO.4)."""
        assert primal_point.coef is not None
        support = np.flatnonzero(primal_point.coef)
        return compute_sharp_sums(self.kernel_values, points, support, primal_point.coef[support])

    def refine_distance(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Bound (KSUM.5), measured in double-double."""
        assert primal_point.coef is not None
        off, low = two_sum(primal_point.coef, -beta)
        support = np.flatnonzero(off)
        sums = compute_sharp_sums(self.kernel_values, support, support, off[support])
        if sums is None:
            return None
        square, spread = dot_with_bound(np.tile(off[support], 2), np.concatenate([sums.high, sums.low]))
        spread += float(np.abs(off[support]) @ sums.radius) * (1.0 + gamma(len(support) + 2))
        lost = self._norm(beta_radius + np.abs(low))
        square_high = (
            max(square + spread * FEW_ROUNDINGS, 0.0) * FEW_ROUNDINGS
            + (2.0 * self._norm(off) + lost) * lost * FEW_ROUNDINGS
            + UNDERFLOW
        )
        return math.sqrt(square_high) * FEW_ROUNDINGS

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Return the values as rational numbers, (KRAT.1) to (KRAT.4)."""
        assert primal_point.coef is not None
        return compute_exact_values(self.kernel_values, primal_point.coef, beta, max_products)

    def bound_distances(self, centre: int | None) -> FloatArray | None:
        """Return lower bounds of ‖φ(x_i) − φ(x_c)‖, or of ‖φ(x_i)‖ without a centre, by (KSUM.6): (n,)."""
        values = self.kernel_values
        with np.errstate(all="ignore"):
            if not isinstance(values, RBFValues):
                return _distances_from_values(values, centre)
            if centre is None:
                return np.ones(self.n)
            lengths = bound_norms_below(as_dense(values.X) - as_dense(values.X[[centre]]))
            squares = -2.0 * np.expm1(-values.gamma * np.square(lengths) * (1.0 - 8.0 * UNIT))
            return np.sqrt(np.maximum(squares, 0.0)) * (1.0 - 16.0 * UNIT)

    def prove_definiteness(self, plane: bool) -> Definiteness:
        """Return whether K is semidefinite, by construction or by a Cholesky factor, (DEF.1)."""
        if self.kernel_values.is_psd:
            return Definiteness(0.0, built=True)
        if self.n > MOST_ROWS:
            return Definiteness(math.inf)
        return definiteness(*self.kernel_values.compute_full_matrix(), plane)


def build_space_of_samples(kernel: Kernel, X: Matrix) -> KernelSpace:
    """Return the points X (n, d) of a built-in kernel function. Raises UnsupportedError for other kernels."""
    if isinstance(kernel, RBF):
        return KernelSpace(RBFValues(kernel, X))
    if isinstance(kernel, (Polynomial, Sigmoid)):
        return KernelSpace(ProductValues(kernel, X))
    raise UnsupportedError(f"the kernel {kernel} is no function that a proof knows; its matrix can be proven about")


def build_space_of_matrix(K: FloatArray) -> KernelSpace:
    """Return the points of a kernel matrix (n, n), given exactly."""
    return KernelSpace(MatrixValues(K))


def _distances_from_values(values: KernelValues, centre: int | None) -> FloatArray | None:
    """Return lower bounds of (KSUM.6) from kernel values in double-double; None if these are unavailable."""
    diagonal = compute_sharp_diagonal(values)
    if diagonal is None:
        return None
    high, low, radius = diagonal
    sizes = np.abs(high)
    if centre is not None:
        column = compute_sharp_sums(values, np.arange(values.n), np.array([centre]), np.ones(1))
        if column is None:
            return None
        sizes = sizes + 2.0 * np.abs(column.high) + abs(high[centre])
        radius = radius + 2.0 * column.radius + radius[centre]
        low = low - 2.0 * column.low + low[centre]
        high, error = two_sum(high, -2.0 * column.high)
        high, rest = two_sum(high, np.full(values.n, diagonal[0][centre]))
        low = low + error + rest
    squares = (high + low) * (1.0 - 4.0 * UNIT) - (2.0 * radius + 16.0 * UNIT * UNIT * sizes) * FEW_ROUNDINGS
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)) * (1.0 - 4.0 * UNIT))


def _sums(values: KernelValues, support: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Kc for q vectors c at once, and radii, (n, q) each, by (KSUM.1) and (KSUM.2).

    Shapes: support (s,), the rows where some c is not 0; weights (s, q), their entries.
    """
    n, (s, q) = values.n, weights.shape
    is_other = np.ones(n, dtype=bool)
    is_other[support] = False
    order = np.concatenate([support, np.flatnonzero(is_other)])
    block, sizes = values.make_block_function(order, s), np.abs(weights)
    absolute = np.hstack([sizes, values.point_errors[support, None] * sizes])
    sums, added, extra_sums = np.zeros((n, q)), np.zeros((n, 2 * q)), np.zeros((n, q))

    def add_block(K: FloatArray, extra: FloatArray | None, rows: slice, columns: slice) -> None:
        sums[rows] += K @ weights[columns]
        added[rows] += np.abs(K) @ absolute[columns]
        if extra is not None:
            extra_sums[rows] += extra @ sizes[columns]

    for first, last in ((0, s), (s, n)):
        for top in range(first, last, ROWS):
            rows = slice(top, min(top + ROWS, last))
            for first_column in range(top if first < s else 0, s, COLUMNS):
                columns = slice(first_column, min(first_column + COLUMNS, s))
                K, extra = block(rows, columns)
                add_block(K, extra, rows, columns)
                mirrored_rows = slice(
                    max(rows.stop, first_column), columns.stop
                )  # among support vectors, the block below the diagonal
                if first < s and mirrored_rows.start < mirrored_rows.stop:
                    skipped = mirrored_rows.start - first_column
                    add_block(K[:, skipped:].T, None if extra is None else extra[:, skipped:].T, mirrored_rows, rows)
    radii = _bound_sum_errors(values, order, support, sizes, added, extra_sums)
    back = np.argsort(order)
    return sums[back], radii[back]


def _sums_at(values: KernelValues, points: IntArray, support: IntArray, weights: FloatArray) -> PointValues:
    """Return Kc at some points, (k,), by (KSUM.1) and (KSUM.2).

    Shapes: points (k,), support (s,), the rows where c is not 0; weights (s,), its entries.
    """
    s, k = len(support), len(points)
    block, sizes = values.make_block_function(np.concatenate([support, points]), s), np.abs(weights)[:, None]
    absolute = np.hstack([sizes, values.point_errors[support, None] * sizes])
    sums, added, extra_sums = np.zeros(k), np.zeros((k, 2)), np.zeros((k, 1))
    for top in range(0, k, ROWS):
        rows = slice(top, min(top + ROWS, k))
        for first_column in range(0, s, COLUMNS):
            columns = slice(first_column, min(first_column + COLUMNS, s))
            K, extra = block(slice(s + rows.start, s + rows.stop), columns)
            sums[rows] += K @ weights[columns]
            added[rows] += np.abs(K) @ absolute[columns]
            if extra is not None:
                extra_sums[rows] += extra @ sizes[columns]
    radii = _bound_sum_errors(values, points, support, sizes, added, extra_sums)
    return PointValues(sums, np.zeros(k), radii[:, 0])


def _bound_sum_errors(
    values: KernelValues, points: IntArray, support: IntArray, sizes: FloatArray, added: FloatArray,
    extra_sums: FloatArray,
) -> FloatArray:  # fmt: skip
    """Bound the errors of Kc at some points for q vectors c, (KSUM.1) and (KSUM.2): (k, q).

    Shapes: points (k,), support (s,).
    sizes (s, q): |c_j| over the support.
    added (k, 2q): Σ|c_j||K̂_ij| and Σ|c_j||K̂_ij| e_j.
    extra_sums (k, q): Σ|c_j| times further radii of the values.
    """
    s, q = sizes.shape
    terms = min(s, WIDTH) + s // ROWS + s // COLUMNS + 4
    relative_errors = values.relative_error + values.point_errors[points]
    radii = added[:, :q] * (gamma(terms + 2) + relative_errors[:, None]) + added[:, q:]
    floors = (values.error_factors[support] @ sizes) * (1.0 + gamma(s + 2))
    radii += values.error_factors[points, None] * floors + extra_sums + s * UNDERFLOW
    radii *= (1.0 + gamma(terms + 8)) * FEW_ROUNDINGS
    return np.where(np.isnan(radii), np.inf, radii)


def _form(v: FloatArray, u: FloatArray, radius: FloatArray) -> tuple[float, float]:
    """Return Σ v_i u_i for u_i ± radius_i, and its error bound."""
    support = np.flatnonzero(v)
    value, spread = dot_with_bound(v[support], u[support])
    inherited = float(np.abs(v[support]) @ radius[support]) * (1.0 + gamma(len(support) + 2))
    return value, (spread + inherited) * FEW_ROUNDINGS


def _widen_interval(middle: float, spread: float, term: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    """Enclose a number within a spread of a float, plus a term between two numbers: from below and above."""
    low, high = middle - spread + term[0], middle + spread + term[1]
    slack = 4.0 * UNIT * (abs(middle) + spread + abs(term[0]) + abs(term[1]))
    low, high = low - slack, high + slack
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
