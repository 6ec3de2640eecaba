"""Arrays whose axes are named by index letters (`Tensor`), and matrices, with the operations of displayed equations.

Σ_i sums over the axis "i", and a free index means "for all". The axis "." is that of the feature space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Tensor:
    """An array and the index letters of its axes."""

    a: np.ndarray
    axes: tuple[str, ...] = ()


@dataclass
class Matrix:
    """A matrix, or a vector as a column."""

    a: np.ndarray


def as_scalar(value: float) -> Tensor:
    """Return a number as a tensor without axes."""
    return Tensor(np.asarray(float(value)))


def align(one: Tensor, other: Tensor) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return both arrays, broadcastable, and the axes of both."""
    axes = one.axes + tuple(axis for axis in other.axes if axis not in one.axes)

    def spread_axes(t: Tensor) -> np.ndarray:
        order = [t.axes.index(axis) for axis in axes if axis in t.axes]
        return np.transpose(t.a, order)[tuple(slice(None) if axis in t.axes else None for axis in axes)]

    return spread_axes(one), spread_axes(other), axes


def combine(one: Any, operation: Callable[..., Any], other: Any) -> Any:
    """Apply an entrywise operation to two values."""
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(operation(one.a, other.a))
    a, b, axes = align(to_single_tensor(one), to_single_tensor(other))
    with np.errstate(all="ignore"):  # masked entries may be 0/0
        return Tensor(operation(a, b), axes)


def multiply(one: Any, other: Any) -> Any:
    """Multiply matrices, scale a matrix, or multiply entry by entry."""
    if isinstance(one, Matrix) and isinstance(other, Matrix):
        return Matrix(one.a @ other.a)
    if isinstance(other, Matrix) and other.a.size > 1:
        return Matrix(other.a * float(one.a))
    return combine(one, np.multiply, other)


def reduce_axis(t: Tensor, axis: str, how: Any = np.add) -> Tensor:
    """Return the sum, or an extreme, over an axis."""
    place = t.axes.index(axis)
    return Tensor(how.reduce(t.a, axis=place), t.axes[:place] + t.axes[place + 1 :])


def contract(one: Tensor, other: Tensor) -> Tensor:
    """Return the inner product over the feature space."""
    return reduce_axis(combine(one, np.multiply, other), ".")


def compute_root(t: Tensor) -> Tensor:
    return Tensor(np.sqrt(np.maximum(t.a, 0.0)), t.axes)


def to_single_tensor(value: Any) -> Tensor:
    """Return a tensor; a matrix has to have one entry."""
    if isinstance(value, Matrix):
        assert value.a.size == 1, value.a.shape
        return Tensor(value.a.reshape(()))
    return value


def to_tensor(value: Any) -> Tensor:
    """Return a value to compare; a column becomes a tensor with the axis "*"."""
    if isinstance(value, Matrix):
        if value.a.size == 1:
            return to_single_tensor(value)
        return Tensor(value.a.ravel(), ("*",))
    return value
