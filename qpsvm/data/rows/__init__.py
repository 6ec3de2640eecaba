"""Sources of rows: samples that are read one block at a time, in memory or not.

`RowSource` defines the products that a linear machine computes with its samples, for all sources. An array in memory is
one block; `CentredRows`, `StandardisedRows`, `RowsWithOnes`, `SomeRows` and `TiledRows` compute their rows from those
of another source without a copy of it.
"""

from qpsvm.data.rows.blocks import Block, DenseBlock
from qpsvm.data.rows.features import FeatureRows
from qpsvm.data.rows.memory import ArrayRows, as_block, as_row_source
from qpsvm.data.rows.source import RowSource
from qpsvm.data.rows.sparse_block import SparseBlock
from qpsvm.data.rows.standardised import StandardisedRows, standardise_rows
from qpsvm.data.rows.transformed import CentredRows, RowsWithOnes, SomeRows, StackedRows, TiledRows

__all__ = [
    "ArrayRows",
    "Block",
    "CentredRows",
    "DenseBlock",
    "FeatureRows",
    "RowSource",
    "RowsWithOnes",
    "SomeRows",
    "SparseBlock",
    "StackedRows",
    "StandardisedRows",
    "TiledRows",
    "as_block",
    "as_row_source",
    "standardise_rows",
]
