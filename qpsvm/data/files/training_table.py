"""Read a CSV or LIBSVM file, or a table in memory, and learn the encoding of its columns (`read_table`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.data.files.column_kinds import ColumnRules, MissingPolicy, learn_columns
from qpsvm.data.files.columns import TableColumns, extract_groups, extract_labels, extract_numbers, read_columns
from qpsvm.data.files.encoded_table import EncodedTable, compute_mean_and_scale, standardise_table
from qpsvm.data.files.encoding import Column, ColumnSummary, Encoding, TargetKind, encode
from qpsvm.data.files.frames import Frame, read_frame
from qpsvm.data.files.libsvm import refuse_column_options
from qpsvm.data.files.libsvm_table import build_libsvm_table
from qpsvm.data.files.sheet import UNNAMED, Sheet, build_target_error, detect_format, parse_sheet, select_features
from qpsvm.data.files.source import FilePath, read_bytes, translate_memory_errors
from qpsvm.data.files.text_format import PLAIN, TextFormat


@dataclass(frozen=True, eq=False)
class RawTable(EncodedTable):
    """A table with its columns as they were read, so that an encoding can be learnt from some of the rows only.

    columns: The columns of its rows.
    names: Those that may become features.
    rules: The options of the caller for them.
    """

    columns: TableColumns | None = None
    names: tuple[str, ...] = ()
    rules: ColumnRules = field(default_factory=ColumnRules)

    def encode_split(self, train: IntArray, rows: IntArray) -> tuple[EncodedTable, EncodedTable]:
        """Encode the training rows, and other rows, by what is learnt from the training rows. Raises DataError."""
        assert self.columns is not None
        learnt, summaries = learn_columns(self.columns.take_rows(train), self.names, self.rules)
        summaries += tuple(each for each in self.column_summaries if each.name not in self.names)
        n_features = _count_features(learnt, self.columns.sheet, summaries)
        encoding = replace(self.encoding, columns=learnt, n_features=n_features)

        def encode_rows(index: IntArray) -> EncodedTable:
            y, groups, weights = (each if each is None else each[index] for each in (self.y, self.groups, self.weights))
            assert self.columns is not None
            X = encode(self.columns.take_rows(index), encoding) if len(index) else np.zeros((0, n_features))
            return EncodedTable(
                X, y, encoding, self.dropped, self.notes, groups, weights, summaries, self.required_columns
            )

        return encode_rows(train), encode_rows(rows)


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
        options = {"target": target, "groups": groups, "weights": weights}
        roles = {option: column for option, column in options.items() if column is not None}
        content = b"" if isinstance(path, Frame) else read_bytes(path, text_format.charset)
        if isinstance(path, Frame):
            path = replace(path, text_format=text_format)
            table = _build_named_table(path, partial(read_frame, path), roles, drop, rules, wanted, raw)
        elif detect_format(content) == "libsvm":
            given = {**options, "drop": drop, "keep": keep, "date": date}
            given |= {"na": text_format.na_values, "decimal": text_format.decimal}
            refuse_column_options(path, given.get)
            if rules.fills_missing:
                raise ParameterError(
                    f"{path} is a LIBSVM file, in which nothing is filled in: leave out missing, or drop such rows"
                )
            table = build_libsvm_table(path, content, None, rules.missing == "drop")
        else:
            sheet = parse_sheet(path, content, text_format)
            table = _build_named_table(sheet, partial(read_columns, sheet), roles, drop, rules, wanted, raw)
        if standardise:
            mean, scale = compute_mean_and_scale(table.X, name)
            table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
        return standardise_table(table, name)


def _build_named_table(
    sheet: Sheet,
    read: Callable[[Sequence[str]], TableColumns],
    roles: Mapping[str, str],
    drop: Sequence[str],
    rules: ColumnRules,
    wanted: TargetKind,
    raw: bool,
) -> EncodedTable:
    """Build a table whose columns have names, from a file or from memory.

    read: Reads columns by their names.
    roles: The columns of target, groups and weights, by these options.
    """
    if "target" not in roles and wanted != "none":
        raise build_target_error(sheet, wanted)
    names = select_features(sheet, roles, drop)
    rules = rules.resolve_names(sheet, names)
    has_row_numbers = UNNAMED in sheet.header and UNNAMED not in drop
    columns = read([*names, *roles.values(), *([UNNAMED] if has_row_numbers else [])])
    notes: tuple[str, ...] = ()
    if has_row_numbers:
        first = sheet.check_index(columns.cells[UNNAMED].to_numbers())
        notes = (f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature",)
    columns, n_dropped, required = _drop_incomplete_rows(columns, names, roles, rules)
    learnt, summaries = learn_columns(columns, names, rules)
    summaries += tuple(ColumnSummary(name, option, "") for option, name in roles.items())
    target, groups, weights = (roles.get(option) for option in ("target", "groups", "weights"))
    has_text_labels = target is not None and wanted != "numbers" and columns.cells[target].to_numbers() is None
    encoding = Encoding(
        "csv", target, learnt, _count_features(learnt, sheet, summaries), text_labels=has_text_labels, groups=groups,
        na_values=sheet.text_format.na_values, decimal=sheet.text_format.decimal,
    )  # fmt: skip
    y = None
    if target is not None and wanted == "numbers":
        y = extract_numbers(columns, target, "the target")
    elif target is not None:
        y = extract_labels(columns, target, has_text_labels)
    members = None if groups is None else extract_groups(columns, groups)
    s = None if weights is None else extract_numbers(columns, weights, "a weight")
    X = encode(columns, encoding)
    table = EncodedTable(X, y, encoding, n_dropped, notes, members, s, summaries, required)
    if not raw:
        return table
    return RawTable(**vars(table), columns=columns, names=tuple(names), rules=rules.with_detected(columns, learnt))


def _drop_incomplete_rows(
    columns: TableColumns, names: Sequence[str], roles: Mapping[str, str], rules: ColumnRules
) -> tuple[TableColumns, int, tuple[str, ...]]:
    """Drop or refuse the rows without a needed value. Raises DataError.

    Returns the other rows, the number of dropped ones, and the columns in which a value is needed. These do not include
    the features that are left out, which depends on the rows. So rows without target, groups or weights are dropped
    first.
    """
    drops = rules.missing != "error"
    role_columns = [*roles.values()]
    n_first = 0
    if drops and not columns.mask_missing(role_columns).all():
        columns, n_first = columns.drop_incomplete(role_columns, True)
    used = tuple(column.name for column in learn_columns(columns, names, rules)[0])
    required = (*(() if rules.fills_missing else used), *role_columns)
    columns, n_dropped = columns.drop_incomplete(required, drops, fills=bool(columns.mask_missing(used).any()))
    return columns, n_first + n_dropped, required


def _count_features(learnt: Sequence[Column], sheet: Sheet, summaries: Sequence[ColumnSummary]) -> int:
    """Count the features of the columns. Raises DataError if there are none."""
    if not learnt:
        text = "; ".join(f"{each.name!r} ({each.kind}) is {each.outcome}" for each in summaries if each.outcome)
        raise DataError(f"{sheet.path} has no feature column: {text}")
    return sum(len(column.names) for column in learnt)
