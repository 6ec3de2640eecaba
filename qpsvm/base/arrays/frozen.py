"""Arrays that nobody may write to: what is kept and handed out says so, and an order to change it in place is an error.

An array of ours is frozen itself. A caller's is left as it is: what is kept of it is a view that is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import Matrix

T = TypeVar("T")


def parts_of_array(array: Matrix) -> list[Any]:
    """The arrays that hold the numbers of an array: itself, or the three of compressed rows or columns."""
    if isinstance(array, np.ndarray):
        return [array]
    return [array.data, array.indices, array.indptr] if _compressed(array) else []


def _compressed(value: Any) -> bool:
    """Whether it is of compressed rows or columns; `issparse` alone takes microseconds, and most things are not."""
    return getattr(value, "format", None) in ("csr", "csc") and bool(sp.issparse(value))


def frozen(value: T) -> T:
    """The value itself; if it is an array of ours, or holds some, nobody may write to it from now on."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for each in value:
            frozen(each)
    elif _compressed(value):
        value.sum_duplicates()  # type: ignore[attr-defined]  # as SciPy would when it is first used
        for part in parts_of_array(value):
            part.flags.writeable = False
    return value


def read_only(value: Any) -> Any:
    """The value; instead of an array that can be written to, a view that cannot: for arrays that may be a caller's.

    A sparse array that is not canonical is copied: SciPy would sort it in place when it is first used.
    """
    if isinstance(value, np.ndarray):
        return frozen(value.view()) if value.flags.writeable else value
    if not _compressed(value):
        return value
    if not value.has_canonical_format:
        return frozen(value.copy())
    parts = parts_of_array(value)
    if not any(part.flags.writeable for part in parts):
        return value
    views = tuple(frozen(part.view()) for part in parts)
    view = type(value)(views, shape=value.shape)
    view.has_canonical_format = True
    return view


def freeze_parts(record: Any) -> None:
    """Keep the arrays of a record, which may be a caller's, as `read_only`."""
    for name, value in vars(record).items():
        if (held := read_only(value)) is not value:
            record.__dict__[name] = held


def freeze_all(thing: Any, seen: set[int] | None = None) -> None:
    """Freeze every array that an object of this library reaches: one that was pickled forgets that it was frozen."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if parts_of_array(thing):
        frozen(thing)
    elif isinstance(thing, (list, tuple, Mapping)):
        for each in thing.values() if isinstance(thing, Mapping) else thing:
            freeze_all(each, seen)
    elif type(thing).__module__.startswith("qpsvm."):
        freeze_all(getattr(thing, "__dict__", {}), seen)


def is_ours(array: Matrix) -> bool:
    """Whether an array is frozen and no view of another one, so that nobody can write to it."""
    return not any(part.flags.writeable or part.base is not None for part in parts_of_array(array))


__all__ = ["freeze_all", "freeze_parts", "frozen", "is_ours", "parts_of_array", "read_only"]
