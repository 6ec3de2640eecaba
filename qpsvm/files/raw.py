"""What a text holds: its format, and numbers where all its cells are."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray

#: Cells that stand for "no value", after surrounding blanks are stripped: what R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")


def format_of(content: bytes) -> str | None:
    """Tell the format by the first line that can: not a comment, and not a label alone (a LIBSVM row of zeros)."""
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


def numbers(cells: Sequence[str]) -> FloatArray | None:
    """Read all as numbers (n,), or none. `1_000`, which Python takes for a number, is text."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return None if "_" in "".join(cells) else values


def whole(values: FloatArray) -> NDArray[Any]:
    """Turn labels (n,) into integers if all are."""
    exact = np.abs(values) < 2.0**53
    return values.astype(np.int64) if (exact & (values == np.floor(values))).all() else values
