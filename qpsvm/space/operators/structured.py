"""Represent the Hessians of duals by their structure: `LowRank`, and operators built from a Gram matrix B.

That of a linear machine is S Z Zᵀ S + diag(d), a `LowRank`. `take_rows`, `combine_rows` and `add_diagonal` build
B[rows][:, rows], A B Aᵀ and B + diag(d). In an all-in-one multiclass machine, each variable couples two classes through
one sample: `couple_classes` builds its Hessian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.coefficients import as_coefficients, as_vector
from qpsvm.base.arrays.constant_vectors import multiply
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import BLOCK_NUMBERS, check_memory
from qpsvm.data.rows import RowSource, TiledRows, as_row_source
from qpsvm.space.operators.base import Dense, Operator, scale_rows


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LowRank(Operator):
    """S Z Zᵀ S + diag(d) with S = diag(scale), which is made dense only by `dense`.

    Parameters
    ----------
    Z : array_like, SciPy sparse or RowSource, shape (n, k)
        Kept by reference, read-only: the dual of a linear SVM shares the caller's X.
    d : array_like, shape (n,), optional
        None for zeros.
    scale : array_like, shape (n,), optional
        The rows of the factor are scale_i·z_i; None for ones.

    Attributes
    ----------
    source : RowSource
        The rows of Z: all products go through it, block by block.

    Raises
    ------
    DataError, DataTypeError
        Z, d or scale is not an array of real numbers, or their shapes do not fit.

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
        if isinstance(Z, RowSource):
            source = Z
        else:
            source = as_row_source(as_coefficients(Z, "the factor Z"))
        object.__setattr__(self, "source", source)
        for name, values in (("d", d), ("scale", scale)):
            if values is None:
                vector = None
            else:
                vector = as_vector(values, f"{name} of a low-rank operator")
            object.__setattr__(self, name, vector)
            if vector is not None and vector.shape != (source.n,):
                raise DataError(f"{name} has shape {vector.shape} where the factor Z has {source.n} rows")

    @property
    def Z(self) -> Matrix:
        """The factor as one array, (n, k): the given one, or a copy if the rows are not one array in memory.

        Raises
        ------
        TooLargeError
            There is no memory for the copy.
        """
        return self.source.matrix()

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """The shape (n, n)."""
        return self.source.n, self.source.n

    def __matmul__(self, x: FloatArray) -> FloatArray:
        x = np.asarray(x)
        scaled = x if self.scale is None else scale_rows(self.scale, x)
        product = self.source.margins(self.source.weights(scaled))
        if self.scale is not None:
            product = scale_rows(self.scale, product)
        return product if self.d is None else product + scale_rows(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return P[rows][:, columns]: (r, c)."""
        out = self.source.compute_inner_products(rows, columns)
        if self.scale is not None:
            out *= self.scale[rows][:, None]
            out *= self.scale[columns]
        if self.d is not None:
            out += np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)
        return out

    def diagonal(self) -> FloatArray:
        """Return the diagonal entries scale_i²‖z_i‖² + d_i: (n,)."""
        diagonal = self.source.squared_norms()
        if self.scale is not None:
            diagonal = diagonal * self.scale**2
        return diagonal if self.d is None else diagonal + self.d

    def mean_diagonal(self) -> float:
        """Return the mean of the diagonal; with neither scale nor d, one pass over Z suffices."""
        n = self.source.n
        if self.scale is None and self.d is None:
            return self.source.sum_of_squares() / n
        return super().mean_diagonal()

    def dense(self) -> FloatArray:
        """Return the matrix, (n, n). Raises TooLargeError."""
        check_memory(*self.shape, "a low-rank operator made dense")
        Z, d = self.factor()
        out = as_dense(Z @ Z.T)
        out[np.diag_indices_from(out)] += d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        """Return diag(s) P diag(s) for s (n,), with the same Z: the scales become s·scale, and d becomes s²·d."""
        d = None if self.d is None else self.d * s * s
        return LowRank(self.source, d, s if self.scale is None else multiply(s, self.scale))

    def describe(self) -> str:
        """Name the factor's shape and kind."""
        if self.source.is_sparse:
            kind = f"sparse, {self.source.entries} non-zeros"
        else:
            kind = "dense"
        plus = "" if self.d is None else " + diagonal"
        n_columns = self.source.d  # not the diagonal self.d
        return f"low rank ZZᵀ{plus}, Z {self.source.n} × {n_columns} {kind}"

    @property
    def nbytes(self) -> int:
        """Bytes of the factor and the diagonal."""
        return self.source.nbytes + sum(v.nbytes for v in (self.d, self.scale) if v is not None)

    def factor(self) -> tuple[Matrix, FloatArray]:
        """Return the rows scale_i·z_i, (n, k), and d, (n,)."""
        Z = self.Z
        if self.scale is not None:
            if sp.issparse(Z):
                Z = sp.csr_array(sp.diags_array(self.scale) @ Z)
            else:
                Z = self.scale[:, None] * Z
        return Z, np.zeros(self.shape[0]) if self.d is None else self.d


def take_rows(operator: Operator, rows: IntArray | None) -> Operator:
    """Return B[rows][:, rows], (m, m), of an operator B (n, n); rows may repeat, and None returns B itself."""
    if rows is None:
        return operator
    n = operator.shape[0]
    if isinstance(operator, LowRank) and operator.d is None:  # diag(d) with repeated rows would not be diagonal
        scale = None if operator.scale is None else operator.scale[rows]
        times = len(rows) // n if n else 0
        is_tiled = len(rows) == times * n and bool((rows == np.tile(np.arange(n), times)).all())
        if is_tiled:  # all rows, several times, as for a regression: no copy
            return LowRank(TiledRows(operator.source, times), None, scale)
        return LowRank(operator.source.take(rows), None, scale)
    return CombinedRows(
        operator, sp.csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), shape=(len(rows), n))
    )


