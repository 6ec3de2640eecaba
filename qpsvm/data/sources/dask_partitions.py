"""Inspect or process one partition of a Dask collection, in the process that stores it.

Entry points: `inspect_partition`, and `run_task` and `sum_results` for the tasks of `RowSource.map_blocks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.base.errors import DataError
from qpsvm.data.rows.blocks import Block, sum_arrays
from qpsvm.data.rows.memory import as_block
from qpsvm.data.rows.source import Task
from qpsvm.data.sources.first_pass import check_and_sum_squares
from qpsvm.data.sources.packed import unpack


@dataclass(frozen=True, eq=False)
class PartitionFacts:
    """Facts about one partition.

    n, d: Numbers of rows and columns.
    entries: Number of stored entries.
    longest_row: Largest number of stored entries in a row.
    fault: Why the partition cannot be used, as the end of a message; None if it can.
    """

    n: int
    d: int
    entries: int
    is_sparse: bool
    longest_row: int = 0
    fault: str | None = None


def inspect_partition(X: Any, names: Sequence[str] | None = None) -> PartitionFacts:
    """Inspect one partition (k, d), in the process that stores it.

    names: Names of the columns, for messages.
    """
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        return PartitionFacts(0, 0, 0, False, fault=f" has shape {shape} where rows and columns are needed")
    k, d = map(int, shape)
    sparse = bool(sp.issparse(X))
    longest = int(np.diff(sp.csr_array(X).indptr).max(initial=0)) if sparse else d
    size: dict[str, Any] = {"n": k, "d": d, "entries": int(X.nnz) if sparse else k * d, "is_sparse": sparse}
    if X.dtype.kind not in "biuf":
        return PartitionFacts(**size, fault=f" has entries of type {X.dtype}; samples must be numbers")
    try:
        check_and_sum_squares(sp.csr_array(X) if sparse else X, lambda row: f"row {row}", names)
    except DataError as error:
        return PartitionFacts(**size, fault=f": {error}")
    return PartitionFacts(**size, longest_row=longest)


def run_task(part: Any, sparse: bool, task: Task, *packed_arguments: Any) -> Any:
    """Run a task on a partition."""
    X = sp.csr_array(part, dtype=np.float64) if sparse else np.asarray(part)
    return task(as_block(X), *map(unpack, packed_arguments))


def sum_results(*results: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Sum the results of several partitions, in their order."""
    first = tuple(array.copy() for array in results[0])
    return tuple(sum_arrays([first, *results[1:]]))


def sum_columns(block: Block) -> tuple[FloatArray, FloatArray]:
    """Return Xᵀ1 and the diagonal of XᵀX: (d,) each."""
    return block.column_sums(), block.column_squares()


def as_float(X: Any, sparse: bool) -> Matrix:
    """Convert a partition to the blocks' format: float64, and compressed if the source is sparse."""
    if sparse:
        return sp.csr_array(X, dtype=np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)
