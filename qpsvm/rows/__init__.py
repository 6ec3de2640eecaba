"""Sources of rows: samples that are only ever seen a block at a time, in memory or not.

`RowSource` says what a linear machine computes with its samples, once for every source. An array in memory is one
block; `Centred`, `Standardised`, `WithOnes`, `SomeRows` and `Tiled` make rows from those of another source without a
copy of it.
"""

from qpsvm.rows.blocks import Block, DenseBlock
from qpsvm.rows.mapped import Mapped
from qpsvm.rows.memory import ArrayRows, ChunkRows, as_block, as_row_source
from qpsvm.rows.source import RowSource
from qpsvm.rows.sparse_block import SparseBlock
from qpsvm.rows.stacked import Stacked
from qpsvm.rows.standardised import Standardised, standardised
from qpsvm.rows.virtual import Centred, SomeRows, Tiled, WithOnes

__all__ = [
    "ArrayRows", "Block", "Centred", "ChunkRows", "DenseBlock", "Mapped", "RowSource", "SomeRows", "SparseBlock",
    "Stacked", "Standardised", "Tiled", "WithOnes", "as_block", "as_row_source", "standardised",
]  # fmt: skip
