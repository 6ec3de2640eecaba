"""Open binary or large data files as rows that are read in blocks.

Samples that are small once they are decoded are taken into memory, so that every command can use them. Rows to predict
are decoded twice, to be checked and to be predicted a block at a time: nothing is kept, nor written to scratch.
"""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
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
from qpsvm.data.rows import RowSource, StandardisedRows
from qpsvm.data.rows import standardise_rows as by_blocks
from qpsvm.data.sources.arrays import map_npy, read_width
from qpsvm.data.sources.arrow import iter_frames, open_dataset
from qpsvm.data.sources.first_pass import run_first_pass
from qpsvm.data.sources.opening import MARKS, drop_empty_files, expand_paths, open_rows, require_one_format
from qpsvm.data.sources.spool import DecodedRows, decode_to_scratch, find_scratch_folder
from qpsvm.data.sources.stored import StoredRows
from qpsvm.data.sources.text import LibsvmRows, open_csv
from qpsvm.faces.cli.problem_options import COLUMN_OPTIONS, choose_target, refuse_options
from qpsvm.faces.cli.terminal import Ticker

#: Share of the memory that is available from which on a text file is read in blocks unasked: as cells and numbers it
#: takes a few times its size.
TEXT_SHARE = 0.25
#: Forms of tables whose columns have names and kinds.
FRAMES = ("parquet", "feather")
#: Endings of files that are no text.
ENDINGS = (".npy", ".parquet", ".feather", ".arrow")
#: What is said of sparse rows that are read in blocks.
SCALED_NOTE = "sparse columns are divided by their deviations, and their means are not subtracted"
#: What is said of named columns that are read in blocks.
IN_BLOCKS_NOTE = "every column is taken for a number, identifiers too: --drop leaves out what is none"
#: What a command is given as its data.
DataSource = str | StandardInput | tuple[str, ...]


@dataclass(frozen=True)
class StoredFiles:
    """Files of one format.

    name: What messages call them.
    file_format: "npy", "parquet", "feather", "csv" or "libsvm".
    """

    name: str
    paths: tuple[str, ...]
    file_format: str

    def list_columns(self) -> list[str]:
        """The columns: by name, or of an array by place from 0. Raises FileFormatError, MissingExtraError."""
        if self.file_format == "npy":
            return [str(j) for j in range(read_width(self.paths[0]))]
        if self.file_format == "csv":
            return open_csv(self.paths[0]).names
        return list(open_dataset(self.paths[:1], self.file_format).schema.names)

    def check_column_options(self, options: argparse.Namespace, names: Iterable[str] = COLUMN_OPTIONS) -> None:
        """Rows that are read in blocks, or are arrays, are numbers as they are. Raises ParameterError."""
        why = f"is of a table that is read into memory, and {self.name} is read in blocks, or has no names of columns"
        refuse_options(options, names, f"{why}: write its columns as numbers without missing values, or leave it out")

    @property
    def is_small_array(self) -> bool:
        """Whether it is one array with room in memory."""
        return self.file_format == "npy" and len(self.paths) == 1 and map_npy(self.paths[0]).size <= LARGE_MAP

    @property
    def fits_in_memory(self) -> bool:
        """Whether it is a table with named columns that is no text, and has room in memory."""
        if self.file_format not in FRAMES:
            return False
        dataset = open_dataset(self.paths, self.file_format)
        return bool(dataset.count_rows() * len(dataset.schema.names) <= LARGE_MAP)

    def iter_frames(self, all_at_once: bool = True) -> Iterator[Frame]:
        """Its rows, of Parquet or Feather; or of one array, whose columns are called by their places."""
        if self.file_format == "npy":
            columns = {str(j): column for j, column in enumerate(np.asarray(map_npy(self.paths[0])).T)}
            return iter([as_frame(columns, self.name)])
        return iter_frames(self.paths, self.file_format, self.name, all_at_once)

    def find_column(self, name: str | None) -> Any:
        """A column as `open_rows` takes it: by name, or of an array by place, unless it is a file of its own."""
        return int(name) if name is not None and self.file_format == "npy" and name.isdecimal() else name


def find_stored_files(given: DataSource, stream: bool) -> StoredFiles | None:
    """The files of a command that are to be opened as rows; None where one text is read into memory."""
    if isinstance(given, StandardInput):
        if stream:
            raise ParameterError("--stream reads a file in blocks, again and again: write standard input to one first")
        return None
    if isinstance(given, str) and not (stream or _is_store(given)):
        return None
    paths = drop_empty_files(expand_paths(given if isinstance(given, str) else list(given)))
    return StoredFiles(describe_source(given), tuple(paths), require_one_format(paths))


