"""Group equal rows of a matrix (`find_ties`), so that one dual variable can stand for each group (`Ties`)."""

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
    def first_rows(self) -> IntArray:
        """Index of the first row of each group: (g,)."""
        return self.order[self.starts]

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each group: (g,)."""
        return np.diff(np.append(self.starts, len(self.order)))

    def sum_groups(self, x: FloatArray) -> FloatArray:
        """Return the sums of x (n,) over the groups: (g,)."""
        sums: FloatArray = np.add.reduceat(x[self.order], self.starts)
        return sums

    def expand_groups(self, x: FloatArray) -> FloatArray:
        """Return x (g,) repeated for every row of each group, in the order of the rows: (n,)."""
        expanded = np.empty(len(self.order), dtype=x.dtype)
        expanded[self.order] = np.repeat(x, self.sizes)
        return expanded

    def distribute_alpha(self, alpha: FloatArray, upper: FloatArray) -> FloatArray:
        """Distribute alpha (g,), the sum of α of each group, to the rows: (n,).

        In each group, one row after the other is filled up to its upper bound, upper (n,).
        """
        sorted_upper = upper[self.order]
        upper_before = np.cumsum(sorted_upper) - sorted_upper
        filled_before = upper_before - np.repeat(upper_before[self.starts], self.sizes)
        distributed = np.empty(len(self.order))
        distributed[self.order] = np.clip(np.repeat(alpha, self.sizes) - filled_before, 0.0, sorted_upper)
        return distributed


def find_ties(X: Matrix, *labels: FloatArray, min_share: float = 0.0) -> Ties | None:
    """Group rows of X (n, d) that are equal and have equal labels, (n,) each.

    Rows are sorted by a random projection, which makes equal rows neighbours. Neighbours with equal projections are
    then compared entry by entry. If different rows share a projection, a group may be split.

    min_share: Return None if merging would remove a smaller share of the rows.
    """
    n, d = X.shape
    weights = np.random.default_rng(0).normal(size=d)
    # einsum, because BLAS may round the projections of equal rows differently
    if isinstance(X, np.ndarray):
        projections = np.einsum("ij,j->i", X, weights)
    else:
        projections = X @ weights
    order = np.lexsort((*labels, projections))
    equals_previous = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in (projections, *labels)])
    if np.count_nonzero(equals_previous) < min_share * n:
        return None
    candidates = np.flatnonzero(equals_previous)
    differences = X[order[candidates + 1]] != X[order[candidates]]
    if isinstance(differences, np.ndarray):
        equals_previous[candidates] = ~differences.any(axis=1)
    else:
        equals_previous[candidates] = np.diff(sp.csr_array(differences).indptr) == 0
    return Ties(order, np.flatnonzero(np.concatenate([[True], ~equals_previous])))
