"""Store the samples of a machine: features, target, weights, and which of them are active (`TrainingSamples`).

Letters: X (n, d) samples, y (n,) labels, s (n,) sample weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE, as_finite_vector, as_matrix, as_raw_array, find_feature_names
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import as_read_only, cached, find_common_value, freeze, freeze_parts, repeat_value
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterTypeError, UnknownOptionError, describe_nearest
from qpsvm.data.kinds import is_column, is_dask, is_stored, is_table
from qpsvm.data.labels import (
    ClassWeight,
    apply_class_factors,
    apply_class_weight,
    as_labels,
    as_weights,
    check_weights,
    encode_targets,
    find_class_indices,
    normalise_weights,
    sort_labels,
)
from qpsvm.data.rows import ArrayRows, RowSource, as_row_source
from qpsvm.data.rows.memory import ChangeGuard
from qpsvm.data.rows.transformed import select_rows


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Training samples of a machine.

    X (n, d)
    target (n,): What the machine is to reproduce: −1 and +1 for two classes, any real number for a regression.
    weight (n,): s; a row of weight 0 takes no part.
    classes (k,): The labels in sort order; None where the target is not a class. Of two, −1 and +1 stand for them, or
        the index of each; of more, the index.
    feature_names or None: The columns of a data frame.
    """

    X: Matrix | RowSource
    target: FloatArray
    weight: FloatArray
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    seal: ChangeGuard | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        held = self.X.memory_matrix if isinstance(self.X, ArrayRows) else self.X
        if not isinstance(held, RowSource):
            self.__dict__["seal"] = ChangeGuard([held], "X")
            self.__dict__["X"] = self.X if held is not self.X else as_read_only(held)
        freeze_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seal": self.seal and ChangeGuard([], "X")}  # the arrays of a copy have no other owner

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: freeze(value) for name, value in state.items()})

    def check(self) -> None:
        """Look whether the features, where they are a caller's own array, are those that were given: or a DataError."""
        self.change_guard.check()

    @property
    def change_guard(self) -> ChangeGuard | RowSource:
        """Detector of changes. A run of many steps may `start_run` with the first scan, and then skips others."""
        return self.X if self.seal is None else self.seal

    def __repr__(self) -> str:
        storage = "sparse" if self.is_sparse else "dense"
        n, d = self.X.shape
        if self.classes is None:
            text = "" if self.target_range is None else "; target from {:g} to {:g}".format(*self.target_range)
            return f"X {n} × {d}, {storage}{text}"
        if len(self.classes) > 2:
            return f"X {n} × {d}, {storage}; {len(self.classes)} classes"
        named = zip(self.classes.tolist(), self.class_counts, strict=True)
        return (
            f"X {n} × {d}, {storage}; classes {' and '.join(f'{format_value(k)} ({int(count)})' for k, count in named)}"
        )

    def describe(self) -> list[tuple[str, str]]:
        """Describe size, classes and weights: a label and a short text each."""
        n, d = self.X.shape
        parts = [("samples", f"{n} × {d}, {'sparse' if self.is_sparse else 'dense'}")]
        if self.classes is not None:
            names = ("−1", "+1") if len(self.classes) == 2 else range(len(self.classes))
            for name, label, count in zip(names, self.classes.tolist(), self.class_counts, strict=True):
                parts.append((f"class {name}", f"{format_value(label)} ({count})"))
        elif self.target_range is not None:
            parts.append(("target", "{:g} to {:g}".format(*self.target_range)))
        if find_common_value(self.weight) is None and np.ptp(self.weight) > 0.0:
            idle = n - len(self.active_rows)
            none = f", {idle} of weight 0" if idle else ""
            parts.append(("weights", f"{self.weight.min():.4g} to {self.weight.max():.4g}{none}"))
        return parts

    @property
    def n(self) -> int:
        """Number of samples, those of weight 0 included."""
        return len(self.target)

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Number of samples of each of `classes`; empty without classes."""
        if self.classes is None:
            return ()
        values = (0.0, 1.0) if len(self.classes) == 2 else range(len(self.classes))
        return tuple(int(np.count_nonzero(np.maximum(self.target, 0.0) == value)) for value in values)

    @property
    def target_range(self) -> tuple[float, float] | None:
        """The least and the largest target; None where all are the same."""
        if find_common_value(self.target) is not None:
            return None
        return float(self.target.min()), float(self.target.max())

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored sparsely."""
        return not isinstance(self.X, np.ndarray) and (not isinstance(self.X, RowSource) or self.X.is_sparse)

    @property
    def entries(self) -> int:
        """Numbers stored."""
        return self.X.size if isinstance(self.X, np.ndarray) else as_row_source(self.X).entries

    @property
    def active_features(self) -> Matrix | RowSource:
        """The features of the samples that take part: (k, d)."""
        if self.all_weights_positive:
            return self.X
        return (
            select_rows(self.X, self.active_rows) if isinstance(self.X, RowSource) else freeze(self.X[self.active_rows])
        )

    def to_memory(self) -> TrainingSamples:
        """Return the same samples with all features in memory, as one array."""
        X = as_row_source(self.X).matrix()
        return TrainingSamples(X, self.target, self.weight, self.classes, self.feature_names)

    @cached
    def active_rows(self) -> IntArray:
        """The samples that take part: those of positive weight."""
        return np.flatnonzero(self.weight > 0)

    @cached
    def all_weights_positive(self) -> bool:
        """Whether every sample takes part, so that nothing has to be picked."""
        return find_common_value(self.weight) is not None or bool((self.weight > 0).all())

    def select_active(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Select the entries of a vector (n,) of the active samples; the vector itself if all are active."""
        return vector if self.all_weights_positive else vector[self.active_rows]

    def expand_active(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand an array over the active samples to all of them, (n, …): 0 for a sample of weight 0."""
        if self.all_weights_positive:
            return values
        vector = np.zeros((self.n, *values.shape[1:]), dtype=values.dtype)
        vector[self.active_rows] = values
        return vector


def check_features(X: Any) -> tuple[Matrix | RowSource, tuple[str, ...] | None]:
    """Check features, (n, d), and return them with the column names; a source of rows has checked its own."""
    if isinstance(X, RowSource):
        return X, X.feature_names
    return as_matrix(X), find_feature_names(X)


def require_target(y: Any, name: str = "y") -> Any:
    """Require the target of samples. Raises ParameterTypeError."""
    if y is None:
        raise ParameterTypeError(
            f"{name} is missing: pass the target of each row of X, or, where X is a file, the name of its column"
        )
    return y


def build_binary_samples(
    X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
) -> TrainingSamples:
    """Check samples of two classes. Shapes: X (n, d), y (n,), sample_weight (n,)."""
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
    """Check samples with a number each. Shapes: X (n, d), t (n,), sample_weight (n,)."""
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
    """Check samples with no target. Shapes: X (n, d), sample_weight (n,). Raises DataError, DataTypeError."""
    X, _, sample_weight = open_stored(X, None, sample_weight)
    matrix, names = check_features(X)
    weight = check_weights(sample_weight, matrix.shape[0])
    return TrainingSamples(matrix, repeat_value(1.0, len(weight)), weight, None, names)


def restore_labels(samples: TrainingSamples) -> NDArray[Any]:
    """Return the caller's own labels of samples of classes: (n,)."""
    assert samples.classes is not None
    places = samples.target if len(samples.classes) > 2 else samples.target > 0
    return np.asarray(samples.classes[places.astype(int)])


def build_multiclass_samples(
    X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
) -> TrainingSamples:
    """Check samples of two classes or more: the target of each is the place of its label among `classes`.

    Shapes: X (n, d), y (n,), sample_weight (n,).
    """
    X, y, sample_weight = open_stored(X, y, sample_weight)
    matrix, names = check_features(X)
    if isinstance(matrix, RowSource) and matrix.is_remote:  # its solver looks at one sample after the other
        matrix = matrix.matrix()
    n = matrix.shape[0]
    labels, classes = sort_labels(require_target(y), n)
    if len(classes) < 2:
        raise DataError(f"y must have at least two classes, got one: {format_value(classes.tolist()[0])}")
    place = find_class_indices(labels, classes)
    weight = check_weights(sample_weight, n, " a class")
    empty = np.flatnonzero(np.bincount(place, weights=weight > 0, minlength=len(classes)) == 0)
    if len(empty):
        raise DataError(f"sample_weight is zero in the whole class {format_value(classes.tolist()[empty[0]])}")
    weight = apply_class_weight(weight, place, classes, class_weight)
    return TrainingSamples(matrix, place.astype(np.float64), weight, classes, names)


def open_stored(X: Any, y: Any = None, sample_weight: Any = None, name: str = "y") -> tuple[Any, Any, Any]:
    """Open samples with target and weights, which X may store as columns."""
    columns = {"target": y, "weight": sample_weight}
    in_memory = isinstance(X, np.ndarray) and X.base is None  # whose memory is its own: no map
    if not in_memory and is_table(X):
        own = {name: getattr(X, held) if given is None else given for name, held, given in
               (("y", "y", y), ("weight", "weights", sample_weight))}  # fmt: skip
        return (X if isinstance(X.X, np.ndarray) else X.X), own["y"], own["weight"]
    if not in_memory and is_stored(X):
        from qpsvm.data.sources.opening import open_rows

        X = open_rows(X, **{what: given for what, given in columns.items() if is_column(given)})
        y, sample_weight = (None if is_column(given) else given for given in (y, sample_weight))
    elif not in_memory and is_dask(X):
        X, y, sample_weight = _open_collection(X, y, sample_weight)
    else:
        for option, (what, given) in zip((name, "sample_weight"), columns.items(), strict=True):
            if isinstance(given, str):
                why = f"the name of a column goes with the path of a file as X, which is {type(X).__name__} here"
                if hasattr(X, "columns"):
                    why += f": qpsvm.Table(X, target={given!r}) takes it out of a frame"
                if isinstance(X, RowSource):
                    why = f"X is open already: name the column in open_rows(..., {what}=...)"
                raise ParameterTypeError(f"{option} must be one-dimensional, got {given!r}; {why}")
    if not isinstance(X, RowSource):
        return X, y, sample_weight
    return X, _default_to_stored(X, "target", y), _default_to_stored(X, "weight", sample_weight)


def _default_to_stored(source: RowSource, what: str, given: Any) -> Any:
    """Return the stored target or weights of a source, unless others are given."""
    own = getattr(source, what, None)
    return own if given is None and isinstance(own, np.ndarray) else given


def _open_collection(X: Any, y: Any, sample_weight: Any) -> tuple[RowSource, Any, Any]:
    """Open a Dask collection, with target and weights, which may be columns of a frame, by name."""
    from qpsvm.data.sources.dask_rows import open_collection

    named = [given for given in (y, sample_weight) if isinstance(given, str)]
    names = list(getattr(X, "columns", ()))
    for column in named:
        if column not in names:
            raise UnknownOptionError(f"X has no column {column!r}; {describe_nearest(column, map(str, names))}")
    rest = X[[name for name in names if name not in named]] if named else X
    given = [X[column] if isinstance(column, str) else column for column in (y, sample_weight)]
    rows, (target, weight) = open_collection(rest, *given)
    return rows, target, weight


__all__ = [
    "ClassWeight",
    "TrainingSamples",
    "apply_class_factors",
    "as_labels",
    "build_binary_samples",
    "build_multiclass_samples",
    "build_regression_samples",
    "build_unlabelled_samples",
    "check_features",
    "check_weights",
    "encode_targets",
    "normalise_weights",
    "open_stored",
    "restore_labels",
    "sort_labels",
]  # fmt: skip
