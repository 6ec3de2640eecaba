"""Matrices made of others: rows that variables share or combine, and something added to the diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import times
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.operators.base import Operator, rowwise
from qpsvm.operators.explicit import Dense
from qpsvm.operators.low_rank import LowRank
from qpsvm.rows import Tiled

#: Rows of combinations whose diagonal is made at a time.
DIAGONAL_ROWS = 500


def gathered(operator: Operator, rows: IntArray | None) -> Operator:
    """B[rows][:, rows] of an operator B (n, n), for any rows, repeated ones too: (m, m); B itself for None."""
    if rows is None:
        return operator
    if isinstance(operator, LowRank) and operator.d is None:
        scale = None if operator.scale is None else operator.scale[rows]
        n, team = operator.shape[0], operator.source.team
        times = len(rows) // n if n else 0
        tiled = len(rows) == times * n and bool((rows == np.tile(np.arange(n), times)).all())
        if not team.alone:  # one without rows may have them any number of times
            tiled, times = team.all(tiled), int(team.most(times))
        if tiled:
            return LowRank(Tiled(operator.source, times), None, scale)
        return LowRank(operator.source.take(rows), None, scale)
    return Gathered(operator, rows)


def mixed(operator: Operator, mix: sp.csr_array | None) -> Operator:
    """A B Aᵀ of an operator B (n, n), for rows A (m, n) that are combinations of its own: (m, m); B itself for None."""
    if mix is None:
        return operator
    if isinstance(operator, LowRank) and operator.d is None:
        A = mix if operator.scale is None else sp.csr_array(mix * operator.scale)
        product = A @ operator.Z
        return LowRank(sp.csr_array(product) if sp.issparse(product) else product)
    return Mixed(operator, mix)


def shifted(operator: Operator, d: FloatArray | None) -> Operator:
    """B + diag(d) with the structure of B, for d (n,); B itself for None."""
    if d is None:
        return operator
    if isinstance(operator, LowRank):
        factor = operator.Z if operator.source.team.alone else operator.source  # one copy, of which products are faster
        return LowRank(factor, d if operator.d is None else operator.d + d, operator.scale)
    if isinstance(operator, Dense):
        return Dense(operator.matrix + np.diag(d))
    return Shifted(operator, d)


@dataclass(frozen=True, eq=False, repr=False)
class Gathered(Operator):
    """S B[rows_of][:, rows_of] S with S = diag(scale): several variables may share a row of B, which is kept once.

    base (n, n)
    rows_of (m,): Which row of B each variable has.
    scale (m,)
    """

    base: Operator
    rows_of: IntArray
    scale: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(m, m)."""
        return len(self.rows_of), len(self.rows_of)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else rowwise(self.scale, x)
        summed = np.zeros((self.base.shape[0], *x.shape[1:]))
        np.add.at(summed, self.rows_of, scaled)
        product = (self.base @ summed)[self.rows_of]
        return product if self.scale is None else rowwise(self.scale, product)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        out = self.base.block(self.rows_of[rows], self.rows_of[columns])
        return out if self.scale is None else out * self.scale[rows][:, None] * self.scale[columns]

    def diagonal(self) -> FloatArray:
        """(m,)."""
        diagonal = self.base.diagonal()[self.rows_of]
        return diagonal if self.scale is None else diagonal * self.scale**2

    def dense(self) -> FloatArray:
        """(m, m)."""
        everything = np.arange(self.shape[0])
        return self.block(everything, everything)

    def congruence(self, s: FloatArray) -> Operator:
        """The same rows with other scales."""
        return Gathered(self.base, self.rows_of, s if self.scale is None else times(s, self.scale))

    def describe(self) -> str:
        """Name what the rows are of."""
        return f"{self.shape[0]} rows of {self.base.shape[0]}: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        """Of the matrix that the rows are of, and of their numbers."""
        return self.base.nbytes + self.rows_of.nbytes


@dataclass(frozen=True, eq=False, repr=False)
class Mixed(Operator):
    """S A B Aᵀ S with S = diag(scale): each variable has a combination of rows of B, which is kept once.

    base (n, n)
    mix (m, n): A, with few entries a row.
    scale (m,)
    """

    base: Operator
    mix: sp.csr_array
    scale: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(m, m)."""
        return self.mix.shape[0], self.mix.shape[0]

    def __matmul__(self, x: FloatArray) -> FloatArray:
        scaled = x if self.scale is None else rowwise(self.scale, x)
        product: FloatArray = self.mix @ (self.base @ (self.mix.T @ scaled))
        return product if self.scale is None else rowwise(self.scale, product)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        left, right = self.mix[rows], self.mix[columns]
        own, others = np.unique(left.indices), np.unique(right.indices)
        out: FloatArray = left[:, own] @ (right[:, others] @ self.base.block(own, others).T).T
        return out if self.scale is None else out * self.scale[rows][:, None] * self.scale[columns]

    def diagonal(self) -> FloatArray:
        """(m,)."""
        out = np.zeros(self.shape[0])
        for start in range(0, len(out), DIAGONAL_ROWS):
            rows = np.arange(start, min(start + DIAGONAL_ROWS, len(out)))
            out[rows] = self._own(rows)
        return out if self.scale is None else out * self.scale**2

    def _own(self, rows: IntArray) -> FloatArray:
        """a_kᵀ B a_k of some rows: (r,)."""
        part = self.mix[rows]
        used = np.unique(part.indices)
        A = part[:, used]
        products: FloatArray = (self.base.block(used, used) @ A.T).T
        return np.asarray(A.multiply(products).sum(axis=1)).ravel()

    def dense(self) -> FloatArray:
        """(m, m)."""
        out: FloatArray = self.mix @ (self.mix @ self.base.dense()).T
        return out if self.scale is None else out * self.scale[:, None] * self.scale

    def congruence(self, s: FloatArray) -> Operator:
        """The same combinations with other scales."""
        return Mixed(self.base, self.mix, s if self.scale is None else times(s, self.scale))

    def describe(self) -> str:
        """Name what the combinations are of."""
        return f"{self.shape[0]} combinations of {self.base.shape[0]} rows: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        """Of the matrix that the combinations are of, and of their numbers."""
        return self.base.nbytes + int(self.mix.data.nbytes + self.mix.indices.nbytes)


@dataclass(frozen=True, eq=False, repr=False)
class Shifted(Operator):
    """B + diag(d).

    base (n, n)
    d (n,)
    """

    base: Operator
    d: FloatArray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(n, n)."""
        return self.base.shape

    def __matmul__(self, x: FloatArray) -> FloatArray:
        return (self.base @ x) + rowwise(self.d, x)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """P[rows][:, columns]: (r, c)."""
        return self.base.block(rows, columns) + np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        """(n,)."""
        return self.base.diagonal() + self.d

    def dense(self) -> FloatArray:
        """(n, n)."""
        out = self.base.dense().copy()
        out[np.diag_indices_from(out)] += self.d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        """Both parts with the same scales."""
        return Shifted(self.base.congruence(s), self.d * s * s)

    def describe(self) -> str:
        """Name both parts."""
        return f"{self.base.describe()} + diagonal"

    @property
    def nbytes(self) -> int:
        """Of both parts."""
        return self.base.nbytes + self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """The factor of B, with d on the diagonal."""
        found = self.base.factor()
        return None if found is None else (found[0], found[1] + self.d)
