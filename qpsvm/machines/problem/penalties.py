"""Compute the penalties C_i s_i of the samples from C and the weights s (`compute_upper_bounds`)."""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_penalties
from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.rationals import RationalVector, multiply_exactly, sum_floats
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterError
from qpsvm.data.samples import TrainingSamples


def check_penalties(C: float | ArrayLike, samples: TrainingSamples) -> FloatArray:
    """Return C as one number per sample, (n,), for which no C_i s_i overflows.

    Raises ParameterError, ParameterTypeError.
    """
    penalties = as_penalties(C, samples.n)
    if _find_largest(penalties) * _find_largest(samples.weight) > LARGEST_VALUE:
        raise ParameterError("C times sample_weight is too large: the objective overflows; divide by a constant")
    return penalties


def compute_upper_bounds(C: FloatArray, samples: TrainingSamples) -> RationalVector | FloatArray:
    """Compute C_i s_i of the samples of positive weight, for C (n,); C itself if all weights are 1."""
    if find_common_value(samples.weight) == 1.0:
        return C
    return compute_active_penalties(C, samples)


def compute_active_penalties(C: FloatArray, samples: TrainingSamples) -> RationalVector:
    """Compute C_i s_i of the samples of positive weight exactly, for C (n,)."""
    return multiply_exactly(samples.select_active(samples.weight), samples.select_active(C))


def sum_weights(samples: TrainingSamples) -> Fraction:
    """Return Σ s_i exactly."""
    return sum_floats(samples.select_active(samples.weight))


def format_penalty(C: FloatArray) -> str:
    """Format C (n,) for a title: one number, or the smallest and the largest; "" without samples."""
    if not len(C):
        return ""
    common = find_common_value(C)
    low, high = (float(C.min()), float(C.max())) if common is None else (common, common)
    if low == high:
        return f"{low:g}"
    return f"{low:g} … {high:g}"


def _find_largest(vector: FloatArray) -> float:
    common = find_common_value(vector)
    return float(vector.max(initial=0.0)) if common is None else common
