"""Follow the optimum of (SIGNED.1) while its data move along a line, and certify each linear piece (`follow`).

At the position s, from 0 to 1, the data are `start` + s `slope`. An `ActiveSet` moves from event to event. A step
between two events is a piece, on which v and μ are linear in s, and a `PieceCertifier` certifies pieces in batches. If
a gap exceeds the tolerance, the path is followed again from the last good breakpoint, with other random shifts (of
ties) and smaller batches. If that does not help, the path ends there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.many.exact.active_set import ActiveSet, PathBreakdown, Stopped
from qpsvm.many.exact.piece_certifier import PathPoints, PieceCertifier
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.steps import Steps

#: Number of pieces that are certified together, before and after one of them failed.
BATCH, RETRY_BATCH = 96, 4
#: Limit of the retries at the same s.
MAX_TRIES = 3
#: Pieces narrower than this in s, as between ties, are joined to the next.
MIN_WIDTH = 1e-11
#: A retry that advances s by no more than this is at the same s.
MIN_PROGRESS = 1e-9


@dataclass(frozen=True, eq=False)
class Piece:
    """The optimum from s to `end`: μ and v of the free rows are linear, all other rows are at a bound.

    free (f,), kind (m,): The free rows, and the kind of each row: −1 at lo, 0 free, 1 at hi.
    v (f,), dv (f,), mu (p,), dmu (p,): v of the free rows and μ at s, and their slopes.
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


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive pieces, stored in common arrays.

    s (k, 2), kinds (k, m): s and the end of each piece, and the kinds of its rows.
    free, v, dv: The fields of all pieces, concatenated; offset (k + 1,): where each piece begins in them.
    mu, dmu (k, p): μ at the beginning of each piece, and its slope.
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

    def take_piece(self, k: int) -> Piece:
        """Return piece k."""
        rows = slice(int(self.offset[k]), int(self.offset[k + 1]))
        s, end = self.s[k].tolist()
        return Piece(s, end, self.free[rows], self.kinds[k], self.v[rows], self.dv[rows], self.mu[k], self.dmu[k])


