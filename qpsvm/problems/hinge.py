"""What C-SVM and primal hinge share: the slack form of the primal, and the certificate with bounds C_i.

Notation as in `certificate`: u = K(α∘y), f = u + b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray, Matrix
from qpsvm.certificate import (
    Certificate,
    balanced,
    gap_sums,
    hinge_intercepts,
    middle,
    penalised_intercept,
    prefer_average,
    relative_gap,
)
from qpsvm.problems.space import FeatureSpace
from qpsvm.qp import Rows

#: Largest upper bound of α in a solver's units; beyond it, solvers call a bounded problem unbounded.
LARGEST_BOX = 1e3


def alpha_scale(space: FeatureSpace, upper: FloatArray) -> float:
    """The unit of α to hand a solver: 1/κ or C, whichever limits α, but at least C/1000."""
    C = float(upper.mean())
    return max(min(1.0 / space.scale, C), C / LARGEST_BOX)


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """A primal candidate: its decision values without intercept, u (n,), w, ½‖w‖² and ½‖w − w(α)‖²."""

    u: FloatArray
    w: FloatArray | None
    half_norm: float
    half_distance: float


def primal_points(
    space: FeatureSpace, beta: FloatArray, w: FloatArray | None
) -> tuple[float, Iterator[PrimalPoint]]:
    """½‖w(α)‖², and the primal candidates: the explicit w of a solver that returned one first, then w(α)."""
    if not space.is_linear:
        u = space.centred @ beta
        half_norm = 0.5 * float(beta @ u)
        return half_norm, iter([PrimalPoint(u, None, half_norm, 0.0)])
    own = space.weights(beta)
    half_norm = 0.5 * float(own @ own)

    def candidates() -> Iterator[PrimalPoint]:
        if w is not None:
            difference = w - own
            yield PrimalPoint(space.rows @ w, w, 0.5 * float(w @ w), 0.5 * float(difference @ difference))
        yield PrimalPoint(space.rows @ own, own, half_norm, 0.0)

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
    a = balanced(alpha, y, upper) if space.computed_intercept == "free" else np.clip(alpha, 0.0, upper)
    beta = a * y
    own, points = primal_points(space, beta, w)
    slope = float(beta.sum()) if space.computed_intercept == "penalised" else 0.0  # b of α
    dual = float(a.sum()) - own - 0.5 * slope * slope
    best: Certificate | None = None
    for point in points:
        b, interval, terms, loss = _best_intercept(space, y, upper, a, point, slope)
        penalty, distance = 0.0, point.half_distance
        if space.computed_intercept == "penalised":
            penalty, distance = 0.5 * b * b, distance + 0.5 * (b - slope) * (b - slope)
        primal = point.half_norm + penalty + loss
        gap = relative_gap(distance + terms, primal, dual)
        if best is None or gap < best.gap:
            plane = space.plane(beta, point.w)
            yf = point.u + b
            yf *= y
            best = Certificate(
                alpha=a, yf=yf, rho=1.0, b=b + plane.b, b_interval=(interval[0] + plane.b, interval[1] + plane.b),
                w=plane.w, coef=plane.coef, upper=upper, unit=unit,
                primal=unit * primal, dual=unit * dual, gap=gap,
            )
        if best.gap <= enough:
            break
    assert best is not None  # w(α) is always a candidate
    return best


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

    b = middle(low, high)
    terms, loss = at(b)
    on_margin = np.flatnonzero((a > 0) & (a < upper))
    if len(on_margin):
        average = float((y[on_margin] - point.u[on_margin]).mean())
        averaged, loss_there = at(average)
        if prefer_average(moved(b, terms), moved(average, averaged), abs(float(a.sum()))):
            return average, (min(low, average), max(high, average)), averaged, loss_there
    return b, (low, high), terms, loss
