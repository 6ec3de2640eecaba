"""What a text holds: its format, and whether its cells are numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.doubles import check_texts
from qpsvm.arrays.types import FloatArray

#: Cells that mean "no value", without the blanks around them: what R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")


def format_of(content: bytes) -> str | None:
    """The format, "libsvm" or "csv", by the first line that tells; None where none does.

    Comments do not tell, and neither does a number alone, which may be the label of a LIBSVM row of zeros.
    """
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


def numbers(cells: Sequence[str]) -> FloatArray | None:
    """The cells as numbers (n,), or None where one is not a number. `1_000` is text, though a number to Python.

    Raises DataError.
    """
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    if "_" in "".join(cells):
        return None
    check_texts(cells, values)
    return values


def whole(values: FloatArray) -> NDArray[Any]:
    """Labels (n,) as integers if all are whole numbers."""
    exact = np.abs(values) < 2.0**53
    return values.astype(np.int64) if (exact & (values == np.floor(values))).all() else values
