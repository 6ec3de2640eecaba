"""What is made of numbers of which each of several processes has some: their sum in double-double, and a quantile.

    (OVER.1)  the sum of all is that of the members' sums, each told as two doubles, so that no digit is lost on the way
    (OVER.2)  where Rt + the weights of the points up to t rise to a level:  a joined sample of the points brackets the
              place, four sums over the members say in which part it is, and only that part is looked at again

A round of (OVER.2) leaves a tenth of the points, and never the wrong ones: the sums decide, not the sample. What is
told does not grow with the number of points.

Several processes that run the same solve, each over rows of its own: what they tell each other.

    (TEAM.1)  Σ_i g_i = Σ_p Σ_{i of p} g_i:  every sum over rows is that of the members' own sums, in their order

Each of its members has some of the rows, and all that belongs to a row: label, α, slack, kind. Vectors over
the columns, multipliers and decisions are the same numbers on every member, because each is made from the same sums in
the same way. So a solver is written once. Where it adds up over rows it asks its communicator, and is the same
solver for one process, `SERIAL`, and for many. What is looked at one by one, over rows, never leaves its member.

Members must ask for the same things in the same order: whoever makes a decision that the others do not make has to ask
them (`broadcast`). A communicator of several processes checks the order, and stops the solve where it differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import ge, gt
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import common_value
from qpsvm.base.arrays.frozen import total as total_where
from qpsvm.base.arrays.rounding import FEW, UNIT, exact_sum, total, total_in_two
from qpsvm.base.arrays.types import FloatArray

T = TypeVar("T")
S = TypeVar("S", bound=np.generic)

#: What is made of what the members say: their sum, the largest or least, all behind each other, or the first one's.
Way = Literal["sum", "max", "min", "allgather", "broadcast"]


class Communicator:
    """One process alone; the base of those that are several.

    A communicator of several overrides `_told` and nothing else.

    size, rank: How many members there are, and which of them this one is.
    """

    size: int = 1
    rank: int = 0

    @cached_property
    def serial(self) -> bool:
        """Whether nobody else has rows."""
        return self.size == 1

    @overload
    def sum(self, value: float) -> float: ...
    @overload
    def sum(self, value: FloatArray) -> FloatArray: ...
    def sum(self, value: float | FloatArray) -> float | FloatArray:
        """The sum over the members, of a number or of an array."""
        if self.serial:
            return value
        return cast("float | FloatArray", self._told("sum", [value])[0])

    def sums(self, *values: Any) -> tuple[Any, ...]:
        """The sums of several numbers or arrays, in one message."""
        return values if self.serial else tuple(self._told("sum", list(values)))

    def count(self, value: int) -> int:
        """The sum of whole numbers."""
        return int(value) if self.serial else int(self._told("sum", [int(value)])[0])

    def max(self, value: float) -> float:
        """The largest number; NaN where any is."""
        return value if self.serial else float(self._told("max", [value])[0])

    def min(self, value: float) -> float:
        """The least number; NaN where any is."""
        return value if self.serial else float(self._told("min", [value])[0])

    def any(self, value: bool) -> bool:
        """Whether it is true of any member."""
        return bool(value) if self.serial else bool(self._told("max", [float(value)])[0])

    def all(self, value: bool) -> bool:
        """Whether it is true of all members."""
        return bool(value) if self.serial else bool(self._told("min", [float(value)])[0])

    def allgather(self, values: NDArray[S]) -> NDArray[S]:
        """The members' arrays behind each other, in the order of the members: for few numbers."""
        return values if self.serial else cast("NDArray[S]", self._told("allgather", [values])[0])

    def broadcast(self, value: T) -> T:
        """What the first member says: of clocks, and of whatever else need not be the same everywhere."""
        return value if self.serial else cast("T", self._told("broadcast", [value])[0])

    def note(self, state: Mapping[str, Any]) -> None:
        """Keep a small state, the same on all members, for whoever waits for them; nobody does for one alone."""

    def _told(self, way: Way, values: list[Any]) -> list[Any]:
        """What is made of the values of all members."""
        raise NotImplementedError(f"{type(self).__name__} has {self.size} members and no way to tell them {way}")


#: The communicator of a process that has all rows.
SERIAL = Communicator()


def combined(way: Way, said: Sequence[Sequence[Any]]) -> list[Any]:
    """What is made of the values of all members, each a list of as many, in the order of the members.

    Sums are made in that order, so that they are the same numbers for the same members.
    """
    columns = list(zip(*said, strict=True))
    if way == "broadcast":
        return [column[0] for column in columns]
    if way == "allgather":
        return [np.concatenate(column) for column in columns]
    return [_of_all(way, column) for column in columns]


def _of_all(way: Way, column: tuple[Any, ...]) -> Any:
    """The sum, largest or least of one value of each member."""
    if way == "max":
        return float(np.max(column))
    if way == "min":
        return float(np.min(column))
    total = column[0] + column[1] if len(column) > 1 else column[0]
    for value in column[2:]:
        total = total + value
    return total


