"""Programs that the members of a team run on the workers of a cluster."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from qpsvm.base.errors import DataError
from qpsvm.base.resources.communicator import Team
from qpsvm.base.resources.interrupts import noted
from qpsvm.solve.distributed.member import Chunk, Order, Returned, solve_share


def every_way(team: Team, chunks: list[Chunk], **_: Any) -> Any:
    """What the members say, in every way; and the squared norms of the rows, which stay."""
    rank = team.rank
    mine = sum(float(np.sum(np.square(chunk.X))) for chunk in chunks)
    told = {
        "sum": team.sum(np.full(3, rank + 1.0)),
        "sums": team.sums(mine, np.array([rank, 1.0])),
        "count": team.count(sum(chunk.X.shape[0] for chunk in chunks)),
        "ends": (team.least(rank), team.most(rank), team.most(np.nan if rank else 0.0)),
        "truth": (team.any(rank == 1), team.all(rank == 1)),
        "joined": team.joined(np.array([chunk.first for chunk in chunks])),
        "agreed": team.agreed(("from", rank)),
        "types": {chunk.X.dtype.name for chunk in chunks},
    }
    return Returned(told, {"norms": np.concatenate([np.square(chunk.X).sum(axis=1) for chunk in chunks])})


def rounds(team: Team, chunks: list[Chunk], count: int, pause: float, begun: Any = None) -> Any:
    """Sums of squares, added up over so many rounds, each of which is noted."""
    total, first = (0.0, 0) if begun is None else (begun["total"], begun["round"])
    for k in range(first, count):
        total += team.sum(sum(float(np.sum(np.square(chunk.X))) for chunk in chunks))
        team.note({"total": total, "round": k + 1})
        time.sleep(pause)
    return total, first


def until_pressed(team: Team, _chunks: list[Chunk], **_: Any) -> int:
    """Rounds until the interrupt key is noted, which has to be in the same one on all members."""
    for k in range(100_000):
        team.note({"round": k})
        team.sum(1.0)
        if noted():
            return k
        time.sleep(0.01)
    return -1


def messages(team: Team, _chunks: list[Chunk], count: int, **_: Any) -> float:
    """Seconds a message of 40 numbers."""
    vector = np.ones(40)
    team.sum(vector)
    start = time.perf_counter()
    for _ in range(count):
        team.sum(vector)
    return (time.perf_counter() - start) / count


def faulty(team: Team, _chunks: list[Chunk], kind: str, **_: Any) -> Any:
    """Members that differ, or one that fails."""
    if kind == "ways":
        return team.sum(1.0) if team.rank else team.most(1.0)
    if kind == "shapes":
        return team.sum(np.ones(2 + team.rank))
    if kind == "leaves":
        return None if team.rank else team.sum(1.0)
    if team.rank:
        raise DataError("row 7 is no good") if kind == "refuses" else ZeroDivisionError("a bug")
    return team.sum(1.0)


def slow_share(team: Team, chunks: list[Chunk], order: Order, begun: Any = None) -> Any:
    """A member's solve that waits after each state, so that a blow is struck in the middle; not where it goes on."""
    note = team.note

    def slowly(state: Any) -> None:
        note(state)
        time.sleep(0.0 if begun is not None else 1.5)

    team.note = slowly  # type: ignore[method-assign]
    return solve_share(team, chunks, order, begun=begun)
