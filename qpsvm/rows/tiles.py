"""Sums over many rows, a few rows at a time, in several threads where that pays (`workers`).

`np.dot` stands in every product here: where the result is short, `@` lets no other thread run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qpsvm.arrays.types import FloatArray
from qpsvm.resources.workers import in_tiles, parts_of

#: Numbers worked on at a time: 2 MB, near the size of a core's cache.
CACHED_NUMBERS = 250_000
#: Fewest rows at a time, whatever their width.
LEAST_ROWS = 64
#: Numbers from which a product with all rows is made a few rows at a time: below, no second thread is worth its while.
TILED_NUMBERS = 8 * CACHED_NUMBERS
#: Seconds of a number that is read, of one that is gathered, and of a multiplication of two matrices: roughly.
READ_SECONDS, GATHER_SECONDS, PRODUCT_SECONDS = 5e-10, 1e-9, 4e-11


def rows_at_a_time(width: int) -> int:
    """How many rows of so many numbers are worked on at a time."""
    return max(LEAST_ROWS, CACHED_NUMBERS // max(width, 1))


def summed(sum_over: Callable[[slice], tuple[FloatArray, ...]], n: int, step: int, seconds: float) -> list[FloatArray]:
    """Arrays, summed over n rows: a list of them."""
    parts = parts_of(n, step)
    found: list[list[FloatArray]] = [[] for _ in parts]

    def add(k: int) -> None:
        for start in range(parts[k].start, parts[k].stop, step):
            _add(found[k], sum_over(slice(start, min(start + step, parts[k].stop))))

    in_tiles(add, range(len(parts)), seconds)
    for others in found[1:]:
        _add(found[0], others)
    return found[0]


def _add(totals: list[FloatArray], more: Iterable[FloatArray]) -> None:
    """Into the arrays that are there: a new matrix would cost as much as the product of a few rows."""
    if not totals:
        totals.extend(more)
        return
    for total, array in zip(totals, more, strict=True):
        total += array
