"""Certify an optimal value of 0, for which a relative gap is undefined (`ZeroOptimum`).

If the reduced hulls of a ν-SVM meet, or the origin is in the reduced hull of a one-class SVM, some feasible α has
w(α) = 0. Then every entry of the computed w(α) is at most its rounding error, and the gap is measured relative to the
size S of the terms of w(α) instead of the value:

    (VANISH.1)  w = 0, b = 0, ρ = 0 is feasible with the value 0, and optimal if some feasible α has w(α) = 0
    (VANISH.2)  its gap is ½‖w(α)‖² relative to ½S², (ZERO.2), as in a proof
    (VANISH.3)  for a ν-SVM, 1ᵀβ = 0, so the samples may be centred to bound the rounding; for a one-class SVM, 1ᵀβ > 0,
                so they may not, nor with linear constraints, whose bounds are 0
    (VANISH.5)  if the β of equal rows add up to σ_g, w(α) = Σ σ_g (φ(x_g) − φ(x_c)) for 1ᵀβ = 0, so the rows equal to
                x_c do not matter:  ‖w(α)‖ ≤ Σ |σ_g| (‖φ(x_g)‖ + ‖φ(x_c)‖)

A ball around identical samples has radius 0; this holds without rounding:

    (VANISH.4)  x_i = x for all i:  c = φ(x), R = 0 is feasible with the value 0, and R² + Σ C_i ξ_i ≥ 0 always
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import sum_with_bound
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, bound_norm, gamma
from qpsvm.base.arrays.ties import find_ties
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.bounds import levels
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.zero import LARGEST_SHARE, bound_zero_size
from qpsvm.bounds.repair import feasible
from qpsvm.bounds.sharp_rows import SharpRows
from qpsvm.program.svm_dual import DualGroup
from qpsvm.space.kernels.functions import RBF, Polynomial, Precomputed


class ZeroOptimum:
    """Tests whether w vanishes at points of one dual.

    sharp_rows: Values and w(α) of that dual in double-double.
    """

    def __init__(self, gap_bounder: GapBounder, sharp_rows: SharpRows) -> None:
        self.sharp_rows, self.points = sharp_rows, sharp_rows.points
        self.gap_bounder, self.accuracy, self.svm = gap_bounder, gap_bounder.accuracy, gap_bounder.svm
        self.space = self.accuracy.space

    def find_zero_point(self, point: Certificate) -> Certificate | None:
        """Return the point with the value 0, and an α that proves it optimal; None if there is none.

        It is w = 0, b = 0, ρ = 0 if w(α) is rounding, entry by entry; for a ball, R = 0 if all samples are identical.
        """
        if self.space.is_affine:
            return self._find_zero_ball(point)
        if not self._can_vanish(point):
            return None
        intercept, beta = self.svm.intercept, self.svm.beta(point.alpha)
        is_balanced = intercept is not None and not intercept.total  # 1ᵀβ = 0
        norm = self._bound_by_equal_rows(beta) if is_balanced else None
        if norm is None:
            norm = self._bound_norm(beta) if point.w is not None else self._bound_kernel_norm(beta, is_balanced)
            if norm is None and point.w is not None:  # try an α nearby
                point = point.replace(alpha=self._find_nearest_alpha(point))
                norm = self._bound_norm(self.svm.beta(point.alpha))
        gap = math.inf if norm is None else self._bound_relative_gap(norm, point, is_balanced)
        if norm is None or not gap <= LARGEST_SHARE:
            return None
        zeros = np.zeros_like(point.yf)
        return point.replace(
            w=None if point.w is None else np.zeros_like(point.w), coef=np.zeros_like(point.coef), b=0.0,
            b_interval=self._find_intercepts(intercept), multipliers=dict.fromkeys(point.multipliers, 0.0),
            margin=np.zeros_like(point.yf), level=0.0, primal=0.0, dual=-0.5 * point.unit * norm * norm, yf=zeros,
            gap=gap, half_norm=0.0, evaluated=None, size=math.nan,
        )  # fmt: skip

    def _can_vanish(self, point: Certificate) -> bool:
        """Return whether (VANISH.1) applies to the machine, and the bounds below to the point."""
        svm, intercept = self.svm, self.svm.intercept
        if svm.has_curvature or svm.penalised_groups:
            return False
        if svm.linear_constraints is not None:
            return point.w is not None and svm.mix is None
        return intercept is not None and not (intercept.total and svm.margin_groups)  # 1ᵀβ = 0, or b = −ρ

    def _bound_relative_gap(self, norm: float, point: Certificate, is_balanced: bool) -> float:
        """Return the gap of (VANISH.2) from an upper bound of ‖w(α)‖; any row may make α exactly feasible."""
        if self.svm.is_two_sided and not self.svm.beta(point.alpha).any():
            return 0.0  # a surplus goes to both rows of a sample, and β stays 0
        repaired = self.gap_bounder.find_feasible(point)
        if repaired is None:
            return math.inf
        change = sum(float(np.abs(end - point.alpha).sum()) for end in repaired.ends)
        norm = (norm + change * self.accuracy.max_norm) * FEW_ROUNDINGS if change else norm
        if norm == 0.0:
            return 0.0
        if self.points is None:
            return math.inf
        size = bound_zero_size(self.points, self._bound_sizes(self.svm.beta(point.alpha)), is_balanced)
        return (norm / size) ** 2 * FEW_ROUNDINGS if norm < size else math.inf

    def _find_intercepts(self, intercept: DualGroup | None) -> tuple[float, float]:
        """Return all b that are optimal for w = 0: 0, or if the bounds force 1ᵀα, a whole interval."""
        if intercept is None or not intercept.total:
            return 0.0, 0.0
        return levels.find_minimisers(self.svm, self.svm.parts[0], np.zeros(self.svm.m)) or (0.0, 0.0)

    def _find_zero_ball(self, point: Certificate) -> Certificate | None:
        """Return c = φ(x), R = 0, and α, (VANISH.4); None unless all samples are identical, bit for bit."""
        samples = self.space.samples
        if isinstance(self.space.kernel, Precomputed):  # a matrix K with all entries equal
            is_constant, dense = bool((self.space.X[0, 0] == self.space.X).all()), None
        else:
            dense = None if samples.entries > MAX_DOUBLE_DOUBLE_PRODUCTS else as_dense(samples.matrix())
            is_constant = dense is not None and self._is_constant(dense)
        if not is_constant or self.space.shift or not self.space.is_plain:
            return None
        level = float(self.svm.level.max(initial=-math.inf))
        levels_reached = np.full(self.svm.m, level)
        w = None if dense is None or point.w is None else self.space.to_row_weights(dense[:1][0])
        mu = 0.0 - level if w is None else -0.5 * float(w @ w)
        coef = np.zeros_like(point.coef)
        coef[int(np.argmax(point.alpha))] = 1.0  # φ(x) itself: a convex combination of copies would be rounded
        return point.replace(
            w=w, coef=coef, factor=1.0, offset=0.0, b=mu, level=mu,
            b_interval=(min(point.b_interval[0], mu), mu), primal=0.0, dual=0.0, yf=levels_reached,
            margin=levels_reached.copy(), gap=0.0, half_norm=-mu, evaluated=None, size=math.nan,
        )  # fmt: skip

    def _bound_sizes(self, beta: FloatArray) -> FloatArray:
        """Return |β| (n,) of the samples, from below, without the points of linear constraints."""
        constraints = self.svm.linear_constraints
        sizes = np.abs(beta if constraints is None else beta[: constraints.unconstrained_dual.n])
        return sizes * (1.0 - 4.0 * UNIT)

    def _bound_kernel_norm(self, beta: FloatArray, is_balanced: bool) -> float | None:
        """Return an upper bound of ‖w(α)‖ of a kernel machine, for β (n,); None if its square exceeds its rounding."""
        if self.points is None or not isinstance(self.space.kernel, (RBF, Polynomial)):
            return None
        size = bound_zero_size(self.points, self._bound_sizes(beta), is_balanced)
        zeros = np.zeros_like(beta)
        zero = Primal(None, zeros)
        norm: float | None = self.points.measure(zero, beta, zeros).distance
        rounding = math.sqrt(gamma(int(np.count_nonzero(beta)) + 2)) * size
        if not (norm is not None and norm <= rounding):
            norm = self.points.refine_distance(zero, beta, zeros)
        return norm if norm is not None and norm <= rounding else None

    def _bound_norm(self, beta: FloatArray) -> float | None:
        """Return an upper bound of ‖w(α)‖ of a linear machine; None if an entry of w(α) exceeds its rounding.

        The rounding is that of Σα_i|x_i − x̄|, with x̄ = 0 if 1ᵀβ is not 0, (VANISH.3).
        """
        sharp = self.sharp_rows.sum_points(beta)
        if sharp is None:
            return None
        support = np.flatnonzero(beta)
        rows, terms = self.space.samples.take(support), len(support)
        if not sp.csr_array(rows).count_nonzero():  # w(α) is 0 without any rounding
            return 0.0
        if self.svm.intercept is None or self.svm.intercept.total:
            constraints = self.svm.linear_constraints
            is_sample = 1.0 if constraints is None else support < constraints.unconstrained_dual.n
            size = abs(rows).T @ (is_sample * np.abs(beta[support]))
            return self._bound_rounding(sharp[0], sharp[1], size, terms, size == 0.0)
        mean = np.asarray(rows.sum(axis=0)).ravel() / max(terms, 1)  # β = 0: no rows
        surplus, error = sum_with_bound(beta)
        weights = sharp[0] - mean * surplus
        means = (mean, self.space.samples.means())  # that of the support, or of all rows if it is closer
        size = np.min([(np.abs(as_dense(rows) - centre).T @ np.abs(beta[support])) for centre in means], axis=0)
        radii = sharp[1] + np.abs(mean) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(weights)
        return self._bound_rounding(weights, radii, size, terms, _find_constant_columns(rows))

    @staticmethod
    def _bound_rounding(
        weights: FloatArray, radii: FloatArray, size: FloatArray, terms: int, is_constant: NDArray[np.bool_]
    ) -> float | None:
        """Bound ‖weights‖ from above, (d,) each; None if a weight exceeds the rounding of a sum of that size.

        is_constant (d,): The columns whose weight is 0 for any α, and only its evaluation is rounded.
        """
        if not (is_constant | (np.maximum(np.abs(weights), radii) <= gamma(terms + 2) * size)).all():
            return None
        return bound_norm(np.abs(weights) + radii) * FEW_ROUNDINGS

    def _find_nearest_alpha(self, point: Certificate) -> FloatArray:
        """Return the nearest α (m,) with w(α) = 0 that differs on free rows only, up to one linear correction.

        It is α itself if there are too many free rows, or if the correction would leave the box.
        """
        alpha, upper = point.alpha, self.svm.upper
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        exact = self.sharp_rows.sum_points(self.svm.beta(alpha))
        if exact is None or not 0 < len(free) * self.space.samples.d <= MAX_DOUBLE_DOUBLE_PRODUCTS // 100:
            return alpha
        Z = as_dense(self.space.samples.take(self.svm.find_samples(free))) * self.svm.sign[free][:, None]
        columns = np.concatenate([Z.T, *(part.column[free][None, :] for part in self.svm.parts)])
        surpluses = [sum_with_bound(part.column * alpha, -part.total, -part.low)[0] for part in self.svm.parts]
        residual = np.concatenate([exact[0], surpluses])
        step = np.linalg.lstsq(columns, -residual, rcond=None)[0]
        corrected = alpha.copy()
        corrected[free] += step
        return feasible(self.svm, corrected) if bool(((corrected >= 0.0) & (corrected <= upper)).all()) else alpha

    def _bound_by_equal_rows(self, beta: FloatArray) -> float | None:
        """Return the bound of (VANISH.5) for β (n,); None if it exceeds the rounding of Σ |β_i| ‖φ(x_i)‖."""
        support = np.flatnonzero(beta)
        if not len(support):
            return 0.0
        rows, beta_rows = self.space.samples.take(support), beta[support]
        has_plain_kernel = self.space.is_plain and not self.space.shift  # for a precomputed kernel, rows are those of K
        if rows.shape[0] * rows.shape[1] > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        if not has_plain_kernel:  # equal samples cancel, whatever was done to K
            has_samples = has_plain_kernel or not isinstance(self.space.kernel, Precomputed)
            return 0.0 if has_samples and self._is_constant(as_dense(rows)) else None
        ties = find_ties(rows)
        assert ties is not None
        length = np.sqrt(self.space.curvature(support)[ties.first_rows])
        groups = np.split(beta_rows[ties.order], ties.starts[1:])
        sums = np.array([abs(math.fsum(group.tolist())) for group in groups])
        is_centre = support[ties.order] == int(np.abs(beta).argmax())
        if is_centre.any():
            place = int(np.searchsorted(ties.starts, is_centre.argmax(), side="right")) - 1
            sums[place], length = 0.0, length + length[place]
        length_sum, size_sum = float(sums @ length), float(ties.sum_groups(np.abs(beta_rows)) @ length)
        rounding = gamma(len(support) + 2)
        return length_sum * (1.0 + rounding) * FEW_ROUNDINGS if length_sum <= rounding * size_sum else None

    def _is_constant(self, dense: FloatArray) -> bool:
        """Return whether all rows (k, d) are equal, bit for bit."""
        return bool((dense == dense[:1][:1]).all())


def _find_constant_columns(rows: Matrix) -> NDArray[np.bool_]:
    """Return the mask of the columns (d,) in which all rows (k, d) have the same number."""
    dense = as_dense(rows)
    return np.asarray((dense == dense[:1]).all(axis=0))
