"""Read the values of options from text, with errors that name the expected form.

Each `read_…` function is the `type` of an option for `argparse`: it takes the text, and raises `ArgumentTypeError`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from qpsvm.base.errors import describe_nearest
from qpsvm.bounds.proof import checker
from qpsvm.faces.cli.lists import BALANCED
from qpsvm.many.grid.folds import N_SEEDS

T = TypeVar("T")


def _make_reader(convert: Callable[[str], T], what: str) -> Callable[[str], T]:
    """Make a reader that converts text; if `convert` raises `ValueError`, its error says that `what` is expected."""

    def read(text: str) -> T:
        try:
            return convert(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}") from None

    return read


def _make_integer_reader(low: int, what: str) -> Callable[[str], int]:
    """Make a reader of whole numbers from `low` to `N_SEEDS` - 1; `range.index` raises `ValueError` for others."""
    allowed = range(low, N_SEEDS)
    return _make_reader(lambda text: allowed[allowed.index(int(text))], what)


def _require_text(text: str) -> str:
    """Return the text if it is not empty. Raises ValueError."""
    if not text:
        raise ValueError
    return text


read_file_name = _make_reader(_require_text, "a file name")
read_name = _make_reader(_require_text, "a name")
read_names = _make_reader(
    lambda text: [_require_text(part.strip()) for part in text.split(",")], "names separated by commas"
)
read_numbers = _make_reader(lambda text: [float(part) for part in text.split(",")], "numbers separated by commas")
read_fold_count = _make_integer_reader(2, "a whole number of folds, 2 or more")
read_repeats = _make_integer_reader(1, "a whole number, 1 or more")
read_seed = _make_integer_reader(0, f"a whole number from 0 to {N_SEEDS - 1}")


def make_word_reader(known: Iterable[str]) -> Callable[[str], str]:
    """Make a reader of one of these words; for any other, its error names the nearest."""
    words = tuple(known)

    def read(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"unknown {text!r}; {describe_nearest(text, words)}")
        return text

    return read


def build_choice(words: Sequence[str]) -> dict[str, Any]:
    """Build the keyword arguments of `add_argument` for an option that is one of these words."""
    return {"type": make_word_reader(words), "choices": words}


def read_class_weight(text: str) -> str | tuple[str, float]:
    """Return "balanced", or a label and its weight. Raises ArgumentTypeError."""
    label, equals, weight = text.rpartition("=")
    if equals and label:
        try:
            return label, float(weight)
        except ValueError:
            raise argparse.ArgumentTypeError(f"the weight of {label} must be a number, got {weight!r}") from None
    if text != BALANCED:
        raise argparse.ArgumentTypeError(f"expected balanced or LABEL=WEIGHT, such as yes=10, got {text!r}")
    return BALANCED


def read_rows(text: str) -> list[int]:
    """Return row numbers, which are counted from 0 and separated by commas. Raises ArgumentTypeError."""
    try:
        return checker.parse_row_indices(text)
    except checker.UnusableError as error:
        raise argparse.ArgumentTypeError(
            f"expected row numbers counted from 0, such as 17,203, got {text!r}"
        ) from error


def read_share(text: str) -> float:
    """Return a share of the rows, above 0 and below 1. Raises ArgumentTypeError, which converts a percentage."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 < value < 1.0:
        return value
    hint = f"; {text} per cent is {value / 100.0:g}" if 1.0 < value < 100.0 else ""
    raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, such as 0.25, got {text!r}{hint}")
