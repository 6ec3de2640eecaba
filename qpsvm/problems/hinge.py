"""What C-SVM and primal hinge share: the slack form of the primal, and the certificate with bounds C_i.

Notation as in `certificate`: u = K(α∘y), f = u + b.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays.constant import common_value
from qpsvm.arrays.types import FloatArray, Matrix
from qpsvm.dual.certificate import (
    Certificate,
    balanced,
    boxed,
    gap_sums,
    hinge_intercepts,
    middle,
    penalised_intercept,
    prefer_average,
    relative_gap,
)
from qpsvm.kernels.space import FeatureSpace
from qpsvm.qp.program import Rows

#: Largest upper bound of α in a solver's units; beyond it, solvers call a bounded problem unbounded.
LARGEST_BOX = 1e3
#: A point whose largest slack is below this is stretched until it has none: where C is large, slacks of the size of
#: rounding cost more than the norm does. ROOM is what rounding needs beyond.
ALL_BUT_SEPARATED, ROOM = 1e-10, 4e-16


def alpha_scale(space: FeatureSpace, upper: FloatArray) -> float:
    """The unit of α to hand a solver: 1/κ or C, whichever limits α, but at least C/1000."""
    common = common_value(upper)
    C = float(upper.mean()) if common is None else common
    return max(min(1.0 / space.scale, C), C / LARGEST_BOX)


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A primal candidate: decision values without intercept, u (n,), w, ½‖w‖², and w − w(α), None where that is 0."""

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    offset: FloatArray | None = None

    def half_distance(self, growth: float = 0.0) -> float:
        """½‖(1 + growth)w − w(α)‖²."""
        if self.offset is None or self.w is None:
            return growth * growth * self.half_norm
        difference = self.offset + growth * self.w
        return 0.5 * float(difference @ difference)


def primal_points(
    space: FeatureSpace, beta: FloatArray, w: FloatArray | None
) -> tuple[float, Iterator[PrimalPoint]]:
    """½‖w(α)‖², and the primal candidates: the explicit w of a solver that returned one first, then w(α)."""
    if not space.is_linear:
        u = space.centred @ beta
        half_norm = 0.5 * float(beta @ u)
        return half_norm, iter([PrimalPoint(u, None, half_norm)])
    own = space.weights(beta)
    half_norm = 0.5 * float(own @ own)

    def candidates() -> Iterator[PrimalPoint]:
        if w is not None:
            yield PrimalPoint(space.rows.margins(w), w, 0.5 * float(w @ w), w - own)
        yield PrimalPoint(space.rows.margins(own), own, half_norm)

    return half_norm, candidates()


def margin_rows(Z: Matrix, y: FloatArray, others: list[Matrix]) -> Matrix:
    """−y_i z_iᵀ beside further columns, CSC: the left-hand side of 'y_i f(x_i) ≥ …' written as Gx ≤ h."""
    weights = sp.csc_array(-(sp.diags_array(y) @ Z)) if sp.issparse(Z) else sp.csc_array(-y[:, None] * Z)
    return sp.hstack([weights, *(sp.csc_array(block) for block in others)], format="csc")


def margin_group(n: int, formula: str) -> dict[str, Rows]:
    """The one group of inequality rows that every primal has, "margin"."""
    return {"margin": Rows("G", slice(0, n), formula)}


def balance_group(y: FloatArray) -> tuple[FloatArray, FloatArray, dict[str, Rows]]:
    """The equality row yᵀα = 0: A (1, n), b (1,) and its name, "balance"."""
    return y[None, :], np.zeros(1), {"balance": Rows("A", slice(0, 1), "yᵀα = 0")}


def feasible(space: FeatureSpace, y: FloatArray, upper: FloatArray, alpha: FloatArray) -> FloatArray:
    """The nearest cheap α in the box, and balanced where the intercept is free: (n,)."""
    return balanced(alpha, y, upper) if space.computed_intercept == "free" else boxed(alpha, upper)


