"""Read the values of options from text, with errors that name the expected form (`make_reader`)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from qpsvm.base.errors import describe_nearest
from qpsvm.bounds.proof import checker
from qpsvm.faces.cli.lists import BALANCED
from qpsvm.many.grid.folds import SEEDS

T = TypeVar("T")


def make_reader(convert: Callable[[str], T], what: str) -> Callable[[str], T]:
    """Make a reader of option text; if `convert` raises `ValueError`, its error says that `what` is expected."""

    def read(given: str) -> T:
        try:
            return convert(given)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {what}, got {given!r}") from None

    return read


def make_integer_reader(low: int, high: int) -> Callable[[str], int]:
    """Make a converter of whole numbers from `low` to `high` - 1."""
    return lambda text: low + range(low, high).index(int(text))


def require_text(text: str) -> str:
    """Return a text that is not empty. Raises ValueError."""
    if not text:
        raise ValueError
    return text


file_name, name = make_reader(require_text, "a file name"), make_reader(require_text, "a name")
names = make_reader(lambda text: [require_text(part.strip()) for part in text.split(",")], "names separated by commas")
numbers = make_reader(lambda text: [float(part) for part in text.split(",")], "numbers separated by commas")
fold_count = make_reader(make_integer_reader(2, SEEDS), "a whole number of folds, 2 or more")
repeats = make_reader(make_integer_reader(1, SEEDS), "a whole number, 1 or more")
seed = make_reader(make_integer_reader(0, SEEDS), f"a whole number from 0 to {SEEDS - 1}")


def make_word_reader(known: Iterable[str]) -> Callable[[str], str]:
    """Make a reader of one of these words; for any other, its error names the nearest."""
    words = tuple(known)

    def read(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"unknown {text!r}; {describe_nearest(text, words)}")
        return text

    return read


def build_choice(words: Sequence[str]) -> dict[str, Any]:
    """Build the arguments of argparse for an option that is one of these words."""
    return {"type": make_word_reader(words), "choices": words}


def parse_class_weight(text: str) -> str | tuple[str, float]:
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


def parse_rows(text: str) -> list[int]:
    """Return row numbers, which are counted from 0 and separated by commas. Raises ArgumentTypeError."""
    try:
        return checker.places(text)
    except checker.UnusableError as error:
        raise argparse.ArgumentTypeError(
            f"expected row numbers counted from 0, such as 17,203, got {text!r}"
        ) from error


def parse_share(text: str) -> float:
    """Return a share of the rows, above 0 and below 1. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 < value < 1.0:
        return value
    hint = f"; {text} per cent is {value / 100.0:g}" if 1.0 < value < 100.0 else ""
    raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, such as 0.25, got {text!r}{hint}")
