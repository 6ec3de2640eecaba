"""The dual of a kernel SVM in the variables β = y∘α, and the measure that every kernel engine here stops by.

    (KDUAL.1)  minimise ½βᵀKβ − yᵀβ  subject to  1ᵀβ = 0,  min(0, C_i y_i) ≤ β_i ≤ max(0, C_i y_i)
    (KDUAL.2)  s_i = 1 − y_i(u_i + b),  u = Kβ:  the slack of row i, positive where it lies inside the margin
    (KDUAL.3)  P − D = Σ (C_i − α_i) max(s_i, 0) + α_i max(−s_i, 0):  no term is negative
    (KDUAL.4)  relative gap = (P − D) / max(|P|, |D|)
    (KDUAL.5)  the best b for a given u is a weighted quantile of y_i − u_i, at level Σ C_i over the positive rows

The problem can be restricted to a working set W of rows while the others rest at a bound that they are on the right
side of (α = 0 and s < 0, or α = C and s > 0): those contribute nothing to (KDUAL.3), and to (KDUAL.5) only

    (KDUAL.6)  level = Σ C_i over the positive rows of W + Σ β_i over the rows outside, which are all 0 or C_i y_i
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.constant import common_value, repeated
from qpsvm.arrays.types import FloatArray, IntArray


class Edges(NamedTuple):
    """b, and the width of a tube around f that is a variable of its own, 0 where there is none."""

    b: float
    tube: float = 0.0


@dataclass(frozen=True, eq=False)
class HingeDual:
    """The data of (KDUAL.1) apart from K.

    Attributes
    ----------
    y : ndarray, shape (n,)
        −1 or +1; both occur.
    upper : ndarray, shape (n,)
        C_i, positive and finite.
    outside : float
        Σβ over the rows that a restriction left outside.
    scale : float, optional
        The denominator of (KDUAL.4), where rows outside make it unknown here.
    """

    y: FloatArray
    upper: FloatArray
    outside: float = 0.0
    scale: float | None = None
    low: FloatArray = field(init=False)
    high: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        signed = self.upper * self.y
        object.__setattr__(self, "low", np.minimum(signed, 0.0))
        object.__setattr__(self, "high", np.maximum(signed, 0.0))

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def total(self) -> float:
        """Σβ."""
        return 0.0

    @cached_property
    def common_penalty(self) -> float | None:
        """C where it is one number for all rows (`repeated`), else None."""
        return common_value(self.upper)

    @cached_property
    def total_penalty(self) -> float:
        """ΣC_i."""
        return float(self.upper.sum()) if self.common_penalty is None else self.common_penalty * self.n

    @cached_property
    def positives(self) -> int:
        """The number of rows with y = +1."""
        return int(np.count_nonzero(self.y > 0))

    def restricted(self, rows: IntArray, outside: float = 0.0, scale: float | None = None) -> HingeDual:
        """The same problem over some of the rows, with Σβ of the others and the denominator of the whole."""
        common = self.common_penalty
        upper = self.upper[rows] if common is None else repeated(common, len(rows))
        return HingeDual(self.y[rows], upper, outside, scale)

    def part(self, rows: IntArray, resting: FloatArray, scale: float | None = None) -> HingeDual:
        """`restricted`, with β of the rows outside."""
        return self.restricted(rows, float(resting.sum()), scale)

    def free(self, beta: FloatArray) -> NDArray[np.bool_]:
        """The rows strictly inside their box: a mask, (n,)."""
        return (beta > self.low) & (beta < self.high)

    def reach(self, beta: FloatArray, u: FloatArray, edges: Edges, rows: IntArray | slice) -> FloatArray:
        """How far some rows, which rest, are on the wrong side, (KSET.2): (r,)."""
        side = np.where(beta[rows] == 0.0, 1.0, -1.0)
        reach: FloatArray = side * (1.0 - self.y[rows] * (u[rows] + edges.b))
        return reach

    @property
    def kinked(self) -> bool:
        """Whether β may be positive or negative, with another price: never."""
        return False

    def resting(self, point: DualPoint) -> FloatArray:
        """Where every row would rest as a point sees it: (n,)."""
        return np.where(point.slack > 0.0, self.upper * self.y, 0.0)

    def sides(self, beta: FloatArray, u: FloatArray, edges: Edges) -> FloatArray:
        """The sign that each β has, if any: (n,)."""
        del beta, u, edges
        return self.y

    def edges(self, u: FloatArray) -> Edges:
        """What every row is measured from, for u (n,)."""
        return Edges(self.intercept(u))

    @property
    def weight(self) -> FloatArray:
        """The most that a violation of each row costs: (n,)."""
        return self.upper

    def nothing(self) -> DualPoint:
        """The point of no work at all: α = 0."""
        zero = np.zeros(self.n)
        return self.point(zero, zero)

    def at_edges(self, beta: FloatArray, u: FloatArray, edges: Edges, gap: float, scale: float) -> DualPoint:
        """The point with an intercept, a gap and a scale that are known."""
        pull = self.y - u
        pull -= edges.b
        return DualPoint(beta, u, edges.b, self.y * pull, gap, scale, pull, self.low, self.high)

    def intercept(self, u: FloatArray) -> float:
        """The middle of the interval of best b for u (n,): (KDUAL.5)."""
        points = self.y - u
        if self.common_penalty is not None:
            p, n = self.positives + round(self.outside / self.common_penalty), self.n  # (KDUAL.6)
            if not 0 < p < n:  # a working set may be of one kind only: any b beyond all points
                return float(points.max() if p >= n else points.min())
            ordered = np.partition(points, (p - 1, p))
            return 0.5 * float(ordered[p - 1] + ordered[p])
        order = np.argsort(points, kind="stable")
        mass = np.cumsum(self.upper[order])
        level = float(self.upper[self.y > 0].sum()) + self.outside  # (KDUAL.6)
        slack = 4 * self.n * np.finfo(float).eps * float(mass[-1])
        first = min(int(np.searchsorted(mass, level - slack)), self.n - 1)
        last = min(int(np.searchsorted(mass, level + slack, side="right")), self.n - 1)
        return 0.5 * float(points[order[first]] + points[order[last]])

    def balanced(self, beta: FloatArray) -> FloatArray:
        """The nearest cheap feasible point: clip into the box, then take Σβ off where there is room for it. (n,)."""
        clipped: FloatArray = np.minimum(np.maximum(beta, self.low), self.high)
        return spread_residue(clipped, self.low, self.high, self.outside)

    def point(self, beta: FloatArray, u: FloatArray) -> DualPoint:
        """Measure a feasible β with its u = Kβ, both (n,)."""
        b = self.intercept(u)
        pull = self.y - u
        pull -= b
        slack = self.y * pull  # (KDUAL.2), because y(y − u − b) is
        alpha = self.y * beta
        inside = np.maximum(slack, 0.0)
        difference = float((self.upper - alpha) @ inside + alpha @ (inside - slack))  # (KDUAL.3)
        half_norm = 0.5 * float(beta @ u)
        primal, dual = half_norm + float(self.upper @ inside), float(self.y @ beta) - half_norm
        scale = max(abs(primal), abs(dual)) if self.scale is None else self.scale
        gap = difference / scale if scale > 0 else (0.0 if difference == 0 else np.inf)  # (KDUAL.4)
        gap = float(gap) if np.isfinite(gap) else np.inf
        return DualPoint(beta, u, b, slack, gap, scale, pull, self.low, self.high)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible point with its certificate.

    Attributes
    ----------
    beta, u, slack : ndarray, shape (n,)
        β, u = Kβ and s of (KDUAL.2).
    b : float
        (KDUAL.5).
    gap : float
        (KDUAL.4); infinite where it cannot be computed.
    scale : float
        Its denominator.
    pull : ndarray, shape (n,)
        Where β wants to go: minus the derivative of (KDUAL.1) and its multiplier, y∘s.
    low, high : ndarray, shape (n,)
        As far as β may go with that pull.
    tube : float
        That of `Edges`.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    slack: FloatArray
    gap: float
    scale: float
    pull: FloatArray
    low: FloatArray
    high: FloatArray
    tube: float = 0.0

    @property
    def edges(self) -> Edges:
        """b and the tube."""
        return Edges(self.b, self.tube)


def spread_residue(beta: FloatArray, low: FloatArray, high: FloatArray, outside: float = 0.0) -> FloatArray:
    """β in its box with Σβ + outside = 0, all (n,): the sum is taken off in proportion to the room that each entry has.

    What rounding leaves afterwards goes to the entry farthest inside its box: spread over all, it would lift zeros off
    their bound. Changes β in place where little is to be done.
    """
    residue = float(beta.sum()) + outside
    if residue == 0.0:
        return beta
    inner = np.minimum(beta - low, high - beta)
    deepest = int(inner.argmax())
    if abs(residue) <= inner[deepest]:
        beta[deepest] -= residue
        return beta
    room = beta - low if residue > 0 else high - beta
    beta = beta - room * (residue / max(float(room.sum()), abs(residue)))
    deepest = int(np.minimum(beta - low, high - beta).argmax())
    beta[deepest] = np.clip(beta[deepest] - beta.sum() - outside, low[deepest], high[deepest])
    return beta


def spread_over(beta: FloatArray, low: FloatArray, high: FloatArray, border: FloatArray | None) -> FloatArray:
    """`spread_residue` over all rows, or over each part of them, where a column of `border` (m, q) is not 0."""
    if border is None:
        return spread_residue(beta, low, high)
    for column in border.T:
        rows = column.nonzero()[0]
        beta[rows] = spread_residue(beta[rows], low[rows], high[rows])
    return beta