def hinge_certificate(
    space: FeatureSpace,
    y: FloatArray,
    upper: FloatArray,
    alpha: FloatArray,
    w: FloatArray | None,
    enough: float = 0.0,
    unit: float = 1.0,
) -> Certificate:
    """Certify α for ½‖w‖² + Σ C_i ξ_i, all values times a factor.

    Parameters
    ----------
    space : FeatureSpace
    y, upper, alpha : ndarray, shape (n,)
        Labels, C_i, and any α.
    w : ndarray or None
        An explicit weight vector in the coordinates of `space.rows`.
    enough : float
        A relative gap at which no better primal candidate is looked for.
    unit : float
        λ for the primal hinge problem, 1 for the C-SVM.
    """
    a = feasible(space, y, upper, alpha)
    beta = a * y
    penalised = space.computed_intercept == "penalised"
    slope = float(beta.sum()) if penalised else 0.0  # b of α
    best: tuple[float, float, float] = np.inf, np.inf, np.inf  # gap, P, P − D
    at: tuple[PrimalPoint, float, float, tuple[float, float]] | None = None  # point, growth, b, its interval

    for point in primal_points(space, beta, w)[1]:
        b, interval, terms, loss = _best_intercept(space, y, upper, a, point, slope)
        growth = 0.0
        for _ in range(2):  # at the point, and where it all but separates the classes, stretched until it does
            t = 1.0 + growth
            primal = t * t * point.half_norm + (0.5 * b * b if penalised else 0.0) + loss
            difference = point.half_distance(growth) + terms
            difference += 0.5 * (b - slope) * (b - slope) if penalised else 0.0
            gap = relative_gap(difference, primal, primal - difference)
            if at is None or gap < best[0]:
                best, at = (gap, primal, difference), (point, growth, b, interval)
            if best[0] <= enough or growth or not 0.0 < loss < ALL_BUT_SEPARATED * float(upper.sum()):
                break  # the loss is at most the deepest slack times ΣC_i
            depth = deepest(y, point.u, b)
            if not 0.0 < depth < ALL_BUT_SEPARATED:
                break
            growth = (depth + ROOM) / (1.0 - depth)
            b *= 1.0 + growth
            terms, loss = gap_sums(a, upper, y, (1.0 + growth) * point.u, b, 1.0)
        if best[0] <= enough:
            break
    assert at is not None  # w(α) is always a candidate
    point, growth, b, interval = at
    gap, primal, difference = best
    factor = 1.0 + growth
    plane = space.plane(beta, point.w, b, factor)
    yf = point.u * factor if growth else point.u
    yf += plane.level
    yf *= y
    shift = plane.b - b
    return Certificate(
        alpha=a, yf=yf, rho=1.0, b=plane.b,
        b_interval=(min(interval[0] + shift, plane.b), max(interval[1] + shift, plane.b)),
        w=plane.w, coef=plane.coef, upper=upper, unit=unit, primal=unit * primal,
        dual=unit * (primal - difference),  # Σα − ½‖w(α)‖² may be a small difference of large numbers
        gap=gap, level=plane.level, level_radius=plane.level_radius, factor=factor,
        half_norm=factor * factor * point.half_norm, offset=math.sqrt(2.0 * point.half_distance(growth)),
    )  # fmt: skip


def deepest(y: FloatArray, u: FloatArray, b: float) -> float:
    """The largest slack ξ of f = u + b, negative where every sample is beyond its margin: all (n,)."""
    positive = y > 0
    inner = min(
        float(np.min(u, where=positive, initial=np.inf)) + b, -float(np.max(u, where=~positive, initial=-np.inf)) - b
    )
    return 1.0 - inner


def _best_intercept(
    space: FeatureSpace, y: FloatArray, upper: FloatArray, a: FloatArray, point: PrimalPoint, slope: float
) -> tuple[float, tuple[float, float], float, float]:
    """b, its interval, Σg and ΣCξ at a primal candidate, in the coordinates of `space.centred`.

    `slope` is yᵀα, the b of α where it is penalised. b minimises the primal for this w; where vectors lie on the
    margin, their average, unless that makes the gap grow.
    """

    def at(b: float) -> tuple[float, float]:
        return gap_sums(a, upper, y, point.u, b, 1.0)

    if space.computed_intercept is None:
        return 0.0, (0.0, 0.0), *at(0.0)
    if space.computed_intercept == "free":
        low, high = hinge_intercepts(point.u, y, upper)
    else:
        low = high = penalised_intercept(point.u, y, upper)
    penalised = space.computed_intercept == "penalised"

    def moved(b: float, terms: float) -> float:
        """The part of the gap that depends on b."""
        return terms + (0.5 * (b - slope) * (b - slope) if penalised else 0.0)

    def tried(b: float) -> tuple[float, tuple[float, float], float, float]:
        return b, (min(low, b), max(high, b)), *at(b)

    on_margin = ((a > 0) & (a < upper)).nonzero()[0]
    if not len(on_margin):
        return tried(middle(low, high))
    average = tried(float(np.add.reduce(y[on_margin] - point.u[on_margin])) / len(on_margin))
    cost, size = moved(average[0], average[2]), abs(float(np.add.reduce(a)))
    if prefer_average(0.0, cost, size):  # no b has a gap below zero: there is nothing to compare with
        return average
    quantile = tried(middle(low, high))
    return average if prefer_average(moved(quantile[0], quantile[2]), cost, size) else quantile
