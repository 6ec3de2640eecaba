"""Kernel values of new samples with vectors that stay: what can be made of the vectors is made once.

For the RBF kernel that are the vectors of (KBLOCK.2), so that one matrix product gives the exponents, and exp works in
place. Rounding errs by EPS(‖a‖ + ‖c‖)² there, for a sample √(2γ)(x − μ) = a and a vector c, where μ is the mean of the
vectors. So vectors of ‖c‖ ≤ L, (2L)² EPS = `EXPONENT_ERROR`, are enough: a sample with ‖a‖ > 2L is farther than L from
each of them, L²/2 is more than 5000, and whatever rounding does to such an exponent, it stays below the lowest one.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import frozen
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.space.kernels.blocks import EPS, EXPONENT_ERROR
from qpsvm.space.kernels.functions import RBF, Kernel, exp_in_place
from qpsvm.space.kernels.products import squared_norms


class FixedVectors:
    """A kernel whose second argument is known.

    kernel: With every parameter a number.
    vectors (s, d): Not to be changed afterwards; s may be 0.
    """

    def __init__(self, kernel: Kernel, vectors: Matrix) -> None:
        self.kernel, self.vectors = kernel, vectors
        self._right: FloatArray | None = None
        if isinstance(kernel, RBF) and not sp.issparse(vectors) and len(vectors):
            self._augment(math.sqrt(2.0 * float(kernel.gamma)))

    def _augment(self, scale: float) -> None:
        """(KBLOCK.2), where rounding allows."""
        s, d = self.vectors.shape
        origin = np.add.reduce(self.vectors) / s
        right = np.empty((s, d + 2))
        np.subtract(self.vectors, origin, out=right[:, :d])
        right[:, :d] *= scale
        half = 0.5 * squared_norms(right[:, :d])
        if not 8.0 * float(half.max()) * EPS <= EXPONENT_ERROR:
            return
        right[:, d], right[:, d + 1] = 1.0, -half
        self._right, self._origin, self._scale = frozen(right).T, frozen(origin), scale

    def __call__(self, X: Matrix) -> FloatArray:
        """K(x_i, v_j), a new array: X (m, d) to (m, s)."""
        if self._right is None or sp.issparse(X):
            return self.kernel(X, self.vectors)
        m, d = X.shape
        left = np.empty((m, d + 2))
        a = left[:, :d]
        np.subtract(X, self._origin, out=a)
        a *= self._scale
        np.multiply(squared_norms(a), -0.5, out=left[:, d])
        left[:, d + 1] = 1.0
        exponents: FloatArray = left @ self._right
        return exp_in_place(exponents)
