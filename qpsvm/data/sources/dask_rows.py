"""Read the partitions of a Dask collection as rows (`DaskRows`).

    (DASK.1)  a product with all rows is one graph: a task for each partition, run where it is stored, and the sums of
              the results
    (DASK.2)  vectors over the rows stay in this process; those that a task needs are sent packed, (PACK.1)

The collection is persisted once, if a cluster holds it or it fits into this process's memory; then one pass inspects
every partition (`PartitionFacts`). Tasks (`RowSource.map_blocks`) are sent to the partitions. If a worker is lost, Dask
recomputes its partitions and nothing has to restart, because the graph of a task contains all that it needs. A small
table is fetched in one graph, and is an array from then on.
"""

from __future__ import annotations

import concurrent.futures
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.frozen import cached
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import ClusterError, DataError, DataTypeError
from qpsvm.base.resources.limits import MEMORY_SHARE, find_available_memory
from qpsvm.data.kinds import is_dask
from qpsvm.data.rows.blocks import ALL, Block, RowIndex, sum_arrays
from qpsvm.data.rows.memory import as_block, as_row_source
from qpsvm.data.rows.source import BlockRows, RowSource, Task
from qpsvm.data.sources.first_pass import check_values
from qpsvm.data.sources.packed import pack, unpack

#: Largest size in bytes of a table that is fetched into this process.
SMALL_TABLE = 64e6
#: Number of results that one task sums, if they are summed on the cluster.
SUM_FAN_IN = 8
#: Largest number of rows that `DaskRows.take` caches, because the same rows are often needed twice in succession.
CACHED_ROWS = 20_000
#: Number of times that Dask retries a task.
RETRIES = 3
#: Seconds without any worker after which a run fails.
WORKER_TIMEOUT = 60.0


@contextmanager
def translate_cluster_errors() -> Iterator[None]:
    """Translate errors of Dask: the scheduler is gone, futures were lost, or a partition ends its worker.

    Dask's warnings about large vectors in a graph and about labels that are text are silenced: both are intended.
    """
    try:
        with warnings.catch_warnings():
            for text in ("Sending large graph", "Dask currently has limited support for converting pandas"):
                warnings.filterwarnings("ignore", message=text, category=UserWarning)
            yield
    except KeyError as error:
        key = error.args[0] if error.args else None
        if not (isinstance(key, tuple) and key and isinstance(key[0], str)):  # not the key of a partition
            raise
        raise ClusterError(f"{_LOST_MESSAGE} (no worker stores {key})") from error
    except _find_error_types() as error:
        raise as_cluster_error(error) from error


def as_cluster_error(error: BaseException) -> ClusterError:
    """Return the error for an error of Dask: a partition has ended its worker, or else the cluster is gone."""
    if type(error).__name__ == "KilledWorker":
        return ClusterError(
            f"a partition ended each worker that was to compute it, which may be for want of memory ({error}): make "
            "partitions smaller, or workers larger"
        )
    return ClusterError(f"{_LOST_MESSAGE} ({type(error).__name__}: {error})")


_LOST_MESSAGE = (
    "the Dask cluster has lost these rows, or its scheduler is gone: connect a Client again, and make the collection "
    "and the problem again"
)


def _find_error_types() -> tuple[type[BaseException], ...]:
    """Return the error types of Dask's cluster; none if `distributed` has not been imported."""
    if "distributed" not in sys.modules:
        return ()
    from distributed import CancelledError, client
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    closed = getattr(client, "ClosedClientError", CommClosedError)  # absent in older versions
    return concurrent.futures.CancelledError, CancelledError, CommClosedError, KilledWorker, closed


@dataclass(frozen=True, eq=False)
class PartitionFacts:
    """Facts about one partition.

    entries: Number of stored entries.
    longest: Largest number of stored entries in a row.
    fault: Why the partition cannot be used, as the end of a message; None if it can.
    """

    rows: int
    columns: int
    entries: int
    sparse: bool
    longest: int = 0
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
    size: dict[str, Any] = {"rows": k, "columns": d, "entries": int(X.nnz) if sparse else k * d, "sparse": sparse}
    if X.dtype.kind not in "biuf":
        return PartitionFacts(**size, fault=f" has entries of type {X.dtype}; samples must be numbers")
    try:
        check_values(sp.csr_array(X) if sparse else X, lambda row: f"row {row}", names)
    except DataError as error:
        return PartitionFacts(**size, fault=f": {error}")
    return PartitionFacts(**size, longest=longest)


