"""Move a certified point outwards by what its rounding may hide (`OutwardPush`).

The violation t of a row is only known up to its radius r (`GapBounder`), so a row on its margin may count as violated
by r, which adds Ur to the bound of the gap. It costs less to move the point until such rows are beyond their margin,
radius included: to scale (w, b) up, to lower ρ, to raise b or to widen a tube, whichever the machine permits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.certificate import Certificate, EvaluatedViolations
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.objectives import update_objectives
from qpsvm.bounds.point_moves import rescale, shift_multiplier
from qpsvm.bounds.sharp_evaluation import SharpEvaluator

#: Rows are pushed beyond their margin if they are violated by less than this share of it.
MAX_PUSHED_SHARE = 1e-3


class OutwardPush:
    """Pushes points of one dual outwards."""

    def __init__(self, gap_bounder: GapBounder, evaluator: SharpEvaluator) -> None:
        self.gap_bounder = gap_bounder
        self.evaluator = evaluator
        self.svm = gap_bounder.svm
        self.space = gap_bounder.accuracy.space
        self.is_homogeneous = gap_bounder.is_homogeneous
        svm = self.svm
        intercept, others = svm.intercept, svm.margin_groups
        #: Whether a larger b, or a wider tube, reduces every violation, at a cost of e per unit in (DUAL.3).
        self._can_raise_intercept = (
            intercept is not None
            and intercept.total > 0.0
            and not others
            and intercept.ridge == 0.0
            and bool((svm.sign > 0.0).all())
        )
        self._can_widen_tube = len(others) == 1 and others[0].total > 0.0 and find_common_value(others[0].column) == 1.0

    def push(self, point: Certificate) -> Certificate:
        """Return the point pushed outwards, with its gap, if that is smaller; else the point itself."""
        if point.contributing is None:
            pushed = None
        else:
            pushed = self._move(point, point.contributing)
        if pushed is None:
            return point
        pushed = self.gap_bounder.update_gap(pushed)
        if pushed.gap < point.gap:
            return update_objectives(self.gap_bounder, pushed)
        return point

    def _move(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Return the moved point, given the rows that contribute to the gap; None if it has no suitable move."""
        svm = self.svm
        if svm.has_curvature and svm.hard_rows is None:
            return None
        if self._can_raise_intercept:
            return self._raise_intercept(point, rows)
        if self._can_widen_tube:
            return self._widen_tube(point, rows)
        if self.is_homogeneous:
            return self._lower_rho(point, rows)
        if svm.is_scalable or svm.is_stretchable:
            return self._scale_up(point, rows)
        return None

    def _scale_up(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Scale (w, b) up."""
        svm = self.svm
        level = svm.level[rows]
        t, r = self.gap_bounder.enclose_violations(point, rows)
        if point.evaluated is None:  # `rescale` will round yf again
            rounding = 4.0 * UNIT * (np.abs(t) + abs(point.centred_b) + np.abs(point.margin[rows]))
            r = r + rounding + point.centred_b_radius
        near = self._find_near(rows, t + r, level)
        if not near.any():
            return None
        growth = float(((t + r) / (level - t - r))[near].max()) * FEW_ROUNDINGS  # s f is at least ℓ − t − r
        if point.intercepts is None:
            b = abs(point.b)
        else:
            b = float(np.abs(point.intercepts).max())
        growth += UNIT * (4.0 + b)  # the scaled numbers are rounded
        u = svm.sign * point.yf - point.centred_b
        pushed = rescale(self.space, svm, point, u, point.w, point.centred_b, 1.0 + growth)
        if point.evaluated is None:
            return pushed
        # with a kernel, support vectors whose radius has grown are evaluated again too
        if point.w is None:
            support = svm.at_rows(point.coef) != 0.0
        else:
            support = point.alpha < 0.0
        is_worse = point.evaluated.radius < self.gap_bounder.enclose_violations(pushed, slice(None))[1]
        rows = np.union1d(rows, np.flatnonzero(support & is_worse))
        return self.evaluator.evaluate_rows(pushed, rows) or pushed

    def _lower_rho(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Lower ρ, if it is the margin of all rows."""
        has_several_margins = len(point.margin) > 0 and find_common_value(point.margin) is None
        if has_several_margins or "rho" not in point.multipliers:
            return None
        t, r = self.gap_bounder.enclose_violations(point, rows)
        near = self._find_near(rows, t + r, point.margin[rows])
        if not near.any():
            return None
        rho = (point.rho - float((t + r)[near].max())) * (1.0 - 4.0 * UNIT)
        return shift_multiplier(self.svm, point, "rho", rho)

    def _find_near(self, rows: IntArray, largest: FloatArray, level: FloatArray) -> NDArray[np.bool_]:
        """Return a mask (r,) of the rows that nearly reach their level, given the upper bounds of their violations."""
        near = (largest > 0.0) & (largest < MAX_PUSHED_SHARE * level)
        hard = self.svm.hard_rows
        if hard is not None and (self.svm.has_curvature or not self.svm.is_scalable):  # other rows may be violated
            near &= hard[rows]
        return near

    def _raise_intercept(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Raise b."""
        is_ball = self.space.is_affine and point.w is not None  # of an SVDD, whose objective is of the size ½R²
        if is_ball:
            scale = self.gap_bounder.compute_half_square(point)
        else:
            scale = abs(point.centred_b)
        step = self._find_step(point, rows, scale, abs(point.centred_b))
        if step is None:
            return None
        u = self.svm.sign * point.yf - point.centred_b
        raised = rescale(self.space, self.svm, point, u, point.w, point.centred_b + step, 1.0)
        if point.evaluated is None:
            return raised
        t, radius = point.evaluated
        step = raised.centred_b - point.centred_b
        radius = radius + point.centred_b_radius + raised.centred_b_radius + 2.0 * UNIT * (np.abs(t) + abs(step))
        return raised.replace(evaluated=EvaluatedViolations(t - step, radius))

    def _widen_tube(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """Widen the tube."""
        name = self.svm.margin_groups[0].multiplier
        width = point.multipliers[name]
        step = self._find_step(point, rows, 0.0, np.abs(self.svm.level[rows]) + abs(width))
        if step is None:
            return None
        return shift_multiplier(self.svm, point, name, width + step)

    def _find_step(self, point: Certificate, rows: IntArray, scale: float, sizes: FloatArray | float) -> float | None:
        """Return the step of b, or of the tube, after which rows near their level are beyond it; None if none is near.

        scale: Violations are small compared with this number, or with the largest of them.
        sizes: Magnitudes of the terms of t other than the margin, whose rounding is added to the step.
        """
        t, r = self.gap_bounder.enclose_violations(point, rows)
        near = (t + r > 0.0) & (point.alpha[rows] < point.upper[rows])
        near &= t + r < MAX_PUSHED_SHARE * max(scale, float(np.abs(point.violation).max(initial=0.0)))
        if not near.any():
            return None
        size = np.abs(point.margin[rows]) + np.abs(t) + sizes
        rounding = 16.0 * (2.0 + point.n_moves) * UNIT * size
        return float((t + r + rounding)[near].max()) + 4.0 * point.centred_b_radius
