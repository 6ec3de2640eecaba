"""The Hessian of a machine that learns several classes at once: a variable couples two of them through one sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import times
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.operators.base import Operator, rowwise
from qpsvm.operators.low_rank import LowRank
from qpsvm.resources.memory import check_memory


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
        """P[rows][:, columns]: (r, c)."""
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
        """(m,)."""
        diagonal = 2.0 * self.base.diagonal()[self.sample]
        return diagonal if self.scale is None else diagonal * self.scale**2

    def dense(self) -> FloatArray:
        """(m, m)."""
        check_memory(*self.shape, "the coupled matrix of a joint machine")
        everything = np.arange(self.shape[0])
        return self.block(everything, everything)

    def congruence(self, s: FloatArray) -> Operator:
        """The same couplings with other scales."""
        scale = s if self.scale is None else times(s, self.scale)
        return Coupled(self.base, self.sample, self.first, self.second, self.k, scale)

    def describe(self) -> str:
        """Name what is coupled."""
        return f"{self.k} classes coupled over {self.base.shape[0]} samples: {self.base.describe()}"

    @property
    def nbytes(self) -> int:
        """Of the matrix that is coupled, and of the places."""
        return self.base.nbytes + 3 * self.sample.nbytes
