"""XXᵀ with scaled rows, plus a diagonal: the dual of every linear machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.arrays.vectors import times
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import check_memory
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.space.operators.base import Operator, rowwise
from qpsvm.space.operators.explicit import as_coefficients, as_vector


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LowRank(Operator):
    """S Z Zᵀ S + diag(d) with S = diag(scale): never made dense unless asked.

    Parameters
    ----------
    Z : array_like, SciPy sparse or RowSource, shape (n, k)
        Kept by reference, read-only: the dual of a linear SVM shares the caller's X.
    d : array_like, shape (n,), optional
        Zero where None.
    scale : array_like, shape (n,), optional
        The rows of the factor are scale_i·z_i; ones where None.

    Attributes
    ----------
    source : RowSource
        The rows of Z: all products go through it, block by block.

    Raises
    ------
    DataError, DataTypeError
        No matrix or vectors of real numbers, or shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> Z = np.array([[1.0], [2.0], [4.0]])
    >>> P = qpsvm.LowRank(Z, d=[0.0, 0.0, 1.0])
    >>> print(P, np.shares_memory(P.Z, Z))
    <LowRank 3 × 3: low rank ZZᵀ + diagonal, Z 3 × 1 dense> True
    >>> print(P @ np.array([1.0, 1.0, 1.0]), P.dense()[2])
    [ 7. 14. 29.] [ 4.  8. 17.]
    """

    source: RowSource
    d: FloatArray | None
    scale: FloatArray | None

    def __init__(self, Z: RowSource | Matrix, d: FloatArray | None = None, scale: FloatArray | None = None) -> None:
        source = Z if isinstance(Z, RowSource) else as_row_source(as_coefficients(Z, "the factor Z"))
        object.__setattr__(self, "source", source)
        for name, given in (("d", d), ("scale", scale)):
            vector = None if given is None else as_vector(given, f"{name} of a low-rank operator")
            object.__setattr__(self, name, vector)
            if vector is not None and vector.shape != (source.n,):
                raise DataError(f"{name} has shape {vector.shape} where the factor Z has {source.n} rows")

    @property
    def Z(self) -> Matrix:
        """The factor as one array, (n, k): what was given, or a copy of rows that are not one array in memory.

        Raises
        ------
        TooLargeError
            There is no memory for the copy.
        """
        return self.source.matrix()

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.source.n, self.source.n

    def __matmul__(self, x: FloatArray) -> FloatArray:
        x = np.asarray(x)
        scaled = x if self.scale is None else rowwise(self.scale, x)
        product = self.source.margins(self.source.weights(scaled))
        if self.scale is not None:
            product = rowwise(self.scale, product)
        return product if self.d is None else product + rowwise(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        out = self.source.inner(rows, columns)
        if self.scale is not None:
            out *= self.scale[rows][:, None]
            out *= self.scale[columns]
        if self.d is not None:
            out += np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)
        return out

    def diagonal(self) -> FloatArray:
        """Diagonal entries scale_i²‖z_i‖² + d_i: (n,)."""
        diagonal = self.source.squared_norms()
        if self.scale is not None:
            diagonal = diagonal * self.scale**2
        return diagonal if self.d is None else diagonal + self.d

    def mean_diagonal(self) -> float:
        """The mean of the diagonal, where nothing is scaled or added by one pass over Z; of all processes' rows."""
        comm, n = self.source.comm, self.source.n
        if self.scale is None and self.d is None:
            return self.source.sum_of_squares() / comm.count(n)
        if comm.serial:
            return super().mean_diagonal()
        added, n = comm.sums(float(self.diagonal().sum()), n)
        return float(added / n)

    def dense(self) -> FloatArray:
        """(n, n)."""
        check_memory(*self.shape, "a low-rank operator made dense")
        Z, d = self.factor()
        out = as_dense(Z @ Z.T)
        out[np.diag_indices_from(out)] += d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        """The same factor with other row scales."""
        return LowRank(
            self.source, None if self.d is None else self.d * s * s, s if self.scale is None else times(s, self.scale)
        )

    def describe(self) -> str:
        """Name the factor's shape and kind."""
        kind = f"sparse, {self.source.entries} non-zeros" if self.source.is_sparse else "dense"
        plus = "" if self.d is None else " + diagonal"
        return f"low rank ZZᵀ{plus}, Z {self.source.n} × {self.source.d} {kind}"

    @property
    def nbytes(self) -> int:
        """Of the factor and the diagonal."""
        return self.source.nbytes + sum(v.nbytes for v in (self.d, self.scale) if v is not None)

    def factor(self) -> tuple[Matrix, FloatArray]:
        """Z with its row scales multiplied in, (n, k), and d, (n,)."""
        Z = self.Z
        if self.scale is not None:
            Z = sp.csr_array(sp.diags_array(self.scale) @ Z) if sp.issparse(Z) else self.scale[:, None] * Z
        return Z, np.zeros(self.shape[0]) if self.d is None else self.d
