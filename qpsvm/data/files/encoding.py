"""How a file's columns became features, and the table that came of it.

CSV: the columns that are used, and what becomes of them: numbers, 0/1 features, or labels.

A column where all cells are numbers is numbers, else text. It takes 8n bytes, and each different text once.
"""

from __future__ import annotations

import json
import reprlib
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import index_of
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix, as_dense
from qpsvm.base.errors import DataError, FileFormatError, ParameterError
from qpsvm.data.files.sheet import MISSING, Mask, Sheet, listing, numbers, whole
from qpsvm.data.files.source import FilePath
from qpsvm.data.rows import Standardised, as_row_source
from qpsvm.data.rows import standardised as standardised_rows

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

    def check_names(self, known: Collection[str], path: object) -> None:
        """Refuse a file without one of the columns. Raises DataError."""
        absent = [column.name for column in self.columns if column.name not in known]
        if absent:
            raise DataError(f"{path} has no column {', '.join(map(repr, absent))}, which the model needs")

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


def made_dense(X: Matrix, path: FilePath) -> FloatArray:
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
    rows = standardised_rows(as_row_source(made_dense(X, path)))
    return rows.mean, rows.scale


def standardised(table: Table, path: FilePath) -> Table:
    """The table with its encoding's mean and scale applied, or itself where there are none."""
    mean, scale = table.encoding.mean, table.encoding.scale
    if mean is None or scale is None:
        return table
    sparse = sp.issparse(table.X) and not mean.any()
    rows = as_row_source(table.X if sparse else made_dense(table.X, path))
    with np.errstate(over="ignore"):
        X = Standardised(rows, mean, scale).matrix()
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        name = table.names[index_of(X, int(np.argmin(np.isfinite(values).ravel())))[1]]
        raise DataError(f"{path}: feature {name!r} has values too large to be standardised; divide them by a constant")
    return replace(table, X=X)


