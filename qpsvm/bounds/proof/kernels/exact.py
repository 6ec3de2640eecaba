"""Compute sums of kernel values exactly or as intervals (`compute_exact_values`), or sharply (`compute_sharp_sums`).

Rational kernel values are computed exactly, others are enclosed between two integers in units of a power of 2:

    (KRAT.1)  floats are integers times a power of 2, and so are ‖x − z‖², γxᵀz + r, and its powers of integer degree
    (KRAT.2)  e^{−γ‖x − z‖²} by (EXP.8), with the exponent rounded down to units of 2⁻¹⁹²
    (KRAT.3)  tanh b = ±(1 − q)/(1 + q) with q = e^{−2|b|} enclosed, and bᵖ of another degree from square roots of
              integers by `math.isqrt`, rounded down and up
    (KRAT.4)  Σ_j c_j K_ij of such intervals, by the sign of c_j; likewise ‖w‖² = Σ c_i u_i, ‖w(α)‖² = Σ β_i v_i, and
              ‖w − w(α)‖² with c − β, which is 0 without error if c = β

Nothing else is rounded. For a few points, sums in double-double are cheaper:

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
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW, multiply_to_pairs, two_product, two_sum
from qpsvm.base.arrays.rationals import as_integers, to_common_denominator
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.accuracy import MAX_DOUBLE_DOUBLE_PRODUCTS
from qpsvm.bounds.proof.kernels.exponential import (
    BITS,
    DOUBLE_DOUBLE_ERROR,
    LOWEST_DOUBLE_DOUBLE,
    exp_double_double,
    exp_fixed,
)
from qpsvm.bounds.proof.kernels.values import KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, RationalInterval
from qpsvm.space.kernels.functions import Sigmoid

#: Cost of an exponential, or of the square roots of a power, in multiplications.
FUNCTION = 60.0
#: Returns integers below and above K_ij, in units of a power of 2.
Entry = Callable[[int, int], tuple[int, int]]
#: 1 in units of 2⁻¹⁹².
ONE = 1 << BITS
#: Larger differences of √γ'x are replaced by this one: the exponent is below −600, and the square does not overflow.
FAR = 2.0**20
#: Larger than 2e^−600.
NOTHING_IN_TWO = 2.0**-860
#: Rows of the blocks of which `compute_sharp_diagonal` takes the diagonal.
DIAGONAL_ROWS = 32
#: Values that are functions of samples.
WITH_SAMPLES = (RBFValues, ProductValues)


def compute_exact_values(
    values: KernelValues, coef: FloatArray, beta: Sequence[Fraction], max_products: float
) -> ExactValues | None:
    """Return ⟨w, φ(x_i)⟩ at all points, ‖w‖², ‖w(α)‖² and ‖w − w(α)‖² as intervals of rational numbers.

    None if that takes more than `max_products` multiplications, or if the kernel is undefined. Shapes: coef (n,).
    """
    c, b = _merge_equal_points(values, coef, beta)
    delta = [x - y for x, y in zip(c, b, strict=True)]
    columns = [j for j, (x, y) in enumerate(zip(c, b, strict=True)) if x or y]
    pairs = float(values.n) * len(columns) - 0.5 * len(columns) ** 2
    if pairs * _cost(values) > max_products:
        return None
    entries = _entries(values)
    if entries is None:
        return None
    entry, exponent = entries
    table: dict[tuple[int, int], tuple[int, int]] = {}
    for j in columns:
        for i in range(values.n):
            table[i, j] = table[j, i] if (j, i) in table else entry(i, j)
    unit = Fraction(2) ** exponent

    def sums_and_square(
        weights: Sequence[Fraction], rows: Sequence[int]
    ) -> tuple[list[RationalInterval], RationalInterval]:
        """Return Σ_j weights_j K_ij at some rows that include the support, and Σ weights_i weights_j K_ij."""
        integers, denominator = to_common_denominator(weights)
        support = [j for j in columns if integers[j]]
        sums = {i: _combine_intervals([(integers[j], table[i, j]) for j in support]) for i in rows}
        square = _combine_intervals([(integers[j], sums[j]) for j in support])
        return [_scaled(sums[i], unit / denominator) for i in rows], _scaled(square, unit / denominator**2)

    u, square = sums_and_square(c, range(values.n))
    return ExactValues(u, square, sums_and_square(b, columns)[1], sums_and_square(delta, columns)[1])


def _merge_equal_points(
    values: KernelValues, coef: FloatArray, beta: Sequence[Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """Return both vectors (n,) with the sum of the entries of equal points at the first of them, and 0 at the others.

    So coefficients of equal points cancel exactly, although the kernel values are only enclosed.
    """
    first = list(range(values.n))
    if isinstance(values, WITH_SAMPLES):
        seen: dict[bytes, int] = {}
        first = [seen.setdefault((row + 0.0).tobytes(), i) for i, row in enumerate(as_dense(values.X))]
    merged: tuple[list[Fraction], list[Fraction]] = [Fraction(0)] * values.n, [Fraction(0)] * values.n
    for i, place in enumerate(first):
        merged[0][place] += Fraction(float(coef[i]))
        merged[1][place] += beta[i]
    return merged


def _cost(values: KernelValues) -> float:
    """Estimate the multiplications of one entry."""
    if isinstance(values, MatrixValues):
        return 2.0
    assert isinstance(values, (RBFValues, ProductValues))
    d = float(values.X.shape[1])
    if isinstance(values, ProductValues) and values.is_integer_power:
        return d + values.degree * values.degree
    return d + FUNCTION


def _combine_intervals(parts: Sequence[tuple[int, tuple[int, int]]]) -> tuple[int, int]:
    """Return Σ c [low, high]."""
    low = sum(c * (pair[0] if c > 0 else pair[1]) for c, pair in parts)
    high = sum(c * (pair[1] if c > 0 else pair[0]) for c, pair in parts)
    return low, high


def _scaled(pair: tuple[int, int], unit: Fraction) -> RationalInterval:
    low = pair[0] * unit
    return low, low if pair[0] == pair[1] else pair[1] * unit


def _entries(values: KernelValues) -> tuple[Entry, int] | None:
    """Return a function for K_ij, and the exponent of its unit, a power of 2; None if a base is negative."""
    n = values.n
    if isinstance(values, MatrixValues):
        entries, exponent = as_integers(values.K.reshape(-1))
        return lambda i, j: (entries[i * n + j], entries[i * n + j]), exponent
    assert isinstance(values, (RBFValues, ProductValues))
    X = as_dense(values.X)
    integers, exponent = as_integers(X.reshape(-1))
    d = X.shape[1]
    rows = [integers[i * d : (i + 1) * d] for i in range(n)]
    if isinstance(values, RBFValues):
        return _exponentials(values.gamma, rows, exponent), -BITS
    (factor, shift), scale = as_integers(np.array([values.gamma, values.shift]))
    exponent = min(2 * exponent, 0)
    shift_bits = 2 * as_integers(X.reshape(-1))[1] - exponent
    shift <<= -exponent

    def base(i: int, j: int) -> int:
        """Return γxᵀz + r in units of 2^(exponent + scale)."""
        return factor * (sum(a * c for a, c in zip(rows[i], rows[j], strict=True)) << shift_bits) + shift

    exponent += scale
    if values.is_integer_power:
        p = int(values.degree)

        def power(i: int, j: int) -> tuple[int, int]:
            value = base(i, j) ** p
            return value, value

        return power, exponent * p
    if isinstance(values.kernel, Sigmoid):
        return lambda i, j: _tanh(base(i, j), exponent), -BITS
    if any(base(i, j) < 0 for i in range(n) for j in range(i + 1)):
        return None
    return lambda i, j: _raise_to_power(base(i, j), exponent, values.degree), -BITS


def _exponentials(gamma: float, rows: Sequence[list[int]], exponent: int) -> Entry:
    """Return a function for the values of the Gaussian kernel, (KRAT.2)."""
    (factor,), scale = as_integers(np.array([gamma]))
    shift = 2 * exponent + scale + BITS

    def entry(i: int, j: int) -> tuple[int, int]:
        x = -factor * sum((a - c) ** 2 for a, c in zip(rows[i], rows[j], strict=True))
        return exp_fixed(_shift_bits(x, shift)) if x else (ONE, ONE)

    return entry


def _shift_bits(x: int, bits: int) -> int:
    """Return x·2^bits, rounded down."""
    return x << bits if bits >= 0 else x >> -bits


def _tanh(b: int, exponent: int) -> tuple[int, int]:
    """Return tanh(b·2^exponent) in units of 2⁻¹⁹², (KRAT.3)."""
    q_low, q_high = exp_fixed(_shift_bits(-2 * abs(b), exponent + BITS)) if b else (ONE, ONE)
    low = ((ONE - q_high) << BITS) // (ONE + q_high)
    high = ((ONE - q_low) << BITS) // (ONE + q_low) + 1 if b else 0
    low = max(low, 0)
    return (low, high) if b >= 0 else (-high, -low)


def _raise_to_power(b: int, exponent: int, p: float) -> tuple[int, int]:
    """Return bᵖ for b ≥ 0 and p > 0, (KRAT.3)."""
    low = _shift_bits(b, exponent + BITS)
    high = low + 1
    power, fraction = [ONE, ONE], Fraction(p) - int(p)
    for _ in range(int(p)):
        power = [(power[0] * low) >> BITS, -((-power[1] * high) >> BITS)]
    while fraction:
        low, high = math.isqrt(low << BITS), math.isqrt(high << BITS) + 1
        fraction *= 2
        if fraction >= 1:
            power, fraction = [(power[0] * low) >> BITS, -((-power[1] * high) >> BITS)], fraction - 1
    return power[0], power[1]


def compute_sharp_sums(
    values: KernelValues, points: IntArray, columns: IntArray, weights: FloatArray
) -> PointValues | None:
    """Return Σ_j weights_j K_ij over some columns (s,), at some points (r,), by (KTWO.4); None if too expensive."""
    r, s = len(points), len(columns)
    width = 1 if isinstance(values, MatrixValues) else values.X.shape[1] if isinstance(values, WITH_SAMPLES) else 0
    if not width or not _has_sharp_values(values) or r * s * (width + 4.0) > MAX_DOUBLE_DOUBLE_PRODUCTS:
        return None
    high, low, radius = np.empty(r), np.empty(r), np.empty(r)
    sizes = np.abs(weights)
    with np.errstate(all="ignore"):
        step = max(IN_CACHE // max(s, 1), 1)
        for start in range(0, r, step):
            rows = slice(start, start + step)
            parts, radii = _block(values, points[rows], columns)
            high[rows], low[rows], off = multiply_to_pairs(np.hstack(parts), np.concatenate([weights] * len(parts)))
            radius[rows] = (off + (radii @ sizes) * (1.0 + gamma(s + 2))) * FEW_ROUNDINGS
    radius += s * UNDERFLOW
    return PointValues(high, low, np.where(np.isfinite(high + low + radius), radius, np.inf))


def _has_sharp_values(values: KernelValues) -> bool:
    """Return whether `_block` can evaluate the kernel in double-double."""
    if isinstance(values, ProductValues):
        return values.is_integer_power
    return isinstance(values, (MatrixValues, RBFValues))


def compute_sharp_diagonal(values: KernelValues) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return K_ii as sums of two doubles, and radii, (n,) each, from small blocks; None if unavailable."""
    if not _has_sharp_values(values):
        return None
    found = np.zeros((3, values.n))
    with np.errstate(all="ignore"):
        for start in range(0, values.n, DIAGONAL_ROWS):
            rows = np.arange(start, min(start + DIAGONAL_ROWS, values.n))
            parts, radii = _block(values, rows, rows)
            for k, part in enumerate(parts):
                found[k, rows] = part.diagonal()
            found[2, rows] = radii.diagonal()
    return found[0], found[1], np.where(np.isfinite(found).all(axis=0), found[2], np.inf)


