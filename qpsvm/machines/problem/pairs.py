"""Pairs (better, worse) of samples: all that a target makes within its groups, some of them, or given ones.

The members of a group are sorted by how good they are. Then the worse ones of a sample are the first ones of its group,
and the pairs can be counted, and any of them named, without a list of all: there may be n²/2 of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpsvm.base.arrays.checks import as_finite_vector, raw_array
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError, TooLargeError

#: Most pairs that are made of a target: their numbers and multipliers take some 100 B each, a gigabyte in all.
MOST_PAIRS = 10_000_000
#: How many are drawn at once for each that is wanted: some are drawn twice.
DRAWN = 1.1


class PairOrder(NamedTuple):
    """The pairs of a target, in order, without a list of them.

    members (n,): The samples, group after group, from the worst to the best of each.
    first, worse (n,): Where a member's group begins, and how many of it are worse.
    """

    members: IntArray
    first: IntArray
    worse: IntArray

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return int(self.worse.sum())

    def at(self, numbers: IntArray) -> IntArray:
        """The pairs of these numbers, from 0 to total − 1: (k, 2)."""
        ends = np.cumsum(self.worse)
        better = np.searchsorted(ends, numbers, side="right")
        place = numbers - (ends[better] - self.worse[better])
        return np.column_stack([self.members[better], self.members[self.first[better] + place]])


def pair_order(y: FloatArray, groups: ArrayLike | None) -> PairOrder:
    """The pairs of samples of the same group with different y (n,).

    Raises DataError.
    """
    names: NDArray[np.intp] = np.zeros(len(y), dtype=np.intp)
    if groups is not None:
        raw = raw_array(groups, "groups")
        if raw.shape != y.shape:
            raise DataError(f"groups has shape {raw.shape} where {y.shape} is expected: one for each row of X")
        names = np.unique(raw, return_inverse=True)[1].reshape(y.shape)
    members = np.lexsort((y, names))
    group, value, place = names[members], y[members], np.arange(len(y))
    new_group = np.append(True, group[1:] != group[:-1])
    new_value = new_group | np.append(True, value[1:] != value[:-1])
    first = np.maximum.accumulate(np.where(new_group, place, 0))
    equal = np.maximum.accumulate(np.where(new_value, place, 0))  # where those that are as good begin
    return PairOrder(members, first, equal - first)


def made_pairs(y: FloatArray, groups: ArrayLike | None) -> IntArray:
    """All pairs (better, worse) within the groups: (m, 2).

    Raises DataError, TooLargeError.
    """
    order = pair_order(y, groups)
    if not order.total:
        where = "all samples are" if groups is None else "the samples of every group are"
        raise DataError(f"there is no pair: {where} equally good")
    if order.total > MOST_PAIRS:
        raise TooLargeError(
            f"y makes {order.total} pairs, more than {MOST_PAIRS}: compare fewer samples with each other by groups=, "
            "or take some of the pairs, pairs=Ranking.sampled_pairs(y, 1_000_000)"
        )
    return order.at(np.arange(order.total))


def sampled_pairs(y: FloatArray, most: int, groups: ArrayLike | None, seed: int | None) -> IntArray:
    """Different pairs (better, worse) within the groups, each as likely as any other: (at most `most`, 2).

    Raises DataError.
    """
    order = pair_order(y, groups)
    if order.total <= most:
        return made_pairs(y, groups)
    rng = np.random.default_rng(seed)
    if order.total < 2 * most:
        return order.at(np.sort(rng.choice(order.total, most, replace=False)))
    numbers = np.zeros(0, dtype=np.intp)
    while len(numbers) < most:
        more = rng.integers(order.total, size=int(DRAWN * (most - len(numbers))) + 1)
        numbers = np.unique(np.concatenate([numbers, more]))
    return order.at(np.sort(rng.permutation(numbers)[:most]))


def as_pairs(pairs: ArrayLike, n: int) -> IntArray:
    """Check pairs of different samples: (m, 2).

    Raises DataError, DataTypeError.
    """
    raw = raw_array(pairs, "pairs")
    if not raw.size:
        raise DataError("pairs is empty: there is nothing to put in order")
    if raw.ndim != 2 or raw.shape[1] != 2:
        raise DataError(f"pairs must have two columns, better and worse, got shape {raw.shape}")
    values = as_finite_vector(raw.ravel(), "pairs", raw.size)
    if (values != np.round(values)).any() or values.min() < 0 or values.max() >= n:
        raise DataError(f"pairs must be numbers of rows of X, whole ones from 0 to {n - 1}")
    found = values.astype(np.intp).reshape(-1, 2)
    same = found[:, 0] == found[:, 1]
    if same.any():
        k = int(np.argmax(same))
        raise DataError(f"pairs[{k}] is a sample with itself: {found[k].tolist()}")
    return found
