"""The cost model held against workers whose messages are late and whose link is narrow.

Two processes on one machine are each other's neighbours; here Dask's own connections wait before they write: λ for the
way, and the message's length over ω for the link, one message of a process after the other. So the time of a solve can
be compared with (COST.4) and (COST.5), of which everything is known: messages and bytes are counted where they are
written. Kernels that have it can do the same to a whole network by `tc qdisc … netem`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import qpsvm
from benchmarks.large.cluster import cluster, counting, counts, spread, warm_up
from benchmarks.large.data import Table
from benchmarks.large.model import Machines, Work, cost


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
            work = Work(table.n, table.d, 0.0, 0, 0.0, 0.0, fastest["messages"], fastest["spoken"])
            slow = Machines(2, 1.0, 1.0, network.latency, network.link, 0.0, 0.0)
            yield {
                "task": f"{table.title()}, {network.name}", "network": network.name, "n": table.n, "d": table.d,
                **fastest, "predicted": base + cost(work, slow).seconds, "turns": TURNS,
            }  # fmt: skip


def _run(client: Any, network: Network, X: Any, y: Any, C: float) -> dict[str, Any]:
    client.run(counting, network.latency, network.link)
    start = time.perf_counter()
    result = qpsvm.solve(qpsvm.CSVM(X, y, C), check=False)
    seconds = time.perf_counter() - start
    asked, said, _ = (sum(column) for column in zip(*client.run(counts).values(), strict=True))
    return {
        "outcome": "ran", "seconds": seconds, "gap": float(result.gap), "iterations": result.iterations,
        "messages": asked, "spoken": said,
    }  # fmt: skip
