"""Decode record batches of pyarrow, and check the types of their columns (`decode_batch`, `check_columns`).

A column counts as numeric if its Arrow type is floating, integer, boolean or decimal, dictionary encoded or not. A file
is called by its `name` in messages, which is "" for a table in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.large_integers import build_rounding_error, find_first_rounded, has_large_integers
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.data.sources.chosen_columns import ChosenColumns, check_names
from qpsvm.data.sources.decoder import Batch
from qpsvm.data.sources.stored import IN_MEMORY, describe_row

#: Largest number of text columns that an error message lists.
MAX_LISTED = 5


def decode_batch(record: Any, chosen: ChosenColumns, dtype: np.dtype[Any], name: str, start: int) -> Batch:
    """Decode a record batch whose first row is row `start` of a file; features get `dtype`. Raises DataError."""
    columns = [column for column in chosen.all_names if column != chosen.target]
    numbers = {column: _read_numbers(record, column, name, start) for column in columns}
    X = np.column_stack([numbers[column] for column in chosen.features]).astype(dtype, copy=False)
    if chosen.target is None:
        labels = None
    else:
        labels = _as_array(_take_column(record, chosen.target, name, start))
    if chosen.weight is None:
        weight = None
    else:
        weight = numbers[chosen.weight].astype(np.float64)
    return Batch(X, labels, weight, name, start)


def check_columns(
    schema: Any, first_schema: Any, chosen: ChosenColumns, uses_all: bool, name: str, first_name: str
) -> None:
    """Check that a file has the columns of the first file, and that its features and weights are numeric.

    uses_all: Whether every column of the first file is used, so that no other column may occur in this one.

    Raises DataError, DataTypeError.
    """
    check_names(schema.names, first_schema.names, chosen, uses_all, name, first_name)
    text_columns = [column for column in chosen.features if not _is_number(schema.field(column).type)]
    if text_columns:
        listed = ", ".join(f"{column!r} ({schema.field(column).type})" for column in text_columns[:MAX_LISTED])
        raise DataTypeError(
            f"{name or 'the table'}: the column{'s' if len(text_columns) > 1 else ''} {listed}"
            f"{', …' if len(text_columns) > MAX_LISTED else ''} {'hold' if len(text_columns) > 1 else 'holds'} no "
            f"numbers; leave out columns that are not features by columns= (--drop {text_columns[0]!r}), or encode "
            f"them first; {IN_MEMORY}"
        )
    if chosen.weight is not None and not _is_number(arrow_type := schema.field(chosen.weight).type):
        raise DataTypeError(f"{name or 'the table'}: weight={chosen.weight!r} is a column of {arrow_type}")


def fits_single(arrow_type: Any) -> bool:
    """Return whether float32 represents every value of an Arrow type exactly."""
    return str(arrow_type) in ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")


def _is_number(arrow_type: Any) -> bool:
    """Return whether a type is numeric."""
    import pyarrow.types as types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return any(test(arrow_type) for test in (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal))


def _take_column(record: Any, column: str, name: str, start: int) -> Any:
    """Return a column as an Arrow array without dictionary encoding. Raises DataError for a missing value."""
    import pyarrow.types as types

    array = record.column(column)
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(
            f"{describe_row(name, start + row)}, column {column!r} has no value ({array.null_count} such cells near "
            f"it); impute or drop such rows first; {IN_MEMORY}"
        )
    if types.is_dictionary(array.type):
        return array.dictionary_decode()
    return array


def _read_numbers(record: Any, column: str, name: str, start: int) -> NDArray[Any]:
    """Return a column of numbers. Raises DataError for a missing value, or an integer that a double would round."""
    array = _take_column(record, column, name, start)
    values = exact_values = _as_array(array)
    if _is_decimal(array.type) and has_large_integers(values):  # `values` are rounded: check the decimals themselves
        exact_values = array.to_numpy(zero_copy_only=False)
    row = find_first_rounded(exact_values)
    if row is not None:
        raise build_rounding_error(array[row].as_py(), f"{describe_row(name, start + row)}, column {column!r}")
    return values


def _as_array(array: Any) -> NDArray[Any]:
    """Convert an Arrow array to numbers if its type is numeric, else to text; it is not dictionary encoded: (k,)."""
    if not _is_number(array.type):
        return np.array([str(text) for text in array.to_pylist()], dtype=np.str_)
    numbers = array.cast("float64") if _is_decimal(array.type) else array
    values: NDArray[Any] = numbers.to_numpy(zero_copy_only=False)
    return values


def _is_decimal(arrow_type: Any) -> bool:
    return "decimal" in str(arrow_type)
