"""Define symmetric matrices with structure (`Operator`), and the dense and diagonal ones (`Dense`, `Diagonal`)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.coefficients import as_coefficients, as_vector, is_float64_array
from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.frozen import FastABCMeta, freeze_parts
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import check_memory


class Operator(metaclass=FastABCMeta):
    """A symmetric (n, n) matrix.

    Attributes
    ----------
    shape : tuple of int
        (n, n).

    See Also
    --------
    Dense, Diagonal, LowRank : The operators to build a QP with.

    Examples
    --------
    The P of a linear machine's dual is its X with signs, however many rows there are:

    >>> import numpy as np
    >>> import qpsvm
    >>> X, y = np.ones((100_000, 2)), np.arange(100_000) % 2
    >>> P = qpsvm.CSVM(X, y).qp("dual").P
    >>> print(P)
    <LowRank 100000 × 100000: low rank ZZᵀ, Z 100000 × 2 dense>
    >>> print((P @ np.ones(100_000)).shape, P.rows([0]).shape, P.block(np.array([0]), np.array([1, 2])))
    (100000,) (1, 100000) [[-2.  2.]]
    """

    shape: tuple[int, int]

    @abstractmethod
    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return P x: (n,) for x (n,)."""

    @abstractmethod
    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return P[rows][:, columns], dense.

        Parameters
        ----------
        rows, columns : ndarray of int, shapes (r,) and (c,)
            In any order, with repetitions or without.

        Returns
        -------
        ndarray, shape (r, c)
            A new array.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> P = qpsvm.LowRank(np.array([[1.0], [2.0], [4.0]]))
        >>> print(P.block(np.array([0]), np.array([1, 2])))
        [[2. 4.]]
        """

    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the diagonal entries.

        Returns
        -------
        ndarray, shape (n,)
            A copy.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.LowRank(np.array([[1.0], [2.0], [4.0]])).diagonal())
        [ 1.  4. 16.]
        """

    def mean_diagonal(self) -> float:
        """Return the mean of the diagonal.

        Returns
        -------
        float
            The measure of the size of P by which a QP is scaled for a solver.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.Diagonal([1.0, 3.0]).mean_diagonal()
        2.0
        """
        return float(self.diagonal().mean())

    @abstractmethod
    def dense(self) -> FloatArray:
        """Return the matrix as a dense array.

        Returns
        -------
        ndarray, shape (n, n)
            Treat it as read-only: it may be the operator's own array.

        Raises
        ------
        TooLargeError
            It does not fit into memory.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> print(qpsvm.LowRank(np.array([[1.0], [2.0]]), d=[0.0, 5.0]).dense())
        [[1. 2.]
         [2. 9.]]
        """

    @abstractmethod
    def congruence(self, s: FloatArray) -> Operator:
        """Return the operator diag(s) P diag(s), with the same structure.

        Parameters
        ----------
        s : ndarray, shape (n,)
            Factors of rows and columns.

        Returns
        -------
        Operator
            Of the same class, unless another one is simpler.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> P = qpsvm.LowRank(np.array([[1.0], [2.0]])).congruence(np.array([1.0, -1.0]))
        >>> print(P, P.diagonal(), P.block(np.array([0]), np.array([1])))
        <LowRank 2 × 2: low rank ZZᵀ, Z 2 × 1 dense> [1. 4.] [[-2.]]
        """

    @abstractmethod
    def describe(self) -> str:
        """Describe the structure in a few words, for `print(qp)`.

        Returns
        -------
        str
            The structure, without the size.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.Diagonal([1.0, 0.0, 3.0]).describe()
        'diagonal, 2 non-zero'
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that the operator holds now, in bytes."""

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """Return Z and d with P = ZZᵀ + diag(d), if such a factor is known.

        Returns
        -------
        (Z, d) or None
            Z (n, k), dense or sparse, and d (n,); None if no factor is known.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> Z, d = qpsvm.LowRank(np.array([[1.0], [2.0]])).factor()
        >>> print(Z.shape, d, qpsvm.Dense([[2.0, 1.0], [1.0, 2.0]]).factor())
        (2, 1) [0. 0.] None
        """
        return None

    def rows(self, i: Any) -> FloatArray:
        """Return P[i], dense.

        Parameters
        ----------
        i : int, slice, or array_like of int or bool
            Which rows.

        Returns
        -------
        ndarray, shape (len(i), n)
            One row for an int, (1, n).

        Examples
        --------
        >>> import qpsvm
        >>> P = qpsvm.Dense([[2.0, 1.0], [1.0, 3.0]])
        >>> print(P.rows(1), P.rows([True, False]))
        [[1. 3.]] [[2. 1.]]
        """
        indices = np.arange(self.shape[0])
        return self.block(np.atleast_1d(indices[i]), indices)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.dense(), dtype=dtype, copy=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} × {self.shape[1]}: {self.describe()}>"


def find_largest_asymmetry(M: FloatArray) -> tuple[int, int, float]:
    """Return the row and column where M (n, n) and Mᵀ differ most, and the difference as a share of max |M|."""
    if np.array_equal(M, M.T):
        return 0, 0, 0.0
    difference = np.abs(M - M.T)
    i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), M.shape))
    return i, j, float(difference[i, j] / np.abs(M).max())


def scale_rows(s: FloatArray, x: FloatArray) -> FloatArray:
    """Return diag(s) x for s (n,) and x (n,) or (n, k)."""
    return multiply(s, x) if x.ndim == 1 else s[:, None] * x


def scale_both_sides(M: FloatArray, s: FloatArray) -> FloatArray:
    """Return diag(s) M diag(s) for M (n, n) and s (n,), as a new matrix."""
    scaled = M * s
    scaled *= s[:, None]
    return scaled


@dataclass(frozen=True, eq=False, repr=False)
class Dense(Operator):
    """An explicit matrix.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        Symmetric, which `QP` checks.

    Raises
    ------
    DataError, DataTypeError
        Not a square matrix of real numbers.

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
        if not is_float64_array(self.matrix):
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
        """Return P[rows][:, columns]: (r, c)."""
        return self.matrix[np.ix_(rows, columns)]

    def diagonal(self) -> FloatArray:
        """Return the diagonal entries: (n,)."""
        return self.matrix.diagonal().copy()

    def dense(self) -> FloatArray:
        """Return the matrix itself: (n, n)."""
        return self.matrix

    def congruence(self, s: FloatArray) -> Operator:
        """Return the matrix diag(s) P diag(s)."""
        return Dense(scale_both_sides(self.matrix, s))

    def describe(self) -> str:
        """Return "dense"."""
        return "dense"

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix, 8n²."""
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
        Not a vector of real numbers.

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
        return self.d * x if np.ndim(x) == 1 else self.d[:, None] * x

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return P[rows][:, columns]: (r, c)."""
        return np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        """Return a copy of d: (n,)."""
        return self.d.copy()

    def dense(self) -> FloatArray:
        """Return diag(d): (n, n)."""
        check_memory(*self.shape, "a diagonal operator made dense")
        return np.diag(self.d)

    def congruence(self, s: FloatArray) -> Operator:
        """Return the matrix diag(s²d)."""
        return Diagonal(self.d * s * s)

    def describe(self) -> str:
        """Return "diagonal", with the number of entries that are not zero."""
        return f"diagonal, {np.count_nonzero(self.d)} non-zero"

    @property
    def nbytes(self) -> int:
        """Bytes of d, 8n."""
        return self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """Return an empty Z (n, 0), and d."""
        return np.zeros((len(self.d), 0)), self.d
