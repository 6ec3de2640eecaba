"""Read the partitions of a Dask collection as rows (`DaskRows`).

    (DASK.1)  a product with all rows is one graph: a task for each partition, where that is, and sums of the answers
    (DASK.2)  vectors over the rows belong to this process; those that travel are packed, (PACK.1)

The collection is persisted once, where a cluster holds it or it fits into this process's memory; one pass over the
partitions then finds out what is known of each. A task (`RowSource.map_blocks`) goes to the partitions; what derives
rows from rows is put in front of it. Partitions that are lost with a worker are made again by Dask, and nothing begins
again: all that a task needs besides is in its own graph. A small table comes here in one graph, and is an array from
then on.
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

#: Bytes of a table that comes here as a whole.
SMALL_TABLE = 64e6
#: Answers that one task adds up, where they are added on the cluster.
SUM_FAN_IN = 8
#: Rows up to which those that were taken last are kept, because they are often asked for twice.
CACHED_ROWS = 20_000
#: How often Dask tries a task again; seconds without any worker after which it is said that all are gone.
RETRIES, WORKER_TIMEOUT = 3, 60.0


@contextmanager
def translate_cluster_errors() -> Iterator[None]:
    """Translate errors of Dask: the scheduler is gone, futures were lost, or a partition ends its worker.

    Vectors are meant to travel, and labels may be text: Dask does not warn of either.
    """
    try:
        with warnings.catch_warnings():
            for text in ("Sending large graph", "Dask currently has limited support for converting pandas"):
                warnings.filterwarnings("ignore", message=text, category=UserWarning)
            yield
    except KeyError as error:
        key = error.args[0] if error.args else None
        if not (isinstance(key, tuple) and key and isinstance(key[0], str)):  # of a partition that no worker stores
            raise
        raise ClusterError(f"{_LOST_MESSAGE} (no worker stores {key})") from error
    except _find_error_types() as error:
        raise as_cluster_error(error) from error


def as_cluster_error(error: BaseException) -> ClusterError:
    """Convert an error of Dask: a partition that ends its worker, or else a cluster that is gone."""
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
    """Return Dask's error types, if its cluster is in use."""
    if "distributed" not in sys.modules:
        return ()
    from distributed import CancelledError, client
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    closed = getattr(client, "ClosedClientError", CommClosedError)  # which older versions do not have
    return concurrent.futures.CancelledError, CancelledError, CommClosedError, KilledWorker, closed


@dataclass(frozen=True, eq=False)
class PartitionFacts:
    """Facts about one partition: rows, columns, entries, the most entries of a row, and a fault."""

    rows: int
    columns: int
    entries: int
    sparse: bool
    longest: int = 0
    fault: str | None = None


def inspect_partition(X: Any, names: Sequence[str] | None = None) -> PartitionFacts:
    """Inspect one partition (k, d) where it is."""
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        return PartitionFacts(0, 0, 0, False, fault=f" has shape {shape} where rows and columns are needed")
    k, d = (int(size) for size in shape)
    sparse = bool(sp.issparse(X))
    longest = int(np.diff(sp.csr_array(X).indptr).max(initial=0)) if sparse else d
    known: dict[str, Any] = {"rows": k, "columns": d, "entries": int(X.nnz) if sparse else k * d, "sparse": sparse}
    if X.dtype.kind not in "biuf":
        return PartitionFacts(**known, fault=f" has entries of type {X.dtype}; samples must be numbers")
    try:
        check_values(sp.csr_array(X) if sparse else X, lambda row: f"row {row}", names)
    except DataError as error:
        return PartitionFacts(**known, fault=f": {error}")
    return PartitionFacts(**known, longest=longest)


