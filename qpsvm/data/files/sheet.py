"""Parse CSV text into rows below a header, in blocks (`open_sheet`, `parse_sheet`, `Sheet`).

The cells of a column become numbers if all of them are numbers; an error names line and column. `detect_format` tells
CSV from LIBSVM text, and `select_features` chooses the columns that become features.
"""

from __future__ import annotations

import csv
import io
import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.large_integers import ADVICE, check_texts
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import DataError, FileFormatError, ParameterError, UnknownOptionError, describe_nearest
from qpsvm.data.files.dates import find_date_orders
from qpsvm.data.files.source import FilePath, decode_text
from qpsvm.data.files.text_format import TextFormat

Mask = NDArray[np.bool_]

#: Cells that mean "no value", without blanks around them: those that R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")
#: Number of cells that are stored as Python text at a time: about 10 MB.
BLOCK_CELLS = 100_000
#: Marks that may separate the cells of a line.
DELIMITERS = ",;\t|"
#: Largest number of names that a message lists.
MAX_LISTED = 30
#: Name of the first column if the header leaves it empty, as pandas and R do for the names of the rows.
UNNAMED = ""


def detect_format(content: bytes) -> str | None:
    """Detect the format, "libsvm" or "csv", by the first line that shows it; None if no line does.

    A comment does not show it, nor does a single number, which may be the label of a LIBSVM row of zeros.
    """
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


