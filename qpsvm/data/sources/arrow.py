"""Read Parquet, Feather and other data sets of pyarrow (`ArrowRows`, `iter_frames`).

`ArrowRows` reads batches of rows from one file after the other, each with its own schema, so that an error names the
file that differs. `iter_frames` reads files as tables in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qpsvm.base.errors import DataError, FileFormatError, MissingExtraError, QPSVMError, describe_install
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.files.frames import Frame, as_frame
from qpsvm.data.sources.arrow_batches import check_columns, decode_batch, fits_single
from qpsvm.data.sources.chosen_columns import ChosenColumns, check_names, choose_columns
from qpsvm.data.sources.decoder import Batch, Decoder
from qpsvm.data.sources.stored import FileWatch

#: Number of batches that pyarrow reads ahead within a file.
READ_AHEAD = 4


def import_arrow(what: str) -> Any:
    """Import `pyarrow.dataset`, which `what` needs. Raises MissingExtraError."""
    try:
        import pyarrow.dataset as dataset
    except ImportError as error:
        raise MissingExtraError(f"{what} needs pyarrow: {describe_install('arrow')}") from error
    return dataset


def open_dataset(paths: Sequence[str], form: str) -> Any:
    """Open files of one format as a data set. Raises FileFormatError, MissingExtraError."""
    dataset = import_arrow(paths[0])
    try:
        return dataset.dataset(list(paths), format=form)
    except (ValueError, OSError) as error:  # Arrow's errors are subclasses of these
        raise FileFormatError(f"{paths[0]} cannot be read, it may be damaged: {error}") from error


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


def iter_frames(paths: Sequence[str], form: str, name: str, whole: bool) -> Iterator[Frame]:
    """Yield the rows of files with the same columns as tables in memory.

    name: The name of the files in messages.
    whole: Whether to yield all rows in one table, or some at a time.

    Raises DataError, FileFormatError, MissingExtraError.
    """
    records = _iter_records(paths, form, name, whole)
    if not whole:
        for path, file_start, start, record in records:
            yield as_frame(record, name, [(path, file_start - start)])
        return
    import pyarrow as pa

    tables, starts = [], []
    for path, file_start, _, table in records:
        tables.append(table)
        starts.append((path, file_start))
    yield as_frame(pa.concat_tables(tables, promote_options="permissive"), name, starts)


def _iter_records(paths: Sequence[str], form: str, name: str, whole: bool) -> Iterator[tuple[str, int, int, Any]]:
    """Yield the rows of each file as one table, or as record batches, if there are any.

    For each: the path, and the positions of the first row of the file and of the table among all rows.
    """
    names, n_rows = None, 0
    for path in paths:
        dataset = open_dataset([path], form)
        file_start = n_rows
        names = dataset.schema.names if names is None else names
        check_names(dataset.schema.names, names, ChosenColumns(tuple(names), None, None), True, path, paths[0])
        try:
            batch_rows = max(1, BLOCK_NUMBERS // len(names))
            for record in [dataset.to_table()] if whole else dataset.to_batches(batch_size=batch_rows):
                if record.num_rows:
                    yield path, file_start, n_rows, record.select(names) if whole else record
                n_rows += record.num_rows
        except (ValueError, OSError) as error:
            if isinstance(error, QPSVMError):
                raise
            raise FileFormatError(f"{path} cannot be read: {error}") from error
    if not n_rows:
        raise DataError(f"{name} has no rows")
