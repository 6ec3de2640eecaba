"""Store the samples and labels of a file, and standardise them (`EncodedTable`, `standardise_table`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import find_index
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, ParameterError
from qpsvm.data.files.encoding import DENSE_LIMIT, ColumnSummary, Encoding, UnseenCategories
from qpsvm.data.files.sheet import Mask
from qpsvm.data.files.source import FilePath
from qpsvm.data.rows import StandardisedRows, as_row_source, standardise_rows


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Samples and labels from a file.

    X (n, d): Samples. CSR from a LIBSVM file, and from a CSV file whose 0/1 features would be too large as a
        dense array. Dense if standardised, unless μ = 0.
    y (n,) or None: Labels: integers if all are whole numbers, else floats, or text. None if the file has none.
    encoding: How columns became features.
    dropped: Number of rows that were dropped for missing values.
    notes: Remarks for the user on how the file was read.
    groups (n,) or None: The group of each row, for a ranking: numbers or text.
    weights (n,) or None: The weight of each row.
    column_summaries: Kind and features of each column.
    required_columns: Columns in which each row needs a value.
    """

    X: Matrix
    y: NDArray[Any] | None
    encoding: Encoding
    dropped: int = 0
    notes: tuple[str, ...] = ()
    groups: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    column_summaries: tuple[ColumnSummary, ...] = ()
    required_columns: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the d features."""
        return self.encoding.names


@dataclass(frozen=True, eq=False)
class NewRows(EncodedTable):
    """The k complete rows of another table of n rows, encoded like the training rows.

    places (k,) or None: The indices of these rows in the table; None for all rows.
    n: Number of rows of the table; −1 for that of X.
    labelled (k,) or None: Mask of the rows with a target; None for all, if y is not None.
    ids (n,) or None: The cells of the column that names the rows of the table.
    unseen: Categories that no training row has, by column.
    """

    places: IntArray | None = None
    n: int = -1
    labelled: Mask | None = None
    ids: tuple[str, ...] | None = None
    unseen: dict[str, UnseenCategories] = field(default_factory=dict)


AnyTable = TypeVar("AnyTable", bound=EncodedTable)


def to_dense(X: Matrix, path: FilePath) -> FloatArray:
    """Return X (n, d) as an array, for standardising. Raises ParameterError."""
    n, d = X.shape
    if sp.issparse(X) and n * d > DENSE_LIMIT:
        raise ParameterError(
            f"{path}: {n} rows × {d} features cannot be standardised: subtracting the mean would fill in the zeros "
            f"({8e-9 * n * d:.1f} GB); leave out standardise, or scale the file's columns without shifting them"
        )
    dense: FloatArray = X.toarray() if sp.issparse(X) else X
    return dense


def compute_mean_and_scale(X: Matrix, path: FilePath) -> tuple[FloatArray, FloatArray]:
    """Return mean and deviation, (STD.1), of each column of X (n, d), which is made dense: (d,), (d,)."""
    rows = standardise_rows(as_row_source(to_dense(X, path)))
    return rows.mean, rows.scale


def standardise_table(table: AnyTable, path: FilePath) -> AnyTable:
    """Return the table standardised by its encoding's mean and scale, or itself if there are none. Raises DataError."""
    mean, scale = table.encoding.mean, table.encoding.scale
    if mean is None or scale is None:
        return table
    stays_sparse = sp.issparse(table.X) and not mean.any()
    rows = as_row_source(table.X if stays_sparse else to_dense(table.X, path))
    with np.errstate(over="ignore"):
        X = StandardisedRows(rows, mean, scale).matrix()
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        _, column = find_index(X, int(np.argmin(np.isfinite(values).ravel())))
        name = table.names[column]
        raise DataError(f"{path}: feature {name!r} has values too large to be standardised; divide them by a constant")
    return replace(table, X=X)
