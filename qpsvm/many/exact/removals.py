"""Find the optima for many changes of bounds, all from one optimum, by one tableau (`Removals`).

With F free and B at bounds at the optimum of all samples, W = M⁻¹ of (FACTOR.1), C = [E_Bᵀ; K_FB], X = WC:

    (TABLEAU.1)  δw = H δu + L δe,  u = (g_F, v_B),  w = (v_F, g_B):
                 H_FF = W_FF,  H_FB = −X_F,  H_BF = X_Fᵀ,  H_BB = K_BB + Δ_B − CᵀX;
                 L = [W_Fμ; X_μᵀ];   δμ = W_μF δg_F − X_μ δv_B + W_μμ δe
    (TABLEAU.2)  rows P that changed between free and bound since:  δw_P is given, and δu_P = H_PP⁻¹(δw_P − drift_P),
                 where drift is the effect on all rows of moving bounds and e
    (TABLEAU.3)  the next event is the first k whose state, v_k if it is free and g_k if it is at a bound, leaves its
                 interval: [lo, hi], which may move, or g ≥ 0 at lo, g ≤ 0 at hi

An event costs |P| rows of H and a system of that size. If that becomes singular, or too large, an `ActiveSet` has to be
followed instead. The resulting points are certified like any other.

Sources: Cauwenberghs & Poggio, NeurIPS 13 (2000); Cottle, Pang & Stone, *The Linear Complementarity Problem* (1992),
section 2.3: principal pivots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.errors import TooLargeError
from qpsvm.base.resources.limits import check_memory
from qpsvm.many.exact.active_set import ActiveSet
from qpsvm.many.exact.rows import Data

#: Limits of the changed rows and of the events; beyond, an `ActiveSet` is cheaper.
MAX_CHANGED, MAX_EVENTS = 60, 240
#: Rates below this share of the largest one count as 0.
MIN_RATE = 1e-12
#: A pivot below this share of K_ii, or of 1/K_ii for a row that leaves, counts as 0.
NO_PIVOT = 1e-9
#: If more rows than this move, all changes are multiplied by H at once.
MAX_SINGLE_UPDATES = 8


class Removals:
    """The tableau (TABLEAU.1) of an optimum.

    columns (m, m): Row j is H e_j.
    multipliers (p, m): δμ = multipliers δu + corner δe;  totals (p, m): Lᵀ.
    state (m,): v of free rows, g of those at bounds.
    """

    def __init__(self, base: ActiveSet) -> None:
        rows, p, m = base.rows, base.rows.p, base.rows.m
        check_memory(m, m, "the tableau of an optimum, which", "")
        self.rows, self.data = rows, base.current
        self.v, self.mu, self.kind, self.pinned = base.v, base.mu, base.kind, base.pinned
        free, W = base.factor.free, base.factor.inverse
        r = rows.sample
        H = rows.K.copy() if rows.has_one_row_per_sample else rows.K[np.ix_(r, r)]
        H[np.arange(m), np.arange(m)] += rows.curvature
        C = np.vstack([rows.E.T, H[free]])
        X = W @ C
        H -= C.T @ X
        H[free] = X[p:]  # the column of a free row, at rows at bounds
        H[:, free] = -X[p:].T  # the columns of rows at bounds, at free rows
        H[np.ix_(free, free)] = W[p:, p:]
        self.columns, self.multipliers, self.totals, self.corner = H, -X[:p], X[:p].copy(), W[:p, :p].copy()
        self.multipliers[:, free] = self.totals[:, free] = W[:p, p:]
        self.is_free = np.zeros(m, dtype=np.bool_)
        self.is_free[free] = True
        self.state = np.where(self.is_free, base.v, base.compute_g())
        self.min_state = np.where(self.is_free, base.current.lo, np.where(base.kind < 0, 0.0, -np.inf))
        self.max_state = np.where(self.is_free, base.current.hi, np.where(base.kind > 0, 0.0, np.inf))
        self.min_state[self.pinned], self.max_state[self.pinned] = -np.inf, np.inf

    def find_optima(self, changes: Sequence[tuple[IntArray, Data]]) -> list[tuple[FloatArray, FloatArray] | None]:
        """Return v (m,) and μ of the optimum for other lo, hi and e, each with rows that have to go to 0.

        An entry is None if the tableau does not suffice.
        """
        moves = [_Move(self, gone, goal) for gone, goal in changes]
        if any(move.has_many_rates for move in moves):
            drifts = np.array([move.rates for move in moves]) @ self.columns
            drifts += np.array([move.slope.e for move in moves]) @ self.totals
            return [self._follow_move(move, drift) for move, drift in zip(moves, drifts, strict=True)]
        return [self._follow_move(move, self._combine_columns(move)) for move in moves]

    def _combine_columns(self, move: _Move) -> FloatArray:
        """Combine the columns of few moving rows at bounds: (m,)."""
        k = np.flatnonzero(move.rates)
        return np.asarray(move.rates[k] @ self.columns[k] + move.slope.e @ self.totals)

    def _follow_move(self, move: _Move, drift: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Follow one change to its optimum; None if that fails."""
        free, top, free_gone = self.is_free.copy(), self.rows.max_diagonal, move.gone[self.is_free[move.gone]]
        changed = _Changed(self.columns, top, drift, move.rates)
        for k in free_gone.tolist():
            if not changed.toggle(k, True, -float(self.v[k])):
                return None
        y = self.state.copy()
        y[free_gone], free[move.gone] = 0.0, False
        noise = np.where(free, MIN_RATE * move.size, MIN_RATE * move.size * top)
        s = 0.0
        for _ in range(MAX_EVENTS):
            direction = changed.find_direction()
            step, k, side = move.find_event(y, direction, noise)
            if not step < 1.0 - s:
                return self._read_point(y + (1.0 - s) * direction, move, free, changed.rows)
            y += step * direction
            move.advance(step)
            s += step
            if free[k]:
                if not changed.toggle(k, True, move.bind_row(k, side)):
                    return None
                free[k], y[k], noise[k] = False, 0.0, MIN_RATE * move.size * top
            else:
                if not changed.toggle(k, False):
                    return None
                y[k] = move.free_row(k, s)
                free[k], noise[k] = True, MIN_RATE * move.size
        return None

    def _read_point(
        self, y: FloatArray, move: _Move, free: NDArray[np.bool_], changed: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return v and μ from the final states of all rows; None if they are not finite."""
        v = np.where(free, y, np.where(move.kind > 0, move.goal.hi, move.goal.lo))
        v[move.gone] = 0.0
        u = np.where(self.is_free, 0.0, v - self.v)
        freed = changed[self.is_free[changed]]
        u[freed] = y[freed]
        mu = self.mu + self.multipliers @ u + self.corner @ move.slope.e
        return (v, mu) if np.isfinite(v).all() and np.isfinite(mu).all() else None


class _Move:
    """Moving bounds and totals, and the intervals of (TABLEAU.3), [min_state, max_state].

    rates (m,): Rates of v of the rows at moving bounds.
    has_many_rates: Whether more than `MAX_SINGLE_UPDATES` of them are not 0.
    is_still: Whether no bounds move, except those of the removed rows.
    size: The largest rate.
    """

    def __init__(self, base: Removals, gone: IntArray, goal: Data) -> None:
        self.start, self.gone, self.goal, self.kind = base.data, gone, goal, base.kind.copy()
        self.min_state, self.max_state = base.min_state.copy(), base.max_state.copy()
        self.slope = base.data.difference_to(goal)
        lo, hi = self.slope.lo, self.slope.hi
        lo[gone] = hi[gone] = 0.0
        self.kind[gone] = 0
        self.rates = np.where(self.kind > 0, hi, np.where(self.kind < 0, lo, 0.0))
        self.rates[gone] = np.where(base.is_free[gone], 0.0, -base.v[gone])
        self.min_state[gone], self.max_state[gone] = -np.inf, np.inf
        self.is_still = not (lo.any() or hi.any())
        self.has_many_rates = np.count_nonzero(self.rates) > MAX_SINGLE_UPDATES
        sizes = [np.abs(values).max(initial=0.0) for values in (base.v[gone], self.slope.e, lo, hi)]
        self.size = float(max(sizes))
        if not self.is_still:
            self.min_rate = np.where(base.is_free, lo, 0.0)
            self.max_rate = np.where(base.is_free, hi, 0.0)

    def find_event(self, y: FloatArray, direction: FloatArray, noise: FloatArray) -> tuple[float, int, int]:
        """Return the step to the next event, its row, and the end of its interval that the row meets (−1 or 1)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_still:
                steps = (np.where(direction > 0.0, self.max_state, self.min_state) - y) / direction
                steps[~(np.abs(direction) > noise)] = np.inf
                k = int(steps.argmin())
                return max(float(steps[k]), 0.0), k, 1 if direction[k] > 0.0 else -1
            rate_to_max, rate_to_min = direction - self.max_rate, direction - self.min_rate
            steps_to_max = np.where(rate_to_max > noise, (self.max_state - y) / rate_to_max, np.inf)
            steps_to_min = np.where(rate_to_min < -noise, (self.min_state - y) / rate_to_min, np.inf)
        steps = np.minimum(steps_to_max, steps_to_min)
        k = int(steps.argmin())
        return max(float(steps[k]), 0.0), k, 1 if steps_to_max[k] <= steps_to_min[k] else -1

    def advance(self, step: float) -> None:
        """Advance the intervals by a step."""
        if not self.is_still:
            self.min_state += step * self.min_rate
            self.max_state += step * self.max_rate

    def bind_row(self, k: int, side: int) -> float:
        """Put row k at a bound, and return the rate of that bound."""
        self.kind[k] = side
        self.min_state[k], self.max_state[k] = (-np.inf, 0.0) if side > 0 else (0.0, np.inf)
        if self.is_still:
            return 0.0
        self.min_rate[k] = self.max_rate[k] = 0.0
        return float((self.slope.hi if side > 0 else self.slope.lo)[k])

    def free_row(self, k: int, s: float) -> float:
        """Free row k, and return the present value of its bound."""
        lo = float(self.start.lo[k] + s * self.slope.lo[k])
        hi = float(self.start.hi[k] + s * self.slope.hi[k])
        self.min_state[k], self.max_state[k] = lo, hi
        if not self.is_still:
            self.min_rate[k], self.max_rate[k] = self.slope.lo[k], self.slope.hi[k]
        bound = hi if self.kind[k] > 0 else lo
        self.kind[k] = 0
        return bound


class _Changed:
    """P of (TABLEAU.2), its rows of H, and H_PP⁻¹, which is bordered by each row that joins.

    drift (m,): As in (TABLEAU.2); rates (m,): rates of v of the rows at moving bounds.
    """

    def __init__(self, columns: FloatArray, top: float, drift: FloatArray, rates: FloatArray) -> None:
        self.columns, self.top, self.drift, self.rates, self.count = columns, top, drift, rates, 0
        self.order: IntArray = np.zeros(MAX_CHANGED, dtype=np.int64)
        self.given_rates = np.zeros(MAX_CHANGED)
        self.changed_rows = np.empty((MAX_CHANGED, len(drift)))
        self.inverse = np.zeros((MAX_CHANGED, MAX_CHANGED))

    @property
    def rows(self) -> IntArray:
        """P."""
        return self.order[: self.count]

    def find_direction(self) -> FloatArray:
        """Return the rate of change of the state of each row: (m,)."""
        if not self.count:
            return self.drift
        n, P = self.count, self.rows
        c = self.inverse[:n, :n] @ (self.given_rates[:n] - self.drift[P])
        direction = self.drift + c @ self.changed_rows[:n]
        direction[P] = c + self.rates[P]
        return direction

    def toggle(self, k: int, free: bool, rate: float = 0.0) -> bool:
        """Move row k to a bound if it is `free`, else free it; return False if M becomes singular or P too large."""
        n, P, Q = self.count, self.rows, self.inverse
        positions = np.flatnonzero(k == P)
        if len(positions):
            return self._restore_row(int(positions[0]), free, rate)
        column, row = self.columns[k, P], self.changed_rows[:n, k]
        x, z = Q[:n, :n] @ column, row @ Q[:n, :n]
        pivot = float(self.columns[k, k]) - float(row @ x)
        if n >= MAX_CHANGED or not self._is_regular(pivot, free):
            return False
        Q[:n, :n] += np.multiply.outer(x, z / pivot)
        Q[:n, n], Q[n, :n], Q[n, n] = -x / pivot, -z / pivot, 1.0 / pivot
        self.order[n], self.given_rates[n], self.changed_rows[n] = k, rate, self.columns[k]
        self.count = n + 1
        return True

    def _restore_row(self, a: int, free: bool, rate: float) -> bool:
        """Undo the change at position a of P, up to the rate of its bound; return False if M becomes singular."""
        n, Q = self.count - 1, self.inverse
        if not self._is_regular(float(Q[a, a]), free):
            return False
        k = int(self.order[a])
        if free and rate != self.rates[k]:
            self.drift = self.drift + (rate - self.rates[k]) * self.columns[k]
            self.rates[k] = rate
        if a != n:
            Q[[a, n], : n + 1] = Q[[n, a], : n + 1]
            Q[: n + 1, [a, n]] = Q[: n + 1, [n, a]]
            self.order[a], self.given_rates[a], self.changed_rows[a] = (
                self.order[n],
                self.given_rates[n],
                self.changed_rows[n],
            )
        Q[:n, :n] -= np.multiply.outer(Q[:n, n], Q[n, :n] / Q[n, n])
        self.count = n
        return True

    def _is_regular(self, pivot: float, free: bool) -> bool:
        return pivot * self.top > NO_PIVOT if free else pivot > NO_PIVOT * self.top


def build_removals(base: ActiveSet | None) -> Removals | None:
    """Return the tableau of an optimum; None without an optimum, or if it is not finite or too large."""
    if base is None:
        return None
    try:
        removals = Removals(base)
    except TooLargeError:
        return None
    return removals if np.isfinite(removals.columns).all() else None


__all__ = ["Removals", "build_removals"]