#: A text column identifies rows and describes nothing where it has more categories than this, and than half the rows.
MANY_CATEGORIES = 20


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column.

    values (n,): Numbers, with NaN for a missing one; or texts, as objects.
    missing (n,): Which cells are missing; None where none is.
    """

    values: NDArray[Any]
    missing: Mask | None

    def used(self) -> list[str]:
        """The texts that occur, sorted."""
        return sorted(set(self.values.tolist()))

    def all_missing(self) -> bool:
        """Whether there is no value at all."""
        return self.missing is not None and bool(self.missing.all())

    def numbers(self) -> FloatArray | None:
        """The cells as numbers (n,), or None where one is not a number. NaN and infinity are numbers here."""
        return numbers(self.values.tolist()) if self.values.dtype == object else self.values

    def looked_up(self, meaning: dict[str, float], other: float) -> FloatArray:
        """The number that each text means, (n,); `other` where it means none."""
        return np.array([meaning.get(text, other) for text in self.values.tolist()], dtype=np.float64)


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
        line, cell = self.sheet.place(int(self.rows[i]), name)
        return f"{self.sheet.path}, line {line}, column {name!r}", cell

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
        cells = {name: Cells(column.values[keep], None) for name, column in self.cells.items()}
        return Columns(self.sheet, cells, self.rows[keep]), int(bad.sum())


def read_columns(sheet: Sheet, names: Sequence[str], as_text: Collection[str] = ()) -> Columns:
    """Read the columns named. Those in `as_text` are read as text, whatever they look like. Raises FileFormatError.

    A column that turns out to be text has the file read from its beginning.
    """
    parts: dict[str, list[Any]] = {name: [] for name in names}
    n = 0
    for records in sheet.blocks():
        by_column = list(zip(*records, strict=True))
        for name in names:
            cells = by_column[sheet.header[name]]
            parts[name].append(_texts(cells) if name in as_text else sheet.numbers(name, cells, n))
        late = {name for name in names if parts[name][-1] is None}
        if late:
            return read_columns(sheet, names, late.union(as_text))
        n += len(records)
    return Columns(sheet, {name: _joined(parts.pop(name)) for name in names}, np.arange(n))


def _texts(cells: Sequence[str]) -> tuple[NDArray[Any], Mask]:
    """Cells of text, each different one kept once, and which are missing: (n,), (n,)."""
    texts = np.array([sys.intern(cell.strip()) for cell in cells], dtype=object)
    return texts, np.array([text in MISSING for text in texts], dtype=np.bool_)


def _joined(parts: list[tuple[NDArray[Any], Mask | None]]) -> Cells:
    """A column from those of the blocks."""
    missing = np.concatenate([np.zeros(len(values), np.bool_) if m is None else m for values, m in parts])
    return Cells(np.concatenate([values for values, _ in parts]), missing if missing.any() else None)


def column_of(columns: Columns, name: str) -> Column:
    """Decide what a column holds: numbers, or text with few enough categories. Raises DataError."""
    cells = columns.cells[name]
    if cells.numbers() is not None:
        return Column(name)
    categories, (at, odd, commas) = cells.used(), columns.odd(name)
    if commas:
        raise DataError(f"{at}: {reprlib.repr(odd)} has a comma; write decimal points, no thousands marks")
    if len(categories) > max(MANY_CATEGORIES, len(columns.rows) / 2):
        raise DataError(
            f"{at}: {reprlib.repr(odd)} is not a number, and the column has {len(categories)} "
            f"categories in {len(columns.rows)} rows, like a name or an id; leave it out by --drop {name!r}"
        )
    return Column(name, tuple(categories))


def encode(columns: Columns, encoding: Encoding) -> Matrix:
    """Turn the columns into X (n, d): dense, or CSR where 0/1 features would make it too large. Raises DataError."""
    blocks: list[Any] = []
    for column in encoding.columns:
        if column.categories is None:
            blocks.append(_finite_numbers(columns, column.name)[:, None])
        else:
            codes = _codes(columns, column)
            shape = (len(codes), len(column.categories))
            blocks.append(sp.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=shape))
    if len(columns.rows) * encoding.n_features > DENSE_LIMIT and any(map(sp.issparse, blocks)):
        return sp.csr_array(sp.hstack(blocks))
    return np.hstack([as_dense(block) for block in blocks])


def _codes(columns: Columns, column: Column) -> NDArray[np.int32]:
    """The place of each cell's category among the column's, (n,)."""
    assert column.categories is not None
    place = {category: float(k) for k, category in enumerate(column.categories)}
    codes = columns.cells[column.name].looked_up(place, -1.0).astype(np.int32)
    if codes.min() < 0:
        at, cell = columns.place(int(codes.argmin()), column.name)
        known = listing([reprlib.repr(category) for category in column.categories])
        raise DataError(f"{at}: {reprlib.repr(cell)} is unknown to the model; known: {known}")
    return codes


def labels_of(columns: Columns, encoding: Encoding) -> NDArray[Any]:
    """The labels, (n,): text, or numbers. Raises DataError."""
    target = str(encoding.target)
    if not encoding.text_labels:
        return whole(_finite_numbers(columns, target))
    return np.array(columns.cells[target].values.tolist())


def numbers_of(columns: Columns, name: str, what: str) -> NDArray[Any]:
    """A column that has to be numbers, (n,): the target of a regression or a ranking, or weights. Raises DataError."""
    if columns.cells[name].numbers() is None:
        at, odd, commas = columns.odd(name)
        hint = "write decimal points, not commas" if commas else "name a column of numbers"
        if what == "the target" and not commas:
            hint += " by --target (target=), or take a machine of two classes for one of labels"
        raise DataError(f"{at}: {reprlib.repr(odd)} is not a number, which {what} must be here; {hint}")
    return whole(_finite_numbers(columns, name))


def groups_of(columns: Columns, name: str) -> NDArray[Any]:
    """The group of each row, (n,): numbers or text."""
    values = columns.cells[name].numbers()
    return np.array(columns.cells[name].values.tolist()) if values is None else whole(values)


def _finite_numbers(columns: Columns, name: str) -> FloatArray:
    """The cells of a column as finite numbers, (n,)."""
    cells = columns.cells[name]
    values = cells.numbers()
    if values is not None and np.isfinite(values).all():
        return values
    if values is None:
        values = cells.looked_up({text: float(text) for text in cells.used() if numbers([text]) is not None}, np.nan)
    at, cell = columns.place(int(np.argmin(np.isfinite(values))), name)
    raise DataError(f"{at}: {reprlib.repr(cell)} is not a finite number, which this column needs")
