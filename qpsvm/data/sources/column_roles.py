"""Which columns of a table are features, which is the target and which the weight: by name or by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError, UnknownOptionError, nearest


@dataclass(frozen=True)
class Chosen:
    """Names of columns."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @property
    def used(self) -> tuple[str, ...]:
        """All of them, each once."""
        beside = [name for name in (self.target, self.weight) if name is not None]
        return (*self.features, *beside)


def chosen(names: Sequence[str], where: str, target: Any, columns: Any, weight: Any) -> Chosen:
    """Find the columns that a caller names.

    Raises UnknownOptionError, ParameterError, ParameterTypeError, DataError.
    """
    if len(set(names)) < len(names):
        [(twice, _)] = Counter(names).most_common(1)
        raise DataError(f"{where} has the column {twice!r} twice; give each its own name")
    beside = {
        option: _place(names, given, option, where)
        for option, given in (("target", target), ("weight", weight)) if given is not None
    }  # fmt: skip
    if len(set(beside.values())) < len(beside):
        raise ParameterError(f"column {names[beside['target']]!r} cannot be both target and weight")
    if columns is None:
        places = [j for j in range(len(names)) if j not in beside.values()]
    else:
        if isinstance(columns, (str, int)):
            columns = [columns]
        places = [_place(names, given, "columns", where) for given in columns]
    for option, place in beside.items():
        if place in places:
            raise ParameterError(f"columns: {names[place]!r} is the {option} and cannot be a feature as well")
    if len(set(places)) < len(places):
        raise ParameterError("columns names a column twice")
    if not places:
        raise DataError(f"{where} has no feature column beside the target")
    named = {option: names[place] for option, place in beside.items()}
    return Chosen(tuple(names[j] for j in places), named.get("target"), named.get("weight"))


def check_names(
    names: Sequence[str], first: Sequence[str], used: Chosen, every: bool, where: str, first_where: str
) -> None:
    """Refuse a file that lacks a column, or, where every column is used, has one more than the first file.

    Raises DataError.
    """
    missing = [column for column in used.used if column not in names]
    more = [column for column in names if column not in first] if every else []
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}, which {first_where} has")
    if more:
        raise DataError(
            f"{where} has a column {more[0]!r}, which {first_where} has not; leave it out by columns= "
            f"(--drop {more[0]!r})"
        )


def _place(names: Sequence[str], given: Any, option: str, where: str) -> int:
    """The place of a column."""
    if isinstance(given, str):
        if given not in names:
            raise UnknownOptionError(f"{option}: {where} has no column {given!r}; {nearest(given, names)}")
        return list(names).index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not -len(names) <= given < len(names):
            raise UnknownOptionError(f"{option}: {where} has no column {given}; it has {len(names)}")
        return int(given) % len(names)
    raise ParameterTypeError(f"{option} must be the name of a column or its place, got {shown(given)}")
