"""Compute eˣ with a proven error: in floats, double-double, or fixed point.

Entry points: `Exponential`, (EXP.1) to (EXP.6); `exp_double_double`, (EXP.7); `exp_fixed`, (EXP.8). The exponent is
reduced to a tiny r by a table of 2^(j/N), and eʳ is a short polynomial.

    (EXP.1)  eˣ = 2^m T_j eʳ,  n = mN + j the integer nearest xN/ln 2, N = 2048, T_j = 2^(j/N), r = x − nλ, λ = ln 2/N
    (EXP.2)  λ = λ₁ + λ₂ + η, λ₁ of 32 bits: nλ₁ is exact for |n| < 2²¹, that is for |x| ≤ 700;  |λ₂| ≤ 2⁻⁴⁴, |η| ≤ 2⁻⁹⁷
    (EXP.3)  fl(xN/ln 2) is off by at most 2⁻³¹, so |r| ≤ (½ + 2⁻³⁰)λ < ρ = 1.7·10⁻⁴
    (EXP.4)  r̂ = fl(fl(x − nλ₁) − fl(nλ₂)):  |r̂ − r| ≤ 2u(ρ + 2⁻²³) + n(u|λ₂| + |η|) < 4·10⁻⁴ u
    (EXP.5)  eʳ − 1 = p + R,  p = r(1 + r(½ + r/6)),  |R| ≤ ρ⁴/24·e^ρ < 0.32u;  p̂ is off by less than 3uρ < 6·10⁻⁴ u
    (EXP.6)  fl(T̂ + fl(T̂p̂)) is off by u for T̂, correctly rounded, by u for the sum, by uρ for the product; with (EXP.4)
             and (EXP.5) by less than 2.5u, relative to eˣ. 2^m only changes the exponent: no underflow for x ≥ −700
    (EXP.7)  in double-double, r = r₁ + r₂ from three parts of λ, T_j is a sum of two doubles, and
             eʳ − 1 = r + r²/2 + r³(1/6 + r/24 + r²/120 + r³/720) + R:  |R| < ρ⁷/5040·e^ρ < 2⁻⁹⁹; the cube is below
             2⁻⁴⁰ and off by 10u of itself; r₂ is below 2⁻⁴² before it is added to r₁, and off by 4u of that; all other
             errors are below 16u². In total less than 2⁻⁸⁸, relative to eˣ
    (EXP.8)  in fixed point, with 192 bits after the point, r = (x − m ln 2)/256 is off by |m|/256 + 2 units of the last
             bit, and a term of Taylor's series by 3, because its two quotients are rounded down. The square of a v ≤ 1
             that is off by e is off by 2e + 2

T_j and λ are computed from integers: square roots of 2 by `math.isqrt`, ln 2 = 2 artanh ⅓ as a sum of quotients.

Source: Tang, *Table-driven implementation of the exponential function in IEEE floating-point arithmetic*, ACM TOMS 15
(1989), for the idea of table and reduction; the bounds are derived here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.double_double import two_product, two_sum
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray

#: N of (EXP.1) is 2 to this power.
TABLE_BITS = 11
#: Exponents below this one are replaced by it, and no exponent may exceed its negative: (EXP.2), (EXP.6).
LOWEST = -700.0
#: The same for `exp_double_double`, where the second double must not underflow either.
LOWEST_DOUBLE_DOUBLE = -600.0
#: Bound on the relative error of `Exponential`, (EXP.6).
MAX_ERROR = 2.5 * UNIT
#: Bound on the relative error of `exp_double_double`, (EXP.7).
DOUBLE_DOUBLE_ERROR = 2.0**-88
#: Bits after the point in (EXP.8), and in the tables.
BITS = 192
#: In (EXP.8) the exponent is halved this many times, and the value of Taylor's series is squared as often.
HALVINGS = 8
#: A double whose last bit is worth 1: the last bits of its sum with a number hold the integer nearest to the number.
ROUNDER = 1.5 * 2.0**52


@dataclass(frozen=True, eq=False)
class ExponentialTables:
    """Constants of (EXP.1) and (EXP.7).

    bits (N,): T_j as the bits of a double, minus j·2^(52 − 11): adding n·2^(52 − 11) gives 2^m T_j.
    high, low (N,): T_j as a sum of two doubles, the first of which is T_j rounded.
    inverse_lambda: N/ln 2.
    lambda_in_two: λ₁ and λ₂ of (EXP.2).
    lambda_in_three: λ as a sum of three parts for (EXP.7), the first two of 32 bits.
    """

    bits: NDArray[np.int64]
    high: FloatArray
    low: FloatArray
    inverse_lambda: float
    lambda_in_two: tuple[float, float]
    lambda_in_three: tuple[float, float, float]


@cache
def compute_ln2(bits: int) -> int:
    """Return ln 2·2^bits with an error below 1: 2Σ 3^−(2k+1)/(2k + 1), each term rounded down with 16 more bits."""
    extra_bits = bits + 16
    power = (2 << extra_bits) // 3
    total = 0
    k = 0
    while power:
        total += power // (2 * k + 1)
        power //= 9
        k += 1
    return (total + k) >> 16


@cache
def compute_tables() -> ExponentialTables:
    """Compute the constants from integers; the first call takes some milliseconds."""
    N = 1 << TABLE_BITS
    unit = 1 << BITS
    root = 2 * unit
    for _ in range(TABLE_BITS):
        root = math.isqrt(root * unit)  # in the end 2^(1/N), in units of 2⁻¹⁹²
    values = []
    value = unit
    for _ in range(N):  # each product loses less than one unit
        values.append(value)
        value = (value * root) >> BITS
    high = np.array([value / unit for value in values])  # a quotient of integers is correctly rounded
    remainders = [value - int(Fraction(h) * unit) for value, h in zip(values, high.tolist(), strict=True)]
    low = np.array([remainder / unit for remainder in remainders])
    lambda_ = Fraction(compute_ln2(BITS), unit * N)
    first = _round_to_32_bits(lambda_)
    second = _round_to_32_bits(lambda_ - first)
    offsets = np.arange(N, dtype=np.int64) << (52 - TABLE_BITS)
    return ExponentialTables(
        bits=high.view(np.int64) - offsets,
        high=high,
        low=low,
        inverse_lambda=float(1 / lambda_),
        lambda_in_two=(float(first), float(lambda_ - first)),
        lambda_in_three=(float(first), float(second), float(lambda_ - first - second)),
    )


def _round_to_32_bits(value: Fraction) -> Fraction:
    """Round a number to the nearest one with 32 bits."""
    unit = Fraction(2) ** (math.frexp(float(value))[1] - 32)
    return round(value / unit) * unit


class Exponential:
    """eˣ by (EXP.1) to (EXP.6) in place, with scratch memory.

    max_entries: Number of entries of the largest block.
    """

    def __init__(self, max_entries: int) -> None:
        self._n: FloatArray = np.empty(max_entries)
        self._bits: NDArray[np.int64] = np.empty(max_entries, np.int64)
        self._index: NDArray[np.int64] = np.empty(max_entries, np.int64)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Overwrite exponents with eˣ, with a relative error of at most `MAX_ERROR`; those below −700 count as −700."""
        table = compute_tables()
        r = x.reshape(-1)
        n, bits, index = self._n[: r.size], self._bits[: r.size], self._index[: r.size]
        scale = bits.view(np.float64)
        product = index.view(np.float64)
        n_bits = n.view(np.int64)
        np.maximum(r, LOWEST, out=r)
        np.multiply(r, table.inverse_lambda, out=n)
        np.add(n, ROUNDER, out=n)  # (EXP.3): n is in the last bits
        np.bitwise_and(n_bits, (1 << TABLE_BITS) - 1, out=index)  # j
        table.bits.take(index, axis=0, out=bits, mode="clip")
        np.left_shift(n_bits, 52 - TABLE_BITS, out=index)
        np.add(bits, index, out=bits)  # the bits of 2^m T_j; `scale` is their view as doubles
        np.subtract(n, ROUNDER, out=n)
        np.multiply(n, table.lambda_in_two[0], out=product)  # exact
        np.subtract(r, product, out=r)
        np.multiply(n, table.lambda_in_two[1], out=n)
        np.subtract(r, n, out=r)  # (EXP.4)
        np.multiply(r, 1.0 / 6.0, out=n)  # from here on the memory of n holds p
        np.add(n, 0.5, out=n)
        np.multiply(n, r, out=n)
        np.add(n, 1.0, out=n)
        np.multiply(n, r, out=n)  # (EXP.5)
        np.multiply(n, scale, out=r)
        np.add(r, scale, out=r)  # (EXP.6)
        return x


