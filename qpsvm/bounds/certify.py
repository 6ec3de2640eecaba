"""Certify any α, and any w: build a feasible primal-dual pair with its gap (`certify`).

α is repaired to a dual feasible point (`repair`). Candidates for w are w(α) and the w of a solver (`levels`). For each,
the best multipliers (intercepts and margins) are found, and the gap is evaluated by (GAP.1). The candidate with the
smallest gap becomes the certificate.

With hard rows, α and (w, b) are scaled optimally, (SCALE.1), (SCALE.2). A point with bounded slacks that almost
separates the classes is also scaled until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.frozen import build_frozen
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.bounds.certificate import Certificate, PrimalPoint, find_middle, is_as_good, sum_gap_terms
from qpsvm.bounds.class_intercepts import find_class_intercepts
from qpsvm.bounds.class_space import build_plane
from qpsvm.bounds.hard_margin import compute_reach, find_middle_intercept, normalise_direction
from qpsvm.bounds.repair import make_feasible
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: The interval of equally good values of each multiplier, by its name.
Intervals = Mapping[str, tuple[float, float]]
#: If the largest slack is below this share of the level, the point is scaled until no slack is left: with a large U,
#: slacks of the size of rounding cost more than the norm.
ALL_BUT_SEPARATED = 1e-10
#: A solver's w of a hard margin is no candidate if it has to be scaled by more than this to fit its own α: its distance
#: from w(α) would have the rounding of the solver's scale instead of the result's.
FAR_SCALE = 4.0
#: A point is scaled by this much more than needed, to allow for rounding.
SCALING_MARGIN = 4e-16


class DualPoint(NamedTuple):
    """A dual feasible point, and what the gap of a primal point needs to know of it.

    alpha (m,), beta (n,): α, and the coefficients of w(α).
    multipliers: (E_gᵀα − e_g)/R_g of the penalised groups, (CERT.2), by name.
    cost, penalties: ½‖w(α)‖² + ½Σδα², and ½Σ R_g μ_g² of `multipliers`, so D = ℓᵀα − cost − penalties.
    """

    alpha: FloatArray
    beta: FloatArray
    multipliers: Mapping[str, float]
    cost: float
    penalties: float


class EvaluatedMultipliers(NamedTuple):
    """Multipliers μ by name, intervals of equally good values, and Σ g_k and Σ ψ_k of (GAP.1) at μ."""

    multipliers: Mapping[str, float]
    intervals: Intervals
    terms: float
    losses: float


@dataclass(frozen=True, eq=False)
class PrimalCandidate:
    """A primal candidate, scaled by 1 + growth, with its best multipliers and its gap.

    multipliers: μ by name.
    intervals: Intervals of equally good values of each.
    primal, difference: P and P − D.
    """

    point: PrimalPoint
    growth: float
    multipliers: Mapping[str, float]
    intervals: Intervals
    primal: float
    difference: float
    gap: float


#: Evaluates a primal point against a dual point: one or two candidates.
Measure = Callable[[SVMDual, DualPoint, PrimalPoint], list[PrimalCandidate]]


def certify(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None = None, target_gap: float = 0.0,
    measure: Measure | None = None,
) -> Certificate:  # fmt: skip
    """Certify α (m,), after repair to a feasible one, with the best primal point found.

    w: The solver's primal point, see `find_primal_points`; None without one.
    target_gap: Candidates after the first that reaches it are not tried.
    measure: Replaces `measure_point` for machines with linear constraints, which primal points have to satisfy.
    """
    requires_w = target_gap == math.inf
    if svm.is_hard and svm.is_scalable and measure is None:
        dual, points = _find_scaled_candidates(space, svm, alpha, w, requires_w)
    else:
        dual, points = _find_candidates(space, svm, alpha, w, requires_w)
    candidates = (candidate for point in points for candidate in (measure or measure_point)(svm, dual, point))
    best = next(candidates)  # w(α) is always a candidate
    while best.gap > target_gap and (other := next(candidates, None)) is not None:
        best = other if other.gap < best.gap else best
    if measure is not None and best.primal == 0.0 and dual.alpha.any() and not any(g.total for g in svm.groups):
        # P = 0 is optimal, and α = 0 proves it
        return certify(space, svm, np.zeros(svm.m), best.point.w, target_gap, measure)
    return _build_certificate(space, svm, dual, best)


def evaluate(space: FeatureSpace, svm: SVMDual, alpha: FloatArray) -> Certificate:
    """Evaluate both objectives at α (m,), feasible or not, with w = w(α) and the best multipliers for that w.

    The gap is infinite, because the dual objective at an infeasible α bounds nothing. Likewise, P does not penalise
    violated hard rows.
    """
    beta = svm.beta(alpha)
    half_norm, points = levels.find_primal_points(space, beta, None)
    point = next(points)
    dual = _build_dual_point(svm, alpha, beta, half_norm)
    best = EvaluatedMultipliers({}, {}, 0.0, 0.0)
    if svm.is_hard and svm.intercept is not None:
        b = find_middle_intercept(svm, point.u)
        best = EvaluatedMultipliers({group.multiplier: b for group in svm.groups}, {}, 0.0, 0.0)
    elif not svm.is_hard:
        best = find_primal_multipliers(svm, alpha, point.u)
    certificate = _build_certificate(space, svm, dual, build_candidate(svm, dual, point, 0.0, best))
    value = float(svm.level @ alpha) - (dual.cost + dual.penalties)
    return replace(certificate, dual=svm.unit * value, gap=math.inf)


# --- the dual point, and candidates for w ---


def _find_candidates(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None, requires_w: bool
) -> tuple[DualPoint, Iterator[PrimalPoint]]:
    """Repair α (m,), and return it with the candidates for w; w itself in any case if `requires_w`."""
    a = make_feasible(svm, alpha)
    beta = svm.beta(a)
    repair_change = None
    if w is None and space.is_linear and np.isfinite(a).all():
        repair_change = svm.beta(np.clip(alpha, 0.0, svm.upper) - a), float(svm.level @ a)
    half_norm, points = levels.find_primal_points(space, beta, w, requires_w, repair_change)
    return _build_dual_point(svm, a, beta, half_norm), points


def _find_scaled_candidates(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None, requires_w: bool
) -> tuple[DualPoint, Iterator[PrimalPoint]]:
    """Return α and the candidates for w of a hard margin, both times the best t, (SCALE.2)."""
    a = make_feasible(svm, alpha)
    scale = float(a.max(initial=0.0)) or 1.0  # a solver's w belongs to α before it is scaled
    a = normalise_direction(svm, a)
    w = w / scale if w is not None and space.is_linear else None
    beta = svm.beta(a)
    half_norm, points = levels.find_primal_points(space, beta, w, requires_w)
    norm2 = 2.0 * half_norm
    total = float(svm.level @ a)
    t = total / norm2 if norm2 * LARGEST_VALUE > total else 1.0
    return _build_dual_point(svm, a * t, beta * t, half_norm * t * t), map(partial(PrimalPoint.scale, factor=t), points)


def _build_dual_point(svm: SVMDual, alpha: FloatArray, beta: FloatArray, half_norm: float) -> DualPoint:
    """Build the dual point of a feasible α (m,), given β (n,) and ½‖w(α)‖²."""
    multipliers = compute_penalised_multipliers(svm, alpha)
    cost = half_norm
    if svm.has_curvature:
        cost += 0.5 * float(svm.curvature @ (alpha * alpha))
    penalties = sum(0.5 * group.ridge * np.square(multipliers[group.multiplier]) for group in svm.penalised_groups)
    return DualPoint(alpha, beta, multipliers, cost, penalties)


def compute_penalised_multipliers(svm: SVMDual, a: FloatArray) -> dict[str, float]:
    """Return (E_gᵀα − e_g)/R_g of each penalised group, (CERT.2), by the name of its multiplier (b = yᵀα)."""
    multipliers = {}
    for group in svm.penalised_groups:
        surplus = float(group.column @ a) - group.total
        multipliers[group.multiplier] = surplus / group.ridge  # (CERT.2), (PHINGE.5), (PHINGE.12)
    return multipliers


# --- the gap of a candidate ---


def measure_point(svm: SVMDual, dual: DualPoint, point: PrimalPoint) -> list[PrimalCandidate]:
    """Evaluate a primal point; and if it almost separates the classes, also the point scaled until it does."""
    growth = 0.0
    if svm.is_stretchable:
        reach = compute_reach(svm, point.u)
        is_of_other_scale = svm.is_hard and point.difference is not None and not 1.0 / FAR_SCALE < reach < FAR_SCALE
        if not reach > 0.0 or is_of_other_scale:
            return [_build_useless_candidate(svm, point)]
        if svm.is_hard and svm.is_scalable:
            return [scale_to_level(svm, dual, point, reach)]
        growth = max((1.0 + SCALING_MARGIN) / reach - 1.0, 0.0) if reach < 1.0 else 0.0
    best = find_best_multipliers(svm, dual.alpha, point, dual.multipliers, growth)
    candidate = build_candidate(svm, dual, point, growth, best)
    if growth or not svm.is_scalable or svm.has_curvature or not svm.is_bounded:
        return [candidate]
    separated = _scale_until_separated(svm, dual, point, best)
    return [candidate] if separated is None else [candidate, separated]


def _build_useless_candidate(svm: SVMDual, point: PrimalPoint) -> PrimalCandidate:
    """Return a candidate with an infinite gap, which loses against all others."""
    b = find_middle_intercept(svm, point.u) if svm.is_hard else 0.0
    return PrimalCandidate(point, 0.0, {group.multiplier: b for group in svm.groups}, {}, np.inf, np.inf, np.inf)


def scale_to_level(svm: SVMDual, dual: DualPoint, point: PrimalPoint, reach: float) -> PrimalCandidate:
    """Scale a point of a hard margin by 1/reach, so that its closest rows are exactly at their level, (SCALE.1)."""
    u = point.u / reach  # (SCALE.1)
    b = find_middle_intercept(svm, point.u) / reach  # (SCALE.1), (HARD.14)
    multipliers = {group.multiplier: b for group in svm.groups}
    sums = sum_gap_terms(svm, dual.alpha, u, b, svm.level)
    scaled = EvaluatedMultipliers(multipliers, dict.fromkeys(multipliers, (b, b)), *sums)
    return build_candidate(svm, dual, point, 1.0 / reach - 1.0, scaled)


def _scale_until_separated(
    svm: SVMDual, dual: DualPoint, point: PrimalPoint, best: EvaluatedMultipliers
) -> PrimalCandidate | None:
    """Scale a point whose largest slack is rounding until it has no slack; None if its slacks are larger, or 0."""
    if not 0.0 < best.losses < ALL_BUT_SEPARATED * float(np.add.reduce(svm.upper)) * float(svm.common_level or 1.0):
        return None  # the loss is at most the largest slack times ΣU
    violation = _find_largest_violation(svm, point.u, best.multipliers)
    if not 0.0 < violation < ALL_BUT_SEPARATED:
        return None
    growth = (violation + SCALING_MARGIN) / (1.0 - violation)
    multipliers = {name: value * (1.0 + growth) for name, value in best.multipliers.items()}
    sums = sum_gap_terms(
        svm, dual.alpha, (1.0 + growth) * point.u, svm.get_intercept(multipliers), svm.compute_margin(multipliers)
    )
    return build_candidate(svm, dual, point, growth, EvaluatedMultipliers(multipliers, best.intervals, *sums))


def _find_largest_violation(svm: SVMDual, u: FloatArray, multipliers: Mapping[str, float]) -> float:
    """Return the largest violation of a level, as a share of the level; negative if no row violates it."""
    level = float(svm.common_level or 1.0)
    if svm.classes is not None:
        return float((svm.compute_margin(multipliers) - svm.at_rows(u)).max()) / level
    b = svm.get_intercept(multipliers)
    values = svm.at_rows(u)
    is_positive = svm.sign > 0
    min_positive = float(np.min(values, where=is_positive, initial=np.inf)) + b
    min_negative = -float(np.max(values, where=~is_positive, initial=-np.inf)) - b
    return 1.0 - min(min_positive, min_negative) / level


def build_candidate(
    svm: SVMDual, dual: DualPoint, point: PrimalPoint, growth: float, at: EvaluatedMultipliers
) -> PrimalCandidate:
    """Evaluate (GAP.1) at a candidate; if all levels are 0, D is −½‖w(α)‖² − ½Σδα², else P minus the difference."""
    factor = 1.0 + growth
    primal = factor * factor * point.half_norm + at.losses
    primal += sum(group.total * at.multipliers[group.multiplier] for group in svm.groups)
    difference = point.bound_half_distance(growth) + at.terms  # (GAP.1), (HARD.16), (CSVM.16), (NUSVM.19), (PHINGE.19)
    for group in svm.penalised_groups:
        mu = at.multipliers[group.multiplier]
        primal += 0.5 * group.ridge * mu * mu
        difference += 0.5 * group.ridge * np.square(mu - dual.multipliers[group.multiplier])
    gap = compute_relative_gap(difference, primal, -dual.cost if svm.is_homogeneous else primal - difference)
    return PrimalCandidate(point, growth, at.multipliers, at.intervals, primal, difference, gap)


# --- the best multipliers for a given w ---


def find_best_multipliers(
    svm: SVMDual, a: FloatArray, point: PrimalPoint, dual_multipliers: Mapping[str, float], growth: float = 0.0
) -> EvaluatedMultipliers:
    """Return the best multipliers for a primal candidate, in the coordinates of `space.centred`.

    They minimise the primal for this w, (LEVEL.1). With free rows, the average (LEVEL.5) replaces that minimiser unless
    it increases the gap.
    """
    u = point.u if not growth else (1.0 + growth) * point.u
    if svm.classes is not None:
        intercepts = find_class_intercepts(svm.classes, a, u, point.half_norm, dual_multipliers)
        multipliers = svm.classes.name_multipliers(intercepts)
        return EvaluatedMultipliers(multipliers, {}, *sum_gap_terms(svm, a, u, 0.0, svm.compute_margin(multipliers)))
    evaluate = partial(_evaluate_thetas, svm, a, u)
    compute_cost = partial(_compute_cost, svm, dual_multipliers=dual_multipliers)
    if not svm.parts:
        return evaluate([])
    row_thetas = [levels.compute_thetas(svm, part, u) for part in svm.parts]
    intervals = [levels.find_minimisers(svm, *pair) for pair in zip(svm.parts, row_thetas, strict=True)]
    if None in intervals:
        return _build_infeasible_multipliers(svm)
    finite_intervals = cast("list[tuple[float, float]]", intervals)
    averages = [levels.average_free_rows(svm, *pair, a) for pair in zip(svm.parts, row_thetas, strict=True)]
    middles = [find_middle(*ends) for ends in finite_intervals]
    if None in averages or svm.hard_rows is not None:
        best = evaluate(middles)
    else:
        if svm.is_homogeneous:
            size = 2.0 * point.half_norm
        else:
            size = abs(float(svm.level @ a))
        best = _prefer_averages(cast("list[float]", averages), middles, evaluate, compute_cost, size)
    if svm.penalised_groups and not bool(a.any()):  # for α = 0 the multiplier is 0, (LEVEL.2) finds it up to rounding
        zero = evaluate([0.0] * len(middles))
        if compute_cost(zero) < compute_cost(best):
            best = zero
    return best._replace(intervals=_find_intervals(svm, finite_intervals, best.multipliers))


def _prefer_averages(
    averages: list[float], minimisers: list[float], evaluate: Callable[[list[float]], EvaluatedMultipliers],
    compute_cost: Callable[[EvaluatedMultipliers], float], size: float,
) -> EvaluatedMultipliers:  # fmt: skip
    """Evaluate the averages of θ; return the minimisers instead if their cost is smaller by more than rounding."""
    average = evaluate(averages)
    cost = compute_cost(average)
    if is_as_good(cost, 0.0, size):  # 0 is a lower bound for any μ
        return average
    minimiser = evaluate(minimisers)
    if is_as_good(cost, compute_cost(minimiser), size):
        return average
    return minimiser


def find_primal_multipliers(svm: SVMDual, a: FloatArray, u: FloatArray) -> EvaluatedMultipliers:
    """Return the multipliers that minimise the primal for u (n,); α (m,) may be infeasible.

    The average (LEVEL.5) is taken if it is among the minimisers.
    """
    thetas: list[float] = []
    intervals: list[tuple[float, float]] = []
    for part in svm.parts:
        row_thetas = levels.compute_thetas(svm, part, u)
        interval = levels.find_minimisers(svm, part, row_thetas)
        average = levels.average_free_rows(svm, part, row_thetas, a)
        if interval is None:
            return _build_infeasible_multipliers(svm)
        low, high = interval
        thetas.append(average if average is not None and low <= average <= high else find_middle(low, high))
        intervals.append(interval)
    best = _evaluate_thetas(svm, a, u, thetas)
    return best._replace(intervals=_find_intervals(svm, intervals, best.multipliers))


def _evaluate_thetas(svm: SVMDual, a: FloatArray, u: FloatArray, thetas: list[float]) -> EvaluatedMultipliers:
    """Return the multipliers μ of θ, one per part of the rows, and their sums at u (n,), without intervals."""
    multipliers = svm.compute_multipliers(thetas)
    return EvaluatedMultipliers(
        multipliers, {}, *sum_gap_terms(svm, a, u, svm.get_intercept(multipliers), svm.compute_margin(multipliers))
    )


def _build_infeasible_multipliers(svm: SVMDual) -> EvaluatedMultipliers:
    """Return zeros with infinite sums: no multipliers satisfy the hard rows."""
    return EvaluatedMultipliers({group.multiplier: 0.0 for group in svm.groups}, {}, np.inf, np.inf)


def _compute_cost(svm: SVMDual, at: EvaluatedMultipliers, dual_multipliers: Mapping[str, float]) -> float:
    """Return the part of P − D that depends on μ."""
    cost = at.terms
    for group in svm.penalised_groups:
        cost += 0.5 * group.ridge * np.square(at.multipliers[group.multiplier] - dual_multipliers[group.multiplier])
    return cost


def _find_intervals(
    svm: SVMDual, part_intervals: list[tuple[float, float]], multipliers: Mapping[str, float]
) -> Intervals:
    """Return the interval of equally good values of each multiplier μ, from those of θ."""
    if len(part_intervals) == 1:
        low, high = part_intervals[0]
        name = svm.groups[0].multiplier
        return {name: (float(min(low, multipliers[name])), float(max(high, multipliers[name])))}
    intervals = {}
    for group, inverse in zip(svm.groups, svm.inverse_mixing, strict=True):
        ends = [
            sorted(factor * end for end in interval)
            for factor, interval in zip(inverse, part_intervals, strict=True)
            if factor
        ]
        low = sum(end[0] for end in ends)
        high = sum(end[1] for end in ends)
        value = multipliers[group.multiplier]
        intervals[group.multiplier] = float(min(low, value)), float(max(high, value))
    return intervals


# --- the certificate ---


def _build_certificate(space: FeatureSpace, svm: SVMDual, dual: DualPoint, best: PrimalCandidate) -> Certificate:
    """Build the certificate of the best candidate, in the caller's coordinates."""
    point = best.point
    factor = 1.0 + best.growth
    b = svm.get_intercept(best.multipliers)
    dual_cost = dual.cost + dual.penalties
    coef = dual.beta if point.coef is None else point.coef
    changed: dict[str, Any]
    if svm.classes is None:
        plane = space.build_hyperplane(coef, point.w, b, factor)
        margin_multipliers = {group.multiplier: best.multipliers[group.multiplier] for group in svm.margin_groups}
        changed = {"multipliers": margin_multipliers, "margin": svm.compute_margin(best.multipliers)}
    else:
        plane, changed = build_plane(space, svm, coef, point.w, b, best.multipliers, factor)
    if best.growth or not svm.has_one_row_per_sample:
        yf = svm.at_rows(point.u) * factor
    else:
        yf = point.u
    yf += plane.centred_b
    yf *= svm.sign
    shift = plane.b - b
    intervals = dict(best.intervals)
    if svm.intercept is None:
        low, high = b, b
    else:
        low, high = intervals.pop(svm.intercept.multiplier, (-np.inf, np.inf))
    # D = ℓᵀα − ½‖w(α)‖² − … may be a small difference of large numbers; with ℓ = 0 nothing cancels
    dual_value = -dual_cost if svm.is_homogeneous else best.primal - best.difference
    if not math.isfinite(best.primal):
        dual_value = float(svm.level @ dual.alpha) - dual_cost
    return build_frozen(
        Certificate, svm=svm, alpha=dual.alpha, yf=yf, b=plane.b, **changed,
        b_interval=(min(low + shift, plane.b), max(high + shift, plane.b)), intervals=intervals,
        w=plane.w, coef=plane.coef, primal=svm.unit * best.primal, dual=svm.unit * dual_value, gap=best.gap,
        centred_b=plane.centred_b, centred_b_radius=plane.centred_b_radius, factor=factor,
        half_norm=factor * factor * point.half_norm,
        weight_distance=math.sqrt(2.0 * point.bound_half_distance(best.growth)),
        weight_distance_radius=point.distance_radius, sparse_coef=point.coef,
    )  # fmt: skip
