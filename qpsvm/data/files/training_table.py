"""Read a CSV or LIBSVM file, or a table in memory, and learn the encoding of its columns (`read_table`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """A table that also stores its columns as read, so that an encoding can be learnt from some of the rows.

    columns: All columns, over the rows of the table.
    feature_columns: Names of the columns that may become features; the others have a role, such as the target.
    rules: The caller's options for the feature columns.
    """

    columns: TableColumns | None = None
    feature_columns: tuple[str, ...] = ()
    rules: ColumnRules = field(default_factory=ColumnRules)

    def encode_split(self, train: IntArray, test: IntArray) -> tuple[EncodedTable, EncodedTable]:
        """Learn an encoding from the training rows, and encode these and the test rows by it. Raises DataError.

        train (k,), test (l,): Indices of rows.
        """
        assert self.columns is not None
        learnt, summaries = learn_columns(self.columns.take_rows(train), self.feature_columns, self.rules)
        summaries += tuple(column for column in self.column_summaries if column.name not in self.feature_columns)
        n_features = _count_features(learnt, self.columns.sheet, summaries)
        encoding = replace(self.encoding, columns=learnt, n_features=n_features)

        def encode_rows(index: IntArray) -> EncodedTable:
            assert self.columns is not None
            if len(index):
                X = encode(self.columns.take_rows(index), encoding)
            else:
                X = np.zeros((0, n_features))
            parts = (self.y, self.groups, self.weights)
            y, groups, weights = (None if part is None else part[index] for part in parts)
            return EncodedTable(
                X, y, encoding, self.dropped, self.notes, groups=groups, weights=weights, column_summaries=summaries,
                required_columns=self.required_columns,
            )  # fmt: skip

        return encode_rows(train), encode_rows(test)


@dataclass(frozen=True, eq=False)
class ColumnRequest:
    """The caller's choice of columns.

    roles: The columns of target, groups and weights, by these names; absent roles are left out.
    drop: Columns to ignore.
    rules: Options for the feature columns.
    target_kind: How the target is read; with "none" it may be absent.
    raw: Whether to build a `RawTable`.
    """

    roles: Mapping[str, str]
    drop: Sequence[str]
    rules: ColumnRules
    target_kind: TargetKind
    raw: bool


def read_table(
    source: FilePath | Frame, *, target: str | None = None, groups: str | None = None, weights: str | None = None,
    drop: Sequence[str] = (), keep: Sequence[str] = (), date: Sequence[str] = (), missing: MissingPolicy = "error",
    target_kind: TargetKind = "labels", text_format: TextFormat = PLAIN,
    standardise: bool = False, raw: bool = False,
) -> EncodedTable:  # fmt: skip
    """Read a CSV or LIBSVM file, or a table in memory. Raises DataError, ParameterError, UnknownOptionError.

    target, groups, weights: The columns with these roles, which a LIBSVM file does not name.
    drop: Columns to ignore.
    keep, date, missing: As in `ColumnRules`.
    target_kind: How the target is read; with "none" it may be absent.
    standardise: Whether to scale the features to mean 0 and standard deviation 1.
    raw: Whether to return a `RawTable`, if columns have names. It cannot be standardised yet: the mean would include
        all rows.
    """
    name = source.path if isinstance(source, Frame) else source
    if raw and standardise:
        raise ParameterError("a raw table cannot be standardised: leave out standardise, or raw")
    with translate_memory_errors(name):
        options = {"target": target, "groups": groups, "weights": weights}
        roles = {option: column for option, column in options.items() if column is not None}
        rules = ColumnRules(_as_names(keep), _as_names(date), missing)
        request = ColumnRequest(roles, _as_names(drop), rules, target_kind, raw)
        if isinstance(source, Frame):
            frame = replace(source, text_format=text_format)
            table = _build_named_table(frame, partial(read_frame, frame), request)
        else:
            table = _read_file(source, request, text_format)
        if not standardise:
            return table
        mean, scale = compute_mean_and_scale(table.X, name)
        return standardise_table(replace(table, encoding=replace(table.encoding, mean=mean, scale=scale)), name)


def _as_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as a tuple; a string is one name."""
    return (names,) if isinstance(names, str) else tuple(names)


def _read_file(path: FilePath, request: ColumnRequest, text_format: TextFormat) -> EncodedTable:
    """Read a CSV or LIBSVM file. Raises DataError, ParameterError."""
    content = read_bytes(path, text_format.charset)
    if detect_format(content) != "libsvm":
        sheet = parse_sheet(path, content, text_format)
        return _build_named_table(sheet, partial(read_columns, sheet), request)
    rules = request.rules
    options = {**request.roles, "drop": request.drop, "keep": rules.keep, "date": rules.date}
    options |= {"na": text_format.na_values, "decimal": text_format.decimal}
    refuse_column_options(path, get_option=options.get)
    if rules.fills_missing:
        raise ParameterError(
            f"{path} is a LIBSVM file, in which nothing is filled in: leave out missing, or drop such rows"
        )
    return build_libsvm_table(path, content, known=None, drop_missing=rules.missing == "drop")


