"""Open samples that X stores or names: a table, a path, a Dask collection, or rows that are open already."""

from __future__ import annotations

from typing import Any

import numpy as np

from qpsvm.base.errors import ParameterTypeError, UnknownOptionError, describe_nearest
from qpsvm.data.kinds import is_column, is_dask, is_stored, is_table
from qpsvm.data.rows.source import RowSource


def open_stored(X: Any, y: Any = None, sample_weight: Any = None, name: str = "y") -> tuple[Any, Any, Any]:
    """Open samples, and return X, target and weights, which may be stored with X or be names of its columns.

    Arrays are returned unchanged.

    name: The name of the target in messages.
    """
    owns_memory = isinstance(X, np.ndarray) and X.base is None  # so it is no memory map
    if owns_memory:
        _refuse_column_names(X, y, sample_weight, name)
    elif is_table(X):
        y = X.y if y is None else y
        sample_weight = X.weights if sample_weight is None else sample_weight
        return (X if isinstance(X.X, np.ndarray) else X.X), y, sample_weight
    elif is_stored(X):
        from qpsvm.data.sources.opening import open_rows

        columns = {"target": y, "weight": sample_weight}
        X = open_rows(X, **{option: given for option, given in columns.items() if is_column(given)})
        y, sample_weight = (None if is_column(given) else given for given in (y, sample_weight))
    elif is_dask(X):
        X, y, sample_weight = _open_collection(X, y, sample_weight)
    else:
        _refuse_column_names(X, y, sample_weight, name)
    if not isinstance(X, RowSource):
        return X, y, sample_weight
    return X, _default_to_stored(X, "target", y), _default_to_stored(X, "weight", sample_weight)


def _default_to_stored(source: RowSource, attribute: str, given: Any) -> Any:
    """Return the stored target or weights of a source, unless others are given."""
    stored = getattr(source, attribute, None)
    return stored if given is None and isinstance(stored, np.ndarray) else given


def _refuse_column_names(X: Any, y: Any, sample_weight: Any, name: str) -> None:
    """Refuse names of columns as target or weights of samples that have none. Raises ParameterTypeError."""
    for argument, option, given in ((name, "target", y), ("sample_weight", "weight", sample_weight)):
        if isinstance(given, str):
            why = f"the name of a column goes with the path of a file as X, which is {type(X).__name__} here"
            if hasattr(X, "columns"):
                why += f": qpsvm.Table(X, target={given!r}) takes it out of a frame"
            if isinstance(X, RowSource):
                why = f"X is open already: name the column in open_rows(..., {option}=...)"
            raise ParameterTypeError(f"{argument} must be one-dimensional, got {given!r}; {why}")


def _open_collection(X: Any, y: Any, sample_weight: Any) -> tuple[RowSource, Any, Any]:
    """Open a Dask collection, with target and weights, which may be names of columns of a frame."""
    from qpsvm.data.sources.dask_rows import open_collection

    roles = [given for given in (y, sample_weight) if isinstance(given, str)]
    columns = list(getattr(X, "columns", ()))
    for name in roles:
        if name not in columns:
            raise UnknownOptionError(f"X has no column {name!r}; {describe_nearest(name, map(str, columns))}")
    features = X[[name for name in columns if name not in roles]] if roles else X
    vectors = [X[given] if isinstance(given, str) else given for given in (y, sample_weight)]
    rows, (target, weight) = open_collection(features, *vectors)
    return rows, target, weight
