"""Change the hyperplane of a certified point (`rescale`, `shift_multiplier`)."""

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
    """Return the point with decision values (u + b)·factor, u (m,) those of w or coef, as numbers for the user."""
    b *= factor
    total_factor, norm = point.factor * factor, math.sqrt(2.0 * max(point.half_norm, 0.0))
    own, by = (svm.beta(point.alpha) if point.explicit is None else point.explicit), total_factor
    if point.w is not None:
        offset, by = point.offset + (factor - 1.0) * norm, factor
    elif point.explicit is not None:
        offset, w = point.offset + abs(factor - 1.0) * norm, None
    else:
        offset, w = abs(1.0 - 1.0 / total_factor) * factor * norm, None
    multipliers = {name: factor * value for name, value in point.multipliers.items()}
    plane, moved = build_plane(space, svm, own, w, b, multipliers, by)
    yf = svm.sign * (u * factor + plane.level)
    low, high = point.b_interval
    return point.replace(
        coef=plane.coef, w=plane.w, b=plane.b, b_interval=(min(low, plane.b), max(high, plane.b)),
        level=plane.level, level_radius=plane.level_radius, yf=yf, factor=total_factor,
        half_norm=point.half_norm * factor * factor, offset=offset,
        placed=point.placed + 1, evaluated=None, **moved,
        value_radius=None if point.value_radius is None else point.value_radius * (factor * FEW_ROUNDINGS),
    )  # fmt: skip


def shift_multiplier(svm: SVMDual, point: Certificate, name: str, value: float) -> Certificate:
    """Return the point with another multiplier of this name, which levels depend on: another ρ, or ε."""
    multipliers = {**point.multipliers, name: value}
    margin, evaluated = svm.margin(multipliers), point.evaluated
    if evaluated is not None:
        t = evaluated.t + (margin - point.margin)
        rounding = 2.0 * UNIT * (np.abs(margin) + np.abs(point.margin) + np.abs(t))
        evaluated = EvaluatedViolations(t, evaluated.radius + rounding)
    return point.replace(margin=margin, multipliers=multipliers, evaluated=evaluated)