def _build_named_table(
    sheet: Sheet, read: Callable[[Sequence[str]], TableColumns], request: ColumnRequest
) -> EncodedTable:
    """Build a table whose columns have names, from a file or from memory.

    read: Function that reads columns, given their names.
    """
    roles, target_kind = request.roles, request.target_kind
    if "target" not in roles and target_kind != "none":
        raise build_target_error(sheet, target_kind)
    feature_columns = select_features(sheet, roles, request.drop)
    rules = request.rules.resolve_names(sheet, feature_columns)
    has_index = UNNAMED in sheet.header and UNNAMED not in request.drop
    columns = read([*feature_columns, *roles.values(), *([UNNAMED] if has_index else [])])
    notes = (_describe_index(sheet, columns),) if has_index else ()
    columns, n_dropped, required = _drop_incomplete_rows(columns, feature_columns, roles, rules)
    learnt, summaries = learn_columns(columns, feature_columns, rules)
    summaries += tuple(ColumnSummary(name, option, "") for option, name in roles.items())
    target, group_column, weight_column = (roles.get(option) for option in ("target", "groups", "weights"))
    has_text_labels = target is not None and target_kind != "numbers" and columns.cells[target].to_numbers() is None
    encoding = Encoding(
        "csv", target, learnt, _count_features(learnt, sheet, summaries), text_labels=has_text_labels,
        groups=group_column, na_values=sheet.text_format.na_values, decimal=sheet.text_format.decimal,
    )  # fmt: skip
    y = _extract_target(columns, encoding, target_kind)
    groups = None if group_column is None else extract_groups(columns, group_column)
    if weight_column is None:
        weights = None
    else:
        weights = extract_numbers(columns, weight_column, "a weight")
    table = EncodedTable(
        encode(columns, encoding), y, encoding, n_dropped, notes, groups=groups, weights=weights,
        column_summaries=summaries, required_columns=required,
    )  # fmt: skip
    if not request.raw:
        return table
    rules = rules.with_detected(columns, learnt)
    return RawTable(**vars(table), columns=columns, feature_columns=tuple(feature_columns), rules=rules)


def _describe_index(sheet: Sheet, columns: TableColumns) -> str:
    """Note that the unnamed column is an index, as pandas and R write it. Raises DataError if it is not."""
    first = sheet.check_index(columns.cells[UNNAMED].to_numbers())
    return f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature"


def _extract_target(columns: TableColumns, encoding: Encoding, target_kind: TargetKind) -> NDArray[Any] | None:
    """Extract the target (n,) as numbers or labels; None without a target. Raises DataError."""
    if encoding.target is None:
        return None
    if target_kind == "numbers":
        return extract_numbers(columns, encoding.target, "the target")
    return extract_labels(columns, encoding.target, encoding.text_labels)


def _drop_incomplete_rows(
    columns: TableColumns, feature_columns: Sequence[str], roles: Mapping[str, str], rules: ColumnRules
) -> tuple[TableColumns, int, tuple[str, ...]]:
    """Drop or refuse the rows that lack a required value. Raises DataError.

    Returns the remaining rows, the number of dropped rows, and the columns in which every row needs a value. The
    columns that `learn_columns` leaves out are not required. Which these are depends on the rows, so the rows without
    target, groups or weights are dropped first.
    """
    drops = rules.missing != "error"
    role_columns = [*roles.values()]
    n_first = 0
    if drops and not columns.mask_missing(role_columns).all():  # if all rows were dropped, the last call explains why
        columns, n_first = columns.drop_incomplete(role_columns, drop_missing=True)
    learnt, _ = learn_columns(columns, feature_columns, rules)
    used = tuple(column.name for column in learnt)
    required = (*(() if rules.fills_missing else used), *role_columns)
    columns, n_dropped = columns.drop_incomplete(required, drops, fills=bool(columns.mask_missing(used).any()))
    return columns, n_first + n_dropped, required


def _count_features(learnt: Sequence[Column], sheet: Sheet, summaries: Sequence[ColumnSummary]) -> int:
    """Count the features of the columns. Raises DataError if there are none."""
    if not learnt:
        outcomes = [f"{column.name!r} ({column.kind}) is {column.outcome}" for column in summaries if column.outcome]
        raise DataError(f"{sheet.path} has no feature column: {'; '.join(outcomes)}")
    return sum(len(column.names) for column in learnt)
