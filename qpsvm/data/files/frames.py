"""Read tables in memory as columns: pandas, Polars, pyarrow, or a mapping of columns (`as_frame`).

A cell that is not a number is converted to the text that a CSV file would contain, so that a table has the same
features in whatever form it is stored. True and False are text, dates are written as year-month-day, and None and NaN
are missing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from numbers import Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.large_integers import build_rounding_error, find_first_rounded
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.data.files.columns import Cells, TableColumns, intern_texts
from qpsvm.data.files.sheet import Sheet, add_drop_advice
from qpsvm.data.kinds import is_arrow, is_dask

#: Name of a table without a file, in messages.
NO_FILE = "the table"


@dataclass(frozen=True)
class Frame(Sheet):
    """A table in memory, used like a CSV text. Rows are counted from 0.

    columns: The columns by name, as they were given.
    starts: The files that the rows are from, each with the index of its first row.
    n: Number of rows.
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    starts: tuple[tuple[str, int], ...] = ()
    n: int = 0

    def describe_cell(self, i: int, name: str) -> tuple[str, str]:
        file, start = next(pair for pair in reversed(self.starts) if pair[1] <= i)
        return f"{file}, row {i - start}", _format_cell(_to_array(self.columns[name])[i], name)

    def find_cell(self, i: int, name: str) -> tuple[int, str]:
        return i, self.describe_cell(i, name)[1]


def as_frame(data: Any, name: str = NO_FILE, starts: Sequence[tuple[str, int]] = ()) -> Frame:
    """Wrap a table in memory. Raises DataError, DataTypeError.

    data: A frame of pandas or Polars, a table, batch or data set of pyarrow, or a mapping of columns.
    name: Name of the table in messages.
    starts: As in `Frame`.
    """
    column_names, values = _list_columns(data)
    names = [str(column_name) for column_name in column_names]
    repeated = next((text for k, text in enumerate(names) if text in names[:k]), None)
    if repeated is not None:
        raise DataError(f"{name} has the column {repeated!r} twice; give each its own name")
    columns = dict(zip(names, values, strict=True))
    n = _check_lengths(columns, name)
    header = {text: j for j, text in enumerate(names)}
    return Frame(name, header, columns=columns, starts=tuple(starts) or ((name, 0),), n=n)


def _list_columns(data: Any) -> tuple[list[Any], list[Any]]:
    """Return the names of the columns of a table in memory, and the columns; none if a name occurs twice.

    Raises DataTypeError.
    """
    if is_dask(data):
        raise DataTypeError("a Dask collection is not here: bring it by .compute(), or give its numbers to a machine")
    if is_arrow(data) and hasattr(data, "to_table"):
        data = data.to_table()
    if isinstance(data, Mapping):
        return list(data), list(data.values())
    if is_arrow(data) and hasattr(data, "schema"):
        return list(data.schema.names), [data.column(j) for j in range(data.num_columns)]
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        names = list(data.columns)
        return names, [] if len(set(names)) < len(names) else [data[column_name] for column_name in names]
    raise DataTypeError(
        f"a table is a frame of pandas, Polars or pyarrow, a mapping of columns, or the path of a file, got "
        f"{type(data).__name__}"
    )


def _check_lengths(columns: Mapping[str, Any], name: str) -> int:
    """Check that every column has a value for each row; return the number of rows. Raises DataError, DataTypeError."""
    for text, column in columns.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__len__") or getattr(column, "shape", (0,)) == ():
            raise DataTypeError(f"{name}: column {text!r} is {format_value(column)}, and not a value for each row")
    lengths = {text: len(column) for text, column in columns.items()}
    first = next(iter(lengths), None)
    if first is None or not lengths[first]:
        raise DataError(f"{name} has no {'columns' if first is None else 'rows'}")
    other = next((text for text in lengths if lengths[text] != lengths[first]), None)
    if other is not None:
        raise DataError(f"{name}: column {other!r} has {lengths[other]} rows, and {first!r} has {lengths[first]}")
    return lengths[first]


def read_frame(
    frame: Frame, names: Sequence[str], as_text: Collection[str] = (), as_numbers: Collection[str] = ()
) -> TableColumns:
    """Read the named columns. Raises DataError.

    as_text: Columns that are text, whatever they look like.
    as_numbers: Columns in which True and False are 1 and 0; they are text in others.
    """
    cells = {name: _read_cells(frame, name, name in as_text, name in as_numbers) for name in names}
    return TableColumns(frame, cells, np.arange(frame.n))


