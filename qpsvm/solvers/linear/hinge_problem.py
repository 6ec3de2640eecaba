"""The problem (ALM.1) that the linear solvers pass around, a pair of primal and dual points, and its gap (ALM.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.gap import relative_gap
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.solvers.linear.signed_rows import SignedRows

#: Corrections of yᵀα: the second removes the rounding of the first, or what the box cut off.
BALANCINGS = 2


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """(ALM.1).

    Attributes
    ----------
    rows : SignedRows
        Z, (n, d + 1).
    upper : float or ndarray, shape (n,)
        C; one number if it is the same for all, which is faster.
    ridge : ndarray, shape (d + 1,)
        The diagonal of R.
    offset : ndarray, shape (d + 1,)
        h.
    constant : float
        ℓ.
    """

    rows: SignedRows
    upper: float | FloatArray
    ridge: FloatArray
    offset: FloatArray
    constant: float = 0.0

    def upper_of(self, rows: slice | IntArray) -> float | FloatArray:
        """C of some rows: one number if it is the same for all."""
        return self.upper if isinstance(self.upper, float) else self.upper[rows]

    def measures(self, b: float, q: FloatArray, pull: FloatArray, mismatch: float) -> tuple[float, float, float]:
        """A and B of (ALM.5), and ½‖q̂‖².

        Parameters
        ----------
        b : float
        q, pull : ndarray, shape (d + 1,)
            (ALM.3), and q̂ = Zᵀα + h.
        mismatch : float
            Σ C_i max(0, 1 − m_i) − αᵀ(1 − m).
        """
        price = 0.0
        if self.ridge[-1] == 0.0:
            price = (1.0 + abs(b)) * abs(float(q[-1]))
            q, pull = q[:-1], pull[:-1]
        return 0.5 * float(q @ q) + price, max(mismatch, 0.0), 0.5 * float(pull @ pull)

    def weighted_sum(self, values: FloatArray) -> float:
        """Σ C_i v_i for v (n,)."""
        if isinstance(self.upper, float):
            return self.upper * float(values.sum())
        return float(self.upper @ values)


@dataclass(frozen=True, eq=False)
class Start:
    """Where to begin: W (d + 1,), a (n,) or None for 0, σ, and 1 − ZW (n,) if it is known."""

    W: FloatArray
    multiplier: FloatArray | None
    sigma: float
    slack: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Point:
    """A pair of W (d + 1,) and α (n,), 1 − ZW (n,), the values D and P − D, and the σ that belongs to them."""

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


def certified(problem: HingeProblem, pair: Point) -> Point:
    """A pair with α made feasible for (ALM.1), and the gap (ALM.5) that it then has."""
    W, alpha = pair.W, pair.alpha
    if problem.ridge[-1] == 0.0:
        alpha = balanced(alpha, problem.rows.y, problem.upper, float(problem.offset[-1]))
    pull = problem.rows.gradient(alpha) + problem.offset
    mismatch = problem.weighted_sum(np.maximum(pair.slack, 0.0)) - float(alpha @ pair.slack)
    residual, complementarity, half = problem.measures(float(W[-1]), problem.ridge * W - pull, pull, mismatch)
    dual = float(alpha.sum()) + problem.constant - half
    return Point(W, alpha, pair.slack, dual, residual + complementarity, pair.sigma)


def balanced(alpha: FloatArray, y: FloatArray, upper: float | FloatArray, rest: float = 0.0) -> FloatArray:
    """Restore yᵀα + rest = 0 with the free α alone, each moved by its room α(C − α); as far as they reach. All (n,).

    It costs next to nothing in (ALM.5), because the rows of free α have margin 1.
    """
    alpha = alpha.copy()
    free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
    limit = upper if isinstance(upper, float) else upper[free]
    for _ in range(BALANCINGS):
        room = alpha[free] * (limit - alpha[free])
        total = float(room.sum())
        if not 0.0 < total < np.inf:
            break
        alpha[free] = np.clip(alpha[free] - ((float(y @ alpha) + rest) / total) * (y[free] * room), 0.0, limit)
    return alpha
