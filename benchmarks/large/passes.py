"""How often a solve reads its rows: every pass over the blocks of a source is counted, from outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qpsvm.data.rows import Block, RowSource


@dataclass
class Passes:
    """What a source was asked for.

    Attributes
    ----------
    full_reads : int
        Times that all rows were read.
    partial_reads : int
        Times that some rows were: each is a walk over the blocks that reads these rows alone.
    rows_read : int
        How many they were, all together.
    """

    full_reads: int = 0
    partial_reads: int = 0
    rows_read: int = 0


def count_passes(source: RowSource) -> Passes:
    """Count what a source is asked for from now on."""
    found = Passes()
    blocks = source.blocks
    locate_rows = source.locate_rows

    def counting_blocks() -> Iterator[Block]:
        found.full_reads += 1
        return blocks()

    def counting_locate_rows(rows: Any) -> Any:
        found.partial_reads += 1
        found.rows_read += len(rows)
        found.full_reads -= 1  # `locate_rows` walks over the blocks
        return locate_rows(rows)

    vars(source).update(blocks=counting_blocks, locate_rows=counting_locate_rows)
    return found
