"""Machines that nothing may fall short of: U = ∞, δ = 0 in every row, levels one positive number.

Only the direction of (w, b) counts, and that of α: both are stretched as far as they can be.

    (SCALE.1)  with v = s∘u and reach(v) the largest factor c of the level that some b gives every row, s(u + b) ≥ cℓ:
               (w, b)/c is feasible, P = ½‖w‖²/c²;  with an intercept, c = (min₊ u − max₋ u)/(2ℓ), without one, min v/ℓ
    (SCALE.2)  the best multiple of α is t α with t = ℓᵀα/‖w(α)‖²:  D = (ℓᵀα)²/(2‖w(α)‖²)
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.arrays.checks import LARGEST_VALUE
from qpsvm.arrays.gap import relative_gap
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.certificate import Certificate, objective_terms
from qpsvm.dual.points import PrimalPoint, primal_points
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.kernels.space import FeatureSpace


def hard_reach(svm: SVMDual, u: FloatArray) -> float:
    """c of (SCALE.1) over the hard rows, for u (n,) at the samples; infinite where one class has none."""
    if svm.common_level is None:
        return _reach_of_levels(svm, u)
    low, high = hard_ends(svm, u)
    level = float(svm.common_level or 1.0)
    if svm.intercept is not None and svm.intercept.ridge == 0.0:
        return (low - high) / 2.0 / level
    return min(low, -high) / level


def _reach_of_levels(svm: SVMDual, u: FloatArray) -> float:
    """`hard_reach` where every hard row has a positive level of its own.

    With a free intercept, c is the least (u_i − u_j)/(ℓ_i + ℓ_j) over the pairs of a row i with s > 0 and a row j with
    s < 0: Newton's method on the pair that is furthest from its levels, which ends with the pair that is the least.
    """
    assert svm.hard is not None
    values, level, plus = svm.at_rows(u)[svm.hard], svm.level[svm.hard], svm.sign[svm.hard] > 0
    if svm.intercept is None or svm.intercept.ridge:
        return float((np.where(plus, values, -values) / level).min())
    upper, lower, most, least = values[plus], values[~plus], level[plus], level[~plus]
    reach = math.inf
    if len(upper) and len(lower):
        i = j = 0
        while (closer := float((upper[i] - lower[j]) / (most[i] + least[j]))) < reach:
            reach = closer
            i, j = int(np.argmin(upper - reach * most)), int(np.argmax(lower + reach * least))
    return reach


def hard_ends(svm: SVMDual, u: FloatArray) -> tuple[float, float]:
    """The smallest u of the hard rows with s > 0, and the largest of those with s < 0."""
    values, plus = svm.at_rows(u), svm.sign > 0
    if svm.hard is None or svm.all_hard:
        return (
            float(np.min(values, where=plus, initial=np.inf)),
            float(np.max(values, where=~plus, initial=-np.inf)),
        )
    return (
        float(np.min(values, where=plus & svm.hard, initial=np.inf)),
        float(np.max(values, where=~plus & svm.hard, initial=-np.inf)),
    )


def hard_intercept(svm: SVMDual, u: FloatArray) -> float:
    """b that is as far from one class as from the other, for u (n,) at the samples; 0 for a machine without one."""
    low, high = hard_ends(svm, u)  # min₊ u and max₋ u
    return -(low + high) / 2 if svm.intercept is not None else 0.0  # (HARD.11)


def hard_certificate(space: FeatureSpace, svm: SVMDual, a: FloatArray, w: FloatArray | None) -> Certificate:
    """Certify a feasible α (m,); where it is 0, the direction from one class to the other stands for it."""
    if not a.any():
        plus = svm.sign > 0
        a = np.where(plus, 1 / plus.sum(), 1 / (~plus).sum())
    a = a / a.max()  # only the direction counts, and a diverging solver's α may overflow
    half_norm, points = primal_points(space, svm.beta(a), w if space.is_linear else None)
    norm2, total = 2 * half_norm, float(svm.level @ a)
    stretch = total / norm2 if norm2 * LARGEST_VALUE > total else 1.0  # t of (SCALE.2)
    *explicit, own = points
    candidates = [stretched(space, svm, a * stretch, stretch, own, point) for point in (own, *explicit)]
    return min(candidates, key=lambda certificate: certificate.gap)


def stretched(
    space: FeatureSpace, svm: SVMDual, a: FloatArray, stretch: float, own: PrimalPoint, point: PrimalPoint
) -> Certificate:
    """(SCALE.1) for the dual point a = α·t and a primal direction; P = ∞ where that separates nothing."""
    reach, b = hard_reach(svm, point.u), hard_intercept(svm, point.u)
    dual = float(svm.level @ a) - stretch * stretch * own.half_norm  # (HARD.14)
    beta, level = svm.beta(a), svm.margin({})
    if not reach > 0:
        factor = stretch if point is own else 1.0
        plane = space.plane(beta, point.w, b * factor, 1.0 if point.w is None else factor)
        yf = svm.sign * (svm.at_rows(point.u) * factor + plane.level)
        return Certificate(
            svm=svm, alpha=a, yf=yf, margin=level, b=plane.b, b_interval=(-np.inf, np.inf), w=plane.w, coef=plane.coef,
            primal=np.inf, dual=svm.unit * dual, gap=np.inf,
        )  # fmt: skip
    primal = point.half_norm / reach / reach  # (HARD.14): its square would underflow where the margin need not
    if point is own:
        way = math.sqrt(own.half_norm) * (1 / reach - stretch)
        distance = way * way
    else:
        distance = _half_distance(point, own, reach, stretch)
    factor = 1 / reach
    plane = space.plane(beta, point.w, b / reach, factor / stretch if point.w is None else factor)
    yf = svm.sign * (svm.at_rows(point.u) * factor + plane.level)
    # the level is reached by the choice of c, but for rounding
    terms = objective_terms(a, svm.upper, yf, level, svm.curvature, primal)
    gap = relative_gap(distance + float(terms.sum()), primal, dual)  # (HARD.16): neither is negative
    return Certificate(
        svm=svm, alpha=a, yf=yf, margin=level, b=plane.b, b_interval=(plane.b, plane.b), w=plane.w, coef=plane.coef,
        primal=svm.unit * primal, dual=svm.unit * dual, gap=gap, level=plane.level, level_radius=plane.level_radius,
        factor=factor / stretch, half_norm=primal, offset=float(np.sqrt(2 * distance)),
    )  # fmt: skip


def _half_distance(point: PrimalPoint, own: PrimalPoint, reach: float, stretch: float) -> float:
    """½‖w/c − t w(α)‖² for an explicit w."""
    assert point.w is not None
    assert own.w is not None
    difference = point.w / reach - stretch * own.w
    return 0.5 * float(difference @ difference)