class DaskRows(RowSource):
    """The rows of a Dask array or data frame.

    parts: The partitions, as delayed objects of Dask.
    facts: Facts about each partition.
    collection: The collection of the partitions. It is referenced because a cluster drops data without references.
    names: Names of the columns; None if unknown.
    ends (p + 1,): Number of rows before each of the p partitions, and the number of all rows.
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
        self.ends = np.concatenate([[0], np.cumsum([part.rows for part in facts])]).astype(np.intp)
        self.n = int(self.ends[-1])
        self.d = next((part.columns for part in facts if part.rows), 0)
        self.is_sparse = any(part.sparse for part in facts)
        self.is_remote = 8.0 * self.entries > SMALL_TABLE
        self._last_taken: tuple[IntArray, Matrix] | None = None

    # --- run tasks on the partitions ---

    def _compute(self, calls: Sequence[Any]) -> list[Any]:
        """Compute delayed calls by Dask in one graph, and return their results."""
        import dask

        with translate_cluster_errors():
            if not is_on_cluster():
                return list(dask.compute(*calls, optimize_graph=False))
            from distributed import default_client

            client = default_client()
            futures = client.compute(list(calls), retries=RETRIES, optimize_graph=False)
            results: list[Any] | None = None
            try:
                _wait(client, futures)
                results = list(client.gather(futures, direct=True))
            finally:
                if results is None:  # Ctrl-C, or an error of a task
                    client.cancel(futures)
            return results

    def map_blocks(
        self, task: Task, *along: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        matrix = self.memory_matrix
        if matrix is not None:
            block = as_block(matrix)
            if rows is None:
                yield ALL, task(block, *along)
            else:
                yield ALL, task(block, rows, *along)
            return
        import dask

        run = dask.delayed(_run_task, pure=False)
        calls = []
        positions: list[RowIndex] = []
        for k, block_rows, position in self._locate_partitions(rows):
            row_arguments = () if rows is None else (block_rows,)
            packed_vectors = [pack(values[position]) for values in along]
            calls.append(run(self.parts[k], self.is_sparse, task, *row_arguments, *packed_vectors))
            positions.append(position)
        if add:
            join = dask.delayed(_sum_results, pure=False)
            while len(calls) > 1:
                calls = [join(*calls[i : i + SUM_FAN_IN]) for i in range(0, len(calls), SUM_FAN_IN)]
            positions = positions[:1]
        results = self._compute(calls) if calls else []
        yield from zip(positions, map(_make_writeable, results), strict=True)

    def _locate_partitions(self, rows: IntArray | None) -> Iterator[tuple[int, RowIndex, RowIndex]]:
        """Yield the partitions that contain rows: all rows for None, or some (j,) in any order.

        For each: its index, the positions of its rows within the partition, and their positions in `rows`.
        """
        if rows is None:
            for k, (start, stop) in enumerate(pairwise(self.ends.tolist())):
                if stop > start:
                    yield k, ALL, slice(start, stop)
            return
        order = None if bool((rows[1:] >= rows[:-1]).all()) else np.argsort(rows, kind="stable")
        ascending = rows if order is None else rows[order]
        for k, (first, end) in enumerate(pairwise(np.searchsorted(ascending, self.ends).tolist())):
            if end > first:
                block_rows = ascending[first:end] - self.ends[k]
                yield k, block_rows, slice(first, end) if order is None else order[first:end]

    @cached
    def memory_matrix(self) -> Matrix | None:
        """The rows of a small table as one array, (n, d), so that a product is one call of the BLAS; else None."""
        if self.is_remote:
            return None
        fetched = self._compute(self.parts)
        rows = [as_float(part, self.is_sparse) for part, facts in zip(fetched, self.facts, strict=True) if facts.rows]
        matrix: Matrix = sp.vstack(rows, format="csr") if self.is_sparse else np.concatenate(rows)
        return matrix

    # --- computed once, or cached ---

    @cached
    def longest_row(self) -> int:
        return max(part.longest for part in self.facts)

    @cached
    def _column_sums(self) -> list[FloatArray]:
        """Xᵀ1 and the diagonal of XᵀX, (d,) each: every problem needs both."""
        return self.sum_blocks(_sum_columns, shapes=((self.d,), (self.d,)))

    def means(self) -> FloatArray:
        means: FloatArray = self._column_sums[0] / self.n
        return means

    def column_squares(self) -> FloatArray:
        return self._column_sums[1].copy()

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

        run = dask.delayed(_run_task, pure=False)
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
        for part, start, facts in zip(self.parts, self.ends.tolist(), self.facts, strict=False):
            if facts.rows:
                yield as_block(as_float(self._compute([part])[0], self.is_sparse), start)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Fetch the selected rows of all partitions as one block."""
        yield as_block(self.take(rows)), ALL, ALL

    def __deepcopy__(self, memo: Any) -> DaskRows:
        return self  # it is immutable

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


