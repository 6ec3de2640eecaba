"""Encode the columns of a table as features (`encode`), by an `Encoding` that later rows share.

An encoding stores what was learnt from the training rows, such as categories and fill values, so that other rows are
encoded in the same way.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files.columns import Cells, TableColumns, extract_days, extract_finite_numbers
from qpsvm.data.files.dates import DATE_ORDERS, DATE_PARTS, split_dates
from qpsvm.data.files.text_format import DecimalMark, TextFormat

#: What the target of a machine is: labels, numbers, or nothing.
TargetKind = Literal["labels", "numbers", "none"]
#: Largest n·d for which a matrix that could be sparse is stored densely: 5e7 numbers take 400 MB.
DENSE_LIMIT = 50_000_000
#: Names of the features for all rare categories of a column, and for its missing values.
RARE_LABEL, MISSING_LABEL = "(rare)", "(missing)"


@dataclass(frozen=True)
class Column:
    """Encoding of one column: as a number, as a 0/1 feature for each category, or as the parts of a date.

    name: The name of the column.
    categories or None: The categories with a feature each; None if the column is not text.
    rare: Categories that share one feature, also with unknown ones. Without it, all features of unknown ones are 0.
    date or None: The order of year, month and day, such as "ymd"; None if the column is not a date.
    origin or None: The day number from which days are counted.
    fill or None: The value for missing cells: a number, a day number, or a category; None if they are not filled in.
    indicator: Whether a 0/1 feature marks missing cells.
    unit: The sign, such as "$" or "%", that every number of the column has next to it; "" for plain numbers.
    """

    name: str
    categories: tuple[str, ...] | None = None
    rare: tuple[str, ...] = ()
    date: str | None = None
    origin: int | None = None
    fill: float | str | None = None
    indicator: bool = False
    unit: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features: `("age",)`, or `("Pop=Vic", "Pop=other")`."""
        names: tuple[str, ...] = (self.name,)
        if self.date is not None:
            names = tuple(f"{self.name}.{part}" for part in DATE_PARTS)
        elif self.categories is not None:
            names = tuple(f"{self.name}={c}" for c in (*self.categories, *([RARE_LABEL] if self.rare else ())))
        if self.indicator:
            return *names, f"{self.name}={MISSING_LABEL}"
        return names

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Column:
        """Build a column from decoded JSON, also of earlier versions. Raises ValueError, KeyError, TypeError."""
        texts = record["categories"] and tuple(record["categories"])
        column = cls(**{**record, "categories": texts, "rare": tuple(record.get("rare", ()))})
        if column.date is not None and (column.date not in DATE_ORDERS or type(column.origin) is not int):
            raise ValueError(f"no order of dates: {column.date!r}")
        return column


