"""Bound the gap of the returned values with all rounding included, and improve them where rounding spoils it.

`GapBounder` bounds the gap of a point as it is. If rounding is a large part of that bound, `GapRefiner` tries, in turn:

1. error bounds of kernel values that are sharper than those known a priori (`sharp_evaluation`);
2. a push of (w, b) outwards by the error bound (`outward_push`), cheap if the classes are nearly separated;
3. an evaluation in double-double of the contributing rows, whose terms of the gap are not 0 (`sharp_evaluation`), and
   b at the median of the values that put a free one of them on its margin.

If the optimum may be w = 0, where a relative gap is undefined, that point is certified instead (`zero_optimum`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import sum_with_bound
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate, get_multiplier
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.objectives import update_objectives
from qpsvm.bounds.outward_push import OutwardPush
from qpsvm.bounds.point_moves import rescale
from qpsvm.bounds.sharp_evaluation import SharpEvaluator
from qpsvm.bounds.sharp_rows import SharpRows
from qpsvm.bounds.zero_optimum import ZeroOptimum
from qpsvm.program.svm_dual import SVMDual

#: Above this ‖w(α)‖, in units of its rounding error, w(α) of a kernel machine is surely not 0.
MAX_NORM_OF_ZERO = 10.0
#: Up to this ‖w‖, in units of Σ α_i ‖φ(x_i)‖, an explicit w may be nothing but rounding.
ROUNDING_NORM = 1e-12
#: Largest number of times that a point is evaluated in double-double and pushed.
MAX_REFINEMENTS = 3
#: P is evaluated again if the error of kernel values may be more than this share of it, for at most this many support
#: vectors: the errors of more cancel, and double-double takes a microsecond for each of their kernel values.
VISIBLE_ERROR, MAX_SUPPORT_VECTORS = 1e-9, 100
#: Rows are not evaluated in double-double if ½‖w − w(α)‖² is more than this share of the gap.
MAX_DISTANCE_SHARE = 0.5


class GapRefiner:
    """Bound the gaps of points of one dual, and move points until rounding costs little.

    equal (m,): As for `GapBounder`.
    """

    def __init__(self, accuracy: Accuracy, svm: SVMDual, equal: NDArray[np.bool_] | None = None) -> None:
        self.accuracy = accuracy
        self.svm = svm
        self.space = accuracy.space
        self.gap_bounder = GapBounder(accuracy, svm, equal)
        self._sharp_rows = SharpRows(accuracy.space, svm)
        self._evaluator = SharpEvaluator(self.gap_bounder, self._sharp_rows)
        self._outward = OutwardPush(self.gap_bounder, self._evaluator)
        self._is_homogeneous = self.gap_bounder.is_homogeneous
        self._last_zero_point: tuple[FloatArray | None, Certificate | None] = None, None  # by α: polish and bound ask

    def refine(self, certificate: Certificate, tol: float, has_time: Callable[[], bool] = lambda: True) -> Certificate:
        """Return the point, or one near it, with `gap` a bound that includes all rounding.

        has_time: Return whether there is time for more than the bound of the point itself.
        """
        if not math.isfinite(certificate.gap):
            return certificate
        refined = self._reduce_gap(certificate, tol, has_time)
        if refined.gap >= 1.0 and refined.primal > certificate.primal:  # such gaps prove nothing: the lower P counts
            refined = self.bound_gap(certificate)
        if self._is_homogeneous and refined.rho > 0.0:
            refined = update_objectives(self.gap_bounder, refined)
        elif self.space.is_affine and refined.w is not None and refined.primal:
            if self.space.origin is None:  # ‖x − c‖² may be the last digits of ‖x‖²
                refined = self._evaluator.evaluate_rows(refined, np.arange(self.svm.m)) or refined
            refined = update_objectives(self.gap_bounder, refined)  # from R², not from ½‖w‖² and μ
        elif self._may_round_objectives(refined) and has_time():
            refined = self._sharpen_objectives(refined)
        is_same = refined.yf is certificate.yf and refined.rho == certificate.rho
        return refined.replace(measured_gap=certificate.gap if is_same else self._measure_gap(refined))

    def bound_gap(self, point: Certificate) -> Certificate:
        """Return the unmoved point, with a gap that includes all rounding."""
        return self._evaluator.refine_radii(self.gap_bounder.update_gap(point))

    def find_zero_point(self, point: Certificate) -> Certificate | None:
        """Return the point with the value 0, (VANISH.1), if w(α) is negligible; otherwise None."""
        if not (self._is_homogeneous and self._compute_norm_in_roundings(point) <= 1.0):
            return None
        if self._last_zero_point[0] is not point.alpha or point.alpha.flags.writeable:
            self._last_zero_point = point.alpha, self._zero_optimum.find_zero_point(point)
        return self._last_zero_point[1]

    def is_rounding(self, point: Certificate) -> bool:
        """Return whether rounding α to doubles may change P − D of a kernel machine by as much as it is."""
        if self.space.is_linear or self.svm.classes is not None or not math.isfinite(point.primal):
            return False
        rounding = point.unit * self.accuracy.bound_change_by_rounding(self.svm.beta(point.alpha))
        return bool(point.measured_gap * max(abs(point.primal), abs(point.dual)) <= rounding)

    @cached
    def _zero_optimum(self) -> ZeroOptimum:
        """The search for a point of value 0, on first use."""
        return ZeroOptimum(self.gap_bounder, self._sharp_rows)

    def _reduce_gap(self, certificate: Certificate, tol: float, has_time: Callable[[], bool]) -> Certificate:
        """Return the point with the gap of (COUNT.4), improved until that is at most `tol`."""
        base = self._bound_first(certificate)
        if base.gap <= tol:
            return base
        if (zero_point := self.find_zero_point(base)) is not None:
            return zero_point
        if math.isinf(base.gap):  # a hard row may be violated: a push costs less than an evaluation with more digits
            pushed = self._outward.push(base)
            if pushed.gap <= tol:
                return pushed
        if has_time() or certificate.gap <= tol:
            base = self._evaluator.refine_radii(base)
        best = self._push_and_refine(base, tol, 2.0 * certificate.gap, has_time)
        if best.gap > tol and self._may_have_zero_point(best):
            return self._zero_optimum.find_zero_point(best) or best
        return best

    def _bound_first(self, certificate: Certificate) -> Certificate:
        """Return the point with the gap of (COUNT.4); for pairs of samples, from values in double-double.

        Pairs are differences of samples that may be far from the origin, so that plain floats have too few digits.
        """
        base = self.gap_bounder.update_gap(certificate)
        svm = self.svm
        if svm.mix is None or svm.classes is not None or base.w is None:
            return base
        evaluated = self._evaluator.evaluate_rows(self._evaluator.refine_weights(base), np.arange(svm.m))
        if evaluated is None:
            return base
        exact = update_objectives(self.gap_bounder, self.gap_bounder.update_gap(evaluated))
        if svm.linear_constraints is None or exact.gap < base.gap:
            return exact
        return base

    def _push_and_refine(
        self, base: Certificate, tol: float, min_gap: float, has_time: Callable[[], bool]
    ) -> Certificate:
        """Push the point outwards; while its gap is too large, evaluate its rows in double-double and push again.

        min_gap: A smaller gap of the point itself, before any push, is not refined: little of it is rounding.
        """
        best = self._outward.push(base)
        for _ in range(MAX_REFINEMENTS):
            if best.gap <= tol or base.gap <= min_gap or not has_time():
                break
            sharper = self._refine_rows(base)  # from before the push: the next push is by a smaller radius
            if sharper is None:
                break
            best = min(best, self._outward.push(self._outward.push(sharper)), key=lambda point: point.gap)
            if not sharper.gap < 0.5 * base.gap:
                break
            base = sharper
        return best

    def _refine_rows(self, point: Certificate) -> Certificate | None:
        """Evaluate the contributing rows in double-double, and move b to their margin; None if that is too slow."""
        rows = point.contributing
        if rows is None or not len(rows) or self._is_dominated_by_distance(point):
            return None
        refined = self._evaluator.refine_weights(point)
        if refined is not point:
            rows = self.gap_bounder.update_gap(refined).contributing
            assert rows is not None
        evaluated = None
        if point.w is None:  # ‖w‖² needs the support
            support = np.union1d(rows, np.flatnonzero(point.alpha))
            evaluated = self._evaluator.evaluate_rows(refined, support)
            rows = rows if evaluated is None else support
        evaluated = evaluated or self._evaluator.evaluate_rows(refined, rows)
        if evaluated is None:
            return None
        evaluated = self.gap_bounder.update_gap(evaluated)
        if self.space.computed_intercept == "free" and not self._is_homogeneous and self.svm.classes is None:
            evaluated = self._move_intercept(evaluated, rows)
        return update_objectives(self.gap_bounder, evaluated)

    def _is_dominated_by_distance(self, point: Certificate) -> bool:
        """Return whether ½‖w − w(α)‖², of a w over few samples, is most of the gap: no evaluation reduces it."""
        if point.sparse_coef is None:
            return False
        half_square = 0.5 * self.gap_bounder.bound_weight_distance(point) ** 2
        return half_square > MAX_DISTANCE_SHARE * point.gap * point.primal / point.unit

    def _move_intercept(self, point: Certificate, rows: IntArray) -> Certificate:
        """Return the evaluated point, with b at the median of those that fit a free row among `rows`, if better."""
        svm = self.svm
        free = rows[(point.alpha[rows] > 0.0) & (point.alpha[rows] < point.upper[rows])]
        if not len(free):
            return point
        violation, _ = self.gap_bounder.enclose_violations(point, free)
        shifts = svm.sign[free] * (violation - svm.curvature[free] * point.alpha[free])  # of f
        u = svm.sign * point.yf - point.centred_b  # f − b
        shifted = rescale(self.space, svm, point, u, point.w, point.centred_b + float(np.median(shifts)), 1.0)
        evaluated = self._evaluator.evaluate_rows(shifted, rows)
        moved = point if evaluated is None else self.gap_bounder.update_gap(evaluated)
        return moved if moved.gap < point.gap else point

    def _may_round_objectives(self, point: Certificate) -> bool:
        """Return whether the a-priori error of kernel values is more than `VISIBLE_ERROR` of P, through ½‖w‖²."""
        is_dual_point = point.w is None and point.sparse_coef is None and point.evaluated is None
        if not is_dual_point or np.count_nonzero(point.coef) > MAX_SUPPORT_VECTORS:
            return False
        error = 0.5 * point.unit * float(np.abs(point.coef) @ self.gap_bounder.bound_value_radii(point))
        return error > VISIBLE_ERROR * abs(point.primal)

    def _sharpen_objectives(self, point: Certificate) -> Certificate:
        """Return the point with P and D from f at all support vectors in double-double, unless that is too slow."""
        evaluated = self._evaluator.evaluate_rows(point, np.flatnonzero(point.alpha))
        if evaluated is None:
            return point
        evaluated = self.gap_bounder.update_gap(evaluated)
        if evaluated.gap <= point.gap:
            return update_objectives(self.gap_bounder, evaluated)
        return point

    def _compute_norm_in_roundings(self, point: Certificate) -> float:
        """Return ‖w‖, in units of the rounding error that it has if w is 0."""
        size, terms = self.accuracy.bound_norm_sum(point.coef)
        rounding = ROUNDING_NORM if point.w is not None else math.sqrt(gamma(terms + 2))  # without w, ‖w‖² is rounded
        norm = math.sqrt(2.0 * max(point.half_norm, 0.0))
        return norm / (rounding * size) if norm else 0.0

    def _may_have_zero_point(self, point: Certificate) -> bool:
        """Return whether to search for a point of value 0, for which a kernel needs all values of support vectors."""
        if not (self._is_homogeneous or self.space.is_affine):
            return False
        has_dual_weights = point.w is None and point.sparse_coef is None and not self.space.is_affine
        return not has_dual_weights or self._compute_norm_in_roundings(point) <= MAX_NORM_OF_ZERO

    def _measure_gap(self, point: Certificate) -> float:
        """Return the gap without the part that bounds rounding."""
        rows = point.contributing
        if rows is None or not math.isfinite(point.gap):
            return point.gap
        t = self.gap_bounder.enclose_violations(point, rows)[0]
        terms = self.gap_bounder.sum_terms_of_rows(point, rows, t, np.zeros_like(t))
        difference = 0.5 * point.weight_distance * point.weight_distance + terms
        for group in self.svm.penalised_groups:
            slope = (sum_with_bound(point.alpha * group.column)[0] - group.total) / group.ridge
            excess = get_multiplier(point, group) - slope
            difference += 0.5 * group.ridge * excess * excess
        if math.isnan(point.size):
            size = self.gap_bounder.bound_gap(point).size
        else:
            size = point.size
        return min(difference / size, point.gap) if size > 0.0 else point.gap
