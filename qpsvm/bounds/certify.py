"""Turn any α, and any w, into a feasible primal-dual pair with its gap (`certify`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from qpsvm.base.arrays.checks import LARGEST_VALUE
from qpsvm.base.arrays.frozen import build_frozen
from qpsvm.base.arrays.rounding import compute_relative_gap
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.bounds.all_in_one_repair import class_intercepts
from qpsvm.bounds.certificate import Certificate, PrimalPoint, gap_sums, middle, prefer_average
from qpsvm.bounds.class_space import build_plane
from qpsvm.bounds.hard_margin import direction, hard_intercept, hard_reach
from qpsvm.bounds.repair import feasible
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import FeatureSpace

#: All values that are as good, of each multiplier by its name.
Intervals = Mapping[str, tuple[float, float]]
#: A point whose largest slack is below this is stretched until it has none: where U is large, slacks of the size of
#: rounding cost more than the norm does. ROOM is what rounding needs beyond.
ALL_BUT_SEPARATED, ROOM = 1e-10, 4e-16


def certify(
    space: FeatureSpace, svm: SVMDual, alpha: FloatArray, w: FloatArray | None = None, enough: float = 0.0,
    restored: Callable[..., list[PrimalCandidate]] | None = None,
) -> Certificate:  # fmt: skip
    """Certify α (m,) for a machine; beside linear constraints with primal points that are `restored` to keep them."""
    a, scales = feasible(svm, alpha), svm.is_hard and svm.is_scalable and restored is None
    if scales:
        a, w = direction(svm, a), w if space.is_linear else None
    beta = svm.beta(a)
    slopes = penalised_multipliers(svm, a)
    moved = None
    if w is None and space.is_linear and not scales and np.isfinite(a).all():
        moved = svm.beta(np.clip(alpha, 0.0, svm.upper) - a), float(svm.level @ a)
    own, points = levels.primal_points(space, beta, w, enough == math.inf, moved)
    if scales:
        norm2, total = 2.0 * own, float(svm.level @ a)
        stretch = total / norm2 if norm2 * LARGEST_VALUE > total else 1.0  # t of (SCALE.2)
        points = map(partial(PrimalPoint.times, factor=stretch), points)
        a, beta, own = a * stretch, beta * stretch, own * stretch * stretch
    curvature = 0.5 * float(svm.curvature @ (a * a)) if svm.has_curvature else 0.0
    best: PrimalCandidate | None = None
    for point in points:
        for measured in (restored or _measure)(svm, a, point, slopes, own + curvature):
            if best is None or measured.gap < best.gap:
                best = measured
            if best.gap <= enough:
                break
        if best is not None and best.gap <= enough:
            break
    assert best is not None  # w(α) is always a candidate
    if restored is not None and best.primal == 0.0 and a.any() and not any(group.total for group in svm.groups):
        return certify(space, svm, np.zeros(svm.m), best.point.w, enough, restored)  # the best there is: α = 0 says so
    penalties = sum(0.5 * group.ridge * np.square(slopes[group.multiplier]) for group in svm.penalised_groups)
    return certificate_of(space, svm, a, beta, best, own + curvature + penalties)


def evaluate(space: FeatureSpace, svm: SVMDual, alpha: FloatArray) -> Certificate:
    """α as it stands, feasible or not, with w = w(α), the best multipliers for that w, and both objectives there.

    It certifies nothing, so its gap is infinite: what the dual's objective is at an α that is not feasible bounds
    nothing. For the same reason P leaves out the price of hard rows that fall short.

    Shapes: alpha (m,).
    """
    beta = svm.beta(alpha)
    own, points = levels.primal_points(space, beta, None)
    point = next(points)
    slopes = penalised_multipliers(svm, alpha)
    found: Levels = {}, {}, 0.0, 0.0
    if svm.is_hard and svm.intercept is not None:
        b = hard_intercept(svm, point.u)
        found = {group.multiplier: b for group in svm.groups}, {}, 0.0, 0.0
    elif not svm.is_hard:
        found = lowest_levels(svm, alpha, point.u)
    cost = own + 0.5 * float(svm.curvature @ (alpha * alpha))
    cost += sum(0.5 * group.ridge * np.square(slopes[group.multiplier]) for group in svm.penalised_groups)
    at = certificate_of(space, svm, alpha, beta, _build_candidate(svm, point, 0.0, *found, slopes, cost), cost)
    return replace(at, dual=svm.unit * (float(svm.level @ alpha) - cost), gap=math.inf)


@dataclass(frozen=True, eq=False)
class PrimalCandidate:
    """A primal candidate, stretched by 1 + growth, with the best multipliers, and what it is worth.

    `levels` are the multipliers by name, `intervals` what each may be; `primal` and `difference` are P and P − D.
    """

    point: PrimalPoint
    growth: float
    levels: Mapping[str, float]
    intervals: Intervals
    primal: float
    difference: float
    gap: float


def penalised_multipliers(svm: SVMDual, a: FloatArray) -> dict[str, float]:
    """(E_gᵀα − e_g)/R_g of each penalised group, (CERT.2), by the name of its multiplier: b = yᵀα of an intercept."""
    slopes = {}
    for group in svm.penalised_groups:
        surplus = float(group.column @ a) - group.total
        slopes[group.multiplier] = surplus / group.ridge  # (CERT.2), (PHINGE.5), (PHINGE.12)
    return slopes


def _measure(
    svm: SVMDual, a: FloatArray, point: PrimalPoint, slopes: Mapping[str, float], dual_cost: float
) -> list[PrimalCandidate]:
    """The point; and where it all but separates the classes, stretched until it does."""
    growth = 0.0
    if svm.is_stretchable:
        reached = hard_reach(svm, point.u)
        if not reached > 0.0:
            b = hard_intercept(svm, point.u) if svm.is_hard else 0.0
            return [
                PrimalCandidate(point, 0.0, {group.multiplier: b for group in svm.groups}, {}, np.inf, np.inf, np.inf)
            ]
        if svm.is_hard and svm.is_scalable:  # (SCALE.1), (HARD.14): the level is reached by the choice of c
            u, b = point.u / reached, hard_intercept(svm, point.u) / reached
            sums = gap_sums(svm, a, u, b, svm.level)
            own = {group.multiplier: b for group in svm.groups}
            ends = dict.fromkeys(own, (b, b))
            return [_build_candidate(svm, point, 1.0 / reached - 1.0, own, ends, *sums, slopes, dual_cost)]
        growth = max((1.0 + ROOM) / reached - 1.0, 0.0) if reached < 1.0 else 0.0
    found = best_levels(svm, a, point, slopes, growth)
    if growth or not found[3] > 0.0 or not svm.is_scalable or svm.has_curvature or not svm.is_bounded:
        return [_build_candidate(svm, point, growth, *found, slopes, dual_cost)]
    first = _build_candidate(svm, point, 0.0, *found, slopes, dual_cost)
    if not found[3] < ALL_BUT_SEPARATED * float(np.add.reduce(svm.upper)) * float(svm.common_level or 1.0):
        return [first]  # the loss is at most the deepest slack times ΣU
    multipliers, intervals = found[0], found[1]
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
    """Evaluate (GAP.1) at a candidate; if all levels are 0, D is −½‖w(α)‖² − ½Σδα², not derived from P."""
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
    """Return the largest violation t as a share of the level, negative if all rows are beyond it."""
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
    """μ, the interval of each, Σg and Σψ at a primal candidate, in the coordinates of `space.centred`.

    μ minimises the primal for this w, (LEVEL.1); where rows lie on their margin, their average, (LEVEL.5), unless that
    makes the gap grow.
    """
    u = point.u if not growth else (1.0 + growth) * point.u
    if svm.classes is not None:
        multipliers = svm.classes.name_multipliers(class_intercepts(svm.classes, a, u, point.half_norm, slopes))
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
    known = cast("list[tuple[float, float]]", intervals)
    averages = [levels.average(svm, part, points, a) for part, points in zip(svm.parts, reaches, strict=True)]

    def compute_cost(found: tuple[dict[str, float], float, float]) -> float:
        """The part of the gap that depends on μ."""
        cost = found[1]
        for group in svm.penalised_groups:
            cost += 0.5 * group.ridge * np.square(found[0][group.multiplier] - slopes[group.multiplier])
        return cost

    best: tuple[dict[str, float], float, float] | None = None
    inner = cast("list[float]", averages)
    if None not in averages and svm.hard_rows is None:
        size = 2.0 * point.half_norm if svm.is_homogeneous else abs(float(svm.level @ a))
        averaged = evaluate(inner)
        if prefer_average(
            0.0, compute_cost(averaged), size
        ):  # no μ has a gap below zero: there is nothing to compare with
            best = averaged
        else:
            quantile = evaluate([middle(*ends) for ends in known])
            best = averaged if prefer_average(compute_cost(quantile), compute_cost(averaged), size) else quantile
    if best is None:
        best = evaluate([middle(*ends) for ends in known])
    if svm.penalised_groups and not bool(
        a.any()
    ):  # of α = 0 the multiplier is 0, which (LEVEL.2) finds but for rounding
        least = evaluate([0.0] * len(known))
        best = least if compute_cost(least) < compute_cost(best) else best
    return best[0], _intervals(svm, known, best[0]), best[1], best[2]


def lowest_levels(svm: SVMDual, a: FloatArray, u: FloatArray) -> Levels:
    """Return what `best_levels` does for u (n,), by the primal alone: an infeasible α has no gap."""
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


def _intervals(svm: SVMDual, known: list[tuple[float, float]], multipliers: Mapping[str, float]) -> Intervals:
    """Return the interval of equally good values of each multiplier, from the intervals of the parts."""
    if len(known) == 1:
        (low, high), name = known[0], svm.groups[0].multiplier
        return {name: (float(min(low, multipliers[name])), float(max(high, multipliers[name])))}
    found = {}
    for group, inverse in zip(svm.groups, svm.inverse_mixing, strict=True):
        ends = [sorted(factor * end for end in part) for factor, part in zip(inverse, known, strict=True) if factor]
        low, high = sum(end[0] for end in ends), sum(end[1] for end in ends)
        value = multipliers[group.multiplier]
        found[group.multiplier] = float(min(low, value)), float(max(high, value))
    return found


def certificate_of(
    space: FeatureSpace, svm: SVMDual, a: FloatArray, beta: FloatArray, best: PrimalCandidate, dual_cost: float
) -> Certificate:
    """The certificate of what was measured, in the caller's own coordinates."""
    point, factor = best.point, 1.0 + best.growth
    b = svm.b(best.levels)
    coef = beta if point.coef is None else point.coef
    moved: dict[str, Any]
    if svm.classes is None:
        plane = space.build_hyperplane(coef, point.w, b, factor)
        own = {group.multiplier: best.levels[group.multiplier] for group in svm.margin_groups}
        moved = {"multipliers": own, "margin": svm.margin(best.levels)}
    else:
        plane, moved = build_plane(space, svm, coef, point.w, b, best.levels, factor)
    yf = svm.at_rows(point.u) * factor if best.growth or not svm.has_one_row_per_sample else point.u
    yf += plane.level
    yf *= svm.sign
    shift = plane.b - b
    every = dict(best.intervals)
    low, high = (b, b) if svm.intercept is None else every.pop(svm.intercept.multiplier, (-np.inf, np.inf))
    # D = ℓᵀα − ½‖w(α)‖² − … may be a small difference of large numbers; where ℓ = 0 there is nothing to cancel
    dual = -dual_cost if svm.is_homogeneous else best.primal - best.difference
    primal = best.primal
    if not math.isfinite(primal):
        dual = float(svm.level @ a) - dual_cost
    return build_frozen(
        Certificate, svm=svm, alpha=a, yf=yf, b=plane.b, **moved,
        b_interval=(min(low + shift, plane.b), max(high + shift, plane.b)), intervals=every,
        w=plane.w, coef=plane.coef, primal=svm.unit * primal, dual=svm.unit * dual, gap=best.gap, level=plane.level,
        level_radius=plane.level_radius, factor=factor, half_norm=factor * factor * point.half_norm,
        offset=math.sqrt(2.0 * point.half_distance(best.growth)),
        explicit=point.coef, weight_radius=point.apart_radius,
    )  # fmt: skip
