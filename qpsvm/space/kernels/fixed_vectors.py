"""Compute kernel values of new samples with fixed vectors, which are prepared once (`FixedVectors`).

For the RBF kernel the vectors are those of (KBLOCK.2), so that one matrix product gives the exponents. Its error is
EPS(‖a‖ + ‖c‖)², for a sample √(2γ)(x − μ) = a and a vector c, where μ is the mean of the vectors. It suffices that
‖c‖ ≤ L for all vectors, with (2L)² EPS = `EXPONENT_ERROR`: a sample with ‖a‖ > 2L has a distance of more than L from
each of them, L²/2 is more than 5000, and with any rounding such an exponent stays below the lowest one.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import freeze
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.space.kernels.functions import RBF, Kernel, exp_in_place
from qpsvm.space.kernels.kernel_blocks import EXPONENT_ERROR, scale_samples


class FixedVectors:
    """A kernel with a fixed second argument.

    kernel: A kernel whose parameters are all numbers.
    vectors (s, d): The second argument, which must not be changed; s may be 0.
    """

    def __init__(self, kernel: Kernel, vectors: Matrix) -> None:
        self.kernel, self.vectors = kernel, vectors
        self._right: FloatArray | None = None
        if isinstance(kernel, RBF) and not sp.issparse(vectors) and len(vectors):
            self._origin = freeze(np.add.reduce(vectors) / len(vectors))
            self._scale = math.sqrt(2.0 * float(kernel.gamma))
            c, half = scale_samples(vectors, self._origin, self._scale)
            if -8.0 * float(half.min()) * EPS <= EXPONENT_ERROR:  # see the docstring of the module
                self._right = freeze(np.hstack([c, np.ones((len(c), 1)), half[:, None]])).T

    def __call__(self, X: Matrix) -> FloatArray:
        """Return K(x_i, v_j) as a new array (m, s), for X (m, d)."""
        if self._right is None or sp.issparse(X):
            return self.kernel(X, self.vectors)
        a, half = scale_samples(X, self._origin, self._scale)
        exponents: FloatArray = np.hstack([a, half[:, None], np.ones((len(a), 1))]) @ self._right
        return exp_in_place(exponents)
