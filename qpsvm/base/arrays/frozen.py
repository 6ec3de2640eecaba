"""Make arrays read-only: those that are stored or returned cannot be changed in place (`freeze`, `cached`).

Arrays created by this library are frozen themselves (`freeze`). Of a caller's array, which the caller may go on
changing, a frozen view is stored (`as_read_only`).
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any, TypeVar, overload

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import Matrix

T = TypeVar("T")
V = TypeVar("V", covariant=True)
#: Types that `freeze` leaves alone: built-in ones, and classes of this library seen so far, which freeze their arrays.
IMMUTABLE_TYPES: set[type] = {float, int, bool, str, type(None), np.float64}


class FastABCMeta(ABCMeta):
    """Metaclass of the abstract classes of this library, with a fast `isinstance`.

    That of `ABCMeta` searches a registry, in Python, at each call; this one only looks at the base classes.
    """

    __instancecheck__ = type.__instancecheck__


def list_arrays(array: Matrix) -> list[Any]:
    """Return the arrays that hold the numbers of an array: itself, or the three of CSR or CSC."""
    if isinstance(array, np.ndarray):
        return [array]
    if _is_compressed(array):
        return [array.data, array.indices, array.indptr]
    return []


def _is_compressed(value: Any) -> bool:
    """Return whether a value is CSR or CSC; `issparse`, which takes microseconds, is only called if it may be."""
    name = getattr(value, "format", None)  # an attribute of a Dask task is another task
    return isinstance(name, str) and name in ("csr", "csc") and bool(sp.issparse(value))


def freeze(value: T) -> T:
    """Make the arrays of a value read-only, and return the value."""
    kind = type(value)
    if kind in IMMUTABLE_TYPES:
        return value
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        freeze_each(value)
    elif _is_compressed(value):
        value.sum_duplicates()  # type: ignore[attr-defined]  # as SciPy would do at first use
        freeze_each(list_arrays(value))
    elif kind.__module__.startswith("qpsvm."):
        IMMUTABLE_TYPES.add(kind)
    return value


def freeze_each(values: Iterable[Any]) -> None:
    """Freeze several values."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            value.flags.writeable = False
        elif kind not in IMMUTABLE_TYPES and (kind is not tuple or value):
            freeze(value)


def as_read_only(value: Any) -> Any:
    """Return a read-only view of a writable array, which may be a caller's; any other value is returned as it is.

    A sparse array that is not canonical is copied: SciPy would sort it in place when it is first used.
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return value
        view = value.view()
        view.flags.writeable = False
        return view
    if type(value) in IMMUTABLE_TYPES or not _is_compressed(value):
        return value
    if not value.has_canonical_format:
        return freeze(value.copy())
    arrays = list_arrays(value)
    if not any(array.flags.writeable for array in arrays):
        return value
    views = tuple(freeze(array.view()) for array in arrays)
    copy_ = type(value)(views, shape=value.shape)
    copy_.has_canonical_format = True
    return copy_


def freeze_parts(record: Any) -> None:
    """Replace the arrays among the attributes of a record, which may be a caller's, by `as_read_only`."""
    for name, value in record.__dict__.items():
        if type(value) not in IMMUTABLE_TYPES and (stored := as_read_only(value)) is not value:
            record.__dict__[name] = stored


def freeze_all(value: Any, visited: set[int] | None = None) -> None:
    """Freeze every array reachable from an object of this library, because pickles do not store that it was frozen."""
    visited = set() if visited is None else visited
    if id(value) in visited:
        return
    visited.add(id(value))
    if list_arrays(value):
        freeze(value)
    elif isinstance(value, (list, tuple, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            freeze_all(item, visited)
    elif type(value).__module__.startswith("qpsvm."):
        freeze_all(getattr(value, "__dict__", {}), visited)


def owns_frozen_data(array: Matrix) -> bool:
    """Return whether an array is frozen and not a view, so that no other array can change its numbers."""
    if type(array) is np.ndarray:
        return array.base is None and not array.flags.writeable
    return not any(stored.flags.writeable or stored.base is not None for stored in list_arrays(array))


def build_frozen(kind: type[T], /, **parts: Any) -> T:
    """Build an object of a frozen dataclass from its parts by name, faster than its `__init__`.

    Parts with a plain default may be omitted. Arrays, which must not be a caller's, become read-only.
    """
    for part in parts.values():
        if type(part) is np.ndarray:
            part.flags.writeable = False
    new = object.__new__(kind)
    new.__dict__.update(parts)
    return new


class cached(cached_property[V]):
    """A `functools.cached_property` without its lock, which freezes the arrays of its value.

    Up to Python 3.11 all objects of a class share one lock. If threads compute a value jointly, each on its own object,
    the first would hold the lock while it waits for the others: a deadlock. An object is used by one thread at a time.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached[V]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> V: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> cached[V] | V:
        """Return the value, which from then on is stored as an attribute."""
        if instance is None:
            return self
        value: Any = self.func(instance)
        if type(value) is np.ndarray:
            value.flags.writeable = False
        elif type(value) not in IMMUTABLE_TYPES:
            freeze(value)
        instance.__dict__[self.attrname] = value  # type: ignore[index]  # it has a name by now
        return value  # type: ignore[no-any-return]


def copy_without_cache(original: T) -> T:
    """Return a copy without cached values, such as the Gram matrix of a problem."""
    computed = _list_cached_names(original.__class__)  # type: ignore[arg-type]  # a class is hashable
    copy_ = object.__new__(original.__class__)
    copy_.__dict__.update({name: value for name, value in original.__dict__.items() if name not in computed})
    return copy_


@cache
def _list_cached_names(kind: type) -> frozenset[str]:
    """Return the names of the cached properties of a class."""
    return frozenset(name for name in dir(kind) if isinstance(getattr(kind, name, None), cached_property))
