"""Where w vanishes: the reduced hulls of a ν-SVM meet, and no entry of w(α) is more than the rounding of its own sum.

The optimum is 0 then, and no gap is relative to it:

    (VANISH.1)  w = 0, b = 0, ρ = 0 is feasible with the value 0, and optimal where some feasible α has w(α) = 0
    (VANISH.2)  its gap, ½‖w(α)‖², in units of ½(Σ α_i ‖φ(x_i)‖)²:  the objective if nothing cancelled
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from qpsvm.arrays.rounding import gamma, total
from qpsvm.arrays.types import FloatArray, as_dense
from qpsvm.dual.accuracy import AFFORDABLE
from qpsvm.dual.bounds import Bounds, surplus
from qpsvm.dual.certificate import Certificate
from qpsvm.kernels.functions import Precomputed


class Vanishing:
    """Looks whether w vanishes at points of one dual.

    Parameters
    ----------
    bounds : Bounds
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.accuracy, self.space, self.svm = bounds, bounds.accuracy, bounds.accuracy.space, bounds.svm

    def nothing(self, point: Certificate) -> Certificate | None:
        """w = 0, b = 0, ρ = 0, whose value is 0, beside an α whose w(α) is rounding: the reduced hulls meet.

        Entry by entry, no more than the rounding of the sum over centred samples; None where it is more. The gap is
        (CERT.3) in units of ½(Σ α_i ‖φ(x_i)‖)², the objective if nothing cancelled.
        """
        intercept = self.svm.intercept
        if intercept is None or intercept.total or self.svm.curved or self.svm.penalised:
            return None  # all that follows rests on 1ᵀβ = 0
        beta = self.svm.beta(point.alpha)
        if self._one_sample(beta):
            found: tuple[float, float] | None = 0.0, 0.0
        else:
            found = self._squares(beta) if point.w is not None else self.accuracy.vanishing_square(beta)
            if found is None and point.w is not None:  # an α beside it may do
                point = replace(point, alpha=self._nearest(point))
                found = self._squares(self.svm.beta(point.alpha))
        if found is None:
            return None
        own2, spread2 = found
        gap = own2 / spread2 if spread2 > 0.0 else 0.0
        nothing = np.zeros_like(point.yf)
        return replace(
            point, w=None if point.w is None else np.zeros_like(point.w), coef=np.zeros_like(point.coef), b=0.0,
            b_interval=(0.0, 0.0),
            multipliers=dict.fromkeys(point.multipliers, 0.0), margin=np.zeros_like(point.yf), level=0.0, primal=0.0,
            dual=-0.5 * point.unit * own2, yf=nothing, gap=gap, half_norm=0.0, slack=None, radius=None, size=math.nan,
        )  # fmt: skip

    def _squares(self, beta: FloatArray) -> tuple[float, float] | None:
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

    def _nearest(self, point: Certificate) -> FloatArray:
        """The nearest α with w(α) = 0 that differs on free rows only, as far as one correction can tell: (m,).

        α itself where there are many free rows, or where the correction would leave the box.
        """
        alpha, upper = point.alpha, self.svm.upper
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        exact = self.accuracy.sharp_weights(self.svm.beta(alpha))
        if exact is None or not 0 < len(free) * self.space.samples.d <= AFFORDABLE // 100:
            return alpha
        Z = as_dense(self.space.samples.take(self.svm.samples_of(free))) * self.svm.sign[free][:, None]
        rows = [Z.T, *(part.column[free][None, :] for part in self.svm.parts)]
        held = np.concatenate([exact[0], self._surpluses(alpha)])
        step = np.linalg.lstsq(np.concatenate(rows), -held, rcond=None)[0]
        moved = alpha.copy()
        moved[free] += step
        return moved if ((moved >= 0.0) & (moved <= upper)).all() else alpha

    def _surpluses(self, alpha: FloatArray) -> FloatArray:
        """Eᵀα − e of the parts: (q,)."""
        return np.array([surplus(part.column * alpha, part.total)[0] for part in self.svm.parts])

    def _one_sample(self, beta: FloatArray) -> bool:
        """Whether all rows of the support are the same sample, so that 1ᵀβ = 0 makes w(α) = 0."""
        part = self.space.samples.take(np.flatnonzero(beta))
        if isinstance(self.space.kernel, Precomputed) or part.shape[0] * part.shape[1] > AFFORDABLE:
            return False
        dense = as_dense(part)
        return bool((dense == dense[:1]).all())
