"""Compute sums and products in double-double precision, with bounds on their errors (`sum_with_bound`).

    (ROUND.2)  a + b = s + e,  s = fl(a + b), and e computed without error (Knuth)
    (ROUND.3)  a·b = p + e,  p = fl(a·b), and e computed without error (Dekker, Veltkamp)
    (ROUND.4)  dot product: sum its p by (ROUND.2) in a tree, sum all e as floats, and add the two. This is off by at
               most u|result| + γ_2k γ_l Σ|a_i b_i|,  l = 2 + log₂ k

Sources: Ogita, Rump & Oishi, *Accurate sum and dot product*, SIAM J. Sci. Comput. 26 (2005); Rump, Ogita & Oishi,
*Accurate floating-point summation, part I*, SIAM J. Sci. Comput. 31 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray

#: Absolute error of an operation that underflows.
UNDERFLOW = 2.0**-1070
#: Sums of products below this may have lost terms to underflow.
NEXT_TO_NOTHING = 2.0**-500
#: Veltkamp's factor. It splits 53 bits into halves whose products are exact.
SPLITTER = 2.0**27 + 1.0
#: Numbers between these can be multiplied or divided by a large power of 2 without overflow or underflow.
TINY, HUGE = 2.0**-900, 2.0**900
#: Terms that are added in any order before the partial sums are added exactly.
CHUNK = 256
#: Zeros are removed first if there are more numbers than this.
SPARSE = 64
#: A sum of at most this many terms is exact up to its last rounding.
EXACT = 4096
#: Longest vector that is processed in one block.
IN_CACHE = 16_384
#: Limit of the cuts of a longer vector, before the remainder is added in any order.
CUTS = 6


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (ROUND.2): the sum of two arrays of one shape, and its error."""
    if a.ndim == 1 and len(a) > IN_CACHE:
        return _map_blocks(two_sum, a, b)
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (ROUND.3): the product of two arrays of one shape, and its error.

    Both are exact for |a|, |b| < 2⁹⁹⁵ if nothing underflows.
    """
    if a.ndim == 1 and len(a) > IN_CACHE:
        return _map_blocks(two_product, a, b)
    p = a * b
    t = SPLITTER * a
    a_high = t - (t - a)
    t = SPLITTER * b
    b_high = t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _map_blocks(
    pair: Callable[..., tuple[FloatArray, FloatArray]], *vectors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Apply a function that returns two vectors, block by block, so that temporary arrays stay in the cache."""
    first, second = np.empty(len(vectors[0])), np.empty(len(vectors[0]))
    for start in range(0, len(first), IN_CACHE):
        block = slice(start, start + IN_CACHE)
        first[block], second[block] = pair(*(vector[block] for vector in vectors))
    return first, second


