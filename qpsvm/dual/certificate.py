"""Tools that turn any α into a proven duality gap: repair, intercept, and the terms that the gap is the sum of.

Notation: u = K(α∘y), f = u + b, C_i the upper bounds, ρ the margin level (1 except in the ν-SVM).

    (CERT.1)  g_i = (C_i − α_i) ξ_i + α_i (y_i f_i − ρ)₊ ≥ 0,  ξ_i = (ρ − y_i f_i)₊
    (CERT.2)  P(w, b) − D(α) = ½‖w − w(α)‖² + Σ g_i   for every w, b and every feasible α
    (CERT.3)  relative gap = (P − D) / max(|P|, |D|)

(CERT.2) follows from ξ_i = (ρ − y_i f_i) + (y_i f_i − ρ)₊ and yᵀα = 0: no large numbers are subtracted, so what is
computed here, the measured gap, is exact but for the rounding of f, w and yᵀα. `problems.proven` bounds that too, and
turns the measured gap into the one that a user is given, (PROOF.4). Source: Boyd & Vandenberghe, *Convex Optimization*,
section 5.5.3, written per sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.constant import times, total
from qpsvm.arrays.gap import relative_gap as relative_gap
from qpsvm.arrays.quantile import quantile_interval as quantile_interval
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.arrays.words import outline

EPS = float(np.finfo(float).eps)
#: What a few operations may cost, in units of EPS.
ROUNDINGS = 8
#: Growth of the gap, relative to the objective, that averaging b over the margin vectors may cost: rounding.
AVERAGING_SLACK = 1e-14
#: Rows whose vectors are worked on at a time: a quarter of a megabyte each.
BLOCK = 32_768


@dataclass(frozen=True, eq=False)
class Certificate:
    """A feasible primal-dual pair with the gap between its values, over the rows that take part.

    Attributes
    ----------
    alpha : ndarray, shape (n,)
        Dual feasible.
    yf : ndarray, shape (n,)
        y_i f(x_i) at the primal point.
    rho : float
        Margin level.
    b : float
        Intercept, in the coordinates of the feature space that was asked.
    b_interval : tuple of float
        Every b that is as good.
    w : ndarray, shape (d,), or None
        The primal point's weight vector, where the feature space is explicit.
    coef : ndarray, shape (n,)
        f = K coef + b.
    upper : ndarray, shape (n,)
        C_i.
    unit : float
        What (CERT.1) is multiplied by to be in the units of the objective.
    primal, dual, gap : float
        Values, and the relative gap: (CERT.3) as measured, or, once it is proven, the bound (PROOF.4) that counts all
        rounding.
    measured : float
        The gap before rounding was counted; NaN where it was not.
    level, level_radius : float
        The intercept over the rows computed with that b stands for, and how far it may be off.
    factor : float
        coef = factor·α∘y, but for rounding.
    half_norm : float
        ½‖w‖².
    offset : float
        ‖w − w(α)‖.
    placed : int
        How often y f was taken over from a point with another b or factor, at a few roundings each.
    weight_radius : float or None
        How far `offset` may be off, where that is known better than a-priori.
    slack, radius : ndarray, shape (n,), or None
        ρ − y f and how far it may be off, where that is known better than a-priori.
    contributing : ndarray of int, or None
        Rows whose terms of the proven gap are not exactly 0.
    """

    alpha: FloatArray
    yf: FloatArray
    rho: float
    b: float
    b_interval: tuple[float, float]
    w: FloatArray | None
    coef: FloatArray
    upper: FloatArray
    unit: float
    primal: float
    dual: float
    gap: float
    measured: float = math.nan
    level: float = 0.0
    level_radius: float = 0.0
    factor: float = 1.0
    half_norm: float = 0.0
    offset: float = 0.0
    placed: int = 0
    weight_radius: float | None = None
    slack: FloatArray | None = None
    radius: FloatArray | None = None
    contributing: IntArray | None = None

    @property
    def rounding(self) -> float:
        """How much of `gap` is there for rounding alone; 0 where that was not counted."""
        return max(self.gap - self.measured, 0.0) if math.isfinite(self.gap) and self.measured >= 0.0 else 0.0

    def __repr__(self) -> str:
        return outline("Certificate", **vars(self))

    @property
    def xi(self) -> FloatArray:
        """ξ_i of (CERT.1): (n,)."""
        return np.maximum(self.rho - self.yf, 0.0)

    @property
    def terms(self) -> FloatArray:
        """g_i of (CERT.1), in the units of the objective: (n,); infinite where the primal point is not feasible."""
        return self.unit * objective_terms(self.alpha, self.upper, self.yf, self.rho, self.primal)


def gap_terms(alpha: FloatArray, upper: FloatArray, yf: FloatArray, rho: float) -> FloatArray:
    """(CERT.1): the terms g (n,) of the gap, for α, C and y∘f (n,) each."""
    slack = rho - yf
    xi = np.maximum(slack, 0.0)
    room: FloatArray = upper - alpha
    if len(room) and math.isinf(room.max()):  # of a hard margin, where 0 · ∞ means that nothing violates
        room = np.where(xi > 0, room, 0.0)
    slack -= xi
    slack *= alpha
    return room * xi - slack


def objective_terms(
    alpha: FloatArray, upper: FloatArray, yf: FloatArray, rho: float, primal: float
) -> FloatArray:
    """g_i of (CERT.1), (n,), of a point whose primal value is known.

    Where α has no upper bound, nothing may violate: y f ≥ ρ up to rounding if the primal value is finite.
    """
    if math.isinf(primal):
        return np.full(len(alpha), np.inf)
    hard = len(upper) > 0 and math.isinf(upper[0])
    return gap_terms(alpha, upper, np.maximum(yf, rho) if hard else yf, rho)


def gap_sums(
    alpha: FloatArray, upper: FloatArray, y: FloatArray, u: FloatArray, b: float, rho: float
) -> tuple[float, float]:
    """Σ g_i of (CERT.1) and Σ C_i ξ_i at f = u + b, for finite C: all (n,).

    In blocks that stay in the cache: at 10⁷ rows, fresh memory for whole vectors takes longer than the arithmetic.
    """
    terms, loss = 0.0, 0.0
    for start in range(0, len(alpha), BLOCK):
        part = slice(start, start + BLOCK)
        a, C = alpha[part], upper[part]
        slack = u[part] + b
        slack *= y[part]
        np.subtract(rho, slack, out=slack)
        xi = np.maximum(slack, 0.0)
        loss += float(C @ xi)
        np.subtract(xi, slack, out=slack)
        terms += float((C - a) @ xi) + float(a @ slack)
    return terms, loss


def balanced(alpha: FloatArray, y: FloatArray, upper: FloatArray) -> FloatArray:
    """The nearest cheap point of {0 ≤ α ≤ C, yᵀα = 0}: clip, then scale the heavier class down. All (n,)."""
    clipped = boxed(alpha, upper)
    surplus = float(clipped @ y)
    heavier = 0.5 * (float(np.add.reduce(clipped)) + abs(surplus))
    if abs(surplus) <= ROUNDINGS * EPS * math.sqrt(len(clipped)) * heavier:
        return clipped  # the rounding of the sums
    plus: FloatArray = clipped * (y > 0)
    minus: FloatArray = clipped - plus
    in_plus, in_minus = float(plus.sum()), float(minus.sum())
    if in_plus > in_minus:
        plus *= in_minus / in_plus
    else:
        minus *= in_plus / in_minus
    return plus + minus


def boxed(alpha: FloatArray, upper: FloatArray) -> FloatArray:
    """α clipped to [0, C], and on C where a few roundings are all that keeps it away: (n,) each, a new array.

    The way through a solver's units and back rounds, and a row at its bound should be seen to be there.
    """
    clipped: FloatArray = np.minimum(np.maximum(alpha, 0.0), upper)
    np.copyto(clipped, upper, where=clipped >= times(1.0 - ROUNDINGS * EPS, upper))
    return clipped


def capped_simplex(a: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Project a onto {0 ≤ x ≤ caps, Σx = mass}: x = clip(a − τ, 0, caps), τ by sorting its breakpoints.

    Parameters
    ----------
    a, caps : ndarray, shape (m,)
    mass : float
        At most Σ caps; a mass that exceeds it by rounding returns caps.

    Returns
    -------
    ndarray, shape (m,)

    Notes
    -----
    Σ clip(a − τ, 0, caps) is piecewise linear and falls in τ, with breakpoints a and a − caps (Brucker 1984). It is
    summed from the top, where it is 0, and relative to the largest a: a mass far below all entries keeps its digits.
    """
    if mass >= caps.sum():
        return caps.copy()
    a = a - a.max()
    breaks = np.concatenate([a, a - caps])
    slopes = np.concatenate([np.ones(len(a)), -np.ones(len(a))])
    order = np.argsort(-breaks, kind="stable")
    breaks, slopes = breaks[order], np.cumsum(slopes[order])
    values = np.concatenate([[0.0], np.cumsum(slopes[:-1] * -np.diff(breaks))])
    k = int(np.searchsorted(values, mass, side="right")) - 1
    slope = slopes[k]
    tau = breaks[k] - ((mass - values[k]) / slope if slope > 0 else 0.0)
    x: FloatArray = np.clip(a - tau, 0.0, caps)
    inside = (x > 0) & (x < caps)
    if inside.any():
        x[inside] = np.clip(x[inside] + (mass - x.sum()) / inside.sum(), 0.0, caps[inside])
    return x


