"""What the regressions have in common: two rows of the dual for each sample, one for each side of f.

(SVR.1)  row i, s = +1:  t_i − f(x_i) may be as large as the level allows;  row n + i, s = −1:  f(x_i) − t_i
(SVR.2)  coefficients:  β_i = α⁺_i − α⁻_i,  f(x) = Σ β_i K(x_i, x) + b
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from qpsvm.arrays.rounding import UNIT
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual.certificate import Certificate
from qpsvm.dual.svm_dual import Group, SVMDual, intercept_group
from qpsvm.kernels.indefinite import Intercept
from qpsvm.model import Model
from qpsvm.operators import Operator
from qpsvm.problems.base import Problem
from qpsvm.result import Kinds


class Regression(Problem):
    """A machine whose target is a number, and whose loss looks at both sides of f."""

    kinds: ClassVar[Kinds] = Kinds(
        ("inside", "edge", "beyond"), ("inside the tube", "on its edge", "beyond it"), "beyond the tube"
    )
    sides: ClassVar[int] = 2

    @property
    def shown_target(self) -> FloatArray | None:
        """t: (n,)."""
        return self.samples.target

    def _half_width(self, certificate: Certificate) -> float:
        """ε: how far f may be from t at no price."""
        raise NotImplementedError

    def _absent(
        self, rows: IntArray, model: Model, certificate: Certificate, yf: FloatArray, margin: FloatArray
    ) -> None:
        f, t, epsilon = model.decision_function(self.X[rows]), self.samples.target[rows], self._half_width(certificate)
        for sign, places in ((1.0, rows), (-1.0, rows + self.n)):
            yf[places], margin[places] = sign * f, sign * t - epsilon

    def _two_sided(
        self, gram: Operator, kept: Intercept, epsilon: float, upper: FloatArray, curvature: FloatArray,
        groups: tuple[Group, ...] = (),
    ) -> SVMDual:  # fmt: skip
        """(SVR.1): the dual over 2n rows of levels t − ε and −t − ε, for U and δ (2n,), and groups beside that of b."""
        t = self.labels
        n = len(t)
        sign = np.concatenate([np.ones(n), -np.ones(n)])
        level = np.concatenate([t - epsilon, -t - epsilon])
        return SVMDual(
            gram=gram, sign=sign, level=level, upper=upper, curvature=curvature,
            groups=(*intercept_group(sign, kept, "1ᵀα⁺ − 1ᵀα⁻ = 0"), *groups), rows=np.tile(np.arange(n), 2),
            level_radius=UNIT * np.abs(level) if epsilon else None,
        )  # fmt: skip
