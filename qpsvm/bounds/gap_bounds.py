"""Bound the gap of the returned floating-point values (α, w, b, ρ), all rounding included.

The repaired α meets its equalities Eᵀα = e exactly, but where floats cannot: totals that are no sums of floats between
the bounds, as Σ s_i/Σs, or e less the share of the linear constraints. Moving the remainder of each onto one row
meets it, so

    (COUNT.1)  P(w, μ) − D(α′) = ½‖w − w(α′)‖² + Σ g_k(α′) + the penalised multipliers' share:  (GAP.1) with α′ for α
    (COUNT.2)  ‖w − w(α′)‖ ≤ ‖w − w(α)‖ + Σ_j S_j ρ_k(j),  Σ g(α′) ≤ Σ g(α) + Σ_j S_j (|t_k(j) − δα_k(j)| + δS_j)

with S_j ≥ |e_j − E_jᵀα|/|E_jk|, 0 where nothing is left, and k(j) a row that has room for it. t_k = m_k − s_k f_k is
known up to a radius r_k (`accuracy`), and g_k is convex in t_k, (LOSS.4), so that its largest value over t_k ± r_k is
at an end:

    (COUNT.3)  g_k ≤ max(g_k(t_k − r_k), g_k(t_k + r_k))
    (COUNT.4)  gap = (P − D from above) / (P, or D where only the groups keep α from 0, from below)

U and e are products and quotients, C·s, s/Σs or νΣs, that are rounded: U down, by at most u_k, and e by at most θe.
(1 + θ)α has the exact totals where it is not beyond U:

    (COUNT.6)  with o_k = (α_k(1 + θ) − U_k)⁺:  ‖w(α) − w(α′)‖ ≤ θ‖w(α)‖ + Σ o_k ρ_k besides,  S_j grows by
               Σ o_k |E_jk|,  and Σg by Σ (u_k + θα_k) t_k⁺,  where rows share a slack by Σ (u_B + θ Σ_B α) (max_B t)⁺

With several classes every total is 0, and so is θ.

A user's row is part of this as any other. Rows that can only be kept as equalities, two opposite ones for example, no
pair of floats (w, b) keeps to the last bit. There

    (COUNT.5)  a user's equality counts as kept where |t| ≤ 8r:  no more than the rounding of its own evaluation;  its
               term is α(|t| + r), the change of P for a change of the level by |t| + r at the multiplier α

Rows with α = 0 and t < −r, or α = U and t > r + δU, contribute exactly nothing: most rows, in general.

Source: Fenchel-Young terms of the gap as in `certificate`; a-priori bounds, Higham (2002); see `arrays.rounding`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import UNDERFLOW, dot_with_bound, sum_with_bound, two_product
from qpsvm.base.arrays.frozen import cached, find_common_value
from qpsvm.base.arrays.rounding import FEW, UNIT, bound_norm, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import BLOCK, Certificate, Gap, multiplier, weighs
from qpsvm.bounds.screening import row_radii, tighten_constraint_radii
from qpsvm.program.losses import (
    bound_block_terms,
    bound_by_two_lines,
    compute_gap_term,
    compute_loss,
    find_block_maximum,
    sum_blocks,
)
from qpsvm.program.svm_dual import DualGroup, DualPart, SVMDual

#: A user's equality counts as satisfied up to this multiple of the rounding of its own evaluation.
KEPT = 8.0
#: Objectives below this are sums of products that may underflow.
NEXT_TO_NOTHING = 2.0**-500


class Bounds:
    """Bounds the gap of points of one dual.

    svm: Where every level is 0 and a group has a total, as in a ν-SVM, the objective has no constant loss to be
        measured against.
    equal (m,): The linear constraints that can be kept as equalities only.
    """

    def __init__(self, accuracy: Accuracy, svm: SVMDual, equal: NDArray[np.bool_] | None = None) -> None:
        self.accuracy, self.svm, self.equal = accuracy, svm, equal
        self.homogeneous = svm.is_homogeneous and any(group.total for group in svm.groups)
        self._remembered: tuple[Certificate | None, float] = None, 0.0

    def slack(self, point: Certificate, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """t and r of (COUNT.3) at some rows: (r,) each."""
        if point.slack is not None and point.radius is not None:
            return point.slack[rows].copy(), point.radius[rows]
        common = find_common_value(point.margin)
        margin = point.margin[rows] if common is None else common
        t: FloatArray
        if self.svm.is_two_sided and not weighs(point):  # f is b, and t is rounded once
            t = margin - self.svm.sign[rows] * point.level
            return t, UNIT * np.abs(t) + point.level_radius + self.svm.bound_margin_rounding(point.multipliers, rows)
        t = margin - point.yf[rows]
        each = (2.0 + 4.0 * point.placed) * UNIT
        other: FloatArray | float = self._value_radius(point, rows) + self.svm.bound_margin_rounding(
            point.multipliers, rows
        )
        other += (1 + point.placed) * point.level_radius
        r = each * np.abs(t)
        r += (other + each * (abs(point.level) + np.abs(margin))) * FEW
        if self.svm.linear_constraints is not None and point.w is not None:
            tighten_constraint_radii(self.accuracy, self.svm, point, rows, t, r)
        return t, r

    def _value_radius(self, point: Certificate, rows: IntArray | slice) -> FloatArray | float:
        """Bound the error of K coef, or Zw, at some rows: (r,), or one number for all of them."""
        mix = self.svm.mix
        if mix is not None:
            return self._kappa(point) * self._mix_factor * FEW * self.row_sizes(rows)
        if point.value_radius is not None:
            return point.value_radius[rows if self.svm.rows is None else self.svm.rows[rows]]
        size = self.accuracy.largest if isinstance(rows, slice) else self.row_sizes(rows)
        return self._kappa(point) * FEW * size

    @cached
    def _has_two_lines(self) -> bool:
        """Whether every g of (CERT.1) is two lines, none of them of a row that nothing may violate."""
        svm = self.svm
        return svm.block == 1 and self.equal is None and svm.hard_rows is None and not svm.has_curvature

    @cached
    def _mix_factor(self) -> float:
        """Factor of κ where a row combines k samples, a sum of k products: κ ≥ γ₆‖w‖."""
        longest = int(np.diff(self.svm.mix.indptr).max(initial=1)) if self.svm.mix is not None else 0
        return 1.0 + (longest + 3) / 6.0

    def row_sizes(self, rows: IntArray | slice) -> FloatArray:
        """Bounds of ‖φ‖ of some rows, (r,): of a combination, the sum of the sizes of its parts."""
        svm = self.svm
        if svm.mix is None:
            assert not isinstance(rows, slice)
            return self.accuracy.sizes(svm.find_samples(rows))
        part = svm.mix[rows]
        sizes: FloatArray = abs(part) @ self.accuracy.sizes(np.arange(svm.n))
        return sizes * self._mix_factor  # more than the rounding of that sum

    def refine_radii(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """The point with K coef at some rows (r,) of the dual as exactly as kernel values are, or None: (RADII.1).

        Where the norm is all that the objective has, on the support as well.
        """
        if point.w is not None or self.svm.mix is not None:
            return None
        samples = np.unique(self.svm.find_samples(rows))
        if self.homogeneous:
            samples = np.union1d(samples, point.coef.nonzero()[0])
        found = row_radii(self.accuracy.space, samples, point.coef)
        if found is None:
            return None
        radius = self._value_radius(point, slice(None)) if self.svm.rows is None else point.value_radius
        radius = self._kappa(point) * FEW * self.accuracy.largest if radius is None else radius
        radius = np.array(np.broadcast_to(radius, len(point.coef)))
        radius[samples] = np.minimum(radius[samples], found * FEW)
        return point.replace(value_radius=radius, slack=None, radius=None)

    def _kappa(self, point: Certificate) -> float:
        """`Accuracy.kappa` of the point, remembered: it is asked for in every block of rows."""
        known, kappa = self._remembered
        if known is not point:
            kappa = self.accuracy.kappa(point.coef, point.w)
            self._remembered = point, kappa
        return kappa

    def total_gap(self, point: Certificate) -> Gap:
        """(COUNT.1) to (COUNT.4)."""
        a, upper = point.alpha, point.upper
        kept: list[IntArray] = []
        off, losses, wide, terms = self._bound_alpha_error(point), 0.0, 0.0, 0.0
        block, lines = self.svm.block, self._has_two_lines
        step = BLOCK - BLOCK % block or block
        for start in range(0, len(a), step):
            part = slice(start, start + step)
            t, r = self.slack(point, part)
            if lines:
                each = bound_by_two_lines(a[part], upper[part], t, r)
                terms += float(np.add.reduce(each))
                settled = each == 0.0
            elif block > 1:
                settled = np.repeat(self._bound_blocks(point, part, t, r) == 0.0, block)
            else:
                bounded = a[part] == upper[part]
                edge = r + FEW * self._compute_thresholds(part) if self.svm.has_curvature else r
                settled = np.where(bounded, t > edge, (a[part] == 0.0) & (t < -r))
            kept.append((~settled).nonzero()[0] + start)
            losses += self.losses(part, t - r)
            if off is not None:
                highest = find_block_maximum(t + r, block)
                wide += float(sum_blocks(off[part], block) @ np.maximum(highest, 0.0))  # (COUNT.6)
        rows = kept[0] if len(kept) == 1 else np.concatenate([*kept, np.zeros(0, dtype=np.intp)])
        if lines and self.accuracy.uniform:
            terms *= 1.0 + gamma(len(a) + 16)
        else:  # each row by a radius of its own
            terms = self.terms(point, rows, *self.slack(point, rows))
        terms, n = terms + wide * FEW, len(a)
        distance, moved = self._repair(
            point, (t, r) if 0 < len(a) <= step and self.svm.linear_constraints is None else None
        )
        difference = 0.5 * distance * distance + terms + moved
        weight, penalties = self._bound_norm_below(point), 0.0
        for group in self.svm.penalised_groups:
            apart, mu = self.bound_multiplier_distance(point, group)
            difference += 0.5 * group.ridge * apart * apart  # no power: that may raise
            penalties += 0.5 * group.ridge * mu * mu
        if self.homogeneous:
            half = 0.5 * max(weight - distance, 0.0) ** 2
            return Gap(difference * FEW, half / FEW, rows)
        losses *= 1.0 - gamma(n + 8)
        if self.accuracy.space.is_affine and point.w is not None:  # ½R², where ½‖w‖² and μ may cancel
            size = max(self.half_square(point) - point.level_radius, 0.0) + losses
            return Gap(difference * FEW, size / FEW, rows)
        size = 0.5 * weight * weight + losses
        if size < NEXT_TO_NOTHING and not (difference == 0.0 and self._is_exactly_zero(point, rows)):
            # products that count may be gone
            difference += (n + 4) * UNDERFLOW
        size += penalties
        for group in self.svm.groups:
            if group.total:
                known = multiplier(point, group)
                size += group.total * known - abs(group.total) * (abs(known) * 4.0 * UNIT + point.level_radius)
        if self.svm.linear_constraints is not None:
            size = max(size, -self._primal_above(point, penalties))
        return Gap(difference * FEW, size / FEW, rows)

    @staticmethod
    def half_square(point: Certificate) -> float:
        """½R² = ½‖w‖² + μ of a ball, rounded once."""
        assert point.w is not None
        return 0.5 * max(dot_with_bound(point.w, point.w, 2.0 * point.level)[0], 0.0)

    def _primal_above(self, point: Certificate, penalties: float) -> float:
        """P from above: the linear constraints may hold a machine where that is negative, and levels that are not 0."""
        t, r = self.slack(point, slice(None))
        losses = self.losses(slice(None), t + r) * (1.0 + gamma(len(t) + 8))
        weight = 2.0 * point.half_norm - self._bound_norm_below(point) ** 2  # how far ‖w‖² may be off
        most = point.half_norm + max(weight, 0.0) + losses + penalties * FEW
        for group in self.svm.groups:
            known = multiplier(point, group)
            most += group.total * known + abs(group.total * known) * 4.0 * UNIT
        return most + 16.0 * UNIT * (point.half_norm + losses + penalties + abs(most))

    def _compute_thresholds(self, rows: slice | IntArray) -> FloatArray:
        """δU of some rows, the shortfall from which their loss is linear; 0 where U = ∞, which no α is at: (r,)."""
        upper = self.svm.upper[rows]
        return self.svm.curvature[rows] * np.where(np.isfinite(upper), upper, 0.0)

    def bound_multiplier_distance(self, point: Certificate, group: DualGroup) -> tuple[float, float]:
        """Bound the distance of a penalised multiplier from that of α, (CERT.2), and its size from below."""
        mu, products = multiplier(point, group), point.alpha * group.column
        slope, error = sum_with_bound(products, -group.total)
        error += 0.0 if self._has_unit_entries(group.column) else 2.0 * UNIT * float(np.abs(products).sum())
        apart = abs(mu - slope / group.ridge) + 4.0 * UNIT * abs(mu) + error / group.ridge + point.level_radius
        return apart * FEW, max(abs(mu) - point.level_radius, 0.0)

    def _has_unit_entries(self, column: FloatArray) -> bool:
        """Whether a column (m,) has entries −1, 0 and 1 only, so that its products with α are exact."""
        if column is self.svm.sign:
            return True
        size = np.abs(column)
        return bool(((size == 1.0) | (size == 0.0)).all())

    def _is_exactly_zero(self, point: Certificate, rows: IntArray) -> bool:
        """Whether w is exactly 0, and every product with α or its room is one with 0, so that none has underflowed.

        `rows` (r,) are those that contribute; of others, α or the room is 0 itself.
        """
        t, r = self.slack(point, rows)
        nothing = (t == 0.0) & (r == 0.0) | (point.alpha[rows] == 0.0) & (t + r <= 0.0)
        return not weighs(point) and bool(nothing.all())

    def _bound_blocks(self, point: Certificate, rows: IntArray | slice, t: FloatArray, r: FloatArray) -> FloatArray:
        """(COUNT.3) of the blocks that some rows (r,) make up, (LOSS.5): (B,)."""
        svm = self.svm
        return bound_block_terms(point.alpha[rows], t - r, t + r, svm.upper[rows], svm.curvature[rows], svm.block)

    def losses(self, rows: slice, t: FloatArray) -> float:
        """Σψ over some rows, for t (r,) from below; 0 for rows that nothing may fall short of."""
        svm = self.svm
        if svm.block > 1:
            upper, curvature = svm.upper[rows][:: svm.block], svm.curvature[rows][:: svm.block]
            return float(compute_loss(find_block_maximum(t, svm.block), upper, curvature).sum())
        if svm.is_hard:
            return 0.0
        if svm.hard_rows is None and not svm.has_curvature:
            return float(svm.upper[rows] @ np.maximum(t, 0.0))
        values = compute_loss(t, svm.upper[rows], svm.curvature[rows])
        return float(values.sum() if svm.hard_rows is None else values[~svm.hard_rows[rows]].sum())

    def terms(self, point: Certificate, rows: IntArray, t: FloatArray, r: FloatArray) -> float:
        """Σ of (COUNT.3) over some rows (r,), for their t and radius.

        Infinite where a hard row may fall short.
        """
        if not len(rows):
            return 0.0
        if self.equal is not None and (held := self.equal[rows]).any():
            off = np.abs(t[held]) + r[held]
            equality_terms = np.where(np.abs(t[held]) <= KEPT * r[held], point.alpha[rows[held]] * off, np.inf)
            return float(equality_terms.sum()) * FEW + self.terms(point, rows[~held], t[~held], r[~held])
        a, upper, curvature = point.alpha[rows], self.svm.upper[rows], self.svm.curvature[rows]
        if self.svm.has_curvature:  # t − δα cancels where the row is at its optimum
            r = r + np.where(curvature > 0.0, 4.0 * UNIT * (np.abs(t) + r + curvature * a), 0.0)
        if self.svm.block > 1:
            return float(self._bound_blocks(point, rows, t, r).sum()) * (1.0 + gamma(len(a) + 16))
        if self._has_two_lines or (self.svm.is_hard and not self.svm.has_curvature):  # (CERT.1)
            lines = (
                bound_by_two_lines(a, upper, t, r)
                if self._has_two_lines
                else np.where(t + r > 0.0, np.inf, a * (r - t))
            )
            return float(np.add.reduce(lines)) * (1.0 + gamma(len(a) + 16))
        ends = np.maximum(compute_gap_term(a, t + r, upper, curvature), compute_gap_term(a, t - r, upper, curvature))
        return float(ends.sum()) * (1.0 + gamma(len(a) + 16))

    def _repair(self, point: Certificate, slack: tuple[FloatArray, FloatArray] | None = None) -> tuple[float, float]:
        """(COUNT.2): the bound of ‖w − w(α′)‖, and what the moved surplus adds to Σg; t and r (m,) where known."""
        terms = len(point.coef) + (0 if point.w is None else len(point.w))
        distance = point.offset * (1.0 + gamma(terms + 8))
        moved = 0.0
        if point.w is not None:
            known = point.weight_radius
            distance += self.accuracy.weight_radius(np.abs(self.svm.beta(point.alpha))) if known is None else known
            distance += (3.0 + point.placed) * UNIT * bound_norm(point.w) * FEW
        elif point.explicit is not None:  # coef is that times the factor, rounded
            distance = self.bound_offset(point) * (1.0 + gamma(terms + 8))
        elif point.factor != 1.0:  # coef is α∘y times the factor, rounded
            size = self._bound_size(point)
            distance += 2.0 * UNIT * size + abs(1.0 - 1.0 / point.factor) * math.sqrt(self._kappa(point) * FEW * size)
        clipped = self.accuracy.space.positive_part
        if clipped is not None:  # coef is not α∘y, nor what is left of that, but for rounding
            classes = self.svm.beta(point.alpha).reshape(-1, self.accuracy.space.samples.n)
            clips = [clipped.bound_distance(clipped.coefficients(beta), beta) for beta in classes]
            distance += math.hypot(*clips) * max(point.factor, 1.0) * FEW
        spread = self.svm.bound_beta_rounding(point.alpha)
        if self.svm.mix is not None and point.w is not None and point.weight_radius is not None:
            spread = None  # it is part of that radius
        if self.svm.rows is not None or spread is not None:
            moving = 0.0 if spread is None else float(spread @ self.accuracy.sizes(np.arange(self.svm.n)))
            distance += moving * max(point.factor, 1.0) * FEW
        distance += (self._relative_total_error or 0.0) * math.sqrt(2.0 * point.half_norm) * FEW  # (COUNT.6)
        if self.svm.classes is not None:  # repaired exactly, or not at all
            sums = [sum_with_bound(beta) for beta in self.svm.beta(point.alpha).reshape(self.svm.classes.k, -1)]
            broken = any(net or off for net, off in sums) and self.svm.classes.intercept == "free"
            return (math.inf if broken else distance), moved
        beyond = None
        if self._relative_total_error:
            beyond = np.maximum((point.alpha - self.svm.upper) + self._relative_total_error * point.alpha, 0.0)
        if beyond is not None:
            rows = beyond.nonzero()[0]
            distance += float(beyond[rows] @ self.row_sizes(rows)) * max(point.factor, 1.0) * FEW
        for part in self.svm.parts:
            if not part.ridge:
                apart, grown = self.bound_surplus(point, part, beyond, slack)
                distance += apart * FEW
                moved += grown * FEW
        return distance, moved

    @cached
    def _relative_total_error(self) -> float | None:
        """By how much of itself a total may be off, θ of (COUNT.6); None where neither that nor a U is rounded."""
        theta = max((group.radius / abs(group.total) for group in self.svm.groups if group.total), default=0.0) * FEW
        return theta if theta or self.svm.upper_radius is not None else None

    def _bound_alpha_error(self, point: Certificate) -> FloatArray | None:
        """θα + u of (COUNT.6): (m,)."""
        if self._relative_total_error is None:
            return None
        off: FloatArray = self._relative_total_error * point.alpha
        return off if self.svm.upper_radius is None else off + self.svm.upper_radius * FEW

    def bound_surplus(
        self, point: Certificate, part: DualPart, beyond: FloatArray | None = None,
        slack: tuple[FloatArray, FloatArray] | None = None,
    ) -> tuple[float, float]:  # fmt: skip
        """Bound (COUNT.2) for one equality: 0 if it holds exactly, infinite if no row has room.

        The row is the one nearest to its margin of those with room for twice the surplus. A user's row may be of
        several parts; of the only one, it can take it.
        """
        column, svm = part.column, self.svm
        products, error = column * point.alpha, 0.0
        if part.rows is None and not self._has_unit_entries(column):
            products, low = two_product(column, point.alpha)
            tiny = (products == 0.0) | (np.abs(products) < NEXT_TO_NOTHING)
            error = UNDERFLOW * int(np.count_nonzero(tiny & (point.alpha > 0.0) & (column != 0.0)))
            products = np.concatenate([products, low])
        excess, off = sum_with_bound(products, -part.total, -part.low)
        off += 0.0 if beyond is None else float(beyond @ np.abs(column))
        bound = (abs(excess) + off + error) * FEW
        if bound == 0.0:
            return 0.0, 0.0
        takers = column
        if svm.linear_constraints is not None and len(svm.parts) > 1:
            takers = np.where(np.arange(len(column)) < svm.linear_constraints.unconstrained_dual.m, column, 0.0)
        size, reach = 0.0, 0.0
        weights, left = np.abs(takers), point.upper - point.alpha
        # of either sign, where that is not known: a row with room on both sides, or else the worse of two
        for sign in (0.0, 1.0, -1.0) if off + error > 0.5 * abs(excess) else (excess,):
            room = np.where(takers * sign > 0.0, point.alpha, left) if sign else np.minimum(point.alpha, left)
            with np.errstate(invalid="ignore"):
                able = (room * weights > 2.0 * bound).nonzero()[0]
            own = [1.0, 0.0, 0.0, 0.0]
            if len(able):
                slacks = np.abs(point.margin[able] - point.yf[able])
                nearest = int(np.argmin(slacks))
                own = [0.0, float(slacks[nearest]), *self._bound_move(point, int(able[nearest]), bound, takers, slack)]
            if sign == 0.0:
                if own[0] == 0.0:
                    return own[2], own[3]
                continue
            if own[0] != 0.0:
                break
            size, reach = max(size, own[2]), max(reach, own[3])
        else:
            return size, reach
        # At the largest ν all are at their bounds a_i = s_i/Σs, which are rounded: nothing else has to give.
        upper = np.where(takers != 0.0, point.upper, 0.0)
        own, k = [0.0, 0.0, 0.0], int(np.argmax(upper)) if len(upper) else -1
        if k >= 0 and takers[k]:
            own = [float(upper[k]), *self._bound_move(point, k, bound, takers, slack)]
        n = len(column)
        top, size, reach = own
        return (size, reach) if 2.0 * bound <= gamma(n + 4) * top * n else (math.inf, math.inf)

    def _bound_move(
        self, point: Certificate, k: int, bound: float, column: FloatArray,
        slack: tuple[FloatArray, FloatArray] | None,
    ) -> tuple[float, float]:  # fmt: skip
        """Bound the move of w, and the growth of g_k, if row k takes a surplus up to a bound, (COUNT.2)."""
        t, r = self.slack(point, np.array([k])) if slack is None else (each[k : k + 1] for each in slack)
        bent, step = float(self.svm.curvature[k]), bound / abs(float(column[k])) * FEW
        reach = abs(float(t[0]) - bent * float(point.alpha[k])) + float(r[0]) + bent * step
        return step * float(self.row_sizes(np.array([k]))[0]), step * reach

    def bound_offset(self, point: Certificate) -> float:
        """‖w − w(α)‖ of an explicit w over few samples, from above."""
        size = self._bound_size(point)
        most = point.offset + (point.weight_radius or 0.0) + (2.0 + point.placed) * UNIT * size
        return most + abs(point.factor - 1.0) * math.sqrt(self._kappa(point) * FEW * size)

    def _bound_size(self, point: Certificate) -> float:
        """Σ|coef_i| ρ_i."""
        return self.accuracy.size(point.coef)[0] * FEW

    def _bound_norm_below(self, point: Certificate) -> float:
        """A lower bound of ‖w‖."""
        if point.w is not None:
            return float(np.linalg.norm(point.w)) * (1.0 - gamma(len(point.w) + 4))
        size, terms = self.accuracy.size(point.coef)
        error = self._kappa(point) * FEW * size
        if point.value_radius is not None:
            support = point.coef.nonzero()[0]
            error = min(error, float(np.abs(point.coef[support]) @ point.value_radius[support]) * FEW)
        return math.sqrt(max(2.0 * point.half_norm * (1.0 - gamma(terms + 8)) - error, 0.0))
