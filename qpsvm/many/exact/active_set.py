"""Follow the optimum of (SIGNED.1) by a parametric active set, while its data move along a line.

    (ACTIVE.1)  g = K_r: v + Δv + Eμ − t:   g = 0 on free rows F,  g ≥ 0 at lo,  g ≤ 0 at hi
    (ACTIVE.2)  t, lo, hi, e affine in s:  v_F and μ solve (FACTOR.1), so they are affine in s until a free row meets a
                bound, or a row at a bound meets g = 0: an event, after which F is another
    (ACTIVE.3)  where row i adds nothing to M, v moves along the null vector [−x_F; 1] at fixed s until a row meets a
                bound, which i replaces: |F| > d + 1, and equal samples
    (ACTIVE.4)  where M is singular without the row that leaves ("no free row"), μ moves along the null vector of E_F at
                fixed s until a row at a bound meets g = 0, which takes its place
    (ACTIVE.5)  a row that would stop a step of length 0 (ties, rounding) has its level or its bound shifted by a random
                few roundings: the path is that of data nearby, whatever is said of it is of the true data, and
                `settle` leads back to these by the same events

Any (v, μ) is the optimum of data with other levels: so a rough start is led to the true ones by the same events, too.

Sources: Hastie, Rosset, Tibshirani & Zhu (JMLR 5, 2004); Best, *An algorithm for the solution of the parametric
quadratic programming problem* (1996).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.many.exact import events
from qpsvm.many.exact.events import Record, Steps
from qpsvm.many.exact.factor import MOST_PIVOT, NO_PIVOT, InverseFactor
from qpsvm.many.exact.rows import Data, SignedRows

EPS = float(np.finfo(float).eps)
#: A start is free where it is this share of the width of its box away from both bounds.
INSIDE = 1e-8
#: Roundings below which rates, and steps to a bound, are 0.
NOISE, STEP = 1e-13, 1e-14
#: A residual of the free rows' system above this share is refined, above the second given up.
REFINED, HOPELESS = 1e-11, 1e-9
#: Between two looks at the clock; and between two computations of f from v alone.
LOOK, AFRESH = 32, 64
#: Events a row, and besides, after which a path goes round in a circle.
MOST_EVENTS, FEW_EVENTS = 40, 100
#: 1/κ, in units of 1/max K_ii, above which several free rows at once are not factored but added one by one.
LARGEST_INVERSE = 1e7


class Stuck(Exception):
    """Rounding ends the path here; what was reached stands."""


class Stopped(Exception):
    """The time is over, or the interrupt key was pressed."""


class ActiveSet:
    """The optimum at one s.

    v (m,), mu (p,), f (n,): f = K β.
    kind (m,): −1 at lo, 0 free, 1 at hi.
    now: The data, shifts and all.
    pinned (m,): Rows that go where their bounds go, which are equal.
    events: How many there were.
    """

    def __init__(self, rows: SignedRows, data: Data, v: FloatArray, seed: int = 0, clock: Clock | None = None) -> None:
        self.rows, self.clock, self.events, self.s = rows, clock, 0, 0.0
        self.random = np.random.default_rng(seed)
        self.now = data.copy()
        self.slope = data.difference_to(data)
        self.pinned: NDArray[np.bool_] = data.hi <= data.lo
        v = np.clip(v, data.lo, data.hi)
        largest = float(np.abs(v).max(initial=0.0))
        self.width = np.maximum(np.minimum(data.hi - data.lo, 10.0 * largest), np.finfo(float).tiny)
        self.kind = self._kinds(v)
        self.v = np.where(self.kind < 0, data.lo, np.where(self.kind > 0, data.hi, v))
        self.f = rows.f(self.v)
        self.rate, self.q, self.b = np.zeros(rows.m), np.zeros(len(rows.K)), np.zeros(rows.p)
        self.mu = np.zeros(rows.p)
        self.factor = InverseFactor(rows)
        self.steps: Steps | None = None
        self._choose_free_rows()

    def _kinds(self, v: FloatArray) -> NDArray[np.int8]:
        below, above = v - self.now.lo, self.now.hi - v
        inner = np.minimum(below, above) > INSIDE * self.width
        return np.where(inner, 0, np.where(below <= above, -1, 1)).astype(np.int8)

    def g(self) -> FloatArray:
        """(ACTIVE.1): (m,)."""
        rows = self.rows
        g = rows.at_rows(self.f) - self.now.t
        if rows.p:
            g = g + rows.E @ self.mu
        return g + rows.curvature * self.v if rows.curvature.any() else g

    def refresh_f(self) -> None:
        """Recompute f from v alone."""
        self.f = self.rows.f(self.v)

    # --- the start: free rows that are independent ------------------------------------------------------------------

    def _choose_free_rows(self) -> None:
        """Find μ, and F of rows among which M is regular; dependent rows move until one is at a bound."""
        rows, now = self.rows, self.now
        inner = np.minimum(self.v - now.lo, now.hi - self.v) / self.width
        free = np.flatnonzero(self.kind == 0)
        free = free[np.argsort(-inner[free], kind="stable")]
        hard = np.flatnonzero(rows.ridge == 0.0)
        base: list[int] = []
        for k in free.tolist():
            if len(base) == len(hard):
                break
            if np.linalg.matrix_rank(rows.E[[*base, k]][:, hard]) > len(base):
                base.append(k)
        self.mu = self._multipliers(free, len(base) == len(hard))
        while len(base) < len(hard):
            base.append(self._free_next_row(base, hard))
        rest = [k for k in free.tolist() if k not in set(base)]
        if rest and self._try_factor(base + rest):
            return
        self.factor.invert(np.array(base, dtype=np.int64))
        for i in rest:
            x, pivot, share = self.factor.border(i)
            if share > 100.0 * self.factor.no_pivot:
                self.factor.append(i, x, pivot)
            else:
                self._exchange(i, x, 1.0)

    def _try_factor(self, free: list[int]) -> bool:
        try:
            self.factor.invert(np.array(free, dtype=np.int64))
        except np.linalg.LinAlgError:
            return False
        W = self.factor.inverse
        largest = np.abs(W.diagonal()[self.rows.p :]).max(initial=0.0) * self.rows.top
        return bool(np.isfinite(W).all() and largest < LARGEST_INVERSE)

    def _multipliers(self, free: IntArray, enough: bool) -> FloatArray:
        """μ from the free rows; where these say too little, the one that violates (ACTIVE.1) least."""
        rows, p = self.rows, self.rows.p
        if not p:
            return np.zeros(0)
        h = -(self.g() - rows.E @ self.mu)
        if rows.ridge.any():
            return np.asarray((rows.E.T @ self.v - self.now.e) / np.where(rows.ridge > 0.0, rows.ridge, 1.0))
        if enough:
            return np.asarray(np.linalg.lstsq(rows.E[free], h[free], rcond=None)[0])
        m, kind, held = rows.m, self.kind, ~self.pinned
        above, below = (kind >= 0) & held, (kind <= 0) & held  # Eμ ≤ h at hi, Eμ ≥ h at lo
        slack = np.eye(m)
        A = np.vstack([np.hstack([rows.E[above], -slack[above]]), np.hstack([-rows.E[below], -slack[below]])])
        limits = [(None, None)] * p + [(0.0, None)] * m
        found = linprog(np.r_[np.zeros(p), np.ones(m)], A, np.r_[h[above], -h[below]], bounds=limits).x
        if found is None:
            raise Stuck("no multiplier is found for a start without free rows")
        return np.asarray(found[:p])

    def _free_next_row(self, base: list[int], hard: IntArray) -> int:
        """Free a row by moving μ until it meets g = 0, (ACTIVE.4)."""
        E = self.rows.E[:, hard]
        d = np.linalg.svd(E[base])[2][-1] if base else self.random.normal(size=len(hard))
        g, z = self.g(), E @ d
        known = np.flatnonzero((np.abs(z) > 1e-9) & ~self.pinned)
        if not len(known):
            raise Stuck("the equalities depend on each other")
        k = int(known[np.argmin(np.abs(g[known] / z[known]))])
        self.mu[hard] -= g[k] / z[k] * d
        self.kind[k] = 0
        self._set_rate(k, 0.0)
        return k

    def restart_stricter(self, stricter: float = 1.0) -> None:
        """Rebuild F, with a stricter tolerance for dependent rows."""
        self.factor.no_pivot = min(max(stricter, 1.0) * self.factor.no_pivot, MOST_PIVOT)
        self._choose_free_rows()

    # --- events -----------------------------------------------------------------------------------------------------

    def _exchange(self, i: int, x: FloatArray, sign: float) -> None:
        """(ACTIVE.3): row i goes in the direction of `sign`."""
        rows, factor, now, p = self.rows, self.factor, self.now, self.rows.p
        free, d = factor.free, -sign * x[p:]
        tiny = NOISE * max(float(np.abs(self.v).max(initial=0.0)), np.finfo(float).tiny)
        room = np.maximum(np.where(d > 0.0, now.hi[free] - self.v[free], self.v[free] - now.lo[free]), 0.0)
        live = np.abs(d) > 1e-6 * np.abs(d).max(initial=1e-6)
        steps = np.divide(room, np.abs(d), out=np.full(len(d), np.inf), where=live)
        loose = np.divide(room + tiny, np.abs(d), out=np.full(len(d), np.inf), where=live)
        own = float(now.hi[i] - self.v[i] if sign > 0.0 else self.v[i] - now.lo[i])
        j, size = None, max(own, 0.0)
        if len(free) and loose.min() < own:
            j = int(np.argmax(np.where(steps <= loose.min(), np.abs(d), 0.0)))
            size = min(float(steps[j]), own)
        if not np.isfinite(size):
            raise Stuck("the dual is unbounded along a null vector")
        self.v[free] += size * d
        self.v[i] += sign * size
        self.mu = self.mu - sign * size * x[:p]
        self.f += (size * d) @ factor.K_free + sign * size * rows.K[rows.sample[i]]
        if j is None:
            self._bind(i, 1 if sign > 0.0 else -1)
            return
        k = int(free[j])
        factor.replace(j, i)
        self.kind[i] = 0
        self._bind(k, 1 if d[j] > 0.0 else -1)

    def _bind(self, k: int, kind: int) -> None:
        """Row k is at a bound from here on."""
        self.kind[k] = kind
        side, moving = (self.now.hi, self.slope.hi) if kind > 0 else (self.now.lo, self.slope.lo)
        self._set_rate(k, float(moving[k]))
        off = float(side[k] - self.v[k])
        if off:
            self.f += off * self.rows.K[self.rows.sample[k]]
            self.v[k] = side[k]

    def _set_rate(self, k: int, rate: float) -> None:
        change = rate - self.rate[k]
        if change:
            self.rate[k] = rate
            self.q += change * self.rows.K[self.rows.sample[k]]
            self.b += change * self.rows.E[k]

    def _enter(self, i: int) -> None:
        sign = 1.0 if self.kind[i] < 0 else -1.0
        x, pivot, share = self.factor.border(i)
        self._set_rate(i, 0.0)
        if share > self.factor.no_pivot:
            self.kind[i] = 0
            self.factor.append(i, x, pivot)
        else:
            self._exchange(i, x, sign)

    def _leave(self, j: int, kind: int) -> None:
        factor, p = self.factor, self.rows.p
        k = int(factor.free[j])
        if factor.may_go(j):
            factor.delete(j)
            self._bind(k, kind)
            return
        sign = -1.0 if kind > 0 else 1.0  # g_k is to become right, (ACTIVE.4)
        d = sign * factor.inverse[:p, p + j]
        d = d / np.abs(d).max(initial=0.0)
        z, g = self.rows.E @ d, self.g()
        moving = (self.kind * z > 1e-9) & ~self.pinned
        steps = np.divide(np.maximum(-g * self.kind, 0.0), np.abs(z), out=np.full(len(z), np.inf), where=moving)
        steps[factor.free] = np.inf
        i = int(np.argmin(steps))
        if not np.isfinite(steps[i]):
            raise Stuck("beyond here nothing is feasible")
        self.mu = self.mu + steps[i] * d
        self._set_rate(i, 0.0)
        factor.replace(j, i)
        self.kind[i] = 0
        self._bind(k, kind)

    def pin(self, k: int) -> None:
        """Row k is no unknown any more: both of its bounds are where it is."""
        self.pinned[k] = True
        if self.kind[k] == 0:
            self.now.lo[k] = self.now.hi[k] = self.v[k]
            self._leave(int(np.flatnonzero(self.factor.free == k)[0]), -1)
        self.now.lo[k] = self.now.hi[k] = self.v[k]

    # --- along s ----------------------------------------------------------------------------------------------------

    def advance(self, slope: Data, record: Record | None = None, s: float = 0.0) -> ActiveSet:
        """Move from s to 1 along a slope; `record` sees every step. Raises Stuck, Stopped, LinAlgError."""
        rows = self.rows
        self.slope, self.s = slope, s
        self.rate = np.where(self.kind > 0, slope.hi, np.where(self.kind < 0, slope.lo, 0.0))
        self.q, self.b = rows.f(self.rate), rows.E.T @ self.rate
        most = FEW_EVENTS + MOST_EVENTS * rows.m
        steps = looked = fresh = 0
        while steps < most:
            if self.clock is not None and steps - looked >= LOOK - 1:
                looked = steps
                if self.clock.find_stop_reason():
                    raise Stopped
            count = self._steps(record)
            if not count:
                return self
            steps += count
            if steps - fresh >= AFRESH:
                fresh = steps
                self.refresh_f()
        raise Stuck(f"{most} events without an end")

    def _steps(self, record: Record | None) -> int:
        """Some events; how many there were, none where the end is reached."""
        count = 0
        if core.compiled is not None:
            why, place, count = events.run(self, record)
            if why == events.ENTERS:
                self._enter(place)
            elif why in (events.LEAVES_UP, events.LEAVES_DOWN):
                self._leave(place, 1 if why == events.LEAVES_UP else -1)
            if why != events.UNUSUAL:
                return 0 if why == events.END else count
        return 0 if self._step(record) else count + 1

    def _step(self, record: Record | None) -> bool:
        """To the next event, which happens; or to the end, which is said."""
        now, slope = self.now, self.slope
        dv, dmu, df = self._direction()
        free = self.factor.free
        gap, rising, noise = self._levels(dmu, df)
        v = self.v[free]
        up, down = now.hi[free] - v, v - now.lo[free]
        upwards, downwards = dv - slope.hi[free], slope.lo[free] - dv
        still = NOISE * max(float(np.abs(dv).max(initial=0.0)), np.finfo(float).tiny)
        finite = now.hi[np.isfinite(now.hi)]
        small = STEP * max(float(np.abs(self.v).max(initial=0.0)) + float(np.abs(finite).max(initial=0.0)),
                           np.finfo(float).tiny)  # fmt: skip
        for room, rates, bound, side in ((up, upwards, now.hi, 1.0), (down, downwards, now.lo, -1.0)):
            k = np.flatnonzero((rates > still) & (room < small))
            if len(k):  # (ACTIVE.5)
                new = small * (10.0 + 20.0 * self.random.random(len(k)))
                bound[free[k]] += side * (new - room[k])
                room[k] = new
        first = [
            _find_shortest_step(gap, rising, noise),
            _find_shortest_step(up, upwards, still),
            _find_shortest_step(down, downwards, still),
        ]
        which = int(np.argmin([step for step, _ in first]))
        step, place = first[which]
        last = not step < 1.0 - self.s
        step = 1.0 - self.s if last else step
        if record is not None:
            ends = (self.s, 1.0 if last else self.s + step)
            record(Steps.from_step(ends, free, self.kind, (self.mu, dmu, v, dv)))
        self._move(step, dv, dmu, df)
        if last:
            return True
        self.events += 1
        if which == 0:
            self._enter(place)
        else:
            self._leave(place, 1 if which == 1 else -1)
        return False

    def _levels(self, dmu: FloatArray, df: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the distances of rows at bounds from g = 0, (m,), how fast they shrink, and their noise."""
        rows, now, slope, kind = self.rows, self.now, self.slope, self.kind
        dg = rows.at_rows(df) - slope.t
        if rows.p:
            dg = dg + rows.E @ dmu
        if rows.curvature.any():
            dg = dg + rows.curvature * self.rate
        gap = -self.g() * kind
        rising = np.where(self.pinned, 0.0, dg * kind)
        size = 2.0 * float(np.sqrt(self.v @ self.v)) * rows.top + float(np.abs(now.t).max(initial=0.0))
        small = EPS * (size + float(np.abs(self.mu).max(initial=0.0)))
        most = float(np.abs(df).max(initial=0.0)) + float(np.abs(dmu).max(initial=0.0))
        noise = NOISE * (most + float(np.abs(slope.t).max(initial=0.0)))
        k = np.flatnonzero((rising > noise) & (gap < small))
        if len(k):  # (ACTIVE.5)
            new = small * (4.0 + 8.0 * self.random.random(len(k)))
            now.t[k] += kind[k] * (new - gap[k])
            gap[k] = new
        return gap, rising, noise

    def _move(self, step: float, dv: FloatArray, dmu: FloatArray, df: FloatArray) -> None:
        now, kind = self.now, self.kind
        self.v[self.factor.free] += step * dv
        self.mu = self.mu + step * dmu
        self.f += step * df
        self.s += step
        now.add(step, self.slope)
        self.v = np.where(kind > 0, now.hi, np.where(kind < 0, now.lo, self.v))

    def _direction(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Slopes of v_F, μ and f, (ACTIVE.2), after v_F and μ are corrected for rounding. Raises Stuck, LinAlgError."""
        for attempt in range(4):
            if attempt == 2:
                self.restart_stricter(10.0)
            elif attempt:
                self.factor.invert(self.factor.free)
            found = self._solve_system(patient=attempt in (1, 3))
            if found is not None:
                return found
        raise Stuck("the system of the free rows is too ill-conditioned")

    def _solve_system(self, patient: bool) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Try to solve for the direction once; None if the residual stays large."""
        rows, now, slope, p = self.rows, self.now, self.slope, self.rows.p
        factor, free = self.factor, self.factor.free
        W, K, E, r = factor.inverse, factor.K_free, rows.E[free], rows.sample[free]
        own = np.empty((p + len(free), 2))
        own[:p, 0], own[p:, 0] = slope.e - self.b, slope.t[free] - self.q[r]
        own[:p, 1] = now.e - rows.E.T @ self.v + rows.ridge * self.mu
        own[p:, 1] = now.t[free] - self.f[r] - E @ self.mu - rows.curvature[free] * self.v[free]
        mass = float(np.abs(self.v).sum())
        level = 4.0 * EPS * (mass * rows.top + float(np.abs(now.t).max(initial=0.0)))
        if np.abs(own[p:, 1]).max(initial=0.0) <= level and np.abs(own[:p, 1]).max(initial=0.0) <= 4.0 * EPS * mass:
            own = own[:, :1]  # else rounding over a small pivot would move v
        Z = W @ own
        D = K.T @ Z[p:]
        bad = scale = 0.0
        for _ in range(3):
            left = np.empty_like(own)
            left[:p] = own[:p] - E.T @ Z[p:] + rows.ridge[:, None] * Z[:p]
            left[p:] = own[p:] - D[r] - E @ Z[:p] - rows.curvature[free][:, None] * Z[p:]
            scale = float(np.abs(own[:, 0]).max(initial=0.0))
            scale += 1e-4 * rows.top * float(np.abs(Z[p:, 0]).max(initial=0.0))
            bad = float(np.abs(left[:, 0]).max(initial=0.0))
            if bad <= REFINED * scale or (bad > 1e-6 * scale and not patient):
                break
            Z += W @ left
            D = K.T @ Z[p:]
        if not np.isfinite(Z).all() or (scale > 0.0 and bad > HOPELESS * scale):
            return None
        if own.shape[1] > 1:
            self.v[free] += Z[p:, 1]
            self.mu = self.mu + Z[:p, 1]
            self.f += D[:, 1]
        return Z[p:, 0], Z[:p, 0], self.q + D[:, 0]

    def settle(self, data: Data) -> ActiveSet:
        """To these data by the same events: away with all shifts."""
        self.advance(self.now.difference_to(data))
        self.now = data.copy()
        return self

    def copy(self, clock: Clock | None = None) -> ActiveSet:
        """Return an independent copy."""
        new = object.__new__(ActiveSet)
        new.__dict__.update(self.__dict__)
        new.steps = None
        new.now, new.factor, new.clock = self.now.copy(), self.factor.copy(), clock or self.clock
        for name in ("v", "f", "kind", "rate", "q", "b", "pinned", "mu"):
            new.__dict__[name] = self.__dict__[name].copy()
        return new


def _find_shortest_step(room: FloatArray, rates: FloatArray, noise: float) -> tuple[float, int]:
    """Return the shortest step that uses up some room at these rates, and its index."""
    k = np.flatnonzero(rates > noise)
    if not len(k):
        return np.inf, -1
    steps = room[k] / rates[k]
    j = int(np.argmin(steps))
    return float(steps[j]), int(k[j])


__all__ = ["NO_PIVOT", "ActiveSet", "Stopped", "Stuck"]
