"""Bound the errors of floating-point arithmetic, and compute sums and products in double-double precision.

u = 2⁻⁵³ is the unit roundoff of doubles. A sum of k products is off by at most γ_k Σ|a_i b_i|, in any order:

    (ROUND.1)  γ_k = ku/(1 − ku)
    (ROUND.2)  a + b = s + e,  s = fl(a + b), and e computed without error (Knuth)
    (ROUND.3)  a·b = p + e,  p = fl(a·b), and e computed without error (Dekker, Veltkamp)
    (ROUND.4)  dot product: sum its p by (ROUND.2) in a tree, sum all e as floats, and add the two. This is off by at
               most u|result| + γ_2k γ_l Σ|a_i b_i|,  l = 2 + log₂ k
    (ROUND.5)  ‖x‖ ≤ √fl(Σx²) (1 + γ_{k+6}) + √k 2⁻⁵³⁶ for k numbers: the last is what squares lose that underflow

Sources: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), chapter 3; Ogita, Rump & Oishi, *Accurate sum
and dot product*, SIAM J. Sci. Comput. 26 (2005); Rump, Ogita & Oishi, *Accurate floating-point summation, part I*, SIAM
J. Sci. Comput. 31 (2008).

How far apart two values are that should meet, whatever the unit they are in.

Numbers that no double is equal to: they are refused, and not rounded in silence.

Whole numbers beyond 2⁵³ and long doubles are exact already, so that to round them would make other data of them. A
decimal text such as 0.1 is the double nearest to it, as everywhere; a text of digits alone is a whole number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError

#: Unit roundoff u of a double.
UNIT = 2.0**-53
#: A sum below this share of its terms is 0 but for rounding, and numbers that differ by less are one.
ROUNDED = 1e-12
#: A few roundings, where it does not pay to count them.
FEW = 1.0 + 64.0 * UNIT
#: What an operation that underflows may lose.
UNDERFLOW = 2.0**-1070
#: Numbers whose square underflows.
TINY_NORM = 2.0**-536
#: Veltkamp's factor. It splits 53 bits into halves whose products are exact.
SPLITTER = 2.0**27 + 1.0
#: Numbers between these have room beside them for a power of 2 that is larger, or less, by many times.
TINY, HUGE = 2.0**-900, 2.0**900
#: Terms that are added in any order before the partial sums are added exactly.
CHUNK = 256
#: Of more numbers than this, those that are 0 are left out first.
SPARSE = 64
#: A sum of at most this many terms is exact but for its last rounding.
EXACT = 4096
#: Numbers of a vector that is worked on in one piece.
IN_CACHE = 16_384
#: How often a longer vector is cut before what is left is added in any order.
CUTS = 6
#: Whole numbers up to here are doubles, every one.
MAX_EXACT_INTEGER = 2.0**53
#: What to do about others.
ADVICE = "leave out what only identifies, subtract an offset, or round it yourself by astype(float)"


def compute_relative_gap(difference: float, primal: float, dual: float, floor: float = 0.0) -> float:
    """Return (CERT.3): P − D over max(|P|, |D|, floor); 0 where all are 0, infinite where P is."""
    scale = max(abs(primal), abs(dual), floor)
    if difference == 0.0:
        return 0.0
    if not math.isfinite(difference) or not math.isfinite(scale):
        return float("inf")
    return difference / scale if scale > 0 else float("inf")


def gamma(k: float) -> float:
    """Return γ_k of (ROUND.1), or infinity where k roundings leave no digit."""
    return k * UNIT / (1.0 - k * UNIT) if k * UNIT < 1.0 else math.inf


def bound_row_norms(squares: FloatArray, k: int) -> FloatArray:
    """Bound lengths from above by (ROUND.5), (n,), from their squares as computed of k numbers each, in any order."""
    lengths: FloatArray = np.sqrt(squares)
    lengths *= 1.0 + gamma(k + 6)
    lengths += math.sqrt(k) * TINY_NORM
    return lengths


def bound_norm(v: FloatArray) -> float:
    """Bound ‖v‖ from above, in units of its largest entry: squares may underflow, or overflow."""
    largest = float(np.abs(v).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if not math.isfinite(largest):
        return math.inf
    scaled = v / largest
    return largest * math.sqrt(float(scaled @ scaled)) * (1.0 + gamma(len(v) + 8))


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (ROUND.2): the sum of two arrays of one shape, and its error."""
    if a.ndim == 1 and len(a) > IN_CACHE:
        return _map_blocks(two_sum, a, b)
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (ROUND.3): the product of two arrays of one shape, and its error.

    The two are exact for |a|, |b| < 2⁹⁹⁵ where nothing underflows.
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
    pair: Callable[..., tuple[FloatArray, FloatArray]], *given: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Apply a function that makes two vectors, by blocks: fresh memory takes longer than the arithmetic."""
    first, second = np.empty(len(given[0])), np.empty(len(given[0]))
    for start in range(0, len(first), IN_CACHE):
        part = slice(start, start + IN_CACHE)
        first[part], second[part] = pair(*(vector[part] for vector in given))
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
        sums = np.hstack([added, sums[:, 2 * half :]]) if sums.shape[1] % 2 else added
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
    more = gamma(2 * len(parts) + 4)
    return *two_sum(high, low), (radii + more * spread) * (1.0 + more)


def sum_columns_to_pairs(columns: IntArray, products: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sum the numbers of each of n columns, each as a sum of two doubles.

    Each number is cut in two, the first part a multiple of one power of 2 that is so large that these parts are added
    without rounding (Rump). Shapes: columns (k,), products (k,) → high, low, radii (n,).
    """
    most = int(np.bincount(columns, minlength=n).max(initial=0))
    largest = float(np.abs(products).max(initial=0.0))
    if not 0.0 < largest < HUGE:
        return (
            _sum_by_column(columns, products, n),
            np.zeros(n),
            2.0 * gamma(most) * _sum_by_column(columns, np.abs(products), n),
        )
    cut = math.ldexp(1.0, math.frexp(largest)[1] + math.ceil(math.log2(most + 2)))
    heads = (cut + products) - cut
    tails = products - heads
    high, low, sizes = (_sum_by_column(columns, part, n) for part in (heads, tails, np.abs(tails)))
    return *two_sum(high, low), 2.0 * gamma(most) * sizes


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
    terms, spread = _sum_in_chunks(values)
    s = sum_exactly([*terms, *added] if added else terms)
    return s, UNIT * abs(s) + spread


