"""Linear estimators over a Dask collection: each machine is solved where the rows are, only planes come here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.errors import DataError, UnsupportedError
from qpsvm.estimators.stored import is_dask, learn_columns
from qpsvm.sources.dask_rows import DaskRows

__all__ = ["classes_of", "in_memory_only", "is_dask", "rows_of", "targets"]


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
