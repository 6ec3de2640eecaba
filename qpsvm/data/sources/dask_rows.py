"""Rows that are a Dask collection: held by a cluster, or by whatever scheduler Dask has, a partition at a time.

The collection is persisted once, where a cluster holds it or it fits into this process's memory; one pass over the
partitions, where they are, then finds out what is known of each: its rows, what is wrong with them, and what their
targets and weights add up to. Only that comes here. What looks at the rows afterwards asks for one partition after the
other, or runs on the cluster (`distributed`).
"""

from __future__ import annotations

import concurrent.futures
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.rounding import first_rounded
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.errors import ClusterError, DataError, DataTypeError
from qpsvm.base.resources.limits import MEMORY_SHARE, available_memory
from qpsvm.data.kinds import is_dask
from qpsvm.data.labels import places_of, sorted_labels
from qpsvm.data.rows.blocks import Block
from qpsvm.data.rows.memory import as_block
from qpsvm.data.rows.source import RowSource
from qpsvm.data.sources.batches import check_values


@contextmanager
def cluster_faults() -> Iterator[None]:
    """Say in our own words that the scheduler is gone, that futures were lost, or that a partition ends its worker."""
    try:
        yield
    except KeyError as error:
        key = error.args[0] if error.args else None
        if not (isinstance(key, tuple) and key and isinstance(key[0], str)):  # of a partition that nobody holds
            raise
        raise ClusterError(f"{_GONE} (nobody holds {key})") from error
    except _kinds() as error:
        raise fault_of(error) from error


def fault_of(error: BaseException) -> ClusterError:
    """The error for one of Dask's: a partition that ends its worker, or else a cluster that is gone."""
    if type(error).__name__ == "KilledWorker":
        return ClusterError(
            f"a partition ended each worker that was to compute it, which may be for want of memory ({error}): make "
            "partitions smaller, or workers larger"
        )
    return ClusterError(f"{_GONE} ({type(error).__name__}: {error})")


def is_killed(error: BaseException | None) -> bool:
    """Whether it is Dask's error for a task during which workers died."""
    return type(error).__name__ == "KilledWorker"


_GONE = (
    "the Dask cluster has lost these rows, or its scheduler is gone: connect a Client anew, and make the collection "
    "and the problem again"
)


def _kinds() -> tuple[type[BaseException], ...]:
    """Dask's errors, where its cluster is in use."""
    if "distributed" not in sys.modules:
        return ()
    from distributed import CancelledError, client
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    closed = getattr(client, "ClosedClientError", CommClosedError)  # which older versions do not have
    return concurrent.futures.CancelledError, CancelledError, CommClosedError, KilledWorker, closed


