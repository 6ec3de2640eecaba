"""ZZᵀ with scaled rows, plus a diagonal: the dual of every linear machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import times
from qpsvm.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.errors import DataError
from qpsvm.operators.base import Operator, check_memory, rowwise
from qpsvm.operators.coefficients import as_coefficients, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Operator):
    """S Z Zᵀ S + diag(d) with S = diag(scale): never made dense unless asked.

    Parameters
    ----------
    Z : array_like or SciPy sparse, shape (n, k)
        Kept by reference: the dual of a linear SVM shares the caller's X.
    d : array_like, shape (n,), optional
        Zero where None.
    scale : array_like, shape (n,), optional
        The rows of the factor are scale_i·z_i; ones where None.

    Raises
    ------
    DataError, DataTypeError
        No matrix or vectors of real numbers, or shapes that do not fit.
    """

    Z: Matrix
    d: FloatArray | None = None
    scale: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "Z", as_coefficients(self.Z, "the factor Z"))
        for name in ("d", "scale"):
            given = getattr(self, name)
            if given is not None:
                vector = as_vector(given, f"{name} of a low-rank operator")
                object.__setattr__(self, name, vector)
                if vector.shape != self.Z.shape[:1]:
                    raise DataError(f"{name} has shape {vector.shape} where the factor Z has {self.Z.shape[0]} rows")

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.Z.shape[0], self.Z.shape[0]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else rowwise(self.scale, x)
        product: FloatArray = self.Z @ (self.Z.T @ scaled)
        if self.scale is not None:
            product = rowwise(self.scale, product)
        return product if self.d is None else product + rowwise(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        out = as_dense(self.Z[rows] @ self.Z[columns].T)
        if self.scale is not None:
            out *= self.scale[rows][:, None]
            out *= self.scale[columns]
        if self.d is not None:
            out += np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)
        return out

    def diagonal(self) -> FloatArray:
        """scale_i²‖z_i‖² + d_i: (n,)."""
        squares = self.Z.multiply(self.Z).sum(axis=1) if sp.issparse(self.Z) else np.einsum("ij,ij->i", self.Z, self.Z)
        diagonal: FloatArray = np.asarray(squares, dtype=np.float64).ravel()
        if self.scale is not None:
            diagonal = diagonal * self.scale**2
        return diagonal if self.d is None else diagonal + self.d

    def mean_diagonal(self) -> float:
        """The mean of the diagonal, where nothing is scaled or added by one pass over Z."""
        if self.scale is not None or self.d is not None:
            return super().mean_diagonal()
        values = (self.Z.data if sp.issparse(self.Z) else self.Z).ravel(order="K")
        return float(values @ values) / self.shape[0]

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
            self.Z, None if self.d is None else self.d * s * s, s if self.scale is None else times(s, self.scale)
        )

    def describe(self) -> str:
        """Name the factor's shape and kind."""
        kind = f"sparse, {self.Z.nnz} non-zeros" if sp.issparse(self.Z) else "dense"
        plus = "" if self.d is None else " + diagonal"
        return f"low rank ZZᵀ{plus}, Z {self.Z.shape[0]} × {self.Z.shape[1]} {kind}"

    @property
    def nbytes(self) -> int:
        """Of the factor and the diagonal."""
        Z = self.Z
        held = Z.data.nbytes + Z.indices.nbytes + Z.indptr.nbytes if sp.issparse(Z) else Z.nbytes
        return int(held) + sum(v.nbytes for v in (self.d, self.scale) if v is not None)

    def factor(self) -> tuple[Matrix, FloatArray]:
        """Z with its row scales multiplied in, (n, k), and d, (n,)."""
        Z = self.Z
        if self.scale is not None:
            Z = sp.csr_array(sp.diags_array(self.scale) @ Z) if sp.issparse(Z) else self.scale[:, None] * Z
        return Z, np.zeros(self.shape[0]) if self.d is None else self.d
