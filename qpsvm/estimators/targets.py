"""Check the targets, labels and weights of the samples, by scikit-learn's rules.

Entry points: `check_targets` for a regression, `encode_labels` for a classification, `check_weights`, and
`compute_class_factors` for `class_weight`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight

from qpsvm.base.arrays.checks import as_raw_array, check_unmasked
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterError, QPSVMError
from qpsvm.data.labels import find_two_numbers, refuse_missing
from qpsvm.estimators.sklearn_checks import is_finite_array, translate_sklearn_errors

#: Scikit-learn's phrase for infinite values.
INFINITE = "infinity or a value too large for dtype('float64')"


def check_targets(y: Any, n: int) -> FloatArray:
    """Check the targets of a regression: (n,). Raises DataError, DataTypeError."""
    if type(y) is np.ndarray and y.ndim == 1 and is_finite_array(y[:, None]):
        check_same_length(len(y), n)
        return y
    _require_target(y)
    _check_missing(y, "y", "target")
    with translate_sklearn_errors("y"):
        raw = y
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        if y.dtype.kind in "mM":
            raise TypeError(f"y holds dates or times ({y.dtype}), which have no unit as numbers: divide by one first")
        target: FloatArray = np.asarray(y, dtype=np.float64)
    check_not_rounded(raw, target, "y")
    check_same_length(len(target), n)
    return target


def encode_labels(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes of labels in sort order, (k,), and the index of each sample's class, (n,)."""
    from sklearn.utils.multiclass import check_classification_targets

    two_labels = find_two_numbers(y) if type(y) is np.ndarray and y.ndim == 1 else None
    if two_labels is not None and all(float(label).is_integer() for label in two_labels):  # the common case, fast
        check_same_length(len(y), n)
        return two_labels, (y == two_labels[1]).astype(np.intp)
    _require_target(y)
    raw = _check_missing(y, "y", "label")
    with translate_sklearn_errors("y"):
        y = column_or_1d(raw.astype(object).astype(str) if raw.dtype.kind == "T" else y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    check_same_length(len(codes), n)
    _check_classes(classes)
    return classes, codes.astype(np.intp)


def check_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Check sample weights, (n,), or None if there are none; one number applies to all samples.

    Samples whose weight is 0 or negative are ignored, as in scikit-learn.
    """
    if sample_weight is None:
        return None
    check_unmasked(sample_weight, "sample_weight")
    _check_missing(sample_weight, "sample_weight", "weight")
    with translate_sklearn_errors("sample_weight"):
        if isinstance(sample_weight, numbers.Real):
            weight: FloatArray = np.full(n, float(sample_weight))
        else:
            weight = check_array(
                sample_weight, ensure_2d=False, dtype=np.float64, order="C", copy=False, input_name="sample_weight"
            )
            check_not_rounded(sample_weight, weight, "sample_weight")
        if weight.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D")
        if len(weight) != n:
            raise ValueError(
                f"sample_weight and X have incompatible shapes: sample_weight.shape == {weight.shape}, expected {(n,)}!"
            )
    if not (weight > 0).any():
        raise DataError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weight, 0.0)


def compute_class_factors(
    class_weight: Any, classes: NDArray[Any], y: Any, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Compute the factor of C of each class, (k,), by scikit-learn's rules. Raises DataError, ParameterError."""
    if class_weight is None:
        return np.ones(len(classes))
    with translate_sklearn_errors("class_weight"):
        if isinstance(class_weight, Mapping) and _is_text(class_weight) and _is_text(classes.tolist()):
            found = _look_up_texts(class_weight, classes.tolist())
        else:
            flat = np.asarray(y).ravel()
            found = compute_class_weight(class_weight, classes=classes, y=flat, sample_weight=sample_weight)
    factors: FloatArray = np.asarray(found)
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ParameterError(f"class_weight must be positive, got {class_weight!r}")
    return factors


def _is_text(labels: Iterable[Any]) -> bool:
    """Return whether all labels are text."""
    return all(isinstance(label, str) for label in labels)


def _look_up_texts(class_weight: Mapping[str, Any], labels: list[str]) -> FloatArray:
    """Return the factor of each label, (k,). scikit-learn looks up the text "1" as the number 1."""
    absent = [label for label in labels if label not in class_weight]
    if absent and len(labels) - len(absent) != len(class_weight):
        raise DataError(f"The classes, {absent}, are not in class_weight")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def check_same_length(length: int, n: int) -> None:
    """Check that y has the length of X. Raises DataError."""
    if length != n:
        raise DataError(f"X and y have inconsistent numbers of samples: X has {n}, but y has {length}")


def _require_target(y: Any) -> None:
    """Check that there is a target. Raises DataError."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    check_unmasked(y, "y")


def _check_missing(y: Any, name: str, noun: str) -> NDArray[Any]:
    """Return the labels or numbers as an array of any shape, none of which is missing. Raises DataError.

    In contrast to scikit-learn, the message names the row.
    """
    try:
        raw = as_raw_array(y, name)
        if raw.ndim == 2 and 1 in raw.shape[1:]:
            flat = raw.reshape(len(raw), -1)[:, 0]
        else:
            flat = raw
    except QPSVMError:  # scikit-learn's checks will report it
        return np.empty(0)
    if flat.ndim == 1:
        text = name
        if flat.dtype.kind == "f":  # scikit-learn's message, for which users search
            missing = bool(np.isnan(flat).any())
            text = f"Input {name} contains {'NaN' if missing else INFINITE}"
        refuse_missing(flat, text, noun)
    return raw


def _check_classes(classes: NDArray[Any]) -> None:
    """Check that there are at least two classes. Raises DataError."""
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class: {classes.tolist()}"
        )
