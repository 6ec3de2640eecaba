"""Data as scikit-learn's users give them: checked by scikit-learn, refused in this library's own errors.

What comes out is what the problems compute with: float64, dense or CSR. A kernel given by name becomes one whose
parameters are numbers, by scikit-learn's rules for gamma.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from qpsvm.base.arrays.checks import LARGEST_VALUE, check_columns, refuse_masked, short_indices
from qpsvm.base.arrays.doubles import refuse_rounded
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterError, QPSVMError
from qpsvm.data.rows import RowSource
from qpsvm.estimators.out_of_core import is_stored, learn_columns, rows_to_predict
from qpsvm.space.kernels.functions import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid

#: Taken as they come; the first is that of all other numbers.
FLOATS = (np.float64, np.float32)
#: What gamma=0 is: small enough that every kernel value is that of gamma=0, and no number over it overflows.
LEAST_GAMMA = 1e-150
#: Sparse samples of no more values, 8 MB, are computed with as dense ones: faster, and the same to the last bit.
DENSE_VALUES = 1_000_000


@contextmanager
def refused() -> Iterator[None]:
    """What scikit-learn's checks raise, as an error of this library with the same words."""
    try:
        yield
    except QPSVMError:
        raise
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(str(error)) from error


def training_samples(estimator: Any, X: Any) -> Any:
    """The samples of a fit, (n, d) in double precision; the estimator learns their width, type and names of columns.

    A source of rows stays one.

    Raises DataError, DataTypeError.
    """
    if isinstance(X, RowSource):
        estimator._kept_dtype = np.dtype(np.float64)
        learn_columns(estimator, X)
        return X
    refuse_masked(X, "X")
    check_columns(X)
    with refused():
        checked = validate_data(estimator, X, dtype=FLOATS, accept_sparse="csr", accept_large_sparse=True)
    refuse_rounded(X, checked, "X")
    estimator._kept_dtype = checked.dtype
    return _computed_with(checked)


def samples(estimator: Any, X: Any) -> Any:
    """Samples to predict, (m, d), as wide as those of the fit; what is stored becomes a source of rows.

    Raises sklearn.exceptions.NotFittedError, DataError, DataTypeError.
    """
    if _plain(estimator, X):
        return X
    check_is_fitted(estimator)
    if isinstance(X, RowSource) or is_stored(X):
        return rows_to_predict(estimator, X)
    refuse_masked(X, "X")
    check_columns(X)
    with refused():
        checked = validate_data(estimator, X, dtype=FLOATS, accept_sparse="csr", accept_large_sparse=True, reset=False)
    refuse_rounded(X, checked, "X")
    return _computed_with(checked)


def _plain(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn's check would return this very array: it takes longer than to predict a few rows."""
    width = getattr(estimator, "n_features_in_", None)
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.shape[1] == width and X.size > 0
    if not plain or hasattr(estimator, "feature_names_in_"):
        return False
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.dot(flat, flat) <= LARGEST_VALUE**2)  # then every value is small enough, and none is NaN


