"""Read a CSV or LIBSVM file, or a table in memory, into samples and labels, and later other rows in the same way.

A LIBSVM line is `label index:value index:value ...`. A CSV file has a header line, and commas, semicolons, tabs or |
between its cells. The content tells which of the two it is, and whether it is packed by xz, gzip or bzip2. A column of
numbers becomes one feature, one of text a 0/1 feature for each of its categories; identifiers, free text and dates are
left out unless they are asked for. Lines are counted from 1, as in editors, and rows from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, FileFormatError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files.columns import TableColumns, extract_groups, extract_labels, extract_numbers, read_columns
from qpsvm.data.files.encoded_table import EncodedTable, NewRows, compute_mean_and_scale, standardise_table
from qpsvm.data.files.encoding import Column, ColumnSummary, Encoding, TargetKind, encode, find_unseen
from qpsvm.data.files.frames import Frame, as_frame, read_frame
from qpsvm.data.files.kinds import ColumnRules, MissingPolicy, describe_columns, learn_columns
from qpsvm.data.files.libsvm import read_libsvm, refuse_column_options
from qpsvm.data.files.sheet import (
    MISSING,
    UNNAMED,
    Mask,
    Sheet,
    build_target_error,
    detect_format,
    open_sheet,
    select_features,
)
from qpsvm.data.files.source import FilePath, StandardInput, decode_text, read_bytes, translate_memory_errors
from qpsvm.data.files.text_format import DecimalMark, TextFormat

__all__ = [
    "MISSING",
    "ROW",
    "Column",
    "ColumnSummary",
    "DecimalMark",
    "EncodedTable",
    "Encoding",
    "Frame",
    "MissingPolicy",
    "NewRows",
    "RawTable",
    "StandardInput",
    "TargetKind",
    "TextFormat",
    "as_frame",
    "describe_columns",
    "read_table",
    "read_with_encoding",
]  # fmt: skip
#: How a text is written unless a caller says otherwise.
PLAIN = TextFormat()
#: What names a row by its number, from 0, unless it is the name of a column.
ROW = "row"
#: What reads columns by name, some of them as text.
Reader = Callable[..., TableColumns]


@dataclass(frozen=True, eq=False)
class RawTable(EncodedTable):
    """A table whose columns are kept as they were read, so that what is learnt can be learnt of some rows only.

    columns: Of its rows.
    names: Those that may become features.
    rules: What a caller says of them.
    """

    columns: TableColumns | None = None
    names: tuple[str, ...] = ()
    rules: ColumnRules = field(default_factory=ColumnRules)

    def encode_split(self, train: IntArray, rows: IntArray) -> tuple[EncodedTable, EncodedTable]:
        """Encode the training rows, and others, by what the training rows show. Raises DataError."""
        assert self.columns is not None
        made, taken = learn_columns(self.columns.take_rows(train), self.names, self.rules)
        beside = [each for each in self.column_summaries if each.name not in self.names]
        encoding = replace(self.encoding, columns=made, n_features=_count_features(made, self.columns.sheet, taken))
        parts = []
        for some in (train, rows):
            y, groups, weights = (each if each is None else each[some] for each in (self.y, self.groups, self.weights))
            X = encode(self.columns.take_rows(some), encoding) if len(some) else np.zeros((0, encoding.n_features))
            table = EncodedTable(X, y, encoding, self.dropped, self.notes, groups, weights)
            parts.append(replace(table, column_summaries=(*taken, *beside), required_columns=self.required_columns))
        return parts[0], parts[1]


def read_table(
    path: FilePath | Frame,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    standardise: bool = False,
    wanted: TargetKind = "labels",
    groups: str | None = None,
    weights: str | None = None,
    keep: Sequence[str] = (),
    date: Sequence[str] = (),
    missing: MissingPolicy = "error",
    text_format: TextFormat = PLAIN,
    raw: bool = False,
) -> EncodedTable:
    """Read a CSV or LIBSVM file, or a table in memory; with `raw` its columns are stored with the features."""
    name = path.path if isinstance(path, Frame) else path
    with translate_memory_errors(name):
        drop, keep, date = ((each,) if isinstance(each, str) else tuple(each) for each in (drop, keep, date))
        rules = ColumnRules(keep, date, "drop" if drop_missing else missing)
        beside = {"target": target, "groups": groups, "weights": weights}
        named = {option: column for option, column in beside.items() if column is not None}
        content = b"" if isinstance(path, Frame) else read_bytes(path, text_format.charset)
        if isinstance(path, Frame):
            path = replace(path, text_format=text_format)
            table = _build_named_table(path, partial(read_frame, path), named, drop, rules, wanted, raw)
        elif detect_format(content) == "libsvm":
            given = {**beside, "drop": drop, "keep": keep, "date": date}
            given |= {"na": text_format.na_values, "decimal": text_format.decimal}
            refuse_column_options(path, given.get)
            if rules.fills_missing:
                raise ParameterError(
                    f"{path} is a LIBSVM file, in which nothing is filled in: leave out missing, or drop such rows"
                )
            table = _build_libsvm_table(path, content, None, rules.missing == "drop")
        else:
            sheet = _parse_sheet(path, content, text_format)
            table = _build_named_table(sheet, partial(read_columns, sheet), named, drop, rules, wanted, raw)
        if standardise:
            mean, scale = compute_mean_and_scale(table.X, name)
            table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
        return standardise_table(table, name)


def _build_libsvm_table(path: FilePath, content: bytes, known: Encoding | None, drop_missing: bool) -> NewRows:
    X, y, first, keep, qid = read_libsvm(path, content, drop_missing, known)
    n = len(keep)
    encoding = known or Encoding("libsvm", None, (), X.shape[1], first_index=first)
    places, dropped = np.flatnonzero(keep), n - len(y)
    if len(qid) == len(y):
        return NewRows(X, y, encoding, dropped, groups=qid, places=places, n=n)
    notes = (f"only {len(qid)} lines have a qid, which is ignored",) if len(qid) else ()
    return NewRows(X, y, encoding, dropped, notes, places=places, n=n)


def _parse_sheet(path: FilePath, content: bytes, text_format: TextFormat) -> Sheet:
    """Parse the header of a CSV text that has rows below it. Raises FileFormatError."""
    sheet = open_sheet(path, lambda: decode_text(content), text_format)
    if next(sheet.blocks(), None) is None:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _build_named_table(
    sheet: Sheet,
    read: Reader,
    beside: Mapping[str, str],
    drop: Sequence[str],
    rules: ColumnRules,
    wanted: TargetKind,
    raw: bool,
) -> EncodedTable:
    """Build a table whose columns have names, from a file or from memory."""
    target, groups = beside.get("target"), beside.get("groups")
    if target is None and wanted != "none":
        raise build_target_error(sheet, wanted)
    names = select_features(sheet, beside, drop)
    rules = rules.resolve_names(sheet, names)
    counting = [UNNAMED] if UNNAMED in sheet.header and UNNAMED not in drop else []
    columns = read([*names, *beside.values(), *counting])
    firsts = [sheet.check_index(columns.cells[name].to_numbers()) for name in counting]
    notes = tuple(
        f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature"
        for first in firsts
    )
    dropped = 0
    if rules.missing != "error" and not columns.mask_missing([*beside.values()]).all():
        columns, dropped = columns.drop_incomplete([*beside.values()], True)
    used = tuple(column.name for column in learn_columns(columns, names, rules)[0])  # what is left out may have holes
    needed = (*(() if rules.fills_missing else used), *beside.values())
    columns, more_dropped = columns.drop_incomplete(
        needed, rules.missing != "error", fills=bool(columns.mask_missing(used).any())
    )
    dropped += more_dropped
    made, taken = learn_columns(columns, names, rules)
    taken += tuple(ColumnSummary(name, option, "") for option, name in beside.items())
    text = target is not None and wanted != "numbers" and columns.cells[target].to_numbers() is None
    encoding = Encoding(
        "csv", target, made, _count_features(made, sheet, taken), text_labels=text, groups=groups,
        na_values=sheet.text_format.na_values, decimal=sheet.text_format.decimal,
    )  # fmt: skip
    y = None
    if target is not None:
        y = (
            extract_numbers(columns, target, "the target")
            if wanted == "numbers"
            else extract_labels(columns, target, text)
        )
    members = None if groups is None else extract_groups(columns, groups)
    s = extract_numbers(columns, beside["weights"], "a weight") if "weights" in beside else None
    table = EncodedTable(encode(columns, encoding), y, encoding, dropped, notes, members, s, taken, needed)
    return (
        RawTable(**vars(table), columns=columns, names=tuple(names), rules=rules.with_detected(columns, made))
        if raw
        else table
    )


def _count_features(made: Sequence[Column], sheet: Sheet, taken: Sequence[ColumnSummary]) -> int:
    """Count the features that the columns become. Raises DataError."""
    if not made:
        text = "; ".join(f"{each.name!r} ({each.kind}) is {each.outcome}" for each in taken if each.outcome)
        raise DataError(f"{sheet.path} has no feature column: {text}")
    return sum(len(column.names) for column in made)


def read_with_encoding(
    path: FilePath | Frame,
    encoding: Encoding,
    *,
    drop_missing: bool = False,
    keep_rows: bool = False,
    name_rows: str | None = None,
    text_format: TextFormat = PLAIN,
) -> NewRows:
    """Read other rows as `read_table` read those that `encoding` is from.

    Columns are found by name, in any order, and others are ignored. Categories that are unknown are counted. With
    `keep_rows` incomplete rows are counted, not refused, and the target may be missing; `name_rows` is the
    column whose cells name the rows. Missing values of `text_format` are added to those of the encoding, whose decimal
    mark is that of the rows too.
    """
    name = path.path if isinstance(path, Frame) else path
    na_values = (*encoding.na_values, *text_format.na_values)
    text_format = TextFormat(na_values, encoding.decimal, text_format.charset)
    with translate_memory_errors(name):
        if isinstance(path, Frame):
            path = replace(path, text_format=text_format)
            sheet: Sheet = path
            numeric = [column.name for column in encoding.columns if column.categories is None and not column.unit]
            if encoding.target is not None and not encoding.text_labels:
                numeric.append(encoding.target)
            read: Reader = partial(read_frame, path, as_numbers=numeric)
            found = "csv" if encoding.format == "libsvm" else encoding.format
        else:
            content = read_bytes(path, text_format.charset)
            found = detect_format(content) or encoding.format
        if found != encoding.format:
            raise FileFormatError(f"{name} is a {found} file, but the model was trained on a {encoding.format} file")
        if found == "libsvm":
            if name_rows not in (None, ROW):
                raise ParameterError(f"{name} is a LIBSVM file, whose rows have no names: leave out --id")
            table = _build_libsvm_table(path, content, encoding, drop_missing or keep_rows)  # type: ignore[arg-type]
        else:
            if not isinstance(path, Frame):
                sheet = _parse_sheet(path, content, text_format)
                read = partial(read_columns, sheet)
            table = _read_named_rows(sheet, read, encoding, drop_missing, keep_rows, name_rows)
        return standardise_table(table, name)  # type: ignore[return-value]


def _extract_known_labels(columns: TableColumns, target: str, text: bool) -> tuple[NDArray[Any], Mask | None]:
    """Return the labels, (n,), 0 for missing ones, and which rows have one; None if all have one."""
    missing = columns.mask_missing([target])
    known = extract_labels(columns.take_rows(np.flatnonzero(~missing)), target, text)
    labels = np.zeros(len(missing), dtype=known.dtype)
    labels[~missing] = known
    return labels, ~missing if missing.any() else None


def _read_named_rows(
    sheet: Sheet, read: Reader, encoding: Encoding, drop_missing: bool, keep_rows: bool, name_rows: str | None
) -> NewRows:
    used, target, groups = [column.name for column in encoding.columns], encoding.target, encoding.groups
    encoding.check_names(sheet.header, sheet.path)
    if name_rows == ROW and ROW not in sheet.header:
        name_rows = None
    if name_rows is not None and name_rows not in sheet.header:
        raise UnknownOptionError(
            f"id: {sheet.path} has no column {name_rows!r}; {describe_nearest(name_rows, sheet.names)}"
        )
    as_text = [column.name for column in encoding.columns if column.categories is not None or column.unit]
    beside = [name for name in (target, groups) if name is not None and name in sheet.header]
    names = [*dict.fromkeys([*used, *beside])]
    columns = read(names, [*as_text, str(target)] if encoding.text_labels else as_text)
    ids = None if name_rows is None else tuple(read([name_rows], [name_rows]).cells[name_rows].values.tolist())
    n = len(columns.rows)
    beside = [name for name in beside if not columns.cells[name].is_all_missing()]
    needed = [column.name for column in encoding.columns if column.fill is None]
    if keep_rows:
        columns = columns.take_rows(np.flatnonzero(~columns.mask_missing(needed)))
    else:
        columns, _ = columns.drop_incomplete([*needed, *beside], drop_missing)
    labels, labelled = None, None
    if target in beside and len(columns.rows):
        labels, labelled = _extract_known_labels(columns, str(target), encoding.text_labels)
    members = extract_groups(columns, groups) if groups is not None and groups in beside else None
    X = encode(columns, encoding) if len(columns.rows) else np.zeros((0, encoding.n_features))
    return NewRows(
        X, labels, encoding, n - len(columns.rows), groups=members, places=columns.rows, n=n, labelled=labelled,
        ids=ids, unseen=find_unseen(columns, encoding),
    )  # fmt: skip
