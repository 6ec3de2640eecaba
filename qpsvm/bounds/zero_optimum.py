"""Certify an optimal value of 0, for which a relative gap is undefined (`ZeroOptimum`).

If the reduced hulls of a ν-SVM meet, or the origin is in the reduced hull of a one-class SVM, some feasible α has
w(α) = 0. If the computed w(α) may be nothing but rounding error, the point w = 0 is certified, with a gap relative to
the size S of the terms of w(α) instead of the value:

    (VANISH.1)  w = 0, b = 0, ρ = 0 is feasible with the value 0, and optimal if some feasible α has w(α) = 0
    (VANISH.2)  its gap is ½‖w(α)‖² relative to ½S², (ZERO.2), as in a proof
    (VANISH.3)  for a ν-SVM, 1ᵀβ = 0, so the samples may be centred to bound the rounding; for a one-class SVM, 1ᵀβ > 0,
                so they may not, nor with linear constraints, whose bounds are 0
    (VANISH.5)  if 1ᵀβ = 0 and the β of the rows equal to x_g add up to σ_g, w(α) = Σ σ_g (φ(x_g) − φ(x_c)) for any c,
                so that σ_c does not matter:  ‖w(α)‖ ≤ Σ_{g ≠ c} |σ_g| (‖φ(x_g)‖ + ‖φ(x_c)‖)

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
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds import levels
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.proof.exact_dual import Primal
from qpsvm.bounds.proof.zero import MAX_ZERO_GAP, bound_zero_size
from qpsvm.bounds.repair import make_feasible
from qpsvm.bounds.sharp_rows import SharpRows
from qpsvm.program.svm_dual import DualGroup
from qpsvm.space.kernels.functions import RBF, Polynomial, Precomputed


class ZeroOptimum:
    """Tests whether w vanishes at points of one dual.

    sharp_rows: Values and w(α) of that dual in double-double.
    """

    def __init__(self, gap_bounder: GapBounder, sharp_rows: SharpRows) -> None:
        self.sharp_rows = sharp_rows
        self.proof_space = sharp_rows.points
        self.gap_bounder = gap_bounder
        self.accuracy = gap_bounder.accuracy
        self.svm = gap_bounder.svm
        self.space = self.accuracy.space

    def find_zero_point(self, point: Certificate) -> Certificate | None:
        """Return w = 0, b = 0, ρ = 0, or a ball with R = 0, with an α that proves it optimal; None if none is found."""
        if self.space.is_affine:
            return self._find_zero_ball(point)
        if not self._can_vanish(point):
            return None
        intercept = self.svm.intercept
        beta = self.svm.beta(point.alpha)
        is_balanced = intercept is not None and not intercept.total  # 1ᵀβ = 0
        norm = self._bound_by_equal_rows(beta) if is_balanced else None
        size = None if norm == 0.0 else self._bound_size(beta, is_balanced)
        if norm is None and point.w is None:
            norm = self._bound_kernel_norm(beta, size)
        elif norm is None:
            norm = self._bound_norm(beta)
            if norm is None:  # try an α nearby
                point = point.replace(alpha=self._find_nearest_alpha(point))
                beta = self.svm.beta(point.alpha)
                norm = self._bound_norm(beta)
                size = self._bound_size(beta, is_balanced)
        if norm is None:
            return None
        gap = self._bound_relative_gap(norm, point, size)
        if not gap <= MAX_ZERO_GAP:
            return None
        zeros = np.zeros_like(point.yf)
        return point.replace(
            w=None if point.w is None else np.zeros_like(point.w), coef=np.zeros_like(point.coef), b=0.0,
            b_interval=self._find_intercepts(intercept), multipliers=dict.fromkeys(point.multipliers, 0.0),
            margin=np.zeros_like(point.yf), centred_b=0.0, primal=0.0, dual=-0.5 * point.unit * norm * norm, yf=zeros,
            gap=gap, half_norm=0.0, evaluated=None, size=math.nan,
        )  # fmt: skip

    def _can_vanish(self, point: Certificate) -> bool:
        """Return whether (VANISH.1) applies to the machine, and the bounds below to the point."""
        svm = self.svm
        intercept = svm.intercept
        if svm.has_curvature or svm.penalised_groups:
            return False
        if svm.linear_constraints is not None:
            return point.w is not None and svm.mix is None
        return intercept is not None and not (intercept.total and svm.margin_groups)  # 1ᵀβ = 0, or b = −ρ

    def _bound_relative_gap(self, norm: float, point: Certificate, size: float | None) -> float:
        """Return the gap of (VANISH.2) at an exactly feasible α near that of the point, which has ‖w(α)‖ ≤ norm.

        size: S, from below; None if it is unknown.
        """
        if self.svm.is_two_sided and not self.svm.beta(point.alpha).any():
            return 0.0  # feasible by changing both α of a sample equally, which keeps β = 0
        repaired = self.gap_bounder.find_feasible(point)
        if repaired is None:
            return math.inf
        change = sum(float(np.abs(end - point.alpha).sum()) for end in repaired.ends)
        if change:
            norm = (norm + change * self.accuracy.max_norm) * FEW_ROUNDINGS
        if norm == 0.0:
            return 0.0
        if size is not None and norm < size:
            return (norm / size) ** 2 * FEW_ROUNDINGS
        return math.inf

    def _find_intercepts(self, intercept: DualGroup | None) -> tuple[float, float]:
        """Return the interval of all b optimal for w = 0: {0}, unless 1ᵀα is fixed to a positive total."""
        if intercept is None or not intercept.total:
            return 0.0, 0.0
        return levels.find_minimisers(self.svm, self.svm.parts[0], np.zeros(self.svm.m)) or (0.0, 0.0)

    def _find_zero_ball(self, point: Certificate) -> Certificate | None:
        """Return c = φ(x), R = 0, and α, (VANISH.4); None unless all samples are identical, bit for bit."""
        samples = self.space.samples
        dense = None
        if isinstance(self.space.kernel, Precomputed):  # a matrix K with all entries equal
            is_constant = bool((self.space.X[0, 0] == self.space.X).all())
        else:
            if samples.entries > MAX_DOUBLE_DOUBLE_PRODUCTS:
                dense = None
            else:
                dense = as_dense(samples.matrix())
            is_constant = dense is not None and _has_equal_rows(dense)
        if not is_constant or self.space.shift or not self.space.is_plain:
            return None
        level = float(self.svm.level.max(initial=-math.inf))
        yf = np.full(self.svm.m, level)
        if dense is None or point.w is None:
            w = None
        else:
            w = self.space.to_row_weights(dense[:1][0])
        mu = 0.0 - level if w is None else -0.5 * float(w @ w)
        coef = np.zeros_like(point.coef)
        coef[int(np.argmax(point.alpha))] = 1.0  # φ(x) itself: a convex combination of copies would be rounded
        return point.replace(
            w=w, coef=coef, factor=1.0, weight_distance=0.0, b=mu, centred_b=mu,
            b_interval=(min(point.b_interval[0], mu), mu), primal=0.0, dual=0.0, yf=yf,
            margin=yf.copy(), gap=0.0, half_norm=-mu, evaluated=None, size=math.nan,
        )  # fmt: skip

    def _bound_size(self, beta: FloatArray, is_balanced: bool) -> float | None:
        """Return a lower bound of S of (VANISH.2) for β (n,), without the points of linear constraints, if known."""
        if self.proof_space is None:
            return None
        constraints = self.svm.linear_constraints
        sizes = np.abs(beta if constraints is None else beta[: constraints.unconstrained_dual.n])
        return bound_zero_size(self.proof_space, sizes * (1.0 - 4.0 * UNIT), is_balanced)

    def _bound_kernel_norm(self, beta: FloatArray, size: float | None) -> float | None:
        """Return an upper bound of ‖w(α)‖ of a kernel machine, for β (n,); None if its square exceeds its rounding.

        size: S of (VANISH.2), from below; None if it is unknown.
        """
        if self.proof_space is None or size is None or not isinstance(self.space.kernel, (RBF, Polynomial)):
            return None
        zeros = np.zeros_like(beta)
        zero_point = Primal(None, zeros)
        norm: float | None = self.proof_space.measure(zero_point, beta, zeros).distance
        rounding = math.sqrt(gamma(int(np.count_nonzero(beta)) + 2)) * size
        if not (norm is not None and norm <= rounding):
            norm = self.proof_space.refine_distance(zero_point, beta, zeros)
        return norm if norm is not None and norm <= rounding else None

    def _bound_norm(self, beta: FloatArray) -> float | None:
        """Return an upper bound of ‖w(α)‖ of a linear machine; None if an entry of w(α) exceeds its rounding.

        The rounding is that of Σ|β_i||x_i − x̄|, with x̄ = 0 if 1ᵀβ is not 0, (VANISH.3).
        """
        sharp_w = self.sharp_rows.sum_points(beta)
        if sharp_w is None:
            return None
        w, radii = sharp_w
        support = np.flatnonzero(beta)
        rows = self.space.samples.take(support)
        terms = len(support)
        if not sp.csr_array(rows).count_nonzero():  # w(α) is 0 without any rounding
            return 0.0
        if self.svm.intercept is None or self.svm.intercept.total:
            constraints = self.svm.linear_constraints
            is_sample = 1.0 if constraints is None else support < constraints.unconstrained_dual.n
            size = abs(rows).T @ (is_sample * np.abs(beta[support]))
            return _bound_rounding(w, radii, size, terms, size == 0.0)
        mean = np.asarray(rows.sum(axis=0)).ravel() / max(terms, 1)  # β = 0: no rows
        surplus, error = sum_with_bound(beta)
        centred_w = w - mean * surplus
        centres = (mean, self.space.samples.means())  # that of the support, or of all rows if it is closer
        size = np.min([(np.abs(as_dense(rows) - centre).T @ np.abs(beta[support])) for centre in centres], axis=0)
        radii = radii + np.abs(mean) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(centred_w)
        return _bound_rounding(centred_w, radii, size, terms, _find_constant_columns(as_dense(rows)))

    def _find_nearest_alpha(self, point: Certificate) -> FloatArray:
        """Return the nearest α (m,) with w(α) = 0 that differs on free rows only, up to one linear correction.

        It is α itself if there are too many free rows, or if the correction would leave the box.
        """
        alpha = point.alpha
        upper = self.svm.upper
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        sharp_w = self.sharp_rows.sum_points(self.svm.beta(alpha))
        if sharp_w is None or not 0 < len(free) * self.space.samples.d <= MAX_DOUBLE_DOUBLE_PRODUCTS // 100:
            return alpha
        Z = as_dense(self.space.samples.take(self.svm.find_samples(free))) * self.svm.sign[free][:, None]
        columns = np.concatenate([Z.T, *(part.column[free][None, :] for part in self.svm.parts)])
        surpluses = [sum_with_bound(part.column * alpha, -part.total, -part.low)[0] for part in self.svm.parts]
        residual = np.concatenate([sharp_w[0], surpluses])
        step = np.linalg.lstsq(columns, -residual, rcond=None)[0]
        corrected = alpha.copy()
        corrected[free] += step
        if bool(((corrected >= 0.0) & (corrected <= upper)).all()):
            return make_feasible(self.svm, corrected)
        return alpha

    def _bound_by_equal_rows(self, beta: FloatArray) -> float | None:
        """Return the bound of (VANISH.5) for β (n,); None if it exceeds the rounding of Σ |β_i| ‖φ(x_i)‖."""
        support = np.flatnonzero(beta)
        if not len(support):
            return 0.0
        rows = self.space.samples.take(support)  # rows of K for a precomputed kernel
        beta_rows = beta[support]
        if rows.shape[0] * rows.shape[1] > MAX_DOUBLE_DOUBLE_PRODUCTS:
            return None
        if not self.space.is_plain or self.space.shift:  # equal samples cancel, whatever was done to K
            has_samples = not isinstance(self.space.kernel, Precomputed)
            if has_samples and _has_equal_rows(as_dense(rows)):
                return 0.0
            return None
        ties = find_ties(rows)
        assert ties is not None
        lengths = np.sqrt(self.space.curvature(support)[ties.first_rows])
        groups = np.split(beta_rows[ties.order], ties.starts[1:])
        sums = np.array([abs(math.fsum(group.tolist())) for group in groups])
        is_centre = support[ties.order] == int(np.abs(beta).argmax())
        centre = int(np.searchsorted(ties.starts, is_centre.argmax(), side="right")) - 1
        sums[centre] = 0.0
        lengths = lengths + lengths[centre]
        bound = float(sums @ lengths)
        size = float(ties.sum_groups(np.abs(beta_rows)) @ lengths)
        rounding = gamma(len(support) + 2)
        if bound <= rounding * size:
            return bound * (1.0 + rounding) * FEW_ROUNDINGS
        return None


def _bound_rounding(
    w: FloatArray, radii: FloatArray, size: FloatArray, terms: int, is_constant: NDArray[np.bool_]
) -> float | None:
    """Return an upper bound of ‖w‖, for w ± radii (d,); None if an entry exceeds the rounding of a sum of this size.

    is_constant (d,): The columns whose weight is 0 for any α, and only its evaluation is rounded.
    """
    if not (is_constant | (np.maximum(np.abs(w), radii) <= gamma(terms + 2) * size)).all():
        return None
    return bound_norm(np.abs(w) + radii) * FEW_ROUNDINGS


def _find_constant_columns(dense: FloatArray) -> NDArray[np.bool_]:
    """Return the mask of the columns (d,) in which all rows (k, d) are equal, bit for bit."""
    return np.asarray((dense == dense[:1]).all(axis=0))


def _has_equal_rows(dense: FloatArray) -> bool:
    """Return whether all rows (k, d) are equal, bit for bit."""
    return bool(_find_constant_columns(dense).all())