@dataclass(frozen=True)
class ColumnSummary:
    """Kind of a column and the resulting features, in words."""

    name: str
    kind: str
    outcome: str


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table became features, so that another table can be encoded in the same way.

    format: `"csv"` for any table with named columns; `"libsvm"`; or `"npy"`, whose columns are named by their indices.
    target or None: The column of the target, if it has a name.
    columns: The encodings of the used columns, in the order of the features, if columns have names.
    n_features: d, the width of the encoded matrix.
    mean, scale (d,) or None: The μ and s by which features are standardised; None if they are not.
    text_labels: CSV: whether the labels are text. Those of another file are then read as text too, even if all are
        numbers.
    first_index: LIBSVM: the index of the first feature. It is 1, or 0 if the file has an index 0, as scikit-learn
        writes it.
    groups or None: CSV: the column of groups of a ranking.
    na_values, decimal: CSV: as in `TextFormat`.
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
    na_values: tuple[str, ...] = ()
    decimal: DecimalMark = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the d features. Those of a LIBSVM file are x1, x2, … by its indices."""
        if self.format != "libsvm":
            return tuple(name for column in self.columns for name in column.names)
        return tuple(f"x{j + self.first_index}" for j in range(self.n_features))

    def check_names(self, known: Collection[str], path: object) -> None:
        """Check that a table has all used columns. Raises DataError."""
        absent = [repr(column.name) for column in self.columns if column.name not in known]
        if absent:
            raise DataError(f"{path} has no column {', '.join(absent)}, which the model needs")

    def to_json(self) -> str:
        """Return the encoding as JSON text, which `from_json` reads back without loss."""
        return json.dumps(asdict(self), default=lambda array: array.tolist())

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """Read what `to_json` wrote. Raises FileFormatError."""
        try:
            fields = json.loads(text)
            columns = map(Column.from_record, fields["columns"])
            moments = {key: fields[key] and np.array(fields[key], dtype=np.float64) for key in ("mean", "scale")}
            texts = {"columns": tuple(columns), "na_values": tuple(fields.get("na_values", ()))}
            encoding = cls(**{**fields, **moments, **texts})
            TextFormat(encoding.na_values, encoding.decimal)  # raises ParameterError for an unknown decimal mark
            if encoding.format != "libsvm":
                width = len(encoding.names)
            else:
                width = encoding.n_features
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"this does not hold the encoding of a data file: {error!r}") from error
        shapes = {None if m is None else m.shape for m in (encoding.mean, encoding.scale)}
        known = encoding.format in ("csv", "libsvm", "npy")
        if not known or encoding.n_features != width or shapes not in ({None}, {(width,)}):
            raise FileFormatError("the encoding of the data file contradicts itself; save the model again")
        return encoding


def encode(columns: TableColumns, encoding: Encoding) -> Matrix:
    """Encode columns as X (n, d), dense, or CSR if 0/1 features would make it too large. Raises DataError."""
    blocks: list[Any] = []
    for column in encoding.columns:
        blocks.append(_encode_column(columns, column))
        if column.indicator:
            missing = columns.cells[column.name].missing
            n = len(columns.rows)
            blocks.append((np.zeros(n) if missing is None else missing.astype(np.float64))[:, None])
    if len(columns.rows) * encoding.n_features > DENSE_LIMIT and any(map(sp.issparse, blocks)):
        return sp.csr_array(sp.hstack(blocks))
    return np.hstack([as_dense(block) for block in blocks])


def _encode_column(columns: TableColumns, column: Column) -> Any:
    """Return the features of a column without the indicator of missing cells: (n, k). Raises DataError."""
    if column.date is not None:
        days = extract_days(columns, column.name, column.date)
        if column.fill is None:
            filled = days
        else:
            filled = np.where(np.isnan(days), column.fill, days)
        return split_dates(filled, column.origin or 0)
    if column.categories is None:
        fill = None if column.fill is None else float(column.fill)
        return extract_finite_numbers(columns, column.name, fill, column.unit)[:, None]
    return _encode_categories(columns.cells[column.name], column.categories, column.rare, str(column.fill))


def _encode_categories(cells: Cells, categories: tuple[str, ...], rare: tuple[str, ...], fill: str) -> sp.csr_array:
    """Return the 0/1 features of a text column, (n, k), with one 1 in each row whose category is known."""
    index = {category: float(j) for j, category in enumerate(categories)}
    index |= dict.fromkeys(rare, float(len(categories)))
    features = cells.map_texts(index, float(len(categories)) if rare else -1.0)
    if cells.missing is not None:
        features = np.where(cells.missing, index.get(fill, -1.0), features)
    known = features >= 0.0
    shape = (len(features), len(categories) + bool(rare))
    indptr = np.concatenate([[0], np.cumsum(known)])
    return sp.csr_array((np.ones(int(known.sum())), features[known].astype(np.int32), indptr), shape=shape)


@dataclass(frozen=True)
class UnseenCategories:
    """Categories of a column that no training row has.

    counts: Number of rows of each.
    position: The file and line of the first such row.
    """

    counts: Counter[str]
    position: str

    def __add__(self, others: UnseenCategories) -> UnseenCategories:
        return UnseenCategories(self.counts + others.counts, self.position)


def find_unseen(columns: TableColumns, encoding: Encoding) -> dict[str, UnseenCategories]:
    """Find the categories that the encoding does not contain, by column."""
    unseen: dict[str, UnseenCategories] = {}
    for column in encoding.columns:
        if column.categories is None:
            continue
        known = {*column.categories, *column.rare}
        cells = columns.cells[column.name]
        is_unseen = np.array([text not in known for text in cells.values.tolist()], dtype=np.bool_)
        if cells.missing is not None:
            is_unseen &= ~cells.missing
        if is_unseen.any():
            position = columns.describe_position(int(is_unseen.argmax()), column.name)
            unseen[column.name] = UnseenCategories(Counter(cells.values[is_unseen].tolist()), position)
    return unseen
