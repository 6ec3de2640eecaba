"""Read the partitions of a Dask collection as rows (`DaskRows`).

    (DASK.1)  a product with all rows is one graph: one task per partition, run where the partition is stored, and the
              sums of the results
    (DASK.2)  vectors over the rows stay in this process; those that a task needs are sent packed, (PACK.1)

The collection is persisted once, if a cluster holds it or it fits into this process's memory; then one pass inspects
every partition (`PartitionFacts`). Tasks (`RowSource.map_blocks`) are sent to the partitions. If a worker is lost, Dask
recomputes its partitions and nothing has to restart, because the graph of a task contains all that it needs. A small
table is fetched once, and is an array from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import DataError, DataTypeError
from qpsvm.base.resources.limits import MEMORY_SHARE, find_available_memory
from qpsvm.data.kinds import is_dask
from qpsvm.data.rows.blocks import ALL, Block, RowIndex
from qpsvm.data.rows.memory import as_block, as_row_source
from qpsvm.data.rows.source import BlockRows, RowSource, Task
from qpsvm.data.sources.dask_cluster import compute_calls, is_on_cluster, translate_cluster_errors
from qpsvm.data.sources.dask_partitions import (
    PartitionFacts,
    as_float,
    inspect_partition,
    run_task,
    sum_columns,
    sum_results,
)
from qpsvm.data.sources.packed import pack

#: Largest size in bytes of a table that is fetched into this process.
SMALL_TABLE = 64e6
#: Largest number of results that one task sums on the cluster.
SUM_FAN_IN = 8
#: `DaskRows.take` caches at most this many rows, because the same ones are often needed twice in succession.
CACHED_ROWS = 20_000


def open_collection(X: Any, *vectors: Any) -> tuple[DaskRows, list[Any]]:
    """Open the rows of a collection, (n, d), and vectors over them, which become arrays, (n,).

    All are computed in one graph, and the rows may be persisted, so that a file is read once. Raises DataError,
    DataTypeError, ClusterError.
    """
    import dask

    names = _find_column_names(X)
    inspect = dask.delayed(inspect_partition, pure=False)
    with translate_cluster_errors():
        arrays = [_as_array(X), *map(_as_vector, filter(is_dask, vectors))]
        if _should_persist(arrays[0]):
            arrays = list(dask.persist(*arrays))
        parts = [block.ravel()[0] for block in arrays[0].to_delayed()]
        *facts, gathered = dask.compute(*[inspect(part, names) for part in parts], arrays[1:])
    _check_partitions(facts)
    computed = map(np.asarray, gathered)
    opened_vectors = [next(computed) if is_dask(vector) else vector for vector in vectors]
    return DaskRows(parts, facts, arrays[0], names), opened_vectors


def _find_column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns; None if there are none, or they are not distinct strings."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = tuple(columns)
    are_distinct_strings = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return names if are_distinct_strings else None


def _as_array(X: Any) -> Any:
    """Convert a Dask collection to a Dask array with all columns in one chunk. Raises DataError, DataTypeError."""
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if not hasattr(array, "to_delayed") or not hasattr(array, "ndim"):
        raise DataTypeError(f"X must be a Dask array or data frame, got {type(X).__name__}")
    if array.ndim != 2:
        raise DataError(f"X must have 2 dimensions, got {array.ndim}")
    if array.dtype is not None and array.dtype.kind not in "biufO":
        raise DataTypeError(f"X has entries of type {array.dtype}; samples must be numbers")
    if len(array.chunks[1]) > 1:
        return array.rechunk({1: -1})
    return array


def _as_vector(values: Any) -> Any:
    """Convert a Dask collection of one dimension, or with one column, to a Dask array (n,). Raises DataError."""
    array = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"target and weights must have one dimension, got {array.ndim}")
    return array


def _should_persist(X: Any) -> bool:
    """Return whether to persist the collection: a cluster holds it, or it fits into this process's memory."""
    if is_on_cluster():
        return True
    size = float(X.nbytes)  # NaN if the number of rows is unknown
    return not np.isfinite(size) or size < MEMORY_SHARE * find_available_memory()


def _check_partitions(facts: Sequence[PartitionFacts]) -> None:
    """Check that the partitions are parts of one table. Raises DataError, DataTypeError."""
    width = next((part.d for part in facts if part.n), 0)
    for k, part in enumerate(facts):
        if part.fault is not None:
            raise (DataTypeError if "type" in part.fault else DataError)(f"partition {k} of X{part.fault}")
        if part.n and part.d != width:
            raise DataError(f"partition {k} of X has {part.d} columns, the ones before it {width}")
    if not width:
        raise DataError("X is empty: at least one row and one column are needed")


