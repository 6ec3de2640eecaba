"""Define rows that are read from files or arrays one block at a time (`StoredRows`), and their `Origin`.

`FileWatch` detects files that change while their rows are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import freeze_parts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError
from qpsvm.base.resources.limits import BLOCK_NUMBERS
from qpsvm.data.rows.blocks import MIN_ROWS
from qpsvm.data.rows.source import RowSource

#: Advice in messages about text in rows that are read in blocks.
IN_MEMORY = "text, dates and missing values need a table in memory: one CSV file, or Parquet, without --stream"
#: State of a file: size, time of the last change, inode and device.
FileState = tuple[int, int, int, int]


class FileWatch:
    """The states of files when they were opened.

    paths: Paths that are not local files are not watched.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._seen = {path: _read_state(path) for path in paths if os.path.isfile(path)}
        self._absolute = {path: os.path.abspath(path) for path in self._seen}  # valid after a change of directory

    def check(self, path: str | None = None) -> None:
        """Check that a file, or all files for None, have not changed. Raises DataError."""
        for name in self._seen if path is None else (path,):
            if name not in self._seen:
                continue
            try:
                now = _read_state(self._absolute[name])
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
    if before[2:] == now[2:]:
        return "it was written to"
    return "another file has its name"


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
        self.target = origin.target
        self.weight = origin.weight
        self.feature_names = origin.feature_names
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