def combine_rows(operator: Operator, mix: sp.csr_array | None) -> Operator:
    """Return A B Aᵀ, (m, m), of an operator B (n, n), for `mix` A (m, n); None returns B itself."""
    if mix is None:
        return operator
    if isinstance(operator, LowRank) and operator.d is None:  # A diag(d) Aᵀ would not be diagonal
        A = mix if operator.scale is None else sp.csr_array(mix * operator.scale)
        product = A @ operator.Z
        return LowRank(sp.csr_array(product) if sp.issparse(product) else product)
    base = operator.base if isinstance(operator, RepeatedOperator) else None  # operator = I ⊗ base
    if isinstance(base, LowRank) and base.d is None and base.scale is None:
        k = operator.shape[0] // base.shape[0]
        if 2 * k * base.source.d < mix.shape[0]:  # fewer than half as many columns as rows
            return LowRank(sp.csr_array(mix @ sp.kron(sp.eye_array(k), sp.csr_array(base.Z), format="csr")))
    return CombinedRows(operator, mix)


def add_diagonal(operator: Operator, d: FloatArray | None) -> Operator:
    """Return B + diag(d) with the structure of B, for d (n,); None returns B itself."""
    if d is None:
        return operator
    if isinstance(operator, LowRank):
        factor = operator.Z  # one array in memory, a copy if need be: products are faster
        return LowRank(factor, d if operator.d is None else operator.d + d, operator.scale)
    if isinstance(operator, Dense):
        return Dense(operator.matrix + np.diag(d))
    return ShiftedOperator(operator, d)


@dataclass(frozen=True, eq=False, repr=False)
class CombinedRows(Operator):
    """A B Aᵀ: each variable belongs to a combination of rows of B, and B is stored once.

    base (n, n): B.
    mix (m, n): A, with few entries per row.
    """

    base: Operator
    mix: sp.csr_array

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(m, m)."""
        return self.mix.shape[0], self.mix.shape[0]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        product: FloatArray = self.mix @ (self.base @ (self.mix.T @ x))
        return product

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        row_mix, column_mix = self.mix[rows], self.mix[columns]
        if isinstance(self.base, RepeatedOperator):
            return self.base.combine_block(row_mix, column_mix)
        row_points, column_points = np.unique(row_mix.indices), np.unique(column_mix.indices)
        out: FloatArray = (
            row_mix[:, row_points] @ (column_mix[:, column_points] @ self.base.block(row_points, column_points).T).T
        )
        return out

    def diagonal(self) -> FloatArray:
        if (np.diff(self.mix.indptr) == 1).all():  # one entry per row
            return np.asarray(self.base.diagonal()[self.mix.indices] * self.mix.data**2)
        if isinstance(self.base, RepeatedOperator):  # `build_directions` has no two entries of a row in one copy
            return np.asarray(self.mix.multiply(self.mix) @ self.base.diagonal())
        each = np.arange(self.shape[0])
        step = max(BLOCK_NUMBERS // self.mix.shape[1], 1)
        return np.concatenate([self._compute_diagonal(each[i : i + step]) for i in range(0, len(each), step)])

    def _compute_diagonal(self, rows: IntArray) -> FloatArray:
        """Return a_kᵀ B a_k for some rows a_k of A: (r,)."""
        mix = self.mix[rows]
        used = np.unique(mix.indices)
        A = mix[:, used]
        products: FloatArray = (self.base.block(used, used) @ A.T).T
        return np.asarray(A.multiply(products).sum(axis=1)).ravel()

    def dense(self) -> FloatArray:
        check_memory(*self.shape, "a matrix of combined rows")
        out: FloatArray = self.mix @ (self.mix @ self.base.dense()).T
        return out

    def congruence(self, s: FloatArray) -> Operator:
        return CombinedRows(self.base, sp.csr_array(sp.diags_array(s) @ self.mix))

    def describe(self) -> str:
        return f"{self.shape[0]} combinations of {self.base.shape[0]} rows: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + int(self.mix.data.nbytes + self.mix.indices.nbytes)


@dataclass(frozen=True, eq=False, repr=False)
class ShiftedOperator(Operator):
    """B + diag(d), for base B (n, n) and d (n,)."""

    base: Operator
    d: FloatArray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.base.shape

    def __matmul__(self, x: FloatArray) -> FloatArray:
        return (self.base @ x) + scale_rows(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        return self.base.block(rows, columns) + np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        return self.base.diagonal() + self.d

    def dense(self) -> FloatArray:
        out = self.base.dense().copy()
        out[np.diag_indices_from(out)] += self.d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        return ShiftedOperator(self.base.congruence(s), self.d * s * s)

    def describe(self) -> str:
        return f"{self.base.describe()} + diagonal"

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """Return the factor Z of B, and the diagonal of B's factor plus d; None if B has none."""
        factor = self.base.factor()
        return None if factor is None else (factor[0], factor[1] + self.d)