def describe_source(given: DataSource) -> str:
    """Describe the data source of a command, for messages."""
    if not isinstance(given, tuple):
        return str(given)
    return given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"


def _is_store(name: str) -> bool:
    """Whether a name stands for several files, or for one that is no text or would not fit into memory."""
    path = Path(name)
    if path.is_dir():
        return True
    if not path.is_file():
        return glob.has_magic(name) and not path.exists()
    if name.endswith(ENDINGS):
        return True
    try:
        with path.open("rb") as file:
            mark = file.read(max(map(len, MARKS)))
    except OSError:
        return False  # whoever reads it says why not
    return mark.startswith(tuple(MARKS)) or os.path.getsize(path) > TEXT_SHARE * find_available_memory()


def read_stored(found: StoredFiles, options: argparse.Namespace, raw: bool) -> EncodedTable:
    """The samples of some files, with the target and weights that options name. Raises ParameterError, QPSVMError."""
    found.check_column_options(options)
    source, encoding = _open_libsvm(found, options) if found.file_format == "libsvm" else _open_columns(found, options)
    y = _convert_target(source.target, options, found.name)
    held = not getattr(options, "stream", False) and source.entries <= LARGE_MAP
    X: Any = source.matrix().copy() if held else source  # a copy, of what may be a map of the file, is ours to change
    notes = () if held else ("the rows stay where they are stored, and are read in blocks",)
    if not held and encoding.columns and found.file_format != "npy":
        notes = (*notes, IN_BLOCKS_NOTE)
    table = EncodedTable(X, y, encoding, notes=notes, weights=source.weight)
    return (
        table
        if raw or not options.standardise
        else standardise_by(table, *compute_stored_moments(X, found.name), found.name)
    )