#: So few points are told as they are; of more, a crossing is bracketed by a sample of SAMPLE, BRACKET to each side.
SAMPLE, BRACKET = 4096, 200
EPS = float(np.finfo(float).eps)


def total_over(values: FloatArray, comm: Communicator, *added: float) -> tuple[float, float]:
    """The sum of the members' vectors, (n,) each, plus more numbers, and how far it may be off, (OVER.1)."""
    if comm.serial:
        return total(values, *added)
    told = comm.allgather(np.array([total_in_two(values)]))
    s = exact_sum([*told[:, :2].ravel().tolist(), *added])
    return s, (UNIT * abs(s) + exact_sum(told[:, 2].tolist())) * FEW


def quantile_interval(
    points: FloatArray, weights: FloatArray, level: float, comm: Communicator = SERIAL
) -> tuple[float, float]:
    """All minimisers t of Σ weights_i (t − points_i)₊ − level·t: the weighted quantile of the points at a level.

    Shapes: points, weights (n,) of each member.
    """
    common = common_value(weights)
    if comm.serial and common is not None and 0.0 < common < math.inf:
        return _order_statistics(points, level / common)
    count, mass = comm.sums(len(points), float(weights.sum()))
    slack = 4 * count * EPS * mass
    low = crossing(points, weights, level - slack, comm)
    if not low < math.inf:
        return comm.max(float(points.max(initial=-math.inf))), math.inf
    above = points > low
    passed = comm.sum(total_where(weights, ~above))
    if passed > level + slack:
        return low, low
    return low, crossing(points[above], weights[above], level + slack, comm, before=passed, strict=True)


def _order_statistics(points: FloatArray, level: float) -> tuple[float, float]:
    """`quantile_interval` for weights that are all 1: two order statistics, and nothing has to be sorted."""
    n = len(points)
    slack = 4 * n * EPS * n
    first = min(max(math.ceil(level - slack) - 1, 0), n - 1)
    last = math.floor(level + slack)
    ordered = points.copy()
    ordered.partition((first, min(last, n - 1)))
    return float(ordered[first]), float(ordered[last]) if last < n else float("inf")


def crossing(
    points: FloatArray,
    weights: FloatArray,
    level: float,
    comm: Communicator,
    before: float = 0.0,
    ridge: float = 0.0,
    strict: bool = False,
) -> float:
    """Where Rt + the weights of the points up to t reach a level, (OVER.2): a point, or between two where R > 0.

    Shapes: points, weights (n,).
    """
    reached, end = gt if strict else ge, math.inf
    while True:
        count, mass = comm.sums(len(points), float(weights.sum()))
        if count <= SAMPLE:
            break
        low, high = _bracket(points, weights, level - before, ridge, (count, mass), comm)
        below, inside = points < low, (points > low) & (points < high)
        at_low, at_high = points == low, (points == high) & (high > low)
        masses = comm.sum(np.array([total_where(weights, part) for part in (below, at_low, inside, at_high)]))
        to_low, with_low, to_high, with_high = (before + np.cumsum(masses)).tolist()
        if reached(ridge * low + to_low, level):
            kept, end = below, low
        elif reached(ridge * low + with_low, level):
            return low
        elif reached(ridge * high + to_high, level):
            kept, end, before = inside, high, with_low
        elif reached(ridge * high + with_high, level):
            return high
        else:
            kept, before = points > high, with_high
        points, weights = points[kept], weights[kept]
    return _crossing_of_few(comm.allgather(np.column_stack([points, weights])), level, before, ridge, strict, end)


def _bracket(
    points: FloatArray, weights: FloatArray, level: float, ridge: float, whole: tuple[int, float], comm: Communicator
) -> tuple[float, float]:
    """Two points between which the crossing is in all likelihood, from a sample of all members' points.

    `whole` is how many there are, and their weight.
    """
    step = -(-whole[0] // SAMPLE)
    told = comm.allgather(np.column_stack([points[::step], weights[::step]]))
    sample, mass = told[np.argsort(told[:, 0], kind="stable")].T
    mass = np.cumsum(mass)
    share = whole[1] / mass[-1] if mass[-1] > 0.0 else 0.0
    k = int(np.searchsorted(ridge * sample + share * mass, level))
    return float(sample[max(k - BRACKET, 0)]), float(sample[min(k + BRACKET, len(sample) - 1)])


def _crossing_of_few(told: FloatArray, level: float, before: float, ridge: float, strict: bool, end: float) -> float:
    """`crossing` for points and weights that all members know, (k, 2), and the end of the part that they are of."""
    points, weights = told[np.argsort(told[:, 0], kind="stable")].T
    passed = before + np.cumsum(weights)
    k = int(np.searchsorted(ridge * points + passed, level, side="right" if strict else "left"))
    knot = float(points[k]) if k < len(points) else end
    if not ridge:
        return knot
    return min((level - (float(passed[k - 1]) if k else before)) / ridge, knot)


__all__ = ["SERIAL", "Communicator", "Way", "combined", "crossing", "quantile_interval", "total_over"]
