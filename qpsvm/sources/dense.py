"""Dense rows that are stored in arrays: memory maps of files, or arrays of other numbers than float64.

A block is a view of what is stored. Where that is float64, row by row, products are made with it as it is; otherwise
(`stored_block`) a tile at a time is made float64. So no pass needs more memory than a few tiles, and the system keeps
of a map what it has room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.frozen import read_only
from qpsvm.arrays.types import IntArray
from qpsvm.rows.blocks import Block, DenseBlock
from qpsvm.rows.stored_block import StoredBlock, is_plain
from qpsvm.sources.kinds import is_mapped
from qpsvm.sources.seal import Seal
from qpsvm.sources.stored import Beside, Origin, StoredRows

#: All columns.
EVERY = slice(None)


class MemoryMap(StoredRows):
    """The rows of arrays, below each other.

    parts (n_k, ·): Of numbers of any kind, in any order; kept by reference.
    origin: With a name and a length for each part; or for each file that was decoded into one part.
    columns (d,): Which columns are features.
    """

    is_sparse = False

    def __init__(
        self, parts: Sequence[NDArray[Any]], origin: Origin, beside: Beside, columns: slice | IntArray = EVERY,
        block_rows: int | None = None,
    ) -> None:  # fmt: skip
        self.parts = tuple(read_only(np.asarray(part)) for part in parts)
        self._seal = Seal([part for part in parts if np.asarray(part).flags.writeable], "the array of the rows")
        self.columns = columns
        self._files = origin.names if len(origin.names) == len(self.parts) else ("",) * len(self.parts)
        d = len(np.arange(self.parts[0].shape[1])[columns])
        super().__init__((sum(map(len, self.parts)), d), origin, beside, block_rows)

    def blocks(self) -> Iterator[Block]:
        """Views of some rows of a part; before each, the file is looked at for a change."""
        start, watch = 0, self.origin.watch
        watch.check()
        whole = self.parts[0].shape[1] == self.d and isinstance(self.columns, slice)
        for part, name in zip(self.parts, self._files, strict=True):
            for i in range(0, len(part), self.block_rows):
                watch.check(name)
                view = part[i : i + self.block_rows]
                plain = whole and is_plain(view)
                yield DenseBlock(view, start + i) if plain else StoredBlock(view, start + i, self.columns)
            start += len(part)

    def check(self) -> None:
        """Look for a change of the files, and of arrays that their owner can write to."""
        self.origin.watch.check()
        self._seal.check()

    @property
    def entries(self) -> int:
        """nd."""
        return self.n * self.d

    @property
    def nbytes(self) -> int:
        """Of what lies in memory for good: a map does not."""
        return sum(part.nbytes for part in self.parts if not is_mapped(part))