def compute_stored_moments(X: Any, name: str) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each column of X (n, d), in memory or not: (d,), (d,).

    Of sparse rows that are not in memory, the mean is given as 0: to subtract it would fill in the zeros.

    Raises ParameterError.
    """
    if isinstance(X, RowSource):
        with Ticker(f"standardising {name}"):
            found = by_blocks(X)
        return found.mean, found.scale
    return compute_mean_and_scale(X, name)


def standardise_by(table: EncodedTable, mean: FloatArray, scale: FloatArray, name: str) -> EncodedTable:
    """The table with its columns less their means, divided by their deviations.

    An array is changed in place; of rows that are not in memory, each block is made anew in every pass.
    """
    table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
    X: Any = table.X
    if not isinstance(X, RowSource):
        return standardise_table(table, name)
    notes = (*table.notes, SCALED_NOTE) if X.is_sparse and SCALED_NOTE not in table.notes else table.notes
    return replace(table, X=StandardisedRows(X, mean, scale), notes=notes)


def _open_libsvm(found: StoredFiles, options: argparse.Namespace) -> tuple[StoredRows, Encoding]:
    refuse_column_options(found.name, vars(options).get, "--")
    decoder = LibsvmRows(found.paths)
    source = decode_to_scratch(decoder, find_scratch_folder(None), True)
    return source, Encoding("libsvm", None, (), source.d, first_index=decoder.first_index)


def choose_columns(found: StoredFiles, options: argparse.Namespace) -> tuple[list[str], str | None, str | None]:
    """The columns of files that are features, that of the target and that of the weights, as options name them.

    The columns of an array are called by their places from 0; its target and weights may be .npy files of their own.
    """
    if options.groups is not None:
        raise ParameterError("--groups is of a text file that is read into memory: leave it out, or take one")
    names = found.list_columns()
    apart = {"target": options.target, "weights": options.weights}
    own = {option: name for option, name in apart.items() if name is not None and _is_own_file(name, found)}
    beside = {option: _resolve_name(name, names, found) for option, name in apart.items() if name and option not in own}
    sheet = Sheet(found.paths[0], {name: j for j, name in enumerate(names)})
    if options.target is None and choose_target(options) != "none":
        raise build_target_error(sheet, choose_target(options))
    used = select_features(
        sheet, beside, [_resolve_name(name, names, found) for name in split_names(options.drop, names)]
    )
    target, weights = ({**beside, **own}.get(option) for option in apart)
    return used, target, weights


def _open_columns(found: StoredFiles, options: argparse.Namespace) -> tuple[StoredRows, Encoding]:
    """The rows of files whose columns are named, or numbered."""
    used, target, weights = choose_columns(found, options)
    chosen = [found.find_column(name) for name in used] if options.drop or found.file_format == "npy" else None
    source = open_rows(list(found.paths), found.find_column(target), chosen, found.find_column(weights))
    text = source.target is not None and source.target.dtype.kind not in "iufb"
    return source, build_encoding(found, used, target, text)


def build_encoding(found: StoredFiles, used: Sequence[str], target: str | None, text: bool) -> Encoding:
    """Build the encoding of files whose columns are all numbers."""
    form = "npy" if found.file_format == "npy" else "csv"
    named = None if target is None or _is_own_file(target, found) else target
    return Encoding(form, named, tuple(map(Column, used)), len(used), text_labels=text)


def _is_own_file(name: str, found: StoredFiles) -> bool:
    """Whether the target or weights of an array stand in a file of their own."""
    return found.file_format == "npy" and name.endswith(".npy")


def _resolve_name(name: str, names: list[str], found: StoredFiles) -> str:
    """The name of a column: of an array its place, which may be counted from the end. Raises UnknownOptionError."""
    if found.file_format != "npy":
        return name
    place = name.removeprefix("-")
    if not place.isdecimal() or not -len(names) <= int(name) < len(names):
        raise UnknownOptionError(
            f"{found.name} is an array, whose columns have numbers from 0 to {len(names) - 1}, and not {name!r}; a "
            ".npy file of its own may be named too"
        )
    return names[int(name)]


def _convert_target(y: NDArray[Any] | None, options: argparse.Namespace, name: str) -> NDArray[Any] | None:
    """The target as text files have it: integers where all are whole. Raises DataTypeError."""
    if y is None:
        return None
    if choose_target(options) == "numbers" and y.dtype.kind not in "iufb":
        raise DataTypeError(
            f"{name}: the target {options.target!r} holds text, such as {y[0].item()!r}, where the variant "
            f"{options.variant} needs numbers; machines of two classes take labels"
        )
    return as_integers(np.asarray(y, dtype=np.float64)) if y.dtype.kind == "f" else y


def iter_encoded_parts(stored: StoredFiles, encoding: Encoding) -> Iterator[NewRows]:
    """The rows of some files as a model's own file was encoded, a block at a time."""
    form = stored.file_format if stored.file_format in ("npy", "libsvm") else "csv"
    if form != encoding.format:
        words = {"csv": "a table with named columns", "npy": "an array"}
        own = words.get(encoding.format, f"a {encoding.format} file")
        raise FileFormatError(f"{stored.name} is a {stored.file_format} file, but the model was trained on {own}")
    source = _reopen_libsvm(stored, encoding) if form == "libsvm" else _reopen_columns(stored, encoding)
    for block in source.blocks():
        X: Any = block.matrix
        if sp.issparse(X):
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], encoding.n_features))
        y = None if source.target is None else source.target[block.rows]
        y = as_integers(y.astype(np.float64)) if y is not None and y.dtype.kind == "f" else y
        yield standardise_table(NewRows(X, y, encoding), stored.name)  # type: ignore[misc]


def _reopen_libsvm(stored: StoredFiles, encoding: Encoding) -> StoredRows:
    decoder, first = LibsvmRows(stored.paths), encoding.first_index
    decoder.first_index = first
    source = DecodedRows(decoder, run_first_pass(decoder))
    unknown = 0 if decoder.first_index < first else source.d - 1 + first
    if unknown < first or source.d > encoding.n_features:
        raise DataError(
            f"{stored.name}: feature index {unknown} is unknown to the model, whose features are {first} to "
            f"{encoding.n_features - 1 + first}"
        )
    return source


def _reopen_columns(stored: StoredFiles, encoding: Encoding) -> StoredRows:
    """Rows with the columns that a model knows, and with their target, as long as every row has one."""
    names, columns = stored.list_columns(), [column.name for column in encoding.columns]
    encoding.check_names(names, stored.name)
    made = next((column for column in encoding.columns if column != Column(column.name)), None)
    if made is not None:
        what = "a date" if made.date else "a text" if made.categories is not None else "missing values"
        raise DataError(
            f"{stored.name}: the model makes features of {what} in column {made.name!r}, which is done in memory only: "
            "leave --stream out, or predict one file at a time"
        )
    opened = partial(open_rows, list(stored.paths), columns=list(map(stored.find_column, columns)), scratch=False)
    with suppress(DataError):  # a row without a target is predicted like any other
        if encoding.target in names:
            return opened(stored.find_column(encoding.target))
    return opened()
