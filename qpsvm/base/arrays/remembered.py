"""A property that is computed once, by threads that may have to wait for each other in it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar, overload

from qpsvm.base.arrays.frozen import frozen

T = TypeVar("T", covariant=True)


class remembered(cached_property[T]):
    """A `functools.cached_property` without its lock. An array that it keeps is frozen.

    Up to Python 3.11 that lock is one for all objects of a class. Where the value is a sum over processes whose members
    are threads, the first of them would hold it while it waits for the others, which wait for the lock. Every object
    of this library is asked by one thread at a time.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> remembered[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> remembered[T] | T:
        """The value, which from then on is found in its place."""
        if instance is None:
            return self
        value: T = frozen(self.func(instance))
        assert self.attrname is not None
        instance.__dict__[self.attrname] = value
        return value


__all__ = ["remembered"]
