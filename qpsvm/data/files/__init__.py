"""Read a CSV or LIBSVM file into samples and labels, and later another file in the same way.

A LIBSVM line is `label index:value index:value ...`. A CSV file has a header line, and commas, semicolons or tabs
between its cells. The content tells which of the two it is, and whether it is packed by xz, gzip or bzip2. A CSV column
of numbers becomes one feature, and any other column one 0/1 feature for each of its categories. Lines are counted from
1, as in editors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from qpsvm.base.errors import FileFormatError
from qpsvm.data.files.encoding import (
    Column,
    Encoding,
    Table,
    Target,
    column_of,
    encode,
    groups_of,
    labels_of,
    moments,
    numbers_of,
    read_columns,
    standardised,
)
from qpsvm.data.files.libsvm import read_libsvm, refuse_named
from qpsvm.data.files.sheet import MISSING, UNNAMED, Sheet, feature_columns, format_of, no_target, parse
from qpsvm.data.files.source import FilePath, StandardInput, read_bytes, text_of, within_memory

__all__ = ["MISSING", "Column", "Encoding", "StandardInput", "Table", "Target", "read_like", "read_table"]


def read_table(
    path: FilePath,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    standardise: bool = False,
    wanted: Target = "labels",
    groups: str | None = None,
    weights: str | None = None,
) -> Table:
    """Read a CSV or LIBSVM file."""
    with within_memory(path):
        drop = (drop,) if isinstance(drop, str) else tuple(drop)
        content = read_bytes(path)
        named = {"target": target, "groups": groups, "weights": weights}
        if format_of(content) == "libsvm":
            refuse_named(path, {**named, "drop": drop}.get)
            table = _libsvm_table(path, content, None, drop_missing)
        else:
            beside = {option: column for option, column in named.items() if column is not None}
            table = _csv_table(path, content, beside, drop, drop_missing, wanted)
        if standardise:
            mean, scale = moments(table.X, path)
            table = replace(table, encoding=replace(table.encoding, mean=mean, scale=scale))
        return standardised(table, path)


def _libsvm_table(path: FilePath, content: bytes, known: Encoding | None, drop_missing: bool) -> Table:
    X, y, first, dropped, qid = read_libsvm(path, content, drop_missing, known)
    encoding = known or Encoding("libsvm", None, (), X.shape[1], first_index=first)
    if len(qid) == len(y):
        return Table(X, y, encoding, dropped, groups=qid)
    notes = (f"only {len(qid)} lines have a qid, which is ignored",) if len(qid) else ()
    return Table(X, y, encoding, dropped, notes)


def _sheet(path: FilePath, content: bytes) -> Sheet:
    """The header of a CSV text with rows below it. Raises FileFormatError."""
    sheet = parse(path, lambda: text_of(content))
    if next(sheet.blocks(), None) is None:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _csv_table(
    path: FilePath, content: bytes, beside: Mapping[str, str], drop: Sequence[str], drop_missing: bool, wanted: Target
) -> Table:
    sheet = _sheet(path, content)
    target, groups = beside.get("target"), beside.get("groups")
    if target is None and wanted != "none":
        raise no_target(sheet, wanted)
    names = feature_columns(sheet, beside, drop)
    used = [*names, *beside.values()]
    counting = [UNNAMED] if UNNAMED in sheet.header and UNNAMED not in drop else []
    columns = read_columns(sheet, [*used, *counting])
    firsts = [sheet.check_index(columns.cells[name].numbers()) for name in counting]
    notes = tuple(
        f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature"
        for first in firsts
    )
    columns, dropped = columns.without_missing(used, drop_missing)
    kinds = tuple(column_of(columns, name) for name in names)
    text = target is not None and wanted != "numbers" and columns.cells[target].numbers() is None
    width = sum(len(column.names) for column in kinds)
    encoding = Encoding("csv", target, kinds, width, text_labels=text, groups=groups)
    y = None
    if target is not None:
        y = numbers_of(columns, target, "the target") if wanted == "numbers" else labels_of(columns, encoding)
    members = None if groups is None else groups_of(columns, groups)
    s = numbers_of(columns, beside["weights"], "a weight") if "weights" in beside else None
    return Table(encode(columns, encoding), y, encoding, dropped, notes, members, s)


def read_like(path: FilePath, encoding: Encoding, *, drop_missing: bool = False) -> Table:
    """Read another file as `read_table` read the one that `encoding` is from.

    CSV columns are found by name, in any order, and others are ignored.
    """
    with within_memory(path):
        content = read_bytes(path)
        found = format_of(content) or encoding.format
        if found != encoding.format:
            raise FileFormatError(f"{path} is a {found} file, but the model was trained on a {encoding.format} file")
        if found == "libsvm":
            return standardised(_libsvm_table(path, content, encoding, drop_missing), path)
        return standardised(_csv_like(path, content, encoding, drop_missing), path)


def _csv_like(path: FilePath, content: bytes, encoding: Encoding, drop_missing: bool) -> Table:
    sheet = _sheet(path, content)
    used, target, groups = [column.name for column in encoding.columns], encoding.target, encoding.groups
    encoding.check_names(sheet.header, path)
    as_text = [column.name for column in encoding.columns if column.categories is not None]
    beside = [name for name in (target, groups) if name is not None and name in sheet.header]
    columns = read_columns(sheet, [*used, *beside], [*as_text, str(target)] if encoding.text_labels else as_text)
    beside = [name for name in beside if not columns.cells[name].all_missing()]
    columns, dropped = columns.without_missing([*used, *beside], drop_missing)
    members = groups_of(columns, groups) if groups is not None and groups in beside else None
    labels = labels_of(columns, encoding) if target in beside else None
    return Table(encode(columns, encoding), labels, encoding, dropped, groups=members)
