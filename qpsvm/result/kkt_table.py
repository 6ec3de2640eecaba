"""Show the optimality conditions of each sample as a table (`KKTTable`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import IntArray
from qpsvm.base.html import Cell, render_table

#: Largest number of rows of a table that is printed in full; and number of rows printed at each end of a longer one.
MAX_ROWS, ROWS_AT_EACH_END = 20, 5
#: Significant digits of a printed number.
DIGITS = 4


class KKTTable:
    """A table with one row per sample, which is indexed like a structured array, and printed with its worst row.

    `table["gap"]` is a column, (n,), `table[3]` a row, `table[:5]` a table, and `np.asarray(table)` the array.

    rows (n,): Structured array, whose columns depend on the machine; the worst row has the largest "residual".
    row_numbers (n,): Numbers of the samples, printed before the rows; None for 0 to n − 1.
    """

    def __init__(self, rows: NDArray[np.void], row_numbers: IntArray | None = None) -> None:
        self._rows = rows
        self._row_numbers: IntArray = np.arange(len(rows)) if row_numbers is None else row_numbers

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The columns: their names are `dtype.names`."""
        return self._rows.dtype

    @property
    def shape(self) -> tuple[int]:
        """Shape of the array of rows, (n,)."""
        return (len(self._rows),)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __getitem__(self, key: Any) -> Any:
        """Return a column (n,) by name, or a row by index; for several of either, a table with the same row numbers."""
        selected = self._rows[key]
        if not isinstance(selected, np.ndarray) or selected.dtype.names is None or selected.ndim != 1:
            return selected
        selects_columns = isinstance(key, list) and all(isinstance(name, str) for name in key)
        return KKTTable(selected, self._row_numbers if selects_columns else self._row_numbers[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy:
            return np.array(self._rows, dtype=dtype)
        return np.asarray(self._rows, dtype=dtype)

    def __eq__(self, other: object) -> Any:
        """Compare as arrays: row by row, (n,)."""
        return self._rows == (other._rows if isinstance(other, KKTTable) else other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        body = [
            [str(self._row_numbers[i]), *(_format_value(self._rows[name][i]) for name in self._column_names)]
            for i in self._displayed_rows
        ]
        table = [["", *self._column_names], *body]
        widths = [max(len(text) for text in column) for column in zip(*table, strict=True)]
        alignments = [">", *(">" if self._is_number(name) else "<" for name in self._column_names)]
        lines = [
            "  ".join(
                f"{text:{align}{width}}" for text, width, align in zip(row, widths, alignments, strict=True)
            ).rstrip()
            for row in table
        ]
        if self._n_omitted:
            lines.insert(1 + ROWS_AT_EACH_END, f"{'…':>{widths[0]}}  {self._n_omitted} more rows")
        return "\n".join([*lines, *self._describe_worst_row()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        columns = [(self._rows[name], self._is_number(name)) for name in self._column_names]
        body = [
            [Cell(str(self._row_numbers[i])), *(Cell(_format_value(column[i]), numeric) for column, numeric in columns)]
            for i in self._displayed_rows
        ]
        if self._n_omitted:
            omission = Cell(f"{self._n_omitted} more rows", n_columns=len(self._column_names))
            body.insert(ROWS_AT_EACH_END, [Cell("…"), omission])
        return render_table(body, head=["", *self._column_names], caption=" ".join(self._describe_worst_row()))

    @property
    def _column_names(self) -> tuple[str, ...]:
        return self._rows.dtype.names or ()

    def _is_number(self, name: str) -> bool:
        return bool(self._rows.dtype[name].kind in "fiu")

    @property
    def _displayed_rows(self) -> list[int]:
        """Indices of the rows that are printed."""
        n = len(self)
        if n <= MAX_ROWS:
            return list(range(n))
        return [*range(ROWS_AT_EACH_END), *range(n - ROWS_AT_EACH_END, n)]

    @property
    def _n_omitted(self) -> int:
        """Number of the rows that are not printed."""
        return len(self) - len(self._displayed_rows)

    def _describe_worst_row(self) -> list[str]:
        """Return the line with the largest residual and its row; empty if there are no residuals."""
        if "residual" not in self._column_names or not len(self):
            return []
        residuals = self._rows["residual"]
        worst = int(np.argmax(np.where(np.isnan(residuals), np.inf, residuals)))
        if residuals[worst] == 0.0:
            return ["every residual is 0"]
        return [f"largest residual {_format_value(residuals[worst])}, row {self._row_numbers[worst]}"]


def _format_value(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.{DIGITS}g}"
    return str(value)
