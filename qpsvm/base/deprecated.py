"""Mark public functions as deprecated: they work as before and warn, for at least one minor version (`deprecated`)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(since: str, gone: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that keeps a function's behaviour and warns, naming the replacement.

    Parameters
    ----------
    since, gone
        The minor version that warns first, and the one that will not have the function: `"0.2"`, `"0.3"`. The test
        of the policy fails from the day on which the library is of version `gone`.
    instead
        What to call in its place, as code.

    Returns
    -------
    Callable
        A decorator. Its functions carry `since` and `gone` as `__deprecated__`.

    Examples
    --------
    >>> import warnings
    >>> from qpsvm.base.deprecated import deprecated
    >>> @deprecated("0.2", "0.3", "new(x)")
    ... def old(x):
    ...     return 2 * x
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     old(2)
    4
    >>> print(said[0].message)
    old is deprecated since 0.2 and will be gone in 0.3: use new(x)
    """
    if _minor(gone) <= _minor(since):
        raise ValueError(f"gone={gone!r} is not after since={since!r}: one minor version has to warn")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        text = f"{function.__qualname__} is deprecated since {since} and will be gone in {gone}: use {instead}"

        @functools.wraps(function)
        def warn_and_call(*args: P.args, **kwargs: P.kwargs) -> R:
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        warn_and_call.__deprecated__ = (since, gone)  # type: ignore[attr-defined]
        return warn_and_call

    return decorate


def _minor(version: str) -> tuple[int, int]:
    """Return the two numbers of a minor version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
