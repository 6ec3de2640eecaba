"""Evaluate a certified point with more digits: kernel values, violations of rows, and w(α) (`SharpEvaluator`)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.double_double import dot_with_bound, sum_with_bound
from qpsvm.base.arrays.rounding import FEW, UNIT, bound_norm
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certificate import Certificate, EvaluatedViolations
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.point_moves import rescale
from qpsvm.bounds.proof.kernels.points import KernelSpace
from qpsvm.bounds.sharp_rows import SharpRows, combine_beta


class SharpEvaluator:
    """Evaluates points of one dual in double-double, or with the kernel values of a proof.

    sharp_rows: Values and w(α) of that dual in double-double.
    """

    def __init__(self, gap_bounder: GapBounder, sharp_rows: SharpRows) -> None:
        self.gap_bounder, self.sharp_rows = gap_bounder, sharp_rows
        self.svm, self.accuracy, self.space = gap_bounder.svm, gap_bounder.accuracy, gap_bounder.accuracy.space

    def refine_radii(self, point: Certificate) -> Certificate:
        """Bound the point again with the kernel values of the contributing rows, if that helps."""
        rows, points = point.contributing, self.sharp_rows.points
        if rows is None or not len(rows) or self.svm.mix is not None or point.b != point.level:
            return point
        if not isinstance(points, KernelSpace):
            return point
        samples = np.unique(self.svm.find_samples(rows))
        refined = self.gap_bounder.update_gap(self._evaluate_kernel(point, points, samples))
        return refined if refined.gap < point.gap else point

    def _evaluate_kernel(self, point: Certificate, points: KernelSpace, samples: IntArray) -> Certificate:
        """Return the point with f at some samples from the kernel values of a proof, with their radii.

        Where the norm is all that the objective has, also at all samples with a coefficient.
        """
        svm, support, half_norm = self.svm, point.coef.nonzero()[0], point.half_norm
        if self.gap_bounder.is_homogeneous:
            samples = np.union1d(samples, support)
        values = points.evaluate_kernel(point.coef, samples)
        u, is_evaluated = np.zeros(svm.n), np.zeros(svm.n, dtype=bool)
        radius = self.gap_bounder.bound_value_radii(point)
        u[samples], radius[samples], is_evaluated[samples] = values.high, values.radius * FEW, True
        rows = np.flatnonzero(svm.at_rows(is_evaluated))
        yf = point.yf.copy()
        yf[rows] = svm.sign[rows] * (svm.at_rows(u)[rows] + point.level)
        if self.gap_bounder.is_homogeneous:
            half_norm = 0.5 * max(float(point.coef[support] @ u[support]), 0.0)
        return point.replace(yf=yf, value_radius=radius, half_norm=half_norm, evaluated=None)

    def evaluate_rows(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Evaluate y f at some rows in double-double."""
        if self.space.is_affine and point.w is not None:
            return self._evaluate_ball(point, point.w, rows)
        levels, numbers = self.svm.sign[rows] * point.margin[rows], (point.coef, point.w, point.b)
        found = None
        if point.intercepts is not None:
            found = self.sharp_rows.evaluate_classes(rows, point.coef, point.w, point.intercepts)
        elif self.svm.mix is None or point.b == point.level:  # otherwise, combinations of samples that were centred
            found = self.sharp_rows.evaluate(rows, *numbers, levels)
        if found is None:
            return None
        t, radius = self.gap_bounder.enclose_violations(point.replace(evaluated=None), slice(None))
        yf, off = point.yf.copy(), found[1]
        if self.svm.classes is None:  # whose intercepts are part of what was evaluated
            off = off + self.svm.bound_margin_rounding(point.multipliers, rows)
        if self.svm.linear_constraints is not None:  # a user's row may be known without any rounding
            sharper = off < radius[rows]
            rows, off, found = rows[sharper], off[sharper], (found[0][sharper], found[1][sharper])
        t[rows] = -self.svm.sign[rows] * found[0]
        radius[rows] = off
        yf[rows] = point.margin[rows] - t[rows]
        return point.replace(yf=yf, evaluated=EvaluatedViolations(t, radius))

    def _evaluate_ball(self, point: Certificate, w: FloatArray, rows: IntArray) -> Certificate | None:
        """Return the rows of a ball: t = ½(‖x − c‖² − R²) by differences of the caller's samples and centre."""
        square, off = dot_with_bound(w, w, 2.0 * point.level)
        found = self.sharp_rows.evaluate_ball(rows, self.space.to_caller_weights(w), square)
        if found is None:
            return None
        t, radius = self.gap_bounder.enclose_violations(point.replace(evaluated=None), slice(None))
        yf = point.yf.copy()
        t[rows] = found[0]
        radius[rows] = found[1] + 0.5 * off + point.level_radius
        yf[rows] = point.margin[rows] - t[rows]
        return point.replace(yf=yf, evaluated=EvaluatedViolations(t, radius))

    def refine_weights(self, point: Certificate) -> Certificate:
        """Evaluate ‖w − w(α)‖ in double-double precision, and take w(α) itself for w where that is nearer."""
        if point.w is None or self.space.is_affine:  # a centre is as near as floats can be
            return point
        beta, rest, spread = self.svm.beta(point.alpha), None, None
        if self.svm.mix is not None:
            beta, rest, spread = combine_beta(self.svm, point.alpha)
        found = self.sharp_rows.sum_points(beta, rest)
        if found is None:
            return point
        own, radii = found
        if self.space.origin is not None:  # Σβ is not quite 0: the surplus is repaired on a row, over `rows`
            surplus, error = sum_with_bound(beta)
            own = own - self.space.origin * surplus
            radii = radii + np.abs(self.space.origin) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(own)
        radius = bound_norm(radii) * FEW
        if spread is not None:
            radius += float(spread @ self.accuracy.bound_norms(np.arange(self.svm.n))) * FEW
        known = point.replace(offset=bound_norm(point.w - own), weight_radius=radius)
        if self.gap_bounder.is_homogeneous and not (self.svm.has_curvature or self.svm.penalised_groups):
            known = known.replace(dual=-0.5 * point.unit * float(own @ own))
        if not known.offset > 8.0 * UNIT * float(np.linalg.norm(own)) or not np.isfinite(own).all():
            return known
        u = self.svm.at_rows(self.space.rows.margins(own))
        half = 0.5 * float(own @ own)
        other = known.replace(offset=0.0, half_norm=half, evaluated=None)
        other = self.gap_bounder.update_gap(rescale(self.space, self.svm, other, u, own, point.level, 1.0))
        return other if other.gap < self.gap_bounder.update_gap(known).gap else known
