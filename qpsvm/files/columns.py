"""CSV: the columns that are used, read in blocks of rows. A column where all cells are numbers is numbers, else text.

A column of n numbers takes 8n bytes. One of text takes 4n bytes, and each different text once. A column that begins
with numbers and goes on with text is read again as text, in a second pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.errors import DataError
from qpsvm.files.raw import MISSING, numbers
from qpsvm.files.sheet import Sheet

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column: numbers, or codes of texts.

    values (n,): Numbers, with NaN for a missing one; or places in `texts`.
    texts: The different texts, in the order of their first appearance; None for numbers.
    missing (n,): Which cells are missing; None where none is.
    """

    values: FloatArray | NDArray[np.int32]
    texts: list[str] | None
    missing: Mask | None

    def kept(self, rows: IntArray) -> Cells:
        """The cells of some rows (m,), none of which may be missing."""
        return Cells(self.values[rows], self.texts, None)

    def used(self) -> list[str]:
        """The texts that occur in these cells, sorted; for a column of text."""
        assert self.texts is not None
        return sorted(self.texts[code] for code in np.flatnonzero(np.bincount(self.values, minlength=1)))

    def all_missing(self) -> bool:
        """Whether there is no value at all."""
        return self.missing is not None and bool(self.missing.all())

    def numbers(self) -> FloatArray | None:
        """The cells as numbers (n,), or None where one is not a number. NaN and infinity are numbers here."""
        if self.texts is None:
            return np.asarray(self.values, dtype=np.float64)
        if numbers(self.used()) is None:
            return None
        return self.looked_up({text: float(text) for text in self.used()}, np.nan)

    def looked_up(self, meaning: dict[str, float], other: float) -> FloatArray:
        """The number that each text means, (n,); `other` where it means none."""
        assert self.texts is not None
        table = np.array([meaning.get(text, other) for text in self.texts], dtype=np.float64)
        return table[self.values]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that are used.

    cells: By the column's name.
    rows (n,): The places of the n rows kept among all rows of the file, from 0.
    """

    sheet: Sheet
    cells: dict[str, Cells]
    rows: IntArray

    def place(self, i: int, name: str) -> tuple[str, str]:
        """Where the cell of row i stands in the file, in words, and its text."""
        return self.sheet.place(int(self.rows[i]), name)

    def without_missing(self, names: Sequence[str], drop_missing: bool) -> tuple[Columns, int]:
        """Drop the rows with a missing value in one of the columns named, or refuse them.

        Raises DataError.
        """
        holes = {name: self.cells[name].missing for name in names}
        counts = Counter({name: int(mask.sum()) for name, mask in holes.items() if mask is not None})
        if not counts.total():
            return self, 0
        bad = np.any([mask for mask in holes.values() if mask is not None], axis=0)
        if not drop_missing:
            i = int(bad.argmax())
            name = next(name for name, mask in holes.items() if mask is not None and mask[i])
            at, cell = self.place(i, name)
            raise DataError(
                f"{at} is missing ({cell!r}), the first of {counts.total()} missing cells in {bad.sum()} rows; "
                "--drop-missing (drop_missing=True) drops those rows"
            )
        if bad.all():
            [(worst, _)] = counts.most_common(1)
            raise DataError(f"{self.sheet.path}: every row has a missing value, most of them in column {worst!r}")
        keep = np.flatnonzero(~bad)
        cells = {name: column.kept(keep) for name, column in self.cells.items()}
        return Columns(self.sheet, cells, self.rows[keep]), int(bad.sum())


def read_columns(sheet: Sheet, names: Sequence[str], as_text: Collection[str] = ()) -> Columns:
    """Read the columns named. Those in `as_text` are read as text, whatever they look like.

    Raises FileFormatError.
    """
    most_rows = sheet.most_rows
    growing = {name: _Growing(most_rows, name in as_text) for name in names}
    n = _grow(sheet, growing)
    mixed = {name: _Growing(n, True) for name, column in growing.items() if column.mixed}
    if mixed:
        _grow(sheet, mixed)
    return Columns(sheet, {name: column.cells(n) for name, column in {**growing, **mixed}.items()}, np.arange(n))


def _grow(sheet: Sheet, columns: dict[str, _Growing]) -> int:
    """Read the file into the columns, and return the number of its rows."""
    n = 0
    for records in sheet.blocks():
        by_column = list(zip(*records, strict=True))
        for name, column in columns.items():
            column.add(n, by_column[sheet.header[name]])
        n += len(records)
    return n


class _Codes(dict[str, int]):
    """The code of each text: 0, 1, … in the order of their first appearance."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class _Growing:
    """A column while it is read. It has room for all rows from the start: memory not written to costs nothing."""

    def __init__(self, most_rows: int, is_text: bool) -> None:
        self.most_rows, self.mixed = most_rows, False
        self.codes = _Codes() if is_text else None
        self.values: NDArray[Any] = np.empty(most_rows, np.int32 if is_text else np.float64)
        self.holes: list[IntArray] = []

    def add(self, start: int, cells: Sequence[str]) -> None:
        """Add the cells of a block of rows, the first of which is row `start`."""
        if self.mixed:
            return
        if self.codes is None:
            found = numbers(cells)
            if found is None or not np.isfinite(found).all():
                found = self._with_holes(start, [cell.strip() for cell in cells])
            if found is not None:
                self.values[start : start + len(cells)] = found
                return
            if start:  # text, after numbers up to here
                self.mixed, self.values = True, np.empty(0, np.float64)
                return
            self.codes, self.values = _Codes(), np.empty(self.most_rows, np.int32)
        codes = map(self.codes.__getitem__, map(str.strip, cells))
        self.values[start : start + len(cells)] = np.fromiter(codes, np.int32, len(cells))

    def _with_holes(self, start: int, cells: Sequence[str]) -> FloatArray | None:
        """The cells of a block as numbers (m,), with NaN for missing ones; None where one is text."""
        missing = np.fromiter(map(MISSING.__contains__, cells), np.bool_, len(cells))
        there = numbers([cell for cell in cells if cell not in MISSING])
        if there is None:
            return None
        values = np.full(len(cells), np.nan)
        values[~missing] = there
        if missing.any():
            self.holes.append(start + np.flatnonzero(missing))
        return values

    def cells(self, n: int) -> Cells:
        """The column, once all n rows are there."""
        values: Any = self.values[:n]
        if self.codes is not None:
            texts = list(self.codes)
            holes = [code for code, text in enumerate(texts) if text in MISSING]
            return Cells(values, texts, np.isin(values, holes) if holes else None)
        missing = None
        if self.holes:
            missing = np.zeros(n, dtype=np.bool_)
            missing[np.concatenate(self.holes)] = True
        return Cells(values, None, missing)