def _sum_in_chunks(values: FloatArray) -> tuple[list[float], float]:
    """Return numbers with the sum of a vector (n,), and their error bound: 0 but for numbers of very many sizes.

    A long vector is cut into multiples of one power of 2, which are added without rounding, as in
    `sum_columns_to_pairs`, until little is left.
    """
    found: list[float] = []
    for _ in range(CUTS):
        if len(values) > SPARSE:
            values = values[values.nonzero()[0]]
        n = len(values)
        if n <= EXACT:
            return [*found, *values.tolist()] if found else values.tolist(), 0.0
        largest = float(np.abs(values).max())
        if not largest < HUGE:
            break
        cut = math.ldexp(1.0, math.frexp(largest)[1] + math.ceil(math.log2(n + 2)))
        heads = values + cut
        heads -= cut
        found.append(float(heads.sum()))
        values = values - heads
    n = len(values)
    whole = n - n % CHUNK
    parts = values[:whole].reshape(-1, CHUNK).sum(axis=1)
    spread = gamma(CHUNK) * float(np.abs(values).sum()) * (1.0 + gamma(n))
    return [*found, *parts.tolist(), *values[whole:].tolist()], spread


_DIGITS = re.compile(r"\s*[+-]?\d{16,}\s*")


def check_not_rounded(given: Any, values: Matrix, name: str, columns: Sequence[Any] | None = None) -> None:
    """Refuse numbers that were rounded on conversion. Raises DataError."""
    if sp.issparse(given):
        if given.dtype.itemsize < 8 or given.dtype == np.float64:
            return
        exact = given.tocoo()
        place = find_first_rounded(exact.data)
        if place is not None:
            raise build_rounding_error(exact.data[place], name, (int(exact.row[place]), int(exact.col[place])), columns)
        return
    raw = given if isinstance(given, np.ndarray) else None
    if raw is None and has_large_integers(values):
        raw = _as_objects(given)
    place = None if raw is None or raw.size != np.size(values) else find_first_rounded(raw)
    if place is not None:
        assert raw is not None
        index = tuple(int(k) for k in np.unravel_index(place, raw.shape))
        raise build_rounding_error(raw[index], name, index, columns)


