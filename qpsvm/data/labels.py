"""Check labels, targets and weights of samples, and convert them to numbers.

Letters: y (n,) labels, s (n,) sample weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_positive, as_raw_array, as_real_vector
from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, DataTypeError, ParameterTypeError, UnknownOptionError

#: Factors of the weights by class: one for a label, or "balanced".
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
#: With more distinct numbers than this, a message suggests that the labels are the target of a regression.
MANY_CLASSES = 5
#: Texts into which NumPy and pandas convert a missing value. "None" is not one: it may be the name of a class.
MISSING_TEXTS = ("nan", "<NA>", "NaT")


def encode_targets(target: NDArray[Any], classes: NDArray[Any] | None) -> FloatArray:
    """Encode targets (k,) for a machine as numbers: (k,).

    classes (2,): The classes, encoded as −1 and +1; None for a regression, whose targets are numbers.
    """
    if classes is None:
        numbers = target.astype(np.float64)
        check_not_rounded(target, numbers, "the target")
        return numbers
    return np.asarray(np.where(target == classes[1], 1.0, -1.0))


def apply_class_weight(
    weight: FloatArray, codes: IntArray, classes: NDArray[Any], class_weight: ClassWeight
) -> FloatArray:
    """Multiply sample weights by the weight of each sample's class: (n,).

    weight, codes (n,): Weight and index of the class of each sample.
    classes (k,): The labels of the classes.
    class_weight: A factor by label; or "balanced", n/(k n_c) for a class of n_c of the n samples, counted with their
        weights (King & Zeng 2001); or None for no change.

    Raises UnknownOptionError, ParameterTypeError.
    """
    if class_weight is None:
        return weight
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise UnknownOptionError(
                f"class_weight must be a dict, 'balanced' or None, got {format_value(class_weight)}"
            )
        mass = np.bincount(codes, weights=weight, minlength=len(classes))
        factors: FloatArray = mass.sum() / (len(classes) * mass)
    elif isinstance(class_weight, Mapping):
        factors = np.ones(len(classes))
        labels = classes.tolist()
        for label, factor in class_weight.items():
            if label not in labels:
                text = ", ".join(map(format_value, labels))
                raise UnknownOptionError(f"class_weight names the class {format_value(label)}; the classes are {text}")
            factors[labels.index(label)] = as_positive(factor, f"class_weight[{format_value(label)}]")
    else:
        raise ParameterTypeError(f"class_weight must be a dict, 'balanced' or None, got {type(class_weight).__name__}")
    return weight * factors[codes]


def normalise_weights(weights: FloatArray) -> FloatArray:
    """Return s/Σs: (n,)."""
    if find_common_value(weights) is not None:
        return repeat_value(1.0 / len(weights), len(weights))
    return weights / float(weights.sum())


def as_labels(y: ArrayLike, n: int) -> tuple[FloatArray, NDArray[Any]]:
    """Check labels of two classes, and encode them as −1 and +1, which is the larger in sort order.

    Shapes: y (n,) → signs (n,), classes (2,). Raises DataTypeError, DataError.
    """
    labels, classes = sort_labels(y, n)
    signs: FloatArray = np.where(labels == require_two_classes(classes)[1], 1.0, -1.0)
    return signs, classes


def require_two_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels, (k,), if there are two. Raises DataError."""
    if len(classes) != 2:
        class_list = ", ".join(repr(c) for c in classes[:5].tolist()) + (", …" if len(classes) > 5 else "")
        hint = ""
        if len(classes) != 1:
            hint = (
                "; for all of them take CrammerSinger, WestonWatkins or estimators.SVC; or make it one class against "
                "the rest, y == label"
            )
        if classes.dtype.kind in "iuf" and len(classes) > MANY_CLASSES:
            hint += "; or take a regression such as EpsilonSVR, whose target is a number"
        raise DataError(f"y must have exactly two classes, got {len(classes)}: {class_list}{hint}")
    return classes


