"""A property that is made once: `functools.cached_property` without the lock that Python 3.11 holds meanwhile.

What is made may ask the other members of a team, and where these are threads, each of them would wait for the lock that
another one holds while it waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Once(Generic[T]):
    """The decorator: the value is kept in the object's dictionary, and found there from then on.

    Parameters
    ----------
    make : callable
        Takes the object.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Once[T] | T:
        """The value, made where it is not there yet."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._make(instance)
        return value


#: As it is written above a property.
once = Once

__all__ = ["Once", "once"]
