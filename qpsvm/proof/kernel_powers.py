"""Values of kernels of b = γxᵀz + r with radii: polynomials and the sigmoid, (KVAL.4) to (KVAL.6).

    (KVAL.4)  b = γxᵀz + r is off by γ_{d+2} m, m = γ‖x‖‖z‖ + |r| ≥ |b|, and a power of whole degree p by at most
              γ_{p(d+3)} mᵖ;  mᵖ ≤ τ_i τ_j, τ = (γ‖x‖² + |r|)^{p/2}, by Cauchy and Schwarz
    (KVAL.5)  bᵖ of another degree: 2⁻ᵏ-th powers by square roots, each at most 2u off, for the bits of p; the error of
              b by monotony, at the ends of b ± γ_{d+2} m
    (KVAL.6)  tanh b = ±(1 − q)/(1 + q), q = e^{−2|b|}: off by 9u, and by what b is off

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW, UNIT, gamma
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.kernels.functions import Polynomial, Sigmoid
from qpsvm.kernels.products import squared_norms
from qpsvm.proof.exponential import Exponential
from qpsvm.proof.kernel_values import COLUMNS, OUT, ROWS, TINY, Blocks, KernelValues, Products, affordable, terms_of


class ProductValues(KernelValues):
    """Kernels of b = γxᵀz + r: (KVAL.4) to (KVAL.6).

    X (n, d)
    """

    power_is_whole = False

    def __init__(self, kernel: Polynomial | Sigmoid, X: Matrix) -> None:
        self.kernel, self.X = kernel, affordable(X)
        self.n, d = self.X.shape[0], terms_of(X)
        self.gamma, self.shift = float(kernel.gamma), float(kernel.coef0)
        self.base_error = gamma(d + 2)
        self.degree = float(kernel.degree) if isinstance(kernel, Polynomial) else 1.0
        self.exponent = np.zeros(self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            longest = squared_norms(self.X) * ((1.0 + gamma(d + 4)) * self.gamma)
            self.m = (longest + abs(self.shift)) * OUT + (d + 1) * (self.gamma + 1.0) * TINY
            self._bounds(isinstance(kernel, Sigmoid), d)

    def _bounds(self, sigmoid: bool, d: int) -> None:
        if sigmoid:
            self.sizes = np.ones(self.n)
            self.floor = np.sqrt(self.base_error * self.m + 9.0 * UNIT) * OUT
            return
        power, roundings = power_of(self.m, self.degree)
        self.sizes = np.sqrt(power * (1.0 + gamma(roundings + 8))) * OUT + TINY
        self.power_is_whole = self.degree.is_integer()
        self.definite = self.power_is_whole and self.shift >= 0.0
        spread = gamma(self.degree * (d + 3)) if self.power_is_whole else 0.0
        self.floor = math.sqrt(spread) * OUT * self.sizes + (self.degree + 1.0) * math.sqrt(UNDERFLOW)

    def arranged(self, order: IntArray, width: int) -> Blocks:
        """By one product, and what is made of it."""
        made = SigmoidBlocks if isinstance(self.kernel, Sigmoid) else PowerBlocks
        return made(self, order, width)


class _ProductBlocks(Blocks):
    def __init__(self, values: ProductValues, order: IntArray, width: int) -> None:
        self.values, self._products = values, Products(values.X[order], width)
        self._m = values.m[order]

    def _base(self, rows: slice, columns: slice) -> FloatArray:
        b = self._products(rows, columns)
        b *= self.values.gamma
        b += self.values.shift
        return b


class PowerBlocks(_ProductBlocks):
    """The values of a polynomial kernel."""

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Powers of the base."""
        values, b = self.values, self._base(rows, columns)
        if values.power_is_whole:
            return power_of(b, values.degree)[0]
        error = (values.base_error * OUT) * np.sqrt(self._m[rows, None] * self._m[columns]) * OUT
        high = b + error
        ends = [power_of(np.maximum(part, 0.0), values.degree) for part in (b - error, b, high * OUT)]
        spread = ends[2][0] - ends[0][0] + 2.0 * gamma(ends[2][1] + 8) * ends[2][0]
        self._radius = np.where(high < 0.0, np.inf, spread * OUT + UNDERFLOW)
        return ends[1][0]

    def radius(self) -> FloatArray | None:
        """(KVAL.5)."""
        return None if self.values.power_is_whole else self._radius


class SigmoidBlocks(_ProductBlocks):
    """The values of a sigmoid kernel."""

    def __init__(self, values: ProductValues, order: IntArray, width: int) -> None:
        super().__init__(values, order, width)
        self._exp = Exponential(ROWS * COLUMNS)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """(KVAL.6)."""
        b = self._base(rows, columns)
        q = self._exp(-2.0 * np.abs(b))
        values: FloatArray = np.copysign((1.0 - q) / (1.0 + q), b)
        return values


def power_of(b: FloatArray, p: float) -> tuple[FloatArray, float]:
    """bᵖ by products and square roots, and so many roundings it is off by: γ of that, relative."""
    whole = int(p)
    found: FloatArray | None = None
    for bit in f"{whole:b}" if whole else "":
        found = b.copy() if found is None else found * found * b if bit == "1" else found * found
    roundings, rest, root = float(max(whole - 1, 0)), p - whole, b
    while rest:  # the bits of a float come to an end
        root, rest = np.sqrt(root), 2.0 * rest
        if rest >= 1.0:
            found, rest = root if found is None else found * root, rest - 1.0
            roundings += 3.0
    assert found is not None
    return found, roundings
