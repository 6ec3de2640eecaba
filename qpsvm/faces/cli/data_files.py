"""Open binary or large data files as rows that are read in blocks (`find_stored_files`, `StoredFiles`).

`read_stored` reads samples to train on. Samples that are small when decoded are read into memory, so that every command
can use them. `iter_encoded_parts` reads rows to predict. It decodes the files twice, block by block: once to check the
rows and once to predict them. It neither stores the rows in memory nor writes them to a scratch file.
"""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, DataTypeError, FileFormatError, ParameterError, UnknownOptionError
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.data.files import Column, EncodedTable, Encoding, Frame, NewRows, StandardInput, as_frame
from qpsvm.data.files.encoded_table import compute_mean_and_scale, standardise_table
from qpsvm.data.files.libsvm import refuse_column_options
from qpsvm.data.files.sheet import Sheet, as_integers, build_target_error, select_features, split_names
from qpsvm.data.kinds import LARGE_MAP
from qpsvm.data.rows import RowSource, StandardisedRows, standardise_rows
from qpsvm.data.sources.arrays import map_npy, read_width
from qpsvm.data.sources.arrow import iter_frames, open_dataset
from qpsvm.data.sources.first_pass import run_first_pass
from qpsvm.data.sources.opening import drop_empty_files, expand_paths, is_binary, open_rows, require_one_format
from qpsvm.data.sources.scratch import DecodedRows, decode_to_scratch, find_scratch_folder
from qpsvm.data.sources.stored import StoredRows
from qpsvm.data.sources.text import LibsvmRows, open_csv
from qpsvm.faces.cli.problem_options import COLUMN_OPTIONS, choose_target_kind, refuse_options
from qpsvm.faces.cli.ticker import Ticker

#: Share of the available memory above which a text file is read in blocks by default: its cells and numbers take a few
#: times its size.
TEXT_SHARE = 0.25
#: Binary formats of tables whose columns have names and types.
NAMED_TABLE_FORMATS = ("parquet", "feather")
#: Note on sparse rows that are standardised in blocks.
SCALED_NOTE = "sparse columns are divided by their standard deviations; their means are not subtracted"
#: Note on rows that are read in blocks.
ON_DISK_NOTE = "the rows stay on disk and are read in blocks"
#: Note on named columns that are read in blocks.
IN_BLOCKS_NOTE = "every column is read as a number, including identifiers: use --drop to leave them out"
#: The data argument of a command.
DataSource = str | StandardInput | tuple[str, ...]


@dataclass(frozen=True)
class StoredFiles:
    """Files of one format.

    name: Name in messages.
    file_format: "npy", "parquet", "feather", "csv" or "libsvm".
    """

    name: str
    paths: tuple[str, ...]
    file_format: str

    @property
    def encoded_format(self) -> str:
        """The format of their encoding, which is "csv" for any table with named columns."""
        if self.file_format in ("npy", "libsvm"):
            return self.file_format
        return "csv"

    def list_columns(self) -> list[str]:
        """List the columns by name, or by position from 0 in an array. Raises FileFormatError, MissingExtraError."""
        if self.file_format == "npy":
            return [str(j) for j in range(read_width(self.paths[0]))]
        if self.file_format == "csv":
            return open_csv(self.paths[0]).names
        return list(open_dataset(self.paths[:1], self.file_format).schema.names)

    def refuse_column_options(self, options: argparse.Namespace) -> None:
        """Refuse options that convert columns, because these files must contain only numbers. Raises ParameterError."""
        reason = f"needs a table in memory, but {self.name} is read in blocks or has no column names"
        hint = "write its columns as numbers without missing values, or leave the option out"
        refuse_options(options, COLUMN_OPTIONS, f"{reason}: {hint}")

    @property
    def is_small_array(self) -> bool:
        """Whether it is one array that fits into memory."""
        return self.file_format == "npy" and len(self.paths) == 1 and map_npy(self.paths[0]).size <= LARGE_MAP

    @property
    def is_small_table(self) -> bool:
        """Whether it is a binary table with named columns that fits into memory."""
        if self.file_format not in NAMED_TABLE_FORMATS:
            return False
        dataset = open_dataset(self.paths, self.file_format)
        return bool(dataset.count_rows() * len(dataset.schema.names) <= LARGE_MAP)

    def iter_tables(self, all_at_once: bool = True) -> Iterator[Frame]:
        """Iterate over the rows of Parquet or Feather files, as one table or several, or over one array as a table."""
        if self.file_format == "npy":
            columns = {str(j): column for j, column in enumerate(np.asarray(map_npy(self.paths[0])).T)}
            return iter([as_frame(columns, self.name)])
        return iter_frames(self.paths, self.file_format, self.name, all_at_once)

    def to_column_argument(self, name: str | None) -> Any:
        """Convert the name of a column to an argument of `open_rows`: a name, a position in an array, or a file."""
        if name is not None and self.file_format == "npy" and name.isdecimal():
            return int(name)
        return name


