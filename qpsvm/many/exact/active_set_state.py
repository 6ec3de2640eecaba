"""Hold an optimum with its partition into free rows and rows at bounds, and change the partition (`ActiveSetState`).

The module active_set.py explains the method and its symbols.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray
from qpsvm.many.exact.factor import InverseFactor
from qpsvm.many.exact.rows import Data, SignedRows
from qpsvm.many.exact.steps import Steps

#: A row is free at the start if its distance from both bounds exceeds this share of the width of its box.
MIN_FREE_DISTANCE = 1e-8
#: Rates below this share of the largest one are rounding and count as 0.
MIN_RATE = 1e-13
#: A change of μ of size 1 that changes g of a row by at most this leaves it unchanged.
MIN_G_CHANGE = 1e-9
#: Entries of a null vector up to this share of the largest one are rounding and count as 0.
MIN_NULL_ENTRY = 1e-6


class PathBreakdown(Exception):
    """Raised when rounding errors prevent a further step; the path so far is valid."""


class ActiveSetState:
    """The optimum at one s, and the changes of its partition.

    v (m,), mu (p,), f (n,): v and μ, and f = K β over the distinct samples.
    kind (m,): −1 at lo, 0 free, 1 at hi.
    current, slope: The data at s, including the shifts of (ACTIVE.5), and their change per unit of s.
    rate (m,): The change of v per unit of s at the rows at bounds; 0 at free rows.
    f_rate (n,), e_rate (p,): K rate and Eᵀrate, what the rows at bounds contribute to the changes of f and of Eᵀv.
    pinned (m,): Mask of the rows whose bounds are equal, so that v moves with them.
    width (m,): Width of the box of each row, of at most ten times the largest |v|.
    factor: F, and M⁻¹ of (FACTOR.1).
    events: Number of events so far.
    steps: Buffer for the record of steps, if they are recorded.
    """

    def __init__(self, rows: SignedRows, data: Data, v: FloatArray) -> None:
        self.rows = rows
        self.events = 0
        self.s = 0.0
        self.current = data.copy()
        self.slope = data.difference_to(data)
        self.pinned: NDArray[np.bool_] = data.hi <= data.lo
        v = np.clip(v, data.lo, data.hi)
        largest_v = float(np.abs(v).max(initial=0.0))
        self.width = np.maximum(np.minimum(data.hi - data.lo, 10.0 * largest_v), SMALLEST_NORMAL)
        self.kind = self._classify_rows(v)
        self.v = choose_by_kind(self.kind, data, v)
        self.f = rows.compute_f(self.v)
        self.rate = np.zeros(rows.m)
        self.f_rate = np.zeros(len(rows.K))
        self.e_rate = np.zeros(rows.p)
        self.mu = np.zeros(rows.p)
        self.factor = InverseFactor(rows)
        self.steps: Steps | None = None

    def _classify_rows(self, v: FloatArray) -> NDArray[np.int8]:
        """Return the kind of every row, (m,), given v (m,)."""
        below = v - self.current.lo
        above = self.current.hi - v
        is_free = np.minimum(below, above) > MIN_FREE_DISTANCE * self.width
        return np.where(is_free, 0, np.where(below <= above, -1, 1)).astype(np.int8)

    def pin(self, k: int) -> None:
        """Fix row k: set both of its bounds to its present value."""
        self.pinned[k] = True
        self.current.lo[k] = self.v[k]
        self.current.hi[k] = self.v[k]
        if self.kind[k] == 0:
            self._leave(int(np.flatnonzero(self.factor.free == k)[0]), -1)

    def compute_g(self) -> FloatArray:
        """Compute g of (ACTIVE.1): (m,)."""
        rows = self.rows
        g = rows.at_rows(self.f) - self.current.t
        if rows.p:
            g = g + rows.E @ self.mu
        return g + rows.curvature * self.v if rows.curvature.any() else g

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
        k = int(self.factor.free[j])
        if self.factor.can_leave(j):
            self.factor.delete(j)
        else:
            i = self._move_to_replacement(j, kind)
            self._set_rate(i, 0.0)
            self.factor.replace(j, i)
            self.kind[i] = 0
        self._bind(k, kind)

    def _move_to_replacement(self, j: int, kind: int) -> int:
        """Move μ along the null vector of (ACTIVE.4) until a row at a bound meets g = 0; return that row.

        The row at position j of F leaves to the bound of `kind`.
        """
        p = self.rows.p
        sign = -1.0 if kind > 0 else 1.0  # so that g of the leaving row gets the right sign
        direction = sign * self.factor.inverse[:p, p + j]
        direction = direction / np.abs(direction).max(initial=0.0)
        g_change = self.rows.E @ direction
        g = self.compute_g()
        is_candidate = (self.kind * g_change > MIN_G_CHANGE) & ~self.pinned
        distance = np.maximum(-g * self.kind, 0.0)
        steps = np.full(len(g), np.inf)
        np.divide(distance, np.abs(g_change), out=steps, where=is_candidate)
        steps[self.factor.free] = np.inf
        i = int(np.argmin(steps))
        if not np.isfinite(steps[i]):
            raise PathBreakdown("beyond here nothing is feasible")
        self.mu = self.mu + steps[i] * direction
        return i

    def _exchange(self, i: int, x: FloatArray, sign: float) -> None:
        """Move row i in the direction of `sign` along [−x_F; 1] until a row meets a bound, (ACTIVE.3)."""
        rows = self.rows
        factor = self.factor
        p = rows.p
        free = factor.free
        direction = -sign * x[p:]
        j, step = self._find_blocking_row(i, direction, sign)
        if not np.isfinite(step):
            raise PathBreakdown("the dual is unbounded along a null vector")
        self.v[free] += step * direction
        self.v[i] += sign * step
        self.mu = self.mu - sign * step * x[:p]
        self.f += (step * direction) @ factor.K_free + sign * step * rows.K[rows.sample[i]]
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
        tiny = MIN_RATE * max(float(np.abs(self.v).max(initial=0.0)), SMALLEST_NORMAL)
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


def choose_by_kind(kind: NDArray[np.int8], data: Data, free: FloatArray | float) -> FloatArray:
    """Return lo or hi of the data at the rows at bounds, and the values `free` at the free rows: (m,)."""
    return np.where(kind > 0, data.hi, np.where(kind < 0, data.lo, free))


__all__ = ["ActiveSetState", "PathBreakdown", "choose_by_kind"]
