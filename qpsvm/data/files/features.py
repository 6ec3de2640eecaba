"""CSV: what columns become, which is numbers, 0/1 features or labels; and a first column that only counts the rows."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError, FileFormatError
from qpsvm.data.files.columns import DENSE_LIMIT, Column, Columns, Encoding
from qpsvm.data.files.sheet import UNNAMED, listing, numbers, whole

#: A text column identifies rows and describes nothing where it has more categories than this, and than half the rows.
MANY_CATEGORIES = 20


def check_index(columns: Columns) -> str:
    """Take the first column, which has no name, for an index if it counts the rows. The note returned says so.

    Raises FileFormatError.
    """
    values = columns.cells[UNNAMED].numbers()
    for first in (0, 1):
        count = np.arange(first, first + len(columns.rows))
        if values is not None and np.array_equal(values, count):
            return f"column 1 has no name and counts the rows from {first}: taken as their index, not as a feature"
    differs = 0 if values is None else int(np.argmax(values != np.arange(len(values)) + values[0]))
    at, cell = columns.place(differs, UNNAMED)
    hint = columns.sheet.hint or (
        "; give it a name in the header, leave it out by --drop '' (drop=['']), or write the file without it "
        "(pandas: to_csv(index=False), R: row.names = FALSE)"
    )
    line = at.removeprefix(f"{columns.sheet.path}, ").split(",")[0]
    raise FileFormatError(
        f"{columns.sheet.path}: column 1 has no name and does not count the rows ({line}: {reprlib.repr(cell)}){hint}"
    )


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
    """Turn the columns into X (n, d): dense, or CSR where 0/1 features would make it too large.

    Each column is given up once it stands in X. Raises DataError.
    """
    n, d = len(columns.rows), encoding.n_features
    found = {
        column.name: _finite_numbers(columns, column.name) if column.categories is None else _codes(columns, column)
        for column in encoding.columns
    }
    if n * d > DENSE_LIMIT and any(column.categories is not None for column in encoding.columns):
        return sp.csr_array(sp.hstack([_block(column, found[column.name]) for column in encoding.columns]))
    X, start = np.zeros((n, d)), 0
    for column in encoding.columns:
        values = found.pop(column.name)
        columns.cells.pop(column.name)
        if column.categories is None:
            X[:, start] = values
        else:
            X[np.arange(n), start + values] = 1.0
        start += len(column.names)
    return X


def _block(column: Column, values: NDArray[Any]) -> Any:
    """The features of one column, CSR: (n, 1), or (n, number of categories)."""
    n = len(values)
    if column.categories is None:
        return sp.csr_array(values[:, None])
    return sp.csr_array((np.ones(n), values, np.arange(n + 1)), shape=(n, len(column.categories)))


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
    cells = columns.cells[target]
    assert cells.texts is not None
    used, places = np.unique(cells.values, return_inverse=True)
    return np.array([cells.texts[code] for code in used])[places]


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
    cells = columns.cells[name]
    values = cells.numbers()
    if values is not None:
        return whole(values)
    assert cells.texts is not None
    return np.array(cells.texts)[cells.values]


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
