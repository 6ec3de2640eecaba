"""Check the data of estimators by scikit-learn's rules, and raise errors of this library.

Entry points: `prepare_training` and `prepare_samples` for X, `check_targets`, `encode_labels` and `check_weights`,
and `build_kernel`. Checked samples are in double precision, dense or CSR. A kernel given by name becomes a kernel with
numeric parameters, by scikit-learn's rules for gamma.

Samples that are not in memory are read from files block by block (`RowSource`), or are a Dask collection.
Scikit-learn's checks would copy them. A source of rows makes these checks when it is opened, so only the width and the
names of its columns remain to be checked. Linear estimators over a Dask collection solve each machine where the rows
are stored.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from qpsvm.base.arrays.checks import (
    LARGEST_VALUE,
    as_raw_array,
    check_columns,
    check_unmasked,
    find_order,
    shorten_indices,
)
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, QPSVMError, UnsupportedError
from qpsvm.data.kinds import is_column, is_dask, is_stored, is_table
from qpsvm.data.labels import find_two_numbers, refuse_missing
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import open_stored
from qpsvm.data.sources import open_rows
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from qpsvm.space.kernels.kernel import compute_variance

#: Accepted data types; all other numbers are converted to the first.
FLOATS = (np.float64, np.float32)
#: Scikit-learn's phrase for infinite values.
INFINITE = "infinity or a value too large for dtype('float64')"
#: Replaces gamma=0: so small that every kernel value is the same, but large enough that 1/gamma does not overflow.
MIN_GAMMA = 1e-150
#: Sparse samples of at most this size, 8 MB, are made dense: that is faster, and results are bitwise equal.
DENSE_VALUES = 1_000_000
#: For a linear machine: sparse samples of at most this size, or of this size per nonzero value, are made dense.
LINEAR_DENSE_VALUES, LINEAR_VALUES_PER_NONZERO = 10_000, 4


@contextmanager
def translate_sklearn_errors() -> Iterator[None]:
    """Translate errors of scikit-learn's checks to errors of this library with the same messages."""
    try:
        yield
    except QPSVMError:
        raise
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(str(error)) from error


def prepare_training(estimator: Any, X: Any) -> Any:
    """Prepare the samples of a fit, (n, d) in double precision; the estimator learns width, type and column names.

    A source of rows stays one.
    """
    if isinstance(X, RowSource):
        estimator._input_dtype = np.dtype(np.float64)
        learn_columns(estimator, X)
        return X
    checked = _validate(estimator, X, reset=True)
    estimator._input_dtype = checked.dtype
    estimator._training_samples = _to_canonical(checked)
    return estimator._training_samples


def prepare_batch(estimator: Any, X: Any, first: bool) -> Any:
    """Prepare some samples of a fit, (q, d) as floats; from the first ones the estimator learns the columns."""
    return _validate(estimator, X, reset=first)


def prepare_samples(estimator: Any, X: Any) -> Any:
    """Prepare samples to predict, (m, d), as wide as those of the fit; stored ones become a source of rows.

    Raises sklearn.exceptions.NotFittedError, DataError, DataTypeError.
    """
    if _is_plain(estimator, X):
        return X
    check_is_fitted(estimator)
    if isinstance(X, RowSource) or is_stored(X):
        return open_rows_to_predict(estimator, X)
    return _to_canonical(_validate(estimator, X, reset=False))


def _validate(estimator: Any, X: Any, reset: bool) -> Any:
    """Validate X by scikit-learn, as floats; with `reset` the estimator learns its columns."""
    if reset and _is_finite_array(X):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X
    check_unmasked(X, "X")
    check_columns(X)
    options = {"dtype": FLOATS, "accept_sparse": "csr", "accept_large_sparse": True}
    with translate_sklearn_errors():
        checked = validate_data(estimator, X, reset=reset, **options)
    check_not_rounded(X, checked, "X")
    return checked


def _is_plain(estimator: Any, X: Any) -> bool:
    """Return whether scikit-learn's check would return X unchanged, so that this slow check can be skipped."""
    width = getattr(estimator, "n_features_in_", None)
    return bool(_is_finite_array(X) and X.shape[1] == width and not hasattr(estimator, "feature_names_in_"))


def _is_finite_array(X: Any) -> bool:
    """Return whether X is a matrix of doubles without NaN or very large values, which needs no further check."""
    if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0):
        return False
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.dot(flat, flat) <= LARGEST_VALUE**2)  # then all values are small enough, and none is NaN


