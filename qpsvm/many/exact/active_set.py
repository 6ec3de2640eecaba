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

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.resources.clock import Clock
from qpsvm.many.exact import events
from qpsvm.many.exact.events import Record, Steps
from qpsvm.many.exact.factor import MAX_PIVOT_TOLERANCE, InverseFactor
from qpsvm.many.exact.rows import Data, SignedRows

EPS = float(np.finfo(float).eps)
#: A row is free at the start if its distance from both bounds exceeds this share of the width of its box.
MIN_FREE_DISTANCE = 1e-8
#: Rates, and distances to a bound, below these shares of the largest ones are rounding and count as 0.
MIN_RATE, MIN_DISTANCE = 1e-13, 1e-14
#: Relative residuals of the system of the free rows: above the first it is refined, above the second it is given up;
#: above the third, refinement rarely helps.
MAX_UNREFINED_RESIDUAL, MAX_RESIDUAL, MAX_REFINABLE_RESIDUAL = 1e-11, 1e-9, 1e-6
#: Numbers of events between two checks of the clock, and between two computations of f from v.
EVENTS_PER_CLOCK_CHECK, EVENTS_PER_REFRESH = 32, 64
#: Limit of the number of events, per row and in addition: beyond it, the path is assumed to cycle.
EVENTS_PER_ROW, MIN_EVENTS = 40, 100
#: 1/κ, in units of 1/max K_ii, above which the free rows of a start are added one by one instead of all at once.
MAX_INVERSE = 1e7
#: A change of μ of size 1 that changes g of a row by at most this leaves it unchanged.
MIN_G_CHANGE = 1e-9
#: Entries of a null vector up to this share of the largest one are rounding and count as 0.
MIN_NULL_ENTRY = 1e-6


class PathBreakdown(Exception):
    """Raised when rounding errors prevent a further step; the path so far is valid."""


class Stopped(Exception):
    """Raised when the time limit is reached or Ctrl-C was pressed."""


