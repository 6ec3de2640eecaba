"""Define rows that are read one block at a time, and where they come from (`StoredRows`, `Origin`).

`FileWatch` detects files that change while their rows are read. `choose_columns` selects which columns of a table are
features, target and weight, by name or by position.
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

#: Advice in messages about text in rows that are read in blocks.
IN_MEMORY = "text, dates and missing values need a table in memory: one CSV file, or Parquet, without --stream"
#: State of a file: size, time of the last change, and identity.
FileState = tuple[int, int, int, int]


class FileWatch:
    """The states of files when they were opened.

    paths: Paths that are not local files are not watched.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._seen = {path: _read_state(path) for path in paths if os.path.isfile(path)}
        self._places = {path: os.path.abspath(path) for path in self._seen}  # valid after a change of directory

    def check(self, path: str | None = None) -> None:
        """Check that a file, or for None any of them, has not changed since. Raises DataError."""
        for name in self._seen if path is None else (path,):
            if name not in self._seen:
                continue
            try:
                now = _read_state(self._places[name])
            except FileNotFoundError:
                raise DataError(f"{name} was removed while it was read; put it back and start again") from None
            if now != self._seen[name]:
                raise DataError(
                    f"{name} changed while it was read ({_describe_change(self._seen[name], now)}); wait until "
                    "it is complete, and start again"
                )


def _read_state(path: str) -> FileState:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _describe_change(before: FileState, now: FileState) -> str:
    """Describe the difference between two states of a file."""
    if before[0] != now[0]:
        return f"from {before[0]} to {now[0]} bytes"
    return "it was written to" if before[2:] == now[2:] else "another file has its name"


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from, and what is stored with them.

    kind: The name of the format.
    names: The names of the files or arrays, in the order of the rows; "" for an array without a name.
    lengths: The number of rows of each.
    watch: The files that are watched for changes.
    target (n,) or None: Labels or numbers.
    weight (n,) or None: The weights.
    feature_names (d,) or None: The names of the features.
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
        """Describe a row: its file, and its position in it, counted from 0."""
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
    """Describe a row of a file, counted from 0."""
    return f"{name}, row {row}" if name else f"row {row}"


class StoredRows(RowSource):
    """Rows from files or arrays that are read one block at a time, as `open_rows` returns them.

    Parameters
    ----------
    shape : (int, int)
        The numbers of rows and columns, (n, d).
    origin : Origin
        Where the rows come from, and what is stored with them.
    block_rows : int, optional
        Largest number of rows in a block.

    Attributes
    ----------
    target : ndarray of shape (n,), or None
        The labels or numbers that are stored with the rows.
    weight : ndarray of float64, shape (n,), or None
        The weights of the rows.
    origin : Origin
        Where the rows come from.
    block_rows : int
        Largest number of rows in a block.

    See Also
    --------
    open_rows : Open rows from files, arrays or tables.

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
            The index of the row.

        Returns
        -------
        str
            The name of its file, and its position in it.

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
    """The names of the chosen columns."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all chosen columns, without repetition."""
        others = [name for name in (self.target, self.weight) if name is not None]
        return (*self.features, *others)


def choose_columns(names: Sequence[str], where: str, target: Any, columns: Any, weight: Any) -> ChosenColumns:
    """Find the columns that the caller has chosen. Raises DataError, ParameterError."""
    if len(set(names)) < len(names):
        [(repeated, _)] = Counter(names).most_common(1)
        raise DataError(f"{where} has the column {repeated!r} twice; give each its own name")
    roles = {
        option: _find_column(names, given, option, where)
        for option, given in (("target", target), ("weight", weight)) if given is not None
    }  # fmt: skip
    if len(set(roles.values())) < len(roles):
        raise ParameterError(f"column {names[roles['target']]!r} cannot be both target and weight")
    if columns is None:
        indices = [j for j in range(len(names)) if j not in roles.values()]
    else:
        if isinstance(columns, (str, int)):
            columns = [columns]
        indices = [_find_column(names, given, "columns", where) for given in columns]
    for option, index in roles.items():
        if index in indices:
            raise ParameterError(f"columns: {names[index]!r} is the {option} and cannot be a feature as well")
    if len(set(indices)) < len(indices):
        raise ParameterError("columns names a column twice")
    if not indices:
        raise DataError(f"{where} has no feature column besides the target")
    role_names = {option: names[index] for option, index in roles.items()}
    return ChosenColumns(tuple(names[j] for j in indices), role_names.get("target"), role_names.get("weight"))


def check_names(
    names: Sequence[str], first: Sequence[str], used: ChosenColumns, every: bool, where: str, first_where: str
) -> None:
    """Check that a file has the columns of the first file, and no others if every column is used. Raises DataError."""
    missing = [column for column in used.all_names if column not in names]
    additional = [column for column in names if column not in first] if every else []
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}, which {first_where} has")
    if additional:
        raise DataError(
            f"{where} has a column {additional[0]!r}, which {first_where} has not; leave it out by columns= "
            f"(--drop {additional[0]!r})"
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
    raise ParameterTypeError(f"{option} must be the name of a column or its index, got {format_value(given)}")
