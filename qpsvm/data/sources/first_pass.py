"""Count and check the rows of files in a first pass over them (`run_first_pass`).

It finds the number of rows of each file, the columns, the labels and the weights (`Tally`). The entries of the samples
must be finite, and the sum of their squares must not overflow; an error names the row and the column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import compute_sum_of_squares, find_index
from qpsvm.base.arrays.large_integers import build_rounding_error, find_first_rounded
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.data.files.sheet import as_integers
from qpsvm.data.sources.decoder import Batch, Decoder, DecoderRestart, describe_files
from qpsvm.data.sources.stored import FileWatch, Origin, describe_row


def _ignore(*_: object) -> None:
    """Do nothing."""


def run_first_pass(
    decoder: Decoder, store: Callable[[Matrix, str], None] = _ignore, restart: Callable[[], None] = _ignore
) -> Tally:
    """Check and count all batches, and call `store` with the rows of each and the name of its file. Raises DataError.

    A decoder may start again, after which all batches follow once more: `restart` has to discard what was stored.
    """
    while True:
        tally = Tally(decoder)
        try:
            for batch in decoder.batches():
                if batch.X.shape[0]:
                    tally.add(batch)
                    store(batch.X, batch.name)
            break
        except DecoderRestart:
            restart()
    decoder.watch.check()
    if tally.n == 0:
        raise DataError(f"{describe_files(decoder)}: there are no rows")
    if tally.d == 0:
        raise DataError(f"{describe_files(decoder)} has no feature in any row")
    return tally


class Tally:
    """Counts over the batches so far.

    files: The name of each file, and its number of rows.
    d: The number of columns of the widest batch.
    entries, longest_row: The number of stored entries, and the largest number of them in a row.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self.files: list[tuple[str, int]] = []
        self.d = self.entries = self.longest_row = 0
        self._squares = 0.0
        self._labels: list[NDArray[Any]] = []
        self._weights: list[NDArray[Any]] = []

    def add(self, batch: Batch) -> None:
        """Check the numbers of a batch and add it to the counts. Raises DataError."""
        X = batch.X
        names = self.decoder.feature_names
        self._squares += check_and_sum_squares(X, lambda row: describe_row(batch.name, batch.start + row), names)
        check_sum_of_squares(self._squares)
        rows_before = self.files.pop()[1] if batch.start else 0
        self.files.append((batch.name, rows_before + X.shape[0]))
        self.d = max(self.d, X.shape[1])
        self.entries += int(X.nnz) if sp.issparse(X) else X.size
        self.longest_row = max(self.longest_row, int(np.diff(X.indptr).max()) if sp.issparse(X) else X.shape[1])
        if batch.labels is not None:
            self._labels.append(batch.labels)
            if (batch.labels.dtype.kind == "U") != (self._labels[0].dtype.kind == "U"):
                raise DataTypeError("the target is text in some files and numbers in others; make it one of the two")
        if batch.weight is not None:
            self._weights.append(batch.weight)

    @property
    def n(self) -> int:
        """Number of rows so far."""
        return sum(length for _, length in self.files)

    def build_origin(self) -> Origin:
        """Build the origin of the rows, which includes their labels and weights."""
        names, lengths = zip(*self.files, strict=True)
        target: NDArray[Any] | None = np.concatenate(self._labels) if self._labels else None
        if target is not None and target.dtype.kind == "f":
            target = as_integers(target)
        weight = np.concatenate(self._weights) if self._weights else None
        return Origin(self.decoder.kind, names, lengths, FileWatch(), target, weight, self.decoder.feature_names)


def check_and_sum_squares(X: Matrix, name_row: Callable[[int], str], names: Sequence[str] | None) -> float:
    """Check that no entry of X (k, d) is NaN or infinite or has a square that overflows; return the sum of squares.

    The sum is 0 for types other than float64, whose sums cannot overflow. Raises DataError.
    """
    values: NDArray[Any] = X.data if sp.issparse(X) else X
    if (position := find_first_rounded(values)) is not None:
        row, column = find_index(X, position)
        raise build_rounding_error(values.ravel()[position], f"{name_row(row)}, {_describe_column(column, names)}")
    if values.dtype.kind in "biu":
        return 0.0
    squares = compute_sum_of_squares(
        X, lambda row, column, what: f"{name_row(row)}, {_describe_column(column, names)} is {what}", " near it"
    )
    return squares if values.dtype == np.float64 else 0.0


def _describe_column(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else f"column {names[column]!r}"


def check_sum_of_squares(squares: float) -> None:
    """Check that the sum of all squares does not overflow. Raises DataError."""
    if not math.isfinite(squares):
        raise DataError("the squares of the samples overflow when they are added up: divide the columns by a constant")
