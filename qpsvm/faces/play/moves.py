"""Find changes of one or two α that increase the dual value D, for solving by hand (`MoveFinder`).

An equality Eα = e of the dual, such as yᵀα = 0, does not let a single α_k change. Two can change together, along a
direction that preserves every equality, if their columns of E are multiples of each other; such rows form a group.
Without equalities (no intercept, or a penalised one) a single α_k changes.

    (MOVE.1)  v_k = (∂D/∂α_k)/E_k is the rate at which D grows if α_k increases Eα, where E_k is the first nonzero entry
              of column k. The most violating pair (i, j) of a group has the largest v_i − v_j among the pairs in which
              α_i can move by +1/E_i and α_j by −1/E_j
    (MOVE.2)  a step θ along that direction, with curvature c, changes D by θ (v_i − v_j) − ½θ²c. This is largest at
              θ = (v_i − v_j)/c, or at a bound

Sources: Platt, Fast training of support vector machines using sequential minimal optimization (1998); for the choice of
the pair, Keerthi, Shevade, Bhattacharyya and Murthy, *Neural Computation* 13 (2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.machines import Problem
from qpsvm.result.svm_result import SVMResult

#: Smallest gain that is suggested, relative to the objective. It exceeds the change of D by rounding when α is made
#: feasible again.
MIN_RELATIVE_GAIN = 1e-9


@dataclass(frozen=True)
class Move:
    """A change of one or two α_k that increases the dual value D.

    rows: The one or two indices k.
    change: The change of each α_k.
    gain: The increase of D.
    """

    rows: tuple[int, ...]
    change: tuple[float, ...]
    gain: float

    def to_json(self) -> dict[str, Any]:
        """Return the move as JSON, for the page."""
        return {"rows": list(self.rows), "change": list(self.change), "gain": self.gain}


class MoveFinder:
    """Find moves from the α (m,) of a result, in the units of the dual QP.

    gradient (m,): ∂D/∂α.
    coefficients (m,): E_k of (MOVE.1).
    group (m,): The number of the group of each row.
    gain_rate (m,): v of (MOVE.1).
    """

    def __init__(self, problem: Problem, result: SVMResult) -> None:
        qp = problem.qp("dual")
        self.P = qp.P
        self.alpha = result.alpha
        self.lower, self.upper = qp.bounds
        self.gradient = -(qp.P @ result.alpha + qp.q)
        self.has_equalities = qp.A is not None and qp.A.shape[0] > 0
        self.coefficients, self.group = _group_columns(np.zeros((0, qp.n)) if qp.A is None else as_dense(qp.A))
        self.gain_rate = self.gradient / self.coefficients
        self.objective_size = max(abs(value) for value in (result.primal, result.dual) if np.isfinite(value))

    def find_partner(self, row: int, direction: int) -> int | None:
        """Find the row to change with a given row, if α of that row moves up (+1) or down (−1) and D increases.

        Return the row itself if it moves alone, and None if D does not increase.
        """
        bound = self.upper if direction > 0 else self.lower
        if self.alpha[row] == bound[row]:
            return None
        if not self.has_equalities:
            return row if direction * self.gradient[row] > 0.0 else None
        sign = direction * float(np.sign(self.coefficients[row]))  # of the change of Eα by this row
        partners = np.flatnonzero((self.group == self.group[row]) & self._mark_movable(-sign * self.coefficients))
        if not len(partners):
            return None
        partner = int(partners[np.argmin(sign * self.gain_rate[partners])])
        if sign * (self.gain_rate[row] - self.gain_rate[partner]) > 0.0:
            return partner
        return None

    def find_best(self) -> Move | None:
        """Find the best of the moves of single rows, or of the most violating pairs of all groups.

        None if no gain exceeds its rounding error.
        """
        if self.has_equalities:
            moves = self._list_pair_moves()
        else:
            moves = self._list_single_moves()
        move = max(moves, key=lambda move: move.gain, default=None)
        if move is not None and move.gain > MIN_RELATIVE_GAIN * self.objective_size:
            return move
        return None

    def _list_single_moves(self) -> list[Move]:
        """List the moves of each α_k along its own gradient."""
        rows = np.flatnonzero((np.abs(self.gradient) > 0.0) & self._mark_movable(self.gradient)).tolist()
        return [self._build_move((k,), (float(np.sign(self.gradient[k])),)) for k in rows]

    def _list_pair_moves(self) -> list[Move]:
        """List the move of the most violating pair of each group."""
        n_groups = int(self.group.max(initial=-1)) + 1
        moves = [self._find_pair_move(group) for group in range(n_groups)]
        return [move for move in moves if move is not None]

    def _find_pair_move(self, group: int) -> Move | None:
        """Find the move of the most violating pair of a group; None if no pair increases D."""
        in_group = self.group == group
        v = self.gain_rate
        up = np.flatnonzero(in_group & self._mark_movable(self.coefficients))
        down = np.flatnonzero(in_group & self._mark_movable(-self.coefficients))
        if not (len(up) and len(down)):
            return None
        i, j = int(up[np.argmax(v[up])]), int(down[np.argmin(v[down])])
        if not v[i] > v[j]:
            return None
        return self._build_move((i, j), (1.0 / self.coefficients[i], -1.0 / self.coefficients[j]))

    def _mark_movable(self, direction: FloatArray) -> NDArray[np.bool_]:
        """Mark the rows whose α can move in its direction, (m,): up where it is positive, else down."""
        return np.where(direction > 0.0, self.alpha < self.upper, self.alpha > self.lower)

    def _build_move(self, rows: tuple[int, ...], direction: tuple[float, ...]) -> Move:
        """Build the move (MOVE.2), limited by the bounds; if D is unbounded, the step is as long as the largest α."""
        k, d = np.array(rows), np.array(direction)
        curvature = float(d @ self.P.block(k, k) @ d)
        slope = float(d @ self.gradient[k])
        bound_slack = np.where(d > 0.0, self.upper[k] - self.alpha[k], self.alpha[k] - self.lower[k])
        step = float((bound_slack / np.abs(d)).min())
        if curvature > 0.0:
            step = min(slope / curvature, step)
        if not np.isfinite(step):
            step = float(np.abs(self.alpha).max()) or 1.0
        return Move(rows, tuple((step * d).tolist()), step * slope - 0.5 * step**2 * curvature)


def _group_columns(E: FloatArray) -> tuple[FloatArray, IntArray]:
    """Group the columns of E (p, m) that are multiples of each other.

    Returns the first nonzero entry of each column, or 1 if there is none, and the number of its group: (m,) each.
    """
    m = E.shape[1]
    if not len(E):
        return np.ones(m), np.zeros(m, dtype=np.intp)
    first = E[np.argmax(E != 0.0, axis=0), np.arange(m)]
    first = np.where(first == 0.0, 1.0, first)
    return first, np.unique(E / first, axis=1, return_inverse=True)[1].ravel()
