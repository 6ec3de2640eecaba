"""Columns by their names: those of a data frame are remembered, and other frames are matched by them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from qpsvm.arrays.checks import column_names
from qpsvm.arrays.types import IntArray
from qpsvm.arrays.words import shown
from qpsvm.errors import DataError

#: Names that a message lists at most. It counts the rest.
LISTED = 3


def feature_names(X: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns, where all are text and no two are the same; else None."""
    names = column_names(X)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return tuple(str(name) for name in names)


def column_order(X: Any, known: Sequence[str] | None) -> IntArray | None:
    """Where in X the columns with the known names are.

    Returns (d,) or None. Raises DataError.
    """
    names = column_names(X) or []
    if known is None or not any(isinstance(name, str) for name in names):
        return None
    given = feature_names(X)
    if given is None:
        odd = next(name for i, name in enumerate(names) if not isinstance(name, str) or name in names[:i])
        fault = f"the column {shown(odd)} twice" if isinstance(odd, str) else f"{shown(odd)} for the name of a column"
        raise DataError(
            f"X has {fault}, so that its columns cannot be matched with the model's by name; rename them, or pass "
            "X.to_numpy() to go by position"
        )
    return order_of(given, known, "X")


def order_of(given: Sequence[str], known: Sequence[str], what: str) -> IntArray | None:
    """Where among the given names the known ones are, (d,), or None where they are the same in the same order.

    Raises DataError.
    """
    if tuple(given) == tuple(known):
        return None
    place, wanted = {name: j for j, name in enumerate(given)}, set(known)
    missing = [name for name in known if name not in place]
    others = [name for name in given if name not in wanted]
    if missing:
        too_many = f" and has {_listed(others)} too many" if others else ""
        raise DataError(
            f"{what} has no column {_listed(missing, others)}{too_many}: columns are matched by the names that the "
            f"model was trained on; rename them, or pass an array to go by position"
        )
    if others:
        raise DataError(
            f"{what} has {_listed(others)} too many: columns are matched by the names that the model was trained on; "
            "pass X[list(model.feature_names)]"
        )
    return np.array([place[name] for name in known], dtype=np.intp)


def _listed(names: Sequence[str], near: Sequence[str] = ()) -> str:
    """The first names, each with the nearest one of `near`, and how many more there are."""
    texts = []
    for name in names[:LISTED]:
        close = difflib.get_close_matches(name, near, n=1)
        texts.append(shown(name) + (f" (is it {shown(close[0])}?)" if close else ""))
    return ", ".join(texts) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