class DaskRows(RowSource):
    """The rows of a Dask array or data frame.

    parts, facts: The partitions, as delayed objects of Dask, and facts about each.
    collection: Their collection, referenced because a cluster drops data without references.
    names: Names of the columns; None if unknown.
    offsets (p + 1,): Number of rows before each of the p partitions, and of all rows.
    is_remote: Whether the rows stay on the workers, because the table is not small.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        facts: Sequence[PartitionFacts],
        collection: Any,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.parts = list(parts)
        self.facts = tuple(facts)
        self.collection = collection
        self.feature_names = names
        self.offsets = np.concatenate([[0], np.cumsum([part.n for part in facts])]).astype(np.intp)
        self.n = int(self.offsets[-1])
        self.d = next((part.d for part in facts if part.n), 0)
        self.is_sparse = any(part.is_sparse for part in facts)
        self.is_remote = 8.0 * self.entries > SMALL_TABLE
        self._last_taken: tuple[IntArray, Matrix] | None = None

    # --- run tasks on the partitions ---

    def _compute(self, calls: Sequence[Any]) -> list[Any]:
        return compute_calls(calls)

    def map_blocks(
        self, task: Task, *vectors: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        if self.memory_matrix is not None:
            yield ALL, task(as_block(self.memory_matrix), *(() if rows is None else (rows,)), *vectors)
            return
        import dask

        run = dask.delayed(run_task, pure=False)
        calls = []
        positions: list[RowIndex] = []
        for k, block_rows, position in self._locate_partitions(rows):
            row_arguments = () if rows is None else (block_rows,)
            packed_vectors = [pack(values[position]) for values in vectors]
            calls.append(run(self.parts[k], self.is_sparse, task, *row_arguments, *packed_vectors))
            positions.append(position)
        if add:
            add_results = dask.delayed(sum_results, pure=False)
            while len(calls) > 1:
                calls = [add_results(*calls[i : i + SUM_FAN_IN]) for i in range(0, len(calls), SUM_FAN_IN)]
            positions = positions[:1]
        results = self._compute(calls) if calls else []
        yield from zip(positions, map(_make_writeable, results), strict=True)

    def _locate_partitions(self, rows: IntArray | None) -> Iterator[tuple[int, RowIndex, RowIndex]]:
        """Yield the partitions that contain rows: all rows for None, or some (j,) in any order.

        For each: its index, the positions of its rows within the partition, and their positions in `rows`.
        """
        if rows is None:
            for k, (start, stop) in enumerate(pairwise(self.offsets.tolist())):
                if stop > start:
                    yield k, ALL, slice(start, stop)
            return
        if bool((rows[1:] >= rows[:-1]).all()):
            order = None
        else:
            order = np.argsort(rows, kind="stable")
        ascending = rows if order is None else rows[order]
        for k, (first, end) in enumerate(pairwise(np.searchsorted(ascending, self.offsets).tolist())):
            if end > first:
                block_rows = ascending[first:end] - self.offsets[k]
                yield k, block_rows, slice(first, end) if order is None else order[first:end]

    @cached
    def memory_matrix(self) -> Matrix | None:
        """The rows of a small table as one array, (n, d), so that a product is one call of the BLAS; else None."""
        if self.is_remote:
            return None
        fetched = self._compute(self.parts)
        rows = [as_float(part, self.is_sparse) for part, facts in zip(fetched, self.facts, strict=True) if facts.n]
        matrix: Matrix = sp.vstack(rows, format="csr") if self.is_sparse else np.concatenate(rows)
        return matrix

    # --- computed once, or cached ---

    @cached
    def longest_row(self) -> int:
        return max(part.longest_row for part in self.facts)

    @cached
    def _sums_and_squares(self) -> list[FloatArray]:
        """Xᵀ1 and the diagonal of XᵀX, (d,) each, in one pass, because every problem needs both."""
        return self.sum_blocks(sum_columns, shapes=((self.d,), (self.d,)))

    def means(self) -> FloatArray:
        means: FloatArray = self._sums_and_squares[0] / self.n
        return means

    def column_squares(self) -> FloatArray:
        return self._sums_and_squares[1].copy()

    def take(self, rows: IntArray | slice) -> Matrix:
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        if self._last_taken is not None and np.array_equal(self._last_taken[0], index):
            return self._last_taken[1].copy()
        matrix = super().take(index)
        if len(index) <= CACHED_ROWS:
            self._last_taken = index.copy(), matrix.copy()
        return matrix

    def persist(self, task: Task, index: IntArray | None = None) -> DaskRows:
        """Build rows from rows by a task on each partition, and store them where the partitions are.

        index (j,): The rows to use, all for None.
        """
        import dask

        run = dask.delayed(run_task, pure=False)
        inspect = dask.delayed(inspect_partition, pure=False)
        with translate_cluster_errors():
            built = [
                run(self.parts[k], self.is_sparse, task, block_rows)
                for k, block_rows, _ in self._locate_partitions(index)
            ]
            parts = list(dask.persist(*built, optimize_graph=False))
        return DaskRows(parts, self._compute([inspect(part) for part in parts]), parts)

    # --- other methods of a source ---

    def blocks(self) -> Iterator[Block]:
        """Fetch and yield one partition after the other, for code that iterates over the rows itself."""
        if self.memory_matrix is not None:
            yield as_block(self.memory_matrix)
            return
        for part, start, facts in zip(self.parts, self.offsets.tolist(), self.facts, strict=False):
            if facts.n:
                yield as_block(as_float(self._compute([part])[0], self.is_sparse), start)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Fetch the selected rows of all partitions as one block."""
        yield as_block(self.take(rows)), ALL, ALL

    def __deepcopy__(self, memo: Any) -> DaskRows:
        return self  # the rows are immutable

    def __reduce__(self) -> Any:
        """Pickle the rows themselves, because another process may not know the cluster. Raises TooLargeError."""
        return as_row_source, (self.matrix(),)

    @property
    def entries(self) -> int:
        return sum(part.entries for part in self.facts)

    @property
    def nbytes(self) -> int:
        """Bytes in this process: none."""
        return 0


def _make_writeable(result: Any) -> Any:
    """Copy the arrays of a result that are read-only, as those from a cluster are."""
    if isinstance(result, tuple):
        return tuple(map(_make_writeable, result))
    if isinstance(result, np.ndarray) and not result.flags.writeable:
        return result.copy()
    return result
