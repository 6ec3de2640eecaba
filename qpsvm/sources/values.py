"""What numbers of samples must be: finite, and with squares that do not overflow. Where one is not, it is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.checks import LARGEST_VALUE
from qpsvm.arrays.doubles import first_rounded, rounded
from qpsvm.arrays.types import Matrix
from qpsvm.errors import DataError
from qpsvm.rows.source import RowSource


def check_values(X: Matrix, where: Callable[[int], str], names: Sequence[str] | None) -> float:
    """Refuse NaN, infinity, and numbers whose squares overflow. The sum of squares shows most in one pass.

    Shapes: X (k, d). Raises DataError.
    """
    values: NDArray[Any] = X.data if sp.issparse(X) else X
    place = first_rounded(values)
    if place is not None:
        row, column = index_of(X, place)
        raise rounded(values.ravel()[place], f"{where(row)}, {in_words(column, names)}")
    if values.dtype.kind in "biu":
        return 0.0
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(np.einsum("i,i", flat, flat))
        if math.isfinite(squares):
            return squares
        good = np.abs(values) < LARGEST_VALUE  # false for NaN too
    if good.all():
        return math.inf if values.dtype == np.float64 else 0.0
    bad = int(np.argmin(good.ravel()))
    row, column = index_of(X, bad)
    value = float(values.ravel()[bad])
    raise _fault(value, f"{where(row)}, {in_words(column, names)}", int((~good).sum()))


def index_of(X: Matrix, place: int) -> tuple[int, int]:
    """Row and column of a number by its place among those stored, row by row."""
    if sp.issparse(X):
        return int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    row, column = np.unravel_index(place, X.shape)
    return int(row), int(column)


def in_words(column: int, names: Sequence[str] | None) -> str:
    """A column in words."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _fault(value: float, at: str, count: int) -> DataError:
    more = "" if count == 1 else f" (and {count - 1} more near it)"
    if math.isnan(value):
        return DataError(f"{at} is NaN{more}; impute or drop such rows first")
    if math.isinf(value):
        return DataError(f"{at} is infinite{more}; impute or drop such rows first")
    return DataError(f"{at} is {value:.1e}{more}, whose square overflows: rescale")


def check_source(source: RowSource, where: Callable[[int], str], names: Sequence[str] | None) -> None:
    """Look at all numbers of a source once, as `check_values`.

    Raises DataError.
    """
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for block in source.blocks():
            squares = block.sum_of_squares()
            if not math.isfinite(squares):
                first = block.rows.start
                check_values(block.matrix, lambda row, first=first: where(first + row), names)  # type: ignore[misc]
            total += squares
    check_total(total)


def check_total(squares: float) -> None:
    """Refuse samples whose squares overflow only together.

    Raises DataError.
    """
    if not math.isfinite(squares):
        raise DataError("the squares of the samples overflow when they are added up: divide the columns by a constant")
