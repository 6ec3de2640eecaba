"""Inner products and squared distances between rows, dense or sparse: by one matrix product, to a known accuracy.

The variance of all entries of X: of an array, or of rows that are only seen a block at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import FEW_VALUES
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.data.rows import RowSource


def inner(X: Matrix, Z: Matrix) -> FloatArray:
    """Inner products x_iᵀz_j, as a dense array: (n, m)."""
    product = X @ Z.T
    return product if isinstance(product, np.ndarray) else as_dense(product)


def squared_norms(X: Matrix) -> FloatArray:
    """‖x_i‖²: (n,)."""
    if sp.issparse(X):
        norms: FloatArray = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return norms
    dense: FloatArray = np.add.reduce(X * X, axis=1) if X.size <= FEW_VALUES else np.einsum("ij,ij->i", X, X)
    return dense


def squared_distances(X: Matrix, Z: Matrix, error: float) -> FloatArray:
    """‖x_i − z_j‖², from one matrix product where rounding allows: (n, m).

    ‖x‖² + ‖z‖² − 2xᵀz loses about 4·eps·max(‖x‖², ‖z‖²) to cancellation. Centring removes what a common offset
    would cost; for pairs of rows that are still too long for `error`, the difference is formed first.
    """
    same = X is Z
    if not (sp.issparse(X) or sp.issparse(Z)):
        origin = Z.mean(axis=0)
        Z = Z - origin
        X = Z if same else X - origin
    x2 = squared_norms(X)
    z2 = x2 if same else squared_norms(Z)
    distances = inner(X, Z)
    distances *= -2.0
    distances += x2[:, None]
    distances += z2
    np.maximum(distances, 0.0, out=distances)
    longest = error / (4 * np.finfo(float).eps)
    far_x, far_z = np.flatnonzero(x2 > longest), np.flatnonzero(z2 > longest)
    if len(far_x) and len(far_z):
        _replace_far(distances, X, Z, far_x, far_z)
    if same:
        np.fill_diagonal(distances, 0.0)
    return distances


def _replace_far(distances: FloatArray, X: Matrix, Z: Matrix, rows: Any, columns: Any) -> None:
    from scipy.spatial.distance import cdist

    targets = as_dense(Z[columns])
    for start in range(0, len(rows), 1024):
        part = rows[start : start + 1024]
        distances[np.ix_(part, columns)] = cdist(as_dense(X[part]), targets, "sqeuclidean")


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
    total, added = X.comm.sums(float(counts.sum()), float(counts @ means))
    mean = added / total
    return float(X.comm.sum(float(counts @ (variances + (means - mean) ** 2)))) / float(total)


def _moments(X: Matrix) -> tuple[float, float, float]:
    """How many entries X has, their mean, and their variance."""
    count = X.shape[0] * X.shape[1]
    if not sp.issparse(X):
        dense: FloatArray = X
        return count, float(dense.mean()), float(dense.var())
    mean = X.sum() / count
    return count, float(mean), float(((X.data - mean) ** 2).sum() + (count - X.nnz) * mean**2) / count


__all__ = ["variance_of"]
