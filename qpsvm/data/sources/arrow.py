"""Read Parquet, Feather and other data of pyarrow in batches of rows (`ArrowRows`, `StreamedRows`).

`ArrowRows` reads the files of a data set one after the other, each with its own schema, so that an error names the file
that differs. `StreamedRows` reads batches from the caller's iterator: arrays, or record batches of pyarrow.
`iter_frames` reads files as tables in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import as_raw_array, as_real_vector
from qpsvm.base.arrays.large_integers import build_rounding_error, find_first_rounded, has_large_integers
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import (
    DataError,
    DataTypeError,
    FileFormatError,
    MissingExtraError,
    ParameterError,
    QPSVMError,
    describe_install,
)
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.files.frames import Frame, as_frame
from qpsvm.data.kinds import is_arrow
from qpsvm.data.rows.memory import as_row_source
from qpsvm.data.sources.decoder import Batch, Decoder, normalise_labels
from qpsvm.data.sources.stored import IN_MEMORY, ChosenColumns, FileWatch, check_names, choose_columns, describe_row

#: Largest number of text columns that an error message lists.
MAX_LISTED = 5
#: Number of batches that pyarrow reads ahead within a file.
READ_AHEAD = 4


def import_arrow(what: str) -> Any:
    """Import `pyarrow.dataset`, which `what` needs. Raises MissingExtraError."""
    try:
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise MissingExtraError(f"{what} needs pyarrow: {describe_install('arrow')}") from error
    return dataset


def decode_batch(record: Any, chosen: ChosenColumns, dtype: np.dtype[Any], name: str, start: int) -> Batch:
    """Decode a record batch whose first row is row `start` of a file. Raises DataError."""
    numbers = {
        column: _read_numbers(record, column, name, start) for column in chosen.all_names if column != chosen.target
    }
    X = np.column_stack([numbers[column] for column in chosen.features]).astype(dtype, copy=False)
    labels = None if chosen.target is None else _as_array(_take_column(record, chosen.target, name, start))
    weight = None if chosen.weight is None else numbers[chosen.weight].astype(np.float64)
    return Batch(X, labels, weight, name, start)


def _take_column(record: Any, column: str, name: str, start: int) -> Any:
    """Return a column as an Arrow array without dictionary encoding. Raises DataError for a missing value."""
    import pyarrow.types as types

    array = record.column(column)
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{describe_row(name, start + row)}, column {column!r} has no value ({array.null_count} such cells near "
            f"it); impute or drop such rows first; {IN_MEMORY}"
        )
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def _read_numbers(record: Any, column: str, name: str, start: int) -> NDArray[Any]:
    """Return a column of numbers. Raises DataError for a missing value, or an integer that a double would round."""
    array = _take_column(record, column, name, start)
    values = exact_values = _as_array(array)
    if _is_decimal(array.type) and has_large_integers(values):
        exact_values = array.to_numpy(zero_copy_only=False)
    row = find_first_rounded(exact_values)
    if row is not None:
        raise build_rounding_error(array[row].as_py(), f"{describe_row(name, start + row)}, column {column!r}")
    return values


def _as_array(array: Any) -> NDArray[Any]:
    """Convert an Arrow array without nulls and dictionary encoding to numbers, or to text if it has none."""
    if not is_number(array.type):
        return np.array([str(text) for text in array.to_pylist()], dtype=np.str_)
    numbers = array.cast("float64") if _is_decimal(array.type) else array
    values: NDArray[Any] = numbers.to_numpy(zero_copy_only=False)
    return values


def _is_decimal(kind: Any) -> bool:
    return "decimal" in str(kind)


def is_number(kind: Any) -> bool:
    """Return whether the values of an Arrow type are numbers or booleans."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal))


def fits_single(kind: Any) -> bool:
    """Return whether every value of an Arrow type is exact as float32."""
    return str(kind) in ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")


