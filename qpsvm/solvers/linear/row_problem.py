"""The problem (ALM.1) that the linear solvers pass around, a pair of primal and dual points, and its gap (ALM.5).

The multipliers that the augmented Lagrangian asks for, (LOSSES.4), at one σ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.losses import PerRow, is_zero, soft
from qpsvm.solvers.linear.row_losses import RowLosses
from qpsvm.solvers.linear.signed_rows import SignedRows


class Response:
    """(LOSSES.4): how the multipliers answer to t at one σ.

    steepness (n,): d, the slope of a free row: one number where δ is.
    threshold (n,): dε; None where ε = 0.
    """

    def __init__(self, losses: RowLosses, sigma: float) -> None:
        self._lower, self._upper = losses.low, losses.high
        self._flat, self.sigma = losses.flat, sigma
        self.steepness: PerRow = sigma if losses.flat else 1.0 / (1.0 / sigma + losses.curvature)
        self.threshold: PerRow | None = None if is_zero(losses.tube) else self.steepness * losses.tube

    def arguments(self, a: FloatArray, r: FloatArray) -> FloatArray:
        """T for the multiplier estimate a and the residuals r: (n,)."""
        return a + self.sigma * r if self._flat else self.steepness * (a / self.sigma + r)

    def alpha(self, t: FloatArray) -> FloatArray:
        """The multipliers: (n,)."""
        return np.clip(t if self.threshold is None else soft(t, self.threshold), self._lower, self._upper)

    def free(self, t: FloatArray) -> NDArray[np.bool_]:
        """Whether a row is free: its multiplier moves with t. (n,)."""
        if self.threshold is None:
            return (t >= self._lower) & (t <= self._upper)
        v = soft(t, self.threshold)
        return (v >= self._lower) & (v <= self._upper) & (np.abs(t) >= self.threshold)


#: Corrections of yᵀα: the second removes the rounding of the first, or what the box cut off.
BALANCINGS = 2


@dataclass(frozen=True, eq=False)
class RowProblem:
    """(ALM.1).

    rows: Z, (n, d + 1).
    losses: What each row costs.
    ridge (d + 1,): The diagonal of R.
    offset (d + 1,): h. Where the multipliers are to have a sum other than 0, h_b is minus that.
    constant: κ.
    """

    rows: SignedRows
    losses: RowLosses
    ridge: FloatArray
    offset: FloatArray
    constant: float = 0.0

    @property
    def free_intercept(self) -> bool:
        """Whether yᵀα is to be 0."""
        return bool(self.ridge[-1] == 0.0)

    def measures(self, b: float, q: FloatArray, pull: FloatArray, mismatch: float) -> tuple[float, float, float]:
        """A and B of (ALM.5), and ½‖q̂‖².

        Shapes: q, pull (d + 1,).
        """
        imbalance = 0.0
        if self.ridge[-1] == 0.0:  # a free intercept
            imbalance = (self.losses.scale + abs(b)) * abs(float(q[-1]))
            q, pull = q[:-1], pull[:-1]
        return 0.5 * float(q @ q) + imbalance, max(mismatch, 0.0), 0.5 * float(pull @ pull)

    def dual(self, worth: float, half: float) -> float:
        """D for what α contributes to it, ℓᵀα − Σφ*(α), and ½‖q̂‖²."""
        return worth + self.constant - half


@dataclass(frozen=True, eq=False)
class Start:
    """Where to begin: W (d + 1,), a (n,) or None for 0, σ, and r = ℓ − ZW (n,) if it is known."""

    W: FloatArray
    multiplier: FloatArray | None
    sigma: float
    slack: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Point:
    """A pair of W (d + 1,) and α (n,), r = ℓ − ZW (n,), the values D and P − D, and the σ that belongs to them.

    D and P − D are over the rows of all members, α and r over this member's.
    """

    W: FloatArray
    alpha: FloatArray
    slack: FloatArray
    dual: float
    gap: float
    sigma: float

    @property
    def relative_gap(self) -> float:
        """(P − D)/max(|P|, |D|), and infinite where it is not a number."""
        return relative_gap(self.gap, self.dual + self.gap, self.dual)


def certified(problem: RowProblem, pair: Point) -> Point:
    """A pair with α made feasible for (ALM.1), and the gap (ALM.5) that it then has."""
    W, alpha = pair.W, pair.alpha
    if problem.free_intercept:
        alpha = balanced(alpha, problem.rows.y, problem.losses, float(problem.offset[-1]))
    pull, mismatch, worth = problem.rows.team.sums(
        problem.rows.own_gradient(alpha), problem.losses.mismatch(alpha, pair.slack), problem.losses.worth(alpha)
    )
    pull = pull + problem.offset
    residual, complementarity, half = problem.measures(float(W[-1]), problem.ridge * W - pull, pull, mismatch)
    return Point(W, alpha, pair.slack, problem.dual(worth, half), residual + complementarity, pair.sigma)


def balanced(alpha: FloatArray, y: FloatArray, losses: RowLosses, rest: float = 0.0) -> FloatArray:
    """Restore yᵀα + rest = 0 with the free α alone, each moved by its room; as far as they reach. All (n,).

    It costs next to nothing in (ALM.5), because the rows of free α lie on a kink, or where their loss bends.
    """
    alpha = alpha.copy()
    free = np.flatnonzero((alpha > losses.low) & (alpha < losses.high))
    members = losses.of(free)
    for _ in range(BALANCINGS):
        room = members.room(alpha[free])
        total, surplus = losses.team.sums(float(room.sum()), float(y @ alpha))
        if not 0.0 < total < np.inf:
            break
        surplus += rest
        alpha[free] = members.clipped(alpha[free] - (surplus / total) * (y[free] * room))
    return alpha
