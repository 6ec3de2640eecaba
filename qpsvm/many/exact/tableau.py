"""Find the optima for many changes of bounds, such as left-out samples, from one optimum by one tableau (`Tableau`).

At an optimum, u is given (v of rows at bounds, g = 0 of free rows), and w, the other of v and g of each row, follows
from it linearly. The tableau is the matrix H of that map. It is computed once and shared by all changes. Each change is
followed from event to event, and only the few rows that switch between free and bound on the way need more work.

With F free and B at bounds at the first optimum, W = M⁻¹ of (FACTOR.1), whose first p rows have the index μ,
C = [E_Bᵀ; K_FB] and X = WC:

    (TABLEAU.1)  δw = H δu + L δe,  u = (g_F, v_B),  w = (v_F, g_B):
                 H_FF = W_FF,  H_FB = −X_F,  H_BF = X_Fᵀ,  H_BB = K_BB + Δ_B − CᵀX;
                 L = [W_Fμ; X_μᵀ];   δμ = W_μF δg_F − X_μ δv_B + W_μμ δe
    (TABLEAU.2)  for rows P that have switched since, δw_P is given, and δu_P = H_PP⁻¹(δw_P − drift_P), where drift is
                 the effect of moving bounds and e on all rows
    (TABLEAU.3)  the next event is the first k whose state, v_k if it is free and g_k if it is at a bound, leaves its
                 interval: [lo, hi], which may move, or g ≥ 0 at lo, g ≤ 0 at hi

v and g are those of (ACTIVE.1). An event costs |P| columns of H and a system of that size. If H_PP becomes singular or
too large, an `ActiveSet` has to be followed instead. The resulting points are certified like any other.

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
from qpsvm.many.exact.active_set_state import choose_by_kind
from qpsvm.many.exact.rows import Data

#: Limit of the number of switched rows: beyond it, an `ActiveSet` is cheaper.
MAX_SWITCHED = 60
#: Limit of the number of events: beyond it, an `ActiveSet` is cheaper.
MAX_EVENTS = 240
#: Rates below this share of the largest one count as 0.
MIN_RATE = 1e-12
#: A pivot below this share of K_ii, or of 1/K_ii for a row that leaves, counts as 0.
MIN_PIVOT = 1e-9
#: If more bounds than this move, the drifts of all changes are computed by one product with H.
MAX_SINGLE_UPDATES = 8


class Tableau:
    """The tableau (TABLEAU.1) of an optimum; `v`, `mu`, `kind` and `pinned` are those of the `ActiveSet`.

    columns (m, m), e_columns (p, m): Hᵀ and Lᵀ.
    mu_columns (p, m), mu_corner (p, p): δμ = mu_columns δu + mu_corner δe.
    state (m,): w, that is v of free rows, g of those at bounds; its interval is [min_state, max_state].
    """

    def __init__(self, base: ActiveSet) -> None:
        rows = base.rows
        p = rows.p
        m = rows.m
        check_memory(m, m, "the tableau of an optimum, which", "")
        self.rows = rows
        self.data = base.current
        self.v = base.v
        self.mu = base.mu
        self.kind = base.kind
        self.pinned = base.pinned
        free = base.factor.free
        W = base.factor.inverse
        r = rows.sample
        K = rows.K.copy() if rows.has_one_row_per_sample else rows.K[np.ix_(r, r)]
        K[np.arange(m), np.arange(m)] += rows.curvature
        C = np.vstack([rows.E.T, K[free]])
        X = W @ C
        K -= C.T @ X  # H_BB, symmetric; the other blocks are replaced by those of Hᵀ, in place
        self.columns = K
        self.columns[free] = X[p:]
        self.columns[:, free] = -X[p:].T
        self.columns[np.ix_(free, free)] = W[p:, p:]
        self.mu_columns = -X[:p]
        self.mu_columns[:, free] = W[:p, p:]
        self.e_columns = X[:p].copy()
        self.e_columns[:, free] = W[:p, p:]
        self.mu_corner = W[:p, :p].copy()
        self.is_free = np.zeros(m, dtype=np.bool_)
        self.is_free[free] = True
        self.state = np.where(self.is_free, base.v, base.compute_g())
        self.min_state = np.where(self.is_free, base.current.lo, np.where(base.kind < 0, 0.0, -np.inf))
        self.max_state = np.where(self.is_free, base.current.hi, np.where(base.kind > 0, 0.0, np.inf))
        self.min_state[self.pinned] = -np.inf
        self.max_state[self.pinned] = np.inf

    def find_optima(self, changes: Sequence[tuple[IntArray, Data]]) -> list[tuple[FloatArray, FloatArray] | None]:
        """Return v (m,) and μ (p,) of the optimum after each change; None if the tableau does not suffice.

        changes: The rows whose v has to become 0, and the new lo, hi and e.
        """
        all_changes = [_Change(self, removed, goal) for removed, goal in changes]
        if any(change.moves_many_bounds for change in all_changes):
            drifts = np.array([change.rates for change in all_changes]) @ self.columns
            drifts += np.array([change.slope.e for change in all_changes]) @ self.e_columns
            return [self._follow_change(change, drift) for change, drift in zip(all_changes, drifts, strict=True)]
        return [self._follow_change(change, self._combine_columns(change)) for change in all_changes]

    def _combine_columns(self, change: _Change) -> FloatArray:
        """Return the drift of a change that moves few bounds: (m,)."""
        k = np.flatnonzero(change.rates)
        return np.asarray(change.rates[k] @ self.columns[k] + change.slope.e @ self.e_columns)

    def _follow_change(self, change: _Change, drift: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Follow one change to its optimum; None if that fails."""
        is_free = self.is_free.copy()
        max_diagonal = self.rows.max_diagonal
        removed_free = change.removed[self.is_free[change.removed]]
        switched = _SwitchedRows(self.columns, max_diagonal, drift, change.rates)
        for k in removed_free.tolist():
            if not switched.bind_row(k, -float(self.v[k])):
                return None
        state = self.state.copy()
        state[removed_free] = 0.0
        is_free[change.removed] = False
        v_noise = MIN_RATE * change.size
        g_noise = MIN_RATE * change.size * max_diagonal
        noise = np.where(is_free, v_noise, g_noise)
        s = 0.0
        for _ in range(MAX_EVENTS):
            direction = switched.find_direction()
            step, k, side = change.find_event(state, direction, noise)
            if not step < 1.0 - s:
                return self._read_point(state + (1.0 - s) * direction, change, is_free, switched.rows)
            state += step * direction
            change.advance(step)
            s += step
            if is_free[k]:
                is_regular = switched.bind_row(k, change.bind_row(k, side))
                state[k] = 0.0
                noise[k] = g_noise
            else:
                is_regular = switched.free_row(k)
                state[k] = change.free_row(k, s)
                noise[k] = v_noise
            if not is_regular:
                return None
            is_free[k] = not is_free[k]
        return None

    def _read_point(
        self, state: FloatArray, change: _Change, is_free: NDArray[np.bool_], switched: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return v and μ from the final states of all rows; None if they are not finite."""
        v = np.where(is_free, state, np.where(change.kind > 0, change.goal.hi, change.goal.lo))
        v[change.removed] = 0.0
        u = np.where(self.is_free, 0.0, v - self.v)
        freed = switched[self.is_free[switched]]
        u[freed] = state[freed]
        mu = self.mu + self.mu_columns @ u + self.mu_corner @ change.slope.e
        if np.isfinite(v).all() and np.isfinite(mu).all():
            return v, mu
        return None


class _Change:
    """One change: its moving bounds and e, and the intervals of (TABLEAU.3), [min_state, max_state].

    removed (r,): The rows whose v has to become 0.
    rates (m,): Rates of v of the rows at moving bounds.
    moves_many_bounds: Whether more than `MAX_SINGLE_UPDATES` of these rates are not 0.
    has_fixed_bounds: Whether no bounds move, except those of the removed rows.
    size: The largest rate.
    """

    def __init__(self, base: Tableau, removed: IntArray, goal: Data) -> None:
        self.start = base.data
        self.removed = removed
        self.goal = goal
        self.kind = base.kind.copy()
        self.min_state = base.min_state.copy()
        self.max_state = base.max_state.copy()
        self.slope = base.data.difference_to(goal)
        lo, hi = self.slope.lo, self.slope.hi
        lo[removed] = 0.0
        hi[removed] = 0.0
        self.kind[removed] = 0
        self.rates = choose_by_kind(self.kind, self.slope, 0.0)
        self.rates[removed] = np.where(base.is_free[removed], 0.0, -base.v[removed])
        self.min_state[removed] = -np.inf
        self.max_state[removed] = np.inf
        self.has_fixed_bounds = not (lo.any() or hi.any())
        self.moves_many_bounds = np.count_nonzero(self.rates) > MAX_SINGLE_UPDATES
        sizes = [np.abs(values).max(initial=0.0) for values in (base.v[removed], self.slope.e, lo, hi)]
        self.size = float(max(sizes))
        if not self.has_fixed_bounds:
            self.min_rate = np.where(base.is_free, lo, 0.0)
            self.max_rate = np.where(base.is_free, hi, 0.0)

    def find_event(self, state: FloatArray, direction: FloatArray, noise: FloatArray) -> tuple[float, int, int]:
        """Return the step to the next event, its row, and the end of its interval that it meets: −1 or 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.has_fixed_bounds:
                steps = (np.where(direction > 0.0, self.max_state, self.min_state) - state) / direction
                steps[~(np.abs(direction) > noise)] = np.inf
                k = int(steps.argmin())
                side = 1 if direction[k] > 0.0 else -1
                return max(float(steps[k]), 0.0), k, side
            rate_to_max = direction - self.max_rate
            rate_to_min = direction - self.min_rate
            steps_to_max = np.where(rate_to_max > noise, (self.max_state - state) / rate_to_max, np.inf)
            steps_to_min = np.where(rate_to_min < -noise, (self.min_state - state) / rate_to_min, np.inf)
        steps = np.minimum(steps_to_max, steps_to_min)
        k = int(steps.argmin())
        side = 1 if steps_to_max[k] <= steps_to_min[k] else -1
        return max(float(steps[k]), 0.0), k, side

    def advance(self, step: float) -> None:
        """Advance the intervals by a step."""
        if not self.has_fixed_bounds:
            self.min_state += step * self.min_rate
            self.max_state += step * self.max_rate

    def bind_row(self, k: int, side: int) -> float:
        """Put row k at a bound, and return the rate of that bound."""
        self.kind[k] = side
        if side > 0:
            self.min_state[k] = -np.inf
            self.max_state[k] = 0.0
        else:
            self.min_state[k] = 0.0
            self.max_state[k] = np.inf
        if self.has_fixed_bounds:
            return 0.0
        self.min_rate[k] = 0.0
        self.max_rate[k] = 0.0
        bounds = self.slope.hi if side > 0 else self.slope.lo
        return float(bounds[k])

    def free_row(self, k: int, s: float) -> float:
        """Free row k, and return the present value of its bound."""
        lo = float(self.start.lo[k] + s * self.slope.lo[k])
        hi = float(self.start.hi[k] + s * self.slope.hi[k])
        self.min_state[k] = lo
        self.max_state[k] = hi
        if not self.has_fixed_bounds:
            self.min_rate[k] = self.slope.lo[k]
            self.max_rate[k] = self.slope.hi[k]
        bound = hi if self.kind[k] > 0 else lo
        self.kind[k] = 0
        return bound


class _SwitchedRows:
    """P of (TABLEAU.2), its columns of H, and H_PP⁻¹, which is bordered by each row that joins.

    drift (m,): As in (TABLEAU.2); rates (m,): Rates of v of the rows at moving bounds.
    order, w_rates, P_columns, inverse: P, δw_P, a column of H per row, and H_PP⁻¹; the first `count` entries are used.
    """

    def __init__(self, columns: FloatArray, max_diagonal: float, drift: FloatArray, rates: FloatArray) -> None:
        self.columns = columns
        self.max_diagonal = max_diagonal
        self.drift = drift
        self.rates = rates
        self.count = 0
        self.order: IntArray = np.zeros(MAX_SWITCHED, dtype=np.int64)
        self.w_rates = np.zeros(MAX_SWITCHED)
        self.P_columns = np.empty((MAX_SWITCHED, len(drift)))
        self.inverse = np.zeros((MAX_SWITCHED, MAX_SWITCHED))

    @property
    def rows(self) -> IntArray:
        """P: (count,)."""
        return self.order[: self.count]

    def find_direction(self) -> FloatArray:
        """Return the rate of change of the state of each row: (m,)."""
        if not self.count:
            return self.drift
        n = self.count
        P = self.rows
        du = self.inverse[:n, :n] @ (self.w_rates[:n] - self.drift[P])  # (TABLEAU.2)
        direction = self.drift + du @ self.P_columns[:n]
        direction[P] = du + self.rates[P]
        return direction

    def bind_row(self, k: int, rate: float) -> bool:
        """Put row k at a bound that moves at this rate; return False if M becomes singular, or P too large."""
        return self._switch_row(k, is_free=True, rate=rate)

    def free_row(self, k: int) -> bool:
        """Free row k; return False if M becomes singular, or P too large."""
        return self._switch_row(k, is_free=False, rate=0.0)

    def _switch_row(self, k: int, is_free: bool, rate: float) -> bool:
        """Put row k at a bound that moves at this rate if `is_free`, else free it."""
        n = self.count
        P = self.rows
        positions = np.flatnonzero(k == P)
        if len(positions):
            return self._restore_row(int(positions[0]), is_free, rate)
        inverse = self.inverse
        row = self.P_columns[:n, k]
        x = inverse[:n, :n] @ self.columns[k, P]
        z = row @ inverse[:n, :n]
        pivot = float(self.columns[k, k]) - float(row @ x)
        if n >= MAX_SWITCHED or not self._is_regular(pivot, is_free):
            return False
        inverse[:n, :n] += np.multiply.outer(x, z / pivot)
        inverse[:n, n] = -x / pivot
        inverse[n, :n] = -z / pivot
        inverse[n, n] = 1.0 / pivot
        self.order[n] = k
        self.w_rates[n] = rate
        self.P_columns[n] = self.columns[k]
        self.count = n + 1
        return True

    def _restore_row(self, position: int, is_free: bool, rate: float) -> bool:
        """Switch the row at this position of P back, to the rate of its bound; return False if M becomes singular."""
        last = self.count - 1
        inverse = self.inverse
        if not self._is_regular(float(inverse[position, position]), is_free):
            return False
        k = int(self.order[position])
        if is_free and rate != self.rates[k]:
            self.drift = self.drift + (rate - self.rates[k]) * self.columns[k]
            self.rates[k] = rate
        if position != last:  # the row and the last one change places
            inverse[[position, last], : last + 1] = inverse[[last, position], : last + 1]
            inverse[: last + 1, [position, last]] = inverse[: last + 1, [last, position]]
            self.order[position] = self.order[last]
            self.w_rates[position] = self.w_rates[last]
            self.P_columns[position] = self.P_columns[last]
        inverse[:last, :last] -= np.multiply.outer(inverse[:last, last], inverse[last, :last] / inverse[last, last])
        self.count = last
        return True

    def _is_regular(self, pivot: float, is_free: bool) -> bool:
        """Return whether M stays regular with this pivot when a free row leaves, or a row at a bound enters."""
        if is_free:
            return pivot * self.max_diagonal > MIN_PIVOT
        return pivot > MIN_PIVOT * self.max_diagonal


def build_tableau(base: ActiveSet | None) -> Tableau | None:
    """Return the tableau of an optimum; None without an optimum, or if it is not finite or too large."""
    if base is None:
        return None
    try:
        tableau = Tableau(base)
    except TooLargeError:
        return None
    return tableau if np.isfinite(tableau.columns).all() else None


__all__ = ["Tableau", "build_tableau"]