class ArrowRows(Decoder):
    """The rows of a pyarrow data set, file by file.

    per_file_schema: Whether each file is read with its own schema instead of that of the data set.
    target, columns, weight: As in `open_rows`.
    """

    def __init__(self, dataset: Any, per_file_schema: bool, kind: str, target: Any, columns: Any, weight: Any) -> None:
        self.kind = kind
        fragments = dataset.get_fragments()
        self._fragments = [(os.fspath(getattr(fragment, "path", "")), fragment) for fragment in fragments]
        self.names = tuple(dict.fromkeys(name for name, _ in self._fragments))
        self.watch = FileWatch(name for name in self.names if name)
        self._schemas = [_read_schema(fragment, dataset, per_file_schema, name) for name, fragment in self._fragments]
        first_schema = self._schemas[0] if self._schemas else dataset.schema
        self._columns = choose_columns(
            first_schema.names, self.names[0] if self.names else kind, target, columns, weight
        )
        for (name, _), schema in zip(self._fragments, self._schemas, strict=True):
            check_columns(schema, first_schema, self._columns, columns is None, name, self.names[0])
        self.feature_names = self._columns.features
        single = all(fits_single(schema.field(f).type) for schema in self._schemas for f in self.feature_names)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def shape(self) -> tuple[int, int]:
        return sum(fragment.count_rows() for _, fragment in self._fragments), len(self._columns.features)

    def batches(self) -> Iterator[Batch]:
        batch_rows = max(1, BLOCK_NUMBERS // len(self._columns.all_names))
        n_read = dict.fromkeys(self.names, 0)  # a file may have several fragments
        for (name, fragment), schema in zip(self._fragments, self._schemas, strict=True):
            if name:
                self.watch.check(name)
            try:
                scanner = fragment.scanner(
                    schema=schema, columns=list(self._columns.all_names), batch_size=batch_rows,
                    batch_readahead=READ_AHEAD, fragment_readahead=1, use_threads=True,
                    **_choose_scan_options(fragment),
                )  # fmt: skip
                for record in scanner.to_batches():
                    yield decode_batch(record, self._columns, self.dtype, name, n_read[name])
                    n_read[name] += record.num_rows
            except (ValueError, OSError) as error:
                self.watch.check(name)
                if isinstance(error, QPSVMError):
                    raise
                raise FileFormatError(f"{name or self.kind} cannot be read: {error}") from error
            self.watch.check(name)


def _choose_scan_options(fragment: Any) -> dict[str, Any]:
    """Return scan options to decode a local Parquet file while it is read; by default it is read as a whole first."""
    import pyarrow.fs
    from pyarrow import dataset

    is_parquet = isinstance(fragment, dataset.ParquetFileFragment)
    if not is_parquet or not isinstance(fragment.filesystem, pyarrow.fs.LocalFileSystem):
        return {}
    return {"fragment_scan_options": dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)}


def _read_schema(fragment: Any, dataset: Any, per_file_schema: bool, name: str) -> Any:
    """Return the schema of a file, or that of the data set. Raises FileFormatError."""
    if not per_file_schema:
        return dataset.schema
    try:
        return fragment.physical_schema
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{name} cannot be read, it may be damaged: {error}") from error


def check_columns(
    schema: Any, first_schema: Any, used: ChosenColumns, uses_all: bool, name: str, first_name: str
) -> None:
    """Check that a file has the columns of the first one, and numbers as features. Raises DataError, DataTypeError."""
    check_names(schema.names, first_schema.names, used, uses_all, name, first_name)
    texts = [column for column in used.features if not is_number(schema.field(column).type)]
    if texts:
        listed = ", ".join(f"{column!r} ({schema.field(column).type})" for column in texts[:MAX_LISTED])
        raise DataTypeError(
            f"{name or 'the table'}: the column{'s' if len(texts) > 1 else ''} {listed}"
            f"{', …' if len(texts) > MAX_LISTED else ''} {'hold' if len(texts) > 1 else 'holds'} no numbers; leave "
            f"out columns that are not features by columns= (--drop {texts[0]!r}), or encode them first; {IN_MEMORY}"
        )
    if used.weight is not None and not is_number(kind := schema.field(used.weight).type):
        raise DataTypeError(f"{name or 'the table'}: weight={used.weight!r} is a column of {kind}")


def open_dataset(paths: Sequence[str], form: str) -> Any:
    """Open files of one format as a data set. Raises FileFormatError, MissingExtraError."""
    dataset = import_arrow(paths[0])
    try:
        return dataset.dataset(list(paths), format=form)
    except (ValueError, OSError) as error:  # Arrow's errors are subclasses of these
        raise FileFormatError(f"{paths[0]} cannot be read, it may be damaged: {error}") from error


