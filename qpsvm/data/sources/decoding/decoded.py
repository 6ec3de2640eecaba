"""Rows that are decoded anew in every pass: where there is no room for a scratch file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.remembered import remembered
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.memory import as_block
from qpsvm.data.sources.checks import Tally
from qpsvm.data.sources.decoding.batches import Batch, Decoder, ahead
from qpsvm.data.sources.stored import StoredRows


class Decoded(StoredRows):
    """The rows of a decoder.

    tally: Of a pass over all its batches.
    """

    def __init__(self, decoder: Decoder, tally: Tally) -> None:
        super().__init__((tally.n, tally.d), tally.origin(), tally.beside())
        self._decoder, self._entries = decoder, tally.entries
        self._longest = tally.longest_row
        self.is_sparse = decoder.is_sparse

    def blocks(self) -> Iterator[Block]:
        """What the decoder hands out.

        Raises DataError.
        """
        start = 0
        self._decoder.watch.check()
        for batch in ahead(self._decoder.batches()):
            if batch.X.shape[0]:
                yield as_block(self._made(batch), start)
                start += batch.X.shape[0]
        if start != self.n:
            raise DataError(f"{self.origin.said()}: there were {self.n} rows at first and are {start} now")

    def _made(self, batch: Batch) -> Matrix:
        X = batch.X
        if not self.is_sparse:
            return np.asarray(X, dtype=np.float64)
        made = sp.csr_array((X.data.astype(np.float64), X.indices, X.indptr), shape=(X.shape[0], self.d))
        made.has_canonical_format = True
        return made

    @property
    def entries(self) -> int:
        return self._entries

    @remembered
    def longest_row(self) -> int:
        """The most numbers stored in a row, which the first pass has found."""
        return int(self.team.most(self._longest))

    @property
    def nbytes(self) -> int:
        return 0
