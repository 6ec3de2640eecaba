"""Bound ‖w(α) − w‖ for a w over few samples, if α has many more support vectors (`Span`).

Any w = Σ_j c_j φ(z_j) over r samples z, the pivots, is a primal point, so (GAP.1) holds for it. Its f takes r kernel
values per sample. But computed directly, ‖w − w(α)‖ takes all kernel values between support vectors. Instead, each
φ(x_i) is approximated by a combination of the pivots, and the residual is bounded for each i, by n·r kernel values:

    (SPAN.1)  w(α) = Σ_i β_i Σ_j A_ij φ(z_j) + Σ_i β_i ρ_i,  ρ_i = φ(x_i) − Σ_j A_ij φ(z_j):  true for any numbers A
    (SPAN.2)  ‖w − w(α)‖ ≤ ‖Σ_j g_j φ(z_j)‖ + Σ_i |β_i| ‖ρ_i‖,  g = c − Aᵀβ
    (SPAN.3)  ‖ρ_i‖² = K_ii − ‖L_i‖² + ‖RᵀA_i − L_i‖² − 2 A_iᵀs_i + A_iᵀG A_i,  s_i = k_i − R L_i,  G = K_zz − RRᵀ

for the column k_i of kernel values between the pivots and x_i, and any numbers R and L, as for A. With R the Cholesky
factor of K_zz, L_i = R⁻¹k_i and A_i = R⁻ᵀL_i, the last three terms of (SPAN.3) are rounding. They are measured, so no
assumption is made about how R, L and A were computed.

    (SPAN.4)  |s_ij| ≤ σ_i τ_j,  |G_jk| ≤ g τ_j τ_k,  a_i = Σ_j |A_ij| τ_j:  the last two terms are ≤ 2 a_i σ_i + g a_i²

with the sizes τ_j ≥ ‖φ(z_j)‖ of (ACC.1). s and G are differences that cancel almost completely. The products R L_i and
RRᵀ are subtracted in blocks B of few columns of R. The error is small, because what remains soon becomes small:

    (SPAN.5)  |ŝ_ij − s_ij| ≤ Σ_B (γ_|B| ‖L_iB‖ ‖R_jB‖ + u ‖L_i>B‖ ‖R_j>B‖) + a rounding of ŝ_ij itself for each B

where ŝ is s as computed, u the unit roundoff, and > B are the columns after B. Derivation of (SPAN.3): ‖ρ_i‖² = K_ii −
2A_iᵀk_i + A_iᵀK_zz A_i; substitute k_i and K_zz, and complete the square.

Sources: Fine & Scheinberg (2001) for the low-rank dual; Higham (2002), sections 3.1 and 10.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack, solve_triangular

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import CLIPPING_ERROR, FUNCTION_ROUNDINGS, Accuracy
from qpsvm.bounds.certificate import PrimalPoint, build_kernel_point
from qpsvm.space.kernels.functions import RBF, exp_in_place
from qpsvm.space.kernels.space import FeatureSpace

#: Numbers in a strip of kernel values, which fit in the cache.
STRIP_NUMBERS = 200_000
#: Smallest and largest number of samples of a strip.
MIN_STRIP_ROWS, MAX_STRIP_ROWS = 256, 2048
#: Smallest and largest number of columns of a block of (SPAN.5). The first columns are large: their blocks are small.
MIN_WIDTH, MAX_WIDTH = 8, 64
#: In between, the number of columns before a block, divided by its width.
COLUMNS_PER_WIDTH = 8
#: Largest number of pivots.
MAX_PIVOTS = 4000
#: Largest number of pivots as a share of the support vectors: with more, direct evaluation is as cheap.
MAX_SHARE = 0.5
#: With at most this many kernel values between all samples and the support vectors (half a minute), w(α) is another
#: candidate next to a w over few samples.
AFFORDABLE_VALUES = 4e9
#: With at most this many (a second), ‖w − w(α)‖ is also evaluated directly, for a w that is required.
DIRECT_VALUES = 2e8


class Span:
    """Approximation of w(α) in the span of the pivots, and the sums over i of (SPAN.2).

    pivots (r,), beta (n,): Indices of the pivots among the samples, and the coefficients of w(α).
    nearest (r,): Aᵀβ, the coefficients c of the w nearest to w(α), up to rounding.
    """

    def __init__(self, space: FeatureSpace, beta: FloatArray, pivots: IntArray) -> None:
        self.space = space
        self.pivots = pivots
        self.beta = beta
        accuracy = Accuracy(space)
        self._tau = accuracy.bound_norms(pivots)
        self._bound_norms = accuracy.bound_norms
        if self._uses_differences:
            d = space.samples.longest_row
            self._epsilon = max(gamma(d + 6) / math.e + FUNCTION_ROUNDINGS * UNIT, CLIPPING_ERROR)  # (ACC.4), (ACC.5)
        else:
            self._epsilon = accuracy.epsilon
        self._K = self._compute_values(pivots)
        self._factorise()
        self.nearest = np.zeros(len(pivots))
        self._residual_norm = 0.0  # Σ|β_i|‖ρ_i‖ as computed
        self._residual_norm_bound = 0.0
        self._coefficient_size = 0.0  # Σ|β_i|a_i
        support = np.flatnonzero(beta)
        n_rows = int(np.clip(STRIP_NUMBERS // max(len(self._independent), 1), MIN_STRIP_ROWS, MAX_STRIP_ROWS))
        for start in range(0, len(support), n_rows):
            self._add_rows(support[start : start + n_rows])

    @cached
    def _uses_differences(self) -> bool:
        """Whether kernel values are computed from differences of samples, which do not cancel."""
        return isinstance(self.space.kernel, RBF) and not sp.issparse(self.space.X)

    def _compute_values(self, rows: IntArray) -> FloatArray:
        """Return kernel values between pivots and rows, each with an error of at most ε times the sizes: (r, k)."""
        if not self._uses_differences:
            return self.space.gram.block(self.pivots, rows)
        from scipy.spatial.distance import cdist

        X = self.space.X
        kernel = self.space.kernel
        assert isinstance(kernel, RBF)
        exponents: FloatArray = cdist(X[self.pivots], X[rows], "sqeuclidean")
        exponents *= -float(kernel.gamma)
        return exp_in_place(exponents)

    def _factorise(self) -> None:
        """Compute R of the numerically independent pivots, its inverse, and g of (SPAN.4)."""
        min_pivot = (len(self.pivots) + 2) * 2.0 * UNIT * float(self._K.diagonal().max(initial=0.0))
        factor, order, rank, _ = lapack.dpstrf(self._K, tol=min_pivot, lower=1)
        q = int(rank)
        self._independent = order[:q] - 1
        self._R = np.asfortranarray(np.tril(factor[:q, :q]))
        self._inverse = np.asfortranarray(np.tril(lapack.dtrtri(self._R, lower=1)[0])) if q else self._R
        tau = self._tau[self._independent]
        self._blocks = _build_blocks(q)
        self._block_gamma = np.array([gamma(block.stop - block.start + 2) for block in self._blocks])
        squares = self._sum_squares(self._R.T) / (tau * tau)
        self._block_norms = np.sqrt(squares.max(axis=1, initial=0.0)) * FEW_ROUNDINGS
        self._later_norms = np.sqrt(_sum_later_blocks(squares).max(axis=1, initial=0.0)) * FEW_ROUNDINGS
        self._norm_of_R = float(np.sqrt(squares.sum(axis=0).max(initial=0.0))) * FEW_ROUNDINGS
        G, error = self._bound_residual(self._K[np.ix_(self._independent, self._independent)], self._R.T)
        self._g = float(((G + error) / tau).max(initial=0.0)) * FEW_ROUNDINGS + self._epsilon

    def _sum_squares(self, L: FloatArray) -> FloatArray:
        """Return ‖L_iB‖² for each block, given Lᵀ (q, k): (blocks, k)."""
        return np.array([np.einsum("ij,ij->j", L[block], L[block]) for block in self._blocks]).reshape(-1, L.shape[1])

    def _bound_residual(self, K: FloatArray, L: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return max_j |ŝ_ij|/τ_j for each i, and its error bound (SPAN.5), (k,) each, for K (q, k) and Lᵀ (q, k)."""
        residual: FloatArray = np.array(K, order="C")
        for block in self._blocks:
            residual[block.start :] -= self._R[block.start :, block] @ L[block]
        np.abs(residual, out=residual)
        largest: FloatArray = (residual / self._tau[self._independent, None]).max(axis=0, initial=0.0)
        squares = self._sum_squares(L)
        error: FloatArray = (self._block_gamma * self._block_norms) @ np.sqrt(squares)
        error += UNIT * self._later_norms @ np.sqrt(_sum_later_blocks(squares))
        error += len(self._blocks) * UNIT * largest
        return largest, error * FEW_ROUNDINGS

    def _add_rows(self, rows: IntArray) -> None:
        """Add the terms of some samples to the sums of (SPAN.2)."""
        tau = self._tau[self._independent]
        size = self._bound_norms(rows)
        weight = np.abs(self.beta[rows])
        k = self._compute_values(rows)[self._independent]
        L = solve_triangular(self._R, k, lower=True, check_finite=False)  # (q, k), as A is: Lᵀ and Aᵀ
        A = blas.dtrmm(1.0, self._inverse, L, lower=1, trans_a=1)
        deviation = np.linalg.norm(blas.dtrmm(1.0, self._R, A, lower=1, trans_a=1) - L, axis=0)
        largest, residual_error = self._bound_residual(k, L)
        squares = self._sum_squares(L)
        length = np.sqrt(squares.sum(axis=0)) * FEW_ROUNDINGS
        sigma = largest + residual_error + self._epsilon * size
        a = tau @ np.abs(A) * (1.0 + gamma(len(tau) + 4))  # (SPAN.4)
        deviation += gamma(len(tau) + 4) * (deviation + a * self._norm_of_R + length)
        remainder: FloatArray = self.space.kernel.diagonal(self.space.X[rows])  # becomes K_ii − ‖L_i‖²
        error = self._epsilon * size**2 + self._block_gamma @ squares + deviation**2
        for square in squares:
            remainder = remainder - square
            error += UNIT * np.abs(remainder)
        error += a * (2.0 * sigma + a * self._g)
        self._residual_norm += float(weight @ np.sqrt(np.maximum(remainder, 0.0)))
        self._residual_norm_bound += float(weight @ np.sqrt(np.maximum(remainder + error * FEW_ROUNDINGS, 0.0)))
        self._coefficient_size += float(weight @ a)
        self.nearest[self._independent] += A @ self.beta[rows]

    def bound_distance(self, coef: FloatArray) -> tuple[float, float]:
        """Return ‖w − w(α)‖ for c (r,) by (SPAN.2), as computed, and a bound on how much larger the exact value is."""
        g = coef - self.nearest
        square = max(float(g @ (self._K @ g)), 0.0)
        size = float(np.abs(g) @ self._tau) * (1.0 + gamma(len(g) + 4))
        upper_bound = math.sqrt(square + (gamma(2 * len(g) + 8) + self._epsilon) * size * size) + 2.0 * UNIT * size
        rounding = gamma(len(self.beta) + 8)  # of a sum over i
        upper_bound += rounding * self._coefficient_size * FEW_ROUNDINGS + self._residual_norm_bound * (1.0 + rounding)
        computed = math.sqrt(square) + self._residual_norm
        return computed, (upper_bound - computed) * FEW_ROUNDINGS + 4.0 * UNIT * upper_bound


