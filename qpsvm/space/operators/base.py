"""What a symmetric matrix with structure can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.vectors import times


class Operator(ABC):
    """A symmetric (n, n) matrix.

    Attributes
    ----------
    shape : tuple of int
        (n, n).

    See Also
    --------
    Dense, Diagonal, LowRank : The ones to make a QP with.

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
        """P x for x (n,)."""

    @abstractmethod
    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns], dense.

        Parameters
        ----------
        rows, columns : ndarray of int, shapes (r,) and (c,)
            In any order, each as often as wanted.

        Returns
        -------
        ndarray, shape (r, c)
            New, except in `Dense`.

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
        """Diagonal entries.

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
        """The mean of the diagonal.

        Returns
        -------
        float
            The measure by which a QP is scaled for a solver.

        Examples
        --------
        >>> import qpsvm
        >>> qpsvm.Diagonal([1.0, 3.0]).mean_diagonal()
        2.0
        """
        return float(self.diagonal().mean())

    @abstractmethod
    def dense(self) -> FloatArray:
        """The whole matrix.

        Returns
        -------
        ndarray, shape (n, n)
            Treat it as read-only: it may be kept by the operator.

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
        """The operator diag(s) P diag(s), with the same structure.

        Parameters
        ----------
        s : ndarray, shape (n,)
            Factors of rows and columns.

        Returns
        -------
        Operator
            Of the same kind, except where another one is simpler.

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
        """The structure in a few words, for `print(qp)`.

        Returns
        -------
        str
            Without the size.

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
        """Z and d with P = ZZᵀ + diag(d), where such a factor is known.

        Returns
        -------
        (Z, d) or None
            Z (n, k), dense or sparse, and d (n,); None where none is known.

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
        """P[i], dense.

        Parameters
        ----------
        i : int, slice, or array_like of int or bool
            Which rows.

        Returns
        -------
        ndarray, shape (len(i), n)
            One row for an int.

        Examples
        --------
        >>> import qpsvm
        >>> P = qpsvm.Dense([[2.0, 1.0], [1.0, 3.0]])
        >>> print(P.rows(1), P.rows([True, False]))
        [[1. 3.]] [[2. 1.]]
        """
        everything = np.arange(self.shape[0])
        return self.block(np.atleast_1d(everything[i]), everything)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        dense = self.dense()
        return np.array(dense, dtype=dtype, copy=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} × {self.shape[1]}: {self.describe()}>"


def largest_asymmetry(M: FloatArray) -> tuple[int, int, float]:
    """Where M (n, n) and Mᵀ differ most, row and column, and by what share of max |M|; 0 where they are equal."""
    if np.array_equal(M, M.T):
        return 0, 0, 0.0
    difference = np.abs(M - M.T)
    i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), M.shape))
    return i, j, float(difference[i, j] / np.abs(M).max())


def rowwise(s: FloatArray, x: FloatArray) -> FloatArray:
    """diag(s) x for x (n,) or (n, k)."""
    return times(s, x) if x.ndim == 1 else s[:, None] * x


def two_sided(M: FloatArray, s: FloatArray) -> FloatArray:
    """diag(s) M diag(s), a new matrix."""
    out = M * s
    out *= s[:, None]
    return out
