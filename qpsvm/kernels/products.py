"""Inner products and squared distances between rows, dense or sparse: by one matrix product, to a known accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.checks import FEW_VALUES
from qpsvm.arrays.types import FloatArray, Matrix, as_dense


def inner(X: Matrix, Z: Matrix) -> FloatArray:
    """Inner products x_iᵀz_j, as a dense array: (n, m)."""
    return as_dense(X @ Z.T)


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
