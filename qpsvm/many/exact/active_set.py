"""Follow the optimum of (SIGNED.1) while its data move along a line, by a parametric active set (`ActiveSet`).

Each row is either free, strictly between its bounds, or at one of them. As long as this partition is optimal, μ and v
of the free rows solve a linear system, so they are linear in the position s on the line. It changes at an event: a free
row meets a bound, or the reduced gradient g of a row at a bound becomes 0. `advance` goes from event to event.

    (ACTIVE.1)  g = K_r: v + Δv + Eμ − t:   g = 0 on free rows F,  g ≥ 0 at lo,  g ≤ 0 at hi
    (ACTIVE.2)  t, lo, hi, e affine in s:  v_F and μ solve (FACTOR.1), so they are affine in s until a free row meets a
                bound, or a row at a bound meets g = 0: an event, which changes F
    (ACTIVE.3)  if row i would make M singular, v moves along the null vector [−x_F; 1] at fixed s until a row meets a
                bound, which i replaces: |F| > d + 1, and equal samples
    (ACTIVE.4)  if M is singular without the row that leaves ("no free row"), μ moves along the null vector of E_F at
                fixed s until a row at a bound meets g = 0, which takes its place
    (ACTIVE.5)  a row that would cause a step of length 0 (ties, rounding) has its level or its bound shifted by a few
                random roundings: the path is that of nearby data, certificates hold for the true data, and `move_to`
                returns to the true data by the same events

Symbols: v, K, Δ, E, e, t, lo and hi as in (SIGNED.1), μ (p,) the multipliers of the equalities, d the rank of the
kernel, x_F and M as in (FACTOR.2). In the code, row i becomes free, row k goes to a bound, and j is a position in F.

Any (v, μ) is the optimum for some levels t. So an inexact start is moved to the true levels by the same events.

Sources: Hastie, Rosset, Tibshirani & Zhu (JMLR 5, 2004); Best, *An algorithm for the solution of the parametric
quadratic programming problem* (1996).
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from qpsvm import core
from qpsvm.base.arrays.rounding import EPS, SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.many.exact import events
from qpsvm.many.exact.active_set_state import MIN_G_CHANGE, MIN_RATE, ActiveSetState, PathBreakdown, choose_by_kind
from qpsvm.many.exact.factor import MAX_PIVOT_TOLERANCE
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.steps import Record, Steps

#: Distances to a bound below this share of the largest v and bound are rounding.
MIN_DISTANCE = 1e-14
#: Factors by which distances that are too short exceed the shortest allowed one after the shift of (ACTIVE.5): from
#: this number to three times as much, at random; those to a bound of v, and those to g = 0.
BOUND_SHIFT = 10.0
G_SHIFT = 4.0
#: The system of the free rows is refined if its relative residual is above this.
MAX_UNREFINED_RESIDUAL = 1e-11
#: The system is given up if its relative residual stays above this.
MAX_RESIDUAL = 1e-9
#: Refinement rarely helps if the relative residual is above this.
MAX_REFINABLE_RESIDUAL = 1e-6
#: Share of max K_ii |dv| that residuals are relative to, besides the right-hand side.
MIN_RESIDUAL_SCALE = 1e-4
#: Number of events between two checks of the clock.
EVENTS_PER_CLOCK_CHECK = 32
#: Number of events between two computations of f from v.
EVENTS_PER_REFRESH = 64
#: Limit of the number of events, per row and in addition: beyond it, the path is assumed to cycle.
EVENTS_PER_ROW, MIN_EVENTS = 40, 100
#: 1/κ, in units of 1/max K_ii, above which the free rows of a start are added one by one instead of all at once.
MAX_INVERSE = 1e7
#: A row is added at the start if its pivot exceeds this multiple of the tolerance for later rows.
START_PIVOT_FACTOR = 100.0


class Stopped(Exception):
    """Raised when the time limit is reached or Ctrl-C was pressed."""


class _Approach(NamedTuple):
    """Distances of some rows from a bound or from g = 0, the rates at which they shrink, and the noise of the rates."""

    distances: FloatArray
    rates: FloatArray
    noise: float

    def extend_short(
        self, min_distance: float, shift: float, random: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Extend the distances that are too short, (ACTIVE.5); return their indices, and by how much they grew."""
        k = np.flatnonzero((self.rates > self.noise) & (self.distances < min_distance))
        extended = min_distance * (shift + 2.0 * shift * random.random(len(k)))
        growth = extended - self.distances[k]
        self.distances[k] = extended
        return k, growth

    def find_shortest_step(self) -> tuple[float, int]:
        """Return the shortest step after which one of the distances is used up, and its index."""
        k = np.flatnonzero(self.rates > self.noise)
        if not len(k):
            return np.inf, -1
        steps = self.distances[k] / self.rates[k]
        j = int(np.argmin(steps))
        return float(steps[j]), int(k[j])


