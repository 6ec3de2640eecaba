"""Represent a vector of n equal numbers in the memory of one (`repeat_value`), and compute with it.

It is an ordinary array with strides of 0, by which the functions of this module recognise it (`find_common_value`).
"""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray


def repeat_value(value: float, n: int) -> FloatArray:
    """Return one number n times, (n,), read-only and in the memory of one."""
    return _repeat_bytes(struct.pack("d", value), n)


@lru_cache(maxsize=256)
def _repeat_bytes(number: bytes, n: int) -> FloatArray:
    """Return the same from the bytes of the number, so that the cache distinguishes 0 and −0."""
    return np.ndarray((n,), np.float64, number, 0, (0,))  # np.broadcast_to takes ten times as long


def find_common_value(vector: FloatArray) -> float | None:
    """Return the number of a `repeat_value` vector (n,), else None. It reads the strides, not the values."""
    if len(vector) and vector.strides == (0,):
        return float(vector[0])
    return None


def multiply(factors: float | FloatArray, vector: FloatArray) -> FloatArray:
    """Return factors∘vector, (n,): `repeat_value` if both are, and the vector itself if all factors are 1.

    `factors` is one number, or a vector (n,).
    """
    factor = find_common_value(factors) if isinstance(factors, np.ndarray) else factors
    if factor is None:
        product: FloatArray = factors * vector
        return product
    if factor == 1.0:
        return vector
    value = find_common_value(vector)
    if value is None:
        return factor * vector
    return repeat_value(factor * value, len(vector))


def divide(number: float, vector: FloatArray) -> FloatArray:
    """Return number/vector, (n,): `repeat_value` if the vector is."""
    value = find_common_value(vector)
    quotient: FloatArray = number / vector if value is None else repeat_value(number / value, len(vector))
    return quotient


def sum_where(vector: FloatArray, where: NDArray[np.bool_]) -> float:
    """Return the sum of the entries of a vector (n,) where a mask (n,) is true."""
    value = find_common_value(vector)
    if value is not None:
        return value * int(np.count_nonzero(where))
    return float(np.add.reduce(vector, where=where))