def find_stored_files(source: DataSource, stream: bool) -> StoredFiles | None:
    """Find the files to open as rows; None if the source is one text to read into memory. Raises ParameterError."""
    if isinstance(source, StandardInput):
        if stream:
            raise ParameterError("--stream reads a file in blocks, several times: save standard input to a file first")
        return None
    if isinstance(source, str) and not (stream or _must_open_as_rows(source)):
        return None
    paths = drop_empty_files(expand_paths(source if isinstance(source, str) else list(source)))
    return StoredFiles(describe_source(source), tuple(paths), require_one_format(paths))


def describe_source(source: DataSource) -> str:
    """Describe the data source of a command, for messages."""
    if not isinstance(source, tuple):
        return str(source)
    if len(source) == 1:
        return source[0]
    return f"{source[0]} and {len(source) - 1} more"


def _must_open_as_rows(name: str) -> bool:
    """Return whether a name is that of several files, of a binary file, or of a text that would not fit into memory."""
    path = Path(name)
    if path.is_dir():
        return True
    if not path.is_file():
        return glob.has_magic(name) and not path.exists()
    try:
        return is_binary(name) or os.path.getsize(name) > TEXT_SHARE * find_available_memory()
    except OSError:
        return False  # reading it as text reports why it cannot be opened


def read_stored(stored: StoredFiles, options: argparse.Namespace, raw: bool) -> EncodedTable:
    """Read the samples of files, with the target and weights that options name. Raises ParameterError, QPSVMError.

    raw: Do not standardise the columns, whatever the options say.
    """
    stored.refuse_column_options(options)
    source, encoding = (_open_libsvm if stored.file_format == "libsvm" else _open_columns)(stored, options)
    y = _convert_target(source.target, options, stored.name)
    X: Any = source
    notes: tuple[str, ...] = ()
    if not getattr(options, "stream", False) and source.entries <= LARGE_MAP:  # some commands have no --stream
        X = source.matrix().copy()  # a copy: the matrix may be a memory map
    else:
        if encoding.format == "csv" and encoding.columns:
            notes = ON_DISK_NOTE, IN_BLOCKS_NOTE
        else:
            notes = (ON_DISK_NOTE,)
    table = EncodedTable(X, y, encoding, notes=notes, weights=source.weight)
    if raw or not options.standardise:
        return table
    return standardise_by(table, *compute_stored_moments(X, stored.name), stored.name)


