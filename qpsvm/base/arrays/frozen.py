"""Make arrays read-only: those that are stored or returned cannot be changed in place (`freeze`, `cached`).

An array of ours is frozen itself. A caller's is left as it is: what is kept of it is a view that is frozen. The same
for whole objects: frozen dataclasses, and properties that are computed once; and their abstract classes.

Vectors that are one number n times take the memory of one, and are known to be constant by their strides.
"""

from __future__ import annotations

import struct
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, TypeVar, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix

T = TypeVar("T")
V = TypeVar("V", covariant=True)
#: Types of values that hold no array: the usual ones, and those of this library that were met.
IMMUTABLE_TYPES: set[type] = {float, int, bool, str, type(None), np.float64}


class FastABCMeta(ABCMeta):
    """The type of abstract classes of this library, of which objects are told by their type, as others are.

    `ABCMeta` looks into its registry, in Python, at each call of `isinstance`.
    """

    __instancecheck__ = type.__instancecheck__


def list_arrays(array: Matrix) -> list[Any]:
    """Return the arrays that hold the numbers of an array: itself, or the three of CSR or CSC."""
    if isinstance(array, np.ndarray):
        return [array]
    return [array.data, array.indices, array.indptr] if _is_compressed(array) else []


def _is_compressed(value: Any) -> bool:
    """Return whether it is CSR or CSC; `issparse` alone takes microseconds, and most values are not."""
    kind = getattr(value, "format", None)  # of a task that Dask has not computed, another task
    return isinstance(kind, str) and kind in ("csr", "csc") and bool(sp.issparse(value))


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
        value.sum_duplicates()  # type: ignore[attr-defined]  # as SciPy would when it is first used
        freeze_each(list_arrays(value))
    elif kind.__module__.startswith("qpsvm."):
        IMMUTABLE_TYPES.add(kind)
    return value


def freeze_each(values: Iterable[Any]) -> None:
    """Freeze all of several values, of which most are arrays or hold none."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            value.flags.writeable = False
        elif kind not in IMMUTABLE_TYPES and (kind is not tuple or value):
            freeze(value)


def as_read_only(value: Any) -> Any:
    """Return the value; instead of a writable array, which may be a caller's, a read-only view.

    A sparse array that is not canonical is copied: SciPy would sort it in place when it is first used.
    """
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.ndarray):
        if not value.flags.writeable:
            return value
        view = value.view()
        view.flags.writeable = False
        return view
    if kind in IMMUTABLE_TYPES or not _is_compressed(value):
        return value
    if not value.has_canonical_format:
        return freeze(value.copy())
    parts = list_arrays(value)
    if not any(part.flags.writeable for part in parts):
        return value
    views = tuple(freeze(part.view()) for part in parts)
    twin = type(value)(views, shape=value.shape)
    twin.has_canonical_format = True
    return twin


def freeze_parts(record: Any) -> None:
    """Keep the arrays of a record, which may be a caller's, as `as_read_only`."""
    for name, value in record.__dict__.items():
        if type(value) not in IMMUTABLE_TYPES and (held := as_read_only(value)) is not value:
            record.__dict__[name] = held


def freeze_all(thing: Any, seen: set[int] | None = None) -> None:
    """Freeze every array that an object of this library reaches: one that was pickled forgets that it was frozen."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if list_arrays(thing):
        freeze(thing)
    elif isinstance(thing, (list, tuple, Mapping)):
        for each in thing.values() if isinstance(thing, Mapping) else thing:
            freeze_all(each, seen)
    elif type(thing).__module__.startswith("qpsvm."):
        freeze_all(getattr(thing, "__dict__", {}), seen)


def is_ours(array: Matrix) -> bool:
    """Return whether an array is frozen and no view of another one, so that it cannot be written to."""
    if type(array) is np.ndarray:
        return array.base is None and not array.flags.writeable
    return not any(part.flags.writeable or part.base is not None for part in list_arrays(array))


def build_frozen(kind: type[T], /, **parts: Any) -> T:
    """Build an object of a frozen dataclass from its parts by name.

    Parts with a plain default may be left out. Its arrays, which must not be a caller's, become read-only.

    `__init__` of a frozen class sets each part by a call of its own, as long as a small vector takes to be added up.
    """
    for part in parts.values():
        if type(part) is np.ndarray:
            part.flags.writeable = False
    new = object.__new__(kind)
    new.__dict__.update(parts)
    return new


class cached(cached_property[V]):
    """A `functools.cached_property` without its lock. An array that it keeps is frozen.

    Up to Python 3.11 that lock is one for all objects of a class. Where the value is a sum over a group whose members
    are threads, the first of them would hold it while it waits for the others, which wait for the lock. Every object
    of this library is asked by one thread at a time.
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


def copy_without_cache(thing: T) -> T:
    """Return a copy without cached values, such as the Gram matrix of a problem."""
    computed = _list_cached_names(thing.__class__)  # type: ignore[arg-type]  # a class is hashable
    twin = object.__new__(thing.__class__)
    twin.__dict__.update({name: value for name, value in thing.__dict__.items() if name not in computed})
    return twin


@cache
def _list_cached_names(kind: type) -> frozenset[str]:
    """Return the names of the cached properties of a class."""
    return frozenset(name for name in dir(kind) if isinstance(getattr(kind, name, None), cached_property))


def repeat_value(value: float, n: int) -> FloatArray:
    """Return one number n times, (n,), read-only and in the memory of one."""
    return _repeat_bytes(struct.pack("d", value), n)


@lru_cache(maxsize=256)
def _repeat_bytes(number: bytes, n: int) -> FloatArray:
    """Return the same from the bytes of the number, so that the cache distinguishes 0 and −0."""
    return np.ndarray((n,), np.float64, number, 0, (0,))  # np.broadcast_to takes ten times as long


def find_common_value(vector: FloatArray) -> float | None:
    """Return the number of a `repeat_value` vector (n,), else None. It reads the strides, not the values."""
    return float(vector[0]) if len(vector) and vector.strides == (0,) else None


def multiply(factors: float | FloatArray, vector: FloatArray) -> FloatArray:
    """Return factors∘vector, (n,): `repeat_value` if both are, and the vector itself if all factors are 1.

    `factors` is one number, or a vector (n,).
    """
    factor = find_common_value(factors) if isinstance(factors, np.ndarray) else factors
    if factor is None:
        product: FloatArray = factors * vector
        return product
    if factor == 1.0:
        return vector
    value = find_common_value(vector)
    return factor * vector if value is None else repeat_value(factor * value, len(vector))


def divide(number: float, vector: FloatArray) -> FloatArray:
    """Return number/vector, (n,): `repeat_value` if the vector is."""
    value = find_common_value(vector)
    quotient: FloatArray = number / vector if value is None else repeat_value(number / value, len(vector))
    return quotient


def sum_where(vector: FloatArray, where: NDArray[np.bool_]) -> float:
    """Return the sum of the entries of a vector (n,) where a mask (n,) is true."""
    value = find_common_value(vector)
    if value is not None:
        return value * int(np.count_nonzero(where))
    return float(np.add.reduce(vector, where=where))


__all__ = [
    "as_read_only",
    "build_frozen",
    "cached",
    "copy_without_cache",
    "divide",
    "find_common_value",
    "freeze",
    "freeze_all",
    "freeze_each",
    "freeze_parts",
    "is_ours",
    "list_arrays",
    "multiply",
    "repeat_value",
    "sum_where",
]  # fmt: skip
