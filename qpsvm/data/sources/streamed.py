"""Read rows from the caller's iterator of batches: arrays, or tables and record batches of pyarrow (`StreamedRows`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import scipy.sparse as sp

from qpsvm.base.arrays.checks import as_raw_array, as_real_vector
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import DataError, DataTypeError, ParameterError
from qpsvm.data.kinds import is_arrow
from qpsvm.data.rows.memory import as_row_source
from qpsvm.data.sources.arrow_batches import check_columns, decode_batch
from qpsvm.data.sources.chosen_columns import ChosenColumns, choose_columns
from qpsvm.data.sources.decoder import Batch, Decoder, normalise_labels
from qpsvm.data.sources.stored import FileWatch


class StreamedRows(Decoder):
    """Rows in batches of the caller: arrays X, (X, y) or (X, y, weight), or tables and record batches of pyarrow.

    batches: An iterator can be read only once, a list repeatedly.
    target, columns, weight: As in `open_rows`; for tables and record batches only.
    """

    kind = "batches"
    names = ("",)

    def __init__(self, batches: Iterable[Any], target: Any, columns: Any, weight: Any) -> None:
        self.watch = FileWatch()
        self.is_single_use = isinstance(batches, Iterator)
        iterator = iter(batches)
        first = next(iterator, None)
        if first is None:
            raise DataError("there are no rows: the iterator yields no batch")
        self._batches = chain([first], iterator) if self.is_single_use else batches
        self._first = first
        requested = (target, columns, weight)
        self._chosen: ChosenColumns | None = None
        if is_arrow(first):
            self._chosen = choose_columns(first.schema.names, "the first batch", *requested)
            self.feature_names = self._chosen.features
        elif any(names is not None for names in requested):
            raise ParameterError("batches that are arrays have no names: yield (X, y) or (X, y, weight)")
        self.is_sparse = self._chosen is None and sp.issparse(_split_batch(first)[0])
        self._width: int | None = None

    def batches(self) -> Iterator[Batch]:
        start = 0
        for received in self._batches:
            decode = self._decode_arrays if self._chosen is None else self._decode_table
            for batch in decode(received, start):
                yield batch
                start += batch.X.shape[0]

    def _decode_table(self, received: Any, start: int) -> Iterator[Batch]:
        """Decode a record batch, or a table, which may consist of several, whose first row is row `start`."""
        chosen = self._chosen
        where = f"the batch from row {start} on"
        assert chosen is not None
        if not is_arrow(received):
            raise DataTypeError(f"{where} is {type(received).__name__}, not a record batch")
        check_columns(received.schema, self._first.schema, chosen, uses_all=False, name=where, first_name="row 0")
        for record in received.to_batches() if hasattr(received, "to_batches") else [received]:
            yield decode_batch(record, chosen, self.dtype, "", start)
            start += record.num_rows

    def _decode_arrays(self, received: Any, start: int) -> Iterator[Batch]:
        """Decode X, (X, y) or (X, y, weight), whose first row is row `start`."""
        X, y, weight = _split_batch(received)
        self._width = X.shape[1] if self._width is None else self._width
        conditions = {
            "as many columns as the first": X.shape[1] == self._width,
            "one label per row": y is None or y.shape == X.shape[:1],
            "one weight per row": weight is None or weight.shape == X.shape[:1],
        }
        for condition, is_met in conditions.items():
            if not is_met:
                raise DataError(f"the batch from row {start} on does not have {condition}")
        yield Batch(X, None if y is None else normalise_labels(y), weight, "", start)


def _split_batch(received: Any) -> tuple[Matrix, Any, Any]:
    """Split a batch of arrays into X, y and weight, as arrays or None. Raises DataError, DataTypeError."""
    if isinstance(received, tuple):
        X, y, weight = (*received, None, None)[:3]
    else:
        X = received
        y = None
        weight = None
    X = as_row_source(X).matrix() if sp.issparse(X) else as_raw_array(X, "a batch")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataTypeError(f"a batch of rows must be numbers in two dimensions, got shape {X.shape} of {X.dtype}")
    y = None if y is None else as_raw_array(y, "y")
    return X, y, None if weight is None else as_real_vector(weight, "weight")
