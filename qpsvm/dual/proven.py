"""The gap of the very numbers that the user gets, with a bound on all rounding: (α, w, b, ρ) as floats.

The repaired α need not meet its equalities Eᵀα = e to the last bit. Moving the surplus of each onto one row does, so

    (PROOF.1)  P(w, μ) − D(α′) = ½‖w − w(α′)‖² + Σ g_k(α′) + the penalised multipliers' share:  (GAP.1) with α′ for α
    (PROOF.2)  ‖w − w(α′)‖ ≤ ‖w − w(α)‖ + Σ_j S_j ρ_k(j),  Σ g(α′) ≤ Σ g(α) + Σ_j S_j (|t_k(j) − δα_k(j)| + δS_j)

with S_j ≥ |e_j − E_jᵀα| and k(j) a row that has room for it. t_k = m_k − s_k f_k is known up to a radius r_k
(`accuracy`), and g_k is convex in t_k, (LOSS.4), so that its largest value over t_k ± r_k is at an end:

    (PROOF.3)  g_k ≤ max(g_k(t_k − r_k), g_k(t_k + r_k))
    (PROOF.4)  gap = (P − D from above) / (P, or D where only the groups keep α from 0, from below)

Rows with α = 0 and t < −r, or α = U and t > r + δU, contribute exactly nothing: most rows, in general. Where
the bound spoils a good point, three things help: (w, b) pushed outwards by as much as the radius, which costs little
where the classes are all but separated; the rows that matter evaluated again in twice the precision; and w and b
rounded from that. What then remains, hardly any pair of floats (w, b) does away with.

Source: Fenchel-Young terms of the gap as in `certificate`; a-priori bounds, Higham (2002); see `rounding`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.arrays.constant import common_value
from qpsvm.arrays.rounding import UNDERFLOW, UNIT, gamma, total
from qpsvm.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.dual.accuracy import AFFORDABLE, Accuracy
from qpsvm.dual.certificate import BLOCK, Certificate
from qpsvm.dual.losses import gap_term, loss
from qpsvm.dual.svm_dual import Group, SVMDual
from qpsvm.kernels.functions import Precomputed

#: A few roundings, where it does not pay to count them.
FEW = 1.0 + 64 * UNIT
#: Slacks up to this share of the margin are closed by pushing the plane outwards by as much, never larger ones.
PUSHABLE = 1e-3
#: Objectives below this are sums of products that may underflow.
NEXT_TO_NOTHING = 2.0**-500
#: ‖w − w(α)‖ in units of ‖w‖ up to which w stands for w(α) where the values of a ν-SVM are printed.
NEAR = 1e-7
#: How often a point is pushed, and evaluated in twice the precision.
TRIES = 3


@dataclass(frozen=True, eq=False)
class _Sum:
    """The gap's parts: bound of P − D, of the objective's size from below, and the rows that contribute."""

    difference: float
    size: float
    rows: IntArray

    @property
    def gap(self) -> float:
        if not self.difference > 0.0:
            return 0.0 if self.difference == 0.0 else math.inf  # NaN is no proof
        return self.difference / self.size if self.size > 0.0 and math.isfinite(self.difference) else math.inf


class Proof:
    """Bounds the gap of points of one problem.

    Parameters
    ----------
    accuracy : Accuracy
    svm : SVMDual
        Where every level is 0 and a group has a total, as in a ν-SVM, the objective has no constant loss to be
        measured against.
    """

    def __init__(self, accuracy: Accuracy, svm: SVMDual) -> None:
        self.accuracy = accuracy
        self.space = accuracy.space
        self.svm = svm
        self.homogeneous = svm.homogeneous and any(group.total for group in svm.groups)
        self._remembered: tuple[Certificate | None, float] = None, 0.0

    def prove(
        self, certificate: Certificate, tol: float, patient: Callable[[], bool] = lambda: True
    ) -> Certificate:
        """The same point, or one beside it, with `gap` a bound that counts all rounding.

        Parameters
        ----------
        certificate : Certificate
            Measured.
        tol : float
            No better bound is looked for once it is this small.
        patient : callable
            Asked now and then: whether a better bound may be looked for, which takes longer than a certificate.
        """
        if not math.isfinite(certificate.gap):
            return certificate
        proven = self._proven(certificate, tol, patient)
        if self.homogeneous and proven.rho > 0.0:
            proven = self._valued(proven)
        same = proven.yf is certificate.yf and proven.rho == certificate.rho
        return replace(proven, measured=certificate.gap if same else self._measured(proven))

    def _measured(self, point: Certificate) -> float:
        """The gap of a proven point without what is there for rounding."""
        rows = point.contributing
        if rows is None or not math.isfinite(point.gap):
            return point.gap
        t = self._slack(point, rows)[0]
        difference = 0.5 * point.offset**2 + self._terms(point, rows, t, np.zeros_like(t))
        for group in self.svm.penalised:
            slope = (total(point.alpha * group.column)[0] - group.total) / group.ridge
            difference += 0.5 * group.ridge * (_multiplier(point, group) - slope) ** 2
        size = self._sum(point).size
        return min(difference / size, point.gap) if size > 0.0 else point.gap

    def _proven(self, certificate: Certificate, tol: float, patient: Callable[[], bool]) -> Certificate:
        base = self._bounded(certificate)
        if base.gap <= tol:
            return base
        best = self._pushed(base)
        for _ in range(TRIES):
            if best.gap <= tol or base.gap <= 2.0 * certificate.gap or not patient():
                break  # pushed or not, what was measured was in doubt
            sharper = self._sharpened(base)  # not of what was pushed by a radius that is now smaller
            if sharper is None:
                break
            best = min(best, self._pushed(self._pushed(sharper)), key=lambda point: point.gap)
            if not sharper.gap < 0.5 * base.gap:
                break
            base = sharper
        if self.homogeneous and best.gap > tol:
            return self._nothing(best) or best
        return best

    def _bounded(self, point: Certificate) -> Certificate:
        """With the gap of (PROOF.4), and the rows that contribute to it."""
        found = self._sum(point)
        return replace(point, gap=found.gap, contributing=found.rows)

    def _slack(self, point: Certificate, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """t and r of (PROOF.3) at some rows: (r,) each."""
        if point.slack is not None and point.radius is not None:
            return point.slack[rows].copy(), point.radius[rows]
        common = common_value(point.margin)
        margin = point.margin[rows] if common is None else common
        t: FloatArray = margin - point.yf[rows]
        size = self.accuracy.largest if isinstance(rows, slice) else self.accuracy.sizes(self._samples(rows))
        each = (2.0 + 4.0 * point.placed) * UNIT
        r = each * np.abs(t)
        r += self._kappa(point) * size + (1 + point.placed) * point.level_radius
        r += each * (abs(point.level) + np.abs(margin))
        r += self.svm.margin_radius(point.multipliers, rows)
        return t, r

    def _samples(self, rows: IntArray) -> IntArray:
        """The samples of some rows of the dual: (r,)."""
        return rows if self.svm.rows is None else self.svm.rows[rows]

    def _at_samples(self, values: FloatArray) -> FloatArray:
        """Values at the rows of the dual, (m,), that depend on their samples only, at the samples: (n,)."""
        if self.svm.rows is None:
            return values
        found = np.zeros(self.svm.n)
        found[self.svm.rows] = values
        return found

    def _kappa(self, point: Certificate) -> float:
        """`Accuracy.kappa` of the point, remembered: it is asked for in every block of rows."""
        known, kappa = self._remembered
        if known is not point:
            kappa = self.accuracy.kappa(point.coef, point.w) * FEW
            self._remembered = point, kappa
        return kappa

    def _sum(self, point: Certificate) -> _Sum:
        """(PROOF.1) to (PROOF.4)."""
        a, upper = point.alpha, point.upper
        kept: list[IntArray] = []
        losses = 0.0
        for start in range(0, len(a), BLOCK):
            part = slice(start, start + BLOCK)
            t, r = self._slack(point, part)
            bounded = a[part] == upper[part]
            edge = r + FEW * self._knee(part) if self.svm.curved else r
            settled = np.where(bounded, t > edge, (a[part] == 0.0) & (t < -r))
            kept.append(np.flatnonzero(~settled) + start)
            t -= r
            losses += self._losses(part, t)
        rows = kept[0] if len(kept) == 1 else np.concatenate(kept)
        t, r = self._slack(point, rows)
        terms = self._terms(point, rows, t, r)
        distance, moved = self._repair(point, rows)
        difference = 0.5 * distance * distance + terms + moved
        weight, penalties = self._weight_below(point), 0.0
        for group in self.svm.penalised:
            apart, mu = self._apart(point, group)
            difference += 0.5 * group.ridge * apart**2
            penalties += 0.5 * group.ridge * mu**2
        if self.homogeneous:
            half = 0.5 * max(weight - distance, 0.0) ** 2
            return _Sum(difference * FEW, half / FEW, rows)
        size = 0.5 * weight * weight + losses * (1.0 - gamma(len(a) + 8))
        if size < NEXT_TO_NOTHING and not (difference == 0.0 and self._idle(point)):  # products that count may be gone
            difference += (len(a) + 4) * UNDERFLOW
        size += penalties
        for group in self.svm.groups:
            if group.total:
                known = _multiplier(point, group)
                size += group.total * known - abs(group.total * known) * 4.0 * UNIT
        return _Sum(difference * FEW, size / FEW, rows)

    def _knee(self, rows: slice | IntArray) -> FloatArray:
        """δU of some rows, the shortfall from which their loss is linear; 0 where U = ∞, which no α is at: (r,)."""
        upper = self.svm.upper[rows]
        return self.svm.curvature[rows] * np.where(np.isfinite(upper), upper, 0.0)

    def _apart(self, point: Certificate, group: Group) -> tuple[float, float]:
        """How far a penalised multiplier may be from that of α, (CERT.2), and its size from below."""
        mu, products = _multiplier(point, group), point.alpha * group.column
        slope, error = total(np.append(products, -group.total))
        error += 0.0 if self._units(group.column) else 2.0 * UNIT * float(np.abs(products).sum())
        apart = abs(mu - slope / group.ridge) + 4.0 * UNIT * abs(mu) + error / group.ridge + point.level_radius
        return apart * FEW, max(abs(mu) - point.level_radius, 0.0)

    def _units(self, column: FloatArray) -> bool:
        """Whether a column (m,) has entries −1, 0 and 1 only, so that its products with α are exact."""
        if column is self.svm.sign:
            return True
        size = np.abs(column)
        return bool(((size == 1.0) | (size == 0.0)).all())

    @staticmethod
    def _idle(point: Certificate) -> bool:
        """Whether α and w are exactly 0, so that no product of theirs has underflowed."""
        weights = point.coef if point.w is None else point.w
        return not (point.alpha.any() or weights.any())

    def _losses(self, rows: slice, t: FloatArray) -> float:
        """Σψ over some rows, for t (r,) from below; 0 for rows that nothing may fall short of."""
        svm = self.svm
        if svm.all_hard:
            return 0.0
        if svm.hard is None and not svm.curved:
            return float(svm.upper[rows] @ np.maximum(t, 0.0))
        values = loss(t, svm.upper[rows], svm.curvature[rows])
        return float(values.sum() if svm.hard is None else values[~svm.hard[rows]].sum())

    def _terms(self, point: Certificate, rows: IntArray, t: FloatArray, r: FloatArray) -> float:
        """Σ of (PROOF.3) over some rows (r,), for their t and radius: infinite where a hard row may fall short."""
        if not len(rows):
            return 0.0
        a, upper, curvature = point.alpha[rows], self.svm.upper[rows], self.svm.curvature[rows]
        if self.svm.curved:  # t − δα cancels where the row is at its optimum
            r = r + np.where(curvature > 0.0, 4.0 * UNIT * (np.abs(t) + r + curvature * a), 0.0)
        ends = np.maximum(gap_term(a, t + r, upper, curvature), gap_term(a, t - r, upper, curvature))
        return float(ends.sum()) * (1.0 + gamma(len(a) + 16))

    @staticmethod
    def _taker(point: Certificate, column: FloatArray, room: float, rows: IntArray) -> int | None:
        """A row, nearest to its margin, whose α can change by `room` so that Σ column·α falls; first among `rows`."""
        for candidates in (rows, slice(None)):
            sign, a = column[candidates], point.alpha[candidates]
            able = np.where(sign > 0, a, np.where(sign < 0, point.upper[candidates] - a, 0.0)) > room
            if able.any():
                slack = np.where(able, np.abs(point.margin[candidates] - point.yf[candidates]), np.inf)
                k = int(np.argmin(slack))
                return k if isinstance(candidates, slice) else int(candidates[k])
        # At the largest ν all are at their bounds a_i = s_i/Σs, which are rounded: nothing else has to give.
        k = int(np.argmax(np.where(column != 0.0, point.upper, 0.0)))
        return k if room <= gamma(len(column) + 4) * point.upper[k] * len(column) else None

    def _repair(self, point: Certificate, rows: IntArray) -> tuple[float, float]:
        """(PROOF.2): the bound of ‖w − w(α′)‖, and what the moved surplus adds to Σg."""
        terms = len(point.coef) + (0 if point.w is None else len(point.w))
        distance = point.offset * (1.0 + gamma(terms + 8))
        moved = 0.0
        if point.w is not None:
            known = point.weight_radius
            distance += self.accuracy.weight_radius(self.svm.beta_size(point.alpha)) if known is None else known
            distance += (3.0 + point.placed) * UNIT * float(np.linalg.norm(point.w)) * FEW
        elif point.factor != 1.0:  # coef is α∘y times the factor, rounded
            support = np.flatnonzero(point.coef)
            size = float(np.abs(point.coef[support]) @ self.accuracy.sizes(support)) * FEW
            distance += 2.0 * UNIT * size + abs(1.0 - 1.0 / point.factor) * math.sqrt(self._kappa(point) * size)
        spread = self.svm.beta_radius(point.alpha)
        if spread is not None:
            distance += float(spread @ self.accuracy.sizes(np.arange(self.svm.n))) * max(point.factor, 1.0) * FEW
        for part in self.svm.parts:
            column = part.column
            if part.ridge:
                continue
            products, units = column * point.alpha, part.rows is not None or self._units(column)
            surplus, error = total(np.append(products, -part.total))
            if not units:
                error += UNIT * float(np.abs(products).sum()) * FEW
            if surplus == 0.0 and error == 0.0:
                continue
            bound, sizes, reaches = abs(surplus) + error, [], []
            if not units:  # what moves is α, and column·α by less
                bound *= FEW / float(np.abs(column[column != 0.0]).min())
            for direction in (1.0, -1.0):
                if direction * surplus <= -error:
                    continue  # the surplus is of the other sign
                k = self._taker(point, column * direction, 2.0 * bound, rows)
                if k is None:
                    return math.inf, math.inf
                sizes.append(float(self.accuracy.sizes(self._samples(np.array([k])))[0]))
                t, r = self._slack(point, np.array([k]))
                bent = float(self.svm.curvature[k])
                reaches.append(abs(float(t[0]) - bent * float(point.alpha[k])) + float(r[0]) + bent * bound)
            distance += bound * max(sizes) * FEW
            moved += bound * max(reaches) * FEW
        return distance, moved

    def _weight_below(self, point: Certificate) -> float:
        """A lower bound of ‖w‖."""
        if point.w is not None:
            return float(np.linalg.norm(point.w)) * (1.0 - gamma(len(point.w) + 4))
        kappa = self.accuracy.kappa(point.coef, None)
        support = np.flatnonzero(point.coef)
        error = kappa * float(np.abs(point.coef[support]) @ self.accuracy.sizes(support)) * FEW
        return math.sqrt(max(2.0 * point.half_norm * (1.0 - gamma(len(support) + 8)) - error, 0.0))

    def _placed(self, point: Certificate, u: FloatArray, w: FloatArray | None, b: float, factor: float) -> Certificate:
        """The point whose decision values are (u + b)·factor, u (m,) those of w or coef, as numbers for the user."""
        b *= factor
        total_factor = point.factor * factor
        if point.w is not None:
            plane = self.space.plane(self.svm.beta(point.alpha), w, b, factor)
            offset = point.offset + (factor - 1.0) * math.sqrt(2.0 * max(point.half_norm, 0.0))
        else:
            plane = self.space.plane(self.svm.beta(point.alpha), None, b, total_factor)
            offset = abs(1.0 - 1.0 / total_factor) * factor * math.sqrt(2.0 * max(point.half_norm, 0.0))
        yf = self.svm.sign * (u * factor + plane.level)
        low, high = point.b_interval
        return replace(
            point, coef=plane.coef, w=plane.w, b=plane.b, b_interval=(min(low, plane.b), max(high, plane.b)),
            level=plane.level, level_radius=plane.level_radius, yf=yf, factor=total_factor,
            half_norm=point.half_norm * factor * factor, offset=offset,
            placed=point.placed + 1, slack=None, radius=None,
        )  # fmt: skip

    def _pushed(self, point: Certificate) -> Certificate:
        """(w, b) grown, or ρ lowered, until the rows that all but reach their margin are beyond it, radius included.

        The point itself where that does not help, or where levels are not positive.
        """
        rows, svm, hard = point.contributing, self.svm, self.svm.hard
        if rows is None or (svm.curved and hard is None):
            return point
        if self.homogeneous:
            if common_value(point.margin) is None or "rho" not in point.multipliers:
                return point
        elif not (svm.scalable or svm.stretchable):
            return point
        level = point.margin[rows]
        t, r = self._slack(point, rows)
        if point.slack is None and not self.homogeneous:  # what taking y f over will add
            r = r + 4.0 * UNIT * (np.abs(t) + abs(point.level) + np.abs(level)) + point.level_radius
        near = (t + r > 0.0) & (t + r < PUSHABLE * level)
        if hard is not None and (svm.curved or not svm.scalable):  # the others may fall short
            near &= hard[rows]
        if not near.any():
            return point
        if self.homogeneous:
            pushed = self._lowered(point, (point.rho - float((t + r)[near].max())) * (1.0 - 4.0 * UNIT))
        else:
            growth = float(((t + r) / (level - t - r))[near].max()) * FEW
            growth += UNIT * (4.0 + abs(point.b))  # rounding of the numbers that it is pushed to
            u = self.svm.sign * point.yf - point.level
            pushed = self._placed(point, u, point.w, point.level, 1.0 + growth)
            if point.slack is not None and point.radius is not None:
                support = self.svm.at_rows(point.coef) != 0.0 if point.w is None else point.alpha < 0.0
                rows = np.union1d(rows, np.flatnonzero(support & (point.radius < self._slack(pushed, slice(None))[1])))
                pushed = self._evaluated(pushed, rows) or pushed
        pushed = self._bounded(pushed)
        return self._valued(pushed) if pushed.gap < point.gap else point

    def _lowered(self, point: Certificate, rho: float) -> Certificate:
        """The point with another margin level ρ."""
        multipliers = {**point.multipliers, "rho": rho}
        margin, slack, radius = self.svm.margin(multipliers), point.slack, point.radius
        if slack is not None and radius is not None:
            slack = slack + (margin - point.margin)
            radius = radius + 2.0 * UNIT * (np.abs(margin) + np.abs(point.margin) + np.abs(slack))
        return replace(point, margin=margin, multipliers=multipliers, slack=slack, radius=radius)

    def _sharpened(self, point: Certificate) -> Certificate | None:
        """The rows that contribute in twice the precision, and b moved to their margin; None where that is too much."""
        rows = point.contributing
        if rows is None or not len(rows):
            return None
        better = self._sharp_weights(point)
        if better is not point:
            rows = self._bounded(better).contributing
            assert rows is not None
        everything = rows
        if point.w is None:  # ‖w‖² needs the support
            everything = np.union1d(rows, np.flatnonzero(self.svm.at_rows(point.coef)))
        evaluated = self._evaluated(better, everything)
        if evaluated is None:
            evaluated = self._evaluated(better, rows)
        else:
            rows = everything
        if evaluated is None:
            return None
        evaluated = self._bounded(evaluated)
        if self.space.computed_intercept != "free" or self.homogeneous:
            return self._valued(evaluated)
        inside = rows[(point.alpha[rows] > 0.0) & (point.alpha[rows] < point.upper[rows])]
        if len(inside):
            missing = self._slack(evaluated, inside)[0] - self.svm.curvature[inside] * point.alpha[inside]
            slack = self.svm.sign[inside] * missing  # in f
            u = self.svm.sign * evaluated.yf - evaluated.level
            shifted = self._placed(evaluated, u, evaluated.w, evaluated.level + float(np.median(slack)), 1.0)
            again = self._evaluated(shifted, rows)
            if again is not None and (moved := self._bounded(again)).gap < evaluated.gap:
                evaluated = moved
        return self._valued(evaluated)

    def _evaluated(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """The point with y f at some rows as it is in twice the precision."""
        levels = self.svm.sign[rows] * point.margin[rows]
        found = self.accuracy.sharp_values(self._samples(rows), point.coef, point.w, point.b, levels)
        if found is None:
            return None
        slack, radius = self._slack(replace(point, slack=None), slice(None))
        yf = point.yf.copy()
        slack[rows] = -self.svm.sign[rows] * found[0]
        radius[rows] = found[1] + self.svm.margin_radius(point.multipliers, rows)
        yf[rows] = point.margin[rows] - slack[rows]
        return replace(point, yf=yf, slack=slack, radius=radius)

    def _sharp_weights(self, point: Certificate) -> Certificate:
        """The distance ‖w − w(α)‖ in twice the precision, and w(α) itself for w where that is nearer."""
        if point.w is None:
            return point
        beta = self.svm.beta(point.alpha)
        found = self.accuracy.sharp_weights(beta)
        if found is None:
            return point
        own, radii = found
        if self.space.origin is not None:  # Σβ is not quite 0: the surplus is repaired on a row, over `rows`
            surplus, error = total(beta)
            own = own - self.space.origin * surplus
            radii = radii + np.abs(self.space.origin) * (error + 4.0 * UNIT * abs(surplus)) + 2.0 * UNIT * np.abs(own)
        radius = float(np.linalg.norm(radii)) * FEW
        known = replace(point, offset=float(np.linalg.norm(point.w - own)), weight_radius=radius)
        if not known.offset > 8.0 * UNIT * float(np.linalg.norm(own)) or not np.isfinite(own).all():
            return known
        u = self.svm.at_rows(self.space.rows.margins(own))
        half = 0.5 * float(own @ own)
        other = replace(known, offset=0.0, half_norm=half, slack=None, radius=None)
        other = self._bounded(self._placed(other, u, own, point.level, 1.0))
        return other if other.gap < self._bounded(known).gap else known

    def _valued(self, point: Certificate) -> Certificate:
        """With the objective's values at the point as it is now: D from P and the proven gap between them.

        Of a ν-SVM, P from D: what −νρ and the losses leave of each other may be less than the rounding of either.
        """
        half_norm = point.half_norm
        if point.w is None and point.slack is not None:  # ½ Σ coef_i u_i of values that have more digits
            f = self._at_samples(self.svm.sign * point.yf)
            half_norm = 0.5 * (float(point.coef @ f) - point.level * total(point.coef)[0])
        if self.homogeneous:
            if self.svm.curved or self.svm.penalised:
                return point
            norm = math.sqrt(2.0 * max(half_norm, 0.0))
            if not (math.isfinite(point.gap) and norm > 0.0 and point.offset <= NEAR * norm):
                return point
            lower = -0.5 * (norm + point.offset) ** 2
            return replace(point, primal=point.unit * (lower + point.gap * half_norm), dual=point.unit * lower)
        slack = point.short if point.slack is None else point.slack
        primal = half_norm + self._losses(slice(None), slack)
        primal += sum(0.5 * group.ridge * _multiplier(point, group) ** 2 for group in self.svm.penalised)
        primal += sum(group.total * _multiplier(point, group) for group in self.svm.groups)
        dual = primal - point.gap * primal if math.isfinite(point.gap) else point.dual / point.unit
        return replace(point, primal=point.unit * primal, dual=point.unit * dual)

    def _vanishing(self, beta: FloatArray) -> tuple[float, float] | None:
        """‖w(α)‖² and (Σα_i‖x_i − x̄‖)² of a linear machine, if no entry of w(α) is more than its rounding."""
        found = self.accuracy.sharp_weights(beta)
        if found is None:
            return None
        support = np.flatnonzero(beta)
        part = self.space.samples.take(support)
        mean = np.asarray(part.mean(axis=0)).ravel()
        own = found[0] - mean * total(beta)[0]
        means = (mean, self.space.samples.means())  # of all rows, where that is nearer
        size = np.min([np.abs(as_dense(part) - at).T @ np.abs(beta[support]) for at in means], axis=0)
        if not (np.abs(own) <= gamma(len(support) + 2) * size).all():
            return None
        own = np.where(np.abs(own) <= found[1], 0.0, own)
        return float(own @ own), float(size @ size)

    def _vanished(self, point: Certificate) -> FloatArray:
        """The nearest α with w(α) = 0 that differs on free rows only, as far as one correction can tell: (m,).

        α itself where there are many free rows, or where the correction would leave the box.
        """
        alpha, upper = point.alpha, self.svm.upper
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        exact = self.accuracy.sharp_weights(self.svm.beta(alpha))
        if exact is None or not 0 < len(free) * self.space.samples.d <= AFFORDABLE // 100:
            return alpha
        Z = as_dense(self.space.samples.take(self._samples(free))) * self.svm.sign[free][:, None]
        rows = [Z.T, *(part.column[free][None, :] for part in self.svm.parts)]
        held = np.concatenate([exact[0], self._surpluses(alpha)])
        step = np.linalg.lstsq(np.concatenate(rows), -held, rcond=None)[0]
        moved = alpha.copy()
        moved[free] += step
        return moved if ((moved >= 0.0) & (moved <= upper)).all() else alpha

    def _surpluses(self, alpha: FloatArray) -> FloatArray:
        """Eᵀα − e of the parts: (q,)."""
        return np.array([total(np.append(part.column * alpha, -part.total))[0] for part in self.svm.parts])

    def _one_sample(self, beta: FloatArray) -> bool:
        """Whether all rows of the support are the same sample, so that 1ᵀβ = 0 makes w(α) = 0."""
        part = self.space.samples.take(np.flatnonzero(beta))
        if isinstance(self.space.kernel, Precomputed) or part.shape[0] * part.shape[1] > AFFORDABLE:
            return False
        dense = as_dense(part)
        return bool((dense == dense[:1]).all())

    def _nothing(self, point: Certificate) -> Certificate | None:
        """w = 0, b = 0, ρ = 0, whose value is 0, beside an α whose w(α) is rounding: the reduced hulls meet.

        Entry by entry, no more than the rounding of the sum over centred samples; None where it is more. The gap is
        (CERT.3) in units of ½(Σ α_i ‖φ(x_i)‖)², the objective if nothing cancelled.
        """
        if self.svm.intercept is None or self.svm.curved or self.svm.penalised:
            return None
        beta = self.svm.beta(point.alpha)
        if self._one_sample(beta):
            found: tuple[float, float] | None = 0.0, 0.0
        else:
            found = self._vanishing(beta) if point.w is not None else self.accuracy.vanishing_square(beta)
            if found is None and point.w is not None:  # an α beside it may do
                point = replace(point, alpha=self._vanished(point))
                found = self._vanishing(self.svm.beta(point.alpha))
        if found is None:
            return None
        own2, spread2 = found
        gap = own2 / spread2 if spread2 > 0.0 else 0.0
        nothing = np.zeros_like(point.yf)
        return replace(
            point, w=None if point.w is None else np.zeros_like(point.w), coef=np.zeros_like(point.coef), b=0.0,
            b_interval=(0.0, 0.0),
            multipliers=dict.fromkeys(point.multipliers, 0.0), margin=np.zeros_like(point.yf), level=0.0, primal=0.0,
            dual=-0.5 * point.unit * own2, yf=nothing, gap=gap, half_norm=0.0, slack=None, radius=None,
        )  # fmt: skip


def _multiplier(point: Certificate, group: Group) -> float:
    """μ of a group: one of the margins, or else the intercept over the rows computed with."""
    return point.multipliers.get(group.multiplier, point.level)


__all__ = ["Proof"]
