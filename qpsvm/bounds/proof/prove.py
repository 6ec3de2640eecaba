"""Prove bounds on the duality gap of a result (`prove`).

A solver's α satisfies the equalities only up to rounding, so that D(α) bounds nothing. An exactly feasible α̂ is found
next to it. Then P − D is bounded at increasing cost, until the proof confirms the gap that the result states:

    (PROVE.1)  `make_feasible` changes α in its last digits to an exactly feasible α̂; w and every μ stay as they are
    (PROVE.2)  with few samples, P and D are computed in rational numbers, (RATIO.1)
    (PROVE.3)  with many, the terms of (GAP.1) are bounded in floats, (BOUND.1) to (BOUND.4); if that is too loose, the
               rows with the largest terms are evaluated in double-double, then everything in rational numbers, if that
               is affordable
    (PROVE.4)  the relative gap is at most (CERT.3) for an upper bound of P − D and a lower bound of max(|P|, |D|)

Source of (CERT.3) and (GAP.1): `bounds.certificate`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import MAX_FLOAT, enclose_fraction, round_up, sum_rounded_down
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof import rational, terms
from qpsvm.bounds.proof.claims import ProofRequest, build_empty_proof, build_proof, prove_weak_duality
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import LARGEST_ALPHA, FeasibleAlpha
from qpsvm.bounds.proof.gap_corrections import (
    estimate_rounding_cost,
    find_free_intercepts,
    improve_intercepts,
    relax_levels,
)
from qpsvm.bounds.proof.proof import Claim, Proof
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.bounds.proof.terms import GapBounds, Interval
from qpsvm.bounds.proof.zero import add_zero_size

#: Rational numbers are tried first if they take at most this many multiplications, some 50 ms.
MAX_PRODUCTS_AT_FIRST = 50_000.0
#: They are not tried at all if they take more than this many, some 2 s.
MAX_PRODUCTS = 2_000_000.0
#: Overhead of a row, in multiplications.
PRODUCTS_PER_ROW = 200.0
#: Rows that are not evaluated again contribute at most this share of the sum of the terms.
NEGLIGIBLE_SHARE = 0.01
#: Up to this proven gap, the cost of rounding b is not examined; also the target if a result states no gap.
NEGLIGIBLE_GAP = 1e-12


def prove(request: ProofRequest) -> Proof:
    """Prove bounds of P, D and the gap of the floats in a result; failures give a `Proof` with open claims."""
    program, primal_point = request.program, request.primal_point
    reason = _find_invalid_numbers(request)
    if reason:
        return build_empty_proof(request, reason)
    point = request.repair(program, request.alpha, request.costs)
    if point is None:
        reason = "no α near the given one keeps every equality: the rows have no room for what is missing"
        if request.alpha.max(initial=0.0) >= LARGEST_ALPHA:
            reason = f"α has entries beyond {LARGEST_ALPHA:.1e}, whose sums and products overflow"
        return build_empty_proof(request, reason)
    bounds, values = _bound_gap(request, point)
    bounds = add_zero_size(program, request.space, primal_point, point, bounds)
    remains, best_b = bounds.gap, None
    extra_claims: list[Claim] = []
    is_rounding_relevant = (
        bounds.gap > NEGLIGIBLE_GAP
        and estimate_rounding_cost(program, primal_point) > NEGLIGIBLE_SHARE * bounds.difference[1]
    )
    better = _find_better_intercepts(request, point, values, bounds.gap) if is_rounding_relevant else None
    if better is not None:
        better_point, remains = better
        best_b = better_point.multipliers.get("b")
        extra_claims.append(Claim("intercept", "proven", _describe_intercepts(program, better_point, remains), remains))
    relaxed = relax_levels(program, primal_point, values) if bounds.primal[1] == math.inf else None
    if relaxed is not None:
        remains = _bound_changed_gap(relaxed[0], primal_point, point, values)
        if math.isfinite(remains):
            extra_claims.append(Claim("rows", "proven", f"{relaxed[2]} {format_upper_bound(remains)}", remains))
    kernel = prove_weak_duality(program, request.space, primal_point, values)
    if kernel.excess > 0.0:
        bounds, gap = bounds.add_excess(kernel.excess), bounds.gap
        is_finite = math.isfinite(bounds.gap) and math.isfinite(remains)
        remains = round_up(Fraction(remains) + Fraction(bounds.gap) - Fraction(gap)) if is_finite else math.inf
    proof = build_proof(request, point, bounds, remains, extra_claims, kernel)
    record = {**proof.record, "b": best_b, "lowered": None if relaxed is None else relaxed[1]}
    return replace(proof, record=record)


def _find_invalid_numbers(request: ProofRequest) -> str:
    """Explain which numbers of the result are not finite; empty if all are."""
    program, primal_point = request.program, request.primal_point
    vectors = (request.alpha, primal_point.w, primal_point.coef)
    if not all(vector is None or np.isfinite(vector).all() for vector in vectors):
        return "α or w has entries that are not numbers"
    multipliers = [primal_point.multipliers.get(group.multiplier) for group in program.groups]
    if any(mu is None or abs(mu) > MAX_FLOAT for mu in multipliers):
        return "b, ρ or another multiplier is not a number, or beyond all floats"
    return ""


def _bound_gap(request: ProofRequest, point: FeasibleAlpha) -> tuple[GapBounds, ExactValues | SpaceMeasurement]:
    """Return bounds by (PROVE.2) or (PROVE.3), and the values from which they are computed."""
    program, primal_point = request.program, request.primal_point
    exact = _evaluate_exactly(request, point, MAX_PRODUCTS_AT_FIRST)
    if exact is not None:
        return rational.bound_gap_in_rationals(program, primal_point, point, exact), exact
    target_gap = _compute_target_gap(request)
    bounds, measured = bound_gap_in_floats(program, request.space, primal_point, point, target_gap)
    exact = None if bounds.gap <= target_gap else _evaluate_exactly(request, point, MAX_PRODUCTS)
    if exact is None:
        return bounds, measured
    exact_bounds = rational.bound_gap_in_rationals(program, primal_point, point, exact)
    return (exact_bounds if exact_bounds.gap <= bounds.gap else bounds), exact


def _compute_target_gap(request: ProofRequest) -> float:
    """Return the gap that the result states, which the proof is to confirm."""
    return request.measured_gap if math.isfinite(request.measured_gap) else NEGLIGIBLE_GAP


def _evaluate_exactly(request: ProofRequest, point: FeasibleAlpha, max_products: float) -> ExactValues | None:
    """Return the values as rational numbers; None if they take more than `max_products` multiplications."""
    remaining_products = max_products - PRODUCTS_PER_ROW * request.program.m
    if not remaining_products > 0.0:
        return None
    return request.space.evaluate_exactly(request.primal_point, point.compute_exact_beta(), remaining_products)


def bound_gap_in_floats(
    program: ExactDual, space: Space, primal_point: Primal, point: FeasibleAlpha, target_gap: float
) -> tuple[GapBounds, SpaceMeasurement]:
    """Return bounds in floats and the values used, refined until the gap is at most `target_gap`, (PROVE.3)."""
    measured = space.measure(primal_point, *point.compute_beta())
    bounds, upper = _bound_gap_by_terms(program, primal_point, point, measured)
    if bounds.gap <= target_gap:
        return bounds, measured
    refined = _refine_largest_terms(program, space, primal_point, measured, upper)
    if refined is not None:
        refined_bounds, _ = _bound_gap_by_terms(program, primal_point, point, refined)
        if refined_bounds.gap <= bounds.gap:
            bounds, measured = refined_bounds, refined
    if bounds.gap <= target_gap or measured.distance == 0.0:
        return bounds, measured
    distance = space.refine_distance(primal_point, *point.compute_beta())
    if distance is None or not distance < measured.distance:
        return bounds, measured
    measured = replace(measured, distance=distance)
    return _bound_gap_by_terms(program, primal_point, point, measured)[0], measured


def _bound_gap_by_terms(
    program: ExactDual, primal_point: Primal, point: FeasibleAlpha, measured: SpaceMeasurement
) -> tuple[GapBounds, FloatArray]:
    """Return bounds of P, D and P − D by (BOUND.4), and upper bounds of the terms, (m,)."""
    rows = terms.RowBounds(point.ends, program.upper_enclosure, program.curvature.bounds)

    def find_violations(block: slice) -> terms.Ends:
        return terms.bound_violations(program, primal_point, measured.values, block).ends

    upper, g, losses = terms.sum_terms(rows, find_violations, program.block_size)
    distance = measured.distance
    half_square_distance = 0.5 * distance * distance * FEW_ROUNDINGS + UNDERFLOW if distance != 0.0 else 0.0
    cost, penalty, ridge = map(enclose_fraction, terms.compute_group_terms(program, primal_point, point))
    curved, linear = terms.bound_curvature_term(program, point), terms.bound_linear_term(program, point)
    half_square = measured.dual_half_square or _bound_dual_half_square(measured)
    dual = (
        sum_rounded_down(linear[0], -half_square[1], -curved[1], -penalty[1]),
        -sum_rounded_down(-linear[1], half_square[0], curved[0], penalty[0]),
    )
    primal = (
        sum_rounded_down(measured.half_square[0], losses[0], cost[0]),
        -sum_rounded_down(-measured.half_square[1], -losses[1], -cost[1]),
    )
    low = sum_rounded_down(terms.INWARD * g[0], ridge[0], measured.min_half_square_distance)
    difference = low, half_square_distance + g[1] + ridge[1]
    min_norm = math.nextafter(math.sqrt(2.0 * max(measured.half_square[0], 0.0)), 0.0)
    return replace(_intersect_bounds(primal, dual, difference), distance=distance, min_norm=min_norm), upper


def _bound_dual_half_square(measured: SpaceMeasurement) -> Interval:
    """Return a lower and an upper bound of ½‖w(α)‖²."""
    low = max(terms.INWARD * math.sqrt(2.0 * max(measured.half_square[0], 0.0)) - measured.distance, 0.0)
    high = math.sqrt(2.0 * measured.half_square[1]) + measured.distance
    return 0.5 * low * low * terms.INWARD, 0.5 * high * high * FEW_ROUNDINGS + UNDERFLOW  # no power: that raises


def _intersect_bounds(primal: Interval, dual: Interval, difference: Interval) -> GapBounds:
    """Combine bounds of P, D and P − D: each bounds the others, and P − D, a sum of terms (GAP.1), is sharpest."""
    low, high = min(difference[0], MAX_FLOAT), math.inf if math.isnan(difference[1]) else difference[1]
    high = 0.0 if high == 0.0 else math.nextafter(high * FEW_ROUNDINGS, math.inf)
    primal = max(primal[0], sum_rounded_down(dual[0], low)), min(primal[1], -sum_rounded_down(-dual[1], -high))
    dual = max(dual[0], sum_rounded_down(primal[0], -high)), min(dual[1], -sum_rounded_down(-primal[1], low))
    return GapBounds(primal, dual, (low, high))


def _refine_largest_terms(
    program: ExactDual, space: Space, primal_point: Primal, measured: SpaceMeasurement, upper: FloatArray
) -> SpaceMeasurement | None:
    """Return the measurement with the values of the rows with the largest terms in double-double; None if too slow."""
    rows = _select_largest_terms(upper)
    if program.mix is not None:
        points = np.unique(program.mix[np.sort(rows)].indices)
    else:
        points = np.unique(rows if program.rows is None else program.rows[rows])
    points = points.astype(np.intp)
    refined = space.refine_values(primal_point, points)
    return None if refined is None else replace(measured, values=_replace_values(measured.values, points, refined))


def _select_largest_terms(upper: FloatArray) -> IntArray:
    """Return the rows with the largest terms: the others have at most the share `NEGLIGIBLE_SHARE` of the sum."""
    unbounded = ~np.isfinite(upper)  # hard rows that may be violated
    order: IntArray = np.argsort(-np.where(unbounded, np.inf, upper), kind="stable")
    remaining = np.cumsum(np.where(unbounded, 0.0, upper)[order][::-1])[::-1]
    if not (len(remaining) and remaining[0] > 0.0):
        return order
    selected: IntArray = order[(remaining > NEGLIGIBLE_SHARE * remaining[0]) | unbounded[order]]
    return selected


def _replace_values(values: PointValues, points: IntArray, refined: PointValues) -> PointValues:
    """Return values at all points, with better ones at some."""
    high, low, radius = values.high.copy(), values.low.copy(), values.radius.copy()
    high[points], low[points], radius[points] = refined.high, refined.low, refined.radius
    return PointValues(high, low, radius)


def _find_better_intercepts(
    request: ProofRequest, point: FeasibleAlpha, values: ExactValues | SpaceMeasurement, gap: float
) -> tuple[Primal, float] | None:
    """Return the primal point with the best b, and its gap; None unless that is less than half the given gap."""
    program = request.program
    better = improve_intercepts(program, request.primal_point, values)
    if better is None:
        return None
    better_gap = _bound_changed_gap(program, better, point, values)
    return (better, better_gap) if better_gap < 0.5 * gap else None


def _describe_intercepts(program: ExactDual, better: Primal, gap: float) -> str:
    """State the gap with the best b, in a sentence."""
    intercepts = [float(better.multipliers[group.multiplier]) for group in find_free_intercepts(program)]
    subject = (
        "with the best b for this w, the rational number" if len(intercepts) == 1 else "with other b, rational numbers"
    )
    return (
        f"{subject} next to {', '.join(map(repr, intercepts))}, the gap is at most {format_upper_bound(gap)}: "
        "the rest is what the rounding of b to a float costs"
    )


def _bound_changed_gap(
    program: ExactDual, primal_point: Primal, point: FeasibleAlpha, values: ExactValues | SpaceMeasurement
) -> float:
    """Return the gap for other multipliers, or for a program with other levels."""
    if isinstance(values, ExactValues):
        return rational.bound_gap_in_rationals(program, primal_point, point, values).gap
    return _bound_gap_by_terms(program, primal_point, point, values)[0].gap
