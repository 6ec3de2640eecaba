"""Read Parquet, Feather and other data of pyarrow as rows of numbers (`ArrowRows`, `StreamedRows`).

`ArrowRows` reads the files of a data set one after the other. Each column of a record batch is one array; the columns
are written to a row-major block, one strip of rows at a time that fits into the CPU's cache. Each file is read with its
own schema, so that an error names the file that differs.

`StreamedRows` reads batches from an iterator of the caller: arrays, or record batches of pyarrow.
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

#: Largest number of text columns that a message lists.
SHOWN_TEXTS = 5
#: Number of batches that pyarrow reads ahead within a file.
READ_AHEAD = 4


def import_arrow(what: str) -> Any:
    """Import the data sets of pyarrow. Raises MissingExtraError."""
    try:
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise MissingExtraError(f"{what} needs pyarrow: {describe_install('arrow')}") from error
    return dataset


def decode_batch(record: Any, chosen: ChosenColumns, dtype: np.dtype[Any], name: str, start: int) -> Batch:
    """Decode a record batch whose first row is row `start` of a file. Raises DataError."""
    columns = {
        column: decode_numbers(record, column, name, start) for column in chosen.all_names if column != chosen.target
    }
    X = np.column_stack([columns[column] for column in chosen.features]).astype(dtype, copy=False)
    labels = None if chosen.target is None else decode_labels(_decode_column(record, chosen.target, name, start))
    return Batch(X, labels, None if chosen.weight is None else columns[chosen.weight].astype(np.float64), name, start)


def _decode_column(record: Any, column: str, name: str, start: int) -> Any:
    """Decode a dictionary-encoded column without missing values. Raises DataError."""
    import pyarrow.types as types

    array = record.column(column)
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{describe_row(name, start + row)}, column {column!r} has no value ({array.null_count} such cells near "
            f"it); impute or drop such rows first; {IN_MEMORY}"
        )
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def decode_numbers(record: Any, column: str, name: str, start: int) -> NDArray[Any]:
    """Decode a column of numbers that are exact as doubles. Raises DataError."""
    array = _decode_column(record, column, name, start)
    values = exact = decode_labels(array)
    if "decimal" in str(array.type) and has_large_integers(values):
        exact = array.to_numpy(zero_copy_only=False)
    place = find_first_rounded(exact)
    if place is not None:
        raise build_rounding_error(array[place].as_py(), f"{describe_row(name, start + place)}, column {column!r}")
    return values


def decode_labels(array: Any) -> NDArray[Any]:
    """Convert an Arrow array without nulls and dictionary codes to labels: numbers or text."""
    if not is_number(array.type):
        return np.array([str(text) for text in array.to_pylist()], dtype=np.str_)
    values: NDArray[Any] = (array.cast("float64") if "decimal" in str(array.type) else array).to_numpy(
        zero_copy_only=False
    )
    return values


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
        first = self._schemas[0] if self._schemas else dataset.schema
        self._columns = choose_columns(first.names, self.names[0] if self.names else kind, target, columns, weight)
        for (name, _), schema in zip(self._fragments, self._schemas, strict=True):
            check_columns(schema, first, self._columns, columns is None, name, self.names[0])
        self.feature_names = self._columns.features
        single = all(fits_single(schema.field(f).type) for schema in self._schemas for f in self.feature_names)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def shape(self) -> tuple[int, int]:
        return sum(fragment.count_rows() for _, fragment in self._fragments), len(self._columns.features)

    def batches(self) -> Iterator[Batch]:
        rows = max(1, BLOCK_NUMBERS // len(self._columns.all_names))
        counted = dict.fromkeys(self.names, 0)
        for (name, fragment), schema in zip(self._fragments, self._schemas, strict=True):
            if name:
                self.watch.check(name)
            try:
                scanned = fragment.scanner(
                    schema=schema, columns=list(self._columns.all_names), batch_size=rows, batch_readahead=READ_AHEAD,
                    fragment_readahead=1, use_threads=True, **_choose_scan_options(fragment),
                )  # fmt: skip
                for record in scanned.to_batches():
                    yield decode_batch(record, self._columns, self.dtype, name, counted[name])
                    counted[name] += record.num_rows
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
    if not per_file_schema:
        return dataset.schema
    try:
        return fragment.physical_schema
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{name} cannot be read, it may be damaged: {error}") from error


def check_columns(schema: Any, first: Any, used: ChosenColumns, every: bool, name: str, first_name: str) -> None:
    """Check that a file has the columns of the first one, and numbers as features. Raises DataError, DataTypeError."""
    check_names(schema.names, first.names, used, every, name, first_name)
    texts = [column for column in used.features if not is_number(schema.field(column).type)]
    if texts:
        listed = ", ".join(f"{column!r} ({schema.field(column).type})" for column in texts[:SHOWN_TEXTS])
        raise DataTypeError(
            f"{name or 'the table'}: the column{'s' if len(texts) > 1 else ''} {listed}"
            f"{', …' if len(texts) > SHOWN_TEXTS else ''} {'hold' if len(texts) > 1 else 'holds'} no numbers; leave "
            f"out columns that are not features by columns= (--drop {texts[0]!r}), or encode them first; {IN_MEMORY}"
        )
    if used.weight is not None and not is_number(kind := schema.field(used.weight).type):
        raise DataTypeError(f"{name or 'the table'}: weight={used.weight!r} is a column of {kind}")


def open_dataset(paths: Sequence[str], form: str) -> Any:
    """Open the data set of some files of one format."""
    dataset = import_arrow(paths[0])
    try:
        return dataset.dataset(list(paths), format=form)
    except (ValueError, OSError) as error:  # Arrow's errors are subclasses of these
        raise FileFormatError(f"{paths[0]} cannot be read, it may be damaged: {error}") from error


def iter_frames(paths: Sequence[str], form: str, name: str, whole: bool) -> Iterator[Frame]:
    """Yield the rows of files with the same columns as tables in memory: all at once, or some at a time.

    name: The name of the files in messages.

    Raises DataError, FileFormatError, MissingExtraError.
    """
    tables, starts, first, start = [], [], None, 0
    for path in paths:
        part, begin = open_dataset([path], form), start
        first = part.schema.names if first is None else first
        check_names(part.schema.names, first, ChosenColumns(tuple(first), None, None), True, path, paths[0])
        try:
            rows = max(1, BLOCK_NUMBERS // len(first))
            for record in [part.to_table()] if whole else part.to_batches(batch_size=rows):
                if record.num_rows and whole:
                    tables.append(record.select(first))
                    starts.append((path, begin))
                elif record.num_rows:
                    yield as_frame(record, name, [(path, begin - start)])
                start += record.num_rows
        except (ValueError, OSError) as error:
            if isinstance(error, QPSVMError):
                raise
            raise FileFormatError(f"{path} cannot be read: {error}") from error
    if not start:
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
        each = iter(batches)
        first = next(each, None)
        if first is None:
            raise DataError("there are no rows: the iterator yields no batch")
        self._first, self._all = first, chain([first], each) if self.is_single_use else batches
        self._wanted = (target, columns, weight)
        self._chosen: ChosenColumns | None = None
        if is_arrow(first):
            self._chosen = choose_columns(first.schema.names, "the first batch", *self._wanted)
            self.feature_names = self._chosen.features
        elif any(given is not None for given in self._wanted):
            raise ParameterError("batches that are arrays have no names: yield (X, y) or (X, y, weight)")
        self.is_sparse = sp.issparse(_split_batch(first)[0]) if self._chosen is None else False
        self._width: int | None = None

    def batches(self) -> Iterator[Batch]:
        start = 0
        for some in self._all:
            for batch in self._decode_batch(some, start):
                yield batch
                start += batch.X.shape[0]

    def _decode_batch(self, some: Any, start: int) -> Iterator[Batch]:
        if self._chosen is not None:
            if not is_arrow(some):
                raise DataTypeError(f"the batch from row {start} on is {type(some).__name__}, not a record batch")
            check_columns(
                some.schema, self._first.schema, self._chosen, False, f"the batch from row {start} on", "row 0"
            )
            for record in some.to_batches() if hasattr(some, "to_batches") else [some]:
                yield decode_batch(record, self._chosen, self.dtype, "", start)
                start += record.num_rows
            return
        X, y, weight = _split_batch(some)
        self._width = X.shape[1] if self._width is None else self._width
        for what, fits in (("the same columns as the first", X.shape[1] == self._width),
                           ("a label for each row", y is None or y.shape == X.shape[:1]),
                           ("a weight for each row", weight is None or weight.shape == X.shape[:1])):  # fmt: skip
            if not fits:
                raise DataError(f"the batch from row {start} on has no {what}")
        yield Batch(X, None if y is None else normalise_labels(y), weight, "", start)


def _split_batch(some: Any) -> tuple[Matrix, Any, Any]:
    """Split a batch into X, y and weight. Raises DataError, DataTypeError."""
    X, y, weight = (*some, None, None)[:3] if isinstance(some, tuple) else (some, None, None)
    X = as_row_source(X).matrix() if sp.issparse(X) else as_raw_array(X, "a batch")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataTypeError(f"a batch of rows must be numbers in two dimensions, got shape {X.shape} of {X.dtype}")
    y = None if y is None else as_raw_array(y, "y")
    return X, y, None if weight is None else as_real_vector(weight, "weight")
