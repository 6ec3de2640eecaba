"""Turn any α, and any w, into a feasible primal-dual pair with its gap (`certify`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.frozen import build_frozen
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.bounds.certificate import Certificate, PrimalPoint, gap_sums, middle, prefer_average
from qpsvm.bounds.class_intercepts import find_class_intercepts
from qpsvm.bounds.class_space import build_plane
from qpsvm.bounds.hard_margin import direction, hard_intercept, hard_reach
from qpsvm.bounds.repair import feasible
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: The interval of equally good values of each multiplier, by its name.
Intervals = Mapping[str, tuple[float, float]]
#: A point whose largest slack is below this is scaled until it has none: with large U, slacks of the size of rounding
#: cost more than the norm.
ALL_BUT_SEPARATED = 1e-10
#: A solver's w of a hard margin that has to be scaled by more than this against its own α is no candidate: its distance
#: from w(α) would be rounded on its own scale, and not on that of the result.
FAR_SCALE = 4.0
#: Additional scaling to allow for rounding.
ROOM = 4e-16


def certify(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None = None, target_gap: float = 0.0,
    restored: Callable[..., list[PrimalCandidate]] | None = None,
) -> Certificate:  # fmt: skip
    """Certify α (m,), after repair to a feasible one, with the best primal point found.

    w: The solver's primal point, see `primal_points`; None without one.
    target_gap: Candidates after the first that reaches it are not tried.
    restored: Replaces `_measure` for machines with linear constraints, which primal points have to satisfy.
    """
    is_stretched = svm.is_hard and svm.is_scalable and restored is None
    find_candidates = _find_stretched_candidates if is_stretched else _find_candidates
    a, beta, half_norm, points = find_candidates(space, svm, alpha, w, target_gap == math.inf)
    slopes = penalised_multipliers(svm, a)
    dual_cost = half_norm + (0.5 * float(svm.curvature @ (a * a)) if svm.has_curvature else 0.0)
    measured = (found for point in points for found in (restored or _measure)(svm, a, point, slopes, dual_cost))
    best = next(measured)  # w(α) is always a candidate
    while best.gap > target_gap and (other := next(measured, None)) is not None:
        best = other if other.gap < best.gap else best
    if restored is not None and best.primal == 0.0 and a.any() and not any(group.total for group in svm.groups):
        # P = 0 is optimal, and α = 0 proves it
        return certify(space, svm, np.zeros(svm.m), best.point.w, target_gap, restored)
    penalties = sum(0.5 * group.ridge * np.square(slopes[group.multiplier]) for group in svm.penalised_groups)
    return certificate_of(space, svm, a, beta, best, dual_cost + penalties)


#: A feasible α (m,), its β (n,), ½‖w(α)‖², and the candidates for w.
Candidates = tuple[FloatArray, FloatArray, float, Iterator[PrimalPoint]]


def _find_candidates(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None, wanted: bool
) -> Candidates:
    """Repair α (m,), and return the candidates for w; w itself in any case if `wanted`."""
    a = feasible(svm, alpha)
    beta, repair_change = svm.beta(a), None
    if w is None and space.is_linear and np.isfinite(a).all():
        repair_change = svm.beta(np.clip(alpha, 0.0, svm.upper) - a), float(svm.level @ a)
    return a, beta, *levels.primal_points(space, beta, w, wanted, repair_change)


def _find_stretched_candidates(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None, wanted: bool
) -> Candidates:
    """Return the candidates of a hard margin: for its direction in α, and stretched by the best t, (SCALE.2)."""
    a = feasible(svm, alpha)
    scale = float(a.max(initial=0.0)) or 1.0  # a solver's w belongs to α before it is scaled
    a, w = direction(svm, a), w / scale if w is not None and space.is_linear else None
    beta = svm.beta(a)
    half_norm, points = levels.primal_points(space, beta, w, wanted)
    norm2, total = 2.0 * half_norm, float(svm.level @ a)
    stretch = total / norm2 if norm2 * LARGEST_VALUE > total else 1.0
    stretched = map(partial(PrimalPoint.times, factor=stretch), points)
    return a * stretch, beta * stretch, half_norm * stretch * stretch, stretched


def evaluate(space: FeatureSpace, svm: SVMDual, alpha: FloatArray) -> Certificate:
    """Evaluate both objectives at α (m,), feasible or not, with w = w(α) and the best multipliers for that w.

    The gap is infinite, because the dual objective at an infeasible α bounds nothing. Likewise, P does not penalise
    violated hard rows.
    """
    beta = svm.beta(alpha)
    half_norm, points = levels.primal_points(space, beta, None)
    point = next(points)
    slopes = penalised_multipliers(svm, alpha)
    multipliers: Levels = {}, {}, 0.0, 0.0
    if svm.is_hard and svm.intercept is not None:
        b = hard_intercept(svm, point.u)
        multipliers = {group.multiplier: b for group in svm.groups}, {}, 0.0, 0.0
    elif not svm.is_hard:
        multipliers = lowest_levels(svm, alpha, point.u)
    cost = half_norm + 0.5 * float(svm.curvature @ (alpha * alpha))
    cost += sum(0.5 * group.ridge * np.square(slopes[group.multiplier]) for group in svm.penalised_groups)
    certificate = certificate_of(
        space, svm, alpha, beta, _build_candidate(svm, point, 0.0, *multipliers, slopes, cost), cost
    )
    return replace(certificate, dual=svm.unit * (float(svm.level @ alpha) - cost), gap=math.inf)


@dataclass(frozen=True, eq=False)
class PrimalCandidate:
    """A primal candidate, scaled by 1 + growth, with its best multipliers and its gap.

    levels: The multipliers by name.
    intervals: Equally good values of each.
    primal, difference: P and P − D.
    """

    point: PrimalPoint
    growth: float
    levels: Mapping[str, float]
    intervals: Intervals
    primal: float
    difference: float
    gap: float


def penalised_multipliers(svm: SVMDual, a: FloatArray) -> dict[str, float]:
    """Return (E_gᵀα − e_g)/R_g of each penalised group, (CERT.2), by the name of its multiplier (b = yᵀα)."""
    slopes = {}
    for group in svm.penalised_groups:
        surplus = float(group.column @ a) - group.total
        slopes[group.multiplier] = surplus / group.ridge  # (CERT.2), (PHINGE.5), (PHINGE.12)
    return slopes


def _measure(
    svm: SVMDual, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], dual_cost: float
) -> list[PrimalCandidate]:
    """Evaluate a primal point; and if it nearly separates the classes, also the point scaled until it does."""
    growth = 0.0
    if svm.is_stretchable:
        reached = hard_reach(svm, point.u)
        is_of_other_scale = svm.is_hard and point.offset is not None and not 1.0 / FAR_SCALE < reached < FAR_SCALE
        if not reached > 0.0 or is_of_other_scale:
            b = hard_intercept(svm, point.u) if svm.is_hard else 0.0
            return [
                PrimalCandidate(point, 0.0, {group.multiplier: b for group in svm.groups}, {}, np.inf, np.inf, np.inf)
            ]
        if svm.is_hard and svm.is_scalable:  # (SCALE.1), (HARD.14): the level is reached by the choice of c
            u, b = point.u / reached, hard_intercept(svm, point.u) / reached
            sums = gap_sums(svm, a, u, b, svm.level)
            scaled_multipliers = {group.multiplier: b for group in svm.groups}
            ends = dict.fromkeys(scaled_multipliers, (b, b))
            return [
                _build_candidate(svm, point, 1.0 / reached - 1.0, scaled_multipliers, ends, *sums, slopes, dual_cost)
            ]
        growth = max((1.0 + ROOM) / reached - 1.0, 0.0) if reached < 1.0 else 0.0
    best = best_levels(svm, a, point, slopes, growth)
    if growth or not best[3] > 0.0 or not svm.is_scalable or svm.has_curvature or not svm.is_bounded:
        return [_build_candidate(svm, point, growth, *best, slopes, dual_cost)]
    first = _build_candidate(svm, point, 0.0, *best, slopes, dual_cost)
    if not best[3] < ALL_BUT_SEPARATED * float(np.add.reduce(svm.upper)) * float(svm.common_level or 1.0):
        return [first]  # the loss is at most the deepest slack times ΣU
    multipliers, intervals = best[0], best[1]
    depth = _find_largest_violation(svm, point.u, multipliers)
    if not 0.0 < depth < ALL_BUT_SEPARATED:
        return [first]
    growth = (depth + ROOM) / (1.0 - depth)
    multipliers = {name: value * (1.0 + growth) for name, value in multipliers.items()}
    sums = gap_sums(svm, a, (1.0 + growth) * point.u, svm.b(multipliers), svm.margin(multipliers))
    return [first, _build_candidate(svm, point, growth, multipliers, intervals, *sums, slopes, dual_cost)]


def _build_candidate(
    svm: SVMDual,
    point: PrimalPoint,
    growth: float,
    multipliers: Mapping[str, float],
    intervals: Intervals,
    terms: float,
    loss: float,
    slopes: Mapping[str, float],
    dual_cost: float,
) -> PrimalCandidate:
    """Evaluate (GAP.1) at a candidate; if all levels are 0, D is −½‖w(α)‖² − ½Σδα², else P minus the difference."""
    factor = 1.0 + growth
    primal = factor * factor * point.half_norm + loss
    primal += sum(group.total * multipliers[group.multiplier] for group in svm.groups)
    difference = point.half_distance(growth) + terms  # (GAP.1), (HARD.16), (CSVM.16), (NUSVM.19), (PHINGE.19)
    for group in svm.penalised_groups:
        mu = multipliers[group.multiplier]
        primal += 0.5 * group.ridge * mu * mu
        difference += 0.5 * group.ridge * np.square(mu - slopes[group.multiplier])
    gap = compute_relative_gap(difference, primal, -dual_cost if svm.is_homogeneous else primal - difference)
    return PrimalCandidate(point, growth, multipliers, intervals, primal, difference, gap)


def _find_largest_violation(svm: SVMDual, u: FloatArray, multipliers: Mapping[str, float]) -> float:
    """Return the largest violation t as a share of the level; negative if all rows are beyond it."""
    if svm.classes is not None:
        return float((svm.margin(multipliers) - svm.at_rows(u)).max()) / float(svm.common_level or 1.0)
    b = svm.b(multipliers)
    values, plus = svm.at_rows(u), svm.sign > 0
    inner = min(
        float(np.min(values, where=plus, initial=np.inf)) + b,
        -float(np.max(values, where=~plus, initial=-np.inf)) - b,
    )
    return 1.0 - inner / float(svm.common_level or 1.0)


Levels = tuple[Mapping[str, float], Intervals, float, float]


def best_levels(svm: SVMDual, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], growth: float) -> Levels:
    """Return μ, the interval of each, Σg and Σψ at a primal candidate, in the coordinates of `space.centred`.

    μ minimises the primal for this w, (LEVEL.1); with free rows it is the average (LEVEL.5), unless that increases the
    gap.
    """
    u = point.u if not growth else (1.0 + growth) * point.u
    if svm.classes is not None:
        multipliers = svm.classes.name_multipliers(find_class_intercepts(svm.classes, a, u, point.half_norm, slopes))
        return multipliers, {}, *gap_sums(svm, a, u, 0.0, svm.margin(multipliers))

    def evaluate(thetas: list[float]) -> tuple[dict[str, float], float, float]:
        multipliers = svm.multipliers(thetas)
        return multipliers, *gap_sums(svm, a, u, svm.b(multipliers), svm.margin(multipliers))

    if not svm.parts:
        return {}, {}, *evaluate([])[1:]
    reaches = [levels.reaches(svm, part, u) for part in svm.parts]
    intervals = [levels.interval(svm, part, points) for part, points in zip(svm.parts, reaches, strict=True)]
    if None in intervals:
        return {group.multiplier: 0.0 for group in svm.groups}, {}, np.inf, np.inf
    finite_intervals = cast("list[tuple[float, float]]", intervals)
    averages = [levels.average(svm, part, points, a) for part, points in zip(svm.parts, reaches, strict=True)]

    def compute_cost(candidate: tuple[dict[str, float], float, float]) -> float:
        """The part of the gap that depends on μ."""
        cost = candidate[1]
        for group in svm.penalised_groups:
            cost += 0.5 * group.ridge * np.square(candidate[0][group.multiplier] - slopes[group.multiplier])
        return cost

    best: tuple[dict[str, float], float, float] | None = None
    inner = cast("list[float]", averages)
    if None not in averages and svm.hard_rows is None:
        size = 2.0 * point.half_norm if svm.is_homogeneous else abs(float(svm.level @ a))
        averaged = evaluate(inner)
        if prefer_average(0.0, compute_cost(averaged), size):  # good enough compared with 0, a lower bound for any μ
            best = averaged
        else:
            quantile = evaluate([middle(*ends) for ends in finite_intervals])
            best = averaged if prefer_average(compute_cost(quantile), compute_cost(averaged), size) else quantile
    if best is None:
        best = evaluate([middle(*ends) for ends in finite_intervals])
    if svm.penalised_groups and not bool(
        a.any()
    ):  # for α = 0 the multiplier is 0, which (LEVEL.2) finds up to rounding
        zero_levels = evaluate([0.0] * len(finite_intervals))
        best = zero_levels if compute_cost(zero_levels) < compute_cost(best) else best
    return best[0], _intervals(svm, finite_intervals, best[0]), best[1], best[2]


def lowest_levels(svm: SVMDual, a: FloatArray, u: FloatArray) -> Levels:
    """As `best_levels`, for u (n,), by the primal alone: an infeasible α has no gap."""
    thetas: list[float] = []
    ends: list[tuple[float, float]] = []
    for part in svm.parts:
        points = levels.reaches(svm, part, u)
        interval, average = levels.interval(svm, part, points), levels.average(svm, part, points, a)
        if interval is None:
            return {group.multiplier: 0.0 for group in svm.groups}, {}, np.inf, np.inf
        low, high = interval
        inner = average if average is not None and low <= average <= high else middle(low, high)
        thetas.append(inner)
        ends.append(interval)
    multipliers = svm.multipliers(thetas)
    sums = gap_sums(svm, a, u, svm.b(multipliers), svm.margin(multipliers))
    return multipliers, _intervals(svm, ends, multipliers), *sums


def _intervals(svm: SVMDual, part_intervals: list[tuple[float, float]], multipliers: Mapping[str, float]) -> Intervals:
    """Return the interval of equally good values of each multiplier, from the intervals of the parts."""
    if len(part_intervals) == 1:
        (low, high), name = part_intervals[0], svm.groups[0].multiplier
        return {name: (float(min(low, multipliers[name])), float(max(high, multipliers[name])))}
    intervals = {}
    for group, inverse in zip(svm.groups, svm.inverse_mixing, strict=True):
        ends = [
            sorted(factor * end for end in interval)
            for factor, interval in zip(inverse, part_intervals, strict=True)
            if factor
        ]
        low, high = sum(end[0] for end in ends), sum(end[1] for end in ends)
        value = multipliers[group.multiplier]
        intervals[group.multiplier] = float(min(low, value)), float(max(high, value))
    return intervals


def certificate_of(
    space: FeatureSpace, svm: SVMDual, a: FloatArray, beta: FloatArray, best: PrimalCandidate, dual_cost: float
) -> Certificate:
    """Build the certificate of the best candidate, in the caller's coordinates."""
    point, factor = best.point, 1.0 + best.growth
    b = svm.b(best.levels)
    coef = beta if point.coef is None else point.coef
    changed: dict[str, Any]
    if svm.classes is None:
        plane = space.build_hyperplane(coef, point.w, b, factor)
        margin_multipliers = {group.multiplier: best.levels[group.multiplier] for group in svm.margin_groups}
        changed = {"multipliers": margin_multipliers, "margin": svm.margin(best.levels)}
    else:
        plane, changed = build_plane(space, svm, coef, point.w, b, best.levels, factor)
    yf = svm.at_rows(point.u) * factor if best.growth or not svm.has_one_row_per_sample else point.u
    yf += plane.level
    yf *= svm.sign
    shift = plane.b - b
    intervals = dict(best.intervals)
    low, high = (b, b) if svm.intercept is None else intervals.pop(svm.intercept.multiplier, (-np.inf, np.inf))
    # D = ℓᵀα − ½‖w(α)‖² − … may be a small difference of large numbers; with ℓ = 0 nothing cancels
    dual = -dual_cost if svm.is_homogeneous else best.primal - best.difference
    primal = best.primal
    if not math.isfinite(primal):
        dual = float(svm.level @ a) - dual_cost
    return build_frozen(
        Certificate, svm=svm, alpha=a, yf=yf, b=plane.b, **changed,
        b_interval=(min(low + shift, plane.b), max(high + shift, plane.b)), intervals=intervals,
        w=plane.w, coef=plane.coef, primal=svm.unit * primal, dual=svm.unit * dual, gap=best.gap, level=plane.level,
        level_radius=plane.level_radius, factor=factor, half_norm=factor * factor * point.half_norm,
        offset=math.sqrt(2.0 * point.half_distance(best.growth)),
        explicit=point.coef, weight_radius=point.apart_radius,
    )  # fmt: skip
