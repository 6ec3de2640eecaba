"""Compute kernel values exactly where they are rational, and else between two integers.

    (KRAT.1)  floats are integers times a power of 2, and so are ‖x − z‖², γxᵀz + r, and its powers of whole degree
    (KRAT.2)  e^{−γ‖x − z‖²} by (EXP.8), its exponent rounded down to units of 2⁻¹⁹²
    (KRAT.3)  tanh b = ±(1 − q)/(1 + q) with q = e^{−2|b|} between two, and bᵖ of another degree from square roots of
              integers by `math.isqrt`, rounded down and up
    (KRAT.4)  Σ_j c_j K_ij of such numbers, by the sign of c_j; ‖w‖² = Σ c_i u_i, ‖w(α)‖² = Σ β_i v_i likewise

Nothing is rounded but what is said to be.

Sums of kernel values in double-double, for few points: differences, products and exponentials of two doubles.

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
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import IN_CACHE, UNDERFLOW, multiply_to_pairs, two_product, two_sum
from qpsvm.base.arrays.rationals import as_integers, to_common_denominator
from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.accuracy import AFFORDABLE
from qpsvm.bounds.proof.kernels.exponential import BITS, LOWEST_IN_TWO, RELATIVE_IN_TWO, exp_fixed, exp_in_two
from qpsvm.bounds.proof.kernels.values import KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import Between, ExactValues, PointValues
from qpsvm.space.kernels.functions import Sigmoid

#: Multiplications that an exponential, or the square roots of a power, count as.
FUNCTION = 60.0
#: K_ij between two integers, in units of a power of 2.
Entry = Callable[[int, int], tuple[int, int]]
#: One in units of 2⁻¹⁹².
ONE = 1 << BITS
#: A difference of √γ'x that is larger makes an exponent below −600, and its square is a number.
FAR = 2.0**20
#: More than 2e^−600.
NOTHING_IN_TWO = 2.0**-860
#: Kernels that are functions of samples.
WITH_SAMPLES = (RBFValues, ProductValues)


def exact_values(values: KernelValues, coef: FloatArray, beta: Sequence[Fraction], most: float) -> ExactValues | None:
    """⟨w, φ(x_i)⟩ at all points, ‖w‖² and ‖w(α)‖² in rational numbers; None where that takes too long.

    Shapes: coef (n,).
    """
    own = [j for j, value in enumerate(beta) if value]
    columns = sorted({*np.flatnonzero(coef).tolist(), *own})
    pairs = float(values.n) * len(columns) - 0.5 * len(columns) ** 2
    if pairs * _cost(values) > most:
        return None
    found = _entries(values)
    if found is None:
        return None
    entry, exponent = found
    table: dict[tuple[int, int], tuple[int, int]] = {}
    for j in columns:
        for i in range(values.n):
            table[i, j] = table[j, i] if (j, i) in table else entry(i, j)
    c, c_exponent = as_integers(coef)
    b, denominator = to_common_denominator(beta)
    unit = Fraction(2) ** (exponent + c_exponent)
    support = [j for j in columns if c[j]]
    u = [_combine_intervals([(c[j], table[i, j]) for j in support]) for i in range(values.n)]
    square = _combine_intervals([(c[j], u[j]) for j in support])
    v = [_combine_intervals([(b[j], table[i, j]) for j in own]) for i in own]
    own_square = _combine_intervals([(b[i], pair) for i, pair in zip(own, v, strict=True)])
    return ExactValues(
        [_scaled(pair, unit) for pair in u],
        _scaled(square, unit * Fraction(2) ** c_exponent),
        _scaled(own_square, Fraction(2) ** exponent / denominator**2),
    )


def _cost(values: KernelValues) -> float:
    """Multiplications of one entry, about."""
    if isinstance(values, MatrixValues):
        return 2.0
    assert isinstance(values, (RBFValues, ProductValues))
    d = float(values.X.shape[1])
    if isinstance(values, ProductValues) and values.power_is_whole:
        return d + values.degree * values.degree
    return d + FUNCTION


def _combine_intervals(parts: Sequence[tuple[int, tuple[int, int]]]) -> tuple[int, int]:
    """Return Σ c [low, high]."""
    low = sum(c * (pair[0] if c > 0 else pair[1]) for c, pair in parts)
    high = sum(c * (pair[1] if c > 0 else pair[0]) for c, pair in parts)
    return low, high


def _scaled(pair: tuple[int, int], unit: Fraction) -> Between:
    low = pair[0] * unit
    return low, low if pair[0] == pair[1] else pair[1] * unit


def _entries(values: KernelValues) -> tuple[Entry, int] | None:
    """K_ij, and the exponent of the power of 2 that it is in units of; None where a base is negative."""
    n = values.n
    if isinstance(values, MatrixValues):
        entries, exponent = as_integers(values.K.reshape(-1))
        return lambda i, j: (entries[i * n + j], entries[i * n + j]), exponent
    assert isinstance(values, (RBFValues, ProductValues))
    X = as_dense(values.X)
    whole, exponent = as_integers(X.reshape(-1))
    d = X.shape[1]
    rows = [whole[i * d : (i + 1) * d] for i in range(n)]
    if isinstance(values, RBFValues):
        return _exponentials(values.gamma, rows, exponent), -BITS
    (factor, shift), scale = as_integers(np.array([values.gamma, values.shift]))
    exponent = min(2 * exponent, 0)
    left = 2 * as_integers(X.reshape(-1))[1] - exponent
    shift <<= -exponent

    def base(i: int, j: int) -> int:
        """γxᵀz + r in units of 2^(exponent + scale)."""
        return factor * (sum(a * c for a, c in zip(rows[i], rows[j], strict=True)) << left) + shift

    exponent += scale
    if values.power_is_whole:
        p = int(values.degree)

        def power(i: int, j: int) -> tuple[int, int]:
            found = base(i, j) ** p
            return found, found

        return power, exponent * p
    if isinstance(values.kernel, Sigmoid):
        return lambda i, j: _tanh(base(i, j), exponent), -BITS
    if any(base(i, j) < 0 for i in range(n) for j in range(i + 1)):
        return None
    return lambda i, j: _raise_to_power(base(i, j), exponent, values.degree), -BITS


def _exponentials(gamma: float, rows: Sequence[list[int]], exponent: int) -> Entry:
    """(KRAT.2)."""
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
    """(KRAT.3)."""
    q_low, q_high = exp_fixed(_shift_bits(-2 * abs(b), exponent + BITS)) if b else (ONE, ONE)
    low = ((ONE - q_high) << BITS) // (ONE + q_high)
    high = ((ONE - q_low) << BITS) // (ONE + q_low) + 1 if b else 0
    low = max(low, 0)
    return (low, high) if b >= 0 else (-high, -low)


def _raise_to_power(b: int, exponent: int, p: float) -> tuple[int, int]:
    """Return bᵖ for b ≥ 0 and p > 0, (KRAT.3)."""
    low = _shift_bits(b, exponent + BITS)
    high = low + 1
    found, rest = [ONE, ONE], Fraction(p) - int(p)
    for _ in range(int(p)):
        found = [(found[0] * low) >> BITS, -((-found[1] * high) >> BITS)]
    while rest:
        low, high = math.isqrt(low << BITS), math.isqrt(high << BITS) + 1
        rest *= 2
        if rest >= 1:
            found, rest = [(found[0] * low) >> BITS, -((-found[1] * high) >> BITS)], rest - 1
    return found[0], found[1]


def sharp_sums(values: KernelValues, points: IntArray, columns: IntArray, weights: FloatArray) -> PointValues | None:
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
        step = max(IN_CACHE // max(s, 1), 1)
        for start in range(0, r, step):
            some = slice(start, start + step)
            parts, radii = _block(values, points[some], columns)
            high[some], low[some], off = multiply_to_pairs(np.hstack(parts), np.concatenate([weights] * len(parts)))
            radius[some] = (off + (radii @ sizes) * (1.0 + gamma(s + 2))) * FEW
    radius += s * UNDERFLOW
    return PointValues(high, low, np.where(np.isfinite(high + low + radius), radius, np.inf))


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
    return first, second, first * (RELATIVE_IN_TWO + spread) * FEW + NOTHING_IN_TWO


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
    return high, low, p * (2.0 * d * d + 8.0 * d + 41.0) * UNIT * UNIT * FEW


def _times(a: FloatArray, a_low: FloatArray, b: FloatArray, b_low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The product of two numbers of two doubles each, off by 9u² of itself."""
    product, error = two_product(a, b)
    return two_sum(product, error + (a * b_low + a_low * b))