def _build_blocks(q: int) -> list[slice]:
    """Return the blocks B of (SPAN.5) of q columns."""
    starts = [0]
    width = MIN_WIDTH
    while starts[-1] < q:
        width = min(max(MIN_WIDTH, starts[-1] // COLUMNS_PER_WIDTH), MAX_WIDTH)
        starts.append(min(starts[-1] + width, q))
    return [slice(start, stop) for start, stop in pairwise(starts)]


def _sum_later_blocks(squares: FloatArray) -> FloatArray:
    """Return the sums of all later blocks, for each block: (blocks, k)."""
    after = np.zeros_like(squares)
    after[:-1] = np.cumsum(squares[:0:-1], axis=0)[::-1]
    return after


def build_span(space: FeatureSpace, beta: FloatArray, coef: FloatArray, requires_w: bool = False) -> Span | None:
    """Build the span of the samples with nonzero coef (n,); None if they are too many, or K was modified, or w = 0.

    requires_w: Whether this w is needed even if w(α) costs no more; otherwise the result is None in that case.
    """
    pivots = np.flatnonzero(coef)
    max_pivots: float = MAX_PIVOTS
    if not requires_w:
        max_pivots = min(MAX_PIVOTS, MAX_SHARE * np.count_nonzero(beta))
    if space.is_linear or not space.is_plain or not 0 < len(pivots) <= max_pivots:
        return None
    if (space.curvature(pivots) > 0.0).any():
        return Span(space, beta, pivots)
    return None


def find_point_of_w(
    space: FeatureSpace, beta: FloatArray, coef: FloatArray, span: Span
) -> tuple[float, Iterator[PrimalPoint]]:
    """Return the pair of `find_primal_points` for the w of coef (n,) alone, with the smaller bound of ‖w − w(α)‖.

    (SPAN.6)  ‖w − w(α)‖² = cᵀKc − 2βᵀKc + βᵀKβ:  unlike in (SPAN.2), the residuals ρ_i may cancel
    """
    dual_point = build_kernel_point(space, beta)
    point = build_kernel_point(space, coef)
    distance, radius = span.bound_distance(coef[span.pivots])
    accuracy = Accuracy(space)
    norms = accuracy.bound_norms(np.arange(space.n))
    size = float((np.abs(coef) + np.abs(beta)) @ norms) * (1.0 + gamma(space.n + 4))
    square = max(float(coef @ point.u) - 2.0 * float(beta @ point.u) + float(beta @ dual_point.u), 0.0)
    direct_distance = math.sqrt(square)
    upper_bound = math.sqrt(square + (accuracy.epsilon + gamma(2 * space.n + 16)) * size * size) * (1.0 + 4.0 * UNIT)
    if upper_bound < distance + radius:
        distance = direct_distance
        radius = (upper_bound - direct_distance) * (1.0 + 4.0 * UNIT)
    w = PrimalPoint(point.u, None, point.half_norm, coef=coef, distance=distance, distance_radius=radius)
    return dual_point.half_norm, iter([w])


def find_points_near_w(
    space: FeatureSpace, beta: FloatArray, coef: FloatArray, span: Span
) -> tuple[float, Iterator[PrimalPoint]]:
    """Return the pair of `find_primal_points`: coef (n,), the nearest w over its samples, and w(α) if affordable."""

    def build_point(coefficients: FloatArray) -> PrimalPoint:
        distance, radius = span.bound_distance(coefficients)
        padded = np.zeros(space.n)
        padded[span.pivots] = coefficients
        point = build_kernel_point(space, padded)
        return PrimalPoint(point.u, None, point.half_norm, coef=padded, distance=distance, distance_radius=radius)

    first = build_point(coef[span.pivots])

    def iter_candidates() -> Iterator[PrimalPoint]:
        yield first
        yield build_point(span.nearest)
        if float(space.n) * np.count_nonzero(beta) <= AFFORDABLE_VALUES:
            yield build_kernel_point(space, beta)

    # ‖w(α)‖ ≤ ‖w‖ + ‖w − w(α)‖
    upper_bound = math.sqrt(2.0 * first.half_norm) + first.distance + (first.distance_radius or 0.0)
    return 0.5 * upper_bound * upper_bound, iter_candidates()
