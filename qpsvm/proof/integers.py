"""Floats as integers with a common power of 2, and rationals with a common denominator: exact sums without gcds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qpsvm.arrays.types import FloatArray

#: Bits of a float.
DIGITS = 53


def as_integers(values: FloatArray) -> tuple[list[int], int]:
    """j and an exponent with value_k = j_k 2^exponent, exactly.

    Shapes: values (k,). Raises ValueError.
    """
    if not np.isfinite(values).all():
        raise ValueError("only finite floats are integers times a power of 2")
    mantissa, exponents = np.frexp(values)
    whole = np.ldexp(mantissa, DIGITS).astype(np.int64).tolist()
    used = exponents[mantissa != 0.0]
    least = int(used.min()) if len(used) else 0
    shifts = (exponents - least).tolist()
    return [j << s if j else 0 for j, s in zip(whole, shifts, strict=True)], least - DIGITS


def common(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """j and a denominator with value_k = j_k / denominator."""
    denominator = math.lcm(*{value.denominator for value in values}) if values else 1
    return [value.numerator * (denominator // value.denominator) for value in values], denominator
