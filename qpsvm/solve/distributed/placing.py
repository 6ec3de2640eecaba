"""Where the rows of a Dask collection are: which worker holds which partitions, in the order of the rows.

A partition is looked at on a worker that holds it, and nowhere else. Addresses are asked for at the beginning of each
run, and kept no longer than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.errors import DataError, UnsupportedError
from qpsvm.data.sources.dask_rows import DaskRows, cluster_faults, fault_of, is_killed

#: What Dask calls the ways of computing without a cluster.
IN_THIS_PROCESS = ("threads", "threading", "sync", "synchronous", "single-threaded", "processes", "multiprocessing")
#: Entries that make a worker worth its messages: a pass over them takes as long as a message, a millisecond.
WORTH = 1_000_000
#: Rows of the worker that has the most, in those that each would have: with more, the others would wait.
UNEVEN = 1.1


@dataclass(frozen=True, eq=False)
class Placed:
    """The partitions of a table on a cluster.

    rows: The table, with what is known of each partition.
    features: The partitions of X.
    target, weight or None: Those of the vectors.
    worth: Entries for each worker from which on partitions are moved to where fewer rows are.
    """

    rows: DaskRows
    client: Any
    features: list[Any]
    target: list[Any] | None
    weight: list[Any] | None
    worth: int = WORTH

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition."""
        return [part.rows for part in self.rows.facts]

    def parts(self, k: int) -> list[Any]:
        """The futures of partition k: of X, y and weight, None where there is no such vector."""
        return [None if each is None else each[k] for each in (self.features, self.target, self.weight)]

    def futures(self) -> list[Any]:
        """All of them."""
        return [*self.features, *(self.target or []), *(self.weight or [])]

    def holders(self) -> dict[str, list[int]]:
        """The partitions that each worker is to look at, by its address; those without rows are left out.

        A partition is looked at where it is. Where that leaves much more to one worker than to another, some partitions
        go to another worker, once. Raises KeyError.
        """
        who = self.client.who_has(self.features)
        loads = dict.fromkeys(sorted(self.client.nthreads()), 0)
        found: dict[str, list[int]] = {name: [] for name in loads}
        for k, (part, length) in enumerate(zip(self.features, self.lengths, strict=True)):
            there = loads.keys() & set(who.get(part.key, ()))
            if length and not there:
                raise KeyError(part.key)
            if length:
                address = min(sorted(there), key=lambda name: loads[name])
                loads[address] += length
                found[address].append(k)
        if self.rows.entries >= self.worth * len(loads):
            _balance(found, loads, self.lengths)
        named = ((name, sorted(numbers)) for name, numbers in found.items() if numbers)
        return dict(sorted(named, key=lambda item: item[1][0]))


def _balance(found: dict[str, list[int]], loads: dict[str, int], lengths: Sequence[int]) -> None:
    """Give partitions of the worker that has the most rows to the one that has the fewest, as long as that helps."""
    for _ in lengths:
        most, least = (choose(loads, key=lambda name: loads[name]) for choose in (max, min))
        excess = loads[most] - loads[least]
        helping = [k for k in found[most] if lengths[k] < excess]
        if loads[most] * len(loads) <= UNEVEN * sum(loads.values()) or not helping:
            return
        k = min(helping, key=lambda number: abs(2 * lengths[number] - excess))
        found[most].remove(k)
        found[least].append(k)
        loads[most] -= lengths[k]
        loads[least] += lengths[k]


def chosen_client(collection: Any = None) -> Any:
    """The client of a cluster: that of the collection, or the current one. Raises UnsupportedError."""
    try:
        import dask
        import distributed
    except ImportError:
        return None
    with cluster_faults():
        futures = [] if collection is None else distributed.futures_of(collection)
    client = futures[0].client if futures else None
    if client is None:
        if dask.config.get("scheduler", None) in IN_THIS_PROCESS:
            return None
        try:
            client = distributed.default_client()
        except ValueError:
            return None
    if client.asynchronous:
        raise UnsupportedError("the Dask client is asynchronous: make one by Client(…, asynchronous=False)")
    return client


def place(X: Any, y: Any = None, weight: Any = None, client: Any = None, worth: int = WORTH) -> Placed:
    """Put the partitions of a table where they are looked at, once. Shapes: X (n, d), y, weight (n,)."""
    rows = X if isinstance(X, DaskRows) else DaskRows(X, y, weight)
    client = client if client is not None else chosen_client(rows.collection)
    if client is None:
        raise UnsupportedError("there is no Dask cluster to compute on: make a distributed.Client first")
    from distributed import wait

    given = [rows.collection, *rows.vectors]
    there = [_futures(collection, client) for collection in given]
    rest = iter(there[1:])
    target, weight = (None if each is None else next(rest) for each in (rows.target, rows.weight))
    placed = Placed(rows, client, there[0], target, weight, worth)
    with cluster_faults():
        wait(placed.futures())
    check_parts(placed.futures(), len(placed.features))
    return placed


def _futures(collection: Any, client: Any) -> list[Any]:
    """The futures of the partitions of a persisted collection, in their order. Raises UnsupportedError."""
    with cluster_faults():
        known = {future.key: future for future in client.futures_of(collection)}
    keys = np.array(collection.__dask_keys__(), dtype=object)
    flat = [tuple(key) for key in keys.reshape(-1, keys.shape[-1])]
    if not set(flat) <= known.keys():
        raise UnsupportedError("the collection is not on this cluster: make its client the current one first")
    return [known[key] for key in flat]


def check_parts(futures: Sequence[Any], count: int) -> None:
    """Raise what has kept a partition from being computed, of `count` in a vector. Raises DataError, ClusterError."""
    for k, future in enumerate(futures):
        if future.status == "error":
            error = future.exception()
            wrong = DataError(f"partition {k % count} cannot be computed: {error}")
            raise fault_of(error) if is_killed(error) else wrong from error


__all__ = ["Placed", "chosen_client", "place"]
