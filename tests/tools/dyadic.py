"""Exact arithmetic on arrays: every float is an integer times a power of two, and so are sums and products of floats.

A `Dyadic` holds Python integers (which have no largest one) and one exponent for all of them. Nothing is ever rounded:
there is no division, and `fraction` gives a scalar as a rational number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bits of a float's significand.
SIGNIFICAND = 53


@dataclass(frozen=True, eq=False)
class Dyadic:
    """ints · 2^exponent: an array of any shape, of objects that are Python integers."""

    ints: NDArray[np.object_]
    exponent: int

    @staticmethod
    def of(values: Any) -> Dyadic:
        """Floats, integers or booleans of any shape, exactly.

        Raises
        ------
        ValueError
            NaN or infinity.
        """
        array = np.asarray(values)
        if array.dtype.kind in "bui":
            return Dyadic(_objects(array.astype(object) + 0), 0)
        floats = array.astype(np.float64)
        if not np.isfinite(floats).all():
            raise ValueError("NaN and infinity are no rational numbers")
        fractions, exponents = np.frexp(floats)
        there = floats != 0
        low = int(exponents[there].min()) if there.any() else 0
        whole = np.asarray(np.ldexp(fractions, SIGNIFICAND), dtype=np.int64).astype(object)
        shifts = np.where(there, exponents - low, 0).astype(object)
        return Dyadic(_objects(whole << shifts), low - SIGNIFICAND)

    def _at(self, exponent: int) -> NDArray[np.object_]:
        """The integers that go with a smaller exponent."""
        return _objects(self.ints << (self.exponent - exponent))

    def _together(self, other: Any) -> tuple[NDArray[np.object_], NDArray[np.object_], int]:
        """Two arrays over one exponent."""
        second = other if isinstance(other, Dyadic) else Dyadic.of(other)
        exponent = min(self.exponent, second.exponent)
        return self._at(exponent), second._at(exponent), exponent

    def __add__(self, other: Any) -> Dyadic:
        a, b, exponent = self._together(other)
        return Dyadic(_objects(a + b), exponent)

    def __sub__(self, other: Any) -> Dyadic:
        a, b, exponent = self._together(other)
        return Dyadic(_objects(a - b), exponent)

    def __neg__(self) -> Dyadic:
        return Dyadic(_objects(-self.ints), self.exponent)

    def __mul__(self, other: Any) -> Dyadic:
        second = other if isinstance(other, Dyadic) else Dyadic.of(other)
        return Dyadic(_objects(self.ints * second.ints), self.exponent + second.exponent)

    def __matmul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(_objects(self.ints @ other.ints), self.exponent + other.exponent)

    def __getitem__(self, index: Any) -> Dyadic:
        return Dyadic(_objects(self.ints[index]), self.exponent)

    def __gt__(self, other: Any) -> NDArray[np.bool_]:
        a, b, _ = self._together(other)
        return np.asarray(a > b, dtype=bool)

    def __ge__(self, other: Any) -> NDArray[np.bool_]:
        a, b, _ = self._together(other)
        return np.asarray(a >= b, dtype=bool)

    def __lt__(self, other: Any) -> NDArray[np.bool_]:
        return ~(self >= other)

    def __le__(self, other: Any) -> NDArray[np.bool_]:
        return ~(self > other)

    def __len__(self) -> int:
        return len(self.ints)

    @property
    def T(self) -> Dyadic:
        """The transposed array."""
        return Dyadic(self.ints.T, self.exponent)

    @property
    def half(self) -> Dyadic:
        """Divided by two."""
        return Dyadic(self.ints, self.exponent - 1)

    def sum(self, axis: int | None = None) -> Dyadic:
        """The sum of all, or along an axis."""
        return Dyadic(_objects(self.ints.sum(axis=axis)), self.exponent)

    def where(self, mask: NDArray[np.bool_], other: Any = 0) -> Dyadic:
        """These numbers where the mask is true, others elsewhere."""
        a, b, exponent = self._together(other)
        return Dyadic(_objects(np.where(mask, a, b)), exponent)

    def positive(self) -> Dyadic:
        """max(·, 0)."""
        return self.where(self > 0)

    def __abs__(self) -> Dyadic:
        return Dyadic(_objects(abs(self.ints)), self.exponent)

    def min(self) -> Dyadic:
        """The smallest."""
        return Dyadic(_objects(min(self.ints.ravel())), self.exponent)

    def max(self) -> Dyadic:
        """The largest."""
        return Dyadic(_objects(max(self.ints.ravel())), self.exponent)

    def descending(self) -> list[int]:
        """Indices of a vector from the largest number to the smallest."""
        return sorted(range(len(self.ints)), key=self.ints.__getitem__, reverse=True)

    def power(self, exponent: int) -> Dyadic:
        """To a natural power."""
        return Dyadic(_objects(self.ints**exponent), self.exponent * exponent)

    def fraction(self) -> Fraction:
        """A scalar as a rational number."""
        whole = int(self.ints.item())
        return Fraction(whole << self.exponent) if self.exponent >= 0 else Fraction(whole, 1 << -self.exponent)


def _objects(values: Any) -> NDArray[np.object_]:
    """An array of Python integers again, where NumPy made a scalar of a 0-dimensional one."""
    return np.asarray(values, dtype=object)
