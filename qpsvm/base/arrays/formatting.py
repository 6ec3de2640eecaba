"""Format values and arrays as one short line of a message or a `repr`."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Largest number of entries of an array that a `repr` shows.
MAX_DISPLAYED = 3


def format_value(value: Any) -> str:
    """Format a value as one line of at most 80 characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a whole number with more digits than Python prints
        text = f"a huge {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def format_upper_bound(value: float, digits: int = 3) -> str:
    """Format an upper bound with a number of significant digits, rounded up: so the text is a bound, too."""
    return _format_decimal(value, digits, ROUND_CEILING)


def format_lower_bound(value: float, digits: int = 3) -> str:
    """Format a lower bound likewise, rounded down."""
    return _format_decimal(value, digits, ROUND_FLOOR)


def _format_decimal(value: float, digits: int, rounding: str) -> str:
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{Context(prec=digits, rounding=rounding).create_decimal_from_float(value):g}"
    mantissa, has_exponent, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent):+03d}" if has_exponent else mantissa  # two digits, as Python writes floats


def build_repr(kind: str, **parts: Any) -> str:
    """Build a `repr` on one line. Arrays are shown by their shape, and everything else as a short text."""
    return f"{kind}({', '.join(f'{name}={_format_part(part)}' for name, part in parts.items())})"


def _format_part(part: Any) -> str:
    if isinstance(part, np.ndarray) and part.size > MAX_DISPLAYED:
        return f"<array {' × '.join(map(str, part.shape)) or 'of no dimension'}>"
    if sp.issparse(part):
        return f"<sparse array {' × '.join(map(str, part.shape))}, {part.nnz} non-zeros>"
    return format_value(part)


def join_names(names: Iterable[str]) -> str:
    """Join names or other texts for a message: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def describe_install(extra: str) -> str:
    """Return the command that installs an extra from a clone: there is no release yet."""
    return f'pip install ".[{extra}]" in a clone of the repository'


def describe_nearest(name: object, known: Iterable[object]) -> str:
    """Return the end of an error message, as "did you mean 'rbf'? known: linear, rbf"; no question if none is near."""
    options = list(known)
    listing = ", ".join(sorted(map(str, options), key=_natural_sort_key))
    return " ".join([*suggest_names(name, options), f"known: {listing}"])


def suggest_names(name: object, known_options: Iterable[object]) -> list[str]:
    """Return the question "did you mean 'rbf'?" in a list, which is empty if no option is near the name."""
    options = sorted(known_options, key=lambda option: _natural_sort_key(str(option)))
    wanted = name[:80].lower() if isinstance(name, str) else ""
    by_lower_case = {str(option).lower(): option for option in reversed(options)}
    close = difflib.get_close_matches(wanted, by_lower_case, n=1, cutoff=0.8)
    close = close or [k for k in sorted(by_lower_case, key=len, reverse=True) if wanted.startswith(k)]
    close = close or difflib.get_close_matches(wanted, by_lower_case, n=1, cutoff=0.5)
    return [f"did you mean {by_lower_case[close[0]]!r}?"] if close else []


def _natural_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a sort key in which numbers count as numbers: CSVM.2 comes before CSVM.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
