"""CSV: the columns that are used, read in blocks of rows. A column where all cells are numbers is numbers, else text.

A column of n numbers takes 8n bytes. One of text takes 4n bytes, and each different text once. A column that begins
with numbers and goes on with text is read again as text, in a second pass.

How a file's columns became features, and the table that came of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import index_of
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError, ParameterError
from qpsvm.data.files.sheet import MISSING, Sheet, numbers
from qpsvm.data.files.source import FilePath
from qpsvm.data.rows import as_row_source, divided
from qpsvm.data.rows import standardised as standardised_rows

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

    def odd(self, name: str) -> tuple[str, str, bool]:
        """Where the first cell that is no number stands, its text, and whether commas are all that is wrong."""
        cells, used = self.cells[name], self.cells[name].used()
        words = {text: 1.0 for text in used if numbers([text]) is None}
        commas = numbers([text.replace(",", ".") for text in used]) is not None
        return *self.place(int(cells.looked_up(words, 0.0).argmax()), name), commas

    def without_missing(self, names: Sequence[str], drop_missing: bool) -> tuple[Columns, int]:
        """Drop the rows with a missing value in one of the columns named, or refuse them. Raises DataError."""
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
    """Read the columns named. Those in `as_text` are read as text, whatever they look like. Raises FileFormatError."""
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


#: What of a file's target a machine learns from.
Target = Literal["labels", "numbers", "none"]
#: Largest n·d for which a matrix is made dense that could be sparse: 5e7 numbers are 400 MB.
DENSE_LIMIT = 50_000_000


@dataclass(frozen=True)
class Column:
    """One CSV column that is used: numbers if `categories` is None, otherwise a 0/1 feature for each category."""

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its features: `("age",)`, or `("Pop=Vic", "Pop=other")`."""
        return (self.name,) if self.categories is None else tuple(f"{self.name}={c}" for c in self.categories)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a file's columns became features: enough to encode another file in the same way.

    format: `"csv"`, which any table with named columns is; `"libsvm"`; or `"npy"`, whose columns are called by
        their places.
    target or None: The column of labels, where it has a name.
    columns: The columns that are used, in the order of the features, where they have names.
    n_features: d, the width of the encoded matrix.
    mean, scale (d,) or None: What standardising subtracts and then divides by.
    text_labels: CSV: the labels are text. Those of another file are then read as text too, even if all look
        like numbers.
    first_index: LIBSVM: the index of the first feature. It is 1, or 0 if the file has an index 0, as scikit-
        learn writes it.
    groups or None: CSV: the column of groups of a ranking.
    """

    format: str
    target: str | None
    columns: tuple[Column, ...]
    n_features: int
    mean: FloatArray | None = None
    scale: FloatArray | None = None
    text_labels: bool = False
    first_index: int = 1
    groups: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d features. Those of a LIBSVM file are x1, x2, … by its indices."""
        if self.format != "libsvm":
            return tuple(name for column in self.columns for name in column.names)
        return tuple(f"x{j + self.first_index}" for j in range(self.n_features))

    def to_json(self) -> str:
        """The encoding as JSON text, which `from_json` reads back without loss."""
        return json.dumps(asdict(self), default=lambda array: array.tolist())

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """Read what `to_json` wrote. Raises FileFormatError."""
        try:
            fields = json.loads(text)
            columns = (Column(c["name"], c["categories"] and tuple(c["categories"])) for c in fields["columns"])
            moments = {key: fields[key] and np.array(fields[key], dtype=np.float64) for key in ("mean", "scale")}
            encoding = cls(**{**fields, **moments, "columns": tuple(columns)})
            width = len(encoding.names) if encoding.format != "libsvm" else encoding.n_features
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"this does not hold the encoding of a data file: {error!r}") from error
        shapes = {None if m is None else m.shape for m in (encoding.mean, encoding.scale)}
        known = encoding.format in ("csv", "libsvm", "npy")
        if not known or encoding.n_features != width or shapes not in ({None}, {(width,)}):
            raise FileFormatError("the encoding of the data file contradicts itself; save the model again")
        return encoding


@dataclass(frozen=True, eq=False)
class Table:
    """Samples and labels from a file.

    X (n, d): Samples. CSR from a LIBSVM file, and from a CSV file whose 0/1 features would be too large as a
        dense array. Dense if standardised.
    y (n,): Labels: integers if all are whole numbers, else floats, or text. None if the file has none.
    encoding: How it was read.
    dropped: How many rows were dropped for missing values.
    notes: What a user should know about how the file was read.
    groups (n,) or None: Which group each row belongs to, for a ranking: numbers or text.
    weights (n,) or None: The weight of each row.
    """

    X: Matrix
    y: NDArray[Any] | None
    encoding: Encoding
    dropped: int = 0
    notes: tuple[str, ...] = ()
    groups: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d features."""
        return self.encoding.names


def as_dense(X: Matrix, path: FilePath) -> FloatArray:
    """X (n, d) as an array, for standardising. Raises ParameterError."""
    n, d = X.shape
    if sp.issparse(X) and n * d > DENSE_LIMIT:
        raise ParameterError(
            f"{path}: {n} rows × {d} features cannot be standardised: subtracting the mean would fill in the zeros "
            f"({8e-9 * n * d:.1f} GB); leave out standardise, or scale the file's columns without shifting them"
        )
    dense: FloatArray = X.toarray() if sp.issparse(X) else X
    return dense


def moments(X: Matrix, path: FilePath) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation, (STD.1), of each column of X (n, d), which is made dense: (d,), (d,)."""
    rows = standardised_rows(as_row_source(as_dense(X, path)))
    return rows.mean, rows.scale


def standardised(table: Table, path: FilePath) -> Table:
    """The table with its encoding's mean and scale applied, or itself where there are none.

    A dense X that may be written to is changed in place. Raises DataError, ParameterError.
    """
    mean, scale = table.encoding.mean, table.encoding.scale
    if mean is None or scale is None:
        return table
    with np.errstate(over="ignore"):
        if sp.issparse(table.X) and not mean.any():
            X = divided(table.X, scale)
        else:
            X = as_dense(table.X, path)
            X = X if X.flags.writeable else X.copy()
            X -= mean
            X /= scale
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        name = table.names[index_of(X, int(np.argmin(np.isfinite(values).ravel())))[1]]
        raise DataError(f"{path}: feature {name!r} has values too large to be standardised; divide them by a constant")
    return replace(table, X=X)
