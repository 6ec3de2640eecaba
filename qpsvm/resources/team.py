"""Several processes that run the same solve, each over rows of its own: what they tell each other.

    (TEAM.1)  Σ_i g_i = Σ_p Σ_{i of p} g_i:  every sum over rows is that of the members' own sums, in their order

Each member of a team has some of the rows, and with them all that belongs to a row: label, α, slack, kind. Vectors over
the columns, multipliers and decisions are the same numbers on every member, because each is made from the same sums in
the same way. So a solver is written once. Where it adds up over rows it asks its team for the sum, and it is the same
solver for one process, `ALONE`, and for many. What is looked at one by one, over rows, never leaves its member.

Members must ask for the same things in the same order: whoever makes a decision that the others do not make has to ask
them (`agreed`). A team of several processes checks the order, and stops the solve where it differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray

T = TypeVar("T")
S = TypeVar("S", bound=np.generic)

#: What is made of what the members say: their sum, the largest or least, all behind each other, or the first one's.
Way = Literal["sum", "most", "least", "joined", "first"]


class Team:
    """One process alone; the base of those that are several.

    A team of several overrides `_told` and nothing else.

    size, rank: How many members there are, and which of them this one is.
    """

    size: int = 1
    rank: int = 0

    @property
    def alone(self) -> bool:
        """Whether nobody else has rows."""
        return self.size == 1

    @overload
    def sum(self, value: float) -> float: ...
    @overload
    def sum(self, value: FloatArray) -> FloatArray: ...
    def sum(self, value: float | FloatArray) -> float | FloatArray:
        """The sum over the members, of a number or of an array."""
        if self.alone:
            return value
        return cast("float | FloatArray", self._told("sum", [value])[0])

    def sums(self, *values: Any) -> tuple[Any, ...]:
        """The sums of several numbers or arrays, in one message."""
        return values if self.alone else tuple(self._told("sum", list(values)))

    def count(self, value: int) -> int:
        """The sum of whole numbers."""
        return int(value) if self.alone else int(self._told("sum", [int(value)])[0])

    def most(self, value: float) -> float:
        """The largest number; NaN where any is."""
        return value if self.alone else float(self._told("most", [value])[0])

    def least(self, value: float) -> float:
        """The least number; NaN where any is."""
        return value if self.alone else float(self._told("least", [value])[0])

    def any(self, value: bool) -> bool:
        """Whether it is true of any member."""
        return bool(value) if self.alone else bool(self._told("most", [float(value)])[0])

    def all(self, value: bool) -> bool:
        """Whether it is true of all members."""
        return bool(value) if self.alone else bool(self._told("least", [float(value)])[0])

    def joined(self, values: NDArray[S]) -> NDArray[S]:
        """The members' arrays behind each other, in the order of the members: for few numbers."""
        return values if self.alone else cast("NDArray[S]", self._told("joined", [values])[0])

    def agreed(self, value: T) -> T:
        """What the first member says: of clocks, and of whatever else need not be the same everywhere."""
        return value if self.alone else cast("T", self._told("first", [value])[0])

    def note(self, state: Mapping[str, Any]) -> None:
        """Keep a small state, the same on all members, for whoever waits for them; nobody does for one alone."""

    def _told(self, way: Way, values: list[Any]) -> list[Any]:
        """What is made of the values of all members."""
        raise NotImplementedError(f"{type(self).__name__} has {self.size} members and no way to tell them {way}")


#: The team of a process that has all rows.
ALONE = Team()


def combined(way: Way, said: Sequence[Sequence[Any]]) -> list[Any]:
    """What is made of the values of all members, each a list of as many, in the order of the members.

    Sums are made in that order, so that they are the same numbers for the same members.
    """
    columns = list(zip(*said, strict=True))
    if way == "first":
        return [column[0] for column in columns]
    if way == "joined":
        return [np.concatenate(column) for column in columns]
    return [_of_all(way, column) for column in columns]


def _of_all(way: Way, column: tuple[Any, ...]) -> Any:
    """The sum, largest or least of one value of each member."""
    if way == "most":
        return float(np.max(column))
    if way == "least":
        return float(np.min(column))
    total = column[0] + column[1] if len(column) > 1 else column[0]
    for value in column[2:]:
        total = total + value
    return total


__all__ = ["ALONE", "Team", "Way", "combined"]
