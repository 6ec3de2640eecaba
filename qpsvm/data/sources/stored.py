"""Store rows together with their labels, weights, column names and files (`StoredRows`, `Origin`).

Files that must stay as they are while their rows are read, again and again: a change is noticed, and said.

Which columns of a table are features, which is the target and which the weight: by name or by position.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError, UnknownOptionError, describe_nearest
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows.blocks import MIN_ROWS
from qpsvm.data.rows.source import RowSource

#: What is said of text in rows that are read in blocks.
IN_MEMORY = "text, dates and missing values need a table in memory: one CSV file, or Parquet, without --stream"
#: Size, time of the last change, and which file it is.
FileState = tuple[int, int, int, int]


class FileWatch:
    """Files as they were when they were opened.

    paths: Those that are no files of this machine are not watched.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._seen = {path: _read_state(path) for path in paths if os.path.isfile(path)}
        self._places = {path: os.path.abspath(path) for path in self._seen}  # whatever folder the process goes to

    def check(self, path: str | None = None) -> None:
        """Look whether one of the files, or any of them, has changed since. Raises DataError."""
        for name in self._seen if path is None else (path,):
            if name not in self._seen:
                continue
            try:
                now = _read_state(self._places[name])
            except FileNotFoundError:
                raise DataError(f"{name} was removed while it was read; put it back and start again") from None
            if now != self._seen[name]:
                raise DataError(
                    f"{name} changed while it was read ({_describe_change(self._seen[name], now)}); let whatever "
                    f"writes it "
                    "end, and start again"
                )


def _read_state(path: str) -> FileState:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _describe_change(before: FileState, now: FileState) -> str:
    """Describe the difference of two states of a file."""
    if before[0] != now[0]:
        return f"from {before[0]} to {now[0]} bytes"
    return "it was written to" if before[2:] == now[2:] else "another file has its name"


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from, and what is stored beside their numbers.

    kind: How they are stored, in a word: the format.
    names: The files, or what stands for them, in the order of the rows; "" for an array without a name.
    lengths: The rows of each.
    watch: Those of them that are files.
    target (n,) or None: Labels or numbers.
    weight (n,) or None
    feature_names or None: d names.
    """

    kind: str
    names: tuple[str, ...]
    lengths: tuple[int, ...]
    watch: FileWatch = field(default_factory=FileWatch)
    target: NDArray[Any] | None = None
    weight: FloatArray | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        freeze_parts(self)

    def describe_row(self, row: int) -> str:
        """Describe a row: its file, and its position there from 0."""
        ends = np.cumsum(self.lengths)
        k = int(np.searchsorted(ends, row, side="right"))
        return describe_row(self.names[k], row - int(ends[k] - self.lengths[k]))

    def describe_files(self) -> str:
        """Describe the files briefly."""
        named = [name for name in self.names if name]
        if not named:
            return self.kind
        return f"{self.kind} {named[0]}" + (f" to {named[-1]} ({len(named)} files)" if len(named) > 1 else "")


def describe_row(name: str, row: int) -> str:
    """Describe the row of a file, from 0."""
    return f"{name}, row {row}" if name else f"row {row}"


class StoredRows(RowSource):
    """Rows from files or arrays, which are read a block at a time, as `open_rows` returns them.

    Parameters
    ----------
    shape : (int, int)
        The number n of rows, and d of columns.
    origin : Origin
        Where they come from, and what was stored with them.
    block_rows : int, optional
        Rows in a block.

    Attributes
    ----------
    target : ndarray of shape (n,), or None
        The labels, or the numbers, that were stored with the rows.
    weight : ndarray of float64, shape (n,), or None
        The weights of the rows.
    origin : Origin
        Where the rows come from.
    block_rows : int
        Rows in a block, at most.

    See Also
    --------
    open_rows : What makes one.

    Examples
    --------
    >>> import numpy as np
    >>> import qpsvm
    >>> rows = qpsvm.open_rows(np.array([[0, 1], [2, 3]], dtype=np.float32), target=1)
    >>> print(rows.shape, rows.target, rows.where(1))
    (2, 1) [1. 3.] row 1
    """

    def __init__(self, shape: tuple[int, int], origin: Origin, block_rows: int | None = None) -> None:
        self.n, self.d = shape
        self.origin = origin
        self.target, self.weight, self.feature_names = origin.target, origin.weight, origin.feature_names
        self.block_rows = block_rows or max(MIN_ROWS, BLOCK_NUMBERS // max(self.d, 1))

    def __repr__(self) -> str:
        kind = f"sparse, {self.entries} non-zeros" if self.is_sparse else "dense"
        return f"<{type(self).__name__} {self.n} × {self.d}: {kind}; {self.origin.describe_files()}>"

    def where(self, row: int) -> str:
        """Describe a row, for messages: "part-3.parquet, row 17", counted from 0.

        Parameters
        ----------
        row : int
            Its place among all.

        Returns
        -------
        str
            The file that it is in, and its place there.

        Examples
        --------
        >>> import numpy as np
        >>> import qpsvm
        >>> qpsvm.open_rows(np.zeros((3, 2), dtype=np.float32)).where(2)
        'row 2'
        """
        return self.origin.describe_row(row)


@dataclass(frozen=True)
class ChosenColumns:
    """Names of columns."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all chosen columns, each once."""
        beside = [name for name in (self.target, self.weight) if name is not None]
        return (*self.features, *beside)