class ActiveSet:
    """The optimum at one s.

    v (m,), mu (p,), f (n,): v and μ, and f = K β over the distinct samples.
    kind (m,): −1 at lo, 0 free, 1 at hi.
    current, slope: The data at s, including the shifts of (ACTIVE.5), and their change per unit of s.
    rate (m,): The change of v per unit of s at the rows at bounds; 0 at free rows.
    f_rate (n,), e_rate (p,): K rate and Eᵀrate, what the rows at bounds contribute to the changes of f and of Eᵀv.
    pinned (m,): Mask of the rows whose bounds are equal, so that v moves with them.
    factor: F, and M⁻¹ of (FACTOR.1).
    events: Number of events so far.
    """

    def __init__(self, rows: SignedRows, data: Data, v: FloatArray, seed: int = 0, clock: Clock | None = None) -> None:
        self.rows = rows
        self.clock = clock
        self.events = 0
        self.s = 0.0
        self.random = np.random.default_rng(seed)
        self.current = data.copy()
        self.slope = data.difference_to(data)
        self.pinned: NDArray[np.bool_] = data.hi <= data.lo
        v = np.clip(v, data.lo, data.hi)
        largest_v = float(np.abs(v).max(initial=0.0))
        self.width = np.maximum(np.minimum(data.hi - data.lo, 10.0 * largest_v), np.finfo(float).tiny)
        self.kind = self._classify_rows(v)
        self.v = np.where(self.kind < 0, data.lo, np.where(self.kind > 0, data.hi, v))
        self.f = rows.compute_f(self.v)
        self.rate = np.zeros(rows.m)
        self.f_rate = np.zeros(len(rows.K))
        self.e_rate = np.zeros(rows.p)
        self.mu = np.zeros(rows.p)
        self.factor = InverseFactor(rows)
        self.steps: Steps | None = None
        self._choose_free_rows()

    def copy(self, clock: Clock | None = None) -> ActiveSet:
        """Return an independent copy."""
        new = object.__new__(ActiveSet)
        new.__dict__.update(self.__dict__)
        new.steps = None
        new.current = self.current.copy()
        new.factor = self.factor.copy()
        new.clock = clock or self.clock
        for name in ("v", "f", "kind", "rate", "f_rate", "e_rate", "pinned", "mu"):
            new.__dict__[name] = self.__dict__[name].copy()
        return new

    def advance(self, slope: Data, record: Record | None = None, s: float = 0.0) -> ActiveSet:
        """Move from s to 1 along a slope; `record` is called with every step.

        Raises PathBreakdown, Stopped, LinAlgError.
        """
        rows = self.rows
        self.slope, self.s = slope, s
        self.rate = np.where(self.kind > 0, slope.hi, np.where(self.kind < 0, slope.lo, 0.0))
        self.f_rate, self.e_rate = rows.compute_f(self.rate), rows.E.T @ self.rate
        max_steps = MIN_EVENTS + EVENTS_PER_ROW * rows.m
        steps = steps_at_clock_check = steps_at_refresh = 0
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
                self._refresh_f()
        raise PathBreakdown(f"{max_steps} events without an end")

    def move_to(self, data: Data) -> ActiveSet:
        """Move to these data by the same events, which removes all shifts of (ACTIVE.5), and return self."""
        self.advance(self.current.difference_to(data))
        self.current = data.copy()
        return self

    def pin(self, k: int) -> None:
        """Fix row k: set both of its bounds to its present value."""
        self.pinned[k] = True
        if self.kind[k] == 0:
            self.current.lo[k] = self.current.hi[k] = self.v[k]
            self._leave(int(np.flatnonzero(self.factor.free == k)[0]), -1)
        self.current.lo[k] = self.current.hi[k] = self.v[k]

    def compute_g(self) -> FloatArray:
        """Compute g of (ACTIVE.1): (m,)."""
        rows = self.rows
        g = rows.at_rows(self.f) - self.current.t
        if rows.p:
            g = g + rows.E @ self.mu
        return g + rows.curvature * self.v if rows.curvature.any() else g

    # --- the start: free rows that are independent --------------------------------------------------------------------

    def _classify_rows(self, v: FloatArray) -> NDArray[np.int8]:
        """Return the kind of every row, (m,), given v (m,)."""
        below = v - self.current.lo
        above = self.current.hi - v
        is_free = np.minimum(below, above) > MIN_FREE_DISTANCE * self.width
        return np.where(is_free, 0, np.where(below <= above, -1, 1)).astype(np.int8)

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
            if share > 100.0 * self.factor.pivot_tolerance:
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
        """Return μ with the smallest sum of violations of (ACTIVE.1), where g = Eμ − h, by a linear program."""
        rows = self.rows
        p = rows.p
        m = rows.m
        kind = self.kind
        is_unpinned = ~self.pinned
        not_low, not_high = (kind >= 0) & is_unpinned, (kind <= 0) & is_unpinned  # Eμ ≤ h at hi, Eμ ≥ h at lo
        slack = np.eye(m)
        A = np.vstack([np.hstack([rows.E[not_low], -slack[not_low]]), np.hstack([-rows.E[not_high], -slack[not_high]])])
        limits = [(None, None)] * p + [(0.0, None)] * m
        solution = linprog(np.r_[np.zeros(p), np.ones(m)], A, np.r_[h[not_low], -h[not_high]], bounds=limits).x
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
            reason, row, count = events.run_compiled(self, record)
            if reason == events.ENTERS:
                self._enter(row)
            elif reason in (events.LEAVES_UP, events.LEAVES_DOWN):
                self._leave(row, 1 if reason == events.LEAVES_UP else -1)
            if reason != events.UNUSUAL:
                return 0 if reason == events.END else count
        return 0 if self._run_single_event(record) else count + 1

    def _run_single_event(self, record: Record | None) -> bool:
        """Move to the next event and handle it, or to the end of the path; return whether the end is reached."""
        dv, dmu, df = self._find_direction()
        free = self.factor.free
        candidates = [
            _find_shortest_step(*self._measure_bound_rows(dmu, df)),
            *(_find_shortest_step(*measured) for measured in self._measure_free_rows(dv)),
        ]
        event = int(np.argmin([step for step, _ in candidates]))  # 0: a row enters; 1, 2: one leaves to hi, to lo
        step, position = candidates[event]
        reaches_end = not step < 1.0 - self.s
        step = 1.0 - self.s if reaches_end else step
        if record is not None:
            ends = (self.s, 1.0 if reaches_end else self.s + step)
            record(Steps.from_step(ends, free, self.kind, (self.mu, dmu, self.v[free], dv)))
        self._move(step, dv, dmu, df)
        if reaches_end:
            return True
        self.events += 1
        if event == 0:
            self._enter(position)
        else:
            self._leave(position, 1 if event == 1 else -1)
        return False

    def _measure_free_rows(self, dv: FloatArray) -> list[tuple[FloatArray, FloatArray, float]]:
        """Return the distances of the free rows from their bounds, (f,), and the rates at which they shrink.

        The first entry is for hi, the second for lo; the last item of each is the rate up to which rates are noise.
        Distances that are too short are extended by shifting the bound, (ACTIVE.5).
        """
        data = self.current
        slope = self.slope
        free = self.factor.free
        v = self.v[free]
        noise = MIN_RATE * max(float(np.abs(dv).max(initial=0.0)), np.finfo(float).tiny)
        finite = data.hi[np.isfinite(data.hi)]
        size = float(np.abs(self.v).max(initial=0.0)) + float(np.abs(finite).max(initial=0.0))
        min_distance = MIN_DISTANCE * max(size, np.finfo(float).tiny)
        up = data.hi[free] - v
        down = v - data.lo[free]
        upwards = dv - slope.hi[free]
        downwards = slope.lo[free] - dv
        for distances, rates, bound, side in ((up, upwards, data.hi, 1.0), (down, downwards, data.lo, -1.0)):
            k = np.flatnonzero((rates > noise) & (distances < min_distance))
            if len(k):
                extended = min_distance * (10.0 + 20.0 * self.random.random(len(k)))
                bound[free[k]] += side * (extended - distances[k])
                distances[k] = extended
        return [(up, upwards, noise), (down, downwards, noise)]

    def _measure_bound_rows(self, dmu: FloatArray, df: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the distances of the rows at bounds from g = 0, (m,), their rates, and the noise of these.

        Distances that are too short are extended by shifting t, (ACTIVE.5).
        """
        rows = self.rows
        data = self.current
        slope = self.slope
        kind = self.kind
        dg = rows.at_rows(df) - slope.t
        if rows.p:
            dg = dg + rows.E @ dmu
        if rows.curvature.any():
            dg = dg + rows.curvature * self.rate
        distances = -self.compute_g() * kind
        rates = np.where(self.pinned, 0.0, dg * kind)
        size = 2.0 * float(np.sqrt(self.v @ self.v)) * rows.max_diagonal + float(np.abs(data.t).max(initial=0.0))
        min_distance = EPS * (size + float(np.abs(self.mu).max(initial=0.0)))
        largest_rate = float(np.abs(df).max(initial=0.0)) + float(np.abs(dmu).max(initial=0.0))
        noise = MIN_RATE * (largest_rate + float(np.abs(slope.t).max(initial=0.0)))
        k = np.flatnonzero((rates > noise) & (distances < min_distance))
        if len(k):
            extended = min_distance * (4.0 + 8.0 * self.random.random(len(k)))
            data.t[k] += kind[k] * (extended - distances[k])
            distances[k] = extended
        return distances, rates, noise

    def _move(self, step: float, dv: FloatArray, dmu: FloatArray, df: FloatArray) -> None:
        """Move by a step in s, given the slopes of v_F, μ and f."""
        data, kind = self.current, self.kind
        self.v[self.factor.free] += step * dv
        self.mu = self.mu + step * dmu
        self.f += step * df
        self.s += step
        data.add(step, self.slope)
        self.v = np.where(kind > 0, data.hi, np.where(kind < 0, data.lo, self.v))

    def _find_direction(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the slopes of v_F, μ and f, (ACTIVE.2), after correcting the rounding errors of v_F and μ.

        Raises PathBreakdown, LinAlgError.
        """
        for attempt in range(4):
            if attempt == 2:
                self._restart_stricter()
            elif attempt:
                self.factor.invert(self.factor.free)
            slopes = self._solve_system(always_refine=attempt in (1, 3))
            if slopes is not None:
                return slopes
        raise PathBreakdown("the system of the free rows is too ill-conditioned")

    def _solve_system(self, always_refine: bool) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Solve (ACTIVE.2) for the direction, with iterative refinement; return None if the residual stays large.

        always_refine: Whether to refine even a residual above `MAX_REFINABLE_RESIDUAL`.
        """
        rows = self.rows
        p = rows.p
        factor = self.factor
        free = factor.free
        W = factor.inverse
        K = factor.K_free
        E = rows.E[free]
        sample = rows.sample[free]
        right = self._build_right_sides(E, sample)
        solution = W @ right
        f_change = K.T @ solution[p:]
        residual_size = scale = 0.0
        for _ in range(3):
            residual = np.empty_like(right)
            residual[:p] = right[:p] - E.T @ solution[p:] + rows.ridge[:, None] * solution[:p]
            residual[p:] = (
                right[p:] - f_change[sample] - E @ solution[:p] - rows.curvature[free][:, None] * solution[p:]
            )
            scale = float(np.abs(right[:, 0]).max(initial=0.0))
            scale += 1e-4 * rows.max_diagonal * float(np.abs(solution[p:, 0]).max(initial=0.0))
            residual_size = float(np.abs(residual[:, 0]).max(initial=0.0))
            is_hopeless = residual_size > MAX_REFINABLE_RESIDUAL * scale and not always_refine
            if residual_size <= MAX_UNREFINED_RESIDUAL * scale or is_hopeless:
                break
            solution += W @ residual
            f_change = K.T @ solution[p:]
        if not np.isfinite(solution).all() or (scale > 0.0 and residual_size > MAX_RESIDUAL * scale):
            return None
        if right.shape[1] > 1:
            self.v[free] += solution[p:, 1]
            self.mu = self.mu + solution[:p, 1]
            self.f += f_change[:, 1]
        return solution[p:, 0], solution[:p, 0], self.f_rate + f_change[:, 0]

    def _build_right_sides(self, E: FloatArray, sample: IntArray) -> FloatArray:
        """Build the right-hand sides of (FACTOR.1), (p + f, 1 or 2), given E and the samples of the free rows.

        The first one is for the slopes of μ and v_F. The second one, for a correction of their rounding errors, is left
        out if its size is that of a rounding: the correction would only amplify it by a small pivot.
        """
        rows = self.rows
        data = self.current
        slope = self.slope
        p = rows.p
        free = self.factor.free
        right = np.empty((p + len(free), 2))
        right[:p, 0] = slope.e - self.e_rate
        right[p:, 0] = slope.t[free] - self.f_rate[sample]
        right[:p, 1] = data.e - rows.E.T @ self.v + rows.ridge * self.mu
        right[p:, 1] = data.t[free] - self.f[sample] - E @ self.mu - rows.curvature[free] * self.v[free]
        mass = float(np.abs(self.v).sum())
        rounding = 4.0 * EPS * np.array([mass, mass * rows.max_diagonal + float(np.abs(data.t).max(initial=0.0))])
        is_rounding = (
            np.abs(right[p:, 1]).max(initial=0.0) <= rounding[1]
            and np.abs(right[:p, 1]).max(initial=0.0) <= rounding[0]
        )
        return right[:, :1] if is_rounding else right

    def _refresh_f(self) -> None:
        """Recompute f from v alone."""
        self.f = self.rows.compute_f(self.v)

    # --- changes of F -------------------------------------------------------------------------------------------------

    def _enter(self, i: int) -> None:
        """Free row i, which is at a bound; if M would become singular, exchange it for another row."""
        sign = 1.0 if self.kind[i] < 0 else -1.0
        x, pivot, share = self.factor.compute_border(i)
        self._set_rate(i, 0.0)
        if share > self.factor.pivot_tolerance:
            self.kind[i] = 0
            self.factor.append(i, x, pivot)
        else:
            self._exchange(i, x, sign)

    def _leave(self, j: int, kind: int) -> None:
        """Put the row at position j of F at the bound of `kind`; if M becomes singular, free another, (ACTIVE.4)."""
        factor = self.factor
        p = self.rows.p
        k = int(factor.free[j])
        if factor.can_leave(j):
            factor.delete(j)
            self._bind(k, kind)
            return
        sign = -1.0 if kind > 0 else 1.0  # so that g of row k gets the right sign
        direction = sign * factor.inverse[:p, p + j]
        direction = direction / np.abs(direction).max(initial=0.0)
        g_change = self.rows.E @ direction
        g = self.compute_g()
        is_candidate = (self.kind * g_change > MIN_G_CHANGE) & ~self.pinned
        distance = np.maximum(-g * self.kind, 0.0)
        steps = np.full(len(g), np.inf)
        np.divide(distance, np.abs(g_change), out=steps, where=is_candidate)
        steps[factor.free] = np.inf
        i = int(np.argmin(steps))
        if not np.isfinite(steps[i]):
            raise PathBreakdown("beyond here nothing is feasible")
        self.mu = self.mu + steps[i] * direction
        self._set_rate(i, 0.0)
        factor.replace(j, i)
        self.kind[i] = 0
        self._bind(k, kind)

    def _exchange(self, i: int, x: FloatArray, sign: float) -> None:
        """Move row i in the direction of `sign` along the null vector of x until a row meets a bound, (ACTIVE.3)."""
        rows = self.rows
        factor = self.factor
        p = rows.p
        free = factor.free
        direction = -sign * x[p:]
        j, size = self._find_blocking_row(i, direction, sign)
        if not np.isfinite(size):
            raise PathBreakdown("the dual is unbounded along a null vector")
        self.v[free] += size * direction
        self.v[i] += sign * size
        self.mu = self.mu - sign * size * x[:p]
        self.f += (size * direction) @ factor.K_free + sign * size * rows.K[rows.sample[i]]
        if j is None:
            self._bind(i, 1 if sign > 0.0 else -1)
            return
        k = int(free[j])
        factor.replace(j, i)
        self.kind[i] = 0
        self._bind(k, 1 if direction[j] > 0.0 else -1)

    def _find_blocking_row(self, i: int, direction: FloatArray, sign: float) -> tuple[int | None, float]:
        """Return the position in F of the first row that meets a bound, None if that is row i itself, and the step.

        The free rows move along the direction (f,). Among rows that are nearly first, the fastest one is chosen, as in
        a ratio test with tolerances.
        """
        data = self.current
        free = self.factor.free
        speed = np.abs(direction)
        tiny = MIN_RATE * max(float(np.abs(self.v).max(initial=0.0)), np.finfo(float).tiny)
        distance = np.where(direction > 0.0, data.hi[free] - self.v[free], self.v[free] - data.lo[free])
        distance = np.maximum(distance, 0.0)
        is_moving = speed > MIN_NULL_ENTRY * speed.max(initial=MIN_NULL_ENTRY)
        steps = np.divide(distance, speed, out=np.full(len(speed), np.inf), where=is_moving)
        relaxed_steps = np.divide(distance + tiny, speed, out=np.full(len(speed), np.inf), where=is_moving)
        own_distance = float(data.hi[i] - self.v[i] if sign > 0.0 else self.v[i] - data.lo[i])
        if len(free) and relaxed_steps.min() < own_distance:
            j = int(np.argmax(np.where(steps <= relaxed_steps.min(), speed, 0.0)))
            return j, min(float(steps[j]), own_distance)
        return None, max(own_distance, 0.0)

    def _bind(self, k: int, kind: int) -> None:
        """Put row k at the bound of `kind`."""
        self.kind[k] = kind
        if kind > 0:
            bounds, rates = self.current.hi, self.slope.hi
        else:
            bounds, rates = self.current.lo, self.slope.lo
        self._set_rate(k, float(rates[k]))
        shift = float(bounds[k] - self.v[k])
        if shift:
            self.f += shift * self.rows.K[self.rows.sample[k]]
            self.v[k] = bounds[k]

    def _set_rate(self, k: int, rate: float) -> None:
        """Set the rate of row k, and update `f_rate` and `e_rate`."""
        change = rate - self.rate[k]
        if change:
            self.rate[k] = rate
            self.f_rate += change * self.rows.K[self.rows.sample[k]]
            self.e_rate += change * self.rows.E[k]


def _find_shortest_step(distances: FloatArray, rates: FloatArray, noise: float) -> tuple[float, int]:
    """Return the shortest step after which one of the distances is used up at these rates, and its index."""
    k = np.flatnonzero(rates > noise)
    if not len(k):
        return np.inf, -1
    steps = distances[k] / rates[k]
    j = int(np.argmin(steps))
    return float(steps[j]), int(k[j])


__all__ = ["ActiveSet", "PathBreakdown", "Stopped"]