def _to_canonical(X: Any) -> Matrix:
    """Convert to canonical CSR with short indices, or an array, in double precision. Raises DataError."""
    X = X.astype(np.float64, copy=False)
    if sp.issparse(X):
        rows = sp.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        X = shorten_indices(rows)
    values = X.data if sp.issparse(X) else X
    if values.size and max(values.max(), -values.min()) > LARGEST_VALUE:
        raise DataError(
            "The dual coefficients or intercepts are not finite. "
            f"X has a value of {float(np.abs(values).max()):g}, whose square overflows: rescale the features"
        )
    return X


def densify_if_small(X: Any, linear: bool = False) -> Any:
    """Make sparse samples dense if that costs nothing, so that the result equals that of dense samples.

    linear: Whether a solver loops over the entries of rows; then it costs nothing only if few of them are 0.
    """
    if not sp.issparse(X):
        return X
    max_size = max(LINEAR_DENSE_VALUES, LINEAR_VALUES_PER_NONZERO * X.nnz) if linear else DENSE_VALUES
    return X.toarray() if X.shape[0] * X.shape[1] <= min(max_size, DENSE_VALUES) else X


def check_targets(y: Any, n: int) -> FloatArray:
    """Check the targets of a regression: (n,). Raises DataError, DataTypeError."""
    if type(y) is np.ndarray and y.ndim == 1 and _is_finite_array(y[:, None]):
        check_same_length(len(y), n)
        return y
    _require_target(y)
    _check_missing(y, "y", "target")
    with translate_sklearn_errors():
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
    with translate_sklearn_errors():
        y = column_or_1d(raw.astype(object).astype(str) if raw.dtype.kind == "T" else y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    check_same_length(len(codes), n)
    _check_classes(classes)
    return classes, codes.astype(np.intp)


def _check_missing(y: Any, name: str, noun: str) -> NDArray[Any]:
    """Return the labels or numbers as an array of any shape, none of which is missing. Raises DataError.

    In contrast to scikit-learn, the message names the row.
    """
    try:
        raw = as_raw_array(y, name)
        flat = raw.reshape(len(raw), -1)[:, 0] if raw.ndim == 2 and 1 in raw.shape[1:] else raw
    except QPSVMError:  # scikit-learn's checks will report it
        return np.empty(0)
    if flat.ndim == 1:
        text = name
        if flat.dtype.kind == "f":  # scikit-learn's message, for which users search
            missing = bool(np.isnan(flat).any())
            text = f"Input {name} contains {'NaN' if missing else INFINITE}"
        refuse_missing(flat, text, noun)
    return raw


def _require_target(y: Any) -> None:
    """Check that there is a target. Raises DataError."""
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    check_unmasked(y, "y")


def _check_classes(classes: NDArray[Any]) -> None:
    """Check that there are at least two classes. Raises DataError."""
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class: {classes.tolist()}"
        )


def check_same_length(length: int, n: int) -> None:
    """Check that y has the length of X. Raises DataError."""
    if length != n:
        raise DataError(f"X and y have inconsistent numbers of samples: X has {n}, but y has {length}")


def check_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Check sample weights, (n,), or None if there are none; one number applies to all samples.

    Samples whose weight is 0 or negative are ignored, as in scikit-learn.
    """
    if sample_weight is None:
        return None
    check_unmasked(sample_weight, "sample_weight")
    _check_missing(sample_weight, "sample_weight", "weight")
    with translate_sklearn_errors():
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
    with translate_sklearn_errors():
        factors: FloatArray = np.asarray(
            compute_class_weight(class_weight, classes=classes, y=np.asarray(y).ravel(), sample_weight=sample_weight)
        )
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ParameterError(f"class_weight must be positive, got {class_weight!r}")
    return factors


def build_kernel(estimator: Any, X: Matrix) -> Kernel:
    """Build the kernel of an estimator over the samples of its fit, with numbers as parameters."""
    name = estimator.kernel
    if isinstance(name, Kernel):
        return name.resolve(X)
    if callable(name) or name == "precomputed":
        return Precomputed()
    if name == "linear":
        return Linear()
    gamma = max(compute_gamma(estimator.gamma, X), MIN_GAMMA)
    if name == "poly":
        return Polynomial(estimator.degree, gamma, estimator.coef0)
    return RBF(gamma) if name == "rbf" else Sigmoid(gamma, estimator.coef0)


def compute_gamma(gamma: Any, X: Matrix) -> float:
    """Compute γ by scikit-learn's rules: "scale" is 1/(d var(X)), or 1 if the variance is 0; "auto" is 1/d."""
    d: int = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else compute_variance(X))
    return 1.0 / (d * variance) if variance > 0.0 else 1.0


