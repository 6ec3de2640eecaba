"""Evaluate ⟨w, φ(x_i)⟩ = Σ_j c_j K_ij with radii, in blocks that fit the cache (`KernelSpace`).

    (KSUM.1)  û_i = Σ_j c_j K̂_ij, summed in blocks of at most `BLOCK_TERMS` terms, one after the other:  the error is
              at most γ_k Σ|c_j||K̂_ij| for k = BLOCK_TERMS + blocks + 1, plus Σ_j |c_j| times the radii of the values
    (KSUM.2)  the second part is at most Σ|c_j||K̂_ij|(ρ + e_i + e_j) + t_i Σ|c_j| t_j, with ρ, e, t of `KernelValues`
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
from qpsvm.bounds.proof.kernels.definite import MAX_ROWS, Definiteness, prove_definiteness
from qpsvm.bounds.proof.kernels.exact import compute_exact_values
from qpsvm.bounds.proof.kernels.sharp import compute_sharp_diagonal, compute_sharp_sums
from qpsvm.bounds.proof.kernels.values import COLUMNS, ROWS, KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement, bound_norms_below
from qpsvm.space.kernels.functions import RBF, Kernel, Polynomial, Sigmoid

#: Largest number of terms that one block adds to a sum.
BLOCK_TERMS = max(ROWS, COLUMNS)
#: δ of (KSUM.5) counts as rounding if N(δ) is at most this share of N(c).
ROUNDING_SHARE = 1e-10


class KernelSpace(Space):
    """The points φ(x_i) of a kernel, known only through K.

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
        delta_radius = beta_radius + UNIT * np.abs(delta)
        size, size_of_radius = self._bound_size(delta), self._bound_size(delta_radius)
        is_significant = size > ROUNDING_SHARE * self._bound_size(coef)  # δ is more than rounding
        support = np.flatnonzero((coef != 0.0) | (delta != 0.0) if is_significant else coef)
        columns = [coef, delta] if is_significant else [coef]
        sums, radii = _sum_at_all_points(values, support, np.column_stack([column[support] for column in columns]))
        u, radius = sums[:, 0], radii[:, 0]
        square, square_error = _bound_product(coef, u, radius)  # cᵀKc
        cross, cross_error = _bound_product(delta, u, radius)  # δᵀKc
        cross_error += float(delta_radius @ (np.abs(u) + radius)) * (1.0 + gamma(self.n + 2))
        high = size * size * FEW_ROUNDINGS  # bounds of δᵀKδ
        low = -high
        if is_significant:
            delta_square, delta_error = _bound_product(delta, sums[:, 1], radii[:, 1])
            high = min(high, (delta_square + delta_error) * FEW_ROUNDINGS)
            low = max(low, delta_square - delta_error * FEW_ROUNDINGS)
        extra = (2.0 * size + size_of_radius) * size_of_radius * FEW_ROUNDINGS  # δ is known up to `delta_radius`
        extra += UNDERFLOW if size or size_of_radius else 0.0
        high, low = max(high, 0.0) + extra, min(low, 0.0) - extra
        if values.is_psd or not (size or size_of_radius):
            low = 0.0
        else:
            low = low * FEW_ROUNDINGS
        half = _widen_interval(0.5 * square, 0.5 * square_error)
        dual_half = _widen_interval(
            0.5 * square - cross, 0.5 * square_error + cross_error, (low * 0.5, high * 0.5)
        )  # (KSUM.4)
        distance = math.sqrt(high) * FEW_ROUNDINGS if high >= 0.0 else math.inf
        floor = 0.0 if values.is_psd else -math.inf
        return SpaceMeasurement(
            PointValues(u, np.zeros(self.n), radius), distance,
            (max(half[0], floor), half[1]), (max(dual_half[0], floor), dual_half[1]), 0.5 * low,
        )  # fmt: skip

    def _bound_size(self, v: FloatArray) -> float:
        """Return an upper bound of N(v) of (KSUM.3)."""
        return float(np.abs(v) @ self.kernel_values.sizes) * (1.0 + gamma(self.n + 2))

    def evaluate_kernel(self, coef: FloatArray, points: IntArray) -> PointValues:
        """Return Kc for c (n,) at some points, (k,), in doubles, (KSUM.1) and (KSUM.2)."""
        support = np.flatnonzero(coef)
        with np.errstate(all="ignore"):
            return _sum_at_points(self.kernel_values, points, support, coef[support])

    def refine_values(self, primal_point: Primal, points: IntArray) -> PointValues | None:
        """Return ⟨w, φ(x_i)⟩ at some points, (k,), in double-double, (KTWO.4)."""
        assert primal_point.coef is not None
        support = np.flatnonzero(primal_point.coef)
        return compute_sharp_sums(self.kernel_values, points, support, primal_point.coef[support])

    def refine_distance(self, primal_point: Primal, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """Return an upper bound of ‖w − w(α)‖ = √(δᵀKδ), (KSUM.5), in double-double; None if that is unavailable."""
        assert primal_point.coef is not None
        delta, low = two_sum(primal_point.coef, -beta)
        support = np.flatnonzero(delta)
        sums = compute_sharp_sums(self.kernel_values, support, support, delta[support])
        if sums is None:
            return None
        square, error = dot_with_bound(np.tile(delta[support], 2), np.concatenate([sums.high, sums.low]))
        error += float(np.abs(delta[support]) @ sums.radius) * (1.0 + gamma(len(support) + 2))
        size_of_radius = self._bound_size(beta_radius + np.abs(low))
        high = (
            max(square + error * FEW_ROUNDINGS, 0.0) * FEW_ROUNDINGS
            + (2.0 * self._bound_size(delta) + size_of_radius) * size_of_radius * FEW_ROUNDINGS
            + UNDERFLOW
        )
        return math.sqrt(high) * FEW_ROUNDINGS

    def evaluate_exactly(
        self, primal_point: Primal, beta: Sequence[Fraction], max_products: float
    ) -> ExactValues | None:
        """Enclose the values between rational numbers, (KRAT.1) to (KRAT.4)."""
        assert primal_point.coef is not None
        return compute_exact_values(self.kernel_values, primal_point.coef, beta, max_products)

    def bound_distances(self, centre: int | None) -> FloatArray | None:
        """Return lower bounds of ‖φ(x_i) − φ(x_c)‖, or of ‖φ(x_i)‖ without a centre, by (KSUM.6): (n,)."""
        values = self.kernel_values
        with np.errstate(all="ignore"):
            if not isinstance(values, RBFValues):
                return _bound_distances_by_values(values, centre)
            if centre is None:
                return np.ones(self.n)
            lengths = bound_norms_below(as_dense(values.X) - as_dense(values.X[[centre]]))
            squares = -2.0 * np.expm1(-values.gamma * np.square(lengths) * (1.0 - 8.0 * UNIT))
            return np.sqrt(np.maximum(squares, 0.0)) * (1.0 - 16.0 * UNIT)

    def prove_definiteness(self, has_fixed_sum: bool) -> Definiteness:
        """Prove that K is positive semidefinite, by construction or by a Cholesky factor, (DEF.1)."""
        if self.kernel_values.is_psd:
            return Definiteness(0.0, is_by_construction=True)
        if self.n > MAX_ROWS:
            return Definiteness(math.inf)
        return prove_definiteness(*self.kernel_values.compute_full_matrix(), has_fixed_sum)


def build_space_of_samples(kernel: Kernel, X: Matrix) -> KernelSpace:
    """Build the space of samples X (n, d) and a built-in kernel function. Raises UnsupportedError for other kernels."""
    if isinstance(kernel, RBF):
        return KernelSpace(RBFValues(kernel, X))
    if isinstance(kernel, (Polynomial, Sigmoid)):
        return KernelSpace(ProductValues(kernel, X))
    raise UnsupportedError(f"the kernel {kernel} is no function that a proof knows; its matrix can be proven about")


def build_space_of_matrix(K: FloatArray) -> KernelSpace:
    """Build the space of a kernel matrix (n, n) whose entries are exact."""
    return KernelSpace(MatrixValues(K))


def _bound_distances_by_values(values: KernelValues, centre: int | None) -> FloatArray | None:
    """Return lower bounds of (KSUM.6) from kernel values in double-double; None if these are unavailable."""
    diagonal = compute_sharp_diagonal(values)
    if diagonal is None:
        return None
    high, low, radius = diagonal  # K(x, x) = high + low ± radius
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


class _BlockSums:
    """Sums Kc over blocks of K, and their errors, for one c or for q of them.

    values: The kernel values.
    support (s,): The points where some c is not 0.
    weights (s,) or (s, q): The entries of c there.
    k: Number of sums for each c.
    """

    def __init__(self, values: KernelValues, support: IntArray, weights: FloatArray, k: int) -> None:
        self.values = values
        self.support = support
        self.weights = weights
        self.sizes = np.abs(weights if weights.ndim == 2 else weights[:, None])
        self._sizes_and_errors = np.hstack([self.sizes, values.point_errors[support, None] * self.sizes])
        q = self.sizes.shape[1]
        self.sums = np.zeros((k, *weights.shape[1:]))
        #: Σ|c_j||K̂_ij| and Σ|c_j||K̂_ij| e_j, (k, 2q), and Σ|c_j| times further radii of the values, (k, q).
        self._absolute_sums = np.zeros((k, 2 * q))
        self._radius_sums = np.zeros((k, q))

    def add(self, K: FloatArray, extra: FloatArray | None, rows: slice, columns: slice) -> None:
        """Add a block of K̂ and of further radii, (r, c) each, to the sums of some rows."""
        self.sums[rows] += K @ self.weights[columns]
        self._absolute_sums[rows] += np.abs(K) @ self._sizes_and_errors[columns]
        if extra is not None:
            self._radius_sums[rows] += extra @ self.sizes[columns]

    def bound_errors(self, points: IntArray) -> FloatArray:
        """Bound the errors of the sums, which belong to the given points (k,), by (KSUM.1) and (KSUM.2): (k, q)."""
        values = self.values
        added = self._absolute_sums
        s, q = self.sizes.shape
        terms = min(s, BLOCK_TERMS) + s // ROWS + s // COLUMNS + 4
        relative_errors = values.relative_error + values.point_errors[points]
        radii = added[:, :q] * (gamma(terms + 2) + relative_errors[:, None]) + added[:, q:]
        factor_sums = (values.error_factors[self.support] @ self.sizes) * (1.0 + gamma(s + 2))
        radii += values.error_factors[points, None] * factor_sums + self._radius_sums + s * UNDERFLOW
        radii *= (1.0 + gamma(terms + 8)) * FEW_ROUNDINGS
        return np.where(np.isnan(radii), np.inf, radii)


def _sum_at_all_points(values: KernelValues, support: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Kc for q vectors c at once, and radii, (n, q) each.

    Shapes: support (s,), weights (s, q), as for `_BlockSums`.
    """
    n = values.n
    s = len(support)
    is_other = np.ones(n, dtype=bool)
    is_other[support] = False
    order = np.concatenate([support, np.flatnonzero(is_other)])
    block = values.make_block_function(order, s)
    total = _BlockSums(values, support, weights, n)
    for first, last in ((0, s), (s, n)):  # the support vectors, then the other points
        for top in range(first, last, ROWS):
            rows = slice(top, min(top + ROWS, last))
            for first_column in range(top if first < s else 0, s, COLUMNS):
                columns = slice(first_column, min(first_column + COLUMNS, s))
                K, extra = block(rows, columns)
                total.add(K, extra, rows, columns)
                # among support vectors, the block below the diagonal is the transpose
                mirrored_rows = slice(max(rows.stop, first_column), columns.stop)
                if first < s and mirrored_rows.start < mirrored_rows.stop:
                    skipped = mirrored_rows.start - first_column
                    total.add(K[:, skipped:].T, None if extra is None else extra[:, skipped:].T, mirrored_rows, rows)
    radii, back = total.bound_errors(order), np.argsort(order)
    return total.sums[back], radii[back]


def _sum_at_points(values: KernelValues, points: IntArray, support: IntArray, weights: FloatArray) -> PointValues:
    """Return Kc for one c at some points, (k,).

    Shapes: points (k,), support (s,), weights (s,), as for `_BlockSums`.
    """
    s, k = len(support), len(points)
    block = values.make_block_function(np.concatenate([support, points]), s)
    total = _BlockSums(values, support, weights, k)
    for top in range(0, k, ROWS):
        rows = slice(top, min(top + ROWS, k))
        for first_column in range(0, s, COLUMNS):
            columns = slice(first_column, min(first_column + COLUMNS, s))
            total.add(*block(slice(s + rows.start, s + rows.stop), columns), rows, columns)
    return PointValues(total.sums, np.zeros(k), total.bound_errors(points)[:, 0])


def _bound_product(v: FloatArray, u: FloatArray, radius: FloatArray) -> tuple[float, float]:
    """Return Σ v_i u_i for u_i ± radius_i, and its error bound."""
    support = np.flatnonzero(v)
    value, error = dot_with_bound(v[support], u[support])
    inherited = float(np.abs(v[support]) @ radius[support]) * (1.0 + gamma(len(support) + 2))
    return value, (error + inherited) * FEW_ROUNDINGS


def _widen_interval(middle: float, error: float, term: tuple[float, float] = (0.0, 0.0)) -> tuple[float, float]:
    """Return lower and upper bounds of middle ± error, plus a term that lies between two numbers."""
    low, high = middle - error + term[0], middle + error + term[1]
    slack = 4.0 * UNIT * (abs(middle) + error + abs(term[0]) + abs(term[1]))
    low, high = low - slack, high + slack
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)
