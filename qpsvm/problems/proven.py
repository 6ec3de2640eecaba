"""The gap of the very numbers that the user gets, with a bound on all rounding: (α, w, b, ρ) as floats.

The repaired α need not meet its equalities Eᵀα = e to the last bit. Moving the surplus of each onto one row does, so

    (PROOF.1)  P(w, b, ρ) − D(α′) = ½‖w − w(α′)‖² + Σ g_i(α′) + ½(b − yᵀα)² [penalised]     (CERT.2) with α′ for α
    (PROOF.2)  ‖w − w(α′)‖ ≤ ‖w − w(α)‖ + Σ_j S_j ρ_k(j),  Σ g_i(α′) ≤ Σ g_i(α) + Σ_j S_j |t_k(j)|

with S_j ≥ |e_j − E_jᵀα| and k(j) a row that has room for it. t_i = ρ − y_i f_i is known up to a radius r_i
(`accuracy`), and g_i is convex in t_i, so that its largest value over t_i ± r_i is at an end:

    (PROOF.3)  g_i ≤ max(g_i(t_i − r_i), g_i(t_i + r_i)),  g_i(t) = (C_i − α_i) t₊ + α_i (−t)₊
    (PROOF.4)  gap = (P − D from above) / (P, or D where ρ is free, from below)

Rows with α_i = 0 and t_i < −r_i, or α_i = C_i and t_i > r_i, contribute exactly nothing: most rows, in general. Where
the bound spoils a good point, three things help: (w, b) pushed outwards by as much as the radius, which costs little
where the classes are all but separated; the rows that matter evaluated again in twice the precision; and w and b
rounded from that. What then remains, hardly any pair of floats (w, b) does away with.

Source: Fenchel-Young terms of the gap as in `certificate`; a-priori bounds, Higham (2002); see `rounding`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.certificate import BLOCK, Certificate
from qpsvm.problems.accuracy import Accuracy
from qpsvm.rounding import UNIT, gamma, total

#: A few roundings, where it does not pay to count them.
FEW = 1.0 + 64 * UNIT
#: Slacks up to this share of the margin are closed by pushing the plane outwards by as much, never larger ones.
PUSHABLE = 1e-3
#: How often a point is pushed, and evaluated in twice the precision.
TRIES = 3


@dataclass(frozen=True, eq=False)
class Equalities:
    """Eᵀα = e: columns of E (n, m), e (m,); where ridge (m,) is positive, a penalised multiplier instead."""

    E: FloatArray
    e: FloatArray
    ridge: FloatArray


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
    y : ndarray, shape (n,)
    equalities : Equalities
    homogeneous : bool
        ρ is a variable (ν-SVM), so that the objective has no constant loss to be measured against.
    """

    def __init__(self, accuracy: Accuracy, y: FloatArray, equalities: Equalities, homogeneous: bool) -> None:
        self.accuracy = accuracy
        self.space = accuracy.space
        self.y, self.equalities, self.homogeneous = y, equalities, homogeneous

    def prove(self, certificate: Certificate, tol: float) -> Certificate:
        """The same point, or one beside it, with `gap` a bound that counts all rounding.

        Parameters
        ----------
        certificate : Certificate
            Measured.
        tol : float
            No better bound is looked for once it is this small.
        """
        if not math.isfinite(certificate.gap):
            return certificate
        return replace(self._proven(certificate, tol), measured=certificate.gap)

    def _proven(self, certificate: Certificate, tol: float) -> Certificate:
        best = self._bounded(certificate)
        if best.gap <= tol:
            return best
        best = self._pushed(best)
        for _ in range(TRIES):
            if best.gap <= tol or best.gap <= 2.0 * certificate.gap:
                break
            sharper = self._sharpened(best)
            if sharper is None:
                break
            sharper = self._pushed(self._pushed(sharper))
            if not sharper.gap < 0.5 * best.gap:
                best = min(best, sharper, key=lambda point: point.gap)
                break
            best = sharper
        if self.homogeneous and best.gap > tol and self._vanishes(best):
            return self._nothing(best)
        return best

    def _bounded(self, point: Certificate) -> Certificate:
        """With the gap of (PROOF.4), and how much of it is the bound on rounding."""
        found = self._sum(point)
        return replace(point, gap=found.gap, contributing=found.rows)

    def _radius(self, point: Certificate, rows: IntArray | None) -> FloatArray | float:
        """r of (PROOF.3) without the roundings of t itself, (r,); for all rows where None, then perhaps one bound."""
        if point.radius is not None:
            return point.radius if rows is None else point.radius[rows]
        kappa = self.accuracy.kappa(point.coef, point.w) * FEW
        size = self.accuracy.largest if rows is None else self.accuracy.sizes(rows)
        return kappa * size + point.level_radius + 2.0 * UNIT * abs(point.level)

    def _sum(self, point: Certificate) -> _Sum:
        """(PROOF.1) to (PROOF.4)."""
        a, upper, rho = point.alpha, point.upper, point.rho
        common = self._radius(point, None)
        kept: list[IntArray] = []
        loss, largest = 0.0, 0.0
        for start in range(0, len(a), BLOCK):
            part = slice(start, start + BLOCK)
            t = rho - point.yf[part]
            r = 2.0 * UNIT * (abs(rho) + np.abs(t))
            r += common if isinstance(common, float) else common[part]
            bounded = a[part] == upper[part]
            settled = np.where(bounded, t > r, (a[part] == 0.0) & (t < -r))
            kept.append(np.flatnonzero(~settled) + start)
            t -= r
            largest = max(largest, float(t.max(initial=0.0)))
            if math.isfinite(point.upper[0]):
                loss += float(upper[part] @ np.maximum(t, 0.0))
        rows = np.concatenate(kept)
        t = rho - point.yf[rows]
        r = self._radius(point, rows) + 2.0 * UNIT * (abs(rho) + np.abs(t))
        terms = self._terms(a[rows], upper[rows], t, r)
        distance, moved = self._repair(point, rows)
        difference = 0.5 * distance * distance + terms + moved
        weight = self._weight_below(point)
        if self.homogeneous:
            half = 0.5 * max(weight - distance, 0.0) ** 2
            return _Sum(difference * FEW, half / FEW, rows)
        size = 0.5 * weight * weight + loss * (1.0 - gamma(len(a) + 4))
        if self.equalities.ridge.any():
            slope, error = total(point.alpha * self.y)
            difference += 0.5 * (abs(point.level - slope) * FEW + error + point.level_radius) ** 2
            size += 0.5 * max(abs(point.level) - point.level_radius, 0.0) ** 2
        return _Sum(difference * FEW, size / FEW, rows)

    @staticmethod
    def _terms(a: FloatArray, upper: FloatArray, t: FloatArray, r: FloatArray) -> float:
        """Σ of (PROOF.3) over some rows: all (r,)."""
        if not len(a):
            return 0.0
        top, bottom = t + r, t - r
        if not math.isfinite(upper[0]):  # of a hard margin: no row may be inside
            return math.inf if (top > 0.0).any() else float(a @ np.maximum(-bottom, 0.0)) * (1.0 + gamma(len(a) + 8))
        room = upper - a
        high = room * np.maximum(top, 0.0) + a * np.maximum(-top, 0.0)
        low = room * np.maximum(bottom, 0.0) + a * np.maximum(-bottom, 0.0)
        return float(np.maximum(high, low).sum()) * (1.0 + gamma(len(a) + 8))

    @staticmethod
    def _taker(point: Certificate, column: FloatArray, room: float, rows: IntArray) -> int | None:
        """A row, nearest to its margin, whose α can change by `room` so that Σ column·α falls; first among `rows`."""
        for candidates in (rows, slice(None)):
            sign, a = column[candidates], point.alpha[candidates]
            able = np.where(sign > 0, a, np.where(sign < 0, point.upper[candidates] - a, 0.0)) > room
            if able.any():
                slack = np.where(able, np.abs(point.rho - point.yf[candidates]), np.inf)
                k = int(np.argmin(slack))
                return k if isinstance(candidates, slice) else int(candidates[k])
        return None

    def _repair(self, point: Certificate, rows: IntArray) -> tuple[float, float]:
        """(PROOF.2): the bound of ‖w − w(α′)‖, and what the moved surplus adds to Σg."""
        distance = point.offset * (1.0 + gamma(len(point.coef) + 8))
        moved = 0.0
        if point.w is not None:
            known = point.weight_radius
            distance += self.accuracy.weight_radius(point.alpha) if known is None else known
            distance += 3.0 * UNIT * float(np.linalg.norm(point.w)) * FEW
        elif point.factor != 1.0:  # coef is α∘y times the factor, rounded
            support = np.flatnonzero(point.coef)
            distance += 2.0 * UNIT * float(np.abs(point.coef[support]) @ self.accuracy.sizes(support)) * FEW
        rules = self.equalities
        for column, level in zip(rules.E.T[rules.ridge == 0.0], rules.e[rules.ridge == 0.0], strict=True):
            surplus, error = total(np.append(column * point.alpha, -level))
            if surplus == 0.0 and error == 0.0:
                continue
            bound, sizes, reaches = abs(surplus) + error, [], []
            for direction in (1.0, -1.0):
                if direction * surplus <= -error:
                    continue  # the surplus is of the other sign
                k = self._taker(point, column * direction, 2.0 * bound, rows)
                if k is None:
                    return math.inf, math.inf
                sizes.append(float(self.accuracy.sizes(np.array([k]))[0]))
                slack = point.rho - float(point.yf[k])
                radius = self._radius(point, np.array([k]))
                reaches.append(abs(slack) + float(np.max(radius)) + 2.0 * UNIT * (abs(point.rho) + abs(slack)))
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
        """The point whose decision values are (u + b)·factor, u (n,) those of w or coef, as numbers for the user."""
        b *= factor
        total_factor = point.factor * factor
        if point.w is not None:
            plane = self.space.plane(point.alpha * self.y, w, b, factor)
            offset = point.offset + (factor - 1.0) * math.sqrt(2.0 * point.half_norm)
        else:
            plane = self.space.plane(point.alpha * self.y, None, b, total_factor)
            offset = abs(1.0 - 1.0 / total_factor) * factor * math.sqrt(2.0 * point.half_norm)
        yf = self.y * (u * factor + plane.level)
        return replace(
            point, coef=plane.coef, w=plane.w, b=plane.b, level=plane.level, level_radius=plane.level_radius, yf=yf,
            factor=total_factor, half_norm=point.half_norm * factor * factor, offset=offset,
            radius=None if point.radius is None else point.radius * factor * FEW + 4.0 * UNIT * np.abs(yf),
        )  # fmt: skip

    def _pushed(self, point: Certificate) -> Certificate:
        """(w, b) grown until the rows that all but reach their margin are beyond it, radius included; if that helps."""
        if self.homogeneous or point.contributing is None:
            return point
        rows = point.contributing
        t = point.rho - point.yf[rows]
        r = self._radius(point, rows) + 2.0 * UNIT * (abs(point.rho) + np.abs(t)) + UNIT * abs(point.b)
        near = (t + r > 0.0) & (t + r < PUSHABLE)
        if not near.any():
            return point
        growth = float(((t + 2.0 * r) / (1.0 - t - 2.0 * r))[near].max()) * FEW + 4.0 * UNIT
        pushed = self._bounded(self._placed(point, self.y * point.yf - point.level, point.w, point.level, 1.0 + growth))
        return self._valued(pushed) if pushed.gap < point.gap else point

    def _sharpened(self, point: Certificate) -> Certificate | None:
        """The rows that contribute in twice the precision, and b moved to their margin; None where that is too much."""
        rows = point.contributing
        if rows is None or not len(rows):
            return None
        better = self._sharp_weights(point)
        if better is not point:
            rows = self._bounded(better).contributing
            assert rows is not None
        evaluated = self._evaluated(better, rows)
        if evaluated is None:
            return None
        evaluated = self._bounded(evaluated)
        if self.space.computed_intercept != "free" or self.homogeneous:
            return self._valued(evaluated)
        inside = rows[(point.alpha[rows] > 0.0) & (point.alpha[rows] < point.upper[rows])]
        slack = self.y[inside] * (evaluated.rho - evaluated.yf[inside])  # in f
        if len(inside):
            u = self.y * evaluated.yf - evaluated.level
            shifted = self._placed(evaluated, u, evaluated.w, evaluated.level + float(np.median(slack)), 1.0)
            again = self._evaluated(shifted, rows)
            if again is not None and (moved := self._bounded(again)).gap < evaluated.gap:
                evaluated = moved
        return self._valued(evaluated)

    def _evaluated(self, point: Certificate, rows: IntArray) -> Certificate | None:
        """The point with y f at some rows as it is in twice the precision."""
        found = self.accuracy.sharp_values(rows, point.coef, point.w, point.b)
        if found is None:
            return None
        radius = self._radius(point, None)
        radii = np.array(np.broadcast_to(radius, point.yf.shape))
        yf = point.yf.copy()
        yf[rows], radii[rows] = self.y[rows] * found[0], found[1]
        return replace(point, yf=yf, radius=radii)

    def _sharp_weights(self, point: Certificate) -> Certificate:
        """The distance ‖w − w(α)‖ in twice the precision, and w(α) itself for w where that is nearer."""
        if point.w is None:
            return point
        found = self.accuracy.sharp_weights(point.alpha * self.y)
        if found is None:
            return point
        own, radii = found
        if self.space.origin is not None:  # Σβ is not quite 0: the surplus is repaired on a row, over `rows`
            surplus, error = total(point.alpha * self.y)
            own = own - self.space.origin * surplus
            radii = radii + np.abs(self.space.origin) * (error + 4.0 * UNIT * abs(surplus))
        radius = float(np.linalg.norm(radii)) * FEW
        known = replace(point, offset=float(np.linalg.norm(point.w - own)), weight_radius=radius)
        if not known.offset > 8.0 * UNIT * float(np.linalg.norm(own)) or not np.isfinite(own).all():
            return known
        u = self.space.rows @ own
        half = 0.5 * float(own @ own)
        other = replace(known, offset=0.0, half_norm=half, radius=None)
        other = self._bounded(self._placed(other, u, own, point.level, 1.0))
        return other if other.gap < self._bounded(known).gap else known

    def _valued(self, point: Certificate) -> Certificate:
        """With the objective's values at the point as it is now."""
        if self.homogeneous:
            return point
        hard = math.isinf(point.upper[0])
        loss = 0.0 if hard else float(point.upper @ np.maximum(point.rho - point.yf, 0.0))
        penalty = 0.5 * point.level**2 if self.equalities.ridge.any() else 0.0
        return replace(point, primal=point.unit * (point.half_norm + penalty + loss))

    def _vanishes(self, point: Certificate) -> bool:
        """Whether w(α) is nothing but rounding, entry by entry: the reduced hulls meet as far as floats can tell."""
        beta = point.alpha * self.y
        if point.w is None:
            kappa = self.accuracy.kappa(beta, None)
            support = np.flatnonzero(beta)
            own = 2.0 * point.half_norm
            return own <= kappa * float(np.abs(beta[support]) @ self.accuracy.sizes(support))
        rows = self.space.rows
        own, size = rows.T @ beta, abs(rows).T @ point.alpha
        return bool((np.abs(own) <= gamma(int(np.count_nonzero(beta)) + 4) * size).all())

    def _nothing(self, point: Certificate) -> Certificate:
        """w = 0, b = 0, ρ = 0, whose value is 0, beside an α whose ‖w(α)‖ is rounding: (CERT.3) in units of ½(Σαρ)²."""
        support = np.flatnonzero(point.alpha)
        spread = float(point.alpha[support] @ self.accuracy.sizes(support))
        dual = 0.5 * (math.sqrt(2.0 * point.half_norm) + point.offset) ** 2
        gap = 2.0 * dual / spread**2 if spread > 0.0 else 0.0
        w = None if point.w is None else np.zeros_like(point.w)
        return replace(
            point, w=w, coef=np.zeros_like(point.coef), b=0.0, b_interval=(0.0, 0.0), rho=0.0, level=0.0, primal=0.0,
            dual=-point.unit * dual, yf=np.zeros_like(point.yf), gap=gap, half_norm=0.0, radius=None,
        )  # fmt: skip


__all__ = ["Equalities", "Proof"]
