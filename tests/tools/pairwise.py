"""Cover all pairs of values: choose few combinations of some factors, such that any two values of two factors meet."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

#: The indices of two factors, and their values.
Pair = tuple[int, int, Any, Any]


def cover_pairs(*factors: Sequence[Any], allowed: Callable[..., bool] = lambda *row: True) -> list[tuple[Any, ...]]:  # noqa: ARG005
    """Choose allowed combinations of one value per factor, so that each pair of values that can occur is in one.

    Greedy: the combination with the most new pairs is chosen next; a fixed random order breaks ties, so that values
    that are free take turns. The number of new pairs of a combination only falls as others are chosen. So the heap may
    hold old counts: if the count of its first entry is still right, no other combination adds more.
    """
    rows = [row for row in itertools.product(*factors) if allowed(*row)]
    lots = random.Random(0).sample(range(len(rows)), len(rows))
    heap = [(-len(_collect_pairs(row)), lot, place) for place, (row, lot) in enumerate(zip(rows, lots, strict=True))]
    heapq.heapify(heap)
    chosen: list[int] = []
    covered: set[Pair] = set()
    while heap:
        count, lot, place = heapq.heappop(heap)
        new = _collect_pairs(rows[place]) - covered
        if new and len(new) == -count:
            chosen.append(place)
            covered |= new
        elif new:
            heapq.heappush(heap, (-len(new), lot, place))
    return [rows[place] for place in sorted(chosen)]


def _collect_pairs(row: tuple[Any, ...]) -> set[Pair]:
    """Return the pairs of a combination; a single factor is paired with itself."""
    places = range(len(row))
    return {(j, k, row[j], row[k]) for j, k in itertools.combinations_with_replacement(places, 2)}
