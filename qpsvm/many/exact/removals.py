"""Move rows to other bounds from one optimum, many times over, by one tableau.

With F free and B at bounds at the optimum of all samples, W = M⁻¹ of (FACTOR.1), C = [E_Bᵀ; K_FB], X = WC:

    (TABLEAU.1)  δw = H δu + L δe,  u = (g_F, v_B),  w = (v_F, g_B):
                 H_FF = W_FF,  H_FB = −X_F,  H_BF = X_Fᵀ,  H_BB = K_BB + Δ_B − CᵀX;
                 L = [W_Fμ; X_μᵀ];   δμ = W_μF δg_F − X_μ δv_B + W_μμ δe
    (TABLEAU.2)  rows P that changed between free and bound since:  δw_P is given, and δu_P = H_PP⁻¹(δw_P − way_P),
                 where way is what rows at bounds that move, and e, do to all others
    (TABLEAU.3)  the next event is the first k whose own number, v_k where it is free and g_k where it is at a bound,
                 leaves its interval: [lo, hi], which may move, or g ≥ 0 at lo, g ≤ 0 at hi

An event costs |P| rows of H and a system of that size. Where that becomes singular, or too large, another active set
has to be followed: `ActiveSet` can do that. What comes out is judged like any other point.

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

#: More rows than this that changed are another active set, and so are more events.
MOST_CHANGED, MOST_EVENTS = 60, 240
#: Rates below this share of what moves are 0.
NOISE = 1e-12
#: A pivot below this share of K_ii, or of 1/K_ii for a row that leaves, counts as none.
NO_PIVOT = 1e-9
#: More rows than this that move are multiplied by all of H, for many changes at once.
FEW_ROWS = 8


class Removals:
    """(TABLEAU.1) of an optimum, in its columns.

    columns (m, m): Row j is H e_j.
    multipliers (p, m): δμ = multipliers δu + corner δe;  totals (p, m): Lᵀ.
    state (m,): v of free rows, g of those at bounds.
    """

    def __init__(self, base: ActiveSet) -> None:
        rows, p, m = base.rows, base.rows.p, base.rows.m
        check_memory(m, m, "the tableau of an optimum, which", "")
        self.rows, self.data = rows, base.now
        self.v, self.mu, self.kind, self.pinned = base.v, base.mu, base.kind, base.pinned
        free, W = base.factor.free, base.factor.inverse
        r = rows.sample
        H = rows.K.copy() if rows.plain else rows.K[np.ix_(r, r)]
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
        self.state = np.where(self.is_free, base.v, base.g())
        self.least = np.where(self.is_free, base.now.lo, np.where(base.kind < 0, 0.0, -np.inf))
        self.most = np.where(self.is_free, base.now.hi, np.where(base.kind > 0, 0.0, np.inf))
        self.least[self.pinned], self.most[self.pinned] = -np.inf, np.inf

    def find_optima(self, changes: Sequence[tuple[IntArray, Data]]) -> list[tuple[FloatArray, FloatArray] | None]:
        """Return v (m,) and μ of the optimum for other lo, hi and e, each with rows that have to go to 0.

        None where it takes another way to find it.
        """
        moves = [_Move(self, gone, goal) for gone, goal in changes]
        if any(move.wide for move in moves):
            ways = np.array([move.rates for move in moves]) @ self.columns
            ways += np.array([move.slope.e for move in moves]) @ self.totals
            return [self._follow_move(move, way) for move, way in zip(moves, ways, strict=True)]
        return [self._follow_move(move, self._combine_columns(move)) for move in moves]

    def _combine_columns(self, move: _Move) -> FloatArray:
        """Combine the columns of few moving rows at bounds: (m,)."""
        k = np.flatnonzero(move.rates)
        return np.asarray(move.rates[k] @ self.columns[k] + move.slope.e @ self.totals)

    def _follow_move(self, move: _Move, way: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Follow one change to its optimum; None if that fails."""
        free, top, inside = self.is_free.copy(), self.rows.top, move.gone[self.is_free[move.gone]]
        changed = _Changed(self.columns, top, way, move.rates)
        for k in inside.tolist():
            if not changed.toggle(k, True, -float(self.v[k])):
                return None
        y = self.state.copy()
        y[inside], free[move.gone] = 0.0, False
        small = np.where(free, NOISE * move.size, NOISE * move.size * top)
        s = 0.0
        for _ in range(MOST_EVENTS):
            direction = changed.direction()
            step, k, side = move.find_event(y, direction, small)
            if not step < 1.0 - s:
                return self._read_point(y + (1.0 - s) * direction, move, free, changed.rows)
            y += step * direction
            move.advance(step)
            s += step
            if free[k]:
                if not changed.toggle(k, True, move.leaves(k, side)):
                    return None
                free[k], y[k], small[k] = False, 0.0, NOISE * move.size * top
            else:
                if not changed.toggle(k, False):
                    return None
                y[k] = move.enters(k, s)
                free[k], small[k] = True, NOISE * move.size
        return None

    def _read_point(
        self, y: FloatArray, move: _Move, free: NDArray[np.bool_], changed: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return v and μ from the numbers of all rows at the end."""
        v = np.where(free, y, np.where(move.kind > 0, move.goal.hi, move.goal.lo))
        v[move.gone] = 0.0
        u = np.where(self.is_free, 0.0, v - self.v)
        left = changed[self.is_free[changed]]
        u[left] = y[left]
        mu = self.mu + self.multipliers @ u + self.corner @ move.slope.e
        return (v, mu) if np.isfinite(v).all() and np.isfinite(mu).all() else None


class _Move:
    """Bounds and totals on their way, and the intervals of (TABLEAU.3).

    rates (m,): How fast v of rows at bounds moves with these.
    wide: Whether these are many.
    size: The largest number that moves.
    """

    def __init__(self, base: Removals, gone: IntArray, goal: Data) -> None:
        self.start, self.gone, self.goal, self.kind = base.data, gone, goal, base.kind.copy()
        self.least, self.most = base.least.copy(), base.most.copy()
        self.slope = base.data.difference_to(goal)
        lo, hi = self.slope.lo, self.slope.hi
        lo[gone] = hi[gone] = 0.0
        self.kind[gone] = 0
        self.rates = np.where(self.kind > 0, hi, np.where(self.kind < 0, lo, 0.0))
        self.rates[gone] = np.where(base.is_free[gone], 0.0, -base.v[gone])
        self.least[gone], self.most[gone] = -np.inf, np.inf
        self.still = not (lo.any() or hi.any())
        self.wide = np.count_nonzero(self.rates) > FEW_ROWS
        most = [np.abs(part).max(initial=0.0) for part in (base.v[gone], self.slope.e, lo, hi)]
        self.size = float(max(most))
        if not self.still:
            self.d_least = np.where(base.is_free, lo, 0.0)
            self.d_most = np.where(base.is_free, hi, 0.0)

    def find_event(self, y: FloatArray, direction: FloatArray, small: FloatArray) -> tuple[float, int, int]:
        """Return the step to the next event, its row, and which end of its interval that row meets."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.still:
                steps = (np.where(direction > 0.0, self.most, self.least) - y) / direction
                steps[~(np.abs(direction) > small)] = np.inf
                k = int(steps.argmin())
                return max(float(steps[k]), 0.0), k, 1 if direction[k] > 0.0 else -1
            up, down = direction - self.d_most, direction - self.d_least
            high = np.where(up > small, (self.most - y) / up, np.inf)
            low = np.where(down < -small, (self.least - y) / down, np.inf)
        steps = np.minimum(high, low)
        k = int(steps.argmin())
        return max(float(steps[k]), 0.0), k, 1 if high[k] <= low[k] else -1

    def advance(self, step: float) -> None:
        """Advance the intervals by a step."""
        if not self.still:
            self.least += step * self.d_least
            self.most += step * self.d_most

    def leaves(self, k: int, side: int) -> float:
        """Row k goes to a bound; how fast that moves."""
        self.kind[k] = side
        self.least[k], self.most[k] = (-np.inf, 0.0) if side > 0 else (0.0, np.inf)
        if self.still:
            return 0.0
        self.d_least[k] = self.d_most[k] = 0.0
        return float((self.slope.hi if side > 0 else self.slope.lo)[k])

    def enters(self, k: int, s: float) -> float:
        """Row k leaves its bound; where that is."""
        lo = float(self.start.lo[k] + s * self.slope.lo[k])
        hi = float(self.start.hi[k] + s * self.slope.hi[k])
        self.least[k], self.most[k] = lo, hi
        if not self.still:
            self.d_least[k], self.d_most[k] = self.slope.lo[k], self.slope.hi[k]
        at = hi if self.kind[k] > 0 else lo
        self.kind[k] = 0
        return at


class _Changed:
    """P of (TABLEAU.2), its columns of H, and H_PP⁻¹, bordered by each row that comes.

    way (m,): What rows at bounds that move do to all; rates (m,): how fast these move.
    """

    def __init__(self, columns: FloatArray, top: float, way: FloatArray, rates: FloatArray) -> None:
        self.columns, self.top, self.way, self.rates, self.count = columns, top, way, rates, 0
        self.order: IntArray = np.zeros(MOST_CHANGED, dtype=np.int64)
        self.given = np.zeros(MOST_CHANGED)
        self.part = np.empty((MOST_CHANGED, len(way)))
        self.inverse = np.zeros((MOST_CHANGED, MOST_CHANGED))

    @property
    def rows(self) -> IntArray:
        """P."""
        return self.order[: self.count]

    def direction(self) -> FloatArray:
        """Return the rate of change of each row's own number: (m,)."""
        if not self.count:
            return self.way
        n, P = self.count, self.rows
        c = self.inverse[:n, :n] @ (self.given[:n] - self.way[P])
        direction = self.way + c @ self.part[:n]
        direction[P] = c + self.rates[P]
        return direction

    def toggle(self, k: int, free: bool, rate: float = 0.0) -> bool:
        """Row k goes (is it free?) or comes; whether M stays regular, and there is room for it."""
        n, P, Q = self.count, self.rows, self.inverse
        places = np.flatnonzero(k == P)
        if len(places):
            return self._restore_row(int(places[0]), free, rate)
        column, row = self.columns[k, P], self.part[:n, k]
        x, z = Q[:n, :n] @ column, row @ Q[:n, :n]
        pivot = float(self.columns[k, k]) - float(row @ x)
        if n >= MOST_CHANGED or not self._counts(pivot, free):
            return False
        Q[:n, :n] += np.multiply.outer(x, z / pivot)
        Q[:n, n], Q[n, :n], Q[n, n] = -x / pivot, -z / pivot, 1.0 / pivot
        self.order[n], self.given[n], self.part[n] = k, rate, self.columns[k]
        self.count = n + 1
        return True

    def _restore_row(self, a: int, free: bool, rate: float) -> bool:
        """Undo the change at position a of P, except that it may move at another rate."""
        n, Q = self.count - 1, self.inverse
        if not self._counts(float(Q[a, a]), free):
            return False
        k = int(self.order[a])
        if free and rate != self.rates[k]:
            self.way = self.way + (rate - self.rates[k]) * self.columns[k]
            self.rates[k] = rate
        if a != n:
            Q[[a, n], : n + 1] = Q[[n, a], : n + 1]
            Q[: n + 1, [a, n]] = Q[: n + 1, [n, a]]
            self.order[a], self.given[a], self.part[a] = self.order[n], self.given[n], self.part[n]
        Q[:n, :n] -= np.multiply.outer(Q[:n, n], Q[n, :n] / Q[n, n])
        self.count = n
        return True

    def _counts(self, pivot: float, free: bool) -> bool:
        return pivot * self.top > NO_PIVOT if free else pivot > NO_PIVOT * self.top


def removals_from(base: ActiveSet | None) -> Removals | None:
    """The tableau of an optimum, where there is one, its numbers are finite, and it fits."""
    if base is None:
        return None
    try:
        found = Removals(base)
    except TooLargeError:
        return None
    return found if np.isfinite(found.columns).all() else None


__all__ = ["Removals", "removals_from"]
