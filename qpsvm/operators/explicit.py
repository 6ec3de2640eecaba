"""Matrices that are written down: dense ones and diagonals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.frozen import freeze_parts
from qpsvm.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.errors import DataError
from qpsvm.operators.base import Operator, two_sided
from qpsvm.operators.coefficients import as_coefficients, as_vector, is_ready
from qpsvm.resources.memory import check_memory


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
