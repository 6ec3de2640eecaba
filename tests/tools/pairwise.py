"""A few of all combinations of some values: each pair of values of two of the factors is in one of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

#: Which two factors, and their values.
Pair = tuple[int, int, Any, Any]


def cover_pairs(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Choose combinations of one value per factor, so that every pair of values is in at least one of them.

    Greedy: the combination with the most new pairs is the next; of those alike the first.
    """
    left = list(itertools.product(*factors))
    chosen: list[tuple[Any, ...]] = []
    covered: set[Pair] = set()
    while left:
        best = max(left, key=lambda row: len(_pairs(row) - covered))
        if not _pairs(best) - covered:
            break
        chosen.append(best)
        covered |= _pairs(best)
        left.remove(best)
    return chosen


def _pairs(row: tuple[Any, ...]) -> set[Pair]:
    """The pairs of a combination; a single factor is paired with itself."""
    places = range(len(row))
    return {(j, k, row[j], row[k]) for j, k in itertools.combinations_with_replacement(places, 2)}
