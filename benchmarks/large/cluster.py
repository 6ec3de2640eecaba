"""Two workers on this machine, what they hold, and what Dask says that they have sent."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import qpsvm
from benchmarks.large.data import Table
from benchmarks.large.model import ENVELOPE
from benchmarks.large.weigh import weighed

#: Workers, one thread each: as many as the machine that the figures are from has cores.
WORKERS = 2
#: Partitions that each worker holds.
PARTS = 4
#: Rows and columns of the machine that is solved before the clock is started.
WARM_ROWS, WARM_COLUMNS = 2000, 3
#: Seconds in which the sizes of what the workers say now and then, without a solve, are counted.
IDLE_SECONDS = 2.0
#: Seconds by which a loop of events may oversleep.
COARSE = 2e-3


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
    parts = []
    for k, start in enumerate(range(0, table.n, step)):
        rows = min(step, table.n - start)
        part = client.submit(_read, str(table.rows), start, rows, workers=[addresses[k // PARTS]], pure=False)
        parts.append(da.from_delayed(part, (rows, table.d), np.float64))
    X = client.persist(da.concatenate(parts))
    wait(X)
    y = client.persist(X.map_blocks(_labels, str(table.target), dtype=np.float64, drop_axis=1))  # where its rows are
    wait(y)
    return X, y


def _read(path: str, start: int, rows: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start : start + rows], dtype=np.float64)


def _labels(block: Any, path: str, block_info: Any = None) -> Any:
    """Labels of a block of rows, (k,)."""
    start, _ = block_info[0]["array-location"][0] if block_info else (0, 0)
    return _read(path, start, len(block))


def on_cluster(table: Table, C: float, tol: float) -> dict[str, Any]:
    """Solve what two workers hold: seconds, memory of all processes beyond what they hold before, bytes they sent."""
    from benchmarks.large.entrants import facts_of

    with cluster() as client:
        X, y = spread(table, client)
        warm_up(tol)
        client.run(counting)
        time.sleep(IDLE_SECONDS)
        idle = sum(sent for _, _, sent in client.run(counts).values()) / IDLE_SECONDS
        client.run(counting)
        with weighed() as peak:
            start = time.perf_counter()
            result = qpsvm.solve(qpsvm.CSVM(X, y, C), tol=tol, check=False)
            seconds = time.perf_counter() - start
        found = list(client.run(counts).values())
        facts = facts_of(result)
    asked, said, sent = (sum(column) for column in zip(*found, strict=True))
    return {
        "seconds": seconds, "memory": peak.bytes, "sent": max(0.0, sent - idle * seconds), "idle": idle,
        "messages": asked, "spoken": said, **facts,
    }  # fmt: skip


def warm_up(tol: float) -> None:
    """A small machine on the same workers."""
    import dask.array as da

    X = np.random.default_rng(0).standard_normal((WARM_ROWS, WARM_COLUMNS))
    y = np.where(X @ np.arange(WARM_COLUMNS) > 0.0, 1.0, -1.0)
    half = WARM_ROWS // WORKERS
    qpsvm.solve(qpsvm.CSVM(da.from_array(X, (half, WARM_COLUMNS)), da.from_array(y, half)), tol=tol, check=False)


def counting(latency: float = 0.0, link: float = math.inf) -> None:
    """On a worker: count from now on what its connections write; of sums, messages and bytes besides.

    With a latency in seconds, or a link of so many bytes a second, what members say of sums is late: see `network`.
    """
    from distributed.comm.tcp import TCP

    written = getattr(TCP, "own_write", TCP.write)
    TCP.own_write, TCP.counts = written, [0, 0, 0]
    link_is_free = asyncio.Lock()

    async def write(self: Any, message: Any, *more: Any, **options: Any) -> Any:
        kind = message.get("kind") if isinstance(message, dict) else None
        if kind in ("ask", "told"):
            length = len(message["values"]) + ENVELOPE
            if link < math.inf:
                async with link_is_free:  # one message of a process after the other
                    await _waited(length / link)
            if latency:
                await _waited(latency)
        sent = await written(self, message, *more, **options)
        TCP.counts[2] += sent
        if kind == "ask":
            TCP.counts[0] += 1
            TCP.counts[1] += sent
        return sent

    TCP.write = write


async def _waited(seconds: float) -> None:
    """Exactly so long: loops of events sleep up to some milliseconds more, which would be most of a short latency."""
    end = time.perf_counter() + seconds
    if seconds > COARSE:
        await asyncio.sleep(seconds - COARSE)
    while time.perf_counter() < end:
        await asyncio.sleep(0.0)


def counts() -> tuple[int, int, int]:
    """On a worker: sums that it has asked for over the wire, the bytes of these messages, and all bytes sent."""
    from distributed.comm.tcp import TCP

    asked, said, sent = TCP.counts
    return asked, said, sent
