"""Inner products between the rows of one machine: read off a Gram matrix that all machines share, or from samples."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray


class Values(ABC):
    """K over the rows of a machine, m of them.

    Parameters
    ----------
    parts : tuple of slice
        Where these rows are among all.
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
