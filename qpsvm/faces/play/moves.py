"""Find moves of one or two α that raise the dual value, for solving by hand.

An equality of the dual, such as yᵀα = 0, prevents a single α from moving: the change would be undone when α is made
feasible again. So two move together, along a direction that preserves every equality. Without equalities, as with a
penalised intercept or without one, a single α moves.

    (MOVE.1)  v_k = (∂D/∂α_k)/E_k is the gain per unit of the total at row k. The pair (i, j) with the largest
              v_i − v_j, where α_i can move by +1/E_i and α_j by −1/E_j, violates optimality most
    (MOVE.2)  along that direction D grows by θ (v_i − v_j) − ½θ²c: most of all at θ = (v_i − v_j)/c, or at a bound

Source: Platt, Fast training of support vector machines using sequential minimal optimization (1998); Keerthi,
Shevade, Bhattacharyya and Murthy, *Neural Computation* 13 (2001), whose choice of the pair this is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: A gain from this share of the objective on is told: the rounding of α that is made feasible again takes less.
NOTICED = 1e-9


@dataclass(frozen=True)
class Move:
    """A change of one or two α that increases the dual value.

    rows: The one or two rows of α.
    change: The change of each.
    gain: The increase of D.
    """

    rows: tuple[int, ...]
    change: tuple[float, ...]
    gain: float

    def to_json(self) -> dict[str, Any]:
        """Return the move for the page."""
        return {"rows": list(self.rows), "change": list(self.change), "gain": self.gain}


class MoveFinder:
    """Find moves at the α of a result, in the units of the dual QP (n samples, m rows)."""

    def __init__(self, problem: Problem, result: SVMResult) -> None:
        qp = problem.qp("dual")
        lower, upper = qp.bounds
        self.P, self.alpha, self.lower, self.upper = qp.P, result.alpha, lower, upper
        self.slope = -(qp.P @ result.alpha + qp.q)
        E = np.zeros((0, qp.n)) if qp.A is None else as_dense(qp.A)
        self.unit, self.group = _group_columns(E)
        self.worth = self.slope / self.unit
        self.paired = bool(len(E))
        self.size = max(abs(v) for v in (result.primal, result.dual) if np.isfinite(v))

    def _can_step(self, direction: float) -> FloatArray:
        """Return whether a unit of the total can be added at each row, or with −1 removed."""
        up = direction * self.unit > 0.0
        return np.where(up, self.alpha < self.upper, self.alpha > self.lower)

    def find_partner(self, row: int, direction: int) -> int | None:
        """Find the other row with which α of a row moves up (+1) or down (−1) so that D increases.

        Return the same row if it moves alone, and None if there is none.
        """
        end = self.upper if direction > 0 else self.lower
        if self.alpha[row] == end[row]:
            return None
        if not self.paired:
            return row if direction * self.slope[row] > 0.0 else None
        sign = direction * float(np.sign(self.unit[row]))
        others = np.flatnonzero((self.group == self.group[row]) & self._can_step(-sign))
        if not len(others):
            return None
        j = int(others[np.argmin(sign * self.worth[others])])
        return j if sign * (self.worth[row] - self.worth[j]) > 0.0 else None

    def find_best(self) -> Move | None:
        """Find the move with the largest gain among the most violating pairs of each group of rows.

        None if no gain exceeds its rounding error.
        """
        move = self._find_largest_gain()
        return move if move is not None and move.gain > NOTICED * self.size else None

    def _find_largest_gain(self) -> Move | None:
        if not self.paired:
            found = [
                self._step_along((k,), (float(np.sign(self.slope[k])),))
                for k in np.flatnonzero(self._find_free()).tolist()
            ]
        else:
            found = [
                move for g in range(int(self.group.max(initial=-1)) + 1) if (move := self._find_pair(g)) is not None
            ]
        return max(found, key=lambda move: move.gain, default=None)

    def _find_free(self) -> FloatArray:
        """Mark the rows whose α can move along the gradient."""
        return np.where(self.slope > 0.0, self.alpha < self.upper, (self.slope < 0.0) & (self.alpha > self.lower))

    def _find_pair(self, group: int) -> Move | None:
        """Find the most violating pair of a group."""
        own = self.group == group
        up, down = (np.flatnonzero(own & self._can_step(direction)) for direction in (1.0, -1.0))
        if not (len(up) and len(down)):
            return None
        i, j = int(up[np.argmax(self.worth[up])]), int(down[np.argmin(self.worth[down])])
        if not self.worth[i] > self.worth[j]:
            return None
        return self._step_along((i, j), (1.0 / self.unit[i], -1.0 / self.unit[j]))

    def _step_along(self, rows: tuple[int, ...], direction: tuple[float, ...]) -> Move:
        """Return the step (MOVE.2) from α, limited by the bounds; if D is unbounded, a step as long as α."""
        at, d = list(rows), np.array(direction)
        curvature = float(d @ self.P.block(np.array(at), np.array(at)) @ d)
        slope = float(d @ self.slope[at])
        room = np.where(d > 0.0, (self.upper - self.alpha)[at], (self.alpha - self.lower)[at]) / np.abs(d)
        step = min(slope / curvature if curvature > 0.0 else np.inf, float(room.min()))
        if not np.isfinite(step):
            step = float(np.abs(self.alpha).max()) or 1.0
        change = tuple(float(each) for each in step * d)
        return Move(rows, change, step * slope - 0.5 * step**2 * curvature)


def _group_columns(E: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the first nonzero entry of each column of E, and a group per set of multiples: (m,) both."""
    if not len(E):
        return np.ones(E.shape[1]), np.zeros(E.shape[1], dtype=np.intp)
    unit = E[np.argmax(E != 0.0, axis=0), np.arange(E.shape[1])]
    unit = np.where(unit == 0.0, 1.0, unit)
    return unit, np.unique(E / unit, axis=1, return_inverse=True)[1].ravel()
