"""Compute sums of kernel values as intervals of rational numbers (`compute_exact_values`).

Rational kernel values are computed exactly, others are enclosed between two integers in units of a power of 2:

    (KRAT.1)  floats are integers times a power of 2, and so are ‖x − z‖², γxᵀz + r, and its powers of integer degree
    (KRAT.2)  e^{−γ‖x − z‖²} by (EXP.8), with the exponent rounded down to units of 2⁻¹⁹²
    (KRAT.3)  tanh b = ±(1 − q)/(1 + q) with q = e^{−2|b|} enclosed, and bᵖ of another degree from square roots of
              integers by `math.isqrt`, rounded down and up
    (KRAT.4)  Σ_j c_j K_ij of such intervals, by the sign of c_j; likewise ‖w‖² = Σ c_i u_i, ‖w(α)‖² = Σ β_i v_i, and
              ‖w − w(α)‖² with c − β, which is 0 without error if c = β

Nothing else is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.rationals import as_integers, to_common_denominator
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.bounds.proof.kernels.exponential import BITS, exp_fixed
from qpsvm.bounds.proof.kernels.values import KernelValues, MatrixValues, ProductValues, RBFValues
from qpsvm.bounds.proof.spaces import ExactValues, RationalInterval
from qpsvm.space.kernels.functions import Sigmoid

#: Cost of an exponential, or of the square roots of a power, in multiplications.
FUNCTION_COST = 60.0
#: Integers below and above a number, in units of a power of 2.
IntegerInterval = tuple[int, int]
#: Returns an interval of K_ij.
EntryFunction = Callable[[int, int], IntegerInterval]
#: 1 in units of 2⁻¹⁹².
ONE = 1 << BITS


def compute_exact_values(
    values: KernelValues, coef: FloatArray, beta: Sequence[Fraction], max_products: float
) -> ExactValues | None:
    """Return ⟨w, φ(x_i)⟩ at all points, ‖w‖², ‖w(α)‖² and ‖w − w(α)‖² as intervals of rational numbers.

    None if that takes more than `max_products` multiplications, or if the kernel is undefined. Shapes: coef, beta (n,).
    """
    c, b = _merge_equal_points(values, coef, beta)
    delta = [x - y for x, y in zip(c, b, strict=True)]
    columns = [j for j, (x, y) in enumerate(zip(c, b, strict=True)) if x or y]
    pairs = float(values.n) * len(columns) - 0.5 * len(columns) ** 2
    if pairs * _estimate_entry_cost(values) > max_products:
        return None
    entries = _make_entry_function(values)
    if entries is None:
        return None
    entry, exponent = entries
    table: dict[tuple[int, int], IntegerInterval] = {}
    for j in columns:
        for i in range(values.n):
            table[i, j] = table[j, i] if (j, i) in table else entry(i, j)
    unit = Fraction(2) ** exponent

    def combine(weights: Sequence[Fraction], rows: Sequence[int]) -> tuple[list[RationalInterval], RationalInterval]:
        """Return Σ_j weights_j K_ij at some rows that include the support, and Σ weights_i weights_j K_ij."""
        integers, denominator = to_common_denominator(weights)
        scale = unit / denominator
        support = [j for j in columns if integers[j]]
        sums = {i: _combine_intervals([(integers[j], table[i, j]) for j in support]) for i in rows}
        square = _combine_intervals([(integers[j], sums[j]) for j in support])
        return [_scale_interval(sums[i], scale) for i in rows], _scale_interval(square, scale / denominator)

    u, square = combine(c, range(values.n))
    return ExactValues(u, square, combine(b, columns)[1], combine(delta, columns)[1])


def _merge_equal_points(
    values: KernelValues, coef: FloatArray, beta: Sequence[Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """Return both vectors (n,) with the sum of the entries of equal points at the first of them, and 0 at the others.

    So coefficients of equal points cancel exactly, although the kernel values are only enclosed.
    """
    first = list(range(values.n))
    if isinstance(values, (RBFValues, ProductValues)):
        seen: dict[bytes, int] = {}
        first = [seen.setdefault((row + 0.0).tobytes(), i) for i, row in enumerate(as_dense(values.X))]
    merged: tuple[list[Fraction], list[Fraction]] = [Fraction(0)] * values.n, [Fraction(0)] * values.n
    for i, j in enumerate(first):
        merged[0][j] += Fraction(float(coef[i]))
        merged[1][j] += beta[i]
    return merged


def _estimate_entry_cost(values: KernelValues) -> float:
    """Estimate the multiplications for one K_ij."""
    if isinstance(values, MatrixValues):
        return 2.0
    assert isinstance(values, (RBFValues, ProductValues))
    d = float(values.X.shape[1])
    if isinstance(values, ProductValues) and values.is_integer_power:
        return d + values.degree * values.degree
    return d + FUNCTION_COST


def _combine_intervals(parts: Sequence[tuple[int, IntegerInterval]]) -> IntegerInterval:
    """Return Σ c [low, high] over pairs of c and the interval."""
    low = sum(c * (pair[0] if c > 0 else pair[1]) for c, pair in parts)
    high = sum(c * (pair[1] if c > 0 else pair[0]) for c, pair in parts)
    return low, high


def _scale_interval(pair: IntegerInterval, unit: Fraction) -> RationalInterval:
    """Return an interval in units of `unit`; a single number is multiplied once."""
    low = pair[0] * unit
    return low, low if pair[0] == pair[1] else pair[1] * unit


def _make_entry_function(values: KernelValues) -> tuple[EntryFunction, int] | None:
    """Return a function for K_ij, and the exponent of its unit, a power of 2; None if K is undefined at some points."""
    if isinstance(values, MatrixValues):
        n = values.n
        entries, exponent = as_integers(values.K.reshape(-1))
        return lambda i, j: (entries[i * n + j], entries[i * n + j]), exponent
    assert isinstance(values, (RBFValues, ProductValues))
    X = as_dense(values.X)
    integers, exponent = as_integers(X.reshape(-1))
    d = X.shape[1]
    rows = [integers[i * d : (i + 1) * d] for i in range(values.n)]
    if isinstance(values, RBFValues):
        return _make_rbf_function(values.gamma, rows, exponent), -BITS
    return _make_product_function(values, rows, exponent)


def _make_rbf_function(gamma: float, rows: Sequence[list[int]], exponent: int) -> EntryFunction:
    """Return a function for e^{−γ‖x − z‖²}, (KRAT.2), of rows in units of 2^exponent."""
    (factor,), scale = as_integers(np.array([gamma]))

    def entry(i: int, j: int) -> IntegerInterval:
        x = -factor * sum((a - c) ** 2 for a, c in zip(rows[i], rows[j], strict=True))
        if x:
            return exp_fixed(_shift_bits(x, 2 * exponent + scale + BITS))
        return ONE, ONE

    return entry


def _make_product_function(
    values: ProductValues, rows: Sequence[list[int]], row_exponent: int
) -> tuple[EntryFunction, int] | None:
    """Return a function for a power or tanh of γxᵀz + r, and the exponent of its unit; None if a root is undefined."""
    (factor, shift), scale = as_integers(np.array([values.gamma, values.shift]))
    exponent = min(2 * row_exponent, 0)
    product_bits = 2 * row_exponent - exponent
    shift <<= -exponent
    exponent += scale

    def base(i: int, j: int) -> int:
        """Return γxᵀz + r in units of 2^exponent."""
        return factor * (sum(a * c for a, c in zip(rows[i], rows[j], strict=True)) << product_bits) + shift

    if values.is_integer_power:
        p = int(values.degree)
        return lambda i, j: (base(i, j) ** p,) * 2, exponent * p
    if isinstance(values.kernel, Sigmoid):
        return lambda i, j: _enclose_tanh(base(i, j), exponent), -BITS
    if any(base(i, j) < 0 for i in range(values.n) for j in range(i + 1)):
        return None
    return lambda i, j: _enclose_power(base(i, j), exponent, values.degree), -BITS


def _shift_bits(x: int, bits: int) -> int:
    """Return x·2^bits, rounded down."""
    return x << bits if bits >= 0 else x >> -bits


def _enclose_tanh(b: int, exponent: int) -> IntegerInterval:
    """Return tanh(b·2^exponent) in units of 2⁻¹⁹², (KRAT.3)."""
    if b:
        q_low, q_high = exp_fixed(_shift_bits(-2 * abs(b), exponent + BITS))
    else:
        q_low, q_high = ONE, ONE
    low = ((ONE - q_high) << BITS) // (ONE + q_high)
    high = ((ONE - q_low) << BITS) // (ONE + q_low) + 1 if b else 0
    low = max(low, 0)
    return (low, high) if b >= 0 else (-high, -low)


def _enclose_power(b: int, exponent: int, p: float) -> IntegerInterval:
    """Return (b·2^exponent)ᵖ for b ≥ 0 and p > 0, in units of 2⁻¹⁹², (KRAT.3)."""
    low = _shift_bits(b, exponent + BITS)
    root = low, low + 1
    power = ONE, ONE
    fraction = Fraction(p) - int(p)
    for _ in range(int(p)):
        power = _multiply_intervals(power, root)
    while fraction:  # its binary digits are the exponents of the roots
        root = math.isqrt(root[0] << BITS), math.isqrt(root[1] << BITS) + 1
        fraction *= 2
        if fraction >= 1:
            power = _multiply_intervals(power, root)
            fraction = fraction - 1
    return power


def _multiply_intervals(a: IntegerInterval, b: IntegerInterval) -> IntegerInterval:
    """Return the product of two nonnegative intervals in units of 2⁻¹⁹²."""
    return (a[0] * b[0]) >> BITS, -((-a[1] * b[1]) >> BITS)
