"""Count the pairs that a ranking puts in the right order (`count_ordered_pairs`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import BLOCK_NUMBERS


def count_ordered_pairs(y: FloatArray, f: FloatArray, groups: NDArray[Any] | None) -> tuple[int, int]:
    """Count the pairs within groups with different y that f ranks in the same order, and all such pairs."""
    names = np.zeros(len(y)) if groups is None else groups
    right = pairs = 0
    for name in np.unique(names):
        members = np.flatnonzero(names == name)
        step = max(1, BLOCK_NUMBERS // len(members))
        for i in range(0, len(members), step):
            rows = members[i : i + step, None]
            better = y[rows] > y[members]
            pairs += int(better.sum())
            right += int((better & (f[rows] > f[members])).sum())
    return right, pairs
