"""Matrices made of others: rows that variables share or combine, and something added to the diagonal.

The Hessian of a machine that learns several classes at once: a variable couples two of them through one sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.vectors import times
from qpsvm.base.resources.limits import check_memory
from qpsvm.data.rows import Tiled
from qpsvm.space.operators.base import Operator, rowwise
from qpsvm.space.operators.explicit import Dense
from qpsvm.space.operators.low_rank import LowRank

#: Rows of combinations whose diagonal is made at a time.
DIAGONAL_ROWS = 500


def gathered(operator: Operator, rows: IntArray | None) -> Operator:
    """B[rows][:, rows] of an operator B (n, n), for any rows, repeated ones too: (m, m); B itself for None."""
    if rows is None:
        return operator
    if isinstance(operator, LowRank) and operator.d is None:
        scale = None if operator.scale is None else operator.scale[rows]
        n, comm = operator.shape[0], operator.source.comm
        times = len(rows) // n if n else 0
        tiled = len(rows) == times * n and bool((rows == np.tile(np.arange(n), times)).all())
        if not comm.serial:  # one without rows may have them any number of times
            tiled, times = comm.all(tiled), int(comm.max(times))
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
        factor = operator.Z if operator.source.comm.serial else operator.source  # one copy: faster products
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
        out = self.base.block(self.rows_of[rows], self.rows_of[columns])
        return out if self.scale is None else out * self.scale[rows][:, None] * self.scale[columns]

    def diagonal(self) -> FloatArray:
        diagonal = self.base.diagonal()[self.rows_of]
        return diagonal if self.scale is None else diagonal * self.scale**2

    def dense(self) -> FloatArray:
        everything = np.arange(self.shape[0])
        return self.block(everything, everything)

    def congruence(self, s: FloatArray) -> Operator:
        return Gathered(self.base, self.rows_of, s if self.scale is None else times(s, self.scale))

    def describe(self) -> str:
        return f"{self.shape[0]} rows of {self.base.shape[0]}: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
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
        left, right = self.mix[rows], self.mix[columns]
        own, others = np.unique(left.indices), np.unique(right.indices)
        out: FloatArray = left[:, own] @ (right[:, others] @ self.base.block(own, others).T).T
        return out if self.scale is None else out * self.scale[rows][:, None] * self.scale[columns]

    def diagonal(self) -> FloatArray:
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
        out: FloatArray = self.mix @ (self.mix @ self.base.dense()).T
        return out if self.scale is None else out * self.scale[:, None] * self.scale

    def congruence(self, s: FloatArray) -> Operator:
        return Mixed(self.base, self.mix, s if self.scale is None else times(s, self.scale))

    def describe(self) -> str:
        return f"{self.shape[0]} combinations of {self.base.shape[0]} rows: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
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
        return self.base.block(rows, columns) + np.where(rows[:, None] == columns, self.d[rows][:, None], 0.0)

    def diagonal(self) -> FloatArray:
        return self.base.diagonal() + self.d

    def dense(self) -> FloatArray:
        out = self.base.dense().copy()
        out[np.diag_indices_from(out)] += self.d
        return out

    def congruence(self, s: FloatArray) -> Operator:
        return Shifted(self.base.congruence(s), self.d * s * s)

    def describe(self) -> str:
        return f"{self.base.describe()} + diagonal"

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.d.nbytes

    def factor(self) -> tuple[Matrix, FloatArray] | None:
        """The factor of B, with d on the diagonal."""
        found = self.base.factor()
        return None if found is None else (found[0], found[1] + self.d)


def coupled(base: Operator, sample: IntArray, first: IntArray, second: IntArray, k: int) -> Operator:
    """P_vv′ = B_ii′ (e_p − e_q)ᵀ(e_p′ − e_q′) over variables v = (i, p, q): of low rank where B is, and that is lower.

    Shapes: base (n, n), sample, first, second (m,).
    """
    if isinstance(base, LowRank) and base.d is None and base.scale is None and 2 * k * base.source.d < len(sample):
        return LowRank(coupled_rows(sp.csr_array(base.Z), sample, first, second, k))
    return Coupled(base, sample, first, second, k)


def coupled_rows(Z: sp.csr_array, sample: IntArray, first: IntArray, second: IntArray, k: int) -> sp.csr_array:
    """Rows z_i ⊗ (e_p − e_q), a block of columns for each class: (m, k d), for Z (n, d)."""
    each, ones = np.arange(len(sample)), np.ones(len(sample))
    blocks = []
    for c in range(k):
        plus, minus = first == c, second == c
        rows = np.concatenate([each[plus], each[minus]])
        entries = np.concatenate([ones[plus], -ones[minus]])
        columns = np.concatenate([sample[plus], sample[minus]])
        blocks.append(sp.csr_array((entries, (rows, columns)), shape=(len(sample), Z.shape[0])) @ Z)
    return sp.csr_array(sp.hstack(blocks, format="csr"))


@dataclass(frozen=True, eq=False, repr=False)
class Coupled(Operator):
    """S P S with S = diag(scale) and P as in `coupled`; B is kept once.

    base (n, n)
    sample, first, second (m,)
    scale (m,)
    """

    base: Operator
    sample: IntArray
    first: IntArray
    second: IntArray
    k: int
    scale: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """(m, m)."""
        return len(self.sample), len(self.sample)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        if x.ndim == 2:
            return np.column_stack([self @ column for column in x.T])
        scaled = x if self.scale is None else rowwise(self.scale, x)
        beta = np.zeros((self.base.shape[0], self.k))
        np.add.at(beta, (self.sample, self.first), scaled)
        np.add.at(beta, (self.sample, self.second), -scaled)
        u = self.base @ beta
        product: FloatArray = u[self.sample, self.first] - u[self.sample, self.second]
        return product if self.scale is None else rowwise(self.scale, product)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        left, right = self._directions(rows), self._directions(columns)
        out: FloatArray = self.base.block(self.sample[rows], self.sample[columns]) * (left @ right.T)
        return out if self.scale is None else out * self.scale[rows][:, None] * self.scale[columns]

    def _directions(self, rows: IntArray) -> FloatArray:
        """e_p − e_q: (r, k)."""
        E = np.zeros((len(rows), self.k))
        E[np.arange(len(rows)), self.first[rows]] = 1.0
        E[np.arange(len(rows)), self.second[rows]] -= 1.0
        return E

    def diagonal(self) -> FloatArray:
        diagonal = 2.0 * self.base.diagonal()[self.sample]
        return diagonal if self.scale is None else diagonal * self.scale**2

    def dense(self) -> FloatArray:
        check_memory(*self.shape, "the coupled matrix of a joint machine")
        everything = np.arange(self.shape[0])
        return self.block(everything, everything)

    def congruence(self, s: FloatArray) -> Operator:
        scale = s if self.scale is None else times(s, self.scale)
        return Coupled(self.base, self.sample, self.first, self.second, self.k, scale)

    def describe(self) -> str:
        return f"{self.k} classes coupled over {self.base.shape[0]} samples: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + 3 * self.sample.nbytes