def _block(values: KernelValues, rows: IntArray, columns: IntArray) -> tuple[list[FloatArray], FloatArray]:
    """Return arrays whose sum are the kernel values, and radii: (r, c) each."""
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
    """Return values of the Gaussian kernel as two doubles, and radii, (KTWO.1) and (KTWO.2)."""
    d = x.shape[1]
    power = math.frexp(factor)[1] // 2
    factor = math.ldexp(factor, -2 * power)
    high, low = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for a, c in zip(np.ldexp(x, power).T, np.ldexp(z, power).T, strict=True):
        difference, difference_low = two_sum(a[:, None], -c)
        is_far = np.abs(difference) > FAR
        if is_far.any():
            difference, difference_low = np.where(is_far, FAR, difference), np.where(is_far, 0.0, difference_low)
        square, error = two_product(difference, difference)
        error += 2.0 * difference * difference_low
        high, lost = two_sum(high, square)
        low += lost + error
    high, low = two_sum(high, low)
    exponent, error = two_product(high, np.array(factor))
    exponent, error = two_sum(-exponent, -(error + factor * low))
    first, second = exp_double_double(exponent, error)
    spread = (2.0 * d * d + 8.0 * d + 32.0) * UNIT * UNIT * np.minimum(np.abs(exponent), -LOWEST_DOUBLE_DOUBLE)
    return first, second, first * (DOUBLE_DOUBLE_ERROR + spread) * FEW_ROUNDINGS + NOTHING_IN_TWO


def _power(values: ProductValues, x: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return values of a polynomial kernel as two doubles, and their error in units of mᵖ, (KTWO.3)."""
    d, p = x.shape[1], int(values.degree)
    high, low = np.zeros((len(x), len(z))), np.zeros((len(x), len(z)))
    for a, c in zip(x.T, z.T, strict=True):
        product, error = two_product(a[:, None], c)
        high, lost = two_sum(high, product)
        low += lost + error
    high, low = two_sum(high, low)
    product, error = two_product(high, np.array(values.gamma))
    base, lost = two_sum(product, np.array(values.shift))
    base, base_low = two_sum(base, lost + (error + values.gamma * low))
    high, low = base, base_low
    for bit in f"{p:b}"[1:]:
        high, low = _times(high, low, high, low)
        if bit == "1":
            high, low = _times(high, low, base, base_low)
    return high, low, p * (2.0 * d * d + 8.0 * d + 41.0) * UNIT * UNIT * FEW_ROUNDINGS


def _times(a: FloatArray, a_low: FloatArray, b: FloatArray, b_low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the product of two double-double numbers, with a relative error of 9u²."""
    product, error = two_product(a, b)
    return two_sum(product, error + (a * b_low + a_low * b))