def compute_stored_moments(X: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """Compute mean and standard deviation of each column of X (n, d), in memory or not: (d,), (d,).

    For sparse rows that are not in memory, the mean is returned as 0: subtracting it would make them dense.

    Raises ParameterError.
    """
    if isinstance(X, RowSource):
        with Ticker(f"standardising {name}"):
            standardised = standardise_rows(X)
        return standardised.mean, standardised.scale
    return compute_mean_and_scale(X, name)


def standardise_by(table: EncodedTable, mean: FloatArray, scale: FloatArray, name: str) -> EncodedTable:
    """Subtract the means from the columns of a table, and divide by the standard deviations.

    An array is changed in place; rows that are not in memory are transformed block by block in every pass.
    """
    table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
    X: Any = table.X
    if not isinstance(X, RowSource):
        return standardise_table(table, name)
    if X.is_sparse and SCALED_NOTE not in table.notes:
        notes = *table.notes, SCALED_NOTE
    else:
        notes = table.notes
    return replace(table, X=StandardisedRows(X, mean, scale), notes=notes)


def _open_libsvm(stored: StoredFiles, options: argparse.Namespace) -> tuple[StoredRows, Encoding]:
    """Open the rows of LIBSVM files, decoded to a scratch file."""
    refuse_column_options(stored.name, vars(options).get, "--")
    decoder = LibsvmRows(stored.paths)
    source = decode_to_scratch(decoder, find_scratch_folder(None), sparse=True)
    return source, Encoding("libsvm", None, (), source.d, first_index=decoder.first_index)


def choose_columns(stored: StoredFiles, options: argparse.Namespace) -> tuple[list[str], str | None, str | None]:
    """Return the names of the feature columns, the target and the weights, as the options choose them.

    The columns of an array are named by position from 0; its target and weights may be separate .npy files.
    """
    if options.groups is not None:
        raise ParameterError("--groups needs a text file that is read into memory: leave it out, or use such a file")
    names = stored.list_columns()
    given = {option: name for option in ("target", "weights") if (name := getattr(options, option))}
    files = {option: name for option, name in given.items() if _is_separate_file(name, stored)}
    columns = {option: _resolve_name(name, names, stored) for option, name in given.items() if option not in files}
    sheet = Sheet(stored.paths[0], {name: j for j, name in enumerate(names)})
    if options.target is None and choose_target_kind(options) != "none":
        raise build_target_error(sheet, choose_target_kind(options))
    dropped = [_resolve_name(name, names, stored) for name in split_names(options.drop, names)]
    features = select_features(sheet, columns, dropped)
    chosen = columns | files
    return features, chosen.get("target"), chosen.get("weights")


def _open_columns(stored: StoredFiles, options: argparse.Namespace) -> tuple[StoredRows, Encoding]:
    """Open the rows of files whose columns are named or numbered."""
    features, target, weights = choose_columns(stored, options)
    source = open_rows(
        list(stored.paths),
        target=stored.to_column_argument(target),
        # all other columns by None, not by their names, so that files with different columns are refused
        columns=list(map(stored.to_column_argument, features)) if options.drop else None,
        weight=stored.to_column_argument(weights),
    )
    has_text_labels = source.target is not None and source.target.dtype.kind not in "iufb"
    return source, build_encoding(stored, features, target, has_text_labels)


def build_encoding(stored: StoredFiles, features: Sequence[str], target: str | None, has_text_labels: bool) -> Encoding:
    """Build the encoding of files with numeric columns only."""
    if target is None or _is_separate_file(target, stored):
        target_column = None
    else:
        target_column = target
    columns = tuple(map(Column, features))
    return Encoding(stored.encoded_format, target_column, columns, len(features), text_labels=has_text_labels)


def _is_separate_file(name: str, stored: StoredFiles) -> bool:
    """Return whether a name is that of a file, which contains the target or the weights of an array."""
    return stored.file_format == "npy" and name.endswith(".npy")


def _resolve_name(name: str, names: list[str], stored: StoredFiles) -> str:
    """Return the name of a column; in an array the name is a number, and a negative one counts from the end.

    Raises UnknownOptionError.
    """
    if stored.file_format != "npy":
        return name
    if not name.removeprefix("-").isdecimal() or not -len(names) <= int(name) < len(names):
        raise UnknownOptionError(
            f"{stored.name} is an array with columns 0 to {len(names) - 1}, and has no column {name!r}; a separate "
            ".npy file may be named as well"
        )
    return names[int(name)]


def _convert_target(y: NDArray[Any] | None, options: argparse.Namespace, name: str) -> NDArray[Any] | None:
    """Convert a float target to integers if all values are whole, as in text files. Raises DataTypeError."""
    if y is None:
        return None
    if choose_target_kind(options) == "numbers" and y.dtype.kind not in "iufb":
        raise DataTypeError(
            f"{name}: the target {options.target!r} contains text, such as {y[0].item()!r}, but the variant "
            f"{options.variant} needs numbers; two-class machines accept labels"
        )
    if y.dtype.kind == "f":
        return as_integers(np.asarray(y, dtype=np.float64))
    return y


def iter_encoded_parts(stored: StoredFiles, encoding: Encoding) -> Iterator[NewRows]:
    """Iterate over the rows of some files, encoded like the training file of a model, one block at a time."""
    if stored.encoded_format != encoding.format:
        descriptions = {"csv": "a table with named columns", "npy": "an array"}
        expected = descriptions.get(encoding.format, f"a {encoding.format} file")
        raise FileFormatError(f"{stored.name} is a {stored.file_format} file, but the model was trained on {expected}")
    source = (_open_new_libsvm if stored.file_format == "libsvm" else _open_new_columns)(stored, encoding)
    for block in source.blocks():
        X: Any = block.matrix
        if sp.issparse(X):  # LIBSVM rows have as many columns as the largest index in these files
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], encoding.n_features))
        y = None if source.target is None else source.target[block.rows]
        if y is not None and y.dtype.kind == "f":
            y = as_integers(y.astype(np.float64))
        yield standardise_table(NewRows(X, y, encoding), stored.name)


def _open_new_libsvm(stored: StoredFiles, encoding: Encoding) -> StoredRows:
    """Open LIBSVM rows with the features of a model. Raises DataError for an index that the model does not have."""
    decoder = LibsvmRows(stored.paths)
    first = encoding.first_index
    decoder.first_index = first
    source = DecodedRows(decoder, run_first_pass(decoder))  # sets `first_index` to 0 if the files have the index 0
    has_index_0 = decoder.first_index < first
    if has_index_0 or source.d > encoding.n_features:
        unknown = 0 if has_index_0 else source.d - 1 + first
        raise DataError(
            f"{stored.name}: feature index {unknown} is unknown to the model, whose features are {first} to "
            f"{encoding.n_features - 1 + first}"
        )
    return source


def _open_new_columns(stored: StoredFiles, encoding: Encoding) -> StoredRows:
    """Open rows with the columns of a model, and with the target if every row has one. Raises DataError."""
    names = stored.list_columns()
    encoding.check_names(names, stored.name)
    derived = next((column for column in encoding.columns if column != Column(column.name)), None)
    if derived is not None:
        if derived.date:
            content = "a date"
        elif derived.categories is not None:
            content = "a text"
        else:
            content = "missing values"
        raise DataError(
            f"{stored.name}: the model derives features from {content} in column {derived.name!r}, which works in "
            "memory only: leave --stream out, or predict one file at a time"
        )
    columns = [stored.to_column_argument(column.name) for column in encoding.columns]
    open_columns = partial(open_rows, list(stored.paths), columns=columns, scratch=False)
    with suppress(DataError):  # some row has no target: open the files without it, so that every row is predicted
        if encoding.target in names:
            return open_columns(target=stored.to_column_argument(encoding.target))
    return open_columns()
