"""Open and score samples that are read from files block by block (`RowSource`).

Such a source checks its rows when they are read, so only the number and names of its columns remain to be checked:
`learn_columns` stores those of a fit, and `open_rows_to_predict` compares the columns of later samples with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.checks import find_order
from qpsvm.base.errors import DataError
from qpsvm.data.kinds import is_column, is_stored, is_table
from qpsvm.data.open_samples import open_stored
from qpsvm.data.rows import RowSource
from qpsvm.data.sources import open_rows


def learn_columns(estimator: Any, source: RowSource) -> None:
    """Set `n_features_in_` and `feature_names_in_` of an estimator from the samples of its fit."""
    estimator.n_features_in_ = source.d
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def open_rows_to_predict(estimator: Any, X: Any, target: Any = None, weight: Any = None) -> RowSource:
    """Open samples to predict as a source of rows with the columns of the fit; other columns of a file are ignored.

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
        raise DataError("X has the columns of the fit in another order: open_rows(..., columns=...) sets the order")
    return source


class StoredScoreMixin:
    """The score of an estimator whose samples may be in files, with the target and the weights as columns."""

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
            target, weight = (item if is_column(item) else None for item in (y, sample_weight))
            X = open_rows_to_predict(self, X, target, weight)
            y, sample_weight = (None if is_column(item) else item for item in (y, sample_weight))
        if isinstance(X, RowSource) or is_table(X):
            X, y, sample_weight = open_stored(X, y, sample_weight)
        value: float = super().score(X, y, sample_weight)  # type: ignore[misc]
        return value
