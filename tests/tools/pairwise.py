"""A few of all combinations of some values: each pair of values of two of the factors is in one of them."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

#: Which two factors, and their values.
Pair = tuple[int, int, Any, Any]


def cover_pairs(*factors: Sequence[Any], allowed: Callable[..., bool] = lambda *row: True) -> list[tuple[Any, ...]]:  # noqa: ARG005
    """Choose allowed combinations of one value per factor, so that each pair of values that can occur is in one.

    Greedy: the combination with the most new pairs is the next; of those alike one by a fixed lot, so that values that
    are free take turns. What a combination adds only falls as others are chosen: where it is still what it was when
    last counted, none adds more.
    """
    rows = [row for row in itertools.product(*factors) if allowed(*row)]
    lots = random.Random(0).sample(range(len(rows)), len(rows))
    heap = [(-len(_pairs(row)), lot, place) for place, (row, lot) in enumerate(zip(rows, lots, strict=True))]
    heapq.heapify(heap)
    chosen: list[int] = []
    covered: set[Pair] = set()
    while heap:
        counted, lot, place = heapq.heappop(heap)
        new = _pairs(rows[place]) - covered
        if new and len(new) == -counted:
            chosen.append(place)
            covered |= new
        elif new:
            heapq.heappush(heap, (-len(new), lot, place))
    return [rows[place] for place in sorted(chosen)]


def _pairs(row: tuple[Any, ...]) -> set[Pair]:
    """The pairs of a combination; a single factor is paired with itself."""
    places = range(len(row))
    return {(j, k, row[j], row[k]) for j, k in itertools.combinations_with_replacement(places, 2)}
