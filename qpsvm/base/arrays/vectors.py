"""Vectors that are one number n times. They take the memory of one, and are known to be constant by their strides."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray


def repeated(value: float, n: int) -> FloatArray:
    """One number n times, (n,), read-only and in the memory of one."""
    return np.ndarray((n,), np.float64, struct.pack("d", value), 0, (0,))  # np.broadcast_to takes ten times as long


def common_value(vector: FloatArray) -> float | None:
    """The number of a `repeated` vector (n,), else None. It looks at the strides, not at the values."""
    return float(vector[0]) if len(vector) and vector.strides == (0,) else None


def times(factors: float | FloatArray, vector: FloatArray) -> FloatArray:
    """factors∘vector, (n,): `repeated` where both are, and the vector itself where all factors are 1.

    `factors` is one number, or a vector (n,).
    """
    factor = common_value(factors) if isinstance(factors, np.ndarray) else factors
    if factor is None:
        product: FloatArray = factors * vector
        return product
    if factor == 1.0:
        return vector
    value = common_value(vector)
    return factor * vector if value is None else repeated(factor * value, len(vector))


def divided(number: float, vector: FloatArray) -> FloatArray:
    """number/vector, (n,): `repeated` where the vector is."""
    value = common_value(vector)
    quotient: FloatArray = number / vector if value is None else repeated(number / value, len(vector))
    return quotient


def total(vector: FloatArray, where: NDArray[np.bool_]) -> float:
    """The sum of the entries of a vector (n,) where a mask (n,) is true."""
    value = common_value(vector)
    if value is not None:
        return value * int(np.count_nonzero(where))
    return float(np.add.reduce(vector, where=where))
