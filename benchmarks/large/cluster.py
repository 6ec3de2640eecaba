"""Two workers on this machine, what they hold, and what Dask says that they have sent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import qpsvm
from benchmarks.large.data import LargeTable
from benchmarks.large.weigh import sample_memory
from qpsvm.data.sources.dask_rows import DaskRows

#: Workers, one thread each: as many as the machine that the figures are from has cores.
WORKERS = 2
#: Partitions that each worker holds.
PARTS = 4
#: Rows and columns of the machine that is solved before the clock is started.
WARM_ROWS, WARM_COLUMNS = 2000, 3


@contextmanager
def start_cluster(workers: int = WORKERS) -> Iterator[Any]:
    """A client of as many workers, processes of one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        Client(local) as client,
    ):
        yield client


def distribute_table(table: LargeTable, client: Any) -> tuple[Any, Any]:
    """The table as Dask arrays X (n, d) and y (n,), each partition read by the worker that then holds it."""
    import dask.array as da
    from distributed import wait

    addresses = sorted(client.scheduler_info()["workers"])
    step = -(-table.n // (PARTS * len(addresses)))
    parts = []
    for k, start in enumerate(range(0, table.n, step)):
        rows = min(step, table.n - start)
        part = client.submit(_read_rows, str(table.rows_path), start, rows, workers=[addresses[k // PARTS]], pure=False)
        parts.append(da.from_delayed(part, (rows, table.d), np.float64))
    X = client.persist(da.concatenate(parts))
    wait(X)
    y = client.persist(
        X.map_blocks(_read_labels, str(table.target_path), dtype=np.float64, drop_axis=1)
    )  # where its rows are
    wait(y)
    return X, y


def _read_rows(path: str, start: int, rows: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start : start + rows], dtype=np.float64)


def _read_labels(block: Any, path: str, block_info: Any = None) -> Any:
    """Labels of a block of rows, (k,)."""
    start, _ = block_info[0]["array-location"][0] if block_info else (0, 0)
    return _read_rows(path, start, len(block))


def solve_on_cluster(table: LargeTable, C: float, tol: float) -> dict[str, Any]:
    """Solve what two workers hold.

    Seconds, memory of all processes beyond what they hold before, graphs, and the bytes that workers and this process
    have written.
    """
    from benchmarks.large.entrants import collect_facts

    with start_cluster() as client, count_graphs() as graphs:
        X, y = distribute_table(table, client)
        warm_up(tol)
        client.run(count_written_bytes)
        count_written_bytes()
        graphs.clear()
        with sample_memory() as peak:
            start = time.perf_counter()
            result = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=tol, check=False)
            seconds = time.perf_counter() - start
        down = sum(client.run(get_written_bytes).values())
        up = get_written_bytes()
        facts = collect_facts(result)
    return {
        "seconds": seconds, "memory": peak.bytes, "graphs": len(graphs), "tasks": sum(graphs), "down": down, "up": up,
        **facts,
    }  # fmt: skip


@contextmanager
def count_graphs() -> Iterator[list[int]]:
    """The tasks of each graph that is computed."""
    computed = DaskRows._compute
    found = list[int]()

    def record_calls(self: DaskRows, calls: Sequence[Any]) -> list[Any]:
        found.append(len(calls))
        return computed(self, calls)

    DaskRows._compute = record_calls  # type: ignore[method-assign]
    try:
        yield found
    finally:
        DaskRows._compute = computed  # type: ignore[method-assign]


def warm_up(tol: float) -> None:
    """A small machine on the same workers."""
    import dask.array as da

    X = np.random.default_rng(0).standard_normal((WARM_ROWS, WARM_COLUMNS))
    y = np.where(X @ np.arange(WARM_COLUMNS) > 0.0, 1.0, -1.0)
    half = WARM_ROWS // WORKERS
    qpsvm.solve(qpsvm.CSVM(da.from_array(X, (half, WARM_COLUMNS)), da.from_array(y, half)), tol=tol, check=False)


def count_written_bytes() -> None:
    """Count from now on what the connections of this process write."""
    from distributed.comm.tcp import TCP

    own = getattr(TCP, "own_write", TCP.write)
    TCP.own_write = own
    TCP.counted = 0

    async def write(self: Any, message: Any, *more: Any, **options: Any) -> Any:
        sent = await own(self, message, *more, **options)
        TCP.counted += sent
        return sent

    TCP.write = write


def get_written_bytes() -> int:
    """The bytes that they have written."""
    from distributed.comm.tcp import TCP

    return int(TCP.counted)
