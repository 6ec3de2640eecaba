"""Expand options that take a list: separate values, values with commas, or the option repeated (`expand_lists`).

`--drop a b`, `--drop a,b` and `--drop a --drop b` are equivalent. In `--drop a b FILE` argparse would read FILE as a
column, or, limited to one value, b as a file. The arguments are therefore expanded to `--drop=a --drop=b`. The name of
a column may contain a comma, so names are split later, when the columns are known (`sheet.split_names`).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile

#: The option whose values are LABEL=NUMBER, and its only other value.
CLASS_WEIGHT, BALANCED = "--class-weight", "balanced"
#: Options that list names; a name may be any text.
NAME_LISTS = ("--drop", "--keep", "--date", "--na", "--backend", "--steps")
#: One value of `--class-weight`: balanced, or yes=10.
_WEIGHT = re.compile(r"balanced$|[^=]+=[-+]?[\d.]\S*$")
#: Several in one text: yes=10,no=1.
_WEIGHTS = re.compile(r"[^=,]+=[-+]?[\d.][^,=]*(?:,[^=,]+=[-+]?[\d.][^,=]*)+$")
#: Numbers, or rules for γ, with commas.
_NUMBERS = re.compile(r"[-+]?[\d.][-+\d.eE,]*$|(?:scale|auto)(?:,|$)")
#: Extensions of data files, which may not exist because their names are mistyped.
_DATA_ENDINGS = (
    ".csv", ".tsv", ".txt", ".data", ".libsvm", ".svm", ".npy", ".parquet", ".feather", ".arrow", ".xz", ".gz", ".bz2",
)  # fmt: skip
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$|-\d+[eE]|-\d*\.\d+[eE]")


def is_option(text: str) -> bool:
    """Return whether a text starts like an option and is not a negative number."""
    return text.startswith("-") and text != "-" and not _NEGATIVE_NUMBER.match(text)


def looks_like_file(text: str) -> bool:
    """Return whether a text looks like a file: one that exists, or one whose name was mistyped."""
    return text == "-" or os.sep in text or text.endswith(_DATA_ENDINGS) or os.path.exists(text) or glob.has_magic(text)


def expand_lists(
    args: Sequence[str],
    lists: Sequence[str] = (CLASS_WEIGHT,),
    value_counts: Mapping[str, int] | None = None,
    n_positional: int = 0,
) -> list[str]:
    """Expand each value of a list into a separate option, `--drop=a --drop=b`.

    lists: The options that take a list.
    value_counts: Number of values of each other option.
    n_positional: Minimum number of positional arguments, which are files. If there are fewer, a list of names ends
        before its first value that looks like a file, except for the very first; without such a value, the last value
        of the last list is a file.
    """
    groups, n_files = _group_arguments(args, lists, value_counts or {})
    name_lists = [j for j, (text, *_) in enumerate(groups) if text in NAME_LISTS and text in lists]
    expanded: list[str] = []
    for j, (option, *values) in enumerate(groups):
        if option not in lists or not values:
            expanded += [option, *values]
            continue
        end = len(values)
        if option in NAME_LISTS and n_files < n_positional:
            is_last = j == name_lists[-1]
            end = _find_first_file(option, values, default=end - 1 if is_last and end > 1 else end)
        for value in values[:end]:
            parts = value.split(",") if option == CLASS_WEIGHT and _WEIGHTS.match(value) else [value]
            expanded += [f"{option}={part}" for part in parts]
        expanded += values[end:]
        n_files += len(values) - end
    return expanded


def _group_arguments(
    args: Sequence[str], lists: Sequence[str], value_counts: Mapping[str, int]
) -> tuple[list[list[str]], int]:
    """Group the arguments, each option with its values; return the number of positional arguments, too."""
    groups, n_positional, k = list[list[str]](), 0, 0
    while k < len(args):
        text, rest = args[k], args[k + 1 :]
        if text == "--":  # everything after it is positional
            groups.append([text, *rest])
            n_positional += len(rest)
            break
        values: list[str] = []
        if text in lists:
            values = list(takewhile(partial(_is_value, text), rest))
        elif text.startswith("-") and text != "-":
            values = list(rest[: value_counts.get(text, 0)])
        else:
            n_positional += 1
        groups.append([text, *values])
        k += 1 + len(values)
    return groups, n_positional


def _find_first_file(option: str, values: Sequence[str], default: int) -> int:
    """Return the position of the first value after the very first that looks like a file; otherwise the default."""
    for i, value in enumerate(values[1:], 1):
        if looks_like_file(value) and (option, value) != ("--na", "-"):
            return i
    return default


def _is_value(option: str, text: str) -> bool:
    """Return whether a text after a list option is one of its values."""
    if option in NAME_LISTS:
        return text != "--" and not is_option(text)
    return (_WEIGHT if option == CLASS_WEIGHT else _NUMBERS).match(text) is not None
