"""Two workers on this machine, what they hold, and what Dask says that they have sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import qpsvm
from benchmarks.large.data import Table
from benchmarks.large.weigh import weighed

#: Workers, one thread each: as many as the machine that the figures are from has cores.
WORKERS = 2
#: Partitions that each worker holds.
PARTS = 4
#: Rows and columns of the machine that is solved before the clock is started.
WARM_ROWS, WARM_COLUMNS = 2000, 3
#: Seconds in which the sizes of what the workers say now and then, without a solve, are counted.
IDLE_SECONDS = 2.0


@contextmanager
def cluster(workers: int = WORKERS) -> Iterator[Any]:
    """A client of as many workers, processes of one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        Client(local) as client,
    ):
        yield client


def spread(table: Table, client: Any) -> tuple[Any, Any]:
    """The table as Dask arrays X (n, d) and y (n,), each partition read by the worker that then holds it."""
    import dask.array as da
    from distributed import wait

    addresses = sorted(client.scheduler_info()["workers"])
    step = -(-table.n // (PARTS * len(addresses)))
    starts = range(0, table.n, step)
    found = []
    for path, width in ((table.rows, (table.d,)), (table.target, ())):
        parts = []
        for k, start in enumerate(starts):
            rows, worker = min(step, table.n - start), addresses[k // PARTS]
            part = client.submit(_read, str(path), start, rows, workers=[worker], pure=False)
            parts.append(da.from_delayed(part, (rows, *width), np.float64))
        found.append(da.concatenate(parts))
    X, y = client.persist(found)
    wait([X, y])
    return X, y


def _read(path: str, start: int, rows: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start : start + rows], dtype=np.float64)


def on_cluster(table: Table, C: float, tol: float) -> dict[str, Any]:
    """Solve what two workers hold: seconds, memory of all processes beyond what they hold before, bytes they sent."""
    from benchmarks.large.entrants import facts_of

    with cluster() as client:
        X, y = spread(table, client)
        warm_up(tol)
        client.run(_count)
        time.sleep(IDLE_SECONDS)
        idle = sum(client.run(_counted).values()) / IDLE_SECONDS
        client.run(_count)
        with weighed() as peak:
            start = time.perf_counter()
            result = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=tol, check=False)
            seconds = time.perf_counter() - start
        sent = client.run(_counted)
        facts = facts_of(result)
    return {
        "seconds": seconds, "memory": peak.bytes, "sent": max(0.0, sum(sent.values()) - idle * seconds), "idle": idle,
        **facts,
    }  # fmt: skip


def warm_up(tol: float) -> None:
    """A small machine on the same workers."""
    import dask.array as da

    X = np.random.default_rng(0).standard_normal((WARM_ROWS, WARM_COLUMNS))
    y = np.where(X @ np.arange(WARM_COLUMNS) > 0.0, 1.0, -1.0)
    half = WARM_ROWS // WORKERS
    qpsvm.solve(qpsvm.CSVM(da.from_array(X, (half, WARM_COLUMNS)), da.from_array(y, half)), tol=tol, check=False)


def _count() -> None:
    """On a worker: add up, from now on, what its connections say that they have written."""
    from distributed.comm.tcp import TCP

    written = getattr(TCP, "uncounted_write", TCP.write)
    TCP.uncounted_write, TCP.sent_bytes = written, 0

    async def write(self: Any, *message: Any, **options: Any) -> Any:
        sent = await written(self, *message, **options)
        TCP.sent_bytes += sent
        return sent

    TCP.write = write


def _counted() -> float:
    """On a worker: the bytes so far."""
    from distributed.comm.tcp import TCP

    return float(TCP.sent_bytes)