def multiply_double_double(A: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Ax in double-double precision, and the error bound of each entry, by (ROUND.4).

    Shapes: A (m, k), x (k,) → values, radii (m,).
    """
    values, _, radii = multiply_to_pairs(A, x)
    return values, UNIT * np.abs(values) + radii


def multiply_to_pairs(A: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Ax with each entry as a sum of two doubles, the first of which is the rounded value.

    Returns high, low, radii (m,).
    """
    k = A.shape[1]
    sums, error = two_product(A, np.broadcast_to(x, A.shape))
    sizes = np.abs(sums).sum(axis=1) * (1.0 + gamma(k))
    low: FloatArray = error.sum(axis=1)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        added, error = two_sum(sums[:, :half], sums[:, half : 2 * half])
        low = low + error.sum(axis=1)
        if sums.shape[1] % 2:
            sums = np.hstack([added, sums[:, 2 * half :]])
        else:
            sums = added
    spread = gamma(2 * k) * gamma(2 + math.ceil(math.log2(max(k, 2))))
    radii: FloatArray = spread * sizes + k * UNDERFLOW
    return *two_sum(sums[:, 0] if k else np.zeros(len(A)), low), radii


def sum_pairs(parts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum few vectors, each entry of two doubles and with a radius, (p, 3, n), into one of them: (n,) each."""
    high, low, radii = (np.zeros(parts.shape[2]) for _ in range(3))
    spread = np.zeros(parts.shape[2])
    for other_high, other_low, other_radii in parts:
        high, error = two_sum(high, other_high)
        low = low + (error + other_low)
        spread += np.abs(error) + np.abs(other_low)
        radii = radii + other_radii
    rounding = gamma(2 * len(parts) + 4)
    return *two_sum(high, low), (radii + rounding * spread) * (1.0 + rounding)


def sum_columns_to_pairs(columns: IntArray, products: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the numbers of each of n columns, each as a sum of two doubles.

    Each number is cut in two, the first part a multiple of one power of 2 that is so large that these parts are added
    without rounding (Rump). Shapes: columns (k,), products (k,) → high, low, radii (n,).
    """
    max_count = int(np.bincount(columns, minlength=n).max(initial=0))
    largest = float(np.abs(products).max(initial=0.0))
    if not 0.0 < largest < HUGE:
        return (
            _sum_by_column(columns, products, n),
            np.zeros(n),
            2.0 * gamma(max_count) * _sum_by_column(columns, np.abs(products), n),
        )
    cut = math.ldexp(1.0, math.frexp(largest)[1] + math.ceil(math.log2(max_count + 2)))
    heads = (cut + products) - cut
    tails = products - heads
    high, low, sizes = (_sum_by_column(columns, part, n) for part in (heads, tails, np.abs(tails)))
    return *two_sum(high, low), 2.0 * gamma(max_count) * sizes


def _sum_by_column(columns: IntArray, values: FloatArray, n: int) -> FloatArray:
    return np.bincount(columns, values, minlength=n).astype(np.float64, copy=False)


def dot_with_bound(a: FloatArray, b: FloatArray, *added: float) -> tuple[float, float]:
    """Return aᵀb plus more numbers, rounded once, and its error bound. a and b have one length, (n,)."""
    product, error = two_product(a, b)
    s = sum_exactly([*product.tolist(), *error.tolist(), *added])
    return s, UNIT * abs(s) + len(a) * UNDERFLOW


def sum_exactly(values: list[float]) -> float:
    """Return `math.fsum`; NaN if the sum is beyond all floats or contains ∞ − ∞."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.nan


def sum_with_bound(values: FloatArray, *added: float) -> tuple[float, float]:
    """Return the sum of a vector (n,) and more numbers, and its error bound. A long vector is added in chunks."""
    terms, spread = sum_in_chunks(values)
    s = sum_exactly([*terms, *added] if added else terms)
    return s, UNIT * abs(s) + spread


def sum_in_chunks(values: FloatArray) -> tuple[list[float], float]:
    """Return numbers with the sum of a vector (n,), and their error bound: 0 but for numbers of very many sizes.

    A long vector is cut into multiples of one power of 2, which are added without rounding, as in
    `sum_columns_to_pairs`, until little is left.
    """
    sums: list[float] = []
    for _ in range(CUTS):
        if len(values) > SPARSE:
            values = values[values.nonzero()[0]]
        n = len(values)
        if n <= EXACT:
            return [*sums, *values.tolist()] if sums else values.tolist(), 0.0
        max_value = float(np.abs(values).max())
        if not max_value < HUGE:
            break
        cut = math.ldexp(1.0, math.frexp(max_value)[1] + math.ceil(math.log2(n + 2)))
        heads = values + cut
        heads -= cut
        sums.append(float(heads.sum()))
        values = values - heads
    n = len(values)
    n_chunked = n - n % CHUNK
    chunk_sums = values[:n_chunked].reshape(-1, CHUNK).sum(axis=1)
    spread = gamma(CHUNK) * float(np.abs(values).sum()) * (1.0 + gamma(n))
    return [*sums, *chunk_sums.tolist(), *values[n_chunked:].tolist()], spread
