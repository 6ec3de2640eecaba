"""The variance of all entries of X: of an array, or of rows that are only seen a block at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.rows import RowSource


def variance_of(X: Matrix | RowSource) -> float:
    """The variance over all entries of X (n, d), zeros that are not stored among them.

    Of a source in one pass, with sums of squares about the mean of each piece, which are then moved to that of all:
    squares about 0 would lose the digits that an offset costs (Chan, Golub & LeVeque, *Algorithms for computing the
    sample variance*, The American Statistician 37, 1983).
    """
    if not isinstance(X, RowSource):
        return _moments(X)[2]
    found = [_moments(piece.matrix) for block in X.blocks() for piece in block.pieces()]
    counts, means, variances = np.array(found).reshape(-1, 3).T
    total, added = X.team.sums(float(counts.sum()), float(counts @ means))
    mean = added / total
    return float(X.team.sum(float(counts @ (variances + (means - mean) ** 2)))) / float(total)


def _moments(X: Matrix) -> tuple[float, float, float]:
    """How many entries X has, their mean, and their variance."""
    count = X.shape[0] * X.shape[1]
    if not sp.issparse(X):
        dense: FloatArray = X
        return count, float(dense.mean()), float(dense.var())
    mean = X.sum() / count
    return count, float(mean), float(((X.data - mean) ** 2).sum() + (count - X.nnz) * mean**2) / count


__all__ = ["variance_of"]