class DaskRows(RowSource):
    """The rows of a Dask array or data frame.

    parts: The partitions, as Dask has them.
    facts: One for each partition.
    collection: Their collection, referenced because a cluster drops what has no reference.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        facts: Sequence[PartitionFacts],
        collection: Any,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.parts, self.facts, self.collection, self.feature_names = list(parts), tuple(facts), collection, names
        self.ends = np.concatenate([[0], np.cumsum([part.rows for part in facts])]).astype(np.intp)
        self.n, self.d = int(self.ends[-1]), next((part.columns for part in facts if part.rows), 0)
        self.is_sparse = any(part.sparse for part in facts)
        self.is_remote = 8.0 * self.entries > SMALL_TABLE
        self._last: tuple[IntArray, Matrix] | None = None

    # --- one graph ---

    def _compute(self, calls: Sequence[Any]) -> list[Any]:
        """Compute the results of tasks by Dask."""
        import dask

        with translate_cluster_errors():
            if not is_on_cluster():
                return list(dask.compute(*calls, optimize_graph=False))
            from distributed import default_client

            client = default_client()
            futures = client.compute(list(calls), retries=RETRIES, optimize_graph=False)
            found: list[Any] | None = None
            try:
                _wait(client, futures)
                found = list(client.gather(futures, direct=True))
            finally:
                if found is None:  # Ctrl-C, or an error of another task
                    client.cancel(futures)
            return found

    def map_blocks(
        self, task: Task, *along: FloatArray, rows: IntArray | None = None, add: bool = False
    ) -> Iterator[tuple[RowIndex, Any]]:
        whole = self.memory_matrix
        if whole is not None:
            block = as_block(whole)
            if rows is None:
                yield ALL, task(block, *along)
            else:
                yield ALL, task(block, rows, *along)
            return
        import dask

        run = dask.delayed(_run_task, pure=False)
        calls, places = [], list[RowIndex]()
        for k, at, where in self._locate_partitions(rows):
            some = () if rows is None else (at,)
            given = [pack(values[where]) for values in along]
            calls.append(run(self.parts[k], self.is_sparse, task, *some, *given))
            places.append(where)
        if add:
            join = dask.delayed(_sum_answers, pure=False)
            while len(calls) > 1:
                calls = [join(*calls[i : i + SUM_FAN_IN]) for i in range(0, len(calls), SUM_FAN_IN)]
            places = places[:1]
        answers = self._compute(calls) if calls else []
        yield from zip(places, map(_make_writeable, answers), strict=True)

    def _locate_partitions(self, rows: IntArray | None) -> Iterator[tuple[int, RowIndex, RowIndex]]:
        """Yield the partitions that contain the rows, all or some (j,) in any order, with the positions of these."""
        if rows is None:
            for k, (start, stop) in enumerate(pairwise(self.ends.tolist())):
                if stop > start:
                    yield k, ALL, slice(start, stop)
            return
        order = None if bool((rows[1:] >= rows[:-1]).all()) else np.argsort(rows, kind="stable")
        ascending = rows if order is None else rows[order]
        for k, (first, end) in enumerate(pairwise(np.searchsorted(ascending, self.ends).tolist())):
            if end > first:
                at = ascending[first:end] - self.ends[k]
                yield k, at, slice(first, end) if order is None else order[first:end]

    @cached
    def memory_matrix(self) -> Matrix | None:
        """The rows as one array here, where they are few numbers: then every product is one call of the BLAS."""
        if self.is_remote:
            return None
        found = self._compute(self.parts)
        rows = [as_float(part, self.is_sparse) for part, facts in zip(found, self.facts, strict=True) if facts.rows]
        whole: Matrix = sp.vstack(rows, format="csr") if self.is_sparse else np.concatenate(rows)
        return whole

    # --- what is kept ---

    @cached
    def longest_row(self) -> int:
        return max(part.longest for part in self.facts)

    @cached
    def _column_sums(self) -> list[FloatArray]:
        """Xᵀ1 and the diagonal of XᵀX: both are asked for of every table."""
        return self.sum_blocks(_sum_columns, shapes=((self.d,), (self.d,)))

    def means(self) -> FloatArray:
        means: FloatArray = self._column_sums[0] / self.n
        return means

    def column_squares(self) -> FloatArray:
        return self._column_sums[1].copy()

    def take(self, rows: IntArray | slice) -> Matrix:
        index = np.arange(self.n)[rows] if isinstance(rows, slice) else rows
        if self._last is not None and np.array_equal(self._last[0], index):
            return self._last[1].copy()
        found = super().take(index)
        if len(index) <= CACHED_ROWS:
            self._last = index.copy(), found.copy()
        return found

    def persist(self, task: Task, index: IntArray | None = None) -> DaskRows:
        """Store the rows that a task makes of some of each partition where these are."""
        import dask

        run, look = dask.delayed(_run_task, pure=False), dask.delayed(inspect_partition, pure=False)
        with translate_cluster_errors():
            made = [run(self.parts[k], self.is_sparse, task, at) for k, at, _ in self._locate_partitions(index)]
            kept = list(dask.persist(*made, optimize_graph=False))
        return DaskRows(kept, self._compute([look(part) for part in kept]), kept)

    # --- as any source ---

    def blocks(self) -> Iterator[Block]:
        """Yield the partitions, one after the other, each fetched: for code that iterates over the rows itself."""
        if self.memory_matrix is not None:
            yield as_block(self.memory_matrix)
            return
        for part, start, facts in zip(self.parts, self.ends.tolist(), self.facts, strict=False):
            if facts.rows:
                yield as_block(as_float(self._compute([part])[0], self.is_sparse), start)

    def locate_rows(self, rows: IntArray) -> Iterator[BlockRows]:
        """Fetch the selected rows of all partitions as one block."""
        yield as_block(self.take(rows)), ALL, ALL

    def __deepcopy__(self, known: Any) -> DaskRows:
        return self  # which cannot be changed

    def __reduce__(self) -> Any:
        """A pickle takes the rows along, because another process may not know the cluster. Raises TooLargeError."""
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

    What belongs together is computed together, and persisted: a file is read once. Raises DataError, DataTypeError,
    ClusterError.
    """
    import dask

    names = _column_names(X)
    look = dask.delayed(inspect_partition, pure=False)
    with translate_cluster_errors():
        arrays = [_as_array(X), *map(_as_vector, filter(is_dask, vectors))]
        if _should_persist(arrays[0]):
            arrays = list(dask.persist(*arrays))
        parts = [block.ravel()[0] for block in arrays[0].to_delayed()]
        *facts, gathered = dask.compute(*[look(part, names) for part in parts], arrays[1:])
    _check_partitions(facts)
    found = map(np.asarray, gathered)
    return DaskRows(parts, facts, arrays[0], names), [next(found) if is_dask(vector) else vector for vector in vectors]


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
    """Tell whether the collection is to be persisted: a cluster holds it, or it takes little enough of this memory."""
    if is_on_cluster():
        return True
    size = float(X.nbytes)  # NaN where the number of rows is not known
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


