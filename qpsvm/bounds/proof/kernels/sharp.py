"""Compute sums of kernel values in double-double, cheaper for a few points than `exact` (`compute_sharp_sums`).

    (KTWO.1)  x − z in double-double is exact, its square has a relative error of 9u², and a sum of d squares, the first
              doubles by (ROUND.2), the second in floats, one of (2d² + 6d + 16)u², because all are positive
    (KTWO.2)  times −γ: relative error (2d² + 8d + 32)u² of the exponent E, so that of e^E is at most this times |E|,
              plus 2⁻⁸⁸, (EXP.7); exponents below −600 are replaced by −600
    (KTWO.3)  γxᵀz + r likewise: error (2d² + 8d + 32)u² m, m of (KVAL.4), and a product of two such numbers has a
              relative error of 9u²: together p(2d² + 8d + 41)u² mᵖ for a power of integer degree p
    (KTWO.4)  Σ_j c_j K_ij by (ROUND.4), of both doubles of K_ij

Source: Ogita, Rump & Oishi, *Accurate sum and dot product*, SIAM J. Sci. Comput. 26 (2005), for sums of two doubles.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW, multiply_to_pairs, two_product, two_sum
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS
from qpsvm.bounds.proof.kernels.exponential import DOUBLE_DOUBLE_ERROR, LOWEST_DOUBLE_DOUBLE, exp_double_double
from qpsvm.bounds.proof.kernels.values import KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import PointValues

#: Larger differences of √γ'x are replaced by this one: the exponent is below −600, and the square does not overflow.
MAX_DIFFERENCE = 2.0**20
#: Error of a value whose exponent was replaced by −600: larger than 2e^−600.
REPLACEMENT_ERROR = 2.0**-860
#: Values that are functions of samples.
WITH_SAMPLES = (RBFValues, ProductValues)


def compute_sharp_sums(
    values: KernelValues, points: IntArray, columns: IntArray, weights: FloatArray
) -> PointValues | None:
    """Return Σ_j weights_j K_ij over some columns (s,), at some points (r,), by (KTWO.4); None if too expensive."""
    r, s = len(points), len(columns)
    if isinstance(values, MatrixValues):
        width = 1
    elif isinstance(values, WITH_SAMPLES):
        width = values.X.shape[1]
    else:
        width = 0
    if not width or not _has_sharp_values(values) or r * s * (width + 4.0) > MAX_DOUBLE_DOUBLE_PRODUCTS:
        return None
    high, low, radius = np.empty(r), np.empty(r), np.empty(r)
    sizes = np.abs(weights)
    with np.errstate(all="ignore"):
        step = max(IN_CACHE // max(s, 1), 1)
        for start in range(0, r, step):
            rows = slice(start, start + step)
            parts, radii = _compute_block(values, points[rows], columns)
            high[rows], low[rows], off = multiply_to_pairs(np.hstack(parts), np.concatenate([weights] * len(parts)))
            radius[rows] = (off + (radii @ sizes) * (1.0 + gamma(s + 2))) * FEW_ROUNDINGS
    radius += s * UNDERFLOW
    return PointValues(high, low, np.where(np.isfinite(high + low + radius), radius, np.inf))


def compute_sharp_diagonal(values: KernelValues) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return K_ii of a matrix or a polynomial kernel as sums of two doubles, and radii, (n,) each; else None."""
    if isinstance(values, MatrixValues):
        return values.K.diagonal(), np.zeros(values.n), np.zeros(values.n)
    if not (isinstance(values, ProductValues) and values.is_integer_power):
        return None
    high = np.empty(values.n)
    low = np.empty(values.n)
    off = 0.0
    step = max(IN_CACHE // max(values.X.shape[1], 1), 1)
    with np.errstate(all="ignore"):
        for start in range(0, values.n, step):
            rows = slice(start, start + step)
            x = as_dense(values.X[rows]).T
            high[rows], low[rows], off = _compute_power(values, x, x)
        radius = off * np.square(values.sizes) + (values.degree + 1.0) * UNDERFLOW
        return high, low, np.where(np.isfinite(high + low + radius), radius, np.inf)


def _has_sharp_values(values: KernelValues) -> bool:
    """Return whether `_compute_block` can evaluate the kernel."""
    if isinstance(values, ProductValues):
        return values.is_integer_power
    return isinstance(values, (MatrixValues, RBFValues))


def _compute_block(values: KernelValues, rows: IntArray, columns: IntArray) -> tuple[list[FloatArray], FloatArray]:
    """Return one or two arrays whose sum is the block of K, and its radii: (r, c) each."""
    if isinstance(values, MatrixValues):
        K = values.K[rows[:, None], columns]
        return [K], np.zeros_like(K)
    assert isinstance(values, WITH_SAMPLES)
    x, z = as_dense(values.X[rows]), as_dense(values.X[columns])
    if isinstance(values, RBFValues):
        high, low, radii = _compute_rbf(values.gamma, x, z)
        return [high, low], radii
    high, low, off = _compute_power(values, x.T[:, :, None], z.T[:, None, :])
    radii = off * (values.sizes[rows, None] * values.sizes[columns]) + (values.degree + 1.0) * UNDERFLOW
    return [high, low], radii


def _compute_rbf(factor: float, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values of the Gaussian kernel as two doubles, and radii, (KTWO.1) and (KTWO.2)."""
    d = x.shape[1]
    power = math.frexp(factor)[1] // 2
    factor = math.ldexp(factor, -2 * power)
    high, low = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for a, c in zip(np.ldexp(x, power).T, np.ldexp(z, power).T, strict=True):
        difference, difference_low = two_sum(a[:, None], -c)
        is_far = np.abs(difference) > MAX_DIFFERENCE
        if is_far.any():
            difference = np.where(is_far, MAX_DIFFERENCE, difference)
            difference_low = np.where(is_far, 0.0, difference_low)
        square, error = two_product(difference, difference)
        error += 2.0 * difference * difference_low
        high, lost = two_sum(high, square)
        low += lost + error
    high, low = two_sum(high, low)
    exponent, error = two_product(high, np.array(factor))
    exponent, error = two_sum(-exponent, -(error + factor * low))
    first, second = exp_double_double(exponent, error)
    spread = (2.0 * d * d + 8.0 * d + 32.0) * UNIT * UNIT * np.minimum(np.abs(exponent), -LOWEST_DOUBLE_DOUBLE)
    return first, second, first * (DOUBLE_DOUBLE_ERROR + spread) * FEW_ROUNDINGS + REPLACEMENT_ERROR


def _compute_power(values: ProductValues, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return values of a polynomial kernel as two doubles, and their error in units of mᵖ, (KTWO.3).

    x, z (d, …): The features of both samples, of shapes that broadcast to that of the values.
    """
    d = len(x)
    p = int(values.degree)
    shape = np.broadcast_shapes(x.shape[1:], z.shape[1:])
    high, low = np.zeros(shape), np.zeros(shape)
    for a, c in zip(x, z, strict=True):
        product, error = two_product(a, c)
        high, lost = two_sum(high, product)
        low += lost + error
    high, low = two_sum(high, low)
    product, error = two_product(high, np.array(values.gamma))
    base, lost = two_sum(product, np.array(values.shift))
    base, base_low = two_sum(base, lost + (error + values.gamma * low))
    high, low = base, base_low
    for bit in f"{p:b}"[1:]:
        high, low = _multiply(high, low, high, low)
        if bit == "1":
            high, low = _multiply(high, low, base, base_low)
    return high, low, p * (2.0 * d * d + 8.0 * d + 41.0) * UNIT * UNIT * FEW_ROUNDINGS


def _multiply(a: FloatArray, a_low: FloatArray, b: FloatArray, b_low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the product of two double-double numbers, with a relative error of 9u²."""
    product, error = two_product(a, b)
    return two_sum(product, error + (a * b_low + a_low * b))
