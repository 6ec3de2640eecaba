"""Store vectors of rational numbers, exactly and as floats below and above them (`RationalVector`).

    (EXACT.1)  value_k = factor·(high_k + low_k), or factor/(high_k + low_k)
    (EXACT.2)  its relative error in floats is at most 6u, and 0 if low = 0 and the factor is 1

Two doubles represent a level t − ε or a penalty C·s exactly, by (ROUND.2) and (ROUND.3); 1/Σs is a factor. Bounds are
rounded outwards: a lower bound is a float that is not above the number.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.double_double import UNDERFLOW, sum_in_chunks, two_product, two_sum
from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray

#: Relative error of (EXACT.2): sum, factor, product or quotient, and the rounding of the bounds themselves.
RELATIVE_ERROR = 6.0 * UNIT
#: (EXACT.2) holds for sizes between these: no intermediate result is denormal, or overflows.
TINY, GREAT = 2.0**-960, 2.0**960
#: Bits of the significand of a float.
SIGNIFICAND_BITS = 53
#: `two_product` is exact for two numbers of sizes between these: neither product nor error underflows or overflows.
SMALLEST, LARGEST = 2.0**-400, 2.0**400
#: The largest finite float.
MAX_FLOAT = math.nextafter(math.inf, 0.0)


def enclose_fraction(value: Fraction) -> tuple[float, float]:
    """Return the floats next to a rational, below and above it; both are the number itself if it is a float."""
    nearest = round_to_nearest(value)
    if math.isinf(nearest):
        if nearest > 0:
            return math.nextafter(nearest, 0.0), nearest
        return nearest, math.nextafter(nearest, 0.0)
    numerator, denominator = nearest.as_integer_ratio()
    # (nearest − value) times a positive number
    sign_of_error = numerator * value.denominator - value.numerator * denominator
    low = nearest if sign_of_error <= 0 else math.nextafter(nearest, -math.inf)
    return low, nearest if sign_of_error >= 0 else math.nextafter(nearest, math.inf)


def round_down(value: Fraction) -> float:
    """Return the largest float that is not above a rational."""
    return enclose_fraction(value)[0]


def round_up(value: Fraction) -> float:
    """Return the smallest float that is not below a rational."""
    return enclose_fraction(value)[1]


def sum_rounded_down(*terms: float) -> float:
    """Return a lower bound of a sum of few floats, in which ∞ counts as the largest finite float."""
    if any(math.isnan(term) or term == -math.inf for term in terms):
        return -math.inf
    return round_down(sum((Fraction(min(term, MAX_FLOAT)) for term in terms), Fraction(0)))


def sum_rounded_up(*terms: float) -> float:
    """Return an upper bound of a sum of few floats, in which −∞ counts as the smallest finite float."""
    return -sum_rounded_down(*(-term for term in terms))


def sqrt_rounded_down(value: Fraction) -> float:
    """Return a float that is not above √value; 0 if the value is not positive."""
    if value > 0:
        return math.nextafter(math.sqrt(round_down(value)), 0.0)
    return 0.0


def sqrt_rounded_up(value: Fraction) -> float:
    """Return a float slightly above √value, or equal to it; 0 if the value is not positive."""
    if value <= 0:
        return 0.0
    shift = (value.denominator.bit_length() - value.numerator.bit_length()) // 2
    scaled = round_up(value * Fraction(4) ** shift)  # between 1/4 and 4
    return round_up(Fraction(math.nextafter(math.sqrt(scaled), math.inf)) / Fraction(2) ** shift)


@dataclass(frozen=True, eq=False)
class RationalVector:
    """A vector of the numbers (EXACT.1).

    high, low (m,): Two doubles per number.
    factor, inverse: A common factor, and whether it is divided by the sums of the doubles, or multiplied with them.
    """

    high: FloatArray
    low: FloatArray
    factor: Fraction = Fraction(1)
    inverse: bool = False

    def __len__(self) -> int:
        return len(self.high)

    def __iter__(self) -> Iterator[Fraction]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Fraction:
        """Return the exact number."""
        high, low = float(self.high[k]), float(self.low[k])
        if high == 1.0 and not low:
            return self.factor
        value = Fraction(high) + Fraction(low) if low else Fraction(high)
        return self.factor / value if self.inverse else self.factor * value

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds as floats: (m,) each, (EXACT.2)."""
        if self.is_constant:
            if math.isinf(self.high[0]):
                return self.high, self.high
            low, high = enclose_fraction(self[0])
            return repeat_value(low, len(self)), repeat_value(high, len(self))
        if self.factor == 1 and not self.inverse and not self.low.any():
            return self.high, self.high
        factor = round_up(self.factor)
        sums = self.high + self.low
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            values = factor / sums if self.inverse else factor * sums
        sizes = np.abs(values[~self.infinite_mask & (sums != 0.0)])
        is_normal = sizes.min(initial=1.0) > TINY and sizes.max(initial=1.0) < GREAT and TINY < abs(factor) < GREAT
        if not is_normal:
            ends = [(h, h) if math.isinf(h) else enclose_fraction(self[k]) for k, h in enumerate(self.high.tolist())]
            return np.array([low for low, _ in ends]), np.array([high for _, high in ends])
        radius = RELATIVE_ERROR * np.abs(values)
        with np.errstate(invalid="ignore"):
            infinite = np.isinf(values)
            return np.where(infinite, values, values - radius), np.where(infinite, values, values + radius)

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are stored as one (`repeat_value`); False for no numbers."""
        return find_common_value(self.high) is not None and find_common_value(self.low) is not None

    @property
    def is_exact(self) -> bool:
        """Whether each number is high + low."""
        return self.factor == 1 and not self.inverse

    @property
    def infinite_mask(self) -> NDArray[np.bool_]:
        """Mask of infinite entries: (m,)."""
        return np.isinf(self.high)

    @property
    def is_zero(self) -> bool:
        """Whether all numbers are 0."""
        return not self.inverse and not (self.high.any() or self.low.any())

    def get_finite(self, k: int) -> Fraction | None:
        """Return the exact number; None if it is ∞."""
        return None if math.isinf(self.high[k]) else self[k]


@dataclass(frozen=True, eq=False)
class EnclosedRationals(RationalVector):
    """Arbitrary rational numbers, given by a function, between two floats each.

    high, low (m,): Upper and lower bounds, instead of parts of a sum. A number is infinite if its lower bound is.
    number_at: Return the exact number at an index.
    """

    number_at: Callable[[int], Fraction] = Fraction

    def __getitem__(self, k: int) -> Fraction:
        return self.number_at(k)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.low, self.high

    @property
    def is_exact(self) -> bool:
        return False

    @property
    def infinite_mask(self) -> NDArray[np.bool_]:
        return np.isinf(self.low)

    def get_finite(self, k: int) -> Fraction | None:
        return None if math.isinf(self.low[k]) else self[k]


@dataclass(frozen=True, eq=False)
class ConcatenatedRationals(RationalVector):
    """Several vectors in one.

    high, low (m,): Those of the vectors, concatenated.
    parts: The vectors.
    """

    parts: tuple[RationalVector, ...] = ()

    @cached
    def _part_ends(self) -> tuple[int, ...]:
        """Index after the last number of each part."""
        return tuple(accumulate(map(len, self.parts)))

    def _locate(self, k: int) -> tuple[RationalVector, int]:
        """Return the part that contains a number, and the index of the number in it."""
        p = bisect_right(self._part_ends, k)
        return self.parts[p], k - self._part_ends[p] + len(self.parts[p])

    def __getitem__(self, k: int) -> Fraction:
        part, k_in_part = self._locate(k)
        return part[k_in_part]

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        low, high = (_concatenate_floats(ends) for ends in zip(*(part.bounds for part in self.parts), strict=True))
        return low, high

    @property
    def is_exact(self) -> bool:
        return False

    @property
    def infinite_mask(self) -> NDArray[np.bool_]:
        return np.concatenate([part.infinite_mask for part in self.parts])

    def get_finite(self, k: int) -> Fraction | None:
        part, k_in_part = self._locate(k)
        return part.get_finite(k_in_part)


def from_enclosure(low: FloatArray, high: FloatArray, number_at: Callable[[int], Fraction]) -> RationalVector:
    """Build a vector of numbers between two floats each, (m,), exact by a function; infinite where `low` is."""
    return EnclosedRationals(high, low, number_at=number_at)


def from_fractions(values: Sequence[Fraction]) -> RationalVector:
    """Build a vector of listed numbers."""
    ends = [enclose_fraction(value) for value in values]
    return from_enclosure(np.array([low for low, _ in ends]), np.array([high for _, high in ends]), values.__getitem__)


def concatenate_rationals(*parts: RationalVector) -> RationalVector:
    """Concatenate several vectors."""
    high, low = _concatenate_floats([part.high for part in parts]), _concatenate_floats([part.low for part in parts])
    factor, inverse = parts[0].factor, parts[0].inverse
    if all(type(part) is RationalVector and part.factor == factor and part.inverse == inverse for part in parts):
        return RationalVector(high, low, factor, inverse)
    return ConcatenatedRationals(high, low, parts=parts)


def _concatenate_floats(vectors: Sequence[FloatArray]) -> FloatArray:
    """Concatenate vectors of floats; if all repeat the same number, by `repeat_value`."""
    common_values = {find_common_value(vector) for vector in vectors}
    common = common_values.pop() if len(common_values) == 1 else None
    if common is None:
        return np.concatenate(vectors)
    return repeat_value(common, sum(map(len, vectors)))


def from_constant(value: Fraction | float, m: int) -> RationalVector:
    """Build a vector of one number, repeated m times."""
    if isinstance(value, float):
        return RationalVector(repeat_value(value, m), repeat_value(0.0, m))
    return RationalVector(repeat_value(1.0, m), repeat_value(0.0, m), value)


def from_floats(values: FloatArray, factor: Fraction = Fraction(1)) -> RationalVector:
    """Build a vector of floats times one rational."""
    return RationalVector(values, repeat_value(0.0, len(values)), factor)


def add_exactly(a: FloatArray, b: FloatArray) -> RationalVector:
    """Return a + b, (m,) each."""
    return RationalVector(*two_sum(a, b))


def have_exact_products(values: FloatArray) -> bool:
    """Return whether `two_product` is exact for floats of these sizes."""
    if len(values) and values.min() > SMALLEST and values.max() < LARGEST:  # typical for weights and penalties
        return True
    sizes = np.abs(values[values != 0.0])
    return bool(sizes.min(initial=1.0) > SMALLEST and sizes.max(initial=1.0) < LARGEST)


def multiply_exactly(a: FloatArray, b: FloatArray, factor: Fraction = Fraction(1)) -> RationalVector:
    """Return factor·a∘b, (m,) each: as two doubles per number, or as fractions if the sizes do not allow that."""
    common_a, common_b = find_common_value(a), find_common_value(b)
    if common_a == 1.0 and factor == 1:
        return from_floats(b)
    if common_a is not None and common_b is not None:
        return from_constant(factor * Fraction(common_a) * Fraction(common_b), len(a))
    if common_a is not None:
        return from_floats(b, factor * Fraction(common_a))
    if common_b is not None:
        return from_floats(a, factor * Fraction(common_b))
    if not (have_exact_products(a) and have_exact_products(b)):
        return from_fractions([factor * Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    return RationalVector(*two_product(a, b), factor)


def divide_exactly(values: RationalVector, factor: Fraction) -> RationalVector:
    """Return factor over each of the numbers."""
    if isinstance(values, ConcatenatedRationals):
        return concatenate_rationals(*(divide_exactly(part, factor) for part in values.parts))
    if isinstance(values, EnclosedRationals):
        return from_fractions([factor / number for number in values])
    return RationalVector(values.high, values.low, factor / values.factor, not values.inverse)


def scale_exactly(values: RationalVector, factor: Fraction) -> RationalVector:
    """Return factor times each of the numbers."""
    if factor == 1:
        return values
    if isinstance(values, ConcatenatedRationals):
        return concatenate_rationals(*(scale_exactly(part, factor) for part in values.parts))
    if isinstance(values, EnclosedRationals):
        return from_fractions([factor * number for number in values])
    return RationalVector(values.high, values.low, factor * values.factor, values.inverse)


def as_rationals(values: RationalVector | FloatArray | Fraction | float, m: int) -> RationalVector:
    """Return numbers of any of these types as a vector (m,): one number is repeated m times."""
    if isinstance(values, RationalVector):
        return values
    if isinstance(values, np.ndarray):
        return from_floats(values)
    return from_constant(values, m)


def as_floats(values: RationalVector) -> FloatArray:
    """Return the numbers as floats, (m,), infinite beyond all floats; by `repeat_value` if they are one number.

    They are rounded to nearest; with a factor, the error is at most (1 + 2⁻⁵⁰) times that of a rounding.
    """
    if isinstance(values, ConcatenatedRationals):
        return np.concatenate([as_floats(part) for part in values.parts])
    if isinstance(values, EnclosedRationals):
        return np.array([round_to_nearest(number) for number in values])
    if values.is_exact:
        return values.high
    if values.is_constant:
        common = float(values.high[0])
        return repeat_value(common if math.isinf(common) else round_to_nearest(values[0]), len(values))
    if values.factor and not values.inverse:
        divisor = round_to_nearest(1 / values.factor)
    else:
        divisor = 0.0
    if TINY < abs(divisor) < GREAT and Fraction(divisor) * values.factor == 1 and not values.low.any():
        quotient: FloatArray = values.high / divisor  # 1/Σs of weights whose sum is a float
        return quotient
    factor_fits = SMALLEST < abs(round_to_nearest(values.factor)) < LARGEST
    if values.factor and not (factor_fits and have_exact_products(values.high[~values.infinite_mask])):
        return _apply_factor_without_exponents(values)
    return _apply_factor(values)


def _apply_factor_without_exponents(values: RationalVector) -> FloatArray:
    """Return `as_floats` of numbers so large or small that their products must be computed without the exponents."""
    power = values.factor.numerator.bit_length() - values.factor.denominator.bit_length()
    high, exponents = np.frexp(values.high)
    low = np.ldexp(values.low, -exponents)
    rounded = as_floats(RationalVector(high, low, values.factor / Fraction(2) ** power, values.inverse))
    with np.errstate(over="ignore", under="ignore"):
        scaled: FloatArray = np.ldexp(rounded, power - exponents if values.inverse else power + exponents)
    return scaled


def _apply_factor(values: RationalVector) -> FloatArray:
    """Return `as_floats` by a product or quotient in floats, to which its error is added."""
    high = values.high
    low = values.low
    factor = round_to_nearest(values.factor)
    factor_error = round_to_nearest(values.factor - Fraction(factor))
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        rounded = factor / high if values.inverse else factor * high
        if Fraction(factor) == values.factor and not low.any():
            return rounded
        if values.inverse:
            product, error = two_product(rounded, high)
            corrected = rounded + (((factor - product) - error) + (factor_error - rounded * low)) / high
        else:
            product, error = two_product(np.broadcast_to(factor, rounded.shape), high)
            corrected = product + (error + (factor * low + factor_error * high))
        return np.where(np.isfinite(corrected), corrected, rounded)


def round_all_down(values: RationalVector) -> tuple[FloatArray, FloatArray | None]:
    """Return the largest floats (m,) that are not above numbers ≥ 0, and bounds on the differences; None if all are 0.

    If products are denormal, the floats may be the next smaller ones. Beyond all floats, they are infinite. If all
    numbers are one, `repeat_value` gives them.
    """
    if isinstance(values, EnclosedRationals):
        ends = [round_down(number) for number in values]
        rests = [round_up(number - Fraction(end)) for number, end in zip(values, ends, strict=True)]
        return np.array(ends), np.array(rests)
    if isinstance(values, ConcatenatedRationals):
        parts = [round_all_down(part) for part in values.parts]
        floats = np.concatenate([part for part, _ in parts])
        if all(radius is None for _, radius in parts):
            return floats, None
        return floats, np.concatenate([np.zeros(len(part)) if radius is None else radius for part, radius in parts])
    if values.is_constant:
        if math.isinf(values.high[0]):
            return values.high, None
        if math.isinf(round_to_nearest(values[0])):
            return repeat_value(math.inf, len(values)), None
        lower_end = round_down(values[0])
        rest = round_up(values[0] - Fraction(lower_end))
        return repeat_value(lower_end, len(values)), repeat_value(rest, len(values)) if rest else None
    if values.is_exact:
        if not values.low.any():
            return values.high, None
        is_above = values.low < 0.0
        below = np.where(is_above, np.nextafter(values.high, 0.0), values.high)
        return below, np.subtract(values.high, below, out=np.zeros_like(below), where=is_above) + np.abs(values.low)
    nearest = as_floats(values)
    side = _compare_with(values, nearest)
    below = np.where(np.isinf(nearest) | (side >= 0), nearest, np.nextafter(nearest, 0.0))
    with np.errstate(invalid="ignore"):
        # more than the error of `as_floats`, and of this sum
        distances = np.where(side == 0, 0.0, (nearest - below) + (1.0 + 2.0**-40) * UNIT * nearest + UNDERFLOW)
    return below, np.where(np.isinf(nearest), 0.0, distances)


def enclose_all(values: RationalVector) -> tuple[FloatArray, FloatArray]:
    """Return the floats next to numbers ≥ 0, below and above them, (m,) each: equal for a number that is a float."""
    if isinstance(values, EnclosedRationals):
        return values.bounds
    below, distances = round_all_down(values)
    return below, below if distances is None else round_up_from(below, distances)


def round_up_from(below: FloatArray, distances: FloatArray) -> FloatArray:
    """Return upper bounds of numbers, (m,), given the result of `round_all_down`: the next floats, if possible."""
    above: FloatArray = np.where(distances > 0.0, np.maximum(np.nextafter(below, np.inf), below + distances), below)
    return above


def _compare_with(values: RationalVector, nearest: FloatArray) -> NDArray[np.int8]:
    """Return the sign of value − nearest, (m,), for numbers ≥ 0 and their `as_floats`; −1 if it is unknown."""
    factor = round_to_nearest(values.factor)
    sizes = values.high[~values.infinite_mask & (values.high != 0.0)]
    if not SMALLEST < abs(factor) < LARGEST or not have_exact_products(sizes):
        return np.full(len(values), -1, dtype=np.int8)
    factor_error = round_to_nearest(values.factor - Fraction(factor))
    with np.errstate(over="ignore", invalid="ignore"):
        if values.inverse:  # the sign of factor − nearest · (high + low)
            product, error = two_product(nearest, values.high)
            terms = (-error, np.full(len(values), factor_error), -nearest * values.low)
            difference = factor - product
        else:
            product, error = two_product(np.full(len(values), factor), values.high)
            terms = (error, factor_error * values.high, factor * values.low)
            difference = product - nearest
        difference = difference + (terms[0] + (terms[1] + terms[2]))
        # more than the roundings of the terms and of their sums
        bound = 16.0 * UNIT * (np.abs(terms[0]) + np.abs(terms[1]) + np.abs(terms[2]))
    side = np.sign(np.where(np.isfinite(difference), difference, 0.0)).astype(np.int8)
    for k in np.flatnonzero((np.abs(difference) <= bound) & (bound > 0.0)).tolist():
        exact = values[k] - Fraction(float(nearest[k]))
        side[k] = (exact > 0) - (exact < 0)
    return side


def round_to_nearest(value: Fraction) -> float:
    """Return a rational as a float, rounded to nearest; infinite beyond all floats."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def sum_floats(values: FloatArray) -> Fraction:
    """Return the exact sum of floats, (n,)."""
    common = find_common_value(values)
    if common is not None:
        return Fraction(common) * len(values)
    total = Fraction(0)
    terms, error = sum_in_chunks(values)
    if error or not np.abs(values).max(initial=0.0) < GREAT:  # `math.fsum` may overflow on the way; NaN raises
        return sum(map(Fraction, values.tolist()), total)
    while rounded_sum := math.fsum(terms):  # the remaining terms sum to its rounding error, which is added next
        terms.append(-rounded_sum)
        total += Fraction(rounded_sum)
    return total


