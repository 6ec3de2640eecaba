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
    whole : int
        Times that all rows were read.
    gathered : int
        Times that some rows were: each is a walk over the blocks that reads these rows alone.
    rows : int
        How many they were, all together.
    """

    whole: int = 0
    gathered: int = 0
    rows: int = 0


def counted(source: RowSource) -> Passes:
    """Count what a source is asked for from now on."""
    found, blocks, holding = Passes(), source.blocks, source.holding

    def counting_blocks() -> Iterator[Block]:
        found.whole += 1
        return blocks()

    def counting_holding(rows: Any) -> Any:
        found.gathered += 1
        found.rows += len(rows)
        found.whole -= 1  # `holding` walks over the blocks
        return holding(rows)

    vars(source).update(blocks=counting_blocks, holding=counting_holding)
    return found
