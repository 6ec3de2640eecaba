"""Read rows of another file or table by the encoding of the training rows (`read_with_encoding`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.errors import FileFormatError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files.columns import TableColumns, extract_groups, extract_labels, read_columns
from qpsvm.data.files.encoded_table import NewRows, standardise_table
from qpsvm.data.files.encoding import Encoding, encode, find_unseen
from qpsvm.data.files.frames import Frame, read_frame
from qpsvm.data.files.libsvm_table import build_libsvm_table
from qpsvm.data.files.sheet import Mask, Sheet, detect_format, parse_sheet
from qpsvm.data.files.source import FilePath, read_bytes, translate_memory_errors
from qpsvm.data.files.text_format import PLAIN, TextFormat

#: Name for rows that are named by their numbers, from 0, unless it is the name of a column.
ROW = "row"


def read_with_encoding(
    path: FilePath | Frame, encoding: Encoding, *, drop_missing: bool = False, keep_rows: bool = False,
    name_rows: str | None = None, text_format: TextFormat = PLAIN,
) -> NewRows:  # fmt: skip
    """Read other rows in the way in which `read_table` read the training rows, from which `encoding` was learnt.

    Columns are found by name, in any order, and others are ignored. Categories that are unknown are counted. With
    `keep_rows` incomplete rows are counted, not refused, and the target may be missing; `name_rows` is the
    column whose cells name the rows. Missing values of `text_format` are added to those of the encoding, whose decimal
    mark applies.
    """
    name = path.path if isinstance(path, Frame) else path
    na_values = (*encoding.na_values, *text_format.na_values)
    text_format = TextFormat(na_values, encoding.decimal, text_format.charset)
    with translate_memory_errors(name):
        if isinstance(path, Frame):
            found = "csv" if encoding.format == "libsvm" else encoding.format
        else:
            content = read_bytes(path, text_format.charset)
            found = detect_format(content) or encoding.format
        if found != encoding.format:
            raise FileFormatError(f"{name} is a {found} file, but the model was trained on a {encoding.format} file")
        if isinstance(path, Frame):
            frame = replace(path, text_format=text_format)
            read = partial(read_frame, frame, as_numbers=_list_numeric_columns(encoding))
            table = _read_named_rows(frame, read, encoding, drop_missing, keep_rows, name_rows)
        elif found == "libsvm":
            if name_rows not in (None, ROW):
                raise ParameterError(f"{name} is a LIBSVM file, whose rows have no names: leave out --id")
            table = build_libsvm_table(path, content, encoding, drop_missing or keep_rows)
        else:
            sheet = parse_sheet(path, content, text_format)
            table = _read_named_rows(sheet, partial(read_columns, sheet), encoding, drop_missing, keep_rows, name_rows)
        return standardise_table(table, name)


def _list_numeric_columns(encoding: Encoding) -> list[str]:
    """List the columns that are plain numbers, or dates, in the encoding."""
    names = [column.name for column in encoding.columns if column.categories is None and not column.unit]
    if encoding.target is not None and not encoding.text_labels:
        names.append(encoding.target)
    return names


def _list_text_columns(encoding: Encoding) -> list[str]:
    """List the columns whose cells the encoding expects as text: categories, numbers with a unit, text labels."""
    names = [column.name for column in encoding.columns if column.categories is not None or column.unit]
    if encoding.target is not None and encoding.text_labels:
        names.append(encoding.target)
    return names


def _read_named_rows(
    sheet: Sheet, read: Callable[..., TableColumns], encoding: Encoding, drop_missing: bool, keep_rows: bool,
    name_rows: str | None,
) -> NewRows:  # fmt: skip
    """Read rows whose columns have names, from a file or from memory.

    read: Reads columns by their names, and some of them as text.
    """
    encoding.check_names(sheet.header, sheet.path)
    id_column = _find_id_column(sheet, name_rows)
    role_columns = [name for name in (encoding.target, encoding.groups) if name in sheet.header]
    names = dict.fromkeys([*(column.name for column in encoding.columns), *role_columns])
    columns = read([*names], _list_text_columns(encoding))
    n = len(columns.rows)
    if id_column is None:
        ids = None
    else:
        ids = tuple(read([id_column], [id_column]).cells[id_column].values.tolist())
    role_columns = [name for name in role_columns if not columns.cells[name].is_all_missing()]
    required = [column.name for column in encoding.columns if column.fill is None]
    if keep_rows:  # a row without a target can be predicted
        columns = columns.take_rows(np.flatnonzero(~columns.mask_missing(required)))
    else:
        columns, _ = columns.drop_incomplete([*required, *role_columns], drop_missing)
    labels, labelled = None, None
    if encoding.target in role_columns and len(columns.rows):
        labels, labelled = _extract_known_labels(columns, encoding.target, encoding.text_labels)
    if encoding.groups in role_columns:
        groups = extract_groups(columns, encoding.groups)
    else:
        groups = None
    if len(columns.rows):
        X = encode(columns, encoding)
    else:
        X = np.zeros((0, encoding.n_features))
    return NewRows(
        X, labels, encoding, n - len(columns.rows), groups=groups, places=columns.rows, n=n, labelled=labelled,
        ids=ids, unseen=find_unseen(columns, encoding),
    )  # fmt: skip


def _find_id_column(sheet: Sheet, name_rows: str | None) -> str | None:
    """Return the column whose cells name the rows; None if their numbers do. Raises UnknownOptionError."""
    if name_rows is None or name_rows in sheet.header:
        return name_rows
    if name_rows == ROW:
        return None
    nearest = describe_nearest(name_rows, sheet.names)
    raise UnknownOptionError(f"id: {sheet.path} has no column {name_rows!r}; {nearest}")


def _extract_known_labels(columns: TableColumns, target: str, text: bool) -> tuple[NDArray[Any], Mask | None]:
    """Return the labels, (n,), with 0 for missing ones, and the mask of the rows that have one; None for all rows."""
    missing = columns.mask_missing([target])
    known = extract_labels(columns.take_rows(np.flatnonzero(~missing)), target, text)
    labels = np.zeros(len(missing), dtype=known.dtype)
    labels[~missing] = known
    return labels, ~missing if missing.any() else None
