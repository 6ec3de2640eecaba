"""The rows of several sources, one behind the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from qpsvm.rows.blocks import Block
from qpsvm.rows.source import RowSource


class Stacked(RowSource):
    """The rows of the first source, then those of the second, and so on, without a copy of any.

    sources: Of the same width, all dense or all sparse; of one process.
    """

    def __init__(self, sources: Sequence[RowSource]) -> None:
        self.sources = tuple(sources)
        self.n, self.d = sum(source.n for source in self.sources), self.sources[0].d
        self.is_sparse = self.sources[0].is_sparse

    def blocks(self) -> Iterator[Block]:
        """The blocks of each, moved to their place."""
        start = 0
        for source in self.sources:
            for block in source.blocks():
                moved = copy.copy(block)
                moved.rows = slice(block.rows.start + start, block.rows.stop + start)
                yield moved
            start += source.n

    @property
    def entries(self) -> int:
        """Those of all."""
        return sum(source.entries for source in self.sources)

    @property
    def nbytes(self) -> int:
        """Of all."""
        return sum(source.nbytes for source in self.sources)
