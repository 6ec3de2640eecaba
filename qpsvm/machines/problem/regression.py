"""Define the common bases of regression (two dual rows per sample, one per side of f) and of novelty detection.

    (SVR.1)  two rows a sample:  row i, s = +1:  t_i − f(x_i) ≤ ε + ξ_i;  row n + i, s = −1:  f(x_i) − t_i ≤ ε + ξ*_i;
             that is s f(x_i) ≥ ℓ − ξ with the levels ℓ = t_i − ε and ℓ = −t_i − ε of (DUAL.2)
    (SVR.2)  their multipliers α⁺ and α⁻ are one coefficient a sample:  β = α⁺ − α⁻,  f(x) = Σ β_i K(x_i, x) + b
    (SVR.3)  so αᵀQα = βᵀKβ, though Q is 2n × 2n, and −ℓᵀα = −tᵀβ + ε 1ᵀ(α⁺ + α⁻)
    (SVR.4)  where one number is within ε of every t, w = 0 costs nothing, and any α with β = 0 is the dual optimum
    (SVR.5)  t + c for t:  the same β, and b + c for b;  γt, γε and γC for t, ε and C, or C itself if it is
             the penalty of ξ²:  γf for f

Neither X nor K is written twice: rows are doubled in index only. By (SVR.5) the origin and the unit of t do not matter.

Machines for novelty detection have a ν, an inside and an outside, and samples without a target.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rationals import add_exactly
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.problem import Problem
from qpsvm.program.rows import build_two_sided_rows
from qpsvm.program.specification import Equality, Numbers, Specification
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import KindLabels

#: What a novelty detector says of samples outside and inside.
OUTSIDE, INSIDE = -1, 1


class NoveltyProblem(Problem):
    """Base of novelty detection: f says how far inside a sample is, and its level is 0."""

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("inside", "boundary", "outside"), ("inside", "on the boundary", "outside"), "outside"
    )
    _hyperparameters: ClassVar[tuple[str, ...]] = ("nu",)
    _target_kind = "none"
    nu: float

    @property
    def _predicted_labels(self) -> NDArray[Any]:
        """−1 outside, +1 inside."""
        return np.array([OUTSIDE, INSIDE])

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del certificate
        f = model.decision_function(self.X[rows], diagonal=self._take_kernel_diagonal(rows))
        yf[rows], margin[rows] = f, 0.0


class RegressionProblem(Problem):
    """Base of regression: the target is a number, and the loss has two sides."""

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("inside", "edge", "beyond"), ("inside the tube", "on its edge", "beyond it"), "beyond the tube"
    )
    _target_kind = "numbers"
    _variables_per_sample: ClassVar[int] = 2
    _margin_constraints: ClassVar[tuple[str, ...]] = ("above", "below")
    #: What the width of the tube adds to the dual, for people.
    width_formula: ClassVar[str] = ""

    def _get_epsilon(self, certificate: Certificate | None = None) -> float:  # noqa: ARG002  (where it is found)
        """Return ε, the distance from t that costs nothing; 0 without a tube, or before its width is known."""
        return float(getattr(self, "epsilon", 0.0))

    @property
    def _alpha_at_zero(self) -> FloatArray:
        """An α with β = 0 over the rows of the dual, (2n,)."""
        return np.zeros(2 * len(self._active_target))

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        """Polish the certificate; if w = 0 costs nothing, no relative gap exists, so compare with that point."""
        t, width = self._active_target, self._get_epsilon()
        ends = (float(t.min(initial=math.inf)), float(t.max(initial=-math.inf)))
        reached = ends[1] - ends[0] <= 2.0 * width if self.intercept == "free" else max(map(abs, ends)) <= width
        if reached and not self.constraints:  # (SVR.4)
            return min(self._certifier.certify(self._alpha_at_zero), certificate, key=lambda point: point.gap)
        return super()._polish(certificate, tol, clock, certify_seconds)

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        f, t, epsilon = model.decision_function(self.X[rows]), self.samples.target[rows], self._get_epsilon(certificate)
        for sign, places in ((1.0, rows), (-1.0, rows + self.n)):
            yf[places], margin[places] = sign * f, sign * t - epsilon

    def _specify_two_sided(
        self, epsilon: float, upper: Numbers, curvature: Numbers = 0.0, groups: tuple[Equality, ...] = ()
    ) -> Specification:
        """Build (SVR.1): 2n rows of levels t − ε and −t − ε, with U and δ of all rows, and groups besides that of b."""
        t, (sign, rows) = self._active_target, build_two_sided_rows(len(self._active_target))
        levels = add_exactly(np.concatenate([t, -t]), np.full(len(sign), -epsilon))
        return Specification(sign, levels, upper, curvature, groups, rows=rows, balance="1ᵀα⁺ − 1ᵀα⁻ = 0")

    def _format_dual_formula(self, svm: SVMDual) -> str:
        entry = super()._format_dual_formula(svm).partition("s_i s_j ")[2]
        bend = " + ½ Σ δ_i ((α⁺_i)² + (α⁻_i)²)" if svm.has_curvature else ""
        return f"½ βᵀKβ − tᵀβ{self.width_formula}{bend},  β = α⁺ − α⁻,  K_ij = {entry}"  # (SVR.3)
