"""Sums of kernel values in twice the precision, for few points: differences, products and exponentials of two doubles.

    (KTWO.1)  x − z of two doubles without error, its square but for 9u² of itself, and a sum of d of these, the first
              doubles by (ROUND.2), the second as they are:  off by (2d² + 6d + 16)u² of itself, as all are positive
    (KTWO.2)  times −γ: (2d² + 8d + 32)u² of the exponent E, so that e^E is off by that times |E| of itself, and by
              2⁻⁸⁸, (EXP.7); exponents below −600 are raised to it
    (KTWO.3)  γxᵀz + r likewise: off by (2d² + 8d + 32)u² m, m of (KVAL.4), and a product of two such numbers by 9u²:
              the power of whole degree p by p(2d² + 8d + 41)u² mᵖ
    (KTWO.4)  Σ_j c_j K_ij by (ROUND.4), of both doubles of K_ij

Source: Ogita, Rump & Oishi, *Accurate sum and dot product*, SIAM J. Sci. Comput. 26 (2005), for sums of two doubles.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW, UNIT, dots_in_two, gamma, two_product, two_sum
from qpsvm.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.proof.exponential import LOWEST_IN_TWO, RELATIVE_IN_TWO, exp_in_two
from qpsvm.proof.kernel_powers import ProductValues
from qpsvm.proof.kernel_rbf import RBFValues
from qpsvm.proof.kernel_values import OUT, KernelValues, MatrixValues
from qpsvm.proof.spaces import Values

#: Numbers that are worked on at a time, and products x_k z_k in all: half a second.
AT_A_TIME, AFFORDABLE = 20_000, 30_000_000.0
#: A difference of √γ'x that is larger makes an exponent below −600, and its square is a number.
FAR = 2.0**20
#: More than 2e^−600.
NOTHING_IN_TWO = 2.0**-860


def sharp_sums(values: KernelValues, points: IntArray, columns: IntArray, weights: FloatArray) -> Values | None:
    """Σ_j weights_j K_ij over some columns, (s,), at some points, (r,), by (KTWO.4)."""
    r, s = len(points), len(columns)
    width = 1 if isinstance(values, MatrixValues) else values.X.shape[1] if isinstance(values, WITH_SAMPLES) else 0
    if not width or r * s * (width + 4.0) > AFFORDABLE:
        return None
    if isinstance(values, ProductValues) and not values.power_is_whole:
        return None
    high, low, radius = np.empty(r), np.empty(r), np.empty(r)
    sizes = np.abs(weights)
    with np.errstate(all="ignore"):
        step = max(AT_A_TIME // max(s, 1), 1)
        for start in range(0, r, step):
            some = slice(start, start + step)
            parts, radii = _block(values, points[some], columns)
            high[some], low[some], off = dots_in_two(np.hstack(parts), np.concatenate([weights] * len(parts)))
            radius[some] = (off + (radii @ sizes) * (1.0 + gamma(s + 2))) * OUT
    radius += s * UNDERFLOW
    return Values(high, low, np.where(np.isfinite(high + low + radius), radius, np.inf))


def _block(values: KernelValues, rows: IntArray, columns: IntArray) -> tuple[list[FloatArray], FloatArray]:
    """Arrays whose sum are the values, but for radii: (r, c) each."""
    if isinstance(values, MatrixValues):
        K = values.K[rows[:, None], columns]
        return [K], np.zeros_like(K)
    assert isinstance(values, WITH_SAMPLES)
    x, z = as_dense(values.X[rows]), as_dense(values.X[columns])
    if isinstance(values, RBFValues):
        high, low, radii = _rbf(values.gamma, x, z)
        return [high, low], radii
    high, low, off = _power(values, x, z)
    radii = off * (values.sizes[rows, None] * values.sizes[columns]) + (values.degree + 1.0) * UNDERFLOW
    return [high, low], radii


def _rbf(factor: float, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(KTWO.1) and (KTWO.2)."""
    d = x.shape[1]
    power = math.frexp(factor)[1] // 2
    factor = math.ldexp(factor, -2 * power)
    high, low = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for a, c in zip(np.ldexp(x, power).T, np.ldexp(z, power).T, strict=True):
        apart, rest = two_sum(a[:, None], -c)
        far = np.abs(apart) > FAR
        if far.any():
            apart, rest = np.where(far, FAR, apart), np.where(far, 0.0, rest)
        square, error = two_product(apart, apart)
        error += 2.0 * apart * rest
        high, lost = two_sum(high, square)
        low += lost + error
    high, low = two_sum(high, low)
    exponent, error = two_product(high, np.array(factor))
    exponent, error = two_sum(-exponent, -(error + factor * low))
    first, second = exp_in_two(exponent, error)
    spread = (2.0 * d * d + 8.0 * d + 32.0) * UNIT * UNIT * np.minimum(np.abs(exponent), -LOWEST_IN_TWO)
    return first, second, first * (RELATIVE_IN_TWO + spread) * OUT + NOTHING_IN_TWO


def _power(values: ProductValues, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """(KTWO.3): values, and what they are off by in units of mᵖ."""
    d, p = x.shape[1], int(values.degree)
    high, low = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for a, c in zip(x.T, z.T, strict=True):
        product, error = two_product(a[:, None], c)
        high, lost = two_sum(high, product)
        low += lost + error
    high, low = two_sum(high, low)
    product, error = two_product(high, np.array(values.gamma))
    base, lost = two_sum(product, np.array(values.shift))
    base, rest = two_sum(base, lost + (error + values.gamma * low))
    high, low = base, rest
    for bit in f"{p:b}"[1:]:
        high, low = _times(high, low, high, low)
        if bit == "1":
            high, low = _times(high, low, base, rest)
    return high, low, p * (2.0 * d * d + 8.0 * d + 41.0) * UNIT * UNIT * OUT


def _times(a: FloatArray, a_low: FloatArray, b: FloatArray, b_low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The product of two numbers of two doubles each, off by 9u² of itself."""
    product, error = two_product(a, b)
    return two_sum(product, error + (a * b_low + a_low * b))


#: Kernels that are functions of samples.
WITH_SAMPLES = (RBFValues, ProductValues)
