"""Samples as a caller gives them: whether they are stored somewhere, and what of them is target and weight then."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from qpsvm.errors import ParameterTypeError, UnknownOptionError, nearest
from qpsvm.rows.source import RowSource
from qpsvm.sources.dask_rows import is_dask
from qpsvm.sources.kinds import is_arrow, is_mapped, is_path

#: Numbers of a memory map from which on it stays where it is: as an array of float64 they would take 256 MB.
LARGE_MAP = 1 << 25


def stored(X: Any, y: Any = None, sample_weight: Any = None, name: str = "y") -> tuple[Any, Any, Any]:
    """Samples with their target and weights, where X may be stored with these as columns.

    Returns y, sample_weight (n,). Raises ParameterTypeError, UnknownOptionError, QPSVMError.
    """
    columns = {"target": y, "weight": sample_weight}
    if is_stored(X):
        from qpsvm.sources.opening import open_rows

        X = open_rows(X, **{what: given for what, given in columns.items() if is_column(given)})
        y, sample_weight = (None if is_column(given) else given for given in (y, sample_weight))
    elif is_dask(X):
        return _of_frame(X, y, sample_weight)
    else:
        for option, (what, given) in zip((name, "sample_weight"), columns.items(), strict=True):
            if isinstance(given, str):
                raise ParameterTypeError(f"{option} must be one-dimensional, got {given!r}; {_instead(X, what)}")
    if not isinstance(X, RowSource):
        return X, y, sample_weight
    return X, _own(X, "target", y), _own(X, "weight", sample_weight)


def is_stored(X: Any) -> bool:
    """Whether X says where samples are stored, so that `open_rows` is to open it."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.size >= LARGE_MAP and is_mapped(X)
    if isinstance(X, (list, tuple)):
        return bool(X) and all(map(is_path, X))
    return is_path(X) or is_arrow(X)


def is_column(given: Any) -> bool:
    """Whether a target or weights are a column of the samples' file, or a file of their own."""
    return isinstance(given, (str, os.PathLike, int, np.integer))


def _own(source: RowSource, what: str, given: Any) -> Any:
    """What a source has for its target or weights, where nothing else is given."""
    own = getattr(source, what, None)
    return own if given is None and isinstance(own, np.ndarray) else given


def _of_frame(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """A Dask collection without those of its columns that are named as target or weights; and these columns.

    Raises UnknownOptionError.
    """
    named = [given for given in (y, sample_weight) if isinstance(given, str)]
    names = list(getattr(X, "columns", ()))
    for column in named:
        if column not in names:
            raise UnknownOptionError(f"X has no column {column!r}; {nearest(column, map(str, names))}")
    taken = (X[given] if isinstance(given, str) else given for given in (y, sample_weight))
    return (X[[name for name in names if name not in named]] if named else X, *taken)


def _instead(X: Any, what: str) -> str:
    """Why a column cannot be found by its name, and what to do."""
    if isinstance(X, RowSource):
        return f"X is open already: name the column in open_rows(..., {what}=...)"
    return f"the name of a column goes with the path of a file as X, which is of type {type(X).__name__} here"
