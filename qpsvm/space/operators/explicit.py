"""Matrices that are written down: dense ones and diagonals.

Vectors and matrices of numbers that are no samples: what a QP and its operators are made of, read from outside.

What is an array of float64 already passes unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_real_vector
from qpsvm.base.arrays.doubles import refuse_rounded
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.space.operators.base import Operator, two_sided


def is_ready(values: Any) -> TypeGuard[FloatArray]:
    """Whether values are an array of floats already."""
    return type(values) is np.ndarray and values.dtype == np.float64


def as_vector(values: Any, name: str) -> FloatArray:
    """A vector of real numbers as float64. Raises DataTypeError, DataError."""
    if not is_ready(values):
        if values is None or isinstance(values, (str, bytes)) or sp.issparse(values):
            raise DataTypeError(f"{name} must be a vector of numbers, got {shown(values)}")
        values = as_real_vector(values, name)
    vector: FloatArray = values
    if vector.ndim != 1:
        hint = f"; pass {name}.ravel()" if vector.ndim == 2 and 1 in vector.shape else ""
        raise DataError(f"{name} must be one-dimensional, got shape {vector.shape}{hint}")
    return vector


def as_coefficients(matrix: Any, name: str) -> Matrix:
    """A matrix of real numbers as float64: dense, or sparse in compressed columns or rows, without duplicates.

    Raises DataTypeError, DataError.
    """
    if is_ready(matrix):
        values = matrix
    elif not sp.issparse(matrix):
        if matrix is None or isinstance(matrix, (str, bytes)):
            raise DataTypeError(f"{name} must be a matrix of numbers, got {shown(matrix)}")
        values = as_real_vector(matrix, name)
    elif matrix.dtype.kind not in "biuf":
        raise DataTypeError(f"{name} must hold real numbers, got {matrix.dtype}")
    else:
        values = matrix
    if values.ndim != 2:
        hint = f"; for one row pass {name}.reshape(1, -1)" if values.ndim == 1 else ""
        raise DataError(f"{name} has shape {values.shape}; it must have two dimensions{hint}")
    if not sp.issparse(values):
        return values
    if not isinstance(values, (sp.csc_array, sp.csr_array)) or values.dtype != np.float64:
        refuse_rounded(matrix, values, name)
        values = sp.csc_array(values, dtype=np.float64)
    if not values.has_canonical_format:
        values = values.copy()  # the caller's own arrays are left as they are
        values.sum_duplicates()
    return values


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Operator):
    """An explicit matrix.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        Symmetric, which is checked where a QP is made of it.

    Raises
    ------
    DataError, DataTypeError
        No square matrix of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> P = qpsvm.Dense([[2.0, 1.0], [1.0, 3.0]])
    >>> print(P, P @ np.array([1.0, 1.0]))
    <Dense 2 × 2: dense> [3. 4.]
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        if not is_ready(self.matrix):
            object.__setattr__(self, "matrix", as_dense(as_coefficients(self.matrix, "the matrix of a dense operator")))
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise DataError(f"the matrix of a dense operator must be square, got shape {self.matrix.shape}")
        freeze_parts(self)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        product: FloatArray = self.matrix @ x
        return product

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        return self.matrix[np.ix_(rows, columns)]

    def diagonal(self) -> FloatArray:
        """Diagonal entries: (n,)."""
        return self.matrix.diagonal().copy()

    def dense(self) -> FloatArray:
        """The matrix itself: (n, n)."""
        return self.matrix

    def congruence(self, s: FloatArray) -> Operator:
        """The matrix diag(s) P diag(s)."""
        return Dense(two_sided(self.matrix, s))

    def describe(self) -> str:
        """Say that it is dense."""
        return "dense"

    @property
    def nbytes(self) -> int:
        """8n²."""
        return self.matrix.nbytes


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Operator):
    """A matrix diag(d).

    Parameters
    ----------
    d : array_like, shape (n,)
        The diagonal.

    Raises
    ------
    DataError, DataTypeError
        No vector of real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> P = qpsvm.Diagonal([1.0, 0.0, 3.0])
    >>> print(P, P @ np.array([1.0, 1.0, 1.0]))
    <Diagonal 3 × 3: diagonal, 2 non-zero> [1. 0. 3.]
    """

    d: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", as_vector(self.d, "the diagonal d"))
        freeze_parts(self)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return len(self.d), len(self.d)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        x = np.asarray(x)
        return self.d * x if x.ndim == 1 else self.d[:, None] * x

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        return np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        """A copy of d: (n,)."""
        return self.d.copy()

    def dense(self) -> FloatArray:
        """(n, n), mostly zeros."""
        check_memory(*self.shape, "a diagonal operator made dense")
        return np.diag(self.d)

    def congruence(self, s: FloatArray) -> Operator:
        """The matrix diag(s²d)."""
        return Diagonal(self.d * s * s)

    def describe(self) -> str:
        """Say that it is diagonal, with the number of entries that are not zero."""
        return f"diagonal, {np.count_nonzero(self.d)} non-zero"

    @property
    def nbytes(self) -> int:
        """8n."""
        return self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """An empty Z (n, 0), and d."""
        return np.zeros((len(self.d), 0)), self.d
