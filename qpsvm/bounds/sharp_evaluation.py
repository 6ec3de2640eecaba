"""Compute f, the violations t and w(α) of a certified point with smaller error bounds (`SharpEvaluator`).

α and b do not change, and w changes only in `refine_weights`. The gap falls because it contains these error bounds.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.double_double import dot_with_bound, sum_with_bound
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, bound_norm
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certificate import Certificate, EvaluatedViolations
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.point_moves import rescale
from qpsvm.bounds.proof.kernels.points import KernelSpace
from qpsvm.bounds.sharp_rows import SharpRows, combine_beta


class SharpEvaluator:
    """Evaluate certified points of one dual in double-double, or with kernel values that have individual error bounds.

    A sample is one of the n vectors x_i, a row one of the m constraints of the dual. `SVMDual.at_rows` takes values at
    the samples, (n,), to the rows, (m,). t_k = m_k − s_k f is the violation of row k, as in `certificate`.

    sharp_rows: Evaluates rows and w(α) of that dual in double-double.
    """

    def __init__(self, gap_bounder: GapBounder, sharp_rows: SharpRows) -> None:
        self.gap_bounder, self.sharp_rows = gap_bounder, sharp_rows
        self.space = gap_bounder.accuracy.space
        self.accuracy = gap_bounder.accuracy
        self.svm = gap_bounder.svm

    def refine_radii(self, point: Certificate) -> Certificate:
        """Evaluate f of a kernel machine at the contributing rows with smaller radii, if that reduces the gap."""
        rows = point.contributing
        kernel_space = self.sharp_rows.points
        if rows is None or not len(rows) or not isinstance(kernel_space, KernelSpace):
            return point
        if self.svm.mix is not None:  # rows that combine samples have only a-priori bounds, not those of their samples
            return point
        if point.b != point.centred_b:  # α and f are those of centred samples, but kernel_space has the caller's
            return point
        samples = np.unique(self.svm.find_samples(rows))
        refined = self.gap_bounder.update_gap(self._evaluate_samples(point, kernel_space, samples))
        return refined if refined.gap < point.gap else point

    def _evaluate_samples(self, point: Certificate, kernel_space: KernelSpace, samples: IntArray) -> Certificate:
        """Return the point with f and its error bounds at some samples evaluated in a kernel space.

        The gap of a homogeneous dual, `GapBounder.is_homogeneous`, is relative to |D|, which contains ½‖w‖² = ½cᵀKc.
        Then f is evaluated at the support, the samples with c_i ≠ 0, too. Shapes: samples (k,).
        """
        svm = self.svm
        support = point.coef.nonzero()[0]
        half_norm = point.half_norm
        if self.gap_bounder.is_homogeneous:
            samples = np.union1d(samples, support)
        values = kernel_space.evaluate_kernel(point.coef, samples)
        u = np.zeros(svm.n)  # u = Kc
        is_evaluated = np.zeros(svm.n, dtype=bool)
        u[samples] = values.high
        is_evaluated[samples] = True
        radius = self.gap_bounder.bound_value_radii(point)
        radius[samples] = values.radius * FEW_ROUNDINGS
        rows = np.flatnonzero(svm.at_rows(is_evaluated))
        yf = point.yf.copy()
        yf[rows] = svm.sign[rows] * (svm.at_rows(u)[rows] + point.centred_b)
        if self.gap_bounder.is_homogeneous:
            half_norm = 0.5 * max(float(point.coef[support] @ u[support]), 0.0)
        return point.replace(yf=yf, value_radius=radius, half_norm=half_norm, evaluated=None)

    def evaluate_rows(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Evaluate y f and the violations at some rows in double-double; None if too expensive."""
        if self.space.is_affine and point.w is not None:
            return self._evaluate_ball(point, point.w, rows)
        if point.intercepts is not None:
            evaluated = self.sharp_rows.evaluate_classes(rows, point.coef, point.w, point.intercepts)
        elif self.svm.mix is not None and point.b != point.centred_b:
            return None  # samples were centred: one b in the caller's coordinates suits only rows with Σ_i A_ki = 1
        else:
            levels = self.svm.sign[rows] * point.margin[rows]
            evaluated = self.sharp_rows.evaluate(rows, point.coef, point.w, point.b, levels)
        if evaluated is None:
            return None
        values, value_radius = evaluated  # f − s m, or f_y − f_c − m of several classes
        if self.svm.classes is None:  # with several classes, m is exact
            value_radius = value_radius + self.svm.bound_margin_rounding(point.multipliers, rows)
        enclosure = self._enclose_a_priori(point)
        if self.svm.linear_constraints is not None:  # t of a linear constraint may be known exactly already
            is_sharper = value_radius < enclosure.radius[rows]
            rows = rows[is_sharper]
            values = values[is_sharper]
            value_radius = value_radius[is_sharper]
        rows_t = -self.svm.sign[rows] * values  # t = m − s f = −s(f − s m)
        return self._replace_violations(point, enclosure, rows, rows_t, value_radius)

    def _evaluate_ball(self, point: Certificate, w: FloatArray, rows: IntArray) -> Certificate | None:
        """Evaluate rows of a ball, t = ½(‖x − c‖² − R²), where c = w, b = μ and R² = ‖w‖² + 2μ.

        ‖x − c‖² comes from differences of the caller's samples and centre. An error of μ counts once, as ½·2μ = μ.
        """
        R_squared, R_squared_error = dot_with_bound(w, w, 2.0 * point.centred_b)
        evaluated = self.sharp_rows.evaluate_ball(rows, self.space.to_caller_weights(w), R_squared)
        if evaluated is None:
            return None
        rows_t, rows_radius = evaluated
        rows_radius = rows_radius + 0.5 * R_squared_error + point.centred_b_radius
        return self._replace_violations(point, self._enclose_a_priori(point), rows, rows_t, rows_radius)

    def _enclose_a_priori(self, point: Certificate) -> EvaluatedViolations:
        """Return the violations of all rows from yf and their a-priori error bounds, (m,) each, as new arrays."""
        return EvaluatedViolations(*self.gap_bounder.enclose_violations(point.replace(evaluated=None), slice(None)))

    @staticmethod
    def _replace_violations(
        point: Certificate, enclosure: EvaluatedViolations, rows: IntArray, rows_t: FloatArray, rows_radius: FloatArray
    ) -> Certificate:
        """Return the point with the violations of `enclosure`, but those given at some rows, (r,) each."""
        enclosure.t[rows], enclosure.radius[rows] = rows_t, rows_radius
        yf = point.yf.copy()
        yf[rows] = point.margin[rows] - rows_t
        return point.replace(yf=yf, evaluated=enclosure)

    def refine_weights(self, point: Certificate) -> Certificate:
        """Return the point with ‖w − w(α)‖ from double-double, and w replaced by w(α) if that reduces the gap."""
        if point.w is None or self.space.is_affine:  # the centre of a ball is w(α), up to the rounding of its floats
            return point
        weights = self._evaluate_dual_weights(point.alpha)
        if weights is None:
            return point
        dual_w, radius = weights
        measured = point.replace(weight_distance=bound_norm(point.w - dual_w), weight_distance_radius=radius)
        if self.gap_bounder.is_homogeneous and not self.svm.has_curvature and not self.svm.penalised_groups:
            measured = measured.replace(dual=-0.5 * point.unit * float(dual_w @ dual_w))  # D has no other term
        rounding = 8.0 * UNIT * float(np.linalg.norm(dual_w))  # a closer w is as good as w(α)
        if not measured.weight_distance > rounding or not np.isfinite(dual_w).all():  # `not >` as either may be NaN
            return measured
        u = self.svm.at_rows(self.space.rows.margins(dual_w))
        half_norm = 0.5 * float(dual_w @ dual_w)
        replaced = measured.replace(weight_distance=0.0, half_norm=half_norm, evaluated=None)
        replaced = rescale(self.space, self.svm, replaced, u=u, w=dual_w, b=point.centred_b, factor=1.0)  # f = u + b
        replaced = self.gap_bounder.update_gap(replaced)
        return replaced if replaced.gap < self.gap_bounder.update_gap(measured).gap else measured

    def _evaluate_dual_weights(self, alpha: FloatArray) -> tuple[FloatArray, float] | None:
        """Return w(α), (d,), and a bound of the norm of its error; None if too expensive. Shapes: alpha (m,)."""
        beta = self.svm.beta(alpha)
        rest = None
        beta_radius = None
        if self.svm.mix is not None:
            beta, rest, beta_radius = combine_beta(self.svm, alpha)
        sums = self.sharp_rows.sum_points(beta, rest)
        if sums is None:
            return None
        w, radii = sums
        if self.space.origin is not None:  # w(α) = Σβ_i (x_i − o) = Σβ_i x_i − oΣβ_i, and Σβ_i ≠ 0 by rounding
            surplus, error = sum_with_bound(beta)
            w = w - self.space.origin * surplus
            # the product is off by u|oΣβ_i| and the difference by u|w|; 4u and 2u cover the rounding of the bound too
            radii = radii + np.abs(self.space.origin) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(w)
        radius = bound_norm(radii) * FEW_ROUNDINGS
        if beta_radius is not None:
            radius += float(beta_radius @ self.accuracy.bound_norms(np.arange(self.svm.n))) * FEW_ROUNDINGS
        return w, radius
