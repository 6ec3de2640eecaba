"""Rows that somebody else hands out, a batch after the other: arrays, or record batches of pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import scipy.sparse as sp

from qpsvm.arrays.checks import as_real_vector, raw_array
from qpsvm.arrays.types import Matrix
from qpsvm.errors import DataError, DataTypeError, ParameterError
from qpsvm.rows.memory import as_row_source
from qpsvm.sources.arrow import Columns, check_columns
from qpsvm.sources.batches import Batch, Decoder, Labels
from qpsvm.sources.chosen import Chosen, chosen
from qpsvm.sources.kinds import is_arrow
from qpsvm.sources.watch import Watch


class StreamedRows(Decoder):
    """The rows of batches: X, (X, y) or (X, y, weight), or tables and record batches of pyarrow.

    batches: An iterator hands them out only once.
    target, columns, weight: As in `open_rows`; for tables and record batches only.
    """

    kind = "batches"
    names = ("",)

    def __init__(self, batches: Iterable[Any], target: Any, columns: Any, weight: Any) -> None:
        self.watch = Watch()
        self.once = isinstance(batches, Iterator)
        each = iter(batches)
        first = next(each, None)
        if first is None:
            raise DataError("there are no rows: the iterator hands out no batch")
        self._first, self._rest, self._all = first, each, batches
        self._wanted = (target, columns, weight)
        self._chosen: Chosen | None = None
        if is_arrow(first):
            self._chosen = chosen(first.schema.names, "the first batch", *self._wanted)
            self.feature_names = self._chosen.features
        elif any(given is not None for given in self._wanted):
            raise ParameterError("batches that are arrays have no names: hand out (X, y) or (X, y, weight)")
        self.is_sparse = sp.issparse(_parts(first)[0]) if self._chosen is None else False
        self._width: int | None = None

    def batches(self) -> Iterator[Batch]:
        """Each batch, as rows."""
        start = 0
        for some in self._each():
            for batch in self._made(some, start):
                yield batch
                start += batch.X.shape[0]

    def _each(self) -> Iterator[Any]:
        if not self.once:
            yield from self._all
            return
        yield self._first
        yield from self._rest

    def _made(self, some: Any, start: int) -> Iterator[Batch]:
        if self._chosen is not None:
            if not is_arrow(some):
                raise DataTypeError(f"the batch from row {start} on is {type(some).__name__}, not a record batch")
            check_columns(
                some.schema, self._first.schema, self._chosen, False, f"the batch from row {start} on", "row 0"
            )
            columns = Columns(self._chosen, self.dtype)
            for record in some.to_batches() if hasattr(some, "to_batches") else [some]:
                yield columns.batch(record, "", start)
                start += record.num_rows
            return
        X, y, weight = _parts(some)
        self._width = X.shape[1] if self._width is None else self._width
        for what, fits in (("the same columns as the first", X.shape[1] == self._width),
                           ("a label for each row", y is None or y.shape == X.shape[:1]),
                           ("a weight for each row", weight is None or weight.shape == X.shape[:1])):  # fmt: skip
            if not fits:
                raise DataError(f"the batch from row {start} on has not {what}")
        yield Batch(X, None if y is None else Labels.of(y), weight, "", start)


def _parts(some: Any) -> tuple[Matrix, Any, Any]:
    """X, y and weight of a batch.

    Raises DataError, DataTypeError.
    """
    X, y, weight = (*some, None, None)[:3] if isinstance(some, tuple) else (some, None, None)
    X = as_row_source(X).matrix() if sp.issparse(X) else raw_array(X, "a batch")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataTypeError(f"a batch of rows must be numbers in two dimensions, got shape {X.shape} of {X.dtype}")
    y = None if y is None else raw_array(y, "y")
    return X, y, None if weight is None else as_real_vector(weight, "weight")
