"""Samples that are not in memory, as an estimator takes them: rows of files a block at a time, or a Dask collection.

Scikit-learn's checks would copy them. What these would say of an array, a source of rows has found out when it was
opened; what is left are the width and the names of the columns.

Linear estimators over a Dask collection: each machine is solved where the rows are, only planes come here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.arrays.checks import order_of
from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.data.kinds import is_column, is_dask, is_stored
from qpsvm.data.rows import RowSource
from qpsvm.data.samples import stored
from qpsvm.data.sources import open_rows
from qpsvm.data.sources.dask_rows import DaskRows


def learn_columns(estimator: Any, source: RowSource) -> None:
    """Give an estimator the width of the samples of its fit and the names of their columns, as scikit-learn does."""
    estimator.n_features_in_ = source.d
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def rows_to_predict(estimator: Any, X: Any, target: Any = None, weight: Any = None) -> RowSource:
    """Samples to predict as a source of rows, whose columns are those of the fit.

    What is not open yet is opened by the names of these columns, so that others in the file, as the target, are left
    out.

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
    given = source.feature_names
    if names is not None and given is not None and order_of(given, names, "X") is not None:
        raise DataError("X has the columns of the fit in another order: open_rows(..., columns=...) takes them in one")
    return source


def spread_to_predict(estimator: Any, X: Any) -> Any:
    """Samples of a Dask collection as a Dask array, (m, d), whose columns are those of the fit, in one chunk.

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


def by_partition(function: Callable[[Any], NDArray[Any]], X: Any, width: int | None, dtype: Any) -> Any:
    """What a function makes of each partition of a Dask array (m, ·): (m,), or (m, width). Nothing is computed yet."""
    if width is None:
        return X.map_blocks(function, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    return X.map_blocks(function, dtype=dtype, chunks=(X.chunks[0], (width,)), meta=np.empty((0, 0), dtype=dtype))


class StoredScore:
    """The score of an estimator whose samples may be stored, with the target among them."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How good the predictions are: scikit-learn's own score of such an estimator.

        Parameters
        ----------
        X : array_like, data frame, SciPy sparse, or what `open_rows` opens, shape (m, d)
        y : array_like of shape (m,), or str
            What is true; of a file also the name of a column.
        sample_weight : array_like of shape (m,), or str, optional

        Returns
        -------
        float
        """
        if is_stored(X) and not getattr(self, "_by_function", False):
            X = rows_to_predict(self, X, *(given if is_column(given) else None for given in (y, sample_weight)))
            y, sample_weight = (None if is_column(given) else given for given in (y, sample_weight))
        if isinstance(X, RowSource):
            X, y, sample_weight = stored(X, y, sample_weight)
        value: float = super().score(X, y, sample_weight)  # type: ignore[misc]
        return value


def in_memory_only(estimator: Any, X: Any) -> None:
    """Refuse a Dask collection, where an estimator keeps rows of its samples.

    Raises UnsupportedError.
    """
    if is_dask(X):
        raise UnsupportedError(
            f"{type(estimator).__name__} keeps support vectors, which would have to be brought here: take LinearSVC or "
            "LinearSVR for a Dask collection, or qpsvm.solve for another machine with a linear kernel"
        )


def rows_of(estimator: Any, X: Any, y: Any, sample_weight: Any) -> DaskRows:
    """The rows of a fit, looked at once where they are; the estimator learns their columns.

    Raises DataError, DataTypeError.
    """
    if y is None:
        raise DataError("requires y to be passed, but the target y is None")
    rows = DaskRows(X, y, sample_weight)
    learn_columns(estimator, rows)
    return rows


def classes_of(rows: DaskRows) -> NDArray[Any]:
    """The labels in sort order: (k,).

    Raises DataError.
    """
    if any(part.rows and part.labels is None for part in rows.facts):
        raise DataError("y has more than a thousand different values, which are no labels: take LinearSVR")
    classes = np.unique(np.concatenate([part.labels for part in rows.facts if part.labels is not None]))
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class: {classes.tolist()}"
        )
    return classes


def targets(y: Any, classes: NDArray[Any]) -> list[Any]:
    """The target of each machine: the labels of two classes, or of more whether it is each of them."""
    return [y] if len(classes) == 2 else [y == label for label in classes.tolist()]


__all__ = [
    "StoredScore",
    "by_partition",
    "classes_of",
    "in_memory_only",
    "is_dask",
    "is_stored",
    "learn_columns",
    "rows_of",
    "rows_to_predict",
    "spread_to_predict",
    "stored",
    "targets",
]
