"""Change the decision function or a multiplier of a certified point, keeping its α (`rescale`, `shift_multiplier`).

The gap needs ‖w − w(α)‖. It is not computed again, but bounded: ‖cw − w(α)‖ ≤ ‖w − w(α)‖ + |c − 1| ‖w‖.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.rounding import FEW_ROUNDINGS, UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate, EvaluatedViolations
from qpsvm.bounds.class_space import build_plane
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace


def rescale(
    space: FeatureSpace, svm: SVMDual, point: Certificate, u: FloatArray, w: FloatArray | None, b: float, factor: float
) -> Certificate:
    """Return the point with f = factor·(u + b), u (m,) over the rows of the dual; w (d,) if it is linear, else None.

    Its gap and objectives are not updated.
    """
    b *= factor
    total_factor = point.factor * factor
    norm = math.sqrt(2.0 * max(point.half_norm, 0.0))
    coef = svm.beta(point.alpha) if point.sparse_coef is None else point.sparse_coef
    coef_factor = total_factor
    if point.w is not None:
        distance = point.weight_distance + abs(factor - 1.0) * norm
        coef_factor = factor
    elif point.sparse_coef is not None:
        distance = point.weight_distance + abs(factor - 1.0) * norm
        w = None
    else:  # w = total_factor·w(α)
        distance = abs(1.0 - 1.0 / total_factor) * factor * norm
        w = None
    multipliers = {name: factor * value for name, value in point.multipliers.items()}
    plane, class_parts = build_plane(space, svm, coef, w, b, multipliers, coef_factor)
    yf = svm.sign * (u * factor + plane.centred_b)
    low, high = point.b_interval
    return point.replace(
        coef=plane.coef, w=plane.w, b=plane.b, b_interval=(min(low, plane.b), max(high, plane.b)),
        centred_b=plane.centred_b, centred_b_radius=plane.centred_b_radius, yf=yf, factor=total_factor,
        half_norm=point.half_norm * factor * factor, weight_distance=distance,
        n_moves=point.n_moves + 1, evaluated=None, **class_parts,
        value_radius=None if point.value_radius is None else point.value_radius * (factor * FEW_ROUNDINGS),
    )  # fmt: skip


def shift_multiplier(svm: SVMDual, point: Certificate, name: str, value: float) -> Certificate:
    """Return the point with another value of a multiplier that margins depend on, such as ρ or ε."""
    multipliers = {**point.multipliers, name: value}
    margin = svm.compute_margin(multipliers)
    evaluated = point.evaluated
    if evaluated is not None:
        t = evaluated.t + (margin - point.margin)
        rounding = 2.0 * UNIT * (np.abs(margin) + np.abs(point.margin) + np.abs(t))
        evaluated = EvaluatedViolations(t, evaluated.radius + rounding)
    return point.replace(margin=margin, multipliers=multipliers, evaluated=evaluated)
