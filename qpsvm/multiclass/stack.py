"""The rows of many machines one after the other, so that one operation of NumPy serves all machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.multiclass.split import REST, Split
from qpsvm.problems.nu_svm import largest_nu
from qpsvm.samples import shares_of


@dataclass(frozen=True, eq=False)
class Stack:
    """The rows of P machines, M in all.

    slices: Where the rows of each machine are in `Split.order`: of a pair, those of two classes.
    ends (P + 1,): Where the rows of each begin, and where the last ones end.
    sign, upper (M,): y and U.
    nu (P,) or None: The sum of α, of ν-SVMs.
    """

    slices: list[tuple[slice, ...]]
    ends: IntArray
    sign: FloatArray
    upper: FloatArray
    nu: FloatArray | None = None

    @property
    def machines(self) -> int:
        """P."""
        return len(self.slices)

    def part(self, p: int) -> slice:
        """The rows of a machine."""
        return slice(int(self.ends[p]), int(self.ends[p + 1]))

    @cached_property
    def lengths(self) -> IntArray:
        """How many rows each machine has: (P,)."""
        return np.diff(self.ends)

    @cached_property
    def places(self) -> IntArray:
        """The place in `Split.order` of each row: (M,)."""
        return np.concatenate([np.arange(part.start, part.stop) for parts in self.slices for part in parts])

    def sums(self, values: FloatArray) -> FloatArray:
        """The sum over each machine, (P,), of values (M,)."""
        return np.add.reduceat(values, self.ends[:-1])

    def largest(self, values: FloatArray) -> FloatArray:
        """The largest value of each machine, (P,), of values (M,)."""
        found: FloatArray = np.maximum.reduceat(values, self.ends[:-1])
        return found

    def spread(self, values: FloatArray) -> FloatArray:
        """A value of each machine, (P,), at all of its rows: (M,)."""
        return np.repeat(values, self.lengths)


def stacked(split: Split, prices: FloatArray) -> Stack:
    """The rows of the machines of a split, for U (r,) over its `order`."""
    ends = split.ends.tolist()
    slices: list[tuple[slice, ...]] = []
    signs: list[float] = []
    counts: list[int] = []
    for i, j in split.pairs.tolist():
        if j == REST:
            slices.append((slice(0, ends[-1]),))
            signs += [-1.0, 1.0, -1.0]
            counts += [ends[i], ends[i + 1] - ends[i], ends[-1] - ends[i + 1]]
        else:
            slices.append((slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])))
            signs += [-1.0, 1.0]
            counts += [ends[i + 1] - ends[i], ends[j + 1] - ends[j]]
    lengths = [sum(part.stop - part.start for part in parts) for parts in slices]
    sign = np.repeat(signs, counts)
    upper = np.concatenate([prices[part] for parts in slices for part in parts])
    return Stack(slices, np.concatenate([[0], np.cumsum(lengths)]), sign, upper)


def with_shares(stack: Stack, nu: float) -> Stack:
    """The same rows for ν-SVMs, where U are weights: U becomes their shares, and ν at most what the classes allow."""
    upper, most = np.empty_like(stack.upper), np.empty(stack.machines)
    for p in range(stack.machines):
        part = stack.part(p)
        s, y = stack.upper[part], stack.sign[part]
        upper[part] = shares_of(s)
        most[p] = largest_nu(s, y)
    return replace(stack, upper=upper, nu=np.minimum(nu, most))