def sort_labels(y: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check labels of any number of classes: labels (n,), sorted classes (k,). Raises DataTypeError, DataError."""
    labels = as_raw_array(y, "y")
    if labels.ndim != 1:
        hint = "; pass y.ravel()" if labels.ndim == 2 and 1 in labels.shape else ""
        raise DataError(f"y must be one-dimensional, got shape {labels.shape}{hint}")
    if labels.shape[0] != n:
        raise DataError(f"y has {labels.shape[0]} labels but X has {n} rows")
    if labels.dtype.kind == "c":
        raise DataTypeError("y is complex; labels need a sort order")
    labels = refuse_missing(labels)
    try:
        return labels, _find_classes(labels)
    except TypeError:
        raise DataTypeError("y mixes types that cannot be sorted; use labels of one type") from None


def encode_groups(groups: ArrayLike, n: int) -> IntArray:
    """Encode the labels of the groups of n samples as numbers from 0: (n,). Raises DataTypeError, DataError."""
    labels = as_raw_array(groups, "groups")
    if labels.shape != (n,):
        raise DataError(f"groups must have one label for each of the {n} samples, got shape {labels.shape}")
    labels = refuse_missing(labels, "groups", "group")
    try:
        return np.unique(labels, return_inverse=True)[1].ravel()
    except TypeError:
        raise DataTypeError("groups mixes types that cannot be sorted; use labels of one type") from None


def find_class_indices(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Find the index of each label (n,) among the sorted classes: (n,)."""
    if classes.dtype.kind != "O":
        return np.searchsorted(classes, labels)
    return np.asarray((labels[:, None] == classes).argmax(axis=1), dtype=np.intp)


def _find_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in sort order."""
    pair = find_two_numbers(labels)
    return np.unique(labels) if pair is None else pair


def find_two_numbers(labels: NDArray[Any]) -> NDArray[Any] | None:
    """Return the two distinct values of labels (n,) in order, (2,); None if they are not numbers, or not two."""
    if labels.dtype.kind in "bif" and len(labels):
        low, high = np.minimum.reduce(labels), np.maximum.reduce(labels)
        if low != high and np.logical_and.reduce((labels == low) | (labels == high)):
            return np.array([low, high])
    return None


def refuse_missing(labels: NDArray[Any], name: str = "y", what: str = "label") -> NDArray[Any]:
    """Check that no label (n,) is missing, and return the labels. Raises DataError.

    Text of NumPy's variable-width type is converted to its fixed-width type.

    name, what: The vector and one of its entries, in messages.
    """
    kind = labels.dtype.kind
    if kind == "T":  # its missing values cannot be compared
        return refuse_missing(labels.astype(object), name, what).astype(str)
    if kind in "biu":
        return labels
    if kind in "fc":
        bad = ~np.isfinite(labels)
    elif kind in "US":
        bad = np.isin(labels, np.array(MISSING_TEXTS, dtype=kind))
    else:
        bad = np.fromiter(map(_is_missing, labels), dtype=np.bool_, count=len(labels))
    if not bad.any():
        return labels
    row = int(bad.argmax())
    label = labels[row : row + 1].tolist()[0]
    if isinstance(label, (str, bytes)):
        problem = f"missing: it is the text {label!r}, which NumPy and pandas make of a missing value among text"
    elif isinstance(label, (float, complex)) and np.isinf(label):
        problem = "infinite"
    else:
        problem = f"missing ({label})"
    n_others = int(np.count_nonzero(bad)) - 1
    if n_others:
        others = f" (and of {n_others} further row{'s'[: n_others > 1]})"
    else:
        others = ""
    raise DataError(
        f"{name}: the {what} of row {row}{others} is {problem}; drop such rows, or give them a {what} first"
    )


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, infinite, pandas' NA or NaT, or a text of `MISSING_TEXTS`."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, str):
        return label in MISSING_TEXTS
    try:
        return bool(label != label) or (isinstance(label, (float, np.floating)) and bool(np.isinf(label)))
    except (TypeError, ValueError):
        return False


def check_weights(sample_weight: ArrayLike | None, n: int, condition: str = "") -> FloatArray:
    """Check sample weights, and return them: (n,), all ones for None. Raises DataError.

    condition: End of the message that a positive weight is needed.
    """
    if sample_weight is None:
        return repeat_value(1.0, n)
    s = as_real_vector(sample_weight, "sample_weight")
    if s.shape != (n,):
        raise DataError(f"sample_weight has shape {s.shape} where ({n},) is expected")
    if not np.isfinite(s).all() or (s < 0).any():
        row = int(np.flatnonzero(~(np.isfinite(s) & (s >= 0)))[0])
        raise DataError(f"sample_weight[{row}] = {s[row]:g}; weights must be finite and not negative")
    if s.max() > LARGEST_VALUE / len(s):
        raise DataError("sample_weight is too large: its sum, and C times it, overflow; divide it by a constant")
    if not s.any():
        raise DataError(f"sample_weight is zero in every row; at least one positive weight{condition} is needed")
    return s


def as_weights(sample_weight: ArrayLike | None, y: FloatArray) -> FloatArray:
    """Check sample weights for labels y (n,) in {−1, +1}: (n,), all ones for None.

    Each class must have a positive weight. Raises DataError.
    """
    if sample_weight is None:
        return repeat_value(1.0, len(y))
    s = check_weights(sample_weight, len(y), " a class")
    for sign, which in ((1.0, "positive (larger)"), (-1.0, "negative (smaller)")):
        if not s[y == sign].any():
            raise DataError(f"sample_weight is zero in the whole {which} class; only one class would be left")
    return s