#: Different values of a target in one partition that are counted: with more, it is a number and no label.
LABELS = 1000


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of one partition: rows, columns, entries, what is wrong, and what targets and weights add up to.

    `labels` are the different values of the target, None where there are more than `LABELS`, `counts` and `masses` how
    often and with which weight each occurs; `low` and `high` are the ends of a target of numbers; `heaviest` and `idle`
    the largest weight, and how many are 0.
    """

    rows: int
    columns: int
    entries: int
    sparse: bool
    fault: str | None = None
    labels: NDArray[Any] | None = None
    counts: NDArray[Any] | None = None
    masses: NDArray[Any] | None = None
    low: float = np.inf
    high: float = -np.inf
    numbers: bool = True
    heaviest: float = 0.0
    idle: int = 0


def facts_of(X: Any, y: Any = None, weight: Any = None, names: Sequence[str] | None = None) -> Facts:
    """What is known of one partition, found where it is. Shapes: X (k, d), y, weight (k,) or None."""
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        return Facts(0, 0, 0, False, f" has shape {shape} where rows and columns are needed")
    k, d = (int(size) for size in shape)
    sparse = bool(sp.issparse(X))
    known: dict[str, Any] = {"rows": k, "columns": d, "entries": int(X.nnz) if sparse else k * d, "sparse": sparse}
    for name, vector in (("target", y), ("weight", weight)):
        if vector is not None and np.shape(vector) != (k,):
            return Facts(**known, fault=f" has {k} rows and a {name} of shape {np.shape(vector)}")
    if X.dtype.kind not in "biuf":
        return Facts(**known, fault=f" has entries of type {X.dtype}; samples must be numbers")
    try:
        check_values(sp.csr_array(X) if sparse else X, lambda row: f"row {row}", names)
        labels, classes = (None, None) if y is None or not k else sorted_labels(y, k)
    except DataError as error:
        return Facts(**known, fault=f": {error}")
    if not k:
        return Facts(**known)
    s = np.ones(k) if weight is None else np.asarray(weight, dtype=np.float64)
    place = None if weight is None else first_rounded(np.asarray(weight))
    if place is not None:
        return Facts(**known, fault=f" has a weight in row {place} that no double is equal to")
    wrong = np.flatnonzero(~(np.isfinite(s) & (s >= 0.0) & (s < LARGEST_VALUE)))
    if len(wrong):
        return Facts(**known, fault=f" has the weight {s[wrong[0]]:g} in row {wrong[0]}: it must be finite and ≥ 0")
    known |= {"heaviest": float(s.max()), "idle": int(np.count_nonzero(s == 0.0))}
    if labels is None or classes is None:
        return Facts(**known)
    known["numbers"] = labels.dtype.kind in "biuf"
    if known["numbers"]:
        known |= {"low": float(classes[0]), "high": float(classes[-1])}
    if len(classes) > LABELS:
        return Facts(**known)
    places = places_of(labels, classes)
    counts, masses = (np.bincount(places, each, minlength=len(classes)) for each in (None, s))
    return Facts(**known, labels=classes, counts=counts, masses=masses)


class DaskRows(RowSource):
    """The rows of a Dask array or data frame, with the targets and weights that belong to them.

    facts: One for each partition.
    features, target, weight or None: The partitions.
    """

    @cluster_faults()
    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        import dask

        self.feature_names = _column_names(X)
        parts = [_as_array(X, "X", 2)]
        vectors = [(name, part) for name, part in (("y", y), ("sample_weight", weight)) if part is not None]
        if np.isnan(_lengths(parts[0])).any() and any(_cut_otherwise(vector, parts[0]) for _, vector in vectors):
            parts[0] = _sized(parts[0])
        parts += [_aligned(vector, name, _lengths(parts[0])) for name, vector in vectors]
        if self._fits(parts[0]):
            parts = list(dask.persist(*parts))
        self.collection, self.vectors = parts[0], parts[1:]  # held, because a cluster forgets what nobody holds
        rest = iter(self.vectors)
        self.features: list[Any] = [block.ravel()[0] for block in parts[0].to_delayed()]
        self.target = None if y is None else list(next(rest).to_delayed().ravel())
        self.weight = None if weight is None else list(next(rest).to_delayed().ravel())
        nothing = [None] * len(self.features)
        each = zip(self.features, self.target or nothing, self.weight or nothing, strict=True)
        look, names = dask.delayed(facts_of, pure=False), self.feature_names
        self.facts: tuple[Facts, ...] = dask.compute(*[look(*part, names) for part in each])
        self._check()
        self.n, self.d = sum(part.rows for part in self.facts), self.facts[0].columns
        self.is_sparse = any(part.sparse for part in self.facts)

    def _check(self) -> None:
        """That the partitions are parts of one table. Raises DataError, DataTypeError."""
        width = next((part.columns for part in self.facts if part.rows), 0)
        for k, part in enumerate(self.facts):
            if part.fault is not None:
                raise (DataTypeError if "type" in part.fault else DataError)(f"partition {k} of X{part.fault}")
            if part.rows and part.columns != width:
                raise DataError(f"partition {k} of X has {part.columns} columns, the ones before it {width}")
        if not width:
            raise DataError("X is empty: at least one row and one column are needed")

    def by_label(self, what: str) -> dict[Any, float]:
        """How often each label occurs in all partitions, or with which weight."""
        found: dict[Any, float] = {}
        for part in self.facts:
            if part.labels is not None:
                for label, amount in zip(part.labels.tolist(), getattr(part, what).tolist(), strict=True):
                    found[label] = found.get(label, 0) + amount
        return found

    @staticmethod
    def _fits(X: Any) -> bool:
        """Whether the collection is to be persisted: a cluster holds it, or it takes little enough of this memory."""
        if on_cluster():
            return True
        size = float(X.nbytes)  # NaN where the number of rows is not known
        return not np.isfinite(size) or size < MEMORY_SHARE * available_memory()

    @property
    def starts(self) -> list[int]:
        """The first row of each partition."""
        return [0, *np.cumsum([part.rows for part in self.facts])[:-1].tolist()]

    def blocks(self) -> Iterator[Block]:
        """The partitions, one after the other, each brought here."""
        for start, part, facts in zip(self.starts, self.features, self.facts, strict=True):
            if facts.rows:
                with cluster_faults():
                    found = part.compute()
                yield as_block(as_float(found, self.is_sparse), start)

    def gathered(self, parts: Sequence[Any]) -> NDArray[Any]:
        """A vector over the rows, (n,), from its partitions."""
        import dask

        with cluster_faults():
            return np.concatenate(dask.compute(*parts))

    @property
    def entries(self) -> int:
        return sum(part.entries for part in self.facts)

    @property
    def nbytes(self) -> int:
        """None of this process's own."""
        return 0


