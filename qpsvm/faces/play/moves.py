"""Find changes of one or two α that increase the dual value D, for solving by hand (`MoveFinder`).

An equality Eα = e of the dual, such as yᵀα = 0, prevents a single α from moving: the change would be undone when α is
made feasible again. So two move together, along a direction that preserves every equality. Two rows can do so if their
columns of E are multiples of each other; they form a group. Without equalities, as with a penalised intercept or
without one, a single α moves.

    (MOVE.1)  v_k = (∂D/∂α_k)/E_k, with the first nonzero entry E_k of column k, is the gain if α_k adds 1 to Eα. The
              pair (i, j) of a group with the largest v_i − v_j, where α_i can move by +1/E_i and α_j by −1/E_j,
              violates optimality most
    (MOVE.2)  a step θ along that direction changes D by θ (v_i − v_j) − ½θ²c, with its curvature c: most of all at
              θ = (v_i − v_j)/c, or at a bound

Source: Platt, Fast training of support vector machines using sequential minimal optimization (1998); Keerthi,
Shevade, Bhattacharyya and Murthy, *Neural Computation* 13 (2001), whose choice of the pair this is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Smallest gain that is suggested, as a share of the objective: making α feasible again changes D by less, by rounding.
MIN_GAIN = 1e-9


@dataclass(frozen=True)
class Move:
    """A change of one or two α that increases the dual value.

    rows: The indices of the one or two α.
    change: The change of each.
    gain: The increase of D.
    """

    rows: tuple[int, ...]
    change: tuple[float, ...]
    gain: float

    def to_json(self) -> dict[str, Any]:
        """Return the move as JSON, for the page."""
        return {"rows": list(self.rows), "change": list(self.change), "gain": self.gain}


class MoveFinder:
    """Find moves at the α of a result, in the units of the dual QP, with m rows.

    gradient: ∂D/∂α, (m,).
    coefficients, group: E_k of (MOVE.1), and the number of the row's group: (m,) each.
    gain_rate: v of (MOVE.1), (m,).
    """

    def __init__(self, problem: Problem, result: SVMResult) -> None:
        qp = problem.qp("dual")
        self.P, self.alpha, (self.lower, self.upper) = qp.P, result.alpha, qp.bounds
        self.gradient = -(qp.P @ result.alpha + qp.q)
        self.has_equalities = qp.A is not None and qp.A.shape[0] > 0
        self.coefficients, self.group = _group_columns(np.zeros((0, qp.n)) if qp.A is None else as_dense(qp.A))
        self.gain_rate = self.gradient / self.coefficients
        self.objective_size = max(abs(v) for v in (result.primal, result.dual) if np.isfinite(v))

    def _mark_movable(self, direction: FloatArray) -> NDArray[np.bool_]:
        """Mark the rows whose α is not at the bound that lies in its direction, (m,)."""
        return np.where(direction > 0.0, self.alpha < self.upper, self.alpha > self.lower)

    def find_partner(self, row: int, direction: int) -> int | None:
        """Find the other row with which α of a row moves up (+1) or down (−1) so that D increases.

        Return the same row if it moves alone, and None if there is none.
        """
        bound = self.upper if direction > 0 else self.lower
        if self.alpha[row] == bound[row]:
            return None
        if not self.has_equalities:
            return row if direction * self.gradient[row] > 0.0 else None
        sign = direction * float(np.sign(self.coefficients[row]))
        partners = np.flatnonzero((self.group == self.group[row]) & self._mark_movable(-sign * self.coefficients))
        if not len(partners):
            return None
        j = int(partners[np.argmin(sign * self.gain_rate[partners])])
        return j if sign * (self.gain_rate[row] - self.gain_rate[j]) > 0.0 else None

    def find_best(self) -> Move | None:
        """Find the move with the largest gain among the most violating pairs of each group of rows.

        None if no gain exceeds its rounding error.
        """
        move = self._find_largest_gain()
        return move if move is not None and move.gain > MIN_GAIN * self.objective_size else None

    def _find_largest_gain(self) -> Move | None:
        """Find the move with the largest gain, however small."""
        if self.has_equalities:
            pairs = map(self._find_pair, range(int(self.group.max(initial=-1)) + 1))
            moves = [move for move in pairs if move is not None]
        else:
            rows = np.flatnonzero((np.abs(self.gradient) > 0.0) & self._mark_movable(self.gradient)).tolist()
            moves = [self._build_step((k,), (float(np.sign(self.gradient[k])),)) for k in rows]
        return max(moves, key=lambda move: move.gain, default=None)

    def _find_pair(self, group: int) -> Move | None:
        """Find the step of the most violating pair of a group; None if no pair increases D."""
        in_group, v = self.group == group, self.gain_rate
        up = np.flatnonzero(in_group & self._mark_movable(self.coefficients))
        down = np.flatnonzero(in_group & self._mark_movable(-self.coefficients))
        if not (len(up) and len(down)):
            return None
        i, j = int(up[np.argmax(v[up])]), int(down[np.argmin(v[down])])
        if not v[i] > v[j]:
            return None
        return self._build_step((i, j), (1.0 / self.coefficients[i], -1.0 / self.coefficients[j]))

    def _build_step(self, rows: tuple[int, ...], direction: tuple[float, ...]) -> Move:
        """Build the step (MOVE.2) from α, limited by the bounds; if D is unbounded, a step as long as α."""
        k, d = np.array(rows), np.array(direction)
        curvature, slope = float(d @ self.P.block(k, k) @ d), float(d @ self.gradient[k])
        distance_to_bound = np.where(d > 0.0, (self.upper - self.alpha)[k], (self.alpha - self.lower)[k]) / np.abs(d)
        step = min(slope / curvature if curvature > 0.0 else np.inf, float(distance_to_bound.min()))
        if not np.isfinite(step):
            step = float(np.abs(self.alpha).max()) or 1.0
        return Move(rows, tuple((step * d).tolist()), step * slope - 0.5 * step**2 * curvature)


def _group_columns(E: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the first nonzero entry of each column of E, else 1, and the group of columns that are its multiples."""
    m = E.shape[1]
    if not len(E):
        return np.ones(m), np.zeros(m, dtype=np.intp)
    first = E[np.argmax(E != 0.0, axis=0), np.arange(m)]
    first = np.where(first == 0.0, 1.0, first)
    return first, np.unique(E / first, axis=1, return_inverse=True)[1].ravel()