def parse_numbers(cells: Sequence[str]) -> FloatArray | None:
    """Parse cells as numbers (n,); None if one is not a number. `1_000` is not, although it is one in Python."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    if "_" in "".join(cells):
        return None
    check_texts(cells, values)
    return values


def as_integers(values: FloatArray) -> NDArray[Any]:
    """Convert labels (n,) to integers if all are whole numbers."""
    exact = np.abs(values) < 2.0**53
    if (exact & (values == np.floor(values))).all():
        return values.astype(np.int64)
    return values


@dataclass(frozen=True)
class Sheet:
    """A CSV text.

    path: Name in messages.
    header: Index of each column by name, from 0.
    delimiter: The mark between two cells.
    open_text: Opens the text at its beginning.
    text_format: How cells are written.
    """

    path: FilePath
    header: dict[str, int]
    delimiter: str = ","
    open_text: Callable[[], AbstractContextManager[Iterable[str]]] = io.StringIO
    text_format: TextFormat = field(default_factory=TextFormat)

    @property
    def hint(self) -> str:
        """Question for the end of a message if the header looks like data; else ""."""
        suspect = next((name for name in self.names if _looks_like_data(name)), None)
        if suspect is None:
            return ""
        return f"; is the line of column names missing? {suspect!r} looks like data"

    @property
    def names(self) -> list[str]:
        """Names of the columns that have one."""
        return [name for name in self.header if name != UNNAMED]

    def blocks(self) -> Iterator[list[list[str]]]:
        """Yield the rows below the header in blocks; cells keep their blanks. Raises FileFormatError."""
        rows = islice(self.records(), 1, None)
        while records := [record for _, record in islice(rows, 1 + BLOCK_CELLS // len(self.header))]:
            yield records

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each record that is not blank, the header first, with the number of its first line, from 1."""
        line = 1
        width = len(self.header)
        with self.open_text() as text:
            reader = csv.reader(text, delimiter=self.delimiter, skipinitialspace=True, strict=True)
            try:
                for record in reader:
                    if len(record) > 1 or any(cell.strip() for cell in record):
                        if width and len(record) != width:
                            raise FileFormatError(
                                f"{self.path}, line {line} has {len(record)} cells where the header has {width}; quote "
                                f"a cell that contains {self.delimiter!r}"
                            )
                        yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                raise FileFormatError(
                    f"{self.path}, line {line}: {error}; look for a quote that is not closed"
                ) from None

    def find_cell(self, i: int, name: str) -> tuple[int, str]:
        """Return the number of the line where row i starts, from 1, and the cell's text; row 0 follows the header."""
        line, record = next(islice(self.records(), i + 1, None))
        return line, record[self.header[name]].strip()

    def describe_cell(self, i: int, name: str) -> tuple[str, str]:
        """Describe the position of the cell of row i, and return its text."""
        line, cell = self.find_cell(i, name)
        return f"{self.path}, line {line}", cell

    def normalise_cells(self, name: str, cells: Sequence[str], start: int) -> Sequence[str]:
        """Return cells (k,) of a column from row `start` on as plain text: see `TextFormat`. Raises DataError."""
        try:
            return self.text_format.normalise_cells(cells)
        except DataError as error:
            i = next(i for i, cell in enumerate(cells) if str(error).startswith(f"{cell.strip()!r} "))
            raise DataError(f"{self.describe_cell(start + i, name)[0]}, column {name!r}: {error}") from None

    def parse_cells(self, name: str, cells: Sequence[str], start: int) -> tuple[FloatArray, Mask | None] | None:
        """Parse cells (k,) of a column from row `start` on.

        Returns numbers (k,), with NaN for missing cells, and the mask of these, or None if no cell is missing. Returns
        None if a cell is not a number. Raises DataError for an integer that a double would round.
        """
        try:
            found = parse_numbers(cells)
            if found is not None and np.isfinite(found).all():
                return found, None
            missing = np.array([cell.strip() in MISSING for cell in cells], dtype=np.bool_)
            present = parse_numbers([cell for cell, absent in zip(cells, missing, strict=True) if not absent])
        except DataError as error:
            i = next(i for i, cell in enumerate(cells) if _is_rounded(cell))
            at = f"{self.describe_cell(start + i, name)[0]}, column {name!r}"
            raise DataError(f"{at}: {add_drop_advice(error, name)}") from None
        if present is None:
            return None
        values = np.full(len(cells), np.nan)
        values[~missing] = present
        return values, missing if missing.any() else None

    def check_index(self, values: FloatArray | None, start: int = 0) -> int:
        """Check that an unnamed first column counts the rows, and return its first number, 0 or 1.

        values (k,): The numbers of that column from row `start` on; None if they are not numbers.

        Raises FileFormatError about the first row that does not count.
        """
        differs = 0
        if values is not None:
            count = np.arange(start, start + len(values))
            for first in (0, 1):
                if np.array_equal(values, count + first):
                    return first
            differs = int(np.argmax(values != count - start + values[0]))
        line, cell = self.find_cell(start + differs, UNNAMED)
        hint = self.hint or (
            "; give it a name in the header, leave it out by --drop '' (drop=['']), or write the file without it "
            "(pandas: to_csv(index=False), R: row.names = FALSE)"
        )
        raise FileFormatError(
            f"{self.path}: column 1 has no name and does not count the rows (line {line}: {reprlib.repr(cell)}){hint}"
        )


def add_drop_advice(error: DataError, name: str) -> str:
    """Return the message of an error about a rounded integer, with advice for a column that identifies rows."""
    advice = f"leave out a column that only identifies by --drop {name!r} (drop=), or write it less an offset"
    return str(error).replace(ADVICE, advice)


def _is_rounded(cell: str) -> bool:
    """Return whether a cell is an integer that a double would round."""
    try:
        parse_numbers([cell])
    except DataError:
        return True
    return False


def _looks_like_data(name: str) -> bool:
    """Return whether the name of a column is a number or a date, as in a file without a header."""
    return parse_numbers([name]) is not None or bool(find_date_orders([name]))