# --- where the partitions are ---


def _run_task(part: Any, sparse: bool, task: Task, *given: Any) -> Any:
    """Run a task on a partition."""
    X = sp.csr_array(part, dtype=np.float64) if sparse else np.asarray(part)
    return task(as_block(X), *map(unpack, given))


def _sum_answers(*answers: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Sum several answers, in their order."""
    first = tuple(array.copy() for array in answers[0])
    return tuple(sum_arrays([first, *answers[1:]]))


def _make_writeable(answer: Any) -> Any:
    """Make the arrays of an answer writeable: those that a cluster has sent are not."""
    if isinstance(answer, tuple):
        return tuple(map(_make_writeable, answer))
    return answer.copy() if isinstance(answer, np.ndarray) and not answer.flags.writeable else answer


def _sum_columns(block: Block) -> tuple[FloatArray, FloatArray]:
    return block.column_sums(), block.column_squares()


def as_float(X: Any, sparse: bool) -> Matrix:
    """Convert a partition to the blocks' format: float64, and compressed if the source is sparse."""
    return sp.csr_array(X, dtype=np.float64) if sparse else np.ascontiguousarray(X, dtype=np.float64)


def is_on_cluster() -> bool:
    """Tell whether Dask computes on a cluster, `dask.distributed`, from here."""
    if "distributed" not in sys.modules:
        return False
    from distributed import default_client

    try:
        default_client()
    except ValueError:
        return False
    return True


def _column_names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return tuple(names) if all(isinstance(name, str) for name in names) and len(set(names)) == len(names) else None


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
    """Convert to an array of one dimension, if need be from one column. Raises DataError."""
    array = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"target and weights must have one dimension, got {array.ndim}")
    return array