def sum_rationals(values: RationalVector) -> Fraction:
    """Return the exact sum of the numbers."""
    if isinstance(values, (EnclosedRationals, ConcatenatedRationals)) or values.inverse:
        return sum(values, Fraction(0))
    return values.factor * (sum_floats(values.high) + sum_floats(values.low))


def as_integers(values: FloatArray) -> tuple[list[int], int]:
    """Return integers j and an exponent with value_k = j_k·2^exponent, exactly, for floats (m,). Raises ValueError."""
    if not np.isfinite(values).all():
        raise ValueError("only finite floats are integers times a power of 2")
    significands, exponents = np.frexp(values)
    integers = np.ldexp(significands, SIGNIFICAND_BITS).astype(np.int64).tolist()
    nonzero_exponents = exponents[significands != 0.0]
    min_exponent = int(nonzero_exponents.min()) if len(nonzero_exponents) else 0
    shifts = (exponents - min_exponent).tolist()
    shifted = [j << shift if j else 0 for j, shift in zip(integers, shifts, strict=True)]
    return shifted, min_exponent - SIGNIFICAND_BITS


def to_common_denominator(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return integers j and a denominator with value_k = j_k / denominator."""
    denominator = math.lcm(*{value.denominator for value in values}) if values else 1
    return [value.numerator * (denominator // value.denominator) for value in values], denominator
