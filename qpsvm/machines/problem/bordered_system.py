"""Solve a bordered symmetric system that may be singular (`SymmetricSystem`)."""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: An eigenvalue of the scaled matrix below this share of the largest counts as 0.
SINGULAR_SHARE = 1e-12
#: A right-hand side is in the range of M if its part outside is below this share of it.
RANGE_SHARE = 1e-7


class SymmetricSystem:
    """A symmetric system by eigenvalues: p multipliers first, then rows whose entries are about `scale`.

    It is scaled first: the multipliers by √scale, the rows by 1/√scale. So both blocks have comparable entries.
    """

    def __init__(self, M: FloatArray, scale: float) -> None:
        p = int(np.argmax(np.append(M.diagonal() > 0.0, True)))
        self.scaling = np.where(np.arange(len(M)) < p, np.sqrt(scale), 1.0 / np.sqrt(scale))
        values, self.vectors = np.linalg.eigh(self.scaling[:, None] * M * self.scaling)
        is_regular = np.abs(values) > SINGULAR_SHARE * np.abs(values).max(initial=0.0)
        self.singular = bool((~is_regular).any())
        self.inverse = np.where(is_regular, 1.0 / np.where(is_regular, values, 1.0), 0.0)
        self.is_regular = is_regular

    def apply(self, r: FloatArray) -> FloatArray:
        """Return S (S M S)⁺ S r with the scaling S, which is M⁻¹ r if M is regular: (p + f,)."""
        return np.asarray(self.scaling * (self.vectors @ (self.inverse * (self.vectors.T @ (self.scaling * r)))))

    def solve(self, r: FloatArray) -> FloatArray | None:
        """Return a solution x of M x = r; None if r is not in the range of M."""
        parts = self.vectors.T @ (self.scaling * r)
        if np.abs(parts[~self.is_regular]).max(initial=0.0) > RANGE_SHARE * np.abs(parts).max(initial=0.0):
            return None
        return self.apply(r)