def open_sheet(
    path: FilePath,
    open_text: Callable[[], AbstractContextManager[Iterable[str]]],
    text_format: TextFormat | None = None,
) -> Sheet:
    """Open a CSV text: find its columns, and its delimiter, which is the most frequent one in the header.

    The header ends at the first line end outside quotes. Raises FileFormatError.
    """
    head = []
    open_quote = False
    with open_text() as text:
        for line in text:
            head.append(line)
            open_quote ^= line.count('"') % 2 == 1
            if not open_quote and line.strip():
                break
    marks = re.sub(r'"[^"]*"', "", "".join(head))
    sheet = Sheet(path, {}, max(DELIMITERS, key=marks.count), open_text, text_format or TextFormat())
    first = next(sheet.records(), None)
    if first is None:
        raise FileFormatError(f"{path} is empty")
    return replace(sheet, header=_check_header(path, [" ".join(cell.split()) for cell in first[1]]))


def parse_sheet(path: FilePath, content: bytes, text_format: TextFormat) -> Sheet:
    """Open a CSV text in memory, which must have rows below its header. Raises FileFormatError."""
    sheet = open_sheet(path, lambda: decode_text(content), text_format)
    if next(sheet.blocks(), None) is None:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _check_header(path: FilePath, names: Sequence[str]) -> dict[str, int]:
    """Return the index of each column by name. Raises FileFormatError for a repeated or missing name."""
    header: dict[str, int] = {}
    for j, name in enumerate(names):
        may_be_index = j == 0 and len(names) > 1  # needs no name if it counts the rows, which `check_index` checks
        if name in header or not (name or may_be_index):
            if name:
                fault = f"the same name {name!r} as column {header[name] + 1}"
            else:
                fault = "no name"
            is_suspect = any(map(_looks_like_data, names))
            if is_suspect:
                hint = "is the line of column names missing?"
            else:
                hint = "give it its own name"
            raise FileFormatError(f"{path}: column {j + 1} has {fault}; {hint}")
        header[name] = j
    return header


def build_target_error(sheet: Sheet, target_kind: str) -> ParameterError:
    """Build the error that the column of the target is needed and not named.

    target_kind: "labels" or "numbers".
    """
    advice = f"name the column of {target_kind} by --target COLUMN (target=); columns: {list_names(sheet.names)}"
    return ParameterError(f"{sheet.path}: {advice}")


def split_names(given: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Split options into column names: each is the name of a known column, or names separated by commas."""
    parts = ([text] if text in known else [name.strip() for name in text.split(",")] for text in given)
    return tuple(name for part in parts for name in part)


def select_features(sheet: Sheet, roles: Mapping[str, str], drop: Sequence[str]) -> list[str]:
    """Return the names of the columns that become features, in the order of the file.

    roles: The names of the columns of target, groups and weights, by option.

    Raises UnknownOptionError, ParameterError, DataError.
    """
    drop = split_names(drop, sheet.header)
    _check_known(sheet, roles, drop)
    role_texts = {name: "the target" if option == "target" else f"that of {option}" for option, name in roles.items()}
    for name, text in role_texts.items():
        if name in drop:
            raise ParameterError(f"column {name!r} is {text} and cannot be dropped")
    for name in role_texts:
        options = [f"--{option}" for option, column in roles.items() if column == name]
        if len(options) > 1:
            raise ParameterError(f"column {name!r} cannot be that of {' and '.join(options)}")
    names = [name for name in sheet.names if name not in role_texts and name not in drop]
    if not names:
        others = "".join(f"{text} {name!r} and " for name, text in role_texts.items())
        raise DataError(f"{sheet.path} has no feature column beside {others}those dropped")
    return names


def _check_known(sheet: Sheet, roles: Mapping[str, str], drop: Sequence[str]) -> None:
    """Check that the sheet has the columns; one without a name can only be dropped. Raises UnknownOptionError."""
    for option, name in (*roles.items(), *(("drop", name) for name in drop)):
        if name not in (sheet.header if option == "drop" else sheet.names):
            nearest = describe_nearest(name, sheet.names) + sheet.hint
            raise UnknownOptionError(f"{option}: {sheet.path} has no column {name!r}; {nearest}")


def list_names(names: Sequence[str]) -> str:
    """Join the first names, with dots for the rest."""
    return ", ".join(names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")
