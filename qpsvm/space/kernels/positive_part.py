"""K₊, the positive part of an indefinite matrix: what its floats are made of, and how far they may be from it.

With K ≈ VΛVᵀ, all computed, and r_j ≥ ‖Kv_j − λ_jv_j‖:  whatever rounding has made of λ_j and v_j,

    (CLIP.1)  w = Σ c_iφ₊(x_i) with c = VVᵀβ over the kept columns is near w(α) = Σ β_iφ₊(x_i), ⟨φ₊(x_i), φ₊(x_j)⟩ = K₊
    (CLIP.2)  β − c = Σ a_jv_j + s, for any numbers a, so that  ‖w − w(α)‖ ≤ Σ |a_j| ‖K₊^½v_j‖ + ‖K₊‖^½ ‖s‖
    (CLIP.3)  λ_j < 0:  ‖K₊^½v_j‖ ≤ r_j/(2√|λ_j|);  any λ_j ≤ 0:  ≤ √r_j;  λ_j > 0:  ≤ √(λ_j + 2r_j)

Derivation of (CLIP.3), ‖v_j‖ = 1: in K's own eigenvectors q, (λ(q) − λ_j)⟨q, v_j⟩ = ⟨q, Kv_j − λ_jv_j⟩. For
λ(q) > 0 ≥ λ_j the factor is at least λ(q), and at least 2√(λ(q)|λ_j|): sum λ(q)⟨q, v_j⟩². For λ_j > 0,
v_jᵀK₊v_j = v_jᵀKv_j + v_jᵀK₋v_j with K₋ = K₊ − K, and ‖K₋v_j‖ ≤ r_j in the same way.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh

from qpsvm.base.arrays.frozen import frozen, read_only
from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray

#: A few roundings, where it does not pay to count them.
FEW = 1.0 + 64 * UNIT


class PositivePart:
    """The positive part of a symmetric matrix.

    K (n, n): Each entry within a rounding of what it stands for.
    tolerance: Eigenvalues up to this are taken for 0.
    """

    def __init__(self, K: FloatArray, tolerance: float) -> None:
        self.K = read_only(K)
        self.values, self.vectors = frozen(eigh(K))
        self.kept = frozen(self.vectors[:, self.values > tolerance])
        self._tolerance = tolerance

    @property
    def matrix(self) -> FloatArray:
        """K₊ as computed: (n, n)."""
        found: FloatArray = (self.kept * self.values[self.values > self._tolerance]) @ self.kept.T
        return found

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """c of (CLIP.1), (n,) or (n, k): f of new samples is Σ c_i K(x_i, x) + b.

        Twice: what is rounded the first time is as large as the rounding of β.
        """
        for _ in range(2):
            beta = self.kept @ (self.kept.T @ beta)
        return beta

    @remembered
    def _lengths(self) -> FloatArray:
        """‖K₊^½v_j‖ of (CLIP.3) from above: (n,)."""
        n, size = len(self.values), float(np.linalg.norm(self.K))
        left = self.K @ self.vectors
        left -= self.vectors * self.values
        r = np.linalg.norm(left, axis=0) + gamma(2 * n + 16) * size
        below = np.maximum(-self.values, 0.0)
        with np.errstate(divide="ignore"):
            far = np.where(below > 0.0, r / (2.0 * np.sqrt(below)), np.inf)
        found: FloatArray = np.where(self.values > 0.0, np.sqrt(np.maximum(self.values, 0.0) + 2.0 * r),
                                     np.minimum(np.sqrt(r), far)) * FEW  # fmt: skip
        return found

    def apart(self, coef: FloatArray, beta: FloatArray) -> float:
        """‖w − w(α)‖ of (CLIP.2) from above, for coefficients c and β: (n,) each."""
        n, difference = len(beta), beta - coef
        a = self.vectors.T @ difference
        rest = difference - self.vectors @ a
        size = float(np.linalg.norm(difference)) + float(np.linalg.norm(a))
        rounded = gamma(n + 8) * math.sqrt(n) * size + UNIT * float(np.linalg.norm(np.abs(beta) + np.abs(coef)))
        longest = math.sqrt(float(np.linalg.norm(self.K))) * FEW
        return (float(np.abs(a) @ self._lengths) + longest * (float(np.linalg.norm(rest)) + rounded)) * FEW
