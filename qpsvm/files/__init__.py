"""Read a CSV or LIBSVM file into samples and labels, and later another file in the same way.

A LIBSVM line is `label index:value index:value ...`. A CSV file has a header line, and commas, semicolons or tabs
between its cells. The content tells which of the two it is, and whether it is packed by xz, gzip or bzip2. A CSV column
of numbers becomes one feature, and any other column one 0/1 feature for each of its categories. Lines are counted from
1, as in editors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qpsvm.errors import DataError, FileFormatError, ParameterError
from qpsvm.files.columns import read_columns
from qpsvm.files.encoding import Column, Encoding, Table, as_dense, moments, standardised
from qpsvm.files.features import check_index, column_of, encode, labels_of
from qpsvm.files.libsvm import read_libsvm
from qpsvm.files.raw import MISSING, format_of
from qpsvm.files.sheet import UNNAMED, feature_columns, parse
from qpsvm.files.source import FilePath, StandardInput, read_bytes, within_memory

__all__ = ["MISSING", "Column", "Encoding", "StandardInput", "Table", "read_like", "read_table"]


def read_table(
    path: FilePath,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    standardise: bool = False,
) -> Table:
    """Read a CSV or LIBSVM file.

    Parameters
    ----------
    path : path, or StandardInput()
        The file, which may be packed by xz, gzip or bzip2.
    target : str, optional
        CSV: the column of labels, required. In a LIBSVM file the label begins the line.
    drop : sequence of str
        CSV: columns that are not used. A first column without a name ("") that counts rows is never used.
    drop_missing : bool
        Drop the rows with a missing value in a column that is used, instead of refusing the file.
    standardise : bool
        Give every feature mean 0 and standard deviation 1. A constant feature gets mean 0 only.

    Returns
    -------
    Table
        X (n, d), y (n,), and how the file was read.

    Raises
    ------
    MissingFileError
        No such file.
    FileFormatError
        The file cannot be read, is damaged or is not text in UTF-8; a line is malformed or a row has another length;
        there are no rows.
    DataError
        A value is missing or infinite; no column is left; a column identifies rows, or has decimal commas.
    ParameterError
        There is no target for a CSV file, or a target or drop for a LIBSVM file; or a sparse matrix is too large to be
        standardised.
    UnknownOptionError
        `target` or `drop` names no column.
    TooLargeError
        It does not fit into memory.
    """
    with within_memory(path):
        return _read_table(path, target, (drop,) if isinstance(drop, str) else tuple(drop), drop_missing, standardise)


def _read_table(
    path: FilePath, target: str | None, drop: Sequence[str], drop_missing: bool, standardise: bool
) -> Table:
    content = read_bytes(path)
    if format_of(content) == "libsvm":
        for option, given in (("target", target is not None), ("drop", bool(drop))):
            if given:
                raise ParameterError(f"{path} is a LIBSVM file, whose lines begin with the label: leave out {option}")
        X, y, first, dropped = read_libsvm(path, content, drop_missing)
        table = Table(X, y, Encoding("libsvm", None, (), X.shape[1], first_index=first), dropped)
    else:
        sheet = parse(path, content)
        names = feature_columns(sheet, target, drop)
        target = str(target)
        counting = [UNNAMED] if UNNAMED in sheet.header and UNNAMED not in drop else []
        columns = read_columns(sheet, [*names, target, *counting])
        notes = tuple(check_index(columns) for _ in counting)
        columns, dropped = columns.without_missing([*names, target], drop_missing)
        kinds = tuple(column_of(columns, name) for name in names)
        text = columns.cells[target].numbers() is None
        encoding = Encoding("csv", target, kinds, sum(len(c.names) for c in kinds), text_labels=text)
        table = Table(encode(columns, encoding), labels_of(columns, encoding), encoding, dropped, notes)
    if standardise:
        mean, scale = moments(as_dense(table.X, path))
        table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
    return standardised(table, path)


def read_like(path: FilePath, encoding: Encoding, *, drop_missing: bool = False) -> Table:
    """Read another file as `read_table` read the one that `encoding` is from.

    CSV columns are found by name, in any order, and others are ignored.

    Parameters
    ----------
    path : path, or StandardInput()
    encoding : Encoding
        Of the first file.
    drop_missing : bool
        As in `read_table`.

    Returns
    -------
    Table
        Its `y` is None where the target column is absent or holds no value at all, as in a file that waits for its
        predictions.

    Raises
    ------
    MissingFileError, FileFormatError, DataError, ParameterError
        As in `read_table`. Also where the file has the other format, lacks a column, or has a category or a feature
        index that the first file did not have.
    TooLargeError
        It does not fit into memory.
    """
    with within_memory(path):
        return _read_like(path, encoding, drop_missing)


def _read_like(path: FilePath, encoding: Encoding, drop_missing: bool) -> Table:
    content = read_bytes(path)
    found = format_of(content) or encoding.format
    if found != encoding.format:
        raise FileFormatError(f"{path} is a {found} file, but the model was trained on a {encoding.format} file")
    if encoding.format == "libsvm":
        X, y, _, dropped = read_libsvm(path, content, drop_missing, encoding)
        table = Table(X, y, encoding, dropped)
    else:
        sheet = parse(path, content)
        used, target = [column.name for column in encoding.columns], str(encoding.target)
        absent = [name for name in used if name not in sheet.header]
        if absent:
            raise DataError(f"{path} has no column {', '.join(map(repr, absent))}, which the model needs")
        as_text = [column.name for column in encoding.columns if column.categories is not None]
        there = [*used, target] if target in sheet.header else used
        columns = read_columns(sheet, there, [*as_text, target] if encoding.text_labels else as_text)
        waiting = target not in columns.cells or columns.cells[target].all_missing()
        columns, dropped = columns.without_missing(used if waiting else there, drop_missing)
        X = encode(columns, encoding)
        table = Table(X, None if waiting else labels_of(columns, encoding), encoding, dropped)
    return standardised(table, path)
