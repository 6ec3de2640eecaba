"""Group equal rows of a matrix (`find_ties`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix


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
        """The first row of each group in `order`: (g,)."""
        return self.order[self.starts]

    def sum_groups(self, x: FloatArray) -> FloatArray:
        """Return the sums of x (n,) over the groups: (g,)."""
        sums: FloatArray = np.add.reduceat(x[self.order], self.starts)
        return sums

    def expand_groups(self, x: FloatArray) -> FloatArray:
        """Return x (g,) for every row of its group: (n,)."""
        out = np.empty(len(self.order), dtype=x.dtype)
        out[self.order] = np.repeat(x, np.diff(np.append(self.starts, len(self.order))))
        return out

    def distribute_alpha(self, alpha: FloatArray, upper: FloatArray) -> FloatArray:
        """Return α (n,) from its sums over the groups (g,), filled up to C (n,) one row after the other."""
        sorted_upper = upper[self.order]
        upper_before = np.cumsum(sorted_upper) - sorted_upper
        filled = upper_before - np.repeat(upper_before[self.starts], np.diff(np.append(self.starts, len(self.order))))
        out = np.empty(len(self.order))
        out[self.order] = np.clip(self.expand_groups(alpha)[self.order] - filled, 0.0, sorted_upper)
        return out


def find_ties(X: Matrix, *labels: FloatArray, min_share: float = 0.0) -> Ties | None:
    """Group equal rows of X (n, d) with equal labels, (n,) each.

    Returns None if merging would remove less than the share `min_share` of the rows.
    """
    n, d = X.shape
    weights = np.random.default_rng(0).normal(size=d)
    # einsum, because BLAS may round equal rows differently
    key = np.einsum("ij,j->i", X, weights) if isinstance(X, np.ndarray) else X @ weights
    order = np.lexsort((*labels, key))
    equal = np.logical_and.reduce([values[order[1:]] == values[order[:-1]] for values in (key, *labels)])
    if np.count_nonzero(equal) < min_share * n:
        return None
    later = np.flatnonzero(equal) + 1
    differences = X[order[later]] != X[order[later - 1]]
    if isinstance(differences, np.ndarray):
        equal[later - 1] = ~differences.any(axis=1)
    else:
        equal[later - 1] = np.diff(sp.csr_array(differences).indptr) == 0
    return Ties(order, np.flatnonzero(np.concatenate([[True], ~equal])))