@dataclass(frozen=True, eq=False)
class CertifiedStretch:
    """The certified pieces of a stretch, its first k, and the points at their ends.

    gaps (k,): Bound of the relative gap on each piece.
    v (c, m), mu (c, p), s (c,): The points.
    first, second (k,): Indices of the two ends of each piece among the points.
    steady (n,): Mask of the samples whose v is at the same bound on all pieces.
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
    """The pieces of a path as far as it was followed.

    start, slope: The data at s = 0, and their change per unit of s.
    parts: The certified pieces, in their order.
    reached: The last certified s.
    stop_reason: Why the path ended before s = 1; empty if it did not.
    events: Number of steps of the active set, repeated ones included.
    """

    rows: SignedRows
    start: Data
    slope: Data
    parts: list[CertifiedStretch] = field(default_factory=list)
    reached: float = 0.0
    stop_reason: str = ""
    events: int = 0

    def evaluate_data(self, s: float) -> Data:
        """Return the data at s."""
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

    def take_piece(self, k: int) -> Piece:
        """Return piece k. Raises IndexError."""
        for part in self.parts:
            if k < len(part.gaps):
                return part.stretch.take_piece(k)
            k -= len(part.gaps)
        raise IndexError(k)


def follow(
    rows: SignedRows,
    start: Data,
    goal: Data,
    v: FloatArray,
    tol: float,
    clock: Clock | None = None,
    progress: Callable[[float], None] | None = None,
) -> FollowedPath:
    """Follow the optimum from `start`, where it is v (m,) or near it, to that of `goal`.

    tol: The relative gap up to which a piece is accepted.
    progress: Called with s after each certified batch.
    """
    path = FollowedPath(rows, start, start.difference_to(goal))
    certifier = PieceCertifier(rows)
    batch = BATCH
    tries = 0
    seed = 0
    while path.reached < 1.0:
        previous = path.reached
        try:
            data = path.evaluate_data(path.reached)
            engine = ActiveSet(rows, data, v, seed, clock).move_to(data)
            _follow_rest(engine, path, certifier, batch, tol, progress)
            path.stop_reason = ""
            return path
        except Stopped:
            is_interrupted = clock is not None and clock.find_stop_reason() == "interrupted"
            path.stop_reason = "interrupted" if is_interrupted else "time_limit"
            return path
        except (_PieceRejected, PathBreakdown, np.linalg.LinAlgError) as error:
            stopped = None if clock is None else clock.find_stop_reason()
            path.stop_reason = stopped or str(error)
            if stopped:  # the start was inexact for lack of time: this is not a failure by rounding
                return path
        tries = tries + 1 if path.reached <= previous + MIN_PROGRESS else 0
        if tries > MAX_TRIES:
            return path
        batch = RETRY_BATCH
        seed = seed + 1
        if path.parts:
            last = path.parts[-1]
            v = last.v[last.second[len(last.gaps) - 1]]
    return path


class _PieceRejected(Exception):
    """Raised when the gap of a piece exceeds the tolerance."""


class _PendingPieces:
    """Pieces that wait to be certified, built from the steps of an active set.

    end: The end of the last piece.
    ends: s and the end of each piece.
    parts: The other fields of a `Stretch`, with the number of free rows in place of `offset`, as tuples of arrays.
    """

    def __init__(self, reached: float) -> None:
        self.end = reached
        self.ends: list[tuple[float, float]] = []
        self.parts: list[tuple[Any, ...]] = []

    def add_steps(self, steps: Steps) -> None:
        """Add the steps as pieces.

        A narrow step is joined to the next one, whose v and μ are extrapolated to its start, back by an offset.
        """
        wide, offsets = [], []
        for k, (s, end) in enumerate(steps.numbers[: steps.count, :2].tolist()):
            is_narrow = end - self.end <= MIN_WIDTH < 1.0 - self.end
            if not is_narrow:
                wide.append(k)
                offsets.append(self.end - s)
                self.ends.append((self.end, end))
                self.end = end
        if not wide:
            return
        selected: Any = slice(steps.count) if len(wide) == steps.count else wide
        # `Steps` explains the columns below
        p = steps.p
        offset = np.array(offsets)
        counts = steps.rows[selected, 0]
        width = int(steps.rows[selected, 0].max())
        is_free = np.arange(width) < counts[:, None]
        v_start = 2 + 2 * p
        v, dv = (steps.numbers[selected, at : at + width][is_free] for at in (v_start, v_start + steps.width))
        if offset.any():
            v = v + np.repeat(offset, counts) * dv
        dmu = steps.numbers[selected, 2 + p : v_start].copy()
        mu = steps.numbers[selected, 2 : 2 + p] + offset[:, None] * dmu
        rows = steps.rows[selected, 1 : 1 + width][is_free]
        self.parts.append((steps.kinds[selected].copy(), counts.copy(), rows, v, dv, mu, dmu))

    def take_stretch(self) -> Stretch:
        """Return all pending pieces as a stretch, and remove them."""
        kinds, counts, *rest = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        s = np.array(self.ends)
        self.parts.clear()
        self.ends.clear()
        return Stretch(s, kinds, np.append(0, np.cumsum(counts)), *rest)


def _follow_rest(
    engine: ActiveSet,
    path: FollowedPath,
    certifier: PieceCertifier,
    batch: int,
    tol: float,
    progress: Callable[[float], None] | None,
) -> None:
    """Follow the rest of the path, certified batch by batch.

    Raises `_PieceRejected`, PathBreakdown, Stopped, LinAlgError.
    """
    pending = _PendingPieces(path.reached)

    def record(steps: Steps) -> None:
        path.events += steps.count
        pending.add_steps(steps)
        if len(pending.ends) >= batch:
            _certify_pending(path, certifier, pending, tol)
            if progress is not None:
                progress(path.reached)

    try:
        engine.advance(path.slope, record, path.reached)
    finally:
        _certify_pending(path, certifier, pending, tol)
    if progress is not None:
        progress(path.reached)


def _certify_pending(path: FollowedPath, certifier: PieceCertifier, pending: _PendingPieces, tol: float) -> None:
    """Certify the pending pieces up to the first bad one, and add them to the path. Raises `_PieceRejected`.

    A piece is also accepted if only the bound of rounding errors exceeds `tol`: a retry would not reduce that.
    """
    if not pending.ends:
        return
    stretch = pending.take_stretch()
    steady = np.ones(len(path.rows.K), dtype=np.bool_)
    kinds = stretch.kinds
    steady[path.rows.sample[(kinds != kinds[0]).any(axis=0) | (kinds[0] == 0)]] = False  # free, or not always alike
    find_ends = _find_ends if core.compiled is None else _find_ends_compiled
    points, s, first, second = find_ends(path, certifier, stretch, steady)
    gaps = certifier.bound_gaps(points, first, second)
    if (gaps <= tol).all():
        computed_gaps = gaps
    else:
        computed_gaps = certifier.bound_gaps(points, first, second, with_rounding=False)
    failed = np.flatnonzero(~(np.minimum(gaps, computed_gaps) <= tol))
    n_good = int(failed[0]) if len(failed) else len(gaps)
    if n_good:
        first, second = first[:n_good], second[:n_good]
        n_points = int(second[-1]) + 1
        v, mu = points.v.T[:n_points], points.mu.T[:n_points]
        path.parts.append(CertifiedStretch(stretch, gaps[:n_good], v, mu, s[:n_points], first, second, steady))
        path.reached = float(stretch.s[n_good - 1, 1])
    if len(failed):
        raise _PieceRejected(f"gap {computed_gaps[n_good]:.1e}")


def _find_ends_compiled(
    path: FollowedPath, certifier: PieceCertifier, stretch: Stretch, steady: NDArray[np.bool_]
) -> tuple[PathPoints, FloatArray, IntArray, IntArray]:
    """Find the points at the ends of the pieces, repaired to be feasible; pieces share a point where they meet.

    Returns the points, their s, and the indices of the two ends of each piece, (k,) each.
    """
    k = len(stretch)
    m = path.rows.m
    p = path.rows.p
    start = path.start
    slope = path.slope
    to_sums = certifier.totals_to_sums
    sums = [np.zeros(0) if to_sums is None else to_sums @ data.e[certifier.is_equality] for data in (start, slope)]
    outputs = [np.empty((2 * k, m)), *(certifier.reserve_buffer(name, 2 * k, m) for name in ("t", "lo", "hi"))]
    mu = np.empty((2 * k, p))
    s = np.empty(2 * k)
    first, second = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    count = core.compiled.piece_ends((
        certifier.pattern_of_row, start.t, start.lo, start.hi, slope.t, slope.lo, slope.hi, *sums, stretch.free,
        stretch.v, stretch.dv, stretch.offset, stretch.kinds, stretch.s, stretch.mu, stretch.dmu, *outputs, mu, s,
        first, second,
    ))  # fmt: skip
    v, t, lo, hi = (each[:count].T for each in outputs)
    s = s[:count]
    e = start.e[:, None] + slope.e[:, None] * s
    points = certifier.build_points_along(v, mu[:count].T, Data(t, lo, hi, e), s, steady)
    return points, s, first, second


def _find_ends(
    path: FollowedPath, certifier: PieceCertifier, stretch: Stretch, steady: NDArray[np.bool_]
) -> tuple[PathPoints, FloatArray, IntArray, IntArray]:
    """Do the same as `_find_ends_compiled`, in Python."""
    v: list[FloatArray] = []
    mu: list[FloatArray] = []
    s: list[float] = []
    indices: list[int] = []  # of both ends of each piece, in turn
    for k in range(len(stretch)):
        piece = stretch.take_piece(k)
        for is_start, s_end in ((True, piece.s), (False, piece.end)):
            data = path.evaluate_data(s_end)
            v_end, mu_end = piece.evaluate(s_end, data)
            v_end = certifier.repair(v_end, data)
            if not (is_start and v and _is_close(v[-1], v_end) and _is_close(mu[-1], mu_end)):
                v.append(v_end)
                mu.append(mu_end)
                s.append(s_end)
            indices.append(len(v) - 1)
    positions = np.array(s)
    columns = Data(
        *(a[:, None] + b[:, None] * positions for a, b in zip(path.start.parts, path.slope.parts, strict=True))
    )
    points = certifier.build_points_along(np.array(v).T, np.array(mu).T, columns, positions, steady)
    return points, positions, np.array(indices[::2]), np.array(indices[1::2])


def _is_close(a: FloatArray, b: FloatArray) -> bool:
    """Return whether two vectors differ by at most a few roundings."""
    size = float(np.abs(b).max(initial=0.0))
    return bool((np.abs(a - b) <= 64.0 * EPS * size).all())