def couple_classes(base: Operator, sample: IntArray, first: IntArray, second: IntArray, k: int) -> Operator:
    """Return P (m, m) with P_vv′ = B_ii′ (e_p − e_q)ᵀ(e_p′ − e_q′) over variables v = (i, p, q), for k classes.

    P is a `LowRank` if B is one without d and scale, and the k·d columns of the factor are fewer than m/2.
    base (n, n), sample, first, second (m,): B; and i, p ≠ q of each variable.
    """
    return combine_rows(RepeatedOperator(base, k), build_directions(base.shape[0], sample, first, second, k))


def couple_class_rows(Z: sp.csr_array, sample: IntArray, first: IntArray, second: IntArray, k: int) -> sp.csr_array:
    """Build the rows (e_p − e_q) ⊗ z_i, one block of d columns per class: (m, k d), for Z (n, d)."""
    return sp.csr_array(
        build_directions(Z.shape[0], sample, first, second, k) @ sp.kron(sp.eye_array(k), Z, format="csr")
    )


def build_directions(n: int, sample: IntArray, first: IntArray, second: IntArray, k: int) -> sp.csr_array:
    """Build the rows e_p ⊗ e_i − e_q ⊗ e_i, with i, p ≠ q as for `couple_classes`: (m, k n)."""
    m = len(sample)
    positions = np.tile(np.arange(m), 2), np.concatenate([first, second]) * n + np.tile(sample, 2)
    return sp.csr_array((np.repeat([1.0, -1.0], m), positions), shape=(m, k * n))


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedOperator(Operator):
    """I ⊗ B, (k n, k n): one copy of B (n, n) for each of k classes."""

    base: Operator
    k: int

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """The shape (k n, k n)."""
        return self.k * self.base.shape[0], self.k * self.base.shape[0]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        n = self.base.shape[0]
        columns = x.reshape(self.k, n, -1).swapaxes(0, 1)
        product: FloatArray = self.base @ columns.reshape(n, -1)
        return product.reshape(columns.shape).swapaxes(0, 1).reshape(x.shape)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        n = self.base.shape[0]
        row_index, row_positions = np.unique(rows % n, return_inverse=True)
        column_index, column_positions = np.unique(columns % n, return_inverse=True)
        is_same_copy = rows[:, None] // n == columns // n
        values = self.base.block(row_index, column_index)
        return np.where(is_same_copy, values[row_positions[:, None], column_positions], 0.0)

    def combine_block(self, left: sp.csr_array, right: sp.csr_array) -> FloatArray:
        """Return A (I ⊗ B) Cᵀ for sparse A (r, k n) and C (s, k n), copy by copy: (r, s)."""
        n = self.base.shape[0]
        left_points, right_points = np.unique(left.indices % n), np.unique(right.indices % n)
        values = self.base.block(left_points, right_points)
        out = np.zeros((left.shape[0], right.shape[0]))
        for c in range(self.k):
            A, C = (mix[:, points + c * n] for mix, points in ((left, left_points), (right, right_points)))
            rows, columns = np.flatnonzero(np.diff(A.indptr)), np.flatnonzero(np.diff(C.indptr))
            out[np.ix_(rows, columns)] += A[rows] @ (C[columns] @ values.T).T
        return out

    def diagonal(self) -> FloatArray:
        return np.tile(self.base.diagonal(), self.k)

    def dense(self) -> FloatArray:
        check_memory(*self.shape, "the matrix of several classes")
        return np.asarray(np.kron(np.eye(self.k), self.base.dense()), dtype=np.float64)

    def congruence(self, s: FloatArray) -> Operator:
        return CombinedRows(self, sp.csr_array(sp.diags_array(s)))

    def describe(self) -> str:
        return f"{self.k} classes of {self.base.shape[0]} samples: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        return self.base.nbytes
