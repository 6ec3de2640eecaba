"""Check and store the samples of a machine: features, target and weights (`TrainingSamples`, `build_binary_samples`).

Letters: X (n, d) samples, y (n,) labels, s (n,) sample weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_finite_vector, as_matrix, as_raw_array, find_feature_names
from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import as_read_only, cached, freeze, freeze_parts
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterTypeError
from qpsvm.data.labels import (
    ClassWeight,
    apply_class_weight,
    as_labels,
    as_weights,
    check_weights,
    find_class_indices,
    sort_labels,
)
from qpsvm.data.open_samples import open_stored
from qpsvm.data.rows import ArrayRows, RowSource, as_row_source
from qpsvm.data.rows.memory import ChangeGuard
from qpsvm.data.rows.transformed import select_rows


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Training samples of a machine.

    X (n, d): Features.
    target (n,): The encoded labels of classes, see `classes`; any real numbers for a regression.
    weight (n,): The weights s ≥ 0. A sample is active if its weight is positive; others are ignored.
    classes (k,): The labels in sort order; None if the target is not a class. The target encodes two classes as −1 and
        +1, or as 0 and 1 for an all-in-one machine; more than two classes by their indices.
    feature_names (d,): The columns of a data frame; None if unknown.
    array_guard: Detects changes of X by the caller; None if X is a source, which detects its own changes.
    """

    X: Matrix | RowSource
    target: FloatArray
    weight: FloatArray
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    array_guard: ChangeGuard | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        array = self.X.memory_matrix if isinstance(self.X, ArrayRows) else self.X
        if not isinstance(array, RowSource):
            self.__dict__["array_guard"] = ChangeGuard([array], "X")
            if array is self.X:  # the array of `ArrayRows` is read-only already
                self.__dict__["X"] = as_read_only(array)
        freeze_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        guard = None if self.array_guard is None else ChangeGuard([], "X")  # the caller does not have a copy's array
        return {**self.__dict__, "array_guard": guard}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: freeze(value) for name, value in state.items()})

    def check_unchanged(self) -> None:
        """Check that the features have not changed since they were given. Raises DataError."""
        self.change_guard.check()

    @property
    def change_guard(self) -> ChangeGuard | RowSource:
        """Detector of changes of X: its `check` raises DataError."""
        return self.X if self.array_guard is None else self.array_guard

    def __repr__(self) -> str:
        storage = "sparse" if self.is_sparse else "dense"
        n, d = self.X.shape
        if self.classes is None:
            if self.target_range is None:
                text = ""
            else:
                text = "; target from {:g} to {:g}".format(*self.target_range)
            return f"X {n} × {d}, {storage}{text}"
        if len(self.classes) > 2:
            return f"X {n} × {d}, {storage}; {len(self.classes)} classes"
        counts = zip(self.classes.tolist(), self.class_counts, strict=True)
        classes = " and ".join(f"{format_value(label)} ({count})" for label, count in counts)
        return f"X {n} × {d}, {storage}; classes {classes}"

    def describe(self) -> list[tuple[str, str]]:
        """Describe size, classes and weights: a heading and a short text for each."""
        n, d = self.X.shape
        parts = [("samples", f"{n} × {d}, {'sparse' if self.is_sparse else 'dense'}")]
        if self.classes is not None:
            names = ("−1", "+1") if len(self.classes) == 2 else range(len(self.classes))
            for name, label, count in zip(names, self.classes.tolist(), self.class_counts, strict=True):
                parts.append((f"class {name}", f"{format_value(label)} ({count})"))
        elif self.target_range is not None:
            parts.append(("target", "{:g} to {:g}".format(*self.target_range)))
        if find_common_value(self.weight) is None and np.ptp(self.weight) > 0.0:
            n_inactive = n - len(self.active_rows)
            inactive = f", {n_inactive} of weight 0" if n_inactive else ""
            parts.append(("weights", f"{self.weight.min():.4g} to {self.weight.max():.4g}{inactive}"))
        return parts

    @property
    def n(self) -> int:
        """Number of samples, including those of weight 0."""
        return len(self.target)

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Number of samples of each of `classes`; empty without classes."""
        if self.classes is None:
            return ()
        indices = np.maximum(self.target, 0.0)  # the first of two classes is −1 or 0
        return tuple(int(np.count_nonzero(indices == k)) for k in range(len(self.classes)))

    @property
    def target_range(self) -> tuple[float, float] | None:
        """Minimum and maximum of the target; None if all targets are equal."""
        if find_common_value(self.target) is not None:
            return None
        return float(self.target.min()), float(self.target.max())

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored sparsely."""
        return not isinstance(self.X, np.ndarray) and (not isinstance(self.X, RowSource) or self.X.is_sparse)

    @property
    def entries(self) -> int:
        """Number of stored entries."""
        if isinstance(self.X, np.ndarray):
            return self.X.size
        return as_row_source(self.X).entries

    @property
    def active_features(self) -> Matrix | RowSource:
        """The features of the active samples: (k, d)."""
        if self.all_weights_positive:
            return self.X
        if isinstance(self.X, RowSource):
            return select_rows(self.X, self.active_rows)
        return freeze(self.X[self.active_rows])

    def to_memory(self) -> TrainingSamples:
        """Return the same samples with all features in memory, as one array."""
        X = as_row_source(self.X).matrix()
        return TrainingSamples(X, self.target, self.weight, self.classes, self.feature_names)

    @cached
    def active_rows(self) -> IntArray:
        """Indices of the active samples, those of positive weight: (k,)."""
        return np.flatnonzero(self.weight > 0)

    @cached
    def all_weights_positive(self) -> bool:
        """Whether all samples are active."""
        return find_common_value(self.weight) is not None or bool((self.weight > 0).all())

    def select_active(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Select the entries of a vector (n,) of the active samples; the vector itself if all are active."""
        return vector if self.all_weights_positive else vector[self.active_rows]

    def expand_active(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand an array over the active samples, (k, …), to all samples, (n, …), with 0 for the others."""
        if self.all_weights_positive:
            return values
        expanded = np.zeros((self.n, *values.shape[1:]), dtype=values.dtype)
        expanded[self.active_rows] = values
        return expanded


def build_binary_samples(
    X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
) -> TrainingSamples:
    """Check and build samples of two classes. Shapes: X (n, d), y (n,), sample_weight (n,)."""
    X, y, sample_weight = open_stored(X, y, sample_weight)
    matrix, names = check_features(X)
    target, classes = as_labels(require_target(y), matrix.shape[0])
    weight = as_weights(sample_weight, target)
    if class_weight is not None:
        weight = apply_class_weight(weight, (target > 0).astype(np.intp), classes, class_weight)
    return TrainingSamples(matrix, target, weight, classes, names)


def build_regression_samples(
    X: Any, t: ArrayLike | None, sample_weight: ArrayLike | None = None, name: str = "t"
) -> TrainingSamples:
    """Check and build samples whose targets are numbers. Shapes: X (n, d), t (n,), sample_weight (n,).

    name: The name of the target in messages.
    """
    X, t, sample_weight = open_stored(X, t, sample_weight, name)
    matrix, names = check_features(X)
    raw = as_raw_array(require_target(t, name), name)
    if raw.ndim != 1:
        hint = f"; pass {name}.ravel()" if raw.ndim == 2 and 1 in raw.shape else ""
        raise DataError(f"{name} must be one-dimensional, got shape {raw.shape}{hint}")
    if len(raw) != matrix.shape[0]:
        raise DataError(f"{name} has {len(raw)} numbers but X has {matrix.shape[0]} rows")
    if raw.dtype.kind in "US" or (raw.dtype.kind == "O" and any(isinstance(value, str) for value in raw)):
        raise DataTypeError(
            f"{name} holds text where numbers are needed; machines of two classes, as CSVM, take labels"
        )
    target = as_finite_vector(t, name, matrix.shape[0])
    if not np.abs(target).max() < LARGEST_VALUE:
        row = int(np.abs(target).argmax())
        raise DataError(
            f"{name}[{row}] = {target[row]:g} is so large that its square overflows; divide {name} by a constant"
        )
    return TrainingSamples(matrix, target, check_weights(sample_weight, len(target)), None, names)


def build_unlabelled_samples(X: Any, sample_weight: ArrayLike | None = None) -> TrainingSamples:
    """Check and build samples without targets. Shapes: X (n, d), sample_weight (n,)."""
    X, _, sample_weight = open_stored(X, None, sample_weight)
    matrix, names = check_features(X)
    weight = check_weights(sample_weight, matrix.shape[0])
    return TrainingSamples(matrix, repeat_value(1.0, len(weight)), weight, None, names)


def build_multiclass_samples(
    X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
) -> TrainingSamples:
    """Check and build samples of two or more classes, whose targets are the indices of their labels in `classes`.

    Shapes: X (n, d), y (n,), sample_weight (n,).
    """
    X, y, sample_weight = open_stored(X, y, sample_weight)
    matrix, names = check_features(X)
    if isinstance(matrix, RowSource) and matrix.is_remote:  # the solver visits single samples
        matrix = matrix.matrix()
    n = matrix.shape[0]
    labels, classes = sort_labels(require_target(y), n)
    if len(classes) < 2:
        raise DataError(f"y must have at least two classes, got one: {format_value(classes.tolist()[0])}")
    indices = find_class_indices(labels, classes)
    weight = check_weights(sample_weight, n, " a class")
    empty = np.flatnonzero(np.bincount(indices, weights=weight > 0, minlength=len(classes)) == 0)
    if len(empty):
        raise DataError(f"sample_weight is zero in the whole class {format_value(classes.tolist()[empty[0]])}")
    weight = apply_class_weight(weight, indices, classes, class_weight)
    return TrainingSamples(matrix, indices.astype(np.float64), weight, classes, names)


def restore_labels(samples: TrainingSamples) -> NDArray[Any]:
    """Return the labels of samples as the caller gave them: (n,)."""
    assert samples.classes is not None
    indices = samples.target if len(samples.classes) > 2 else samples.target > 0
    return np.asarray(samples.classes[indices.astype(int)])


def check_features(X: Any) -> tuple[Matrix | RowSource, tuple[str, ...] | None]:
    """Check features (n, d), and return them with the column names."""
    if isinstance(X, RowSource):  # checked when it was opened
        return X, X.feature_names
    return as_matrix(X), find_feature_names(X)


def require_target(y: Any, name: str = "y") -> Any:
    """Return the target of samples if it was passed. Raises ParameterTypeError."""
    if y is None:
        raise ParameterTypeError(
            f"{name} is missing: pass the target of each row of X, or, where X is a file, the name of its column"
        )
    return y
