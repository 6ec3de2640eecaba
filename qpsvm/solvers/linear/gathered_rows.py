"""Few rows of all members of a team in the memory of the first one, with their inner products: for (NEWTON.2).

Each row travels once, while the pool has room: who has it sends it when it is free for the first time.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.resources.team import Team
from qpsvm.rows import as_row_source
from qpsvm.solvers.linear.signed_rows import SignedRows


class GatheredRows:
    """A pool of the rows of all members. Every member knows which they are, the first one has them.

    rows: This member's.
    most: Rows that there is room for; beyond, the pool is begun anew.
    """

    def __init__(self, rows: SignedRows, most: int) -> None:
        self._rows, self._most, self._team = rows, most, rows.team
        counts = self._team.joined(np.array([rows.n]))
        self._first = int(counts[: self._team.rank].sum())  # rows are counted through, member by member
        self._forget()

    def _forget(self) -> None:
        self._ids = np.empty(0, dtype=np.intp)
        self._held: SignedRows | None = None
        self._kernel = np.empty((0, 0))

    def gathered(self, index: IntArray) -> tuple[SignedRows, FloatArray] | None:
        """The rows J of which this member has some, index (j,), and Z_JZ_Jᵀ; None but for the first member."""
        ids = self._team.joined(self._first + index)
        if len(np.union1d(self._ids, ids)) > self._most:
            self._forget()
        new = np.setdiff1d(ids, self._ids)
        if len(new):
            self._fetch(new)
        if self._held is None:
            return None
        order = np.argsort(self._ids)
        places = order[np.searchsorted(self._ids, ids, sorter=order)]
        return self._held.select(places), self._kernel.take(places, axis=0).take(places, axis=1)

    def _fetch(self, new: IntArray) -> None:
        """Rows that the pool has not, (k,) ascending: they come in this order."""
        own = new[(new >= self._first) & (new < self._first + self._rows.n)] - self._first
        sent = self._rows.select(own)
        X, y = _joined(sent.source.matrix(), self._team), self._team.joined(sent.y)
        self._ids = np.concatenate([self._ids, new])
        if self._team.rank:
            return
        if self._held is not None:
            before = self._held.source.matrix()
            X = sp.vstack([before, X], format="csr") if sp.issparse(X) else np.vstack([before, X])
            y = np.concatenate([self._held.y, y])
        self._held = SignedRows(as_row_source(X), y, self._rows.unit)
        old, size = len(self._kernel), len(y)
        fresh = self._held.kernel(np.arange(old, size), np.arange(size))
        kernel = np.empty((size, size))
        kernel[:old, :old], kernel[old:], kernel[:old, old:] = self._kernel, fresh, fresh[:, :old].T
        self._kernel = kernel


def _joined(X: Matrix, team: Team) -> Matrix:
    """The members' rows (k, d) below each other."""
    if not sp.issparse(X):
        return team.joined(np.ascontiguousarray(X))
    rows = sp.csr_array(X)
    lengths = team.joined(np.diff(rows.indptr).astype(np.intp))
    columns, values = team.joined(rows.indices.astype(np.intp)), team.joined(rows.data)
    ends = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
    return sp.csr_array((values, columns, ends), shape=(len(lengths), X.shape[1]))
