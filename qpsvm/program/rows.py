"""Whose samples the rows of a dual are: from values at the samples to values at the rows, and back.

Row k of the dual belongs to sample r(k), or to a combination of samples, (DUAL.5) and (DUAL.6).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import remembered
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.communicator import Communicator
from qpsvm.space.operators import Operator


class RowsOfSamples:
    """What a dual knows by the samples of its rows, and their signs; the fields are those of `SVMDual`."""

    gram: Operator
    sign: FloatArray
    rows: IntArray | None
    mix: sp.csr_array | None
    comm: Communicator

    @property
    def m(self) -> int:
        """Number of rows of the dual."""
        return len(self.sign)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.gram.shape[0]

    @property
    def plain(self) -> bool:
        """Whether row k is sample k."""
        return self.rows is None and self.mix is None

    @remembered
    def mirrored(self) -> bool:
        """Whether every sample has two rows of opposite signs, first all with s = 1, then all with s = −1."""
        return self.rows is not None and self.comm.all(self._mirrored(self.rows))

    def _mirrored(self, rows: IntArray) -> bool:
        """Whether that is true of the rows of this member."""
        if self.m != 2 * self.n:
            return False
        n = self.n
        each = np.arange(n)
        same = (rows[:n] == each).all() and (rows[n:] == each).all()
        return bool(same and (self.sign[:n] == 1.0).all() and (self.sign[n:] == -1.0).all())

    def beta(self, alpha: FloatArray) -> FloatArray:
        """The coefficients β of (DUAL.5).

        Parameters
        ----------
        alpha : ndarray, shape (m,)
            By rows of the dual.

        Returns
        -------
        ndarray, shape (n,)
            By samples.
        """
        signed: FloatArray = alpha * self.sign
        if self.mix is not None:
            return self._unmixed(signed, self.mix)
        if self.rows is None:
            return signed
        return np.bincount(self.rows, signed, minlength=self.n).astype(np.float64, copy=False)

    def beta_size(self, alpha: FloatArray) -> FloatArray:
        """Σ|α_k| over the rows of each sample: at least |β|.

        Parameters
        ----------
        alpha : ndarray, shape (m,)
            By rows of the dual.

        Returns
        -------
        ndarray, shape (n,)
            By samples.
        """
        if self.mix is not None:
            return self._unmixed(np.abs(alpha), abs(self.mix))
        if self.rows is None:
            return alpha
        return np.bincount(self.rows, np.abs(alpha), minlength=self.n).astype(np.float64, copy=False)

    @staticmethod
    def _unmixed(values: FloatArray, mix: sp.csr_array) -> FloatArray:
        """Aᵀv: (n,), for v (m,)."""
        sums: FloatArray = mix.T @ values
        return sums

    def beta_radius(self, alpha: FloatArray) -> FloatArray | None:
        """How far `beta` may be off by rounding.

        Parameters
        ----------
        alpha : ndarray, shape (m,)
            By rows of the dual.

        Returns
        -------
        ndarray, shape (n,), or None
            None where no sample has two rows with α ≠ 0, and none is part of a combination.
        """
        if self.mix is not None:
            most = int(np.bincount(self.mix[np.flatnonzero(alpha)].indices, minlength=self.n).max(initial=0))
            return (most + 1) * 2.0 * UNIT * self.beta_size(alpha)
        if self.rows is None:
            return None
        several = np.bincount(self.rows[alpha != 0.0], minlength=self.n).max(initial=0) - 1
        if several == 1:  # one rounding, of the result
            return UNIT * np.abs(self.beta(alpha))
        return several * 2.0 * UNIT * self.beta_size(alpha) if several > 0 else None

    def at_rows(self, values: FloatArray) -> FloatArray:
        """Spread values at the samples over the rows of the dual.

        Parameters
        ----------
        values : ndarray, shape (n,)
            By samples.

        Returns
        -------
        ndarray, shape (m,)
            By rows.
        """
        if self.mix is not None:
            combined: FloatArray = self.mix @ values
            return combined
        return values if self.rows is None else values[self.rows]

    def sizes_at_rows(self, sizes: FloatArray) -> FloatArray:
        """Bounds of the size of something at the samples as bounds at the rows.

        Parameters
        ----------
        sizes : ndarray, shape (n,)
            Not negative.

        Returns
        -------
        ndarray, shape (m,)
            From above, but for the rounding of a sum.
        """
        if self.mix is not None:
            combined: FloatArray = abs(self.mix) @ sizes
            return combined
        return sizes if self.rows is None else sizes[self.rows]

    def samples_of(self, rows: IntArray) -> IntArray:
        """The samples of some rows.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Of the dual.

        Returns
        -------
        ndarray of int, shape (r,)
            One for each row; of combinations, (k,), every sample that is in any of them, once.
        """
        if self.mix is not None:
            return np.unique(self.mix[rows].indices).astype(np.intp)
        return rows if self.rows is None else self.rows[rows]