def _read_cells(frame: Frame, name: str, as_text: bool, as_number: bool) -> Cells:
    """Read a column, as numbers if all its cells are numbers. Raises DataError."""
    raw = _to_array(frame.columns[name])
    if raw.dtype.kind in ("iufb" if as_number else "iuf") and not as_text:
        return _read_numbers(frame, name, raw)
    if as_number and raw.dtype == object:
        raw = np.array([float(cell) if isinstance(cell, (bool, np.bool_)) else cell for cell in raw], dtype=object)
    texts = _format_cells(frame, name, raw)
    parsed = None if as_text else frame.parse_cells(name, texts, 0)
    if parsed is not None:
        return Cells(*parsed)
    values, missing = intern_texts(texts)
    return Cells(values, missing if missing.any() else None)


def _read_numbers(frame: Frame, name: str, raw: NDArray[Any]) -> Cells:
    """Read a column that is an array of numbers (n,). Raises DataError for an integer that a double would round."""
    values = raw.astype(np.float64)
    row = find_first_rounded(raw)
    if row is not None:
        error = build_rounding_error(raw[row], f"{frame.describe_cell(row, name)[0]}, column {name!r}")
        raise DataError(add_drop_advice(error, name))
    missing = np.isnan(values) | np.isin(values, frame.text_format.missing_numbers)
    return Cells(values, missing if missing.any() else None)


def _format_cells(frame: Frame, name: str, raw: NDArray[Any]) -> list[str]:
    """Format a column as CSV has it, normalised by the text format: (n,). Raises DataError, DataTypeError."""
    cells = raw.tolist()
    texts = [_format_cell(cell, name) for cell in cells]
    if raw.dtype.kind not in "OU":
        return texts
    text_rows = [k for k, cell in enumerate(cells) if isinstance(cell, str)]  # numbers always have a decimal point
    for k, text in zip(text_rows, frame.normalise_cells(name, [texts[k] for k in text_rows], 0), strict=True):
        texts[k] = text
    missing_numbers = frame.text_format.missing_numbers
    return [
        "" if missing_numbers and isinstance(cell, Real) and float(cell) in missing_numbers else text
        for cell, text in zip(cells, texts, strict=True)
    ]


def _to_array(column: Any) -> NDArray[Any]:
    """Convert a column to an array of numbers, or of Python objects: (n,). Raises DataTypeError."""
    if is_arrow(column):
        return _from_arrow(column)
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(column, "null_count") and hasattr(column, "to_list"):  # Polars
        is_numeric = not column.null_count() and dtype.is_numeric() and not dtype.is_decimal()
        if is_numeric:
            return np.asarray(column.to_numpy())
        return _to_objects(column.to_list())
    if dtype is None:
        return _to_objects(list(column))
    if not isinstance(dtype, np.dtype) or dtype.kind in "mM":  # pandas' own types, and NumPy's dates
        if isinstance(column, np.ndarray):
            return _to_objects(column.astype("M8[us]" if dtype.kind == "M" else object).tolist())
        return _to_objects(column.astype(object).tolist())
    array: NDArray[Any] = np.asarray(column)
    if array.ndim != 1 or array.dtype.kind not in "biufOUS":
        raise DataTypeError(f"a column is numbers, texts or dates, one for each row; got {array.dtype} {array.shape}")
    return array


def _from_arrow(column: Any) -> NDArray[Any]:
    """Convert an array of pyarrow; integers with missing values to objects, because floats would round them."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    is_numeric = pa.types.is_floating(column.type) or (pa.types.is_integer(column.type) and not column.null_count)
    if is_numeric and str(column.type) != "halffloat":
        is_chunked = hasattr(column, "num_chunks")
        numbers: NDArray[Any] = column.to_numpy() if is_chunked else column.to_numpy(zero_copy_only=False)
        return numbers
    return _to_objects(column.to_pylist())


def _to_objects(values: Sequence[Any]) -> NDArray[Any]:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _format_cell(cell: Any, name: str) -> str:
    """Format a cell as CSV has it, with a date at midnight without the time. Raises DataTypeError."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(cell, (float, np.floating)):
        return "" if math.isnan(cell) else repr(float(cell))
    if isinstance(cell, datetime):
        midnight = cell.tzinfo is None and (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0)
        if midnight:
            return cell.strftime("%Y-%m-%d")
        return cell.isoformat(sep=" ")
    if isinstance(cell, (bool, np.bool_, date, Number)) and not isinstance(cell, (complex, np.complexfloating)):
        return str(cell)
    raise DataTypeError(f"column {name!r} holds {type(cell).__name__}: leave it out by --drop {name!r} (drop=)")
