"""What C-SVM and primal hinge share: the slack form of the primal, and the certificate with bounds C_i.

Notation as in `certificate`: u = K(α∘y), f = u + b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from qpsvm.arrays import FloatArray, Matrix
from qpsvm.certificate import (
    Certificate,
    balanced,
    gap_terms,
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


def primal_points(space: FeatureSpace, beta: FloatArray, w: FloatArray | None) -> list[PrimalPoint]:
    """The primal candidates at hand: w(α) first, then the explicit w of a solver that returned one."""
    u, from_alpha = space.apply(beta)
    points = [PrimalPoint(u, from_alpha, 0.5 * float(beta @ u), 0.0)]
    if w is not None and from_alpha is not None:
        difference = w - from_alpha
        points.append(PrimalPoint(space.rows @ w, w, 0.5 * float(w @ w), 0.5 * float(difference @ difference)))
    return points


def margin_rows(Z: Matrix, y: FloatArray, others: list[Matrix]) -> Matrix:
    """−y_i z_iᵀ beside further columns, CSC: the left-hand side of 'y_i f(x_i) ≥ …' written as Gx ≤ h."""
    weights = sp.csc_array(-(sp.diags_array(y) @ Z)) if sp.issparse(Z) else sp.csc_array(-y[:, None] * Z)
    return sp.hstack([weights, *(sp.csc_array(block) for block in others)], format="csc")


def margin_group(n: int, formula: str) -> dict[str, Rows]:
    """The one group of inequality rows that every primal has, "margin"."""
    return {"margin": Rows("G", slice(0, n), formula)}


def balance_group(y: FloatArray) -> tuple[FloatArray, FloatArray, dict[str, Rows]]:
    """The equality row yᵀα = 0: A (1, n), b (1,) and its name, "balance"."""
    return y[None, :].copy(), np.zeros(1), {"balance": Rows("A", slice(0, 1), "yᵀα = 0")}


def hinge_certificate(
    space: FeatureSpace, y: FloatArray, upper: FloatArray, alpha: FloatArray, w: FloatArray | None, factor: float = 1.0
) -> Certificate:
    """Certify α for ½‖w‖² + Σ C_i ξ_i, all values times a factor.

    Parameters
    ----------
    space : FeatureSpace
    y, upper, alpha : ndarray, shape (n,)
        Labels, C_i, and any α.
    w : ndarray or None
        An explicit weight vector in the coordinates of `space.rows`.
    factor : float
        λ for the primal hinge problem, 1 for the C-SVM.
    """
    a = balanced(alpha, y, upper) if space.computed_intercept == "free" else np.clip(alpha, 0.0, upper)
    beta = a * y
    points = primal_points(space, beta, w)
    slope = float(beta.sum()) if space.computed_intercept == "penalised" else 0.0  # b of α
    dual = float(a.sum()) - points[0].half_norm - 0.5 * slope * slope
    best: Certificate | None = None
    for point in points:
        b, interval, yf, xi, terms = _best_intercept(space, y, upper, a, point, slope)
        penalty, distance = 0.0, point.half_distance
        if space.computed_intercept == "penalised":
            penalty, distance = 0.5 * b * b, distance + 0.5 * (b - slope) * (b - slope)
        primal = point.half_norm + penalty + float(upper @ xi)
        gap = relative_gap(distance + float(terms.sum()), primal, dual)
        if best is None or gap < best.gap:
            plane = space.plane(beta, point.w)
            best = Certificate(
                alpha=a, yf=yf, rho=1.0, b=b + plane.b, b_interval=(interval[0] + plane.b, interval[1] + plane.b),
                w=plane.w, coef=plane.coef, xi=xi, terms=factor * terms,
                primal=factor * primal, dual=factor * dual, gap=gap,
            )
    assert best is not None  # primal_points yields w(α) always
    return best


def _best_intercept(
    space: FeatureSpace, y: FloatArray, upper: FloatArray, a: FloatArray, point: PrimalPoint, slope: float
) -> tuple[float, tuple[float, float], FloatArray, FloatArray, FloatArray]:
    """b, its interval, y∘f, ξ and g at a primal candidate, in the coordinates of `space.centred`.

    `slope` is yᵀα, the b of α where it is penalised. b minimises the primal for this w; where vectors lie on the
    margin, their average, unless that makes the gap grow.
    """

    def at(b: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        yf = y * (point.u + b)
        return yf, *gap_terms(a, upper, yf, 1.0)

    if space.computed_intercept is None:
        return 0.0, (0.0, 0.0), *at(0.0)
    if space.computed_intercept == "free":
        low, high = hinge_intercepts(point.u, y, upper)
    else:
        low = high = penalised_intercept(point.u, y, upper)
    penalised = space.computed_intercept == "penalised"

    def total(b: float, terms: FloatArray) -> float:
        """The part of the gap that depends on b."""
        return float(terms.sum()) + (0.5 * (b - slope) * (b - slope) if penalised else 0.0)

    b = middle(low, high)
    yf, xi, terms = at(b)
    on_margin = (a > 0) & (a < upper)
    if on_margin.any():
        average = float((y - point.u)[on_margin].mean())
        averaged = at(average)
        if prefer_average(total(b, terms), total(average, averaged[2]), abs(float(a.sum()))):
            return average, (min(low, average), max(high, average)), *averaged
    return b, (low, high), yf, xi, terms
