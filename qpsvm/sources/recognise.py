"""Samples as a caller gives them: whether they are stored somewhere, and what of them is target and weight then."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from qpsvm.errors import ParameterTypeError
from qpsvm.rows.source import RowSource
from qpsvm.sources.arrow import is_arrow
from qpsvm.sources.dense import is_mapped
from qpsvm.sources.opening import open_rows
from qpsvm.sources.paths import is_path

#: Numbers of a memory map from which on it stays where it is: as an array of float64 they would take 256 MB.
LARGE_MAP = 1 << 25


def stored(X: Any, y: Any = None, sample_weight: Any = None, name: str = "y") -> tuple[Any, Any, Any]:
    """Samples with their target and weights, where X may be stored with these as columns.

    Parameters
    ----------
    X : path, list of paths, pyarrow table or data set, large memory map, RowSource, or anything else
        What is stored is opened by `open_rows`. A memory map is large where it would be so as an array of float64.
        Anything else is given back as it is.
    y : str, int or path, or anything else
        The target's column; None for what the source has for its target.
    sample_weight : str, int or path, or anything else
        The column of weights; None for what the source has for its weights.
    name : str
        What messages call y.

    Returns
    -------
    X : RowSource, or anything else
    y, sample_weight : ndarray, shape (n,), or anything else
        As they were given, or those of the source.

    Raises
    ------
    ParameterTypeError
        A column is named, and X has none.
    QPSVMError
        What `open_rows` raises.
    """
    if is_stored(X):
        columns = {"target": y, "weight": sample_weight}
        X = open_rows(X, **{what: given for what, given in columns.items() if _is_column(given)})
    else:
        for option, what, given in ((name, "target", y), ("sample_weight", "weight", sample_weight)):
            if isinstance(given, str):
                raise ParameterTypeError(f"{option} is the name {given!r}, and {_why_not(X, what)}")
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


def _is_column(given: Any) -> bool:
    """Whether a target or weights are a column of the samples' file, or a file of their own."""
    return isinstance(given, (str, os.PathLike, int, np.integer))


def _own(source: RowSource, what: str, given: Any) -> Any:
    """What a source has for its target or weights, where nothing else is given."""
    return getattr(source, what, None) if given is None or _is_column(given) else given


def _why_not(X: Any, what: str) -> str:
    """Why a column cannot be found by its name, and what to do."""
    if isinstance(X, RowSource):
        return f"X is open already: name the column in open_rows(..., {what}=...)"
    return f"X is of type {type(X).__name__}, whose columns are not looked up: pass the values, or a path as X"
