"""Bound the gap of the returned values with all rounding included, and improve them where rounding spoils it.

`GapBounder` bounds the gap of a point as it is. Where the rounding in it spoils a good point, four things help. Kernel
values that are nearly 0 are known better than others. (w, b) is pushed outwards by as much as the radius, which costs
little where the classes are all but separated. The rows that matter are evaluated again in double-double precision.
And w and b are rounded from that. What then remains, hardly any pair of floats (w, b) does away with.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import dot_with_bound, sum_with_bound
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.rounding import FEW, UNIT, bound_norm, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate, EvaluatedViolations, multiplier
from qpsvm.bounds.class_space import build_plane
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.proof.kernels.points import KernelSpace
from qpsvm.bounds.sharp_rows import SharpRows, combine_beta
from qpsvm.bounds.zero_optimum import ZeroOptimum
from qpsvm.program.losses import compute_loss, find_block_maximum
from qpsvm.program.svm_dual import SVMDual

#: Slacks up to this share of the margin are closed by pushing the plane outwards by as much, never larger ones.
PUSHABLE = 1e-3
#: ‖w − w(α)‖ in units of ‖w‖ up to which w stands for w(α) where the values of a ν-SVM are printed.
NEAR_DISTANCE = 1e-7
#: ‖w‖ in units of Σ α_i ‖φ(x_i)‖ up to which it may be rounding: sums of so many terms have no more digits.
ROUNDING_NORM = 1e-12
#: A gap of a ν-SVM above this, of which rounding may be a large part, says less about P than P as computed.
WIDE_GAP = 0.1
#: How often a point is pushed, and evaluated in double-double precision.
TRIES = 3
#: Share of the gap that ½‖w − w(α)‖² may be where rows are evaluated in double-double precision.
HOPELESS = 0.5


class GapRefiner:
    """Bounds the gaps of points of one dual, and moves points until rounding costs little.

    equal (m,): As for `GapBounder`.
    """

    def __init__(self, accuracy: Accuracy, svm: SVMDual, equal: NDArray[np.bool_] | None = None) -> None:
        self.accuracy, self.svm, self.space = accuracy, svm, accuracy.space
        self.gap_bounder, self.sharp_rows = GapBounder(accuracy, svm, equal), SharpRows(accuracy.space, svm)
        self.is_homogeneous = self.gap_bounder.is_homogeneous
        intercept = svm.intercept  # whether a larger b reduces every violation, at a cost in P
        self.can_raise_intercept = (
            intercept is not None and intercept.total > 0.0 and not svm.margin_groups and intercept.ridge == 0.0
        )
        self.can_raise_intercept = self.can_raise_intercept and bool((svm.sign > 0.0).all())
        others = svm.margin_groups  # whether a wider tube does, at a cost in P
        self.can_widen_tube = len(others) == 1 and others[0].total > 0.0
        self.can_widen_tube = self.can_widen_tube and find_common_value(others[0].column) == 1.0

    def refine(self, certificate: Certificate, tol: float, patient: Callable[[], bool] = lambda: True) -> Certificate:
        """Return the point, or one near it, with `gap` a bound that includes all rounding.

        patient: Return whether there is time for more than the bound of the point itself.
        """
        if not math.isfinite(certificate.gap):
            return certificate
        refined = self._improve(certificate, tol, patient)
        if self.is_homogeneous and refined.rho > 0.0:
            refined = self._update_objectives(refined)
        elif self.space.is_affine and refined.w is not None and refined.primal:
            if self.space.origin is None:  # what ‖x − c‖² is of ‖x‖² may be its last digits
                refined = self._evaluate_rows(refined, np.arange(self.svm.m)) or refined
            refined = self._update_objectives(refined)  # of R², not of ½‖w‖² and μ
        is_same = refined.yf is certificate.yf and refined.rho == certificate.rho
        return refined.replace(measured=certificate.gap if is_same else self._measure_gap(refined))

    def find_zero_point(self, point: Certificate) -> Certificate | None:
        """Return the point with the value 0, (VANISH.1), if w(α) is negligible; otherwise None."""
        if not self.is_homogeneous:
            return None
        size, terms = self.accuracy.size(point.coef)
        rounding = ROUNDING_NORM if point.w is not None else math.sqrt(gamma(terms + 2))  # of a kernel, ‖w‖² is rounded
        hardly = math.sqrt(2.0 * max(point.half_norm, 0.0)) <= rounding * size
        return ZeroOptimum(self.gap_bounder, self.sharp_rows).find_zero_point(point) if hardly else None

    def bound_gap(self, point: Certificate) -> Certificate:
        """Return this very point, with a gap that includes all rounding."""
        return self._refine_radii(self._bound_gap(point))

    def _measure_gap(self, point: Certificate) -> float:
        """Return the gap without the part that bounds rounding."""
        rows = point.contributing
        if rows is None or not math.isfinite(point.gap):
            return point.gap
        t = self.gap_bounder.enclose_violations(point, rows)[0]
        terms = self.gap_bounder.sum_terms_of_rows(point, rows, t, np.zeros_like(t))
        difference = 0.5 * point.offset * point.offset + terms
        for group in self.svm.penalised_groups:
            slope = (sum_with_bound(point.alpha * group.column)[0] - group.total) / group.ridge
            apart = multiplier(point, group) - slope
            difference += 0.5 * group.ridge * apart * apart
        size = self.gap_bounder.bound_gap(point).size if math.isnan(point.size) else point.size
        return min(difference / size, point.gap) if size > 0.0 else point.gap

    def _improve(self, certificate: Certificate, tol: float, patient: Callable[[], bool]) -> Certificate:
        base = self._bound_gap(certificate)
        if (
            self.svm.mix is not None and self.svm.classes is None and base.w is not None
        ):  # differences of far samples: a pass over these shows more
            better = self._refine_weights(base)
            evaluated = self._evaluate_rows(better, np.arange(self.svm.m))
            exact = base if evaluated is None else self._update_objectives(self._bound_gap(evaluated))
            base = exact if self.svm.linear_constraints is None or exact.gap < base.gap else base
        if base.gap <= tol:
            return base
        if (zero_point := self.find_zero_point(base)) is not None:
            return zero_point
        if math.isinf(base.gap):  # a row may fall short that must not: pushing costs less than to know more digits
            shifted_point = self._push_outwards(base)
            if shifted_point.gap <= tol:
                return shifted_point
        if patient() or certificate.gap <= tol:  # else it is no optimum, and the time is over
            base = self._refine_radii(base)
        best = self._push_outwards(base)
        for _ in range(TRIES):
            if best.gap <= tol or base.gap <= 2.0 * certificate.gap or not patient():
                break  # pushed or not, what was measured was in doubt
            sharper = self._refine_rows(base)  # not of what was pushed by a radius that is now smaller
            if sharper is None:
                break
            best = min(best, self._push_outwards(self._push_outwards(sharper)), key=lambda point: point.gap)
            if not sharper.gap < 0.5 * base.gap:
                break
            base = sharper
        if best.gap > tol and (self.is_homogeneous or self.space.is_affine):
            return ZeroOptimum(self.gap_bounder, self.sharp_rows).find_zero_point(best) or best
        return best

    def _refine_radii(self, point: Certificate) -> Certificate:
        """Bound the point again with the kernel values of the contributing rows, if that helps."""
        rows, points = point.contributing, self.sharp_rows.points
        if rows is None or not len(rows) or self.svm.mix is not None or point.b != point.level:
            return point
        if not isinstance(points, KernelSpace):
            return point
        refined = self._bound_gap(self._evaluate_kernel(point, points, np.unique(self.svm.find_samples(rows))))
        return refined if refined.gap < point.gap else point

    def _evaluate_kernel(self, point: Certificate, points: KernelSpace, samples: IntArray) -> Certificate:
        """Return the point with f at some samples from the kernel values of a proof, with their radii.

        Where the norm is all that the objective has, also at all samples with a coefficient.
        """
        svm, support = self.svm, point.coef.nonzero()[0]
        samples = np.union1d(samples, support) if self.is_homogeneous else samples
        values = points.evaluate_kernel(point.coef, samples)
        u, radius, is_evaluated = (
            np.zeros(svm.n),
            self.gap_bounder.bound_value_radii(point),
            np.zeros(svm.n, dtype=bool),
        )
        u[samples], radius[samples], is_evaluated[samples] = values.high, values.radius * FEW, True
        rows = np.flatnonzero(svm.at_rows(is_evaluated))
        yf = point.yf.copy()
        yf[rows] = svm.sign[rows] * (svm.at_rows(u)[rows] + point.level)
        half_norm = 0.5 * max(float(point.coef[support] @ u[support]), 0.0) if self.is_homogeneous else point.half_norm
        return point.replace(yf=yf, value_radius=radius, half_norm=half_norm, evaluated=None)

    def _bound_gap(self, point: Certificate) -> Certificate:
        """Return the point with the gap of (COUNT.4), and the rows that contribute to it."""
        found = self.gap_bounder.bound_gap(point)
        return point.replace(gap=found.gap, contributing=found.rows, size=found.size)

    def _rescale(self, point: Certificate, u: FloatArray, w: FloatArray | None, b: float, factor: float) -> Certificate:
        """Return the point with decision values (u + b)·factor, u (m,) those of w or coef, as numbers for the user."""
        b *= factor
        total_factor, norm = point.factor * factor, math.sqrt(2.0 * max(point.half_norm, 0.0))
        own, by = (self.svm.beta(point.alpha) if point.explicit is None else point.explicit), total_factor
        if point.w is not None:
            offset, by = point.offset + (factor - 1.0) * norm, factor
        elif point.explicit is not None:
            offset, w = point.offset + abs(factor - 1.0) * norm, None
        else:
            offset, w = abs(1.0 - 1.0 / total_factor) * factor * norm, None
        multipliers = {name: factor * value for name, value in point.multipliers.items()}
        plane, moved = build_plane(self.space, self.svm, own, w, b, multipliers, by)
        yf = self.svm.sign * (u * factor + plane.level)
        low, high = point.b_interval
        return point.replace(
            coef=plane.coef, w=plane.w, b=plane.b, b_interval=(min(low, plane.b), max(high, plane.b)),
            level=plane.level, level_radius=plane.level_radius, yf=yf, factor=total_factor,
            half_norm=point.half_norm * factor * factor, offset=offset,
            placed=point.placed + 1, evaluated=None, **moved,
            value_radius=None if point.value_radius is None else point.value_radius * (factor * FEW),
        )  # fmt: skip

    def _push_outwards(self, point: Certificate) -> Certificate:
        """Scale (w, b) up, or lower ρ, until rows that all but reach their margin are beyond it, radius included.

        Return the point itself where that does not help, or where levels are not positive.
        """
        rows, svm, hard = point.contributing, self.svm, self.svm.hard_rows
        if rows is None or (svm.has_curvature and hard is None):
            return point
        if self.can_widen_tube or self.can_raise_intercept:
            return self._raise_multiplier(point, rows)
        if self.is_homogeneous:
            several = len(point.margin) > 0 and find_common_value(point.margin) is None
            if several or "rho" not in point.multipliers:
                return point
        elif not (svm.is_scalable or svm.is_stretchable):
            return point
        level = point.margin[rows] if self.is_homogeneous else svm.level[rows]
        t, r = self.gap_bounder.enclose_violations(point, rows)
        if point.evaluated is None and not self.is_homogeneous:  # what taking y f over will add
            r = r + 4.0 * UNIT * (np.abs(t) + abs(point.level) + np.abs(point.margin[rows])) + point.level_radius
        near = (t + r > 0.0) & (t + r < PUSHABLE * level)
        if hard is not None and (svm.has_curvature or not svm.is_scalable):  # the others may fall short
            near &= hard[rows]
        if not near.any():
            return point
        if self.is_homogeneous:
            rho = (point.rho - self._find_largest((t + r)[near])) * (1.0 - 4.0 * UNIT)
            shifted_point = self._shift_multiplier(point, "rho", rho)
        else:
            growth = self._find_largest(((t + r) / (level - t - r))[near]) * FEW
            b = abs(point.b) if point.intercepts is None else float(np.abs(point.intercepts).max())
            growth += UNIT * (4.0 + b)  # rounding of the numbers that it is pushed to
            u = self.svm.sign * point.yf - point.level
            shifted_point = self._rescale(point, u, point.w, point.level, 1.0 + growth)
            if point.evaluated is not None:
                support = self.svm.at_rows(point.coef) != 0.0 if point.w is None else point.alpha < 0.0
                worse = point.evaluated.radius < self.gap_bounder.enclose_violations(shifted_point, slice(None))[1]
                rows = np.union1d(rows, np.flatnonzero(support & worse))
                shifted_point = self._evaluate_rows(shifted_point, rows) or shifted_point
        shifted_point = self._bound_gap(shifted_point)
        return self._update_objectives(shifted_point) if shifted_point.gap < point.gap else point

    def _find_largest(self, values: FloatArray) -> float:
        """Return the largest value."""
        return float(values.max(initial=-math.inf))

    def _raise_multiplier(self, point: Certificate, rows: IntArray) -> Certificate:
        """Raise b, or widen the tube, until rows that all but reach their level are beyond it, radius included.

        It costs e for each unit.
        """
        t, r = self.gap_bounder.enclose_violations(point, rows)
        is_ball = self.space.is_affine and point.w is not None
        most = 0.0
        if self.can_raise_intercept:
            most = self.gap_bounder.compute_half_square(point) if is_ball else abs(point.level)
        near = (t + r > 0.0) & (point.alpha[rows] < point.upper[rows])
        near &= t + r < PUSHABLE * max(most, float(np.abs(point.violation).max(initial=0.0)))
        if not near.any():
            return point
        name = "" if self.can_raise_intercept else self.svm.margin_groups[0].multiplier
        size = np.abs(point.margin[rows]) + np.abs(t)
        if self.can_raise_intercept:
            size = size + abs(point.level)
        else:
            size = size + np.abs(self.svm.level[rows]) + abs(point.multipliers[name])
        push = self._find_largest((t + r + 16.0 * (2.0 + point.placed) * UNIT * size)[near]) + 4.0 * point.level_radius
        if not self.can_raise_intercept:
            grown = self._shift_multiplier(point, name, point.multipliers[name] + push)
        else:
            grown = self._rescale(point, self.svm.sign * point.yf - point.level, point.w, point.level + push, 1.0)
            if point.evaluated is not None:
                (t, radius), step = point.evaluated, grown.level - point.level
                radius = radius + point.level_radius + grown.level_radius + 2.0 * UNIT * (np.abs(t) + abs(step))
                grown = grown.replace(evaluated=EvaluatedViolations(t - step, radius))
        grown = self._bound_gap(grown)
        return self._update_objectives(grown) if grown.gap < point.gap else point

    def _shift_multiplier(self, point: Certificate, name: str, value: float) -> Certificate:
        """Return the point with another multiplier of this name, which levels depend on: another ρ, or ε."""
        multipliers = {**point.multipliers, name: value}
        margin, evaluated = self.svm.margin(multipliers), point.evaluated
        if evaluated is not None:
            t = evaluated.t + (margin - point.margin)
            rounding = 2.0 * UNIT * (np.abs(margin) + np.abs(point.margin) + np.abs(t))
            evaluated = EvaluatedViolations(t, evaluated.radius + rounding)
        return point.replace(margin=margin, multipliers=multipliers, evaluated=evaluated)

    def _refine_rows(self, point: Certificate) -> Certificate | None:
        """Refine the contributing rows in double-double, and move b to their margin; None if that is too slow."""
        rows = point.contributing
        if rows is None or not len(rows):
            return None
        if (
            point.explicit is not None
            and 0.5 * self.gap_bounder.bound_offset(point) ** 2 > HOPELESS * point.gap * point.primal / point.unit
        ):
            return None  # it is the kernel values between support vectors that are not known better
        better = self._refine_weights(point)
        if better is not point:
            rows = self._bound_gap(better).contributing
            assert rows is not None
        everything = rows
        if point.w is None:  # ‖w‖² needs the support
            everything = np.union1d(rows, np.flatnonzero(point.alpha))
        evaluated = self._evaluate_rows(better, everything)
        if evaluated is None:
            evaluated = self._evaluate_rows(better, rows)
        else:
            rows = everything
        if evaluated is None:
            return None
        evaluated = self._bound_gap(evaluated)
        if self.space.computed_intercept != "free" or self.is_homogeneous or self.svm.classes is not None:
            return self._update_objectives(evaluated)
        inside = rows[(point.alpha[rows] > 0.0) & (point.alpha[rows] < point.upper[rows])]
        if len(inside):
            violation, _ = self.gap_bounder.enclose_violations(evaluated, inside)
            slack = self.svm.sign[inside] * (violation - self.svm.curvature[inside] * point.alpha[inside])  # in f
            u = self.svm.sign * evaluated.yf - evaluated.level
            shifted = self._rescale(evaluated, u, evaluated.w, evaluated.level + float(np.median(slack)), 1.0)
            again = self._evaluate_rows(shifted, rows)
            if again is not None and (moved := self._bound_gap(again)).gap < evaluated.gap:
                evaluated = moved
        return self._update_objectives(evaluated)

    def _evaluate_rows(self, point: Certificate, rows: IntArray) -> Certificate | None:
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

    def _refine_weights(self, point: Certificate) -> Certificate:
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
            radius += float(spread @ self.accuracy.sizes(np.arange(self.svm.n))) * FEW
        known = point.replace(offset=bound_norm(point.w - own), weight_radius=radius)
        if self.is_homogeneous and not (self.svm.has_curvature or self.svm.penalised_groups):
            known = known.replace(dual=-0.5 * point.unit * float(own @ own))
        if not known.offset > 8.0 * UNIT * float(np.linalg.norm(own)) or not np.isfinite(own).all():
            return known
        u = self.svm.at_rows(self.space.rows.margins(own))
        half = 0.5 * float(own @ own)
        other = known.replace(offset=0.0, half_norm=half, evaluated=None)
        other = self._bound_gap(self._rescale(other, u, own, point.level, 1.0))
        return other if other.gap < self._bound_gap(known).gap else known

    def _update_objectives(self, point: Certificate) -> Certificate:
        """Update the objective values of the point: D from P and the gap between them.

        Of a ν-SVM, P from D where that is known better: what −νρ and the losses leave of each other may be less than
        the rounding of either.
        """
        half_norm = point.half_norm
        if point.w is None and point.evaluated is not None and point.explicit is None:  # these have more digits
            values = point.alpha * (point.yf - point.level * self.svm.sign)
            half_norm = 0.5 * point.factor * float(values.sum())  # Σ_i β_i u_i = Σ_k α_k s_k u_r(k)
        if self.is_homogeneous:
            if self.svm.has_curvature or self.svm.penalised_groups:
                return point
            norm = math.sqrt(2.0 * max(half_norm, 0.0))
            if not (math.isfinite(point.gap) and norm > 0.0):
                return point
            t, radius = self.gap_bounder.enclose_violations(point, slice(None))
            losses = _sum_losses(self.svm, t)
            costs = [group.total * multiplier(point, group) for group in self.svm.groups]
            primal = half_norm + losses + sum(costs)
            if point.gap > WIDE_GAP:
                return point.replace(primal=point.unit * primal)
            rounding = _sum_losses(self.svm, t + radius) - losses
            rounding += gamma(self.svm.m) * losses + 8.0 * UNIT * (half_norm + sum(map(abs, costs)))
            near = point.offset <= NEAR_DISTANCE * norm
            if near and rounding < point.offset * norm:
                return point.replace(primal=point.unit * primal, dual=point.unit * (primal - point.gap * half_norm))
            lower = -0.5 * (norm + point.offset) ** 2 if near else point.dual / point.unit
            return point.replace(primal=point.unit * (lower + point.gap * half_norm), dual=point.unit * lower)
        losses = _sum_losses(self.svm, point.best_violation)
        if self.space.is_affine and point.w is not None:
            primal = self.gap_bounder.compute_half_square(point) + losses
        else:
            primal = half_norm + losses
            primal += sum(
                0.5 * group.ridge * float(np.square(multiplier(point, group))) for group in self.svm.penalised_groups
            )
            primal += sum(group.total * multiplier(point, group) for group in self.svm.groups)
        dual = primal - point.gap * abs(primal) if math.isfinite(point.gap) else point.dual / point.unit
        return point.replace(primal=point.unit * primal, dual=point.unit * dual)


def _sum_losses(svm: SVMDual, t: FloatArray) -> float:
    """Return Σψ_k(t_k) for t (m,), as computed; 0 for hard rows."""
    upper, curvature = svm.upper, svm.curvature
    if svm.block > 1:
        t, upper, curvature = find_block_maximum(t, svm.block), upper[:: svm.block], curvature[:: svm.block]
    elif svm.hard_rows is not None:
        t = np.where(svm.hard_rows, 0.0, t)
    if svm.is_bounded and not svm.has_curvature:
        return float(upper @ np.maximum(t, 0.0))
    return float(compute_loss(t, upper, curvature).sum())


__all__ = ["GapRefiner"]
