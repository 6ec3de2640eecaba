"""Arrays that nobody may write to: what is kept and shared says so, and an order to change it in place is an error.

An array of ours is frozen itself. An array of a caller's is left as it is: what is kept of it is a view that is frozen.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import Matrix

T = TypeVar("T")

#: The arrays of a sparse array in compressed rows or columns.
PARTS = ("data", "indices", "indptr")


def frozen(value: T) -> T:
    """The value itself; if it is an array of ours, dense or compressed, nobody may write to it from now on."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif sp.issparse(value) and value.format in ("csr", "csc"):  # type: ignore[attr-defined]
        for name in PARTS:
            getattr(value, name).flags.writeable = False
    return value


def frozen_view(array: Matrix) -> Matrix:
    """The numbers of a caller's array, dense or compressed and canonical, in one that nobody may write to."""
    if not sp.issparse(array):
        return frozen(array.view())
    parts = tuple(frozen(getattr(array, name).view()) for name in PARTS)
    view = type(array)(parts, shape=array.shape)
    view.has_canonical_format = True
    return view


def is_ours(array: Matrix) -> bool:
    """Whether nobody else can write to a frozen array: it is no view of another one."""
    parts: list[Any] = [getattr(array, name) for name in PARTS] if sp.issparse(array) else [array]
    return all(part.base is None and not part.flags.writeable for part in parts)


__all__ = ["frozen", "frozen_view", "is_ours"]