def find_first_rounded(raw: NDArray[Any]) -> int | None:
    """Return the position in the flattened array of the first number that no double equals; None if there is none."""
    if raw.dtype == object:
        return next((place for place, number in enumerate(raw.flat) if _is_rounded(number)), None)
    kind, size = raw.dtype.kind, raw.dtype.itemsize
    if kind not in "iuf" or size < 8 or raw.dtype == np.float64 or not raw.size:
        return None
    with np.errstate(over="ignore"):  # a long double beyond the range becomes infinite, and is named as such
        values: FloatArray = raw.astype(np.float64)
    if kind == "f":
        same = (values.astype(raw.dtype) == raw) | ~np.isfinite(values)
    elif has_large_integers(values):
        inside = values < (2.0**63 if kind == "i" else 2.0**64)
        same = np.zeros(raw.shape, dtype=np.bool_)
        same[inside] = values[inside].astype(raw.dtype) == raw[inside]
    else:
        return None
    return None if same.all() else int(np.argmin(same.ravel()))


def _as_objects(given: Any) -> NDArray[Any]:
    """Return the numbers of a list or a frame as objects, unconverted."""
    try:  # np.asarray makes one type of the columns of a frame first
        objects: NDArray[Any] = given.to_numpy(dtype=object)
    except (AttributeError, TypeError):  # no frame, or none of pandas
        rows = getattr(given, "rows", None)
        objects = np.array(rows() if callable(rows) else given, dtype=object)
    return objects


def _is_rounded(number: Any) -> bool:
    """Return whether an integer is not equal to its double."""
    whole = isinstance(number, (int, np.integer)) or (isinstance(number, Decimal) and number == int(number))
    return whole and abs(int(number)) < 2**1023 and float(number) != int(number)


def build_rounding_error(
    number: Any, name: str, index: Sequence[int] = (), columns: Sequence[Any] | None = None
) -> DataError:
    """Build the error about a rounded number at an index of the named array."""
    at = ""
    if len(index) == 2:
        named = f" ({columns[index[1]]!r})" if columns is not None and index[1] < len(columns) else ""
        at = f" in row {index[0]}, column {index[1]}{named}"
    elif len(index) == 1:
        at = f"[{index[0]}]"
    said = f"{name}{at} is {number}" if len(index) < 2 else f"{name} has {number}{at}"
    return DataError(f"{said}, which no double is equal to (the nearest is {float(number)!r}); {ADVICE}")


def check_texts(cells: Iterable[str], values: FloatArray) -> None:
    """Refuse texts of digits alone whose whole number is not the double, (n,), that they were read as.

    Raises DataError.
    """
    if not has_large_integers(values):
        return
    for cell, value in zip(cells, values.tolist(), strict=True):
        large = MAX_EXACT_INTEGER <= abs(value) < math.inf and _DIGITS.fullmatch(cell)
        if large and Decimal(cell) != Decimal(value):
            raise build_rounding_error(Decimal(cell), "a cell")


def has_large_integers(values: NDArray[Any]) -> bool:
    """Return whether some number is so large that not all integers near it are doubles."""
    return bool(values.size) and not (values.max() < MAX_EXACT_INTEGER and values.min() > -MAX_EXACT_INTEGER)
