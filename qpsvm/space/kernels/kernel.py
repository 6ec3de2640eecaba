"""Define the interface of kernels (`Kernel`), and wrap any callable as one (`UserKernel`).

The functions compute inner products, norms and squared distances of dense or sparse rows, and the variance of a matrix.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import FEW_VALUES, check_unmasked
from qpsvm.base.arrays.formatting import build_repr
from qpsvm.base.arrays.frozen import FastABCMeta
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.data.rows import RowSource


class Kernel(metaclass=FastABCMeta):
    """Interface of a kernel.

    See Also
    --------
    Linear, Polynomial, RBF, Sigmoid, Precomputed : The kernels of the library.

    Examples
    --------
    A custom kernel is a function, or a class. A class can state that its matrices are positive semidefinite, so that
    they need not be tested.

    >>> import numpy as np
    >>> import qpsvm
    >>> class Cosine(qpsvm.Kernel):
    ...     def __call__(self, X, Z):
    ...         unit = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in (X, Z)]
    ...         return unit[0] @ unit[1].T
    ...     def diagonal(self, X):
    ...         return np.ones(len(X))
    ...     is_psd = True
    >>> X, y = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), [0, 0, 1]
    >>> print(qpsvm.solve(qpsvm.CSVM(X, y, kernel=Cosine())).predict([[9.0, 0.0], [0.0, 9.0]]))
    [0 1]
    >>> print(qpsvm.solve(qpsvm.CSVM(X, y, kernel=lambda X, Z: (X @ Z.T) ** 2)).status)
    optimal
    """

    #: K(x, z) in one line of text, for display; empty if K is not a function of samples.
    formula: ClassVar[str] = ""

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Evaluate K(x_i, z_j): X (n, d), Z (m, d) to (n, m)."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> FloatArray:
        """Evaluate K(x_i, x_i).

        Parameters
        ----------
        X : ndarray or SciPy sparse, shape (n, d)
            Samples.

        Returns
        -------
        ndarray, shape (n,)
            The diagonal of K(X, X).

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.Linear().diagonal(np.array([[1.0, 2.0], [3.0, 0.0]])))
        [5. 9.]
        """

    @property
    @abstractmethod
    def is_psd(self) -> bool:
        """Whether every Gram matrix is positive semidefinite by construction."""

    def resolve(self, X: Matrix) -> Kernel:  # noqa: ARG002  (most kernels have nothing to resolve)
        """Return the kernel with every parameter a number, given the training samples.

        Parameters
        ----------
        X : ndarray or SciPy sparse, shape (n, d)
            The training samples.

        Returns
        -------
        Kernel
            The kernel itself if there is nothing to resolve.

        Raises
        ------
        ParameterError
            `gamma="scale"`, and the samples have no variance.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> X = np.array([[0.0], [2.0]])  # d = 1, variance 1
        >>> qpsvm.RBF("scale").resolve(X)
        RBF(gamma=1.0)
        """
        return self

    def __repr__(self) -> str:
        return build_repr(type(self).__name__, **getattr(self, "__dict__", {}))

    def __str__(self) -> str:
        """Return the `repr` with four significant digits of each parameter, for titles."""
        if not is_dataclass(self):
            return repr(self)
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        texts = {name: f"{x:.4g}" if isinstance(x, float) else repr(x) for name, x in values.items()}
        arguments = ", ".join(f"{name}={text}" for name, text in texts.items())
        return f"{type(self).__name__}({arguments})"


@dataclass(frozen=True)
class UserKernel(Kernel):
    """Kernel of any callable that returns K(X, Z) of shape (n, m); its values are checked at each call."""

    function: Callable[[Matrix, Matrix], Any]

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Return K(X, Z), (n, m), checked by `check_kernel_values`. Raises DataError, DataTypeError."""
        try:
            values = self.function(X, Z)
        except ValueError as error:
            raise DataError(f"the kernel {self} failed: {error}") from error
        return check_kernel_values(values, f"the kernel {self}", (X.shape[0], Z.shape[0]))

    def diagonal(self, X: Matrix) -> FloatArray:
        blocks = [X[i : i + 64] for i in range(0, X.shape[0], 64)]
        return np.concatenate([self(block, block).diagonal() for block in blocks])

    is_psd = False  # unknown, so tested

    def __str__(self) -> str:
        function = getattr(self.function, "func", self.function)  # the function of a functools.partial
        return str(getattr(function, "__name__", type(function).__name__))

    def __repr__(self) -> str:
        return f"UserKernel({self})"