def iter_frames(paths: Sequence[str], form: str, name: str, whole: bool) -> Iterator[Frame]:
    """Yield the rows of files with the same columns as tables in memory.

    name: The name of the files in messages.
    whole: Whether all rows are in one table, or some at a time.

    Raises DataError, FileFormatError, MissingExtraError.
    """
    names, tables, starts, n_rows = None, [], [], 0
    for path in paths:
        part, start = open_dataset([path], form), n_rows
        names = part.schema.names if names is None else names
        check_names(part.schema.names, names, ChosenColumns(tuple(names), None, None), True, path, paths[0])
        try:
            batch_rows = max(1, BLOCK_NUMBERS // len(names))
            for record in [part.to_table()] if whole else part.to_batches(batch_size=batch_rows):
                if record.num_rows and whole:
                    tables.append(record.select(names))
                    starts.append((path, start))
                elif record.num_rows:
                    yield as_frame(record, name, [(path, start - n_rows)])  # where the file starts, from this batch
                n_rows += record.num_rows
        except (ValueError, OSError) as error:
            if isinstance(error, QPSVMError):
                raise
            raise FileFormatError(f"{path} cannot be read: {error}") from error
    if not n_rows:
        raise DataError(f"{name} has no rows")
    if whole:
        import pyarrow as pa

        yield as_frame(pa.concat_tables(tables, promote_options="permissive"), name, starts)


class StreamedRows(Decoder):
    """The rows of batches: X, (X, y) or (X, y, weight), or tables and record batches of pyarrow.

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
        self._first, self._batches = first, chain([first], iterator) if self.is_single_use else batches
        choice = (target, columns, weight)
        self._chosen: ChosenColumns | None = None
        if is_arrow(first):
            self._chosen = choose_columns(first.schema.names, "the first batch", *choice)
            self.feature_names = self._chosen.features
        elif any(names is not None for names in choice):
            raise ParameterError("batches that are arrays have no names: yield (X, y) or (X, y, weight)")
        self.is_sparse = sp.issparse(_split_batch(first)[0]) if self._chosen is None else False
        self._width: int | None = None

    def batches(self) -> Iterator[Batch]:
        start = 0
        for given in self._batches:
            for batch in self._decode_batches(given, start):
                yield batch
                start += batch.X.shape[0]

    def _decode_batches(self, given: Any, start: int) -> Iterator[Batch]:
        """Yield a batch of the caller whose first row is row `start`; a table may consist of several record batches."""
        if self._chosen is not None:
            if not is_arrow(given):
                raise DataTypeError(f"the batch from row {start} on is {type(given).__name__}, not a record batch")
            check_columns(
                given.schema, self._first.schema, self._chosen, False, f"the batch from row {start} on", "row 0"
            )
            for record in given.to_batches() if hasattr(given, "to_batches") else [given]:
                yield decode_batch(record, self._chosen, self.dtype, "", start)
                start += record.num_rows
            return
        X, y, weight = _split_batch(given)
        self._width = X.shape[1] if self._width is None else self._width
        for what, fits in (("the same columns as the first", X.shape[1] == self._width),
                           ("a label for each row", y is None or y.shape == X.shape[:1]),
                           ("a weight for each row", weight is None or weight.shape == X.shape[:1])):  # fmt: skip
            if not fits:
                raise DataError(f"the batch from row {start} on has no {what}")
        yield Batch(X, None if y is None else normalise_labels(y), weight, "", start)


def _split_batch(given: Any) -> tuple[Matrix, Any, Any]:
    """Split a batch into X, y and weight. Raises DataError, DataTypeError."""
    X, y, weight = (*given, None, None)[:3] if isinstance(given, tuple) else (given, None, None)
    X = as_row_source(X).matrix() if sp.issparse(X) else as_raw_array(X, "a batch")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataTypeError(f"a batch of rows must be numbers in two dimensions, got shape {X.shape} of {X.dtype}")
    y = None if y is None else as_raw_array(y, "y")
    return X, y, None if weight is None else as_real_vector(weight, "weight")
