"""Define the common bases of regression (`RegressionProblem`) and of novelty detection (`NoveltyProblem`).

A regression fits f(x) = ⟨w, φ(x)⟩ + b to targets t_i of n samples x_i. ε ≥ 0 is the half-width of the tube around t in
which nothing is penalised, ξ_i and ξ*_i are the slacks above and below it, and C is the penalty per unit of slack.

    (SVR.1)  two rows per sample:  row i has the sign s = +1:  t_i − f(x_i) ≤ ε + ξ_i;
             row n + i has the sign s = −1:  f(x_i) − t_i ≤ ε + ξ*_i;
             both are s f(x_i) ≥ ℓ − slack, (DUAL.2), with the level ℓ = s t_i − ε
    (SVR.2)  the multipliers of these rows are α = (α⁺, α⁻), (2n,); f depends on β = α⁺ − α⁻, (n,), alone:
             w = Σ_i β_i φ(x_i),  f(x) = Σ_i β_i K(x_i, x) + b
    (SVR.3)  the dual (DUAL.1) in β:  αᵀQα = βᵀKβ, although Q is 2n × 2n;  −ℓᵀα = −tᵀβ + ε Σ_i (α⁺_i + α⁻_i)
    (SVR.4)  if a constant b is within ε of every t_i, then w = 0 with this b has no loss, and an α with β = 0 is
             optimal:  α = 0, or, if ε is a variable of the primal and so not in ℓ, any feasible one
    (SVR.5)  a shift: t + c in place of t has the same β, and b + c in place of b;
             a unit γ > 0: γt, γε and γC in place of t, ε and C give γf in place of f; if ξ² is penalised, C is kept

Neither X nor K is stored twice: only indices of rows are doubled. By (SVR.5) origin and unit of t do not matter.

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

#: Labels that a novelty detector predicts for samples outside and inside.
OUTSIDE, INSIDE = -1, 1


class NoveltyProblem(Problem):
    """Base of novelty detection: f is positive inside and negative outside, and the margin is 0."""

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
        yf[rows] = f
        margin[rows] = 0.0


class RegressionProblem(Problem):
    """Base of regression: the target is a number, and the loss has two sides."""

    _kind_labels: ClassVar[KindLabels] = KindLabels(
        ("inside", "edge", "beyond"), ("inside the tube", "on its edge", "beyond it"), "beyond the tube"
    )
    _target_kind = "numbers"
    _variables_per_sample: ClassVar[int] = 2
    _margin_constraints: ClassVar[tuple[str, ...]] = ("above", "below")
    #: Text of the term that the width of the tube adds to the dual.
    width_formula: ClassVar[str] = ""

    def _get_epsilon(self, certificate: Certificate | None = None) -> float:  # noqa: ARG002  (of a ν-SVR)
        """Return ε, the distance from t that is not penalised; 0 without a tube, or where only a certificate has it."""
        return float(getattr(self, "epsilon", 0.0))

    @property
    def _alpha_at_zero(self) -> FloatArray:
        """An α over the rows of the dual with β = 0: (2n,)."""
        return np.zeros(2 * len(self._active_target))

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        """Polish the certificate; if w = 0 has no loss, P = 0 and no gap is relative to it, except that of β = 0."""
        t = self._active_target
        epsilon = self._get_epsilon()
        lowest, highest = float(t.min(initial=math.inf)), float(t.max(initial=-math.inf))
        if self.intercept == "free":
            has_no_loss = highest - lowest <= 2.0 * epsilon
        else:
            has_no_loss = max(abs(lowest), abs(highest)) <= epsilon
        if has_no_loss and not self.constraints:  # (SVR.4)
            return min(self._certifier.certify(self._alpha_at_zero), certificate, key=lambda point: point.gap)
        return super()._polish(certificate, tol, clock, certify_seconds)

    def _fill_inactive(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        f = model.decision_function(self.X[rows])
        t = self.samples.target[rows]
        epsilon = self._get_epsilon(certificate)
        for sign, dual_rows in ((1.0, rows), (-1.0, rows + self.n)):
            yf[dual_rows] = sign * f
            margin[dual_rows] = sign * t - epsilon

    def _specify_two_sided(
        self, epsilon: float, upper: Numbers, curvature: Numbers = 0.0, groups: tuple[Equality, ...] = ()
    ) -> Specification:
        """Build (SVR.1): 2n rows of levels t − ε and −t − ε, with U and δ of all rows, and groups besides that of b."""
        t = self._active_target
        sign, rows = build_two_sided_rows(len(t))
        levels = add_exactly(np.concatenate([t, -t]), np.full(len(sign), -epsilon))
        return Specification(sign, levels, upper, curvature, groups, rows=rows, balance="1ᵀα⁺ − 1ᵀα⁻ = 0")

    def _format_dual_formula(self, svm: SVMDual) -> str:
        entry = super()._format_dual_formula(svm).partition("s_i s_j ")[2]  # Q_ij without the signs
        curvature_term = " + ½ Σ δ_i ((α⁺_i)² + (α⁻_i)²)" if svm.has_curvature else ""
        return f"½ βᵀKβ − tᵀβ{self.width_formula}{curvature_term},  β = α⁺ − α⁻,  K_ij = {entry}"  # (SVR.3)
