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
    """One row per sample, and named columns: `table["gap"]` (n,), `table[3]`, `table[:5]`, `np.asarray(table)`.

    rows (n,): Structured array, whose columns depend on the machine. The largest "residual", if any, is printed below.
    numbers (n,): The numbers of the samples, printed beside the rows; None for 0 to n − 1.
    """

    def __init__(self, rows: NDArray[np.void], numbers: IntArray | None = None) -> None:
        self._rows = rows
        self._numbers: IntArray = np.arange(len(rows)) if numbers is None else numbers

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
        """Return a column (n,) by name, or a row by index; for several of either, a table that keeps the numbers."""
        selected = self._rows[key]
        if not isinstance(selected, np.ndarray) or selected.dtype.names is None or selected.ndim != 1:
            return selected
        selects_columns = isinstance(key, list) and all(isinstance(name, str) for name in key)
        return KKTTable(selected, self._numbers if selects_columns else self._numbers[key])

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
            [str(self._numbers[i]), *(_format_value(self._rows[name][i]) for name in self._names)]
            for i in self._displayed_rows
        ]
        table = [["", *self._names], *body]
        widths = [max(len(text) for text in column) for column in zip(*table, strict=True)]
        alignments = [">", *(">" if self._is_number(name) else "<" for name in self._names)]
        lines = [
            "  ".join(
                f"{text:{align}{width}}" for text, width, align in zip(row, widths, alignments, strict=True)
            ).rstrip()
            for row in table
        ]
        n_omitted = len(self) - len(self._displayed_rows)
        if n_omitted:
            lines.insert(1 + ROWS_AT_EACH_END, f"{'…':>{widths[0]}}  {n_omitted} more rows")
        return "\n".join([*lines, *self._describe_worst_row()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        columns = [(self._rows[name], self._is_number(name)) for name in self._names]
        body = [
            [Cell(str(self._numbers[i])), *(Cell(_format_value(column[i]), is_number) for column, is_number in columns)]
            for i in self._displayed_rows
        ]
        n_omitted = len(self) - len(self._displayed_rows)
        if n_omitted:
            body.insert(ROWS_AT_EACH_END, [Cell("…"), Cell(f"{n_omitted} more rows", n_columns=len(self._names))])
        return render_table(body, head=["", *self._names], caption=" ".join(self._describe_worst_row()))

    @property
    def _names(self) -> tuple[str, ...]:
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

    def _describe_worst_row(self) -> list[str]:
        """Return the line with the largest residual and its row; empty if there are no residuals."""
        if "residual" not in self._names or not len(self):
            return []
        residuals = self._rows["residual"]
        worst = int(np.argmax(np.where(np.isnan(residuals), np.inf, residuals)))
        if residuals[worst] == 0.0:
            return ["every residual is 0"]
        return [f"largest residual {_format_value(residuals[worst])}, row {self._numbers[worst]}"]


def _format_value(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.{DIGITS}g}"
    return str(value)
