"""A feasible primal-dual pair of a joint machine with the gap between its values, all rounding counted.

α is feasible to the last bit (`all_in_one_repair`), so that the gap of the numbers that the user gets is (JOINT.5) and
nothing else. Of f_c(x_i) only an interval is known, F_ic ± r_ic, by (ACC.2), or in twice the precision:

    (JCOUNT.1)  t_ic is within R_ic = r_iy + r_ic and its own roundings
    (JCOUNT.2)  a term of (JOINT.6) is convex in t, and at most its largest value at the ends;  where the slack is
                shared, T_i − t_ic = max(−t_ic, max over other rivals of f_c′ − f_c, 0), which f_y is no part of
    (JCOUNT.3)  gap ≤ (½Σ_c d_c² + Σ g from above) / (P from below),  d_c ≥ ‖w_c − w_c(α)‖
    (JCOUNT.4)  where all slack is as small as R, (w, b) is stretched by 1 + max (t + R)/ℓ, so that there is none: where
                C is large, slack of the size of rounding costs more than the norm does

Source: (JOINT.5); a-priori bounds, Higham (2002), see `accuracy`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from qpsvm.base.arrays.frozen import freeze_parts, remembered
from qpsvm.base.arrays.rounding import UNIT, gamma, length_above, relative_gap, total
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import outline
from qpsvm.bounds import all_in_one_repair as joint_intercepts
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.all_in_one_repair import feasible
from qpsvm.bounds.gap_bounds import FEW
from qpsvm.program.all_in_one import JointDual
from qpsvm.space.kernels.space import FeatureSpace

#: A gap as computed above which better intercepts are looked for one by one, (JB.2).
ROUGH = 1e-9
#: A gap, rounding counted, that nothing is done about.
FINE = 1e-9
#: What is missing to a level, as a share of it, up to which (w, b) is stretched until nothing is; and a little more.
STRETCHED, MORE = 1e-3, 1e-15
#: Products that an evaluation in twice the precision may take in all.
AFFORDABLE = 60_000_000
#: What share of that the rows may take that the gap does not depend on, for the sake of the values that are printed.
BESIDES = 0.1


@dataclass(frozen=True, eq=False)
class JointPoint:
    """A certified pair.

    alpha, beta, coef (n, k): Feasible α, β of (JOINT.3), and the coefficients of f_c(x) = Σ_i coef_ic K(x_i, x)
        + b_c.
    w (d, k) or None: Of a linear machine.
    b, inner (k,): The intercepts in the caller's coordinates, and over `FeatureSpace.rows`.
    f, missing (n, k): Decision values of the samples, and t of (JOINT.1).
    primal, dual, measured, gap: P, D, (P − D)/P as computed, and a bound that counts rounding; infinite where
        none was made.
    half_norm: ½Σ‖w_c‖².
    factor: What w(α) and b are multiplied by, (JCOUNT.4).
    """

    alpha: FloatArray
    beta: FloatArray
    coef: FloatArray
    w: FloatArray | None
    b: FloatArray
    inner: FloatArray
    inner_radius: FloatArray
    f: FloatArray
    missing: FloatArray
    primal: float
    dual: float
    measured: float
    half_norm: float
    factor: float = 1.0
    gap: float = math.inf
    #: f rests on β, and on no coefficients beside it.
    explicit: ClassVar[None] = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def __repr__(self) -> str:
        return outline("JointPoint", **vars(self))


class JointJudge:
    """Certifies the points of one joint machine.

    space: The samples that take part.
    """

    def __init__(self, space: FeatureSpace, dual: JointDual) -> None:
        self.space, self.dual = space, dual

    @remembered
    def accuracy(self) -> Accuracy:
        """How exactly f is known."""
        return Accuracy(self.space)

    def certify(self, alpha: FloatArray, b: FloatArray | None = None) -> JointPoint:
        """A feasible pair from any α (n, k), with its measured gap; b (k,) is a guess of the intercepts over `rows`."""
        dual, space = self.dual, self.space
        a = feasible(dual, alpha)
        beta = dual.beta(a)
        w = space.weights(beta) if space.is_linear else None
        coef = beta if w is not None else space.coefficients(beta)
        u: FloatArray = space.centred @ coef if w is None else space.rows.margins(w)
        half = 0.5 * float((w * w).sum() if w is not None else (coef * u).sum())
        if dual.intercept == "penalised":
            inner = np.array([total(column)[0] for column in beta.T])
        elif dual.intercept == "free":
            inner = self._intercepts(a, u, half, b)
        else:
            inner = np.zeros(dual.k)
        return self._point(a, beta, w, u, half, inner)

    def _intercepts(self, a: FloatArray, u: FloatArray, half: float, guess: FloatArray | None) -> FloatArray:
        """The best of what is known of b: (k,)."""
        dual = self.dual
        candidates = [joint_intercepts.from_free_rows(dual, a, u)]
        if guess is not None and np.isfinite(guess).all():
            candidates.append(joint_intercepts.centred(guess))
        losses = [float(dual.losses(dual.missing(u + b)).sum()) for b in candidates]
        best = int(np.argmin(losses))
        primal, lower = half + losses[best], dual.level * float(a.sum()) - half
        if primal - lower <= ROUGH * abs(primal):
            return candidates[best]
        return joint_intercepts.improved(dual, u, candidates[best], lower - half)

    def _point(
        self, a: FloatArray, beta: FloatArray, w: FloatArray | None, u: FloatArray, half: float, inner: FloatArray,
        factor: float = 1.0,
    ) -> JointPoint:  # fmt: skip
        """The pair of α and (w(α), b) times a factor, b (k,) over `rows`, in the caller's coordinates."""
        dual = self.dual
        planes = [
            self.space.plane(
                beta[:, c], None if w is None else np.ascontiguousarray(w[:, c]), factor * float(inner[c]), factor
            )
            for c in range(dual.k)
        ]
        level = np.array([plane.level for plane in planes])
        f = factor * u + level
        t = dual.missing(f)
        difference = float(dual.terms(a, t).sum()) + (factor - 1.0) ** 2 * half
        half *= factor * factor
        primal = half + float(dual.losses(t).sum())
        if dual.intercept == "penalised":
            apart = level - beta.sum(axis=0)
            primal += 0.5 * float(level @ level)
            difference += 0.5 * float(apart @ apart)
        return JointPoint(
            alpha=a, beta=beta, coef=np.column_stack([plane.coef for plane in planes]),
            w=None if w is None else factor * w, factor=factor,
            b=np.array([plane.b for plane in planes]), inner=level,
            inner_radius=np.array([plane.level_radius for plane in planes]), f=f, missing=t, primal=primal,
            dual=primal - difference, measured=relative_gap(difference, primal, primal - difference), half_norm=half,
        )  # fmt: skip

    def counted(self, point: JointPoint, tol: float, in_time: bool = True) -> JointPoint:
        """The point with a gap that counts all rounding: in twice the precision where that is needed for `tol`."""
        bounded, r = self._bounded(point)
        if bounded.gap <= FINE:
            return bounded
        stretched = self._stretched(point, r)
        if stretched is not None:
            other, radii = self._bounded(stretched)
            if other.gap < bounded.gap:
                bounded, r = other, radii
        if bounded.gap <= tol or bounded.measured > tol or not in_time:
            return bounded
        return self._sharpened(bounded, r)

    def _bounded(self, point: JointPoint) -> tuple[JointPoint, FloatArray]:
        """The point with its gap, and r (n, k)."""
        r = self._radii(point)
        return replace(point, gap=self._gap(point, point.f, r, self._distances(point))), r

    def _stretched(self, point: JointPoint, r: FloatArray) -> JointPoint | None:
        """The point with (JCOUNT.4); None where something is missing that is no rounding."""
        dual = self.dual
        most = float(self._ends(point.f, r)[1][~dual.own].max()) / dual.level
        if not 0.0 < most <= STRETCHED:
            return None
        factor = 1.0 + most / (1.0 - most) + MORE
        w, u = point.w, point.f - point.inner
        return self._point(point.alpha, point.beta, w, u, point.half_norm, point.inner, factor)

    def _kappa(self, point: JointPoint, c: int) -> float:
        return point.factor * self.accuracy.kappa(point.beta[:, c], None if point.w is None else point.w[:, c])

    def _radii(self, point: JointPoint) -> FloatArray:
        """r of (JCOUNT.1), without what f_y and f_c lose when one is taken from the other: (n, k)."""
        sizes = self.accuracy.sizes(np.arange(self.dual.n))
        kappas = np.array([self._kappa(point, c) for c in range(self.dual.k)])
        radii: FloatArray = sizes[:, None] * kappas
        return radii * FEW + point.inner_radius + 2.0 * UNIT * (2.0 * np.abs(point.f) + np.abs(point.inner))

    def _distances(self, point: JointPoint) -> FloatArray:
        """d of (JCOUNT.3): (k,). Of another kernel than the linear, f is made of β itself, or a multiple of it.

        Or of what is left of it in a positive part, (CLIP.2).
        """
        found, apart, part = np.zeros(self.dual.k), abs(point.factor - 1.0), self.space.positive_part
        for c, column in enumerate(point.beta.T):
            if part is not None:
                found[c] = point.factor * part.apart(part.coefficients(column), column)
            w = None if point.w is None else point.w[:, c]
            if w is not None:
                found[c] = point.factor * self.accuracy.weight_radius(np.abs(column))
            if point.factor != 1.0:
                support = np.flatnonzero(column)
                size = float(np.abs(column[support]) @ self.accuracy.sizes(support)) * FEW
                square = (
                    float(self.space.coefficients(column) @ (point.f[:, c] - point.inner[c]))
                    + self._kappa(point, c) * size
                )
                norm = math.sqrt(max(square, 0.0)) if w is None else length_above(w)
                found[c] += apart * norm + 8.0 * UNIT * point.factor * size
        return found * FEW

    def _gap(self, point: JointPoint, f: FloatArray, r: FloatArray, distances: FloatArray) -> float:
        """(JCOUNT.3)."""
        dual = self.dual
        low, high = self._ends(f, r)
        difference = 0.5 * float(distances @ distances) + float(self._terms(point, f, r, low, high).sum()) * FEW
        losses = float(dual.losses(low).sum()) * (1.0 - gamma(low.size + 8))
        size = self._weights_below(point) + losses
        if dual.intercept == "penalised":
            size += 0.5 * float(point.inner @ point.inner) * (1.0 - gamma(dual.k + 4))
            for c in range(dual.k):
                net, off = total(point.beta[:, c])
                apart = abs(net - float(point.inner[c])) + off + float(point.inner_radius[c])
                difference += 0.5 * apart * apart
        return relative_gap(difference * FEW, size / FEW, 0.0) if size > 0.0 else math.inf

    def _ends(self, f: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """t from below and from above, 0 at the own class, by (JCOUNT.1): (n, k) each."""
        dual = self.dual
        each = np.arange(dual.n)
        t, own = dual.missing(f), np.abs(f[each, dual.label])[:, None]
        R = r[each, dual.label][:, None] + r + 4.0 * UNIT * (own + np.abs(f) + dual.level)
        R *= FEW
        R[dual.own] = 0.0
        return t - R, t + R

    def _terms(self, point: JointPoint, f: FloatArray, r: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """The terms of (JOINT.6) from above, by (JCOUNT.2): (n, k)."""
        dual, a = self.dual, point.alpha
        each = np.arange(dual.n)
        if not dual.shared:
            room = (dual.upper[:, None] - a) * FEW
            ends = [room * np.maximum(t, 0.0) + a * np.maximum(-t, 0.0) for t in (low, high)]
            terms = np.maximum(*ends)
            terms[dual.own] = 0.0
            return np.asarray(terms)
        reach = f + r  # from above; the own class is no rival
        reach[dual.own] = -np.inf
        first = reach.argmax(axis=1)
        highest = reach[each, first]
        reach[each, first] = -np.inf
        second = reach.max(axis=1)
        other = np.where(np.arange(dual.k) == first[:, None], second[:, None], highest[:, None])
        beyond = other - (f - r)
        beyond += 4.0 * UNIT * (np.abs(f) + np.abs(np.where(np.isfinite(other), other, 0.0)))
        terms = a * np.maximum(np.maximum(beyond, -low), 0.0)
        worst = np.maximum(high.max(axis=1), 0.0)
        terms[each, dual.label] = (dual.upper - a.sum(axis=1)) * worst * FEW
        return np.asarray(terms)

    def _weights_below(self, point: JointPoint) -> float:
        """½Σ‖w_c‖² from below."""
        if point.w is not None:
            return point.half_norm * (1.0 - gamma(point.w.size + 8))
        error = 0.0
        for c in range(self.dual.k):
            support = np.flatnonzero(point.beta[:, c])
            sizes = np.abs(point.beta[support, c]) @ self.accuracy.sizes(support)
            error += self._kappa(point, c) * float(sizes) * FEW
        square = 2.0 * point.half_norm * (1.0 - gamma(point.beta.size + 8)) - error
        return 0.5 * max(square, 0.0)

    def _sharpened(self, point: JointPoint, r: FloatArray) -> JointPoint:
        """The rows that contribute evaluated in twice the precision, and the distances of w too."""
        low, high = self._ends(point.f, r)
        rows = np.flatnonzero(self._terms(point, point.f, r, low, high).sum(axis=1) > 0.0)
        width = point.coef.shape[0] if point.w is None else point.w.shape[0]
        if len(rows) * width * self.dual.k > AFFORDABLE:
            return point
        if self.dual.n * width * self.dual.k <= AFFORDABLE * BESIDES:
            rows = np.arange(self.dual.n)
        f, r = point.f.copy(), r.copy()
        distances, w, nothing = self._distances(point), point.w, np.zeros(len(rows))
        for c in range(self.dual.k):
            column = None if w is None else np.ascontiguousarray(w[:, c])
            found = self.accuracy.sharp_values(rows, point.coef[:, c], column, float(point.b[c]), nothing)
            if found is None:
                return point
            f[rows, c], r[rows, c] = found
            sharp = None if w is None else self.accuracy.sharp_weights(point.beta[:, c])
            if sharp is not None and w is not None:
                apart = length_above(w[:, c] - sharp[0]) + length_above(sharp[1] + 2.0 * UNIT * np.abs(sharp[0]))
                distances[c] = min(float(distances[c]), apart * FEW)
        gap = self._gap(point, f, r, distances)
        return self._valued(replace(point, gap=gap, f=f, missing=self.dual.missing(f))) if gap < point.gap else point

    def _valued(self, point: JointPoint) -> JointPoint:
        """With P of f as it is now, which may be known better than it was, and D from P and the gap."""
        half = point.half_norm if point.w is not None else 0.5 * float((point.coef * (point.f - point.inner)).sum())
        primal = half + float(self.dual.losses(point.missing).sum())
        if self.dual.intercept == "penalised":
            primal += 0.5 * float(point.inner @ point.inner)
        return replace(point, primal=primal, dual=primal - point.gap * abs(primal))
