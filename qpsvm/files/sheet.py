"""CSV: cells under a header, and how they become numbers, categories and labels."""

from __future__ import annotations

import csv
import io
import re
import reprlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray, Matrix
from qpsvm.errors import DataError, FileFormatError, ParameterError, UnknownOptionError, nearest
from qpsvm.files.encoding import DENSE_LIMIT, Column, Encoding, FilePath
from qpsvm.files.raw import MISSING, numbers, whole

#: A text column with more categories than this, and than half of the rows, identifies rows and describes nothing.
MANY_CATEGORIES = 20


@dataclass(frozen=True)
class Sheet:
    """The cells of a CSV file, stripped; the place of each column; the line of the file on which each row begins."""

    path: FilePath
    header: dict[str, int]
    rows: list[list[str]]
    lines: list[int]

    @property
    def hint(self) -> str:
        """A question to add to a message where the header looks like data."""
        return "" if numbers(list(self.header)) is None else "; is the line of column names missing?"

    def cells(self, name: str) -> list[str]:
        """The cells of a column, (n,)."""
        j = self.header[name]
        return [row[j] for row in self.rows]

    def at(self, i: int, name: str) -> str:
        """Where a cell stands in the file, for a message."""
        return f"{self.path}, line {self.lines[i]}, column {name!r}"

    def without_missing(self, names: Sequence[str], drop_missing: bool) -> tuple[Sheet, int]:
        """Drop the rows with a missing value in one of the columns, or refuse them."""
        used = [(name, self.header[name]) for name in names]
        holes = [(i, name) for i, row in enumerate(self.rows) for name, j in used if row[j] in MISSING]
        bad = {i for i, _ in holes}
        if bad and not drop_missing:
            i, name = holes[0]
            raise DataError(
                f"{self.at(i, name)} is missing ({self.cells(name)[i]!r}), the first of {len(holes)} missing cells in "
                f"{len(bad)} rows; --drop-missing (drop_missing=True) drops those rows"
            )
        if len(bad) == len(self.rows):
            [(worst, _)] = Counter(name for _, name in holes).most_common(1)
            raise DataError(f"{self.path}: every row has a missing value, most of them in column {worst!r}")
        keep = [i for i in range(len(self.rows)) if i not in bad]
        return replace(self, rows=[self.rows[i] for i in keep], lines=[self.lines[i] for i in keep]), len(bad)


def parse(path: FilePath, content: bytes) -> Sheet:
    """Split into cells and check that they make a table under a header."""
    text = content.decode()
    head = re.match(r'\n*((?:"[^"]*"|[^"\n]+)*)', text)
    delimiter = max(",;\t", key=re.sub(r'"[^"]*"', "", head[1] if head else "").count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    sheet, line = Sheet(path, {}, [], []), 1
    try:
        for record in reader:
            cells = [cell.strip() for cell in record]
            if not sheet.header:
                sheet.header.update(_checked_header(path, [" ".join(cell.split()) for cell in cells]))
            elif len(cells) > 1 or any(cells):
                if len(cells) != len(sheet.header):
                    raise FileFormatError(
                        f"{path}, line {line} has {len(cells)} cells where the header has {len(sheet.header)}; "
                        f"quote a cell that contains {delimiter!r}"
                    )
                sheet.rows.append(cells)
                sheet.lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {line}: {error}; look for a quote that is not closed") from None
    if not sheet.rows:
        raise FileFormatError(f"{path} has a header line and no rows below it{sheet.hint}")
    return sheet


def _checked_header(path: FilePath, names: Sequence[str]) -> dict[str, int]:
    header: dict[str, int] = {}
    for j, name in enumerate(names):
        if not name or name in header:
            fault = f"the same name {name!r} as column {header[name] + 1}" if name else "no name"
            hint = "give it its own name" if numbers(names) is None else "is the line of column names missing?"
            raise FileFormatError(f"{path}: column {j + 1} has {fault}; {hint}")
        header[name] = j
    return header


def feature_columns(sheet: Sheet, target: str | None, drop: Sequence[str]) -> list[str]:
    """The names of the columns that become features, in the order of the file; refuses unknown names."""
    if target is None:
        advice = f"name the column of labels by --target COLUMN (target=); columns: {_listing(list(sheet.header))}"
        raise ParameterError(f"{sheet.path}: {advice}")
    for option, names in (("target", [target]), ("drop", drop)):
        for name in names:
            if name not in sheet.header:
                listing = nearest(name, sheet.header) + sheet.hint
                raise UnknownOptionError(f"{option}: {sheet.path} has no column {name!r}; {listing}")
    if target in drop:
        raise ParameterError(f"column {target!r} is the target and cannot be dropped")
    names = [name for name in sheet.header if name != target and name not in drop]
    if not names:
        raise DataError(f"{sheet.path} has no feature column beside the target {target!r} and those dropped")
    return names


def column_of(sheet: Sheet, name: str) -> Column:
    """Decide what a column holds: numbers, or text with few enough categories."""
    cells = sheet.cells(name)
    if numbers(cells) is not None:
        return Column(name)
    odd = next(i for i, cell in enumerate(cells) if numbers([cell]) is None)
    if numbers([cell.replace(",", ".") for cell in cells]) is not None:
        raise DataError(
            f"{sheet.at(odd, name)}: {reprlib.repr(cells[odd])} has a comma; write decimal points, no thousands marks"
        )
    categories = sorted(set(cells))
    if len(categories) > max(MANY_CATEGORIES, len(cells) / 2):
        raise DataError(
            f"{sheet.at(odd, name)}: {reprlib.repr(cells[odd])} is not a number, and the column has {len(categories)} "
            f"categories in {len(cells)} rows, like a name or an id; leave it out by --drop {name!r}"
        )
    return Column(name, tuple(categories))


def encode(sheet: Sheet, encoding: Encoding) -> Matrix:
    """Turn the columns into X (n, d): dense, or CSR where 0/1 features would make it too large."""
    n = len(sheet.rows)
    blocks: list[Any] = []
    for column in encoding.columns:
        if column.categories is None:
            blocks.append(_finite_numbers(sheet, column.name)[:, None])
            continue
        place = {category: k for k, category in enumerate(column.categories)}
        cells = sheet.cells(column.name)
        unknown = next((i for i, cell in enumerate(cells) if cell not in place), None)
        if unknown is not None:
            at, cell = sheet.at(unknown, column.name), reprlib.repr(cells[unknown])
            known = _listing([reprlib.repr(category) for category in column.categories])
            raise DataError(f"{at}: {cell} is unknown to the model; known: {known}")
        codes = np.array([place[cell] for cell in cells])
        blocks.append(sp.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(place))))
    if n * encoding.n_features > DENSE_LIMIT and any(sp.issparse(block) for block in blocks):
        return sp.csr_array(sp.hstack(blocks))
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")


def labels_of(sheet: Sheet, encoding: Encoding) -> NDArray[Any]:
    """The labels, (n,): text, or numbers."""
    target = str(encoding.target)
    return np.array(sheet.cells(target)) if encoding.text_labels else whole(_finite_numbers(sheet, target))


def _finite_numbers(sheet: Sheet, name: str) -> FloatArray:
    cells = sheet.cells(name)
    values = numbers(cells)
    if values is not None and np.isfinite(values).all():
        return values
    i = next(i for i, cell in enumerate(cells) if (v := numbers([cell])) is None or not np.isfinite(v[0]))
    raise DataError(f"{sheet.at(i, name)}: {reprlib.repr(cells[i])} is not a finite number, which this column needs")
