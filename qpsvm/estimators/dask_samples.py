"""Prepare Dask collections for linear estimators, whose partitions are evaluated where they are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.data.kinds import is_dask


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
    if len(array.chunks[1]) > 1:
        return array.rechunk({1: -1})
    return array


def map_partitions(function: Callable[[Any], NDArray[Any]], X: Any, width: int | None, dtype: Any) -> Any:
    """Apply a function lazily to each partition of a Dask array (m, ·): (m,), or (m, width)."""
    if width is None:
        return X.map_blocks(function, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
    return X.map_blocks(function, dtype=dtype, chunks=(X.chunks[0], (width,)), meta=np.empty((0, 0), dtype=dtype))


def refuse_dask(estimator: Any, X: Any) -> None:
    """Check that X is not a Dask collection, for estimators that store support vectors. Raises UnsupportedError."""
    if is_dask(X):
        raise UnsupportedError(
            f"{type(estimator).__name__} keeps support vectors, which would have to be brought here: take LinearSVC or "
            "LinearSVR for a Dask collection, or qpsvm.solve for another machine with a linear kernel"
        )