def evaluate_kernel(kernel: Any, X: Any, Z: Any) -> FloatArray:
    """Evaluate a user's kernel function on two sets of samples: (m, n). Raises DataError, DataTypeError."""
    raw = kernel(X, Z)
    with translate_sklearn_errors():
        K: FloatArray = check_array(raw.toarray() if sp.issparse(raw) else raw, dtype=np.float64)
    if K.shape != (_num_samples(X), _num_samples(Z)):
        raise DataError(
            f"the kernel returned shape {K.shape} where ({_num_samples(X)}, {_num_samples(Z)}) is expected: X.shape[0] "
            "should be equal to the rows of the first argument"
        )
    return K


def evaluate_diagonal(kernel: Any, X: Any) -> FloatArray:
    """Evaluate K(x, x) of a user's function, a few samples at a time: (m,). Raises DataError, DataTypeError."""
    batches = (X[i : i + 64] for i in range(0, _num_samples(X), 64))
    return np.concatenate([evaluate_kernel(kernel, batch, batch).diagonal() for batch in batches])


def learn_columns(estimator: Any, source: RowSource) -> None:
    """Set `n_features_in_` and `feature_names_in_` of an estimator from the samples of its fit."""
    estimator.n_features_in_ = source.d
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def open_rows_to_predict(estimator: Any, X: Any, target: Any = None, weight: Any = None) -> RowSource:
    """Open samples to predict as a source of rows, whose columns are those of the fit.

    Data that are not open yet are opened with the names of these columns, so that others, such as the target, are
    ignored.

    Raises sklearn.exceptions.NotFittedError, DataError, QPSVMError.
    """
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if isinstance(X, RowSource):
        source = X
    else:
        columns = None if names is None or isinstance(X, np.ndarray) else names.tolist()
        source = open_rows(X, target, columns, weight)
    if source.d != estimator.n_features_in_:
        raise DataError(
            f"X has {source.d} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    source_names = source.feature_names
    if names is not None and source_names is not None and find_order(source_names, names, "X") is not None:
        raise DataError("X has the columns of the fit in another order: open_rows(..., columns=...) takes them in one")
    return source


def prepare_dask(estimator: Any, X: Any) -> Any:
    """Prepare a Dask collection as a Dask array, (m, d), with the columns of the fit in one chunk.

    Raises sklearn.exceptions.NotFittedError, DataError.
    """
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if names is not None and columns is not None:
        missing = [name for name in names if name not in list(columns)]
        if missing:
            raise DataError(f"X has no column {missing[0]!r}, which the samples of the fit had")
        X = X[list(names)]
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if array.ndim != 2 or array.shape[1] != estimator.n_features_in_:
        raise DataError(
            f"X has shape {array.shape}, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    return array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array


def map_partitions(function: Callable[[Any], NDArray[Any]], X: Any, width: int | None, dtype: Any) -> Any:
    """Apply a function lazily to each partition of a Dask array (m, ·): (m,), or (m, width)."""
    if width is None:
        return X.map_blocks(function, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    return X.map_blocks(function, dtype=dtype, chunks=(X.chunks[0], (width,)), meta=np.empty((0, 0), dtype=dtype))


class StoredScoreMixin:
    """The score of an estimator whose samples may be stored, with the target among them."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the predictions, as scikit-learn defines it for such an estimator.

        Parameters
        ----------
        X : array_like, data frame, SciPy sparse, or what `open_rows` opens, shape (m, d)
        y : array_like of shape (m,), or str
            True labels or targets; for a file also the name of a column.
        sample_weight : array_like of shape (m,), or str, optional

        Returns
        -------
        float
        """
        if is_stored(X) and not getattr(self, "_has_kernel_function", False):
            X = open_rows_to_predict(self, X, *(given if is_column(given) else None for given in (y, sample_weight)))
            y, sample_weight = (None if is_column(given) else given for given in (y, sample_weight))
        if isinstance(X, RowSource) or is_table(X):
            X, y, sample_weight = open_stored(X, y, sample_weight)
        value: float = super().score(X, y, sample_weight)  # type: ignore[misc]
        return value


def refuse_dask(estimator: Any, X: Any) -> None:
    """Check that X is not a Dask collection, for estimators that store support vectors. Raises UnsupportedError."""
    if is_dask(X):
        raise UnsupportedError(
            f"{type(estimator).__name__} keeps support vectors, which would have to be brought here: take LinearSVC or "
            "LinearSVR for a Dask collection, or qpsvm.solve for another machine with a linear kernel"
        )
