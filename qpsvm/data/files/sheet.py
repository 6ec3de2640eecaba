"""CSV: a text as records under a header, and what is wrong where it is not.

The text is never held as cells all at once: `blocks` reads some rows at a time. Where something is wrong, the text is
read again, one record after the other, to find the line.

What a text holds: its format, and whether its cells are numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import check_texts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, FileFormatError, ParameterError, UnknownOptionError, nearest
from qpsvm.data.files.source import FilePath

#: Cells that mean "no value", without the blanks around them: what R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")


def format_of(content: bytes) -> str | None:
    """The format, "libsvm" or "csv", by the first line that tells; None where none does.

    Comments do not tell, and neither does a number alone, which may be the label of a LIBSVM row of zeros.
    """
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


def numbers(cells: Sequence[str]) -> FloatArray | None:
    """The cells as numbers (n,), or None where one is not a number. `1_000` is text, though a number to Python.

    Raises DataError.
    """
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    if "_" in "".join(cells):
        return None
    check_texts(cells, values)
    return values


def whole(values: FloatArray) -> NDArray[Any]:
    """Labels (n,) as integers if all are whole numbers."""
    exact = np.abs(values) < 2.0**53
    return values.astype(np.int64) if (exact & (values == np.floor(values))).all() else values


#: Cells that are held as Python text at a time: about 10 MB.
BLOCK_CELLS = 100_000
#: Names that a message lists at most.
LISTED = 30
#: The first column where the header leaves its name empty, as pandas and R write the names of the rows.
UNNAMED = ""


@dataclass(frozen=True)
class Sheet:
    """The text of a CSV file, its delimiter, and the place of each column by name, from 0."""

    path: FilePath
    content: bytes
    delimiter: str
    header: dict[str, int]

    @property
    def hint(self) -> str:
        """A question for the end of a message, where the header looks like data; else ""."""
        return "" if numbers(list(self.header)) is None else "; is the line of column names missing?"

    @property
    def names(self) -> list[str]:
        """The columns that have a name."""
        return [name for name in self.header if name != UNNAMED]

    @property
    def most_rows(self) -> int:
        """The file has at most this many rows, because a row takes a line, and a byte for each delimiter."""
        return min(self.content.count(b"\n"), len(self.content) // len(self.header)) + 1

    def blocks(self) -> Iterator[list[list[str]]]:
        """The rows below the header, some at a time. Blanks around the cells are kept. Raises FileFormatError."""
        width = len(self.header)
        reader = _reader(self.content, self.delimiter)
        next(record for record in reader if not _blank(record))
        try:
            while records := list(islice(reader, 1 + BLOCK_CELLS // width)):
                if set(map(len, records)) != {width}:
                    records = [record for record in records if not _blank(record)]
                    if any(len(record) != width for record in records):
                        raise self._fault()
                if records:
                    yield records
        except csv.Error:
            raise self._fault() from None

    def place(self, i: int, name: str) -> tuple[str, str]:
        """Where the cell of row i stands in the file, in words, and its text."""
        line, record = next(islice(_records(self.content, self.delimiter), i + 1, None))
        return f"{self.path}, line {line}, column {name!r}", record[self.header[name]].strip()

    def _fault(self) -> FileFormatError:
        """The first thing that is wrong below the header."""
        line = 1
        try:
            for line, record in _records(self.content, self.delimiter):
                if len(record) != len(self.header):
                    return FileFormatError(
                        f"{self.path}, line {line} has {len(record)} cells where the header has {len(self.header)}; "
                        f"quote a cell that contains {self.delimiter!r}"
                    )
        except BadRecord as error:
            return error.named(self.path)
        raise AssertionError("this file has no fault")


class BadRecord(Exception):
    """The csv module cannot read the record that begins on this line."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(line, why)
        self.line, self.why = line, why

    def named(self, path: FilePath) -> FileFormatError:
        """The error that a user sees."""
        return FileFormatError(f"{path}, line {self.line}: {self.why}; look for a quote that is not closed")


def _reader(content: bytes, delimiter: str) -> Any:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")
    return csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)


def _blank(record: Sequence[str]) -> bool:
    return len(record) < 2 and not any(cell.strip() for cell in record)


def _records(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, beginning with the header, and the line on which it begins, from 1."""
    reader, line = _reader(content, delimiter), 1
    try:
        for record in reader:
            if not _blank(record):
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadRecord(line, str(error)) from None


def parse(path: FilePath, content: bytes) -> Sheet:
    """Find the delimiter and the header. Raises FileFormatError."""
    sheet, first = headed(path, content)
    if first is None:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def headed(path: FilePath, content: bytes) -> tuple[Sheet, int | None]:
    """The delimiter and the header, and the line, from 1, on which the first row begins; None where there is no row.

    Raises FileFormatError.
    """
    head = re.match(rb'\n*((?:"[^"]*"|[^"\n]+)*)', content)
    marks = re.sub(rb'"[^"]*"', b"", head[1] if head else b"").decode()
    delimiter = max(",;\t", key=marks.count)
    records = _records(content, delimiter)
    try:
        _, record = next(records)
        sheet = Sheet(path, content, delimiter, _checked_header(path, [" ".join(cell.split()) for cell in record]))
        first = next(records, None)
    except BadRecord as error:
        raise error.named(path) from None
    return sheet, None if first is None else first[0]


def _checked_header(path: FilePath, names: Sequence[str]) -> dict[str, int]:
    header: dict[str, int] = {}
    for j, name in enumerate(names):
        row_names = j == 0 and len(names) > 1  # may have no name, if the column counts the rows: these will tell
        if name in header or not (name or row_names):
            fault = f"the same name {name!r} as column {header[name] + 1}" if name else "no name"
            hint = "give it its own name" if numbers(names) is None else "is the line of column names missing?"
            raise FileFormatError(f"{path}: column {j + 1} has {fault}; {hint}")
        header[name] = j
    return header


def no_target(sheet: Sheet, wanted: str) -> ParameterError:
    """What is said where a target of labels, or of numbers, is needed and none is named."""
    advice = f"name the column of {wanted} by --target COLUMN (target=); columns: {listing(sheet.names)}"
    return ParameterError(f"{sheet.path}: {advice}")


def feature_columns(sheet: Sheet, beside: Mapping[str, str], drop: Sequence[str]) -> list[str]:
    """The names of the columns that become features, in the order of the file.

    Raises ParameterError, UnknownOptionError, DataError.
    """
    for option, name in (*beside.items(), *(("drop", name) for name in drop)):
        if name not in sheet.header or (option != "drop" and name == UNNAMED):
            known = nearest(name, sheet.names) + sheet.hint
            raise UnknownOptionError(f"{option}: {sheet.path} has no column {name!r}; {known}")
    called = {name: f"the {option}" if option == "target" else f"that of {option}" for option, name in beside.items()}
    for name, what in called.items():
        if name in drop:
            raise ParameterError(f"column {name!r} is {what} and cannot be dropped")
    if len(called) < len(beside):
        twice = next(name for name in called if [*beside.values()].count(name) > 1)
        options = " and ".join(f"--{option}" for option, name in beside.items() if name == twice)
        raise ParameterError(f"column {twice!r} cannot be that of {options}")
    names = [name for name in sheet.names if name not in called and name not in drop]
    if not names:
        kept = " and ".join(f"{what} {name!r}" for name, what in called.items())
        raise DataError(f"{sheet.path} has no feature column beside {f'{kept} and ' if kept else ''}those dropped")
    return names


def listing(names: Sequence[str]) -> str:
    """The first names, and dots for the rest."""
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
