"""Check the samples X of an estimator, in memory, and convert them for the solvers.

Entry points: `prepare_training` for `fit`, `prepare_batch` for `partial_fit`, `prepare_samples` for predictions, and
`densify_if_small`. The checks are scikit-learn's; checked samples are in double precision, dense or CSR. Stored
samples, which these checks would copy, are checked by `stored_samples` instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from qpsvm.base.arrays.checks import LARGEST_VALUE, check_columns, check_unmasked, shorten_indices
from qpsvm.base.arrays.large_integers import check_not_rounded
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.kinds import is_stored
from qpsvm.data.rows import RowSource
from qpsvm.estimators.sklearn_checks import is_finite_array, translate_sklearn_errors
from qpsvm.estimators.stored_samples import learn_columns, open_rows_to_predict

#: Accepted data types; all other numbers are converted to the first.
FLOATS = (np.float64, np.float32)
#: Sparse samples of at most this size, 8 MB, are made dense: that is faster, and results are bitwise equal.
MAX_DENSE_SIZE = 1_000_000
#: For a linear machine: sparse samples of at most this size, or of this size per nonzero value, are made dense.
MAX_LINEAR_DENSE_SIZE, MAX_SIZE_PER_NONZERO = 10_000, 4


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
    if _needs_no_check(estimator, X):
        return X
    check_is_fitted(estimator)
    if isinstance(X, RowSource) or is_stored(X):
        return open_rows_to_predict(estimator, X)
    return _to_canonical(_validate(estimator, X, reset=False))


def densify_if_small(X: Any, linear: bool = False) -> Any:
    """Make sparse samples dense if that is faster, as it is for small ones; others are returned unchanged.

    linear: Whether a solver loops over the entries of rows; then it is faster only if few of them are 0.
    """
    if not sp.issparse(X):
        return X
    if linear:
        max_size = max(MAX_LINEAR_DENSE_SIZE, MAX_SIZE_PER_NONZERO * X.nnz)
    else:
        max_size = MAX_DENSE_SIZE
    if X.shape[0] * X.shape[1] <= min(max_size, MAX_DENSE_SIZE):
        return X.toarray()
    return X


def _validate(estimator: Any, X: Any, reset: bool) -> Any:
    """Validate X by scikit-learn, as floats; with `reset` the estimator learns its columns."""
    if reset and is_finite_array(X):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        return X
    check_unmasked(X, "X")
    check_columns(X)
    options = {"dtype": FLOATS, "accept_sparse": "csr", "accept_large_sparse": True}
    with translate_sklearn_errors("X"):
        checked = validate_data(estimator, X, reset=reset, **options)
    check_not_rounded(X, checked, "X")
    return checked


def _needs_no_check(estimator: Any, X: Any) -> bool:
    """Return whether scikit-learn's check would return X unchanged, so that this slow check can be skipped."""
    width = getattr(estimator, "n_features_in_", None)
    return bool(is_finite_array(X) and X.shape[1] == width and not hasattr(estimator, "feature_names_in_"))


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
