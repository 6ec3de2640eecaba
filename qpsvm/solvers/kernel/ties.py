"""Equal rows of equal label made one: tables of counts, codes and rounded measurements have many.

    (KTIES.1)  rows i ∈ g with the same x and y enter (KDUAL.1) by Σ_g α_i alone, which lies between 0 and Σ_g C_i
    (KTIES.2)  any α with that sum is as good; filled up one after the other, at most one of them ends inside its bounds

The gap does not change, and the support is as small as it can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix

#: Share of rows that must go for it to be worth a second set of arrays.
WORTHWHILE = 0.15


@dataclass(frozen=True, eq=False)
class Ties:
    """Groups of equal rows.

    order (n,): The rows, group after group.
    starts (g,): Where in `order` each group starts.
    """

    order: IntArray
    starts: IntArray

    @property
    def rows(self) -> IntArray:
        """One row of each group: (g,)."""
        return self.order[self.starts]

    def total(self, x: FloatArray) -> FloatArray:
        """Sums of x (n,) over the groups: (g,)."""
        sums: FloatArray = np.add.reduceat(x[self.order], self.starts)
        return sums

    def spread(self, x: FloatArray) -> FloatArray:
        """x (g,) for every row of its group: (n,)."""
        out = np.empty(len(self.order), dtype=x.dtype)
        out[self.order] = np.repeat(x, np.diff(np.append(self.starts, len(self.order))))
        return out

    def share_out(self, alpha: FloatArray, upper: FloatArray) -> FloatArray:
        """(KTIES.2): α (n,) from its sums over the groups (g,) and C (n,)."""
        sorted_upper = upper[self.order]
        before = np.cumsum(sorted_upper) - sorted_upper
        filled = before - np.repeat(before[self.starts], np.diff(np.append(self.starts, len(self.order))))
        out = np.empty(len(self.order))
        out[self.order] = np.clip(self.spread(alpha)[self.order] - filled, 0.0, sorted_upper)
        return out


def find_ties(X: Matrix, y: FloatArray) -> Ties | None:
    """Groups of equal rows of X (n, d) with equal y (n,); None where they are few, or X is sparse."""
    if sp.issparse(X):
        return None
    n, d = X.shape
    key = X @ np.random.default_rng(0).normal(size=d)
    order = np.lexsort((y, key))
    equal = (key[order[1:]] == key[order[:-1]]) & (y[order[1:]] == y[order[:-1]])
    if np.count_nonzero(equal) < WORTHWHILE * n:
        return None
    later = np.flatnonzero(equal) + 1
    equal[later - 1] = (X[order[later]] == X[order[later - 1]]).all(axis=1)
    return Ties(order, np.flatnonzero(np.concatenate([[True], ~equal])))
