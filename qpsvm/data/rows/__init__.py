"""Sources of rows: samples that are only ever seen a block at a time, in memory or not.

`RowSource` says what a linear machine computes with its samples, once for every source. An array in memory is one
block; `Centred`, `Standardised`, `WithOnes`, `SomeRows` and `Tiled` make rows from those of another source without a
copy of it.
"""

from qpsvm.data.rows.blocks import Block, DenseBlock, SparseBlock
from qpsvm.data.rows.memory import ArrayRows, as_block, as_row_source
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.transformed import (
    Centred,
    Mapped,
    SomeRows,
    Stacked,
    Standardised,
    Tiled,
    WithOnes,
    standardised,
)  # fmt: skip

__all__ = [
    "ArrayRows", "Block", "Centred", "DenseBlock", "Mapped", "RowSource", "SomeRows", "SparseBlock",
    "Stacked", "Standardised", "Tiled", "WithOnes", "as_block", "as_row_source", "standardised",
]  # fmt: skip