def hinge_intercepts(u: FloatArray, y: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """All b that minimise Σ C_i (1 − y_i(u_i + b))₊: a weighted quantile of y_i − u_i at level Σ₊ C_i. All (n,)."""
    return quantile_interval(y - u, upper, total(upper, y > 0))


def penalised_intercept(u: FloatArray, y: FloatArray, upper: FloatArray) -> float:
    """The b that minimises ½b² + Σ C_i (1 − y_i(u_i + b))₊. All (n,).

    The derivative, b − Σ₊ C_i + (the sum of C_i over the breakpoints y_i − u_i below b), rises through zero in one of
    the pieces or at one of the breakpoints.
    """
    points = y - u
    order = np.argsort(points, kind="stable")
    points, passed = points[order], np.cumsum(upper[order])
    level = total(upper, y > 0)
    k = int(np.searchsorted(points + passed, level))
    before = float(passed[k - 1]) if k else 0.0
    inside = level - before
    return min(inside, float(points[k])) if k < len(points) else inside


def middle(low: float, high: float) -> float:
    """The middle of an interval, or its finite end where the other is infinite."""
    if math.isinf(high):
        return low
    return high if math.isinf(low) else low + (high - low) / 2


def prefer_average(quantile: float, average: float, size: float) -> bool:
    """Whether the gap at the averaged b is as good as at the minimising b, up to rounding of values of this size."""
    return average <= quantile * (1 + 1e-9) + AVERAGING_SLACK * size
