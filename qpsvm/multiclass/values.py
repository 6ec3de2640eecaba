"""Inner products between the rows of one machine: read off a Gram matrix that all machines share, or from samples."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.kernels.blocks import KernelBlocks

#: Rows that there is room for beyond those that are expected.
MORE_ROWS = 64


class Values(ABC):
    """K over the rows of a machine, m of them.

    parts: Where these rows are among all.
    """

    def __init__(self, parts: tuple[slice, ...]) -> None:
        self.parts = parts
        self.places = np.concatenate([np.arange(part.start, part.stop) for part in parts])

    @property
    def rank(self) -> int:
        """The most that the rank of K may be."""
        return len(self.places)

    @abstractmethod
    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """K[rows][:, columns], (r, c)."""

    @abstractmethod
    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Σ_j beta_j K(x_j, x_i) over j in `support` for every row: (m,)."""


class GramValues(Values):
    """Of a Gram matrix over all rows, (r, r)."""

    def __init__(self, K: FloatArray, parts: tuple[slice, ...]) -> None:
        super().__init__(parts)
        self.K = K

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Gathered."""
        found: FloatArray = self.K[self.places[rows][:, None], self.places[columns]]
        return found

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """One sum, class by class."""
        chosen = self.places[support]
        return np.concatenate([beta @ self.K[chosen, part] for part in self.parts])


class RowValues(Values):
    """Of an RBF kernel over all rows, whose values are made when they are asked for, row by row, and kept.

    `expected` is how many rows that will be.
    """

    def __init__(self, blocks: KernelBlocks, expected: int) -> None:
        super().__init__((slice(0, blocks.n),))
        self.blocks, self.count = blocks, 0
        self.kept, self.where = np.empty((expected + MORE_ROWS, blocks.n)), np.full(blocks.n, -1)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Of rows that are kept from then on."""
        places = self._made(rows)
        return self.kept[places[:, None], columns]

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """One sum over all rows that are kept, where others than those of the support count 0 times."""
        places = self._made(support)
        weights = np.zeros(self.count)
        weights[places] = beta
        found: FloatArray = weights @ self.kept[: self.count]
        return found

    def _made(self, rows: IntArray) -> IntArray:
        """Where these rows are kept, (r,), once they are."""
        missing = rows[self.where[rows] < 0]
        if len(missing):
            stop = self.count + len(missing)
            if stop > len(self.kept):
                more = np.empty((max(stop, 2 * len(self.kept)) - self.count, self.blocks.n))
                self.kept = np.concatenate([self.kept[: self.count], more])
            self.kept[self.count : stop] = self.blocks.block(missing, np.arange(self.blocks.n))
            self.where[missing], self.count = np.arange(self.count, stop), stop
        return self.where[rows]


class LinearValues(Values):
    """Of samples of a linear kernel, (r, d); `w` is that of the last product."""

    def __init__(self, Z: FloatArray, parts: tuple[slice, ...]) -> None:
        super().__init__(parts)
        self.Z, self.w = Z, np.zeros(Z.shape[1])

    @property
    def rank(self) -> int:
        """Not more than there are features."""
        return min(len(self.places), int(self.Z.shape[1]))

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """By a product of samples."""
        found: FloatArray = self.Z[self.places[rows]] @ self.Z[self.places[columns]].T
        return found

    def product(self, support: IntArray, beta: FloatArray) -> FloatArray:
        """Through w = Σ beta_j z_j."""
        self.w = beta @ self.Z[self.places[support]]
        return np.concatenate([self.Z[part] @ self.w for part in self.parts])
