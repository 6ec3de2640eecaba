"""Group equal rows of a matrix (`find_ties`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix


@dataclass(frozen=True, eq=False)
class Ties:
    """Groups of equal rows of a matrix with n rows.

    order (n,): The indices of the rows, group after group.
    starts (g,): The position in `order` at which each of the g groups starts.
    """

    order: IntArray
    starts: IntArray

    @property
    def rows(self) -> IntArray:
        """Index of the first row of each group: (g,)."""
        return self.order[self.starts]

    def sum_groups(self, x: FloatArray) -> FloatArray:
        """Return the sums of x (n,) over the groups: (g,)."""
        sums: FloatArray = np.add.reduceat(x[self.order], self.starts)
        return sums

    def expand_groups(self, x: FloatArray) -> FloatArray:
        """Return for every row the entry of x (g,) of its group: (n,)."""
        out = np.empty(len(self.order), dtype=x.dtype)
        out[self.order] = np.repeat(x, np.diff(np.append(self.starts, len(self.order))))
        return out

    def distribute_alpha(self, alpha: FloatArray, upper: FloatArray) -> FloatArray:
        """Distribute sums of α over the groups to the rows: (n,).

        alpha (g,): The sums.
        upper (n,): Upper bounds of the rows. In each group, one row after the other is filled up to its bound.
        """
        sorted_upper = upper[self.order]
        upper_before = np.cumsum(sorted_upper) - sorted_upper
        group_sizes = np.diff(np.append(self.starts, len(self.order)))
        filled_before = upper_before - np.repeat(upper_before[self.starts], group_sizes)
        out = np.empty(len(self.order))
        out[self.order] = np.clip(self.expand_groups(alpha)[self.order] - filled_before, 0.0, sorted_upper)
        return out


def find_ties(X: Matrix, *labels: FloatArray, min_share: float = 0.0) -> Ties | None:
    """Group equal rows of X (n, d) with equal labels, (n,) each.

    Rows are sorted by a random projection, so equal rows are neighbours; neighbours are then compared entry by entry.

    min_share: Return None if merging would remove a smaller share of the rows.
    """
    n, d = X.shape
    weights = np.random.default_rng(0).normal(size=d)
    # einsum, because BLAS may round the projections of equal rows differently
    key = np.einsum("ij,j->i", X, weights) if isinstance(X, np.ndarray) else X @ weights
    order = np.lexsort((*labels, key))
    equal = np.logical_and.reduce([values[order[1:]] == values[order[:-1]] for values in (key, *labels)])
    if np.count_nonzero(equal) < min_share * n:
        return None
    candidates = np.flatnonzero(equal)
    differences = X[order[candidates + 1]] != X[order[candidates]]
    if isinstance(differences, np.ndarray):
        equal[candidates] = ~differences.any(axis=1)
    else:
        equal[candidates] = np.diff(sp.csr_array(differences).indptr) == 0
    return Ties(order, np.flatnonzero(np.concatenate([[True], ~equal])))
