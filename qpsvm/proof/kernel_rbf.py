"""Values of the Gaussian kernel with radii, (KVAL.1) to (KVAL.3).

    (KVAL.1)  RBF: a = fl(s(x − μ)), s = fl(√(2γ)), h = fl(½‖a‖²), and the exponent fl(aᵀc − h_i − h_j) as one product
              with two columns more. a is off by γ₄‖a‖ from √(2γ)(x − μ), the product by γ_{d+2}·½(‖a‖ + ‖c‖)², h by
              γ_d h:  the exponent by at most γ_{1.5d+14}(‖a‖² + ‖c‖²)
    (KVAL.2)  where that is not small, ‖x − z‖² by differences of √γ'x, γ' a power of 4 (no rounding): relative error
              γ_{d+4} of the exponent, which times eˣ is at most γ_{d+4}/e
    (KVAL.3)  an exponent that is off by δ ≤ 10⁻⁶ makes eˣ off by e^δ − 1 ≤ δ(1 + 10⁻⁶) of itself, and (EXP.6) adds 2.5u

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.rounding import UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.kernels.functions import RBF
from qpsvm.kernels.products import squared_norms
from qpsvm.proof.exponential import LOWEST, Exponential
from qpsvm.proof.kernel_values import COLUMNS, OUT, ROWS, TINY, Blocks, KernelValues, Products, affordable, terms_of

#: Error of an exponent from which on differences are taken, (KVAL.2), and the one up to which e^δ − 1 ≤ δ(1 + δ).
EXPONENT_ERROR, SMALL = 1e-11, 1e-6
#: More than 2e^−700.
NOTHING = 2.0**-1000


class RBFValues(KernelValues):
    """(KVAL.1) to (KVAL.3).

    X (n, d)
    """

    positive = definite = True

    def __init__(self, kernel: RBF, X: Matrix) -> None:
        self.gamma = float(kernel.gamma)
        self.X = affordable(X)
        self.n, d = self.X.shape
        d = terms_of(self.X)  # centred samples have no zeros
        self.sizes = np.ones(self.n)
        self.relative = 3.0 * UNIT
        with np.errstate(all="ignore"):
            self.left, half = self._scaled()
            self.half = half
            self.exponent = gamma(1.5 * d + 14) * 2.0 * half * (1.0 + gamma(d + 4) + SMALL) + TINY  # (KVAL.3)
            widest = 2.0 * float(self.exponent.max(initial=0.0))
            self.by_differences = not (widest <= EXPONENT_ERROR or (sp.issparse(self.X) and widest <= SMALL))
            self.floor = np.full(self.n, math.sqrt(NOTHING))
            if self.by_differences:
                self._differences()

    def _scaled(self) -> tuple[Matrix, FloatArray]:
        """a and h: of dense samples a has two columns more, −h and 1."""
        scale = math.sqrt(2.0 * self.gamma)
        if sp.issparse(self.X):
            a = self.X * scale
            return a, 0.5 * squared_norms(a)
        n, d = self.X.shape
        left = np.empty((n, d + 2))
        np.subtract(self.X, self.X.mean(axis=0) if n else 0.0, out=left[:, :d])
        left[:, :d] *= scale
        half: FloatArray = 0.5 * squared_norms(left[:, :d])
        left[:, d], left[:, d + 1] = -half, 1.0
        return left, half

    def _differences(self) -> None:
        """(KVAL.2)."""
        d = self.X.shape[1]
        power = math.frexp(self.gamma)[1] // 2
        self.factor = math.ldexp(self.gamma, -2 * power)
        off = gamma(d + 5) * -LOWEST
        possible = not sp.issparse(self.X) and off <= SMALL
        self.left = np.ldexp(self.X, power) if possible else self.X
        self.exponent = np.zeros(self.n)
        if possible and np.isfinite(self.left).all():
            self.floor = np.full(self.n, math.sqrt(gamma(d + 6) / math.e * OUT + NOTHING) * OUT)
        else:
            self.floor = np.full(self.n, math.inf)

    def arranged(self, order: IntArray, width: int) -> Blocks:
        """By one product, or by differences."""
        return RBFBlocks(self, order, width)


class RBFBlocks(Blocks):
    """The values of an RBF kernel."""

    def __init__(self, values: RBFValues, order: IntArray, width: int) -> None:
        self.values = values
        self.left = values.left[order]
        self._products = Products(self.left, width)
        self.half = values.half[order]
        self._exp, self._out = Exponential(ROWS * COLUMNS), np.empty(ROWS * COLUMNS)
        if not values.by_differences and isinstance(self.left, np.ndarray):
            self.right = self.left.copy()
            self.right[:, -2], self.right[:, -1] = 1.0, self.left[:, -2]

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """e to the exponents."""
        left = self.left
        if self.values.by_differences:
            x = self._apart(rows, columns)
        elif sp.issparse(left):
            x = self._products(rows, columns)
            x -= self.half[rows, None]
            x -= self.half[columns]
        else:
            a, c = left[rows], self.right[columns]
            x = self._out[: len(a) * len(c)].reshape(len(a), len(c))
            np.matmul(a, c.T, out=x)
        return self._exp(x)

    def _apart(self, rows: slice, columns: slice) -> FloatArray:
        """(KVAL.2); numbers that the infinite floor says nothing of, where there are no differences."""
        if not isinstance(self.left, np.ndarray):
            return self._products(rows, columns)
        from scipy.spatial.distance import cdist

        x: FloatArray = cdist(self.left[rows], self.left[columns], "sqeuclidean")
        x *= -self.values.factor
        return x
