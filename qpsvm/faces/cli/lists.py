"""Parse options that take a list: separate values, values with commas, or the option repeated.

`--drop a b`, `--drop a,b` and `--drop a --drop b` are equivalent. In `--drop a b FILE` argparse would read FILE as a
column, or, limited to one value, b as a file. The arguments are therefore expanded to `--drop=a --drop=b`. The name of
a column may contain a comma, so names are split later, when the columns are known (`sheet.split_names`).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence

#: The option whose values are a label and a number, and its only other value.
WEIGHTS, BALANCED = "--class-weight", "balanced"
_WEIGHT = re.compile(r"balanced$|[^=]+=[-+]?[\d.]\S*$")
_WEIGHTS = re.compile(r"[^=,]+=[-+]?[\d.][^,=]*(?:,[^=,]+=[-+]?[\d.][^,=]*)+$")
_NUMBERS = re.compile(r"[-+]?[\d.][-+\d.eE,]*$|(?:scale|auto)(?:,|$)")
#: Options that list names; a name may be any text.
NAMES = ("--drop", "--keep", "--date", "--na", "--backend", "--steps")
_DATA = (".csv", ".tsv", ".txt", ".data", ".libsvm", ".svm", ".npy", ".parquet", ".feather", ".arrow", ".xz", ".gz",
         ".bz2")  # fmt: skip
_NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$|-\d+[eE]|-\d*\.\d+[eE]")


def is_option(text: str) -> bool:
    """Return whether a text starts like an option and is not a negative number."""
    return text.startswith("-") and text != "-" and not _NEGATIVE_NUMBER.match(text)


def looks_like_file(text: str) -> bool:
    """Return whether a text looks like a file: one that exists, or one whose name was mistyped."""
    return text == "-" or os.sep in text or text.endswith(_DATA) or os.path.exists(text) or glob.has_magic(text)


def expand_lists(
    args: Sequence[str],
    lists: Sequence[str] = (WEIGHTS,),
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
    pieces, k, free = [], 0, 0
    while k < len(args):
        text = args[k]
        if text == "--":
            pieces.append(list(args[k:]))
            free += len(args) - k - 1
            break
        values: list[str] = []
        if text in lists:
            while k + 1 + len(values) < len(args) and _is_value(text, args[k + 1 + len(values)]):
                values.append(args[k + 1 + len(values)])
        elif text.startswith("-") and text != "-":
            values = list(args[k + 1 : k + 1 + (value_counts or {}).get(text, 0)])
        else:
            free += 1
        pieces.append([text, *values])
        k += 1 + len(values)
    last = next((j for j in reversed(range(len(pieces))) if pieces[j][0] in NAMES and pieces[j][0] in lists), None)
    found: list[str] = []
    for j, (text, *values) in enumerate(pieces):
        if text not in lists or not values:
            found += [text, *values]
            continue
        end = len(values)
        if text in NAMES and free < n_positional:
            files = (i for i in range(1, end) if looks_like_file(values[i]) and (text, values[i]) != ("--na", "-"))
            end = next(files, end - (j == last and end > 1))
        for value in values[:end]:
            each = value.split(",") if text == WEIGHTS and _WEIGHTS.match(value) else [value]
            found += [f"{text}={one}" for one in each]
        found += values[end:]
        free += len(values) - end
    return found


def _is_value(option: str, text: str) -> bool:
    """Return whether a text after a list option is one of its values."""
    if option in NAMES:
        return text != "--" and not is_option(text)
    return (_WEIGHT if option == WEIGHTS else _NUMBERS).match(text) is not None