class _Direction(NamedTuple):
    """Slopes of v_F, μ and f in s: (f,), (p,) and (n,)."""

    v: FloatArray
    mu: FloatArray
    f: FloatArray


class ActiveSet(ActiveSetState):
    """The optimum at one s, which moves with the data.

    clock: Stops the path; None for no limit.
    random: Source of the shifts of (ACTIVE.5).
    """

    def __init__(self, rows: SignedRows, data: Data, v: FloatArray, seed: int = 0, clock: Clock | None = None) -> None:
        super().__init__(rows, data, v)
        self.clock = clock
        self.random = np.random.default_rng(seed)
        self._choose_free_rows()

    def copy(self, clock: Clock | None = None) -> ActiveSet:
        """Return an independent copy."""
        new = copy.copy(self)
        new.steps = None
        new.current = self.current.copy()
        new.factor = self.factor.copy()
        new.clock = clock or self.clock
        for name in ("v", "f", "kind", "rate", "f_rate", "e_rate", "pinned", "mu"):
            setattr(new, name, getattr(self, name).copy())
        return new

    def advance(self, slope: Data, record: Record | None = None, s: float = 0.0) -> ActiveSet:
        """Move from s to 1 along a slope; `record` is called with every step.

        Raises PathBreakdown, Stopped, LinAlgError.
        """
        rows = self.rows
        self.slope = slope
        self.s = s
        self.rate = choose_by_kind(self.kind, slope, 0.0)
        self.f_rate = rows.compute_f(self.rate)
        self.e_rate = rows.E.T @ self.rate
        max_steps = MIN_EVENTS + EVENTS_PER_ROW * rows.m
        steps = 0
        steps_at_clock_check = 0
        steps_at_refresh = 0
        while steps < max_steps:
            if self.clock is not None and steps - steps_at_clock_check >= EVENTS_PER_CLOCK_CHECK - 1:
                steps_at_clock_check = steps
                if self.clock.find_stop_reason():
                    raise Stopped
            count = self._run_batch(record)
            if not count:
                return self
            steps += count
            if steps - steps_at_refresh >= EVENTS_PER_REFRESH:
                steps_at_refresh = steps
                self.f = rows.compute_f(self.v)
        raise PathBreakdown(f"{max_steps} events without an end")

    def move_to(self, data: Data) -> ActiveSet:
        """Move to these data by the same events, which removes all shifts of (ACTIVE.5), and return self."""
        self.advance(self.current.difference_to(data))
        self.current = data.copy()
        return self

    # --- the start: free rows that are independent --------------------------------------------------------------------

    def _choose_free_rows(self) -> None:
        """Find μ and a set F for which M is regular.

        F starts with a base: a minimal set of rows whose E determine μ of the groups without a ridge. Then all other
        rows between their bounds join at once, or, if M is nearly singular, one by one: where a row would make it
        singular, v moves until a row is at a bound, (ACTIVE.3).
        """
        rows, data = self.rows, self.current
        depth = np.minimum(self.v - data.lo, data.hi - self.v) / self.width
        free = np.flatnonzero(self.kind == 0)
        free = free[np.argsort(-depth[free], kind="stable")]
        unpenalised = np.flatnonzero(rows.ridge == 0.0)
        base: list[int] = []
        for i in free.tolist():
            if len(base) == len(unpenalised):
                break
            if np.linalg.matrix_rank(rows.E[[*base, i]][:, unpenalised]) > len(base):
                base.append(i)
        self.mu = self._find_multipliers(free, len(base) == len(unpenalised))
        while len(base) < len(unpenalised):
            base.append(self._free_next_row(base, unpenalised))
        remaining = [i for i in free.tolist() if i not in set(base)]
        if remaining and self._try_factor(base + remaining):
            return
        self.factor.invert(np.array(base, dtype=np.int64))
        for i in remaining:
            x, pivot, share = self.factor.compute_border(i)
            if share > START_PIVOT_FACTOR * self.factor.pivot_tolerance:
                self.factor.append(i, x, pivot)
            else:
                self._exchange(i, x, 1.0)

    def _try_factor(self, free: list[int]) -> bool:
        """Invert M of these free rows; return whether it is regular."""
        try:
            self.factor.invert(np.array(free, dtype=np.int64))
        except np.linalg.LinAlgError:
            return False
        W = self.factor.inverse
        max_inverse = np.abs(W.diagonal()[self.rows.p :]).max(initial=0.0) * self.rows.max_diagonal
        return bool(np.isfinite(W).all() and max_inverse < MAX_INVERSE)

    def _find_multipliers(self, free: IntArray, is_determined: bool) -> FloatArray:
        """Return μ from the free rows or, if they do not determine it, the one that violates (ACTIVE.1) least."""
        rows = self.rows
        p = rows.p
        if not p:
            return np.zeros(0)
        h = -(self.compute_g() - rows.E @ self.mu)  # g = Eμ − h
        if rows.ridge.any():
            return np.asarray((rows.E.T @ self.v - self.current.e) / np.where(rows.ridge > 0.0, rows.ridge, 1.0))
        if is_determined:
            return np.asarray(np.linalg.lstsq(rows.E[free], h[free], rcond=None)[0])
        return self._find_least_violation(h)

    def _find_least_violation(self, h: FloatArray) -> FloatArray:
        """Return μ with the smallest sum of violations of (ACTIVE.1), where g = Eμ − h, by a linear program.

        Its variables are μ and the violation of each row: Eμ ≤ h unless at lo, Eμ ≥ h unless at hi.
        """
        E = self.rows.E
        p = self.rows.p
        m = self.rows.m
        not_low = (self.kind >= 0) & ~self.pinned
        not_high = (self.kind <= 0) & ~self.pinned
        identity = np.eye(m)
        matrix = np.block([[E[not_low], -identity[not_low]], [-E[not_high], -identity[not_high]]])
        cost = np.r_[np.zeros(p), np.ones(m)]
        limits = [(None, None)] * p + [(0.0, None)] * m
        solution = linprog(cost, matrix, np.r_[h[not_low], -h[not_high]], bounds=limits).x
        if solution is None:
            raise PathBreakdown("no multiplier is found for a start without free rows")
        return np.asarray(solution[:p])

    def _free_next_row(self, base: list[int], unpenalised: IntArray) -> int:
        """Free a row by moving μ of these groups until the row meets g = 0, as in (ACTIVE.4); return it."""
        E = self.rows.E[:, unpenalised]
        if base:
            direction = np.linalg.svd(E[base])[2][-1]
        else:
            direction = self.random.normal(size=len(unpenalised))
        g = self.compute_g()
        g_change = E @ direction
        candidates = np.flatnonzero((np.abs(g_change) > MIN_G_CHANGE) & ~self.pinned)
        if not len(candidates):
            raise PathBreakdown("the equalities depend on each other")
        i = int(candidates[np.argmin(np.abs(g[candidates] / g_change[candidates]))])
        self.mu[unpenalised] -= g[i] / g_change[i] * direction
        self.kind[i] = 0
        self._set_rate(i, 0.0)
        return i

    def _restart_stricter(self) -> None:
        """Choose F again, with ten times the tolerance for dependent rows."""
        self.factor.pivot_tolerance = min(10.0 * self.factor.pivot_tolerance, MAX_PIVOT_TOLERANCE)
        self._choose_free_rows()

    # --- from event to event ------------------------------------------------------------------------------------------

    def _run_batch(self, record: Record | None) -> int:
        """Run some events, by compiled code as far as possible, and return their number; 0 at the end of the path."""
        count = 0
        if core.compiled is not None:
            reason, position, count = events.run_compiled(self, record)
            if reason == events.END:
                return 0
            if reason != events.UNUSUAL:
                self._change_partition(reason, position)
                return count
        reaches_end = self._run_single_event(record)
        return 0 if reaches_end else count + 1

    def _run_single_event(self, record: Record | None) -> bool:
        """Move to the next event and handle it, or to the end of the path; return whether the end is reached."""
        direction = self._find_direction()
        free = self.factor.free
        entering = self._measure_bound_rows(direction)
        leaving_up, leaving_down = self._measure_free_rows(direction.v)
        candidates = [
            (*entering.find_shortest_step(), events.ENTERS),
            (*leaving_up.find_shortest_step(), events.LEAVES_UP),
            (*leaving_down.find_shortest_step(), events.LEAVES_DOWN),
        ]
        step, position, reason = candidates[int(np.argmin([step for step, _, _ in candidates]))]
        reaches_end = not step < 1.0 - self.s
        step = 1.0 - self.s if reaches_end else step
        if record is not None:
            ends = (self.s, 1.0 if reaches_end else self.s + step)
            record(Steps.from_step(ends, free, self.kind, (self.mu, direction.mu, self.v[free], direction.v)))
        self._move(step, direction)
        if not reaches_end:
            self.events += 1
            self._change_partition(reason, position)
        return reaches_end

    def _change_partition(self, reason: int, position: int) -> None:
        """Handle an event: free the row at this position, or put the row at this position of F at a bound."""
        if reason == events.ENTERS:
            self._enter(position)
        elif reason == events.LEAVES_UP:
            self._leave(position, 1)
        elif reason == events.LEAVES_DOWN:
            self._leave(position, -1)

    def _measure_free_rows(self, dv: FloatArray) -> tuple[_Approach, _Approach]:
        """Return how the free rows approach hi, and lo, (f,) each, given their slopes.

        Distances that are too short are extended by shifting the bound, (ACTIVE.5).
        """
        data = self.current
        free = self.factor.free
        v = self.v[free]
        noise = MIN_RATE * max(float(np.abs(dv).max(initial=0.0)), SMALLEST_NORMAL)
        finite = data.hi[np.isfinite(data.hi)]
        size = float(np.abs(self.v).max(initial=0.0)) + float(np.abs(finite).max(initial=0.0))
        min_distance = MIN_DISTANCE * max(size, SMALLEST_NORMAL)
        up = _Approach(data.hi[free] - v, dv - self.slope.hi[free], noise)
        down = _Approach(v - data.lo[free], self.slope.lo[free] - dv, noise)
        k, growth = up.extend_short(min_distance, BOUND_SHIFT, self.random)
        data.hi[free[k]] += growth
        k, growth = down.extend_short(min_distance, BOUND_SHIFT, self.random)
        data.lo[free[k]] -= growth
        return up, down

    def _measure_bound_rows(self, direction: _Direction) -> _Approach:
        """Return how the rows at bounds approach g = 0: (m,).

        Distances that are too short are extended by shifting t, (ACTIVE.5).
        """
        rows = self.rows
        data = self.current
        slope = self.slope
        kind = self.kind
        dg = rows.at_rows(direction.f) - slope.t
        if rows.p:
            dg = dg + rows.E @ direction.mu
        if rows.curvature.any():
            dg = dg + rows.curvature * self.rate
        size = 2.0 * float(np.sqrt(self.v @ self.v)) * rows.max_diagonal + float(np.abs(data.t).max(initial=0.0))
        min_distance = EPS * (size + float(np.abs(self.mu).max(initial=0.0)))
        largest_rate = float(np.abs(direction.f).max(initial=0.0)) + float(np.abs(direction.mu).max(initial=0.0))
        noise = MIN_RATE * (largest_rate + float(np.abs(slope.t).max(initial=0.0)))
        approach = _Approach(-self.compute_g() * kind, np.where(self.pinned, 0.0, dg * kind), noise)
        k, growth = approach.extend_short(min_distance, G_SHIFT, self.random)
        data.t[k] += kind[k] * growth
        return approach

    def _move(self, step: float, direction: _Direction) -> None:
        """Move by a step in s."""
        self.v[self.factor.free] += step * direction.v
        self.mu = self.mu + step * direction.mu
        self.f += step * direction.f
        self.s += step
        self.current.add(step, self.slope)
        self.v = choose_by_kind(self.kind, self.current, self.v)

    def _find_direction(self) -> _Direction:
        """Return the slopes of v_F, μ and f, (ACTIVE.2), after correcting the rounding errors of v_F and μ.

        Raises PathBreakdown, LinAlgError.
        """
        for tries_stricter in (False, True):
            if tries_stricter:
                self._restart_stricter()
            direction = self._solve_system(always_refine=False)
            if direction is None:
                self.factor.invert(self.factor.free)
                direction = self._solve_system(always_refine=True)
            if direction is not None:
                return direction
        raise PathBreakdown("the system of the free rows is too ill-conditioned")

    def _solve_system(self, always_refine: bool) -> _Direction | None:
        """Solve (ACTIVE.2) for the direction, with iterative refinement; return None if the residual stays large.

        always_refine: Whether to refine even a residual above `MAX_REFINABLE_RESIDUAL`.
        """
        rows = self.rows
        p = rows.p
        free = self.factor.free
        W = self.factor.inverse
        K = self.factor.K_free
        rhs = self._build_right_sides()
        solution = W @ rhs
        f_change = K.T @ solution[p:]
        residual_size = scale = 0.0
        for _ in range(3):
            residual = self._compute_residual(rhs, solution, f_change)
            scale = float(np.abs(rhs[:, 0]).max(initial=0.0))
            scale += MIN_RESIDUAL_SCALE * rows.max_diagonal * float(np.abs(solution[p:, 0]).max(initial=0.0))
            residual_size = float(np.abs(residual[:, 0]).max(initial=0.0))
            is_hopeless = residual_size > MAX_REFINABLE_RESIDUAL * scale and not always_refine
            if residual_size <= MAX_UNREFINED_RESIDUAL * scale or is_hopeless:
                break
            solution += W @ residual
            f_change = K.T @ solution[p:]
        if not np.isfinite(solution).all() or (scale > 0.0 and residual_size > MAX_RESIDUAL * scale):
            return None
        if rhs.shape[1] > 1:
            self.v[free] += solution[p:, 1]
            self.mu = self.mu + solution[:p, 1]
            self.f += f_change[:, 1]
        return _Direction(solution[p:, 0], solution[:p, 0], self.f_rate + f_change[:, 0])

    def _compute_residual(self, rhs: FloatArray, solution: FloatArray, f_change: FloatArray) -> FloatArray:
        """Return the residuals of (FACTOR.1), (p + f, 1 or 2), given K times the v_F of the solutions, (n, 1 or 2)."""
        rows = self.rows
        p = rows.p
        free = self.factor.free
        E = rows.E[free]
        residual = np.empty_like(rhs)
        residual[:p] = rhs[:p] - E.T @ solution[p:] + rows.ridge[:, None] * solution[:p]
        residual[p:] = (
            rhs[p:] - f_change[rows.sample[free]] - E @ solution[:p] - rows.curvature[free][:, None] * solution[p:]
        )
        return residual

    def _build_right_sides(self) -> FloatArray:
        """Build the right-hand sides of (FACTOR.1): (p + f, 1 or 2).

        The first one is for the slopes of μ and v_F. The second one, for a correction of their rounding errors, is left
        out if its size is that of a rounding: the correction would only amplify it by a small pivot.
        """
        rows = self.rows
        data = self.current
        slope = self.slope
        p = rows.p
        free = self.factor.free
        sample = rows.sample[free]
        rhs = np.empty((p + len(free), 2))
        rhs[:p, 0] = slope.e - self.e_rate
        rhs[p:, 0] = slope.t[free] - self.f_rate[sample]
        rhs[:p, 1] = data.e - rows.E.T @ self.v + rows.ridge * self.mu
        rhs[p:, 1] = data.t[free] - self.f[sample] - rows.E[free] @ self.mu - rows.curvature[free] * self.v[free]
        total = float(np.abs(self.v).sum())
        e_rounding = 4.0 * EPS * total
        t_rounding = 4.0 * EPS * (total * rows.max_diagonal + float(np.abs(data.t).max(initial=0.0)))
        is_rounding = (
            np.abs(rhs[p:, 1]).max(initial=0.0) <= t_rounding and np.abs(rhs[:p, 1]).max(initial=0.0) <= e_rounding
        )
        return rhs[:, :1] if is_rounding else rhs


__all__ = ["ActiveSet", "PathBreakdown", "Stopped"]
