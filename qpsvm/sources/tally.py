"""What the first pass over batches finds out: rows of each file, columns, labels, weights, and whether all is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.types import Matrix
from qpsvm.errors import DataError
from qpsvm.sources.batches import Batch, Decoder, LabelsOfAll, Reconsidered, ahead
from qpsvm.sources.stored import Beside, Origin, at_row
from qpsvm.sources.values import check_total, check_values


class Tally:
    """The count of batches that went by.

    d: Columns of the widest.
    entries, longest_row: Numbers stored, and the most of a row.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.files: list[tuple[str, int]] = []
        self.d = self.entries = self.longest_row = 0
        self._squares = 0.0
        self._labels: LabelsOfAll | None = None
        self._weights: list[NDArray[Any]] = []

    def add(self, batch: Batch) -> None:
        """Check the numbers of a batch, and count it.

        Raises DataError.
        """
        X = batch.X
        names = self.decoder.feature_names
        self._squares += check_values(X, lambda row: at_row(batch.name, batch.start + row), names)
        check_total(self._squares)
        seen = self.files.pop()[1] if batch.start else 0
        self.files.append((batch.name, seen + X.shape[0]))
        self.d = max(self.d, X.shape[1])
        self.entries += int(X.nnz) if sp.issparse(X) else X.size
        self.longest_row = max(self.longest_row, int(np.diff(X.indptr).max()) if sp.issparse(X) else X.shape[1])
        if batch.labels is not None:
            self._labels = self._labels or LabelsOfAll()
            self._labels.add(batch.labels)
        if batch.weight is not None:
            self._weights.append(batch.weight)

    @property
    def n(self) -> int:
        """The rows so far."""
        return sum(length for _, length in self.files)

    def origin(self) -> Origin:
        """Where they are from."""
        names, lengths = zip(*self.files, strict=True)
        return Origin(self.decoder.kind, names, lengths)

    def beside(self) -> Beside:
        """What stood beside them."""
        target = None if self._labels is None else self._labels.joined()
        weight = np.concatenate(self._weights) if self._weights else None
        return Beside(target, weight, self.decoder.feature_names)


def _nothing(*_: object) -> None:
    """Where nobody keeps the rows."""


def tallied(
    decoder: Decoder, take: Callable[[Matrix, str], None] = _nothing, again: Callable[[], None] = _nothing
) -> Tally:
    """One pass over all batches, each of which is checked and handed to whoever keeps it.

    Raises DataError.
    """
    while True:
        tally = Tally(decoder)
        try:
            for batch in ahead(decoder.batches()):
                if batch.X.shape[0]:
                    tally.add(batch)
                    take(batch.X, batch.name)
            break
        except Reconsidered:
            again()
    decoder.watch.check()
    if tally.n == 0:
        raise DataError(f"{said(decoder)}: there are no rows")
    if tally.d == 0:
        raise DataError(f"{said(decoder)} has no feature in any row")
    return tally


def said(decoder: Decoder) -> str:
    """The files in a message."""
    first, *others = [name for name in decoder.names if name] or [decoder.kind]
    return f"{first} and {len(others)} more" if others else first
