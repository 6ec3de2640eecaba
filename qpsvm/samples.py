"""Labels and weights of samples, checked once.

Letters: X (n, d) samples, y (n,) labels, s (n,) sample weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.arrays.checks import LARGEST_VALUE, as_real_vector, raw_array
from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray
from qpsvm.errors import DataError, DataTypeError


def as_labels(y: ArrayLike, n: int) -> tuple[FloatArray, NDArray[Any]]:
    """Check labels and turn them into −1/+1; the larger in sort order is +1.

    Parameters
    ----------
    y : array_like, shape (n,)
        Any two labels: numbers, text or booleans.
    n : int
        The number of samples.

    Returns
    -------
    signs : ndarray of float64, shape (n,)
        −1 or +1.
    classes : ndarray, shape (2,)
        The two labels in sort order.

    Raises
    ------
    DataTypeError
        Complex labels, or labels of types that cannot be sorted.
    DataError
        Another length, NaN, one class only, more than two classes.
    """
    labels = raw_array(y, "y")
    if labels.ndim != 1:
        hint = "; pass y.ravel()" if labels.ndim == 2 and 1 in labels.shape else ""
        raise DataError(f"y must be one-dimensional, got shape {labels.shape}{hint}")
    if labels.shape[0] != n:
        raise DataError(f"y has {labels.shape[0]} labels but X has {n} rows")
    if labels.dtype.kind == "c":
        raise DataTypeError("y is complex; labels need a sort order")
    missing = None
    if labels.dtype.kind in "OMm":
        missing = next((i for i, label in enumerate(labels) if _is_missing(label)), None)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        missing = int(np.flatnonzero(~np.isfinite(labels))[0])
    if missing is not None:
        raise DataError(f"y has a missing, NaN or infinite label in row {missing}")
    try:
        classes = _classes(labels)
    except TypeError:
        raise DataTypeError("y mixes types that cannot be sorted; use labels of one type") from None
    if len(classes) != 2:
        shown = ", ".join(repr(c) for c in classes[:5].tolist()) + (", …" if len(classes) > 5 else "")
        hint = "" if len(classes) == 1 else "; make it one class against the rest, y == label"
        raise DataError(f"y must have exactly two classes, got {len(classes)}: {shown}{hint}")
    signs: FloatArray = np.where(labels == classes[1], 1.0, -1.0)
    return signs, classes


def _classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The different labels in sort order; two numbers are found without sorting."""
    if labels.dtype.kind in "if" and len(labels):
        ends: NDArray[Any] = np.array([labels.min(), labels.max()])
        if ends[0] != ends[1] and ((labels == ends[0]) | (labels == ends[1])).all():
            return ends
    return np.unique(labels)


def _is_missing(label: Any) -> bool:
    """None, NaN, and the missing values of pandas and of dates, which compare with nothing."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(label != label)
    except TypeError:
        return False


def as_weights(sample_weight: ArrayLike | None, y: FloatArray) -> FloatArray:
    """Check sample weights; None means all ones.

    Parameters
    ----------
    sample_weight : array_like, shape (n,), or None
        Non-negative; a row of weight 0 takes no part.
    y : ndarray, shape (n,)
        Labels −1/+1.

    Returns
    -------
    ndarray of float64, shape (n,)

    Raises
    ------
    DataError
        Another shape, negative, NaN or infinite weights, all zero, or all zero in one class.
    """
    if sample_weight is None:
        return repeated(1.0, len(y))
    s = as_real_vector(sample_weight, "sample_weight")
    if s.shape != y.shape:
        raise DataError(f"sample_weight has shape {s.shape} where ({len(y)},) is expected")
    if not np.isfinite(s).all() or (s < 0).any():
        row = int(np.flatnonzero(~(np.isfinite(s) & (s >= 0)))[0])
        raise DataError(f"sample_weight[{row}] = {s[row]:g}; weights must be finite and not negative")
    if s.max() > LARGEST_VALUE / len(s):
        raise DataError("sample_weight is too large: its sum, and C times it, overflow; divide it by a constant")
    if not s.any():
        raise DataError("sample_weight is zero in every row; at least one positive weight a class is needed")
    for sign, which in ((1.0, "positive (larger)"), (-1.0, "negative (smaller)")):
        if not s[y == sign].any():
            raise DataError(f"sample_weight is zero in the whole {which} class; only one class would be left")
    return s
