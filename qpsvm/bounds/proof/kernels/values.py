"""Compute blocks of kernel values with proven radii, |K̂_ij − K_ij| ≤ |K̂_ij|(ρ + e_i + e_j) + t_i t_j.

Hats mark computed values. The error of a sum Σ_j c_j K̂_ij is bounded from Σ|c_j||K̂_ij|, Σ|c_j||K̂_ij|e_j and Σ|c_j|t_j,
without a radius of each value. `RBFValues`:

    (KVAL.1)  a = fl(s(x − μ)), s = fl(√(2γ)), h = fl(½‖a‖²), and the exponent fl(aᵀc − h_i − h_j), with the error
              (KBLOCK.3)
    (KVAL.2)  if that is not small, ‖x − z‖² by differences of √γ'x, γ' a power of 4 (no rounding): relative error
              γ_{d+4} of the exponent, which times eˣ is at most γ_{d+4}/e
    (KVAL.3)  an error δ ≤ 10⁻⁶ of the exponent gives eˣ a relative error of e^δ − 1 ≤ δ(1 + 10⁻⁶); (EXP.6) adds 2.5u

`ProductValues`, polynomials and the sigmoid:

    (KVAL.4)  the error of b = γxᵀz + r is at most γ_{d+2} m, m = γ‖x‖‖z‖ + |r| ≥ |b|, and that of a power of integer
              degree p at most γ_{p(d+3)} mᵖ;  mᵖ ≤ τ_i τ_j, τ = (γ‖x‖² + |r|)^{p/2}, by Cauchy and Schwarz
    (KVAL.5)  bᵖ of another degree: 2⁻ᵏ-th powers by square roots, each with a relative error of 2u, for the bits of p;
              the effect of the error of b by monotonicity, at the ends of b ± γ_{d+2} m
    (KVAL.6)  tanh b = ±(1 − q)/(1 + q), q = e^{−2|b|}: error at most 9u, plus the error of b

`MatrixValues`:

    (KVAL.7)  the entries of a given matrix are exact

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), section 3.1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.double_double import TINY, UNDERFLOW
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.bounds.proof.kernels.exponential import LOWEST, Exponential
from qpsvm.space.kernels.functions import RBF, Polynomial, Sigmoid
from qpsvm.space.kernels.kernel import squared_norms
from qpsvm.space.kernels.kernel_blocks import DENSE_BYTES, EXPONENT_ERROR, bound_exponent_error

#: Function of rows and columns, at most `ROWS` × `COLUMNS`: returns K̂ there, and additional radii, or None for 0.
Block = Callable[[slice, slice], tuple[FloatArray, FloatArray | None]]
#: Rows and columns of a block: with its scratch memory it fits in the second-level cache.
ROWS, COLUMNS = 128, 256
#: Largest error of an exponent for which (KVAL.3) holds. Dense samples use differences, (KVAL.2), already above
#: `EXPONENT_ERROR`.
MAX_EXPONENT_ERROR = 1e-6
#: Upper bound of the error if an exponential underflows: larger than 2e^−700.
UNDERFLOWED_EXPONENTIAL = 2.0**-1000


class KernelValues(ABC):
    """Kernel values over n points, with radii.

    relative_error: ρ, the relative error of all values.
    point_errors, error_factors (n,): e, the relative error due to each point, and t, for an absolute error t_i t_j.
    sizes (n,): Numbers with |K_ij| ≤ sizes_i sizes_j.
    is_psd: Whether K is positive semidefinite by construction.
    """

    n: int
    relative_error: float = 0.0
    point_errors: FloatArray
    error_factors: FloatArray
    sizes: FloatArray
    is_psd: bool = False

    @abstractmethod
    def make_block_function(self, order: IntArray, width: int) -> Block:
        """Return a function of rows and columns, positions in `order` (k,), a selection of points, for blocks of K̂.

        width: Columns are among the first `width` positions.
        """

    def compute_full_matrix(self) -> tuple[FloatArray, float]:
        """Return K̂ over all points, symmetric, (n, n), and an upper bound of ‖K − K̂‖."""
        n = self.n
        values = self.make_block_function(np.arange(n), n)
        K = np.empty((n, n))
        squares = 0.0
        for top in range(0, n, ROWS):
            rows = slice(top, min(top + ROWS, n))
            for first_column in range(top, n, COLUMNS):
                columns = slice(first_column, min(first_column + COLUMNS, n))
                block, extra_radii = values(rows, columns)
                relative_errors = self.relative_error + self.point_errors[rows, None] + self.point_errors[columns]
                radii = np.abs(block) * relative_errors
                radii += self.error_factors[rows, None] * self.error_factors[columns]
                radii = radii if extra_radii is None else radii + extra_radii
                squares += 2.0 * float(np.square(radii).sum())
                K[rows, columns] = block
                K[columns, rows] = block.T
        K = np.tril(K) + np.tril(K, -1).T
        return K, math.sqrt(squares) * (1.0 + gamma(n * n + 16))


class Products:
    """xᵀz in blocks of dense or sparse samples; for sparse ones a whole strip of rows is computed at a time.

    X (k, d): Samples.
    width: The first `width` samples are the columns.
    """

    def __init__(self, X: Matrix, width: int) -> None:
        self.X = X
        self._rows = slice(0, 0)
        self._strip = np.empty((0, width))
        self._right = sp.csr_array(X[:width].T) if sp.issparse(X) else X

    def __call__(self, rows: slice, columns: slice) -> FloatArray:
        """Return a new array with a block: (r, c)."""
        if isinstance(self.X, np.ndarray):
            return np.asarray(self.X[rows] @ self.X[columns].T)
        if rows != self._rows:
            self._strip = as_dense(self.X[rows] @ self._right)
            self._rows = rows
        return self._strip[:, columns].copy()


class MatrixValues(KernelValues):
    """A given kernel matrix, (KVAL.7).

    K (n, n): If it is not symmetric, its lower triangle is used.
    """

    def __init__(self, K: FloatArray) -> None:
        if np.array_equal(K, K.T):
            self.K = K
        else:
            self.K = np.tril(K) + np.tril(K, -1).T
        self.n = len(K)
        self.point_errors = self.error_factors = np.zeros(self.n)
        column_maxima: FloatArray = np.abs(self.K).max(axis=0, initial=0.0)
        self.sizes = np.sqrt(column_maxima) * FEW_ROUNDINGS

    def compute_full_matrix(self) -> tuple[FloatArray, float]:
        """Return the matrix itself."""
        return self.K, 0.0

    def make_block_function(self, order: IntArray, width: int) -> Block:
        """Return a function that takes blocks of the matrix."""
        del width
        return lambda rows, columns: (self.K[order[rows, None], order[columns]], None)


class ProductValues(KernelValues):
    """Polynomial and sigmoid kernels, functions of b = γxᵀz + r: (KVAL.4) to (KVAL.6).

    X (n, d): Samples.
    magnitude (n,): Numbers with |b_ij| ≤ m_ij = √(magnitude_i magnitude_j).
    """

    is_integer_power = False

    def __init__(self, kernel: Polynomial | Sigmoid, X: Matrix) -> None:
        self.kernel = kernel
        self.X = densify_if_small(X)
        self.n = self.X.shape[0]
        d = count_max_products(X)
        self.gamma, self.shift = float(kernel.gamma), float(kernel.coef0)
        self.base_error = gamma(d + 2)
        self.degree = float(kernel.degree) if isinstance(kernel, Polynomial) else 1.0
        self.point_errors = np.zeros(self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            largest_products = squared_norms(self.X) * ((1.0 + gamma(d + 4)) * self.gamma)
            self.magnitude = (largest_products + abs(self.shift)) * FEW_ROUNDINGS + (d + 1) * (self.gamma + 1.0) * TINY
            self._set_bounds(d)

    def _set_bounds(self, d: int) -> None:
        """Set `sizes` and `error_factors`, for products of at most d nonzero terms."""
        if isinstance(self.kernel, Sigmoid):
            self.sizes = np.ones(self.n)
            self.error_factors = np.sqrt(self.base_error * self.magnitude + 9.0 * UNIT) * FEW_ROUNDINGS
            return
        power, roundings = compute_power(self.magnitude, self.degree)
        self.sizes = np.sqrt(power * (1.0 + gamma(roundings + 8))) * FEW_ROUNDINGS + TINY
        self.is_integer_power = self.degree.is_integer()
        self.is_psd = self.is_integer_power and self.shift >= 0.0
        error = gamma(self.degree * (d + 3)) if self.is_integer_power else 0.0
        self.error_factors = math.sqrt(error) * FEW_ROUNDINGS * self.sizes + (self.degree + 1.0) * math.sqrt(UNDERFLOW)

    def make_block_function(self, order: IntArray, width: int) -> Block:
        """Return a function that computes blocks from the products xᵀz."""
        products = Products(self.X[order], width)
        m = self.magnitude[order]
        exp = Exponential(ROWS * COLUMNS) if isinstance(self.kernel, Sigmoid) else None

        def block(rows: slice, columns: slice) -> tuple[FloatArray, FloatArray | None]:
            b = products(rows, columns)
            b *= self.gamma
            b += self.shift
            if exp is not None:  # (KVAL.6)
                q = exp(-2.0 * np.abs(b))
                return np.copysign((1.0 - q) / (1.0 + q), b), None
            if self.is_integer_power:
                return compute_power(b, self.degree)[0], None
            error = (self.base_error * FEW_ROUNDINGS) * np.sqrt(m[rows, None] * m[columns]) * FEW_ROUNDINGS  # (KVAL.5)
            high = b + error
            (lower, _), (power, _), (upper, roundings) = (
                compute_power(np.maximum(base, 0.0), self.degree) for base in (b - error, b, high * FEW_ROUNDINGS)
            )
            spread = upper - lower + 2.0 * gamma(roundings + 8) * upper
            return power, np.where(high < 0.0, np.inf, spread * FEW_ROUNDINGS + UNDERFLOW)

        return block


class RBFValues(KernelValues):
    """The Gaussian kernel, (KVAL.1) to (KVAL.3).

    X (n, d): Samples.
    scaled_samples (n, d): a of (KVAL.1), or √γ'x of (KVAL.2) if `uses_differences`.
    half_squares (n,): h of (KVAL.1).
    """

    is_psd = True

    def __init__(self, kernel: RBF, X: Matrix) -> None:
        self.gamma = float(kernel.gamma)
        self.X = densify_if_small(X)
        d = count_max_products(self.X)  # centred samples have no zero entries
        self.n = self.X.shape[0]
        self.sizes = np.ones(self.n)
        self.relative_error = 3.0 * UNIT
        with np.errstate(all="ignore"):
            if sp.issparse(self.X) or not self.n:
                centred = self.X
            else:
                centred = self.X - self.X.mean(axis=0)
            self.scaled_samples: Matrix = centred * math.sqrt(2.0 * self.gamma)
            self.half_squares = 0.5 * squared_norms(self.scaled_samples)
            growth = 1.0 + gamma(d + 4) + MAX_EXPONENT_ERROR  # (KVAL.3)
            self.point_errors = bound_exponent_error(d) * 2.0 * self.half_squares * growth + TINY
            largest_error = 2.0 * float(self.point_errors.max(initial=0.0))
            limit = MAX_EXPONENT_ERROR if sp.issparse(self.X) else EXPONENT_ERROR
            self.uses_differences = not largest_error <= limit  # true for NaN too
            self.error_factors = np.full(self.n, math.sqrt(UNDERFLOWED_EXPONENTIAL))
            if self.uses_differences:
                self._prepare_differences()

    def _prepare_differences(self) -> None:
        """Prepare (KVAL.2); the radii are infinite if it is not applicable."""
        d = self.X.shape[1]
        power = math.frexp(self.gamma)[1] // 2
        self.scaled_gamma = math.ldexp(self.gamma, -2 * power)
        is_applicable = not sp.issparse(self.X) and gamma(d + 5) * -LOWEST <= MAX_EXPONENT_ERROR
        self.scaled_samples = np.ldexp(self.X, power) if is_applicable else self.X
        self.point_errors = np.zeros(self.n)
        factor = math.inf
        if is_applicable and np.isfinite(self.scaled_samples).all():
            factor = math.sqrt(gamma(d + 6) / math.e * FEW_ROUNDINGS + UNDERFLOWED_EXPONENTIAL) * FEW_ROUNDINGS
        self.error_factors = np.full(self.n, factor)

    def make_block_function(self, order: IntArray, width: int) -> Block:
        """Return a function that computes blocks from products, or from differences if these are needed."""
        samples = self.scaled_samples[order]
        half_squares = self.half_squares[order]
        exp = Exponential(ROWS * COLUMNS)
        products = Products(samples, width)

        def block(rows: slice, columns: slice) -> tuple[FloatArray, FloatArray | None]:
            if self.uses_differences and isinstance(samples, np.ndarray):
                from scipy.spatial.distance import cdist

                return exp(cdist(samples[rows], samples[columns], "sqeuclidean") * -self.scaled_gamma), None
            x = products(rows, columns)
            if not self.uses_differences:
                x -= half_squares[rows, None]
                x -= half_squares[columns]
            return exp(x), None

        return block


def count_max_products(X: Matrix) -> int:
    """Return the largest number of nonzero terms of an inner product xᵀz."""
    if sp.issparse(X):
        return int(np.diff(sp.csr_array(X).indptr).max(initial=0))
    return int(X.shape[1])


def densify_if_small(X: Matrix) -> Matrix:
    """Return the samples as a dense array if it takes at most `DENSE_BYTES`, else as a sparse one."""
    if not sp.issparse(X) or 8.0 * X.shape[0] * X.shape[1] <= DENSE_BYTES:
        return as_dense(X)
    return sp.csr_array(X)


def compute_power(b: FloatArray, p: float) -> tuple[FloatArray, float]:
    """Return bᵖ by products and square roots, and k such that its relative error is at most γ_k."""
    integer_part = int(p)
    power: FloatArray | None = None
    for bit in f"{integer_part:b}" if integer_part else "":
        if power is None:
            power = b.copy()
        elif bit == "1":
            power = power * power * b
        else:
            power = power * power
    roundings = float(max(integer_part - 1, 0))
    fraction = p - integer_part
    root = b
    while fraction:  # ends, because p has finitely many bits
        root = np.sqrt(root)
        fraction = 2.0 * fraction
        if fraction >= 1.0:
            power = root if power is None else power * root
            fraction = fraction - 1.0
            roundings += 3.0
    assert power is not None
    return power, roundings
