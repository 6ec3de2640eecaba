"""Programs that the members of a communicator run on the workers of a cluster."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from qpsvm.base.errors import DataError
from qpsvm.base.resources.communicator import Communicator
from qpsvm.base.resources.progress import noted
from qpsvm.solve.distributed.member import Chunk, Order, Returned, solve_share


def every_way(comm: Communicator, chunks: list[Chunk], **_: Any) -> Any:
    """What the members say, in every way; and the squared norms of the rows, which stay."""
    rank = comm.rank
    mine = sum(float(np.sum(np.square(chunk.X))) for chunk in chunks)
    told = {
        "sum": comm.sum(np.full(3, rank + 1.0)),
        "sums": comm.sums(mine, np.array([rank, 1.0])),
        "count": comm.count(sum(chunk.X.shape[0] for chunk in chunks)),
        "ends": (comm.min(rank), comm.max(rank), comm.max(np.nan if rank else 0.0)),
        "truth": (comm.any(rank == 1), comm.all(rank == 1)),
        "allgather": comm.allgather(np.array([chunk.first for chunk in chunks])),
        "broadcast": comm.broadcast(("from", rank)),
        "types": {chunk.X.dtype.name for chunk in chunks},
    }
    return Returned(told, {"norms": np.concatenate([np.square(chunk.X).sum(axis=1) for chunk in chunks])})


def rounds(comm: Communicator, chunks: list[Chunk], count: int, pause: float, begun: Any = None) -> Any:
    """Sums of squares, added up over so many rounds, each of which is noted."""
    total, first = (0.0, 0) if begun is None else (begun["total"], begun["round"])
    for k in range(first, count):
        total += comm.sum(sum(float(np.sum(np.square(chunk.X))) for chunk in chunks))
        comm.note({"total": total, "round": k + 1})
        time.sleep(pause)
    return total, first


def until_pressed(comm: Communicator, _chunks: list[Chunk], **_: Any) -> int:
    """Rounds until the interrupt key is noted, which has to be in the same one on all members."""
    for k in range(100_000):
        comm.note({"round": k})
        comm.sum(1.0)
        if noted():
            return k
        time.sleep(0.01)
    return -1


def messages(comm: Communicator, _chunks: list[Chunk], count: int, **_: Any) -> float:
    """Seconds a message of 40 numbers."""
    vector = np.ones(40)
    comm.sum(vector)
    start = time.perf_counter()
    for _ in range(count):
        comm.sum(vector)
    return (time.perf_counter() - start) / count


def faulty(comm: Communicator, _chunks: list[Chunk], kind: str, **_: Any) -> Any:
    """Members that differ, or one that fails."""
    if kind == "ways":
        return comm.sum(1.0) if comm.rank else comm.max(1.0)
    if kind == "shapes":
        return comm.sum(np.ones(2 + comm.rank))
    if kind == "leaves":
        return None if comm.rank else comm.sum(1.0)
    if comm.rank:
        raise DataError("row 7 is no good") if kind == "refuses" else ZeroDivisionError("a bug")
    return comm.sum(1.0)


def slow_share(comm: Communicator, chunks: list[Chunk], order: Order, begun: Any = None) -> Any:
    """A member's solve that waits after each state, so that a blow is struck in the middle; not where it goes on."""
    note = comm.note

    def slowly(state: Any) -> None:
        note(state)
        time.sleep(0.0 if begun is not None else 1.5)

    comm.note = slowly  # type: ignore[method-assign]
    return solve_share(comm, chunks, order, begun=begun)
