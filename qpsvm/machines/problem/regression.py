"""Define the common bases of regression (two dual rows per sample, one per side of f) and of novelty detection.

    (SVR.1)  two rows a sample:  row i, s = +1:  t_i − f(x_i) ≤ ε + ξ_i;  row n + i, s = −1:  f(x_i) − t_i ≤ ε + ξ*_i;
             that is s f(x_i) ≥ ℓ − ξ with the levels ℓ = t_i − ε and ℓ = −t_i − ε of (DUAL.2)
    (SVR.2)  their multipliers α⁺ and α⁻ are one coefficient a sample:  β = α⁺ − α⁻,  f(x) = Σ β_i K(x_i, x) + b
    (SVR.3)  so αᵀQα = βᵀKβ, though Q is 2n × 2n, and −ℓᵀα = −tᵀβ + ε 1ᵀ(α⁺ + α⁻)
    (SVR.4)  where one number is within ε of every t, w = 0 costs nothing, and any α with β = 0 is the dual optimum
    (SVR.5)  t + c for t:  the same β, and b + c for b;  γt, γε and γC for t, ε and C, or C itself where it is the
             price of ξ²:  γf for f

Neither X nor K is written twice: rows are doubled in index only. By (SVR.5) the origin and the unit of t do not matter.

Machines for novelty detection have a ν, an inside and an outside, and samples without a target.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.exactly import sums
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.progress import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.machines.problem.base import Problem
from qpsvm.program.record import Equality, Numbers, Record
from qpsvm.program.rows import mirrored_rows
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import Kinds

#: What a novelty detector says of samples outside and inside.
OUTSIDE, INSIDE = -1, 1


class Enclosing(Problem):
    """Base of novelty detection: f says how far inside a sample is, and its level is 0."""

    kinds: ClassVar[Kinds] = Kinds(
        ("inside", "boundary", "outside"), ("inside", "on the boundary", "outside"), "outside"
    )
    own: ClassVar[tuple[str, ...]] = ("nu",)
    learns = "none"
    nu: float

    @property
    def predicted(self) -> NDArray[Any]:
        """−1 outside, +1 inside."""
        return np.array([OUTSIDE, INSIDE])

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        del certificate
        f = model.decision_function(self.X[rows], diagonal=self._own_values(rows))
        yf[rows], margin[rows] = f, 0.0


class Regression(Problem):
    """Base of regression: the target is a number, and the loss has two sides."""

    kinds: ClassVar[Kinds] = Kinds(
        ("inside", "edge", "beyond"), ("inside the tube", "on its edge", "beyond it"), "beyond the tube"
    )
    learns = "numbers"
    sides: ClassVar[int] = 2
    level_rows: ClassVar[tuple[str, ...]] = ("above", "below")
    #: What the width of the tube adds to the dual, for people.
    width_formula: ClassVar[str] = ""

    def _half_width(self, certificate: Certificate | None = None) -> float:  # noqa: ARG002  (where it is found)
        """ε: how far f may be from t at no price; 0 of a machine without a tube, or before it has found its own."""
        return float(getattr(self, "epsilon", 0.0))

    @property
    def _still(self) -> FloatArray:
        """An α with β = 0 over the rows of the dual, (2n,)."""
        return np.zeros(2 * len(self.labels))

    def _polished(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, each: float = 0.0
    ) -> Certificate:
        """Polish the certificate; if w = 0 costs nothing, no relative gap exists, so compare with that point."""
        t, width = self.labels, self._half_width()
        ends = (float(t.min(initial=math.inf)), float(t.max(initial=-math.inf)))
        reached = ends[1] - ends[0] <= 2.0 * width if self.intercept == "free" else max(map(abs, ends)) <= width
        if reached and not self.constraints:  # (SVR.4)
            return min(self.judge.certify(self._still), certificate, key=lambda point: point.gap)
        return super()._polished(certificate, tol, clock, each)

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        f, t, epsilon = model.decision_function(self.X[rows]), self.samples.target[rows], self._half_width(certificate)
        for sign, places in ((1.0, rows), (-1.0, rows + self.n)):
            yf[places], margin[places] = sign * f, sign * t - epsilon

    def _two_sided(
        self, epsilon: float, upper: Numbers, curvature: Numbers = 0.0, groups: tuple[Equality, ...] = ()
    ) -> Record:
        """(SVR.1): 2n rows of levels t − ε and −t − ε, for U and δ of all of them, and groups beside that of b."""
        t, (sign, rows) = self.labels, mirrored_rows(len(self.labels))
        levels = sums(np.concatenate([t, -t]), np.full(len(sign), -epsilon))
        return Record(sign, levels, upper, curvature, groups, rows=rows, balance="1ᵀα⁺ − 1ᵀα⁻ = 0")

    def _dual_formula(self, svm: SVMDual) -> str:
        entry = super()._dual_formula(svm).partition("s_i s_j ")[2]
        bend = " + ½ Σ δ_i ((α⁺_i)² + (α⁻_i)²)" if svm.curved else ""
        return f"½ βᵀKβ − tᵀβ{self.width_formula}{bend},  β = α⁺ − α⁻,  K_ij = {entry}"  # (SVR.3)
