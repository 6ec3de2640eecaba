"""Extract the columns of a table as numbers or texts, with their missing cells (`TableColumns`).

A column is numeric if all its cells are numbers, and else text. It takes 8n bytes, and each distinct text is stored
once.
"""

from __future__ import annotations

import reprlib
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import DataError
from qpsvm.data.files.dates import parse_day
from qpsvm.data.files.sheet import MISSING, Mask, Sheet, as_integers, parse_numbers
from qpsvm.data.files.text_format import advise_decimal, find_unit, strip_unit


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column.

    values (n,): Numbers, with NaN for missing ones; or texts, as objects.
    missing (n,) or None: Mask of the missing cells; None if there are none.
    """

    values: NDArray[Any]
    missing: Mask | None

    @property
    def present(self) -> NDArray[Any]:
        """The values without the missing ones: (k,)."""
        if self.missing is None:
            return self.values
        return self.values[~self.missing]

    def collect_texts(self) -> list[str]:
        """Return the distinct texts, sorted."""
        return sorted(set(self.present.tolist()))

    def is_all_missing(self) -> bool:
        """Return whether all cells are missing."""
        return self.missing is not None and bool(self.missing.all())

    def find_unit(self) -> str:
        """Return the sign, such as "$", that every cell has next to its number; "" if none."""
        if self.values.dtype == object:
            return find_unit(self.present.tolist())
        return ""

    def to_numbers(self, unit: str = "") -> FloatArray | None:
        """Return the cells, without their unit, as numbers (n,); None if one is not a number.

        The texts NaN and infinity are numbers here.
        """
        if self.values.dtype != object:
            return self.values
        texts = self.present.tolist()
        found = parse_numbers(strip_unit(texts, unit) if unit else texts)
        if found is None or self.missing is None:
            return found
        values = np.full(len(self.values), np.nan)
        values[~self.missing] = found
        return values

    def map_texts(self, codes: dict[str, float], other: float) -> FloatArray:
        """Map each text to its code, (n,); `other` if it has none."""
        return np.array([codes.get(text, other) for text in self.values.tolist()], dtype=np.float64)

    def take_rows(self, rows: IntArray) -> Cells:
        """Return the cells of selected rows."""
        missing = None if self.missing is None else self.missing[rows]
        return Cells(self.values[rows], missing if missing is not None and missing.any() else None)


@dataclass(frozen=True, eq=False)
class TableColumns:
    """Columns of n rows of a table.

    sheet: The table, which describes the positions of cells.
    cells: The cells of each column, by its name.
    rows (n,): The indices of the n rows among all rows of the table, from 0.
    """

    sheet: Sheet
    cells: dict[str, Cells]
    rows: IntArray

    def describe_position(self, i: int, name: str) -> str:
        """Describe the position in the file of the cell of row i, without the column."""
        return self.sheet.describe_cell(int(self.rows[i]), name)[0]

    def describe_cell(self, i: int, name: str) -> tuple[str, str]:
        """Describe the position in the file of the cell of row i, and return its text."""
        where, cell = self.sheet.describe_cell(int(self.rows[i]), name)
        return f"{where}, column {name!r}", cell

    def take_rows(self, rows: IntArray) -> TableColumns:
        """Return the columns of selected rows."""
        return TableColumns(
            self.sheet, {name: cells.take_rows(rows) for name, cells in self.cells.items()}, self.rows[rows]
        )

    def find_non_number(self, name: str) -> tuple[str, str]:
        """Locate the first cell that is not a number: its position, and its text."""
        cells = self.cells[name]
        non_numbers = {text: 1.0 for text in cells.collect_texts() if parse_numbers([text]) is None}
        return self.describe_cell(int(cells.map_texts(non_numbers, 0.0).argmax()), name)

    def mask_missing(self, names: Sequence[str]) -> Mask:
        """Mark the rows with a missing value in one of the named columns: (n,)."""
        masks = [self.cells[name].missing for name in names]
        found: Mask = np.zeros(len(self.rows), dtype=np.bool_)
        for mask in masks:
            found = found if mask is None else found | mask
        return found

    def drop_incomplete(
        self, names: Sequence[str], drop_missing: bool, fills: bool = False
    ) -> tuple[TableColumns, int]:
        """Drop the rows with a missing value in one of the named columns, or refuse them. Raises DataError.

        drop_missing: Whether to drop them.
        fills: Whether the error may advise to fill missing values in.

        Returns the other rows, and the number of dropped ones.
        """
        bad = self.mask_missing(names)
        if not bad.any():
            return self, 0
        masks = {name: self.cells[name].missing for name in names}
        counts = Counter({name: int(mask.sum()) for name, mask in masks.items() if mask is not None})
        if not drop_missing:
            i = int(bad.argmax())
            name = next(name for name, mask in masks.items() if mask is not None and mask[i])
            position, cell = self.describe_cell(i, name)
            if fills:
                advice = "--missing median (missing='median') fills in those of features, and "
            else:
                advice = ""
            raise DataError(
                f"{position} is missing ({cell!r}), the first of {counts.total()} missing cells in {bad.sum()} rows; "
                f"{advice}--drop-missing (missing='drop') drops those rows"
            )
        if bad.all():
            [(worst, _)] = counts.most_common(1)
            raise DataError(f"{self.sheet.path}: every row has a missing value, most of them in column {worst!r}")
        return self.take_rows(np.flatnonzero(~bad)), int(bad.sum())


def read_columns(sheet: Sheet, names: Sequence[str], as_text: Collection[str] = ()) -> TableColumns:
    """Read the named columns; those of `as_text` are read as text, whatever they look like. Raises FileFormatError.

    If a column turns out to be text in a later block, all is read again from the beginning.
    """
    parts: dict[str, list[Any]] = {name: [] for name in names}
    n = 0
    for records in sheet.blocks():
        by_column = list(zip(*records, strict=True))
        for name in names:
            cells = sheet.normalise_cells(name, by_column[sheet.header[name]], n)
            parts[name].append(intern_texts(cells) if name in as_text else sheet.parse_cells(name, cells, n))
        found_texts = {name for name in names if parts[name][-1] is None}
        if found_texts:
            return read_columns(sheet, names, found_texts.union(as_text))
        n += len(records)
    return TableColumns(sheet, {name: _join_blocks(parts.pop(name)) for name in names}, np.arange(n))


def intern_texts(cells: Sequence[str]) -> tuple[NDArray[Any], Mask]:
    """Return cells as texts, equal ones as the same object, and the mask of the missing ones: (n,), (n,)."""
    texts = np.array([sys.intern(cell.strip()) for cell in cells], dtype=object)
    return texts, np.array([text in MISSING for text in texts], dtype=np.bool_)


def _join_blocks(parts: list[tuple[NDArray[Any], Mask | None]]) -> Cells:
    """Join the blocks of a column."""
    missing = np.concatenate([np.zeros(len(values), np.bool_) if mask is None else mask for values, mask in parts])
    return Cells(np.concatenate([values for values, _ in parts]), missing if missing.any() else None)


def extract_labels(columns: TableColumns, target: str, text: bool) -> NDArray[Any]:
    """Extract the labels, (n,), as text or numbers. Raises DataError."""
    if not text:
        return as_integers(extract_finite_numbers(columns, target))
    return np.array(columns.cells[target].values.tolist())


def extract_numbers(columns: TableColumns, name: str, what: str) -> NDArray[Any]:
    """Extract a column that must be numeric, (n,): a regression or ranking target, or weights. Raises DataError.

    what: The name of such a number in messages.
    """
    if columns.cells[name].to_numbers() is None:
        position, text = columns.find_non_number(name)
        advice = advise_decimal(columns.cells[name].collect_texts())
        if advice:
            raise DataError(f"{position}: {reprlib.repr(text)} {advice}")
        hint = "name a column of numbers"
        if what == "the target":
            hint += " by --target (target=), or take a machine of two classes for one of labels"
        raise DataError(f"{position}: {reprlib.repr(text)} is not a number, which {what} must be here; {hint}")
    return as_integers(extract_finite_numbers(columns, name))


def extract_groups(columns: TableColumns, name: str) -> NDArray[Any]:
    """Extract the group of each row, (n,), as numbers or text."""
    values = columns.cells[name].to_numbers()
    if values is None:
        return np.array(columns.cells[name].values.tolist())
    return as_integers(values)


def extract_finite_numbers(columns: TableColumns, name: str, fill: float | None = None, unit: str = "") -> FloatArray:
    """Extract a column as finite numbers, (n,), without their unit. Raises DataError.

    fill: The number for missing cells; None to refuse them.
    """
    cells = columns.cells[name]
    values = cells.to_numbers(unit)
    if values is None:
        texts = cells.collect_texts()
        bare = strip_unit(texts, unit) if unit else texts
        known = {text: float(word) for text, word in zip(texts, bare, strict=True) if parse_numbers([word]) is not None}
        values = cells.map_texts(known, np.nan)
    if fill is not None and cells.missing is not None:
        values = np.where(cells.missing, fill, values)
    if np.isfinite(values).all():
        return values
    position, cell = columns.describe_cell(int(np.argmin(np.isfinite(values))), name)
    needed = f"a finite number with {unit}" if unit else "a finite number"
    is_text = parse_numbers([cell]) is None
    if is_text:
        hint = f"; if it means that the value is missing, name it by --na {shlex.quote(cell)}"
    else:
        hint = ""
    raise DataError(f"{position}: {reprlib.repr(cell)} is not {needed}, which this column needs{hint}")


def extract_days(columns: TableColumns, name: str, order: str) -> FloatArray:
    """Extract a column of dates as day numbers, (n,), with NaN for missing ones. Raises DataError.

    order: The order of year, month and day, such as "ymd".
    """
    cells = columns.cells[name]
    if cells.values.dtype != object:
        days = np.full(len(cells.values), np.nan)
    else:
        known = {text: parse_day(text, order) for text in cells.collect_texts()}
        days = cells.map_texts({text: float(day) for text, day in known.items() if day is not None}, np.nan)
    wrong = np.isnan(days) if cells.missing is None else np.isnan(days) & ~cells.missing
    if wrong.any():
        position, cell = columns.describe_cell(int(wrong.argmax()), name)
        raise DataError(
            f"{position}: {reprlib.repr(cell)} is no date as the column needs it ({'-'.join(order)}); write "
            "year-month-day, such as 2024-02-29"
        )
    return days
