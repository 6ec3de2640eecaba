"""Choose the columns of a table that are features, target and weights (`choose_columns`, `check_names`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.errors import DataError, ParameterError, ParameterTypeError, UnknownOptionError, describe_nearest


@dataclass(frozen=True)
class ChosenColumns:
    """The names of the columns that are features, target and weights."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of all chosen columns, without repetition."""
        others = [name for name in (self.target, self.weight) if name is not None]
        return (*self.features, *others)


def choose_columns(names: Sequence[str], where: str, target: Any, columns: Any, weight: Any) -> ChosenColumns:
    """Find the columns that the caller has chosen, by names or indices.

    names: All columns.
    where: The file or table, in messages.
    target, columns, weight: As in `open_rows`.

    Raises DataError, ParameterError, UnknownOptionError.
    """
    if len(set(names)) < len(names):
        [(repeated, _)] = Counter(names).most_common(1)
        raise DataError(f"{where} has the column {repeated!r} twice; give each its own name")
    roles = {
        option: _find_column(names, given, option, where)
        for option, given in (("target", target), ("weight", weight))
        if given is not None
    }
    if len(set(roles.values())) < len(roles):
        raise ParameterError(f"column {names[roles['target']]!r} cannot be both target and weight")
    features = _find_features(names, columns, roles, where)
    role_names = {option: names[index] for option, index in roles.items()}
    return ChosenColumns(tuple(names[j] for j in features), role_names.get("target"), role_names.get("weight"))


def _find_features(names: Sequence[str], columns: Any, roles: Mapping[str, int], where: str) -> list[int]:
    """Find the indices of the features: those of `columns`, or without it all that have no role."""
    if columns is None:
        indices = [j for j in range(len(names)) if j not in roles.values()]
    else:
        chosen = [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else columns
        indices = [_find_column(names, given, "columns", where) for given in chosen]
    for option, index in roles.items():
        if index in indices:
            raise ParameterError(f"columns: {names[index]!r} is the {option} and cannot be a feature as well")
    if len(set(indices)) < len(indices):
        raise ParameterError("columns names a column twice")
    if not indices:
        raise DataError(f"{where} has no feature column besides the target")
    return indices


def check_names(
    names: Sequence[str], first_names: Sequence[str], used: ChosenColumns, uses_all: bool, where: str, first_where: str
) -> None:
    """Check that a file has the used columns of the first file, and no others if all are used. Raises DataError."""
    missing = [column for column in used.all_names if column not in names]
    if uses_all:
        additional = [column for column in names if column not in first_names]
    else:
        additional = []
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}, which {first_where} has")
    if additional:
        raise DataError(
            f"{where} has a column {additional[0]!r}, which {first_where} has not; leave it out by columns= "
            f"(--drop {additional[0]!r})"
        )


def _find_column(names: Sequence[str], given: Any, option: str, where: str) -> int:
    """Find the index of a column, given by name or index. Raises UnknownOptionError, ParameterTypeError."""
    if isinstance(given, str):
        if given not in names:
            raise UnknownOptionError(f"{option}: {where} has no column {given!r}; {describe_nearest(given, names)}")
        return list(names).index(given)
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not -len(names) <= given < len(names):
            raise UnknownOptionError(f"{option}: {where} has no column {given}; it has {len(names)}")
        return int(given) % len(names)
    raise ParameterTypeError(f"{option} must be the name of a column or its index, got {format_value(given)}")
