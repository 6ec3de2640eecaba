"""Compute the positive part K₊ of an indefinite matrix, with a bound on the effect of rounding (`PositivePart`).

Let K ≈ VΛVᵀ be any approximate eigendecomposition, r_j ≥ ‖Kv_j − λ_jv_j‖, and φ₊ the features with inner products K₊:

    (CLIP.1)  w = Σ c_iφ₊(x_i) is near w(α) = Σ β_iφ₊(x_i), where c = Σ v_j v_jᵀβ over all j with λ_j > 0
    (CLIP.2)  β − c = Σ a_jv_j + x + s, with j over the λ_j not near 0, any x in the span of the other v_j, and a
              remainder s:  ‖w − w(α)‖ ≤ Σ |a_j| ‖K₊^½v_j‖ + (‖x‖ ‖Kx‖)^½ + ‖K₊‖^½ ‖s‖
    (CLIP.3)  λ_j < 0:  ‖K₊^½v_j‖ ≤ r_j/(2√|λ_j|);  any λ_j ≤ 0:  ≤ √r_j;  λ_j > 0:  ≤ √(λ_j + 2r_j)

Derivation of (CLIP.3), ‖v_j‖ = 1: for each exact eigenvector q of K, (λ(q) − λ_j)⟨q, v_j⟩ = ⟨q, Kv_j − λ_jv_j⟩. For
λ(q) > 0 ≥ λ_j the factor λ(q) − λ_j is at least λ(q), and at least 2√(λ(q)|λ_j|). This bounds each term of
v_jᵀK₊v_j = Σ λ(q)⟨q, v_j⟩². For λ_j > 0, v_jᵀK₊v_j = v_jᵀKv_j + v_jᵀK₋v_j with K₋ = K₊ − K, and ‖K₋v_j‖ ≤ r_j in the
same way. The term of x in (CLIP.2) is due to xᵀK₊x ≤ ‖x‖ ‖K₊x‖ ≤ ‖x‖ ‖Kx‖: it bounds all λ_j near 0 at once, while a
sum over these j can be √n times as large.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh

from qpsvm.base.arrays.frozen import as_read_only, cached, freeze
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray


class PositivePart:
    """The positive part of a symmetric matrix.

    K (n, n): The matrix; each entry may be rounded.
    tolerance: Eigenvalues up to this count as 0.
    """

    def __init__(self, K: FloatArray, tolerance: float) -> None:
        self.K = as_read_only(K)
        self.values, self.vectors = freeze(eigh(K, driver="evd"))  # .5 to .8 of the time of SciPy's default
        self.positive_vectors = freeze(self.vectors[:, self.values > tolerance])
        self._tolerance = tolerance

    @property
    def matrix(self) -> FloatArray:
        """K₊ as computed: (n, n)."""
        positive_values = self.values[self.values > self._tolerance]
        return np.asarray((self.positive_vectors * positive_values) @ self.positive_vectors.T)

    def coefficients(self, beta: FloatArray) -> FloatArray:
        """Return c of (CLIP.1), (n,) or (n, k): f of new samples is Σ c_i K(x_i, x) + b.

        The projection is applied twice, because the rounding of the first one is as large as that of β.
        """
        for _ in range(2):
            beta = self.positive_vectors @ (self.positive_vectors.T @ beta)
        return beta

    @cached
    def _lengths(self) -> FloatArray:
        """Upper bounds of ‖K₊^½v_j‖ of (CLIP.3), (n,); NaN if λ_j is near 0, so that v_j belongs to x of (CLIP.2)."""
        residuals = self.K @ self.vectors
        residuals -= self.vectors * self.values
        r = np.linalg.norm(residuals, axis=0) + self._product_error
        negative_part = np.maximum(-self.values, 0.0)
        is_positive = self.values > self._tolerance
        lengths = np.full(len(r), np.nan)
        np.sqrt(self.values + 2.0 * r, out=lengths, where=is_positive)
        is_far_below = 4.0 * negative_part > r  # nearer 0, √r is the smaller bound of (CLIP.3)
        np.divide(r, 2.0 * np.sqrt(negative_part), out=lengths, where=is_far_below)
        return lengths * FEW_ROUNDINGS

    @cached
    def _product_error(self) -> float:
        """Bound on the rounding error of K times a vector of length 1."""
        return gamma(2 * len(self.K) + 16) * float(np.linalg.norm(self.K))

    def bound_distance(self, coef: FloatArray, beta: FloatArray) -> float:
        """Return an upper bound on ‖w − w(α)‖ of (CLIP.2), for coefficients c and β: (n,) each."""
        n = len(beta)
        difference = beta - coef
        products = self.vectors.T @ difference
        is_near_zero = np.isnan(self._lengths)
        x = self.vectors @ np.where(is_near_zero, products, 0.0)
        a = np.where(is_near_zero, 0.0, products)
        s = difference - x - self.vectors @ a
        size = float(np.linalg.norm(difference)) + float(np.linalg.norm(products))
        s_error = gamma(n + 8) * math.sqrt(n) * size + UNIT * float(np.linalg.norm(np.abs(beta) + np.abs(coef)))
        root_of_norm = math.sqrt(float(np.linalg.norm(self.K))) * FEW_ROUNDINGS  # ≥ ‖K₊‖^½
        x_norm = float(np.linalg.norm(x))
        Kx_norm = float(np.linalg.norm(self.K @ x)) + self._product_error * x_norm
        distance = math.sqrt(x_norm * Kx_norm) * FEW_ROUNDINGS
        distance += float(np.abs(a) @ np.where(is_near_zero, 0.0, self._lengths))
        return (distance + root_of_norm * (float(np.linalg.norm(s)) + s_error)) * FEW_ROUNDINGS
