"""Follow the optimum along a line of data, and certify each linear piece.

Pieces are judged a batch at a time. Where one is worse than asked for, the path goes back to the last good breakpoint
and is followed from there again, with other random shifts and watched more closely. Where that does not help, it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.many.exact.active_set import ActiveSet, Stopped, Stuck
from qpsvm.many.exact.events import Steps
from qpsvm.many.exact.judge import PathPoints, PieceJudge
from qpsvm.many.exact.rows import Data, SignedRows

#: Pieces judged at a time; and after one of them was bad.
BATCH, WATCHED = 96, 4
#: How often the same place is tried again.
TRIES = 3
#: Width in s of a piece that is none: ties come one after the other.
SLIVER = 1e-11
#: Progress in s below which a path is stuck.
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

    def evaluate(self, s: float, data: Data) -> tuple[FloatArray, FloatArray]:
        """Return v (m,) and μ at s, given the data at s."""
        v = np.where(self.kind > 0, data.hi, np.where(self.kind < 0, data.lo, 0.0))
        v[self.free] = self.v + (s - self.s) * self.dv
        return v, self.mu + (s - self.s) * self.dmu


class _PieceRejected(Exception):
    """A piece is worse than was asked for."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Pieces one after the other: s and the end of each (k, 2), kinds (k, m), μ and its slope (k, p).

    offset (k + 1,): Where the rows of each piece begin in `free`, v and dv, which are those of a `Piece`.
    """

    s: FloatArray
    kinds: NDArray[np.int8]
    offset: IntArray
    free: IntArray
    v: FloatArray
    dv: FloatArray
    mu: FloatArray
    dmu: FloatArray

    def __len__(self) -> int:
        return len(self.s)

    def piece(self, k: int) -> Piece:
        """Return piece k."""
        own = slice(int(self.offset[k]), int(self.offset[k + 1]))
        s, end = self.s[k].tolist()
        return Piece(s, end, self.free[own], self.kinds[k], self.v[own], self.dv[own], self.mu[k], self.dmu[k])


@dataclass(frozen=True, eq=False)
class CertifiedStretch:
    """A stretch, its gaps (k,), and v (c, m), μ (c, p), s (c,) of points, two of which are the ends of a piece.

    first, second (k,): Which ones.
    steady (n,): The samples whose v is at its bound on all of the pieces.
    """

    stretch: Stretch
    gaps: FloatArray
    v: FloatArray
    mu: FloatArray
    s: FloatArray
    first: IntArray
    second: IntArray
    steady: NDArray[np.bool_]


@dataclass(eq=False)
class FollowedPath:
    """What was followed: the pieces up to `reached`, the relative gap of each, and why there are no more."""

    rows: SignedRows
    start: Data
    slope: Data
    parts: list[CertifiedStretch] = field(default_factory=list)
    reached: float = 0.0
    why: str = ""
    events: int = 0

    def data(self, s: float) -> Data:
        """The data at s."""
        return self.start.step_along(s, self.slope)

    @property
    def s(self) -> FloatArray:
        """s and the end of each piece: (k, 2)."""
        return np.concatenate([np.empty((0, 2)), *(part.stretch.s[: len(part.gaps)] for part in self.parts)])

    @property
    def gaps(self) -> FloatArray:
        """The relative gap of each piece: (k,)."""
        return np.concatenate([np.empty(0), *(part.gaps for part in self.parts)])

    @property
    def free(self) -> IntArray:
        """Number of free rows on each piece: (k,)."""
        counts = (np.diff(part.stretch.offset)[: len(part.gaps)] for part in self.parts)
        return np.concatenate([np.empty(0, dtype=np.int64), *counts])

    def piece(self, k: int) -> Piece:
        """Piece k."""
        for part in self.parts:
            if k < len(part.gaps):
                return part.stretch.piece(k)
            k -= len(part.gaps)
        raise IndexError(k)


class _PendingPieces:
    """Steps that are pieces, until they are judged."""

    def __init__(self, reached: float) -> None:
        self.end = reached
        self.ends: list[tuple[float, float]] = []
        self.parts: list[tuple[Any, ...]] = []

    def add_steps(self, steps: Steps) -> None:
        """Store the steps that are wide enough; narrower ones are joined to the next."""
        kept, begins = [], []
        for k, (s, end) in enumerate(steps.numbers[: steps.count, :2].tolist()):
            if not end - self.end <= SLIVER < 1.0 - self.end:
                kept.append(k)
                begins.append(self.end - s)
                self.ends.append((self.end, end))
                self.end = end
        if not kept:
            return
        some: Any = slice(steps.count) if len(kept) == steps.count else kept
        p, back = steps.p, np.array(begins)
        counts, width = steps.rows[some, 0], int(steps.rows[some, 0].max())
        inside = np.arange(width) < counts[:, None]
        first = 2 + 2 * p
        v, dv = (steps.numbers[some, at : at + width][inside] for at in (first, first + steps.width))
        if back.any():
            v = v + np.repeat(back, counts) * dv
        dmu = steps.numbers[some, 2 + p : first].copy()
        mu = steps.numbers[some, 2 : 2 + p] + back[:, None] * dmu
        rows = steps.rows[some, 1 : 1 + width][inside]
        self.parts.append((steps.kinds[some].copy(), counts.copy(), rows, v, dv, mu, dmu))

    def stretch(self) -> Stretch:
        """Return all pending pieces as a stretch, and clear them."""
        kinds, counts, *rest = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        s = np.array(self.ends)
        self.parts.clear()
        self.ends.clear()
        return Stretch(s, kinds, np.append(0, np.cumsum(counts)), *rest)


def follow(
    rows: SignedRows,
    start: Data,
    goal: Data,
    v: FloatArray,
    tol: float,
    clock: Clock | None = None,
    progress: Callable[[float], None] | None = None,
) -> FollowedPath:
    """Follow the optimum from v (m,) of `start`, or a point near it, to that of `goal`."""
    found = FollowedPath(rows, start, start.difference_to(goal))
    judge = PieceJudge(rows)
    batch, tries, seed = BATCH, 0, 0
    while found.reached < 1.0:
        before = found.reached
        try:
            engine = ActiveSet(rows, found.data(found.reached), v, seed, clock).settle(found.data(found.reached))
            _follow_rest(engine, found, judge, batch, tol, progress)
            found.why = ""
            return found
        except Stopped:
            found.why = "time_limit" if clock is None or clock.find_stop_reason() != "interrupted" else "interrupted"
            return found
        except (_PieceRejected, Stuck, np.linalg.LinAlgError) as fault:
            stopped = None if clock is None else clock.find_stop_reason()
            found.why = stopped or str(fault)
            if stopped:  # a start that there was no time for leads nowhere, and is no fault of rounding
                return found
        tries = tries + 1 if found.reached <= before + LEAST_PROGRESS else 0
        if tries > TRIES:
            return found
        batch, seed = WATCHED, seed + 1
        if found.parts:
            last = found.parts[-1]
            v = last.v[last.second[len(last.gaps) - 1]]
    return found


def _follow_rest(
    engine: ActiveSet,
    found: FollowedPath,
    judge: PieceJudge,
    batch: int,
    tol: float,
    progress: Callable[[float], None] | None,
) -> None:
    """Follow the rest of the path, certified batch by batch. Raises `_PieceRejected`, Stuck, Stopped, LinAlgError."""
    waiting = _PendingPieces(found.reached)

    def record(steps: Steps) -> None:
        found.events += steps.count
        waiting.add_steps(steps)
        if len(waiting.ends) >= batch:
            _judge(found, judge, waiting, tol)
            if progress is not None:
                progress(found.reached)

    try:
        engine.advance(found.slope, record, found.reached)
    finally:
        _judge(found, judge, waiting, tol)
    if progress is not None:
        progress(found.reached)


def _judge(found: FollowedPath, judge: PieceJudge, waiting: _PendingPieces, tol: float) -> None:
    """Certify the pending pieces, up to the first bad one. Raises `_PieceRejected`."""
    if not waiting.ends:
        return
    stretch = waiting.stretch()
    steady = np.ones(len(found.rows.K), dtype=np.bool_)
    kinds = stretch.kinds
    steady[found.rows.sample[(kinds != kinds[0]).any(axis=0) | (kinds[0] == 0)]] = False
    points, s, first, second = (_ends if core.compiled is None else _compiled_ends)(found, judge, stretch, steady)
    gaps = judge.gaps(points, first, second)
    measured = gaps if (gaps <= tol).all() else judge.gaps(points, first, second, counted=False)
    bad = np.flatnonzero(~(np.minimum(gaps, measured) <= tol))
    good = int(bad[0]) if len(bad) else len(gaps)
    if good:
        first, second = first[:good], second[:good]
        kept = int(second[-1]) + 1
        v, mu = points.v.T[:kept], points.mu.T[:kept]
        found.parts.append(CertifiedStretch(stretch, gaps[:good], v, mu, s[:kept], first, second, steady))
        found.reached = float(stretch.s[good - 1, 1])
    if len(bad):
        raise _PieceRejected(f"gap {measured[good]:.1e}")


def _compiled_ends(
    found: FollowedPath, judge: PieceJudge, stretch: Stretch, steady: NDArray[np.bool_]
) -> tuple[PathPoints, FloatArray, IntArray, IntArray]:  # fmt: skip
    """The points at the ends of pieces, their s, and which of them are the ends of each: (k,)."""
    k, m, p = len(stretch), found.rows.m, found.rows.p
    start, slope = found.start, found.slope
    sums = [judge.mixing @ data.e[judge.hard] if judge.mixing is not None else np.zeros(0) for data in (start, slope)]
    out = [np.empty((2 * k, m)), *(judge.reserve_buffer(name, 2 * k, m) for name in ("t", "lo", "hi"))]
    mu, s = np.empty((2 * k, p)), np.empty(2 * k)
    first, second = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    count = core.compiled.piece_ends((
        judge.of_row, start.t, start.lo, start.hi, slope.t, slope.lo, slope.hi, *sums, stretch.free, stretch.v,
        stretch.dv, stretch.offset, stretch.kinds, stretch.s, stretch.mu, stretch.dmu, *out, mu, s, first, second,
    ))  # fmt: skip
    v, t, lo, hi = (each[:count].T for each in out)
    s = s[:count]
    e = start.e[:, None] + slope.e[:, None] * s
    return judge.points_along(v, mu[:count].T, t, lo, hi, e, s, steady), s, first, second


def _ends(
    found: FollowedPath, judge: PieceJudge, stretch: Stretch, steady: NDArray[np.bool_]
) -> tuple[PathPoints, FloatArray, IntArray, IntArray]:  # fmt: skip
    """Return the ends of the pieces, without compiled code."""
    v: list[FloatArray] = []
    mu: list[FloatArray] = []
    s: list[float] = []
    first: list[int] = []
    second: list[int] = []
    for k in range(len(stretch)):
        piece = stretch.piece(k)
        for places, place in ((first, piece.s), (second, piece.end)):
            data = found.data(place)
            value, multiplier = piece.evaluate(place, data)
            value = judge.repair(value, data)
            if not (places is first and v and _is_close(v[-1], value) and _is_close(mu[-1], multiplier)):
                v.append(value)
                mu.append(multiplier)
                s.append(place)
            places.append(len(v) - 1)
    at = np.array(s)
    t, lo, hi, e = (a[:, None] + b[:, None] * at for a, b in zip(found.start.parts, found.slope.parts, strict=True))
    points = judge.points_along(np.array(v).T, np.array(mu).T, t, lo, hi, e, at, steady)
    return points, at, np.array(first), np.array(second)


def _is_close(one: FloatArray, other: FloatArray) -> bool:
    """Return whether two vectors differ by a few roundings only."""
    size = float(np.abs(other).max(initial=0.0))
    return bool((np.abs(one - other) <= 64.0 * np.finfo(float).eps * size).all())