def exp_double_double(high: FloatArray, low: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return e^(high + low) as a sum of two doubles with a relative error of at most `DOUBLE_DOUBLE_ERROR`."""
    table = compute_tables()
    is_too_low = high < LOWEST_DOUBLE_DOUBLE
    x = np.where(is_too_low, LOWEST_DOUBLE_DOUBLE, high)
    r_low = np.where(is_too_low, 0.0, low)
    n = np.rint(x * table.inverse_lambda)
    integers = n.astype(np.int64)
    r, first_error = two_sum(x, -(n * table.lambda_in_three[0]))  # n times 32 bits is exact
    r, second_error = two_sum(r, -(n * table.lambda_in_three[1]))
    r, r_low = two_sum(r, r_low + first_error + second_error - n * table.lambda_in_three[2])
    square, square_low = two_product(r, r)
    cube = r * square * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))
    s, error = two_sum(r, 0.5 * square)  # in the end s + s_low is eʳ − 1
    s, s_low = two_sum(s, cube + (error + r_low + (0.5 * square_low + r * r_low)))
    j = integers & ((1 << TABLE_BITS) - 1)
    T, T_low = table.high[j], table.low[j]
    product, product_low = two_product(T, s)
    value, error = two_sum(T, product)
    value, value_low = two_sum(value, error + (product_low + T_low + (T * s_low + T_low * s)))
    power = (integers >> TABLE_BITS).astype(np.int32)
    return np.ldexp(value, power), np.ldexp(value_low, power)


def exp_fixed(x: int) -> tuple[int, int]:
    """Return integers below and above eˣ, (EXP.8). They and the exponent x ≤ 0 are in units of 2⁻¹⁹²."""
    unit = 1 << BITS
    ln2 = compute_ln2(BITS)
    m = -(-x // ln2)  # eˣ = 2^m eʳ with −ln 2 < r ≤ 0
    if m < -BITS:
        return 0, 1
    r = (x - m * ln2) >> HALVINGS
    term = total = unit
    k = 0
    while term not in (0, -1):  # −1 is what remains of a negative term, because it is rounded down
        k += 1
        term = ((term * r) >> BITS) // k
        total += term
    error = 3 * k + 8 + (-m >> HALVINGS)
    for _ in range(HALVINGS):
        total = (total * total) >> BITS
        error = 2 * error + 2
    return max(total - error, 0) >> -m, ((total + error) >> -m) + 1
