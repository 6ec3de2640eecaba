"""Evaluate a certified point with more digits: kernel values, violations of rows, and w(α) (`SharpEvaluator`).

The point stays the same, except that w may become w(α): better known values only narrow its error bounds.
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
    """Evaluate points of one dual in double-double, or with the kernel values of a proof.

    sharp_rows: Values and w(α) of that dual in double-double.
    """

    def __init__(self, gap_bounder: GapBounder, sharp_rows: SharpRows) -> None:
        self.gap_bounder, self.sharp_rows = gap_bounder, sharp_rows
        self.svm, self.accuracy, self.space = gap_bounder.svm, gap_bounder.accuracy, gap_bounder.accuracy.space

    def refine_radii(self, point: Certificate) -> Certificate:
        """Bound the gap again with the kernel values of the contributing rows; return the better of both points."""
        rows, points = point.contributing, self.sharp_rows.points
        if rows is None or not len(rows) or self.svm.mix is not None or point.b != point.centred_b:
            return point
        if not isinstance(points, KernelSpace):
            return point
        samples = np.unique(self.svm.find_samples(rows))
        refined = self.gap_bounder.update_gap(self._evaluate_kernel(point, points, samples))
        return refined if refined.gap < point.gap else point

    def _evaluate_kernel(self, point: Certificate, points: KernelSpace, samples: IntArray) -> Certificate:
        """Return the point with f at some samples from the kernel values of a proof, with their error bounds.

        If the gap is relative to ‖w‖², f is also evaluated at all samples with a coefficient.
        """
        svm, support, half_norm = self.svm, point.coef.nonzero()[0], point.half_norm
        if self.gap_bounder.is_homogeneous:
            samples = np.union1d(samples, support)
        values = points.evaluate_kernel(point.coef, samples)
        u, is_evaluated = np.zeros(svm.n), np.zeros(svm.n, dtype=bool)
        radius = self.gap_bounder.bound_value_radii(point)
        u[samples], radius[samples], is_evaluated[samples] = values.high, values.radius * FEW_ROUNDINGS, True
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
        evaluated = None
        if point.intercepts is not None:
            evaluated = self.sharp_rows.evaluate_classes(rows, point.coef, point.w, point.intercepts)
        elif self.svm.mix is None or point.b == point.centred_b:  # otherwise, combinations of samples that were centred
            levels = self.svm.sign[rows] * point.margin[rows]
            evaluated = self.sharp_rows.evaluate(rows, point.coef, point.w, point.b, levels)
        if evaluated is None:
            return None
        values, value_radius = evaluated
        if self.svm.classes is None:  # several intercepts are part of what was evaluated
            value_radius = value_radius + self.svm.bound_margin_rounding(point.multipliers, rows)
        t, radius = self.gap_bounder.enclose_violations(point.replace(evaluated=None), slice(None))
        if self.svm.linear_constraints is not None:  # a linear constraint may be known without any rounding
            is_sharper = value_radius < radius[rows]
            rows, values, value_radius = rows[is_sharper], values[is_sharper], value_radius[is_sharper]
        return self._with_violations(point, (t, radius), rows, -self.svm.sign[rows] * values, value_radius)

    def _evaluate_ball(self, point: Certificate, w: FloatArray, rows: IntArray) -> Certificate | None:
        """Evaluate rows of a ball: t = ½(‖x − c‖² − R²) by differences of the caller's samples and centre."""
        square, square_radius = dot_with_bound(w, w, 2.0 * point.centred_b)
        evaluated = self.sharp_rows.evaluate_ball(rows, self.space.to_caller_weights(w), square)
        if evaluated is None:
            return None
        enclosure = self.gap_bounder.enclose_violations(point.replace(evaluated=None), slice(None))
        t_radius = evaluated[1] + 0.5 * square_radius + point.centred_b_radius
        return self._with_violations(point, enclosure, rows, evaluated[0], t_radius)

    @staticmethod
    def _with_violations(
        point: Certificate,
        enclosure: tuple[FloatArray, FloatArray],
        rows: IntArray,
        rows_t: FloatArray,
        rows_radius: FloatArray,
    ) -> Certificate:
        """Return the point with better violations and error bounds of some rows.

        enclosure: Violations and error bounds of all rows, (m,) each; changed in place.
        """
        t, radius = enclosure
        t[rows], radius[rows] = rows_t, rows_radius
        yf = point.yf.copy()
        yf[rows] = point.margin[rows] - t[rows]
        return point.replace(yf=yf, evaluated=EvaluatedViolations(t, radius))

    def refine_weights(self, point: Certificate) -> Certificate:
        """Evaluate ‖w − w(α)‖ in double-double, and replace w by w(α) if that reduces the gap."""
        if point.w is None or self.space.is_affine:  # a centre is as near as floats can be
            return point
        weights = self._evaluate_dual_weights(point.alpha)
        if weights is None:
            return point
        dual_w, radius = weights
        known = point.replace(weight_distance=bound_norm(point.w - dual_w), weight_distance_radius=radius)
        if self.gap_bounder.is_homogeneous and not (self.svm.has_curvature or self.svm.penalised_groups):
            known = known.replace(dual=-0.5 * point.unit * float(dual_w @ dual_w))
        if not known.weight_distance > 8.0 * UNIT * float(np.linalg.norm(dual_w)) or not np.isfinite(dual_w).all():
            return known
        u = self.svm.at_rows(self.space.rows.margins(dual_w))
        half = 0.5 * float(dual_w @ dual_w)
        other = known.replace(weight_distance=0.0, half_norm=half, evaluated=None)
        other = self.gap_bounder.update_gap(rescale(self.space, self.svm, other, u, dual_w, point.centred_b, 1.0))
        return other if other.gap < self.gap_bounder.update_gap(known).gap else known

    def _evaluate_dual_weights(self, alpha: FloatArray) -> tuple[FloatArray, float] | None:
        """Return w(α), (d,), and a bound of the norm of its error; None if too expensive. Shapes: alpha (m,)."""
        beta, rest, beta_radius = self.svm.beta(alpha), None, None
        if self.svm.mix is not None:
            beta, rest, beta_radius = combine_beta(self.svm, alpha)
        sums = self.sharp_rows.sum_points(beta, rest)
        if sums is None:
            return None
        w, radii = sums
        if self.space.origin is not None:  # of Σβ_i (x_i − origin); Σβ is not quite 0
            surplus, error = sum_with_bound(beta)
            w = w - self.space.origin * surplus
            radii = radii + np.abs(self.space.origin) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(w)
        radius = bound_norm(radii) * FEW_ROUNDINGS
        if beta_radius is not None:
            radius += float(beta_radius @ self.accuracy.bound_norms(np.arange(self.svm.n))) * FEW_ROUNDINGS
        return w, radius
