"""Read a CSV or LIBSVM file, or a table in memory, into samples and labels, and later other rows in the same way.

A LIBSVM line is `label index:value index:value ...`. A CSV file has a header line, and commas, semicolons or tabs
between its cells. The content tells which of the two it is, and whether it is packed by xz, gzip or bzip2. A column of
numbers becomes one feature, one of text a 0/1 feature for each of its categories; identifiers, free text and dates are
left out unless they are asked for. Lines are counted from 1, as in editors, and rows from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from qpsvm.base.arrays.types import IntArray
from qpsvm.base.errors import DataError, FileFormatError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.files.columns import Columns, groups_of, labels_of, numbers_of, read_columns
from qpsvm.data.files.encoding import (
    Column,
    Encoding,
    Further,
    Table,
    Taken,
    Target,
    encode,
    moments,
    standardised,
    unseen,
)
from qpsvm.data.files.frames import Frame, frame_of, read_frame
from qpsvm.data.files.kinds import Missing, Rules, explained, learnt
from qpsvm.data.files.libsvm import read_libsvm, refuse_named
from qpsvm.data.files.sheet import MISSING, UNNAMED, Sheet, feature_columns, format_of, no_target, parse
from qpsvm.data.files.source import FilePath, StandardInput, read_bytes, text_of, within_memory

__all__ = [
    "MISSING", "ROW", "Column", "Encoding", "Frame", "Further", "Missing", "Raw", "StandardInput", "Table", "Taken",
    "Target", "explained", "frame_of", "read_like", "read_table",
]  # fmt: skip
#: What names a row by its number, from 0, unless it is the name of a column.
ROW = "row"
#: What reads columns by name, some of them as text.
Reader = Callable[..., Columns]


@dataclass(frozen=True, eq=False)
class Raw(Table):
    """A table whose columns are kept as they were read, so that what is learnt can be learnt of some rows only.

    columns: Of its rows.
    names: Those that may become features.
    rules: What a caller says of them.
    """

    columns: Columns | None = None
    names: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def learnt_of(self, train: IntArray, rows: IntArray) -> tuple[Table, Table]:
        """Encode the training rows, and others, by what the training rows show. Raises DataError."""
        assert self.columns is not None
        made, taken = learnt(self.columns.some(train), self.names, self.rules)
        beside = [each for each in self.taken if each.name not in self.names]
        encoding = replace(self.encoding, columns=made, n_features=_width(made, self.columns.sheet, taken))
        parts = []
        for some in (train, rows):
            y, groups, weights = (each if each is None else each[some] for each in (self.y, self.groups, self.weights))
            X = encode(self.columns.some(some), encoding) if len(some) else np.zeros((0, encoding.n_features))
            table = Table(X, y, encoding, self.dropped, self.notes, groups, weights)
            parts.append(replace(table, taken=(*taken, *beside), needed=self.needed))
        return parts[0], parts[1]


def read_table(
    path: FilePath | Frame,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    standardise: bool = False,
    wanted: Target = "labels",
    groups: str | None = None,
    weights: str | None = None,
    keep: Sequence[str] = (),
    date: Sequence[str] = (),
    missing: Missing = "error",
    raw: bool = False,
) -> Table:
    """Read a CSV or LIBSVM file, or a table in memory; with `raw` its columns are kept beside the features."""
    name = path.path if isinstance(path, Frame) else path
    with within_memory(name):
        drop, keep, date = ((each,) if isinstance(each, str) else tuple(each) for each in (drop, keep, date))
        rules = Rules(keep, date, "drop" if drop_missing else missing)
        beside = {"target": target, "groups": groups, "weights": weights}
        named = {option: column for option, column in beside.items() if column is not None}
        content = b"" if isinstance(path, Frame) else read_bytes(path)
        if isinstance(path, Frame):
            table = _named_table(path, partial(read_frame, path), named, drop, rules, wanted, raw)
        elif format_of(content) == "libsvm":
            refuse_named(path, {**beside, "drop": drop, "keep": keep, "date": date}.get)
            if rules.fills:
                raise ParameterError(
                    f"{path} is a LIBSVM file, in which nothing is filled in: leave out missing, or drop such rows"
                )
            table = _libsvm_table(path, content, None, rules.missing == "drop")
        else:
            sheet = _sheet(path, content)
            table = _named_table(sheet, partial(read_columns, sheet), named, drop, rules, wanted, raw)
        if standardise:
            mean, scale = moments(table.X, name)
            table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
        return standardised(table, name)


def _libsvm_table(path: FilePath, content: bytes, known: Encoding | None, drop_missing: bool) -> Further:
    X, y, first, keep, qid = read_libsvm(path, content, drop_missing, known)
    n = len(keep)
    encoding = known or Encoding("libsvm", None, (), X.shape[1], first_index=first)
    places, dropped = np.flatnonzero(keep), n - len(y)
    if len(qid) == len(y):
        return Further(X, y, encoding, dropped, groups=qid, places=places, n=n)
    notes = (f"only {len(qid)} lines have a qid, which is ignored",) if len(qid) else ()
    return Further(X, y, encoding, dropped, notes, places=places, n=n)


def _sheet(path: FilePath, content: bytes) -> Sheet:
    """Parse the header of a CSV text that has rows below it. Raises FileFormatError."""
    sheet = parse(path, lambda: text_of(content))
    if next(sheet.blocks(), None) is None:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _named_table(
    sheet: Sheet, read: Reader, beside: Mapping[str, str], drop: Sequence[str], rules: Rules, wanted: Target, raw: bool
) -> Table:
    """Build a table whose columns have names, from a file or from memory."""
    target, groups = beside.get("target"), beside.get("groups")
    if target is None and wanted != "none":
        raise no_target(sheet, wanted)
    names = feature_columns(sheet, beside, drop)
    rules = rules.of(sheet, names)
    counting = [UNNAMED] if UNNAMED in sheet.header and UNNAMED not in drop else []
    columns = read([*names, *beside.values(), *counting])
    firsts = [sheet.check_index(columns.cells[name].numbers()) for name in counting]
    notes = tuple(
        f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature"
        for first in firsts
    )
    used = tuple(column.name for column in learnt(columns, names, rules)[0])  # what is left out may have holes
    needed = (*(() if rules.fills else used), *beside.values())
    columns, dropped = columns.without_missing(needed, rules.missing != "error", fills=bool(columns.holes(used).any()))
    made, taken = learnt(columns, names, rules)
    taken += tuple(Taken(name, option, "") for option, name in beside.items())
    text = target is not None and wanted != "numbers" and columns.cells[target].numbers() is None
    encoding = Encoding("csv", target, made, _width(made, sheet, taken), text_labels=text, groups=groups)
    y = None
    if target is not None:
        y = numbers_of(columns, target, "the target") if wanted == "numbers" else labels_of(columns, target, text)
    members = None if groups is None else groups_of(columns, groups)
    s = numbers_of(columns, beside["weights"], "a weight") if "weights" in beside else None
    table = Table(encode(columns, encoding), y, encoding, dropped, notes, members, s, taken, needed)
    return Raw(**vars(table), columns=columns, names=tuple(names), rules=rules.known(columns, made)) if raw else table


def _width(made: Sequence[Column], sheet: Sheet, taken: Sequence[Taken]) -> int:
    """Count the features that the columns become. Raises DataError."""
    if not made:
        said = "; ".join(f"{each.name!r} ({each.kind}) is {each.made}" for each in taken if each.made)
        raise DataError(f"{sheet.path} has no feature column: {said}")
    return sum(len(column.names) for column in made)


def read_like(
    path: FilePath | Frame,
    encoding: Encoding,
    *,
    drop_missing: bool = False,
    keep_rows: bool = False,
    name_rows: str | None = None,
) -> Further:
    """Read other rows as `read_table` read those that `encoding` is from.

    Columns are found by name, in any order, and others are ignored. Categories that are unknown are counted. With
    `keep_rows` incomplete rows are counted, not refused, and the target may be missing; `name_rows` is the
    column whose cells name the rows.
    """
    name = path.path if isinstance(path, Frame) else path
    with within_memory(name):
        if isinstance(path, Frame):
            sheet: Sheet = path
            numeric = [column.name for column in encoding.columns if column.categories is None]
            if encoding.target is not None and not encoding.text_labels:
                numeric.append(encoding.target)
            read: Reader = partial(read_frame, path, as_numbers=numeric)
            found = "csv" if encoding.format == "libsvm" else encoding.format
        else:
            content = read_bytes(path)
            found = format_of(content) or encoding.format
        if found != encoding.format:
            raise FileFormatError(f"{name} is a {found} file, but the model was trained on a {encoding.format} file")
        if found == "libsvm":
            if name_rows not in (None, ROW):
                raise ParameterError(f"{name} is a LIBSVM file, whose rows have no names: leave out --id")
            table = _libsvm_table(path, content, encoding, drop_missing or keep_rows)  # type: ignore[arg-type]
        else:
            if not isinstance(path, Frame):
                sheet = _sheet(path, content)
                read = partial(read_columns, sheet)
            table = _named_like(sheet, read, encoding, drop_missing, keep_rows, name_rows)
        return standardised(table, name)  # type: ignore[return-value]


def _named_like(
    sheet: Sheet, read: Reader, encoding: Encoding, drop_missing: bool, keep_rows: bool, name_rows: str | None
) -> Further:
    used, target, groups = [column.name for column in encoding.columns], encoding.target, encoding.groups
    encoding.check_names(sheet.header, sheet.path)
    if name_rows == ROW and ROW not in sheet.header:
        name_rows = None
    if name_rows is not None and name_rows not in sheet.header:
        raise UnknownOptionError(f"id: {sheet.path} has no column {name_rows!r}; {nearest(name_rows, sheet.names)}")
    as_text = [column.name for column in encoding.columns if column.categories is not None]
    beside = [name for name in (target, groups) if name is not None and name in sheet.header]
    names = [*dict.fromkeys([*used, *beside])]
    columns = read(names, [*as_text, str(target)] if encoding.text_labels else as_text)
    ids = None if name_rows is None else tuple(read([name_rows], [name_rows]).cells[name_rows].values.tolist())
    n = len(columns.rows)
    beside = [name for name in beside if not columns.cells[name].all_missing()]
    needed = [column.name for column in encoding.columns if column.fill is None]
    if keep_rows:
        columns = columns.some(np.flatnonzero(~columns.holes(needed)))
    else:
        columns, _ = columns.without_missing([*needed, *beside], drop_missing)
    labels, labelled = None, None
    if target in beside and len(columns.rows):
        holes = columns.holes([str(target)])
        known = labels_of(columns.some(np.flatnonzero(~holes)), str(target), encoding.text_labels)
        labels = np.zeros(len(holes), dtype=known.dtype)
        labels[~holes], labelled = known, ~holes if holes.any() else None
    members = groups_of(columns, groups) if groups is not None and groups in beside else None
    X = encode(columns, encoding) if len(columns.rows) else np.zeros((0, encoding.n_features))
    return Further(
        X, labels, encoding, n - len(columns.rows), groups=members, places=columns.rows, n=n, labelled=labelled,
        ids=ids, unseen=unseen(columns, encoding),
    )  # fmt: skip
