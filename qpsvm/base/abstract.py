"""Abstract classes of which objects are told by their type, as others are: nothing is registered with them.

`abc.ABCMeta` looks into its registry, in Python, each time that somebody asks `isinstance`.
"""

from __future__ import annotations

from abc import ABCMeta


class Abstract(ABCMeta):
    """The type of abstract classes of this library."""

    __instancecheck__ = type.__instancecheck__


__all__ = ["Abstract"]