def _computed_with(X: Any) -> Matrix:
    """Canonical CSR with short indices, or the array, in double precision.

    Raises DataError.
    """
    X = X.astype(np.float64, copy=False)
    if sp.issparse(X):
        rows = sp.csr_array(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        X = short_indices(rows)
    values = X.data if sp.issparse(X) else X
    if values.size and max(values.max(), -values.min()) > LARGEST_VALUE:
        raise DataError(
            "The dual coefficients or intercepts are not finite. "
            f"X has a value of {float(np.abs(values).max()):g}, whose square overflows: rescale the features"
        )
    matrix: Matrix = X
    return matrix


def dense_if_small(X: Any) -> Any:
    """Samples as they are computed with: dense where that costs nothing, so that the answer is that of dense ones."""
    small = sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_VALUES
    return X.toarray() if small else X


def numbers_of(y: Any, n: int) -> FloatArray:
    """The targets of a regression: (n,).

    Raises DataError, DataTypeError.
    """
    with refused():
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        refuse_masked(y, "y")
        given = y
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        if y.dtype.kind in "mM":
            raise TypeError(f"y holds dates or times ({y.dtype}), which have no unit as numbers: divide by one first")
        target: FloatArray = np.asarray(y, dtype=np.float64)
    refuse_rounded(given, target, "y")
    same_length(len(target), n)
    return target


def labels_of(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes of labels in sort order, (k,), and the place of each sample's among them, (n,).

    Raises DataError, DataTypeError.
    """
    from sklearn.utils.multiclass import check_classification_targets

    with refused():
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        refuse_masked(y, "y")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    same_length(len(codes), n)
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class: {classes.tolist()}"
        )
    return classes, codes.astype(np.intp)


def same_length(found: int, n: int) -> None:
    """Raise a `DataError` where y has another length than X."""
    if found != n:
        raise DataError(f"X and y have inconsistent numbers of samples: X has {n}, but y has {found}")


def weights_of(sample_weight: Any, n: int) -> FloatArray | None:
    """Sample weights, (n,), or None where there are none; one number stands for all.

    A sample of weight 0 takes no part, and no more does one of a negative weight, as in scikit-learn.

    Raises DataError, DataTypeError.
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    with refused():
        if isinstance(sample_weight, numbers.Real):
            weight: FloatArray = np.full(n, float(sample_weight))
        else:
            weight = check_array(
                sample_weight, ensure_2d=False, dtype=np.float64, order="C", copy=False, input_name="sample_weight"
            )
            refuse_rounded(sample_weight, weight, "sample_weight")
        if weight.ndim != 1:
            raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D")
        if len(weight) != n:
            raise ValueError(
                f"sample_weight and X have incompatible shapes: sample_weight.shape == {weight.shape}, expected {(n,)}!"
            )
    if not (weight > 0).any():
        raise DataError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weight, 0.0)


def class_weights(
    class_weight: Any, classes: NDArray[Any], y: Any, sample_weight: FloatArray | None = None
) -> FloatArray:
    """The factor of C of each class, (k,), by scikit-learn's rules.

    Raises DataError, ParameterError.
    """
    with refused():
        found: FloatArray = np.asarray(
            compute_class_weight(class_weight, classes=classes, y=np.asarray(y).ravel(), sample_weight=sample_weight)
        )
    if not (np.isfinite(found).all() and (found > 0.0).all()):
        raise ParameterError(f"class_weight must be positive, got {class_weight!r}")
    return found


def kernel_of(estimator: Any, X: Matrix) -> Kernel:
    """The kernel of an estimator over the samples of its fit, every parameter a number."""
    name = estimator.kernel
    if isinstance(name, Kernel):
        return name.resolve(X)
    if callable(name) or name == "precomputed":
        return Precomputed()
    if name == "linear":
        return Linear()
    gamma = max(gamma_of(estimator.gamma, X), LEAST_GAMMA)
    if name == "poly":
        return Polynomial(estimator.degree, gamma, estimator.coef0)
    return RBF(gamma) if name == "rbf" else Sigmoid(gamma, estimator.coef0)


def gamma_of(gamma: Any, X: Matrix) -> float:
    """Scikit-learn's rules: "scale" is 1/(d var(X)), or 1 where nothing varies; "auto" is 1/d."""
    d: int = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    squares: Any = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    variance = float(squares)
    return 1.0 / (d * variance) if variance > 0.0 else 1.0


def kernel_matrix(kernel: Any, X: Any, Z: Any) -> FloatArray:
    """What a user's function makes of two sets of samples: (m, n).

    Raises DataError, DataTypeError.
    """
    found = kernel(X, Z)
    with refused():
        K: FloatArray = check_array(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
    if K.shape != (_num_samples(X), _num_samples(Z)):
        raise DataError(
            f"the kernel returned shape {K.shape} where ({_num_samples(X)}, {_num_samples(Z)}) is expected: X.shape[0] "
            "should be equal to the rows of the first argument"
        )
    return K
