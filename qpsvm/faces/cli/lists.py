"""Expand options that take a list: separate values, values with commas, or the option repeated (`expand_lists`).

`--drop a b`, `--drop a,b` and `--drop a --drop b` are equivalent. In `--drop a b FILE` argparse would read FILE as a
column; with one value per option, it would read b as a file. The arguments are therefore expanded to
`--drop=a --drop=b FILE`. The name of a column may contain a comma, so names are split later, when the columns are known
(`sheet.split_names`).
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
_WEIGHT_PATTERN = re.compile(r"balanced$|[^=]+=[-+]?[\d.]\S*$")
#: Several values of `--class-weight` in one text: yes=10,no=1.
_JOINED_WEIGHTS_PATTERN = re.compile(r"[^=,]+=[-+]?[\d.][^,=]*(?:,[^=,]+=[-+]?[\d.][^,=]*)+$")
#: Numbers or rules for γ, separated by commas.
_NUMBERS_PATTERN = re.compile(r"[-+]?[\d.][-+\d.eE,]*$|(?:scale|auto)(?:,|$)")
_NEGATIVE_NUMBER_PATTERN = re.compile(r"-\d+$|-\d*\.\d+$|-\d+[eE]|-\d*\.\d+[eE]")
#: Extensions of data files. They also identify a file whose name is mistyped.
_DATA_EXTENSIONS = (
    ".csv", ".tsv", ".txt", ".data", ".libsvm", ".svm", ".npy", ".parquet", ".feather", ".arrow", ".xz", ".gz", ".bz2",
)  # fmt: skip


def is_option(text: str) -> bool:
    """Return whether a text starts like an option and is not a negative number."""
    return text.startswith("-") and text != "-" and not _NEGATIVE_NUMBER_PATTERN.match(text)


def looks_like_file(text: str) -> bool:
    """Return whether a text names a file that exists, or looks like the mistyped name of one."""
    if text == "-" or os.sep in text or text.endswith(_DATA_EXTENSIONS):
        return True
    return os.path.exists(text) or glob.has_magic(text)


def expand_lists(
    args: Sequence[str],
    lists: Sequence[str] = (CLASS_WEIGHT,),
    value_counts: Mapping[str, int] | None = None,
    n_positional: int = 0,
) -> list[str]:
    """Expand each value of a list into a separate option, `--drop=a --drop=b`.

    lists: The options that take a list.
    value_counts: Number of values of each other option.
    n_positional: Minimum number of positional arguments, which are files. If there are fewer, lists of names also
        contain files, see `_count_names`.
    """
    groups, n_files = _group_arguments(args, lists, value_counts or {})
    name_lists = [j for j, (text, *_) in enumerate(groups) if text in NAME_LISTS and text in lists]
    expanded: list[str] = []
    for j, (option, *values) in enumerate(groups):
        if option not in lists or not values:
            expanded += [option, *values]
            continue
        n_values = len(values)
        if option in NAME_LISTS and n_files < n_positional:
            n_values = _count_names(option, values, is_last=j == name_lists[-1])
            n_files += len(values) - n_values
        for value in values[:n_values]:
            if option == CLASS_WEIGHT and _JOINED_WEIGHTS_PATTERN.match(value):
                parts = value.split(",")
            else:
                parts = [value]
            expanded += [f"{option}={part}" for part in parts]
        expanded += values[n_values:]
    return expanded


def _group_arguments(
    args: Sequence[str], lists: Sequence[str], value_counts: Mapping[str, int]
) -> tuple[list[list[str]], int]:
    """Group each option with its values; return the groups and the number of positional arguments."""
    groups: list[list[str]] = []
    n_positional = 0
    k = 0
    while k < len(args):
        text = args[k]
        rest = args[k + 1 :]
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


def _count_names(option: str, values: Sequence[str], is_last: bool) -> int:
    """Return how many values of a list are names, if the values after them are files.

    The first value is a name, and the files start at the next value that looks like one. If no value does, the last
    value of the last list is a file.
    """
    for i, value in enumerate(values[1:], 1):
        if looks_like_file(value) and (option, value) != ("--na", "-"):
            return i
    if is_last and len(values) > 1:
        return len(values) - 1
    return len(values)


def _is_value(option: str, text: str) -> bool:
    """Return whether a text after a list option is one of its values."""
    if option in NAME_LISTS:
        return text != "--" and not is_option(text)
    pattern = _WEIGHT_PATTERN if option == CLASS_WEIGHT else _NUMBERS_PATTERN
    return pattern.match(text) is not None
