"""Certify an optimal value of 0, to which no gap is relative.

The reduced hulls of a ν-SVM meet, or the origin is in the reduced hull of a one-class SVM. Then some feasible α has
w(α) = 0, and no entry of w(α), as computed, is more than the rounding of its own sum:

    (VANISH.1)  w = 0, b = 0, ρ = 0 is feasible with the value 0, and optimal where some feasible α has w(α) = 0
    (VANISH.2)  its gap, ½‖w(α)‖², in units of ½(Σ α_i ‖φ(x_i)‖)²:  the objective if nothing cancelled
    (VANISH.3)  1ᵀβ = 0 allows to centre the samples of a ν-SVM for this; 1ᵀβ > 0 of a one-class SVM does not:
                there the sum is that of the samples as they are, and so it is with linear constraints, whose bounds
                are 0. Those are no part of that size: prices that cancel each other may be as large as one likes
    (VANISH.5)  where the β of equal rows add up to σ_g, w(α) = Σ σ_g φ(x_g):  ‖w(α)‖ ≤ Σ |σ_g| ‖φ(x_g)‖

And a ball around samples that are all one and the same has no size. Nothing is rounded in that:

    (VANISH.4)  x_i = x for all i:  c = φ(x), R = 0 is feasible with the value 0, which no R² + Σ C_i ξ_i is below
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.double_double import sum_with_bound
from qpsvm.base.arrays.rounding import gamma
from qpsvm.base.arrays.ties import find_ties
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds import levels
from qpsvm.bounds.accuracy import AFFORDABLE
from qpsvm.bounds.certificate import Certificate
from qpsvm.bounds.gap_bounds import Bounds
from qpsvm.program.svm_dual import DualGroup
from qpsvm.space.kernels.functions import Precomputed


class Vanishing:
    """Looks whether w vanishes at points of one dual."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.accuracy, self.space, self.svm = bounds, bounds.accuracy, bounds.accuracy.space, bounds.svm

    def find_zero_point(self, point: Certificate) -> Certificate | None:
        """Return the point with the value 0, and an α that proves it optimal; None if there is none.

        w = 0, b = 0, ρ = 0 where w(α) is rounding, entry by entry; of a ball, R = 0 where all samples are the same. The
        gap is (CERT.3) in units of ½(Σ α_i ‖φ(x_i)‖)², the objective if nothing cancelled.
        """
        if self.space.is_affine:
            return self._one_place(point)
        intercept, held = self.svm.intercept, self.svm.linear_constraints is not None
        if (
            self.svm.has_curvature
            or self.svm.penalised_groups
            or (held and (point.w is None or self.svm.mix is not None))
        ):
            return None
        if not held and (intercept is None or (intercept.total and self.svm.margin_groups)):
            return None  # all that follows rests on 1ᵀβ = 0, or on b = −ρ alone
        beta = self.svm.beta(point.alpha)
        balanced = intercept is not None and not intercept.total
        found = self._equal_rows(beta) if balanced else None
        if found is None:
            found = self._squares(beta) if point.w is not None else self._kernel_squares(beta)
            if found is None and point.w is not None:  # an α beside it may do
                point = point.replace(alpha=self._nearest(point))
                found = self._squares(self.svm.beta(point.alpha))
        if found is None:
            return None
        own2, spread2 = found
        gap = own2 / spread2 if spread2 > 0.0 else 0.0
        nothing = np.zeros_like(point.yf)
        return point.replace(
            w=None if point.w is None else np.zeros_like(point.w), coef=np.zeros_like(point.coef), b=0.0,
            b_interval=self._intercepts(intercept), multipliers=dict.fromkeys(point.multipliers, 0.0),
            margin=np.zeros_like(point.yf), level=0.0, primal=0.0, dual=-0.5 * point.unit * own2, yf=nothing, gap=gap,
            half_norm=0.0, slack=None, radius=None, size=math.nan,
        )  # fmt: skip

    def _intercepts(self, intercept: DualGroup | None) -> tuple[float, float]:
        """Return all b that are optimal for w = 0: 0, or if the bounds force 1ᵀα, a whole interval."""
        if intercept is None or not intercept.total:
            return 0.0, 0.0
        return levels.interval(self.svm, self.svm.parts[0], np.zeros(self.svm.m)) or (0.0, 0.0)

    def _one_place(self, point: Certificate) -> Certificate | None:
        """(VANISH.4): c = φ(x), R = 0, and any α; None unless all samples are the same row, to the last bit."""
        samples = self.space.samples
        if isinstance(self.space.kernel, Precomputed):  # rows of K, of which all entries are the same
            same, dense = bool((self.space.X[0, 0] == self.space.X).all()), None
        else:
            dense = None if samples.entries > AFFORDABLE else as_dense(samples.matrix())
            same = dense is not None and self._is_constant(dense)
        if not same or self.space.shift or not self.space.is_plain:
            return None
        level = float(self.svm.level.max(initial=-math.inf))
        at = np.full(self.svm.m, level)
        w = None if dense is None or point.w is None else self.space.to_row_weights(dense[:1][0])
        mu = 0.0 - level if w is None else -0.5 * float(w @ w)
        coef = np.zeros_like(point.coef)
        coef[int(np.argmax(point.alpha))] = 1.0  # φ(x) itself: a sum of shares of it would be rounded
        return point.replace(
            w=w, coef=coef, factor=1.0, offset=0.0, b=mu, level=mu,
            b_interval=(min(point.b_interval[0], mu), mu), primal=0.0, dual=0.0, yf=at, margin=at.copy(), gap=0.0,
            half_norm=-mu, slack=None, radius=None, size=math.nan,
        )  # fmt: skip

    def _kernel_squares(self, beta: FloatArray) -> tuple[float, float] | None:
        """‖w(α)‖² and (Σ α_i ‖φ(x_i)‖)² of a kernel, if the first is no more than rounding."""
        balanced = self.svm.intercept is not None and not self.svm.intercept.total
        return self.accuracy.vanishing_square(beta) if balanced else self.accuracy.uncentred_square(beta)

    def _squares(self, beta: FloatArray) -> tuple[float, float] | None:
        """‖w(α)‖² and (Σα_i‖x_i − x̄‖)² of a linear machine, if no entry of w(α) is more than its rounding.

        x̄ = 0 where 1ᵀβ is not 0, (VANISH.3).
        """
        found = self.accuracy.sharp_weights(beta)
        if found is None:
            return None
        support = np.flatnonzero(beta)
        part, terms = self.space.samples.take(support), len(support)
        if self.svm.intercept is None or self.svm.intercept.total:
            own = (
                np.ones(len(support))
                if self.svm.linear_constraints is None
                else support < self.svm.linear_constraints.unconstrained_dual.n
            )
            return self._measure_rounding(found[0], found[1], (abs(part).T @ (own * np.abs(beta[support]))), terms)
        mean = np.asarray(part.sum(axis=0)).ravel() / max(terms, 1)  # of no rows, where β = 0
        own = found[0] - mean * sum_with_bound(beta)[0]
        means = (mean, self.space.samples.means())  # of all rows, where that is nearer
        size = np.min([(np.abs(as_dense(part) - at).T @ np.abs(beta[support])) for at in means], axis=0)
        return self._measure_rounding(own, found[1], size, terms)

    @staticmethod
    def _measure_rounding(
        own: FloatArray, radii: FloatArray, size: FloatArray, terms: int
    ) -> tuple[float, float] | None:
        """Return ‖own‖² and ‖size‖² (d,), unless an entry of own exceeds the rounding of a sum of that size."""
        if not (np.maximum(np.abs(own), radii) <= gamma(terms + 2) * size).all():
            return None
        own = np.where(np.abs(own) <= radii, 0.0, own)
        return float(own @ own), float(size @ size)

    def _nearest(self, point: Certificate) -> FloatArray:
        """The nearest α with w(α) = 0 that differs on free rows only, as far as one correction can tell: (m,).

        α itself where there are many free rows, or where the correction would leave the box.
        """
        alpha, upper = point.alpha, self.svm.upper
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        exact = self.accuracy.sharp_weights(self.svm.beta(alpha))
        if exact is None or not 0 < len(free) * self.space.samples.d <= AFFORDABLE // 100:
            return alpha
        Z = as_dense(self.space.samples.take(self.svm.find_samples(free))) * self.svm.sign[free][:, None]
        columns = np.concatenate([Z.T, *(part.column[free][None, :] for part in self.svm.parts)])
        surpluses = [sum_with_bound(part.column * alpha, -part.total)[0] for part in self.svm.parts]
        held = np.concatenate([exact[0], surpluses])
        step = np.linalg.lstsq(columns, -held, rcond=None)[0]
        moved = alpha.copy()
        moved[free] += step
        return moved if bool(((moved >= 0.0) & (moved <= upper)).all()) else alpha

    def _equal_rows(self, beta: FloatArray) -> tuple[float, float] | None:
        """The squares of (VANISH.5) and of Σ α_i ‖φ(x_i)‖; None unless the first is the rounding of the second."""
        support = np.flatnonzero(beta)
        part, some = self.space.samples.take(support), beta[support]
        alike = self.space.is_plain and not self.space.shift  # of a precomputed kernel, rows of K
        if part.shape[0] * part.shape[1] > AFFORDABLE:
            return None
        if not alike:  # of one sample nothing is left, whatever was done to K
            known = alike or not isinstance(self.space.kernel, Precomputed)
            return (0.0, 0.0) if known and self._is_constant(as_dense(part)) else None
        ties = find_ties(part)
        assert ties is not None
        length = np.sqrt(self.space.curvature(support)[ties.rows])
        own, spread = float(np.abs(ties.sum_groups(some)) @ length), float(ties.sum_groups(np.abs(some)) @ length)
        return (own**2, spread**2) if own <= gamma(len(support) + 2) * spread else None

    def _is_constant(self, dense: FloatArray) -> bool:
        """Return whether all rows (k, d) are equal, bit for bit."""
        return bool((dense == dense[:1][:1]).all())