def open_collection(X: Any, *vectors: Any) -> tuple[DaskRows, list[Any]]:
    """Open the rows of a collection, (n, d), and vectors over them, which become arrays, (n,).

    All are computed in one graph, and the rows may be persisted, so that a file is read once. Raises DataError,
    DataTypeError, ClusterError.
    """
    import dask

    names = _column_names(X)
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


def _check_partitions(facts: Sequence[PartitionFacts]) -> None:
    """Check that the partitions are parts of one table. Raises DataError, DataTypeError."""
    width = next((part.columns for part in facts if part.rows), 0)
    for k, part in enumerate(facts):
        if part.fault is not None:
            raise (DataTypeError if "type" in part.fault else DataError)(f"partition {k} of X{part.fault}")
        if part.rows and part.columns != width:
            raise DataError(f"partition {k} of X has {part.columns} columns, the ones before it {width}")
    if not width:
        raise DataError("X is empty: at least one row and one column are needed")


def _should_persist(X: Any) -> bool:
    """Return whether to persist the collection: a cluster holds it, or it fits into this process's memory."""
    if is_on_cluster():
        return True
    size = float(X.nbytes)  # NaN if the number of rows is unknown
    return not np.isfinite(size) or size < MEMORY_SHARE * find_available_memory()


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Wait for futures as long as there are workers. Raises ClusterError."""
    from distributed import wait

    while True:
        try:
            wait(futures, timeout=WORKER_TIMEOUT)
            return
        except TimeoutError:
            if not client.scheduler_info()["workers"]:
                raise ClusterError(f"all workers of the Dask cluster have been gone for {WORKER_TIMEOUT:g} s") from None


# --- functions that run in the workers ---


def _run_task(part: Any, sparse: bool, task: Task, *packed_arguments: Any) -> Any:
    """Run a task on a partition."""
    X = sp.csr_array(part, dtype=np.float64) if sparse else np.asarray(part)
    return task(as_block(X), *map(unpack, packed_arguments))


def _sum_results(*results: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Sum the results of several partitions, in their order."""
    first = tuple(array.copy() for array in results[0])
    return tuple(sum_arrays([first, *results[1:]]))


def _make_writeable(result: Any) -> Any:
    """Copy the arrays of a result that are read-only, as those from a cluster are."""
    if isinstance(result, tuple):
        return tuple(map(_make_writeable, result))
    return result.copy() if isinstance(result, np.ndarray) and not result.flags.writeable else result


def _sum_columns(block: Block) -> tuple[FloatArray, FloatArray]:
    return block.column_sums(), block.column_squares()


def as_float(X: Any, sparse: bool) -> Matrix:
    """Convert a partition to the blocks' format: float64, and compressed if the source is sparse."""
    return sp.csr_array(X, dtype=np.float64) if sparse else np.ascontiguousarray(X, dtype=np.float64)


def is_on_cluster() -> bool:
    """Return whether this process is connected to a cluster of `dask.distributed`."""
    if "distributed" not in sys.modules:
        return False
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        return False
    return True


def _column_names(X: Any) -> tuple[str, ...] | None:
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
    return array.rechunk({1: -1}) if len(array.chunks[1]) > 1 else array


def _as_vector(values: Any) -> Any:
    """Convert a Dask collection of one dimension, or with one column, to a Dask array (n,). Raises DataError."""
    array = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"target and weights must have one dimension, got {array.ndim}")
    return array