def choose_columns(names: Sequence[str], where: str, target: Any, columns: Any, weight: Any) -> ChosenColumns:
    """Find the columns that a caller names."""
    if len(set(names)) < len(names):
        [(twice, _)] = Counter(names).most_common(1)
        raise DataError(f"{where} has the column {twice!r} twice; give each its own name")
    beside = {
        option: _find_column(names, given, option, where)
        for option, given in (("target", target), ("weight", weight)) if given is not None
    }  # fmt: skip
    if len(set(beside.values())) < len(beside):
        raise ParameterError(f"column {names[beside['target']]!r} cannot be both target and weight")
    if columns is None:
        places = [j for j in range(len(names)) if j not in beside.values()]
    else:
        if isinstance(columns, (str, int)):
            columns = [columns]
        places = [_find_column(names, given, "columns", where) for given in columns]
    for option, place in beside.items():
        if place in places:
            raise ParameterError(f"columns: {names[place]!r} is the {option} and cannot be a feature as well")
    if len(set(places)) < len(places):
        raise ParameterError("columns names a column twice")
    if not places:
        raise DataError(f"{where} has no feature column beside the target")
    named = {option: names[place] for option, place in beside.items()}
    return ChosenColumns(tuple(names[j] for j in places), named.get("target"), named.get("weight"))


def check_names(
    names: Sequence[str], first: Sequence[str], used: ChosenColumns, every: bool, where: str, first_where: str
) -> None:
    """Refuse a file that lacks a column, or, where every column is used, has one more than the first file."""
    missing = [column for column in used.all_names if column not in names]
    more = [column for column in names if column not in first] if every else []
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}, which {first_where} has")
    if more:
        raise DataError(
            f"{where} has a column {more[0]!r}, which {first_where} has not; leave it out by columns= "
            f"(--drop {more[0]!r})"
        )


def _find_column(names: Sequence[str], given: Any, option: str, where: str) -> int:
    """Find the index of a column."""
    if isinstance(given, str):
        if given not in names:
            raise UnknownOptionError(f"{option}: {where} has no column {given!r}; {describe_nearest(given, names)}")
        return list(names).index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not -len(names) <= given < len(names):
            raise UnknownOptionError(f"{option}: {where} has no column {given}; it has {len(names)}")
        return int(given) % len(names)
    raise ParameterTypeError(f"{option} must be the name of a column or its place, got {format_value(given)}")
