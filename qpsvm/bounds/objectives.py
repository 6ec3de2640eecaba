"""Update the objective values of a point whose gap is bounded (`update_objectives`).

The bound of the gap is sharper than the difference of P and D as computed, which cancel. So only one of them is
computed, and the other is derived from the gap.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.certificate import Certificate, get_multiplier
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.program.losses import compute_loss, find_block_maximum
from qpsvm.program.svm_dual import SVMDual

#: Up to this ‖w − w(α)‖/‖w‖, D of a ν-SVM is computed from w instead of w(α).
NEAR_DISTANCE = 1e-7
#: Above this gap of a ν-SVM, which may be mostly rounding, P is not derived from the gap.
WIDE_GAP = 0.1


def update_objectives(gap_bounder: GapBounder, point: Certificate) -> Certificate:
    """Update the objective values of the point: compute P, and derive D from P and the gap."""
    svm, half_norm = gap_bounder.svm, point.half_norm
    is_sharp = point.w is None and point.evaluated is not None and point.sparse_coef is None
    if is_sharp:  # yf was evaluated in double-double
        values = point.alpha * (point.yf - point.centred_b * svm.sign)
        half_norm = 0.5 * point.factor * float(values.sum())  # Σ_i β_i u_i = Σ_k α_k s_k u_r(k)
    if gap_bounder.is_homogeneous:
        return _update_homogeneous(gap_bounder, point, half_norm)
    primal = _sum_losses(svm, point.best_violation)
    if gap_bounder.accuracy.space.is_affine and point.w is not None:
        primal += gap_bounder.compute_half_square(point)
    else:
        primal += half_norm
        primal += sum(
            0.5 * group.ridge * float(np.square(get_multiplier(point, group))) for group in svm.penalised_groups
        )
        primal += sum(group.total * get_multiplier(point, group) for group in svm.groups)
    if math.isfinite(point.gap):
        dual = primal - point.gap * abs(primal)
    else:
        dual = point.dual / point.unit
    return point.replace(primal=point.unit * primal, dual=point.unit * dual)


def _update_homogeneous(gap_bounder: GapBounder, point: Certificate, half_norm: float) -> Certificate:
    """Update the objective values of a ν-SVM, whose gap is relative to ½‖w‖²: derive P from D where D is known better.

    In P, −νρ and the losses nearly cancel: their sum may be less than the rounding of either.
    """
    svm = gap_bounder.svm
    norm = math.sqrt(2.0 * max(half_norm, 0.0))
    if svm.has_curvature or svm.penalised_groups or not (math.isfinite(point.gap) and norm > 0.0):
        return point
    t, radius = gap_bounder.enclose_violations(point, slice(None))
    losses = _sum_losses(svm, t)
    costs = [group.total * get_multiplier(point, group) for group in svm.groups]
    primal = half_norm + losses + sum(costs)
    if point.gap > WIDE_GAP:
        return point.replace(primal=point.unit * primal)
    rounding = _sum_losses(svm, t + radius) - losses
    rounding += gamma(svm.m) * losses + 8.0 * UNIT * (half_norm + sum(map(abs, costs)))
    is_near = point.weight_distance <= NEAR_DISTANCE * norm
    if is_near and rounding < point.weight_distance * norm:
        return point.replace(primal=point.unit * primal, dual=point.unit * (primal - point.gap * half_norm))
    if is_near:
        lower = -0.5 * (norm + point.weight_distance) ** 2
    else:
        lower = point.dual / point.unit
    return point.replace(primal=point.unit * (lower + point.gap * half_norm), dual=point.unit * lower)


def _sum_losses(svm: SVMDual, t: FloatArray) -> float:
    """Return Σψ_k(t_k) for t (m,), as computed; 0 for hard rows."""
    upper, curvature = svm.upper, svm.curvature
    if svm.block > 1:
        t = find_block_maximum(t, svm.block)
        upper = upper[:: svm.block]
        curvature = curvature[:: svm.block]
    elif svm.hard_rows is not None:
        t = np.where(svm.hard_rows, 0.0, t)
    if svm.is_bounded and not svm.has_curvature:
        return float(upper @ np.maximum(t, 0.0))
    return float(compute_loss(t, upper, curvature).sum())