def as_float(X: Any, sparse: bool) -> Matrix:
    """A partition as the blocks of a source are: float64, and compressed where the source is sparse."""
    return sp.csr_array(X, dtype=np.float64) if sparse else np.ascontiguousarray(X, dtype=np.float64)


def on_cluster() -> bool:
    """Whether Dask computes on a cluster, `dask.distributed`, from here."""
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


def _as_array(values: Any, name: str, ndim: int) -> Any:
    """A Dask array of a Dask collection, with all columns in one chunk. Raises DataError, DataTypeError."""
    array = values.to_dask_array() if hasattr(values, "to_dask_array") else values
    if not hasattr(array, "to_delayed") or not hasattr(array, "ndim"):
        raise DataTypeError(f"{name} must be a Dask array or data frame, got {type(values).__name__}")
    if ndim == 1 and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != ndim:
        raise DataError(f"{name} must have {ndim} dimensions, got {array.ndim}")
    if ndim == 2 and array.dtype is not None and array.dtype.kind not in "biufO":
        raise DataTypeError(f"{name} has entries of type {array.dtype}; samples must be numbers")
    return array.rechunk({1: -1}) if ndim == 2 and len(array.chunks[1]) > 1 else array


def _lengths(X: Any) -> tuple[float, ...]:
    """Rows of each chunk, (k,); NaN where they are not known."""
    return tuple(float(size) for size in X.chunks[0])


def _cut_otherwise(vector: Any, X: Any) -> bool:
    """Whether a vector is not cut as X, whose chunks are of sizes that are not known, must be."""
    return not is_dask(vector) or _as_array(vector, "y", 1).numblocks[0] != X.numblocks[0]


def _sized(array: Any) -> Any:
    """The array with sizes of its chunks that are known, which takes a look at all of them."""
    known = array.copy()  # what is found out is written into the object
    return known.compute_chunk_sizes()


def _aligned(values: Any, name: str, lengths: tuple[float, ...]) -> Any:
    """A vector with an entry for each row, cut as X is; of sizes that are not known where both are."""
    import dask.array as da

    known = not np.isnan(lengths).any()
    if is_dask(values):
        vector = _as_array(values, name, 1)
        own = _lengths(vector)
        if known and np.isnan(own).any() and len(own) != len(lengths):
            vector = _sized(vector)
            own = _lengths(vector)
        if not known or np.isnan(own).any():
            return vector  # each partition is compared with that of X
        if sum(own) != sum(lengths):
            raise DataError(f"{name} has {int(sum(own))} entries but X has {int(sum(lengths))} rows")
        return vector if own == lengths else vector.rechunk((tuple(int(size) for size in lengths),))
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional, got shape {array.shape}")
    if len(array) != sum(lengths):
        raise DataError(f"{name} has {len(array)} entries but X has {int(sum(lengths))} rows")
    return da.from_array(array, chunks=(tuple(int(size) for size in lengths),))
