"""How a file's columns became features, and the table that came of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import index_of
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError, ParameterError
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

    Raises DataError, ParameterError.
    """
    mean, scale = table.encoding.mean, table.encoding.scale
    if mean is None or scale is None:
        return table
    sparse = sp.issparse(table.X) and not mean.any()
    rows = as_row_source(table.X if sparse else as_dense(table.X, path))
    with np.errstate(over="ignore"):
        X = Standardised(rows, mean, scale).matrix()
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        name = table.names[index_of(X, int(np.argmin(np.isfinite(values).ravel())))[1]]
        raise DataError(f"{path}: feature {name!r} has values too large to be standardised; divide them by a constant")
    return replace(table, X=X)
