"""The cost model held against workers whose messages are late and whose link is narrow.

Two processes on one machine are each other's neighbours; here Dask's own connections wait before they write: λ for the
way, and the message's length over ω for the link, one message of a process after the other. So the time of a solve can
be compared with (COST.4) and (COST.5), of which everything is known: messages and bytes are counted where they are
written. Kernels that have it can do the same to a whole network by `tc qdisc … netem`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import qpsvm
from benchmarks.large.cluster import cluster, spread, warm_up
from benchmarks.large.data import Table
from benchmarks.large.model import ENVELOPE, Machines, Work, cost


@dataclass(frozen=True)
class Network:
    """λ in seconds and ω in bytes a second."""

    name: str
    latency: float
    link: float


#: Networks by what they are like: none, one of a data centre, one between cities, a narrow one.
NETWORKS = (
    Network("as it is", 0.0, float("inf")),
    Network("0.5 ms", 5e-4, float("inf")),
    Network("5 ms", 5e-3, float("inf")),
    Network("20 ms", 2e-2, float("inf")),
    Network("1 MB/s", 0.0, 1e6),
    Network("5 ms, 1 MB/s", 5e-3, 1e6),
)
#: Solves of which the fastest counts: what else the machine does makes one slower and never faster.
TURNS = 3


def checked(table: Table, C: float) -> Iterator[dict[str, Any]]:
    """A line for each network: seconds as measured and as predicted from those without a network."""
    with cluster() as client:
        X, y = spread(table, client)
        warm_up(1e-6)
        base = 0.0
        for network in NETWORKS:
            runs = [_run(client, network, X, y, C) for _ in range(TURNS)]
            fastest = min(runs, key=lambda run: float(run["seconds"]))
            base = base or fastest["seconds"]
            work = Work(table.n, table.d, 0.0, 0, 0.0, 0.0, fastest["messages"], fastest["sent"])
            slow = Machines(2, 1.0, 1.0, network.latency, network.link, 0.0, 0.0)
            yield {
                "task": f"{table.title()}, {network.name}", "network": network.name, "n": table.n, "d": table.d,
                **fastest, "predicted": base + cost(work, slow).seconds, "turns": TURNS,
            }  # fmt: skip


def _run(client: Any, network: Network, X: Any, y: Any, C: float) -> dict[str, Any]:
    client.run(_slow, network.latency, network.link)
    start = time.perf_counter()
    result = qpsvm.solve(qpsvm.CSVM(X, y, C), check=False)
    seconds = time.perf_counter() - start
    counted = client.run(_counts).values()
    return {
        "seconds": seconds, "gap": float(result.gap), "iterations": result.iterations,
        "messages": max(asks for asks, _ in counted), "sent": float(max(sent for _, sent in counted)),
    }  # fmt: skip


def _slow(latency: float, link: float) -> None:
    """On a worker: what members say to each other is late from now on, and counted."""
    from distributed.comm.tcp import TCP

    written = getattr(TCP, "quick_write", TCP.write)
    TCP.quick_write, TCP.asks, TCP.said = written, 0, 0
    free = asyncio.Lock()

    async def write(self: Any, message: Any, *more: Any, **options: Any) -> Any:
        kind = message.get("kind") if isinstance(message, dict) else None
        if kind not in ("ask", "told"):
            return await written(self, message, *more, **options)
        TCP.asks, TCP.said = TCP.asks + 1, TCP.said + len(message["values"]) + ENVELOPE
        if link < float("inf"):
            async with free:
                await asyncio.sleep((len(message["values"]) + ENVELOPE) / link)
        if latency:
            await asyncio.sleep(latency)
        return await written(self, message, *more, **options)

    TCP.write = write


def _counts() -> tuple[int, int]:
    """On a worker: messages of a sum that it has written, and their bytes."""
    from distributed.comm.tcp import TCP

    return TCP.asks, TCP.said