def inner_products(X: Matrix, Z: Matrix) -> FloatArray:
    """Compute inner products x_iᵀz_j as a dense array: (n, m)."""
    product = X @ Z.T
    return product if isinstance(product, np.ndarray) else as_dense(product)


def squared_norms(X: Matrix) -> FloatArray:
    """Compute the squared norms ‖x_i‖² of the rows: (n,)."""
    if not isinstance(X, np.ndarray):
        norms: FloatArray = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return norms
    dense: FloatArray = np.add.reduce(X * X, axis=1) if X.size <= FEW_VALUES else np.einsum("ij,ij->i", X, X)
    return dense


def squared_distances(X: Matrix, Z: Matrix, error: float) -> FloatArray:
    """Compute squared distances ‖x_i − z_j‖², from one matrix product if rounding allows: (n, m).

    The error of ‖x‖² + ‖z‖² − 2xᵀz is about 4·eps·max(‖x‖², ‖z‖²), due to cancellation. Dense rows are centred, so that
    a common offset does not increase it. If both rows of a pair are still too long for an absolute error of `error`,
    their difference is squared instead.
    """
    is_same = X is Z
    if not (sp.issparse(X) or sp.issparse(Z)):
        origin = Z.mean(axis=0)
        Z = Z - origin
        X = Z if is_same else X - origin
    x2 = squared_norms(X)
    z2 = x2 if is_same else squared_norms(Z)
    distances = inner_products(X, Z)
    distances *= -2.0
    distances += x2[:, None]
    distances += z2
    np.maximum(distances, 0.0, out=distances)
    max_squared_norm = float(error) / (4 * sys.float_info.epsilon)
    long_x, long_z = np.flatnonzero(x2 > max_squared_norm), np.flatnonzero(z2 > max_squared_norm)
    if len(long_x) and len(long_z):
        _recompute_from_differences(distances, X, Z, long_x, long_z)
    if is_same:
        np.fill_diagonal(distances, 0.0)
    return distances


def _recompute_from_differences(distances: FloatArray, X: Matrix, Z: Matrix, rows: Any, columns: Any) -> None:
    """Recompute some rows and columns of the squared distances (n, m) in place, from differences of samples."""
    from scipy.spatial.distance import cdist

    targets = as_dense(Z[columns])
    for start in range(0, len(rows), 1024):
        block = rows[start : start + 1024]
        distances[np.ix_(block, columns)] = cdist(as_dense(X[block]), targets, "sqeuclidean")


def compute_variance(X: Matrix | RowSource) -> float:
    """Return the variance over all entries of X (n, d), including zeros that are not stored.

    A `RowSource` is read once: the variance of each piece about its own mean is combined with the variance of these
    means. Squares about 0 would lose digits if the entries have a large offset (Chan, Golub & LeVeque, *Algorithms for
    computing the sample variance*, The American Statistician 37, 1983).
    """
    if isinstance(X, np.ndarray):
        deviations: FloatArray = X - np.add.reduce(X, axis=None) / X.size
        return float(np.add.reduce(deviations * deviations, axis=None)) / X.size
    if not isinstance(X, RowSource):
        return _compute_moments(X)[2]
    moments = [_compute_moments(piece.matrix) for block in X.blocks() for piece in block.iter_tiles()]
    counts, means, variances = np.array(moments).reshape(-1, 3).T
    total = float(counts.sum())
    mean = float(counts @ means) / total
    return float(counts @ (variances + (means - mean) ** 2)) / total


def _compute_moments(X: Matrix) -> tuple[float, float, float]:
    """Compute the number of entries of X, their mean, and their variance."""
    count = X.shape[0] * X.shape[1]
    if not sp.issparse(X):
        dense: FloatArray = X
        return count, float(dense.mean()), float(dense.var())
    mean = X.sum() / count
    return count, float(mean), float(((X.data - mean) ** 2).sum() + (count - X.nnz) * mean**2) / count


def check_kernel_values(values: Any, name: str, shape: tuple[int, int]) -> FloatArray:
    """Check what a user's kernel function returned, and return it as an array (n, m) of its own.

    Raises DataError, DataTypeError.
    """
    check_unmasked(values, f"the matrix that {name} returned")
    try:
        K = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} returned rows of unequal length: {error}") from error
    if K.shape != shape:
        raise DataError(
            f"{name} returned shape {K.shape} where {shape} is expected: every sample of its first argument against "
            "every one of its second"
        )
    if K.dtype.kind not in "biuf":
        raise DataTypeError(f"{name} returned {K.dtype} values; a kernel is real")
    if not np.isfinite(K).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(K))[0])
        raise DataError(f"{name} returned {K[i, j]} for row {i} of its first argument and row {j} of its second")
    return K.astype(np.float64, order="C")
