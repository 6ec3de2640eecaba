"""The optimum along a line of data, piece by piece, each piece judged before the next ones are believed.

Pieces are judged a batch at a time. Where one is worse than asked for, the path goes back to the last good breakpoint
and is followed from there again, with other random shifts and watched more closely. Where that does not help, it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.progress import Clock
from qpsvm.many.exact.active_set import ActiveSet, Stopped, Stuck
from qpsvm.many.exact.judge import PieceJudge
from qpsvm.many.exact.rows import Data, SignedRows

#: Pieces judged at a time; and after one of them was bad.
BATCH, WATCHED = 32, 4
#: How often the same place is tried again.
TRIES = 3
#: Width in s of a piece that is none: ties come one after the other.
SLIVER = 1e-11
#: Progress in s below which a path stands still.
LEAST_PROGRESS = 1e-9


@dataclass(frozen=True, eq=False)
class Piece:
    """v and μ from s to `end`: on the free rows `free` they move along, all other rows are at the bound of `kind`.

    kind (m,): −1 at lo, 0 free, 1 at hi.
    v (f,), dv (f,), mu (p,), dmu (p,): At s, and their slopes.
    """

    s: float
    end: float
    free: IntArray
    kind: NDArray[np.int8]
    v: FloatArray
    dv: FloatArray
    mu: FloatArray
    dmu: FloatArray

    def at(self, s: float, data: Data) -> tuple[FloatArray, FloatArray]:
        """v (m,) and μ at s, whose data these are."""
        v = np.where(self.kind > 0, data.hi, np.where(self.kind < 0, data.lo, 0.0))
        v[self.free] = self.v + (s - self.s) * self.dv
        return v, self.mu + (s - self.s) * self.dmu


class _Bad(Exception):
    """A piece is worse than was asked for."""


@dataclass(eq=False)
class Followed:
    """What was followed: the pieces up to `reached`, the relative gap of each, and why there are no more."""

    rows: SignedRows
    start: Data
    slope: Data
    pieces: list[Piece] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    ends: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]] = field(default_factory=list)
    reached: float = 0.0
    why: str = ""
    events: int = 0

    def data(self, s: float) -> Data:
        """The data at s."""
        return self.start.plus(s, self.slope)


def follow(
    rows: SignedRows,
    start: Data,
    goal: Data,
    v: FloatArray,
    tol: float,
    clock: Clock | None = None,
    progress: Callable[[float], None] | None = None,
) -> Followed:
    """From the optimum v (m,) of `start`, or a point near it, to that of `goal`."""
    found = Followed(rows, start, start.to(goal))
    judge = PieceJudge(rows)
    batch, tries, seed = BATCH, 0, 0
    while found.reached < 1.0:
        before = found.reached
        try:
            engine = ActiveSet(rows, found.data(found.reached), v, seed, clock).settle(found.data(found.reached))
            _followed(engine, found, judge, batch, tol, progress)
            found.why = ""
            return found
        except Stopped:
            found.why = "time_limit" if clock is None or clock.stopped() != "interrupted" else "interrupted"
            return found
        except (_Bad, Stuck, np.linalg.LinAlgError) as fault:
            found.why = str(fault)
        tries = tries + 1 if found.reached <= before + LEAST_PROGRESS else 0
        if tries > TRIES:
            return found
        batch, seed = WATCHED, seed + 1
        if found.pieces:
            v = found.ends[-1][2]
    return found


def _followed(
    engine: ActiveSet,
    found: Followed,
    judge: PieceJudge,
    batch: int,
    tol: float,
    progress: Callable[[float], None] | None,
) -> None:
    """The rest of the path, judged batch by batch. Raises _Bad, Stuck, Stopped, LinAlgError."""
    waiting: list[Piece] = []

    def record(s: float, end: float, at: ActiveSet, dv: FloatArray, dmu: FloatArray) -> None:
        found.events += 1
        begin = waiting[-1].end if waiting else found.reached
        if end - begin <= SLIVER < 1.0 - begin:  # which the next piece takes over
            return
        free, back = at.factor.free.copy(), begin - s
        waiting.append(Piece(begin, end, free, at.kind.copy(), at.v[free] + back * dv, dv, at.mu + back * dmu, dmu))
        if len(waiting) >= batch:
            _judge(found, judge, waiting, tol)
            if progress is not None:
                progress(found.reached)

    try:
        engine.advance(found.slope, record, found.reached)
    finally:
        _judge(found, judge, waiting, tol)
    if progress is not None:
        progress(found.reached)


def _judge(found: Followed, judge: PieceJudge, waiting: list[Piece], tol: float) -> None:
    """The waiting pieces, as long as they are good. Raises _Bad."""
    pieces = list(waiting)
    waiting.clear()
    if not pieces:
        return
    v: list[FloatArray] = []
    mu: list[FloatArray] = []
    data: list[Data] = []
    first: list[int] = []
    second: list[int] = []
    for piece in pieces:
        ends = []
        for s in (piece.s, piece.end):
            at = found.data(s)
            value, multiplier = piece.at(s, at)
            ends.append((judge.repaired(value, at), multiplier, at))
        if v and _same(v[-1], ends[0][0]) and _same(mu[-1], ends[0][1]):
            first.append(len(v) - 1)
        else:
            first.append(len(v))
            _add(ends[0], v, mu, data)
        second.append(len(v))
        _add(ends[1], v, mu, data)
    points = judge.points(v, mu, data)
    gaps = judge.gaps(points, np.array(first), np.array(second))
    measured = gaps if (gaps <= tol).all() else judge.gaps(points, np.array(first), np.array(second), counted=False)
    for k, (piece, gap) in enumerate(zip(pieces, gaps.tolist(), strict=True)):
        if not min(measured[k], gap) <= tol:
            raise _Bad(f"gap {measured[k]:.1e}")
        found.pieces.append(piece)
        found.gaps.append(gap)
        found.ends.append((v[first[k]], mu[first[k]], v[second[k]], mu[second[k]]))
        found.reached = piece.end


def _add(end: tuple[FloatArray, FloatArray, Data], v: list[FloatArray], mu: list[FloatArray], data: list[Data]) -> None:
    """One more point."""
    for known, part in zip((v, mu, data), end, strict=True):
        known.append(part)  # type: ignore[attr-defined]


def _same(one: FloatArray, other: FloatArray) -> bool:
    """Whether two vectors differ by a few roundings only."""
    size = float(np.abs(other).max(initial=0.0))
    return bool((np.abs(one - other) <= 64.0 * np.finfo(float).eps * size).all())
