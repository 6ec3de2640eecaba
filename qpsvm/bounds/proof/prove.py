"""Prove bounds on the duality gap of a result (`prove`).

A solver's α satisfies the equalities only up to rounding, so that D(α) bounds nothing. An exactly feasible α̂, here the
dual point, is found next to it. Then P − D is bounded at increasing cost, until it confirms the gap of the result:

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
from qpsvm.base.arrays.rationals import MAX_FLOAT, enclose_fraction, round_up, sum_rounded_down, sum_rounded_up
from qpsvm.base.arrays.rounding import FEW_ROUNDINGS
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof import gap_corrections, rational, terms
from qpsvm.bounds.proof.claims import ProofRequest, build_empty_proof, build_proof, prove_weak_duality
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import LARGEST_ALPHA, FeasibleAlpha
from qpsvm.bounds.proof.gap_bounds import GapBounds, Interval
from qpsvm.bounds.proof.proof import Claim, Proof
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.bounds.proof.zero import relate_to_zero_size

#: Rational numbers are tried first if they take at most this many multiplications, some 50 ms.
MAX_PRODUCTS_AT_FIRST = 50_000.0
#: They are not tried at all if they take more than this many, some 2 s.
MAX_PRODUCTS = 2_000_000.0
#: Overhead of a row, in multiplications.
PRODUCTS_PER_ROW = 200.0
#: Rows that are not evaluated again contribute at most this share of the sum of the terms.
NEGLIGIBLE_SHARE = 0.01
#: Up to this proven gap no better b is looked for; also the target if a result states no gap.
NEGLIGIBLE_GAP = 1e-12


def prove(request: ProofRequest) -> Proof:
    """Prove bounds of P, D and the gap of the floats in a result; failures give a `Proof` with open claims."""
    program, primal_point = request.program, request.primal_point
    reason = _find_invalid_numbers(request)
    if reason:
        return build_empty_proof(request, reason)
    dual_point = request.repair(program, request.alpha, request.costs)
    if dual_point is None:
        reason = "no α near the given one keeps every equality: the rows have no room for what is missing"
        if request.alpha.max(initial=0.0) >= LARGEST_ALPHA:
            reason = f"α has entries beyond {LARGEST_ALPHA:.1e}, whose sums and products overflow"
        return build_empty_proof(request, reason)
    bounds, values = _bound_gap(request, dual_point)  # values: ⟨w, φ⟩ at all points
    bounds = relate_to_zero_size(program, request.space, primal_point, dual_point, bounds)
    remaining_gap = bounds.gap  # the gap with the best b, or with relaxed levels
    best_b = None
    violation = None
    extra_claims: list[Claim] = []
    better = _find_better_intercepts(request, dual_point, values, bounds)
    if better is not None:
        better_point, remaining_gap = better
        best_b = better_point.multipliers.get("b")
        text = _describe_intercepts(program, better_point, remaining_gap)
        extra_claims.append(Claim("intercept", "proven", text, remaining_gap))
    _, max_primal = bounds.primal
    if max_primal == math.inf:
        relaxed = gap_corrections.relax_levels(program, primal_point, values)
    else:
        relaxed = None
    if relaxed is not None:  # then P − D is infinite, too, and `better` is None
        relaxed_program, violation, text = relaxed
        remaining_gap = _bound_changed_gap(relaxed_program, primal_point, dual_point, values)
        if math.isfinite(remaining_gap):
            text += f" {format_upper_bound(remaining_gap)}"
            extra_claims.append(Claim("rows", "proven", text, remaining_gap))
    weak_duality = prove_weak_duality(program, request.space, primal_point, values)
    if weak_duality.excess > 0.0:  # D of other α may exceed P by this much: both gaps increase by the same amount
        old_gap = bounds.gap
        bounds = bounds.add_excess(weak_duality.excess)
        is_finite = math.isfinite(bounds.gap) and math.isfinite(remaining_gap)
        if is_finite:
            exact_gap = Fraction(remaining_gap) + Fraction(bounds.gap) - Fraction(old_gap)
        else:
            exact_gap = None
        remaining_gap = math.inf if exact_gap is None else round_up(exact_gap)
    proof = build_proof(
        request, dual_point, bounds, remains=remaining_gap, extra_claims=extra_claims, weak_duality=weak_duality
    )
    return replace(proof, record={**proof.record, "b": best_b, "lowered": violation})


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


def _bound_gap(request: ProofRequest, dual_point: FeasibleAlpha) -> tuple[GapBounds, ExactValues | SpaceMeasurement]:
    """Return bounds by (PROVE.2) or (PROVE.3), and the values from which they are computed."""
    program, primal_point = request.program, request.primal_point
    exact = _evaluate_exactly(request, dual_point, MAX_PRODUCTS_AT_FIRST)
    if exact is not None:
        return rational.bound_gap_in_rationals(program, primal_point, dual_point, exact), exact
    target_gap = _compute_target_gap(request)
    bounds, measured = bound_gap_in_floats(program, request.space, primal_point, dual_point, target_gap)
    if bounds.gap <= target_gap:
        exact = None
    else:
        exact = _evaluate_exactly(request, dual_point, MAX_PRODUCTS)
    if exact is None:
        return bounds, measured
    exact_bounds = rational.bound_gap_in_rationals(program, primal_point, dual_point, exact)
    return (exact_bounds if exact_bounds.gap <= bounds.gap else bounds), exact


def _compute_target_gap(request: ProofRequest) -> float:
    """Return the gap that the result states, which the proof is to confirm."""
    if math.isfinite(request.measured_gap):
        return request.measured_gap
    return NEGLIGIBLE_GAP


def _evaluate_exactly(request: ProofRequest, dual_point: FeasibleAlpha, max_products: float) -> ExactValues | None:
    """Return the values as rational numbers; None if they take more than `max_products` multiplications."""
    remaining_products = max_products - PRODUCTS_PER_ROW * request.program.m
    if remaining_products <= 0.0:
        return None
    return request.space.evaluate_exactly(request.primal_point, dual_point.compute_exact_beta(), remaining_products)


def bound_gap_in_floats(
    program: ExactDual, space: Space, primal_point: Primal, dual_point: FeasibleAlpha, target_gap: float
) -> tuple[GapBounds, SpaceMeasurement]:
    """Return bounds in floats and the values used, refined until the gap is at most `target_gap`, (PROVE.3)."""
    beta, beta_radius = dual_point.compute_beta()
    measured = space.measure(primal_point, beta, beta_radius)
    bounds, upper = _bound_gap_by_terms(program, primal_point, dual_point, measured)
    if bounds.gap <= target_gap:
        return bounds, measured
    refined = _refine_largest_terms(program, space, primal_point, measured, upper)
    if refined is not None:
        refined_bounds, _ = _bound_gap_by_terms(program, primal_point, dual_point, refined)
        if refined_bounds.gap <= bounds.gap:
            bounds, measured = refined_bounds, refined
    if bounds.gap <= target_gap or measured.distance == 0.0:
        return bounds, measured
    distance = space.refine_distance(primal_point, beta, beta_radius)
    if distance is None or not distance < measured.distance:  # also if the distance is NaN
        return bounds, measured
    measured = replace(measured, distance=distance)
    bounds, _ = _bound_gap_by_terms(program, primal_point, dual_point, measured)
    return bounds, measured


def _bound_gap_by_terms(
    program: ExactDual, primal_point: Primal, dual_point: FeasibleAlpha, measured: SpaceMeasurement
) -> tuple[GapBounds, FloatArray]:
    """Return bounds of P, D and P − D by (BOUND.4), and upper bounds of the terms, (m,)."""
    rows = terms.RowBounds(dual_point.ends, program.upper_enclosure, program.curvature.bounds)

    def find_violations(block: slice) -> terms.Ends:
        return terms.bound_violations(program, primal_point, measured.values, block).ends

    upper, (g_low, g_high), (loss_low, loss_high) = terms.sum_terms(rows, find_violations, program.block_size)
    group_terms = terms.compute_group_terms(program, primal_point, dual_point)  # in P, −D and P − D
    (cost_low, cost_high), (penalty_low, penalty_high), (ridge_low, ridge_high) = map(enclose_fraction, group_terms)
    linear_low, linear_high = terms.bound_linear_term(program, dual_point)
    curved_low, curved_high = terms.bound_curvature_term(program, dual_point)
    square_low, square_high = _bound_dual_half_square(measured)
    dual_low = sum_rounded_down(linear_low, -square_high, -curved_high, -penalty_high)
    dual_high = sum_rounded_up(linear_high, -square_low, -curved_low, -penalty_low)
    half_square_low, half_square_high = measured.half_square
    primal_low = sum_rounded_down(half_square_low, loss_low, cost_low)
    primal_high = sum_rounded_up(half_square_high, loss_high, cost_high)
    distance = measured.distance
    if distance != 0.0:
        half_square_distance = 0.5 * distance * distance * FEW_ROUNDINGS + UNDERFLOW
    else:
        half_square_distance = 0.0
    low = sum_rounded_down(terms.INWARD * g_low, ridge_low, measured.min_half_square_distance)
    high = half_square_distance + g_high + ridge_high
    bounds = _intersect_bounds((primal_low, primal_high), (dual_low, dual_high), difference=(low, high))
    min_norm = math.nextafter(math.sqrt(2.0 * max(half_square_low, 0.0)), 0.0)
    return replace(bounds, distance=distance, min_norm=min_norm), upper


def _bound_dual_half_square(measured: SpaceMeasurement) -> Interval:
    """Return a lower and an upper bound of ½‖w(α)‖², if necessary from ½‖w‖² and the distance of w(α) from w."""
    if measured.dual_half_square is not None:
        return measured.dual_half_square
    half_square_low, half_square_high = measured.half_square
    low = max(terms.INWARD * math.sqrt(2.0 * max(half_square_low, 0.0)) - measured.distance, 0.0)
    high = math.sqrt(2.0 * half_square_high) + measured.distance  # high * high may be ∞, where high**2 would raise
    return 0.5 * low * low * terms.INWARD, 0.5 * high * high * FEW_ROUNDINGS + UNDERFLOW


def _intersect_bounds(primal: Interval, dual: Interval, difference: Interval) -> GapBounds:
    """Combine bounds of P, D and P − D: each bounds the others, and P − D, a sum of terms (GAP.1), is sharpest."""
    primal_low, primal_high = primal
    dual_low, dual_high = dual
    low, high = difference
    low = min(low, MAX_FLOAT)
    high = math.inf if math.isnan(high) else high
    high = 0.0 if high == 0.0 else math.nextafter(high * FEW_ROUNDINGS, math.inf)
    primal_low = max(primal_low, sum_rounded_down(dual_low, low))
    primal_high = min(primal_high, sum_rounded_up(dual_high, high))
    dual_low = max(dual_low, sum_rounded_down(primal_low, -high))
    dual_high = min(dual_high, sum_rounded_up(primal_high, -low))
    return GapBounds(primal=(primal_low, primal_high), dual=(dual_low, dual_high), difference=(low, high))


def _refine_largest_terms(
    program: ExactDual, space: Space, primal_point: Primal, measured: SpaceMeasurement, upper: FloatArray
) -> SpaceMeasurement | None:
    """Return the measurement with the values of the rows with the largest terms in double-double; None if too slow."""
    rows = _select_largest_terms(upper)
    if program.mix is not None:
        point_indices = np.unique(program.mix[np.sort(rows)].indices)
    else:
        point_indices = np.unique(rows if program.rows is None else program.rows[rows])
    point_indices = point_indices.astype(np.intp)
    refined = space.refine_values(primal_point, point_indices)
    if refined is None:
        return None
    return replace(measured, values=_replace_values(measured.values, point_indices, refined))


def _select_largest_terms(upper: FloatArray) -> IntArray:
    """Return the rows with the largest terms: the others have at most the share `NEGLIGIBLE_SHARE` of the sum."""
    unbounded = ~np.isfinite(upper)  # hard rows that may be violated
    order: IntArray = np.argsort(-np.where(unbounded, np.inf, upper), kind="stable")
    remaining = np.cumsum(np.where(unbounded, 0.0, upper)[order][::-1])[::-1]
    if not (len(remaining) and remaining[0] > 0.0):
        return order
    selected: IntArray = order[(remaining > NEGLIGIBLE_SHARE * remaining[0]) | unbounded[order]]
    return selected


def _replace_values(values: PointValues, point_indices: IntArray, refined: PointValues) -> PointValues:
    """Return the values at all points, with refined values at some."""
    high, low, radius = values.high.copy(), values.low.copy(), values.radius.copy()
    high[point_indices] = refined.high
    low[point_indices] = refined.low
    radius[point_indices] = refined.radius
    return PointValues(high, low, radius)


def _find_better_intercepts(
    request: ProofRequest, dual_point: FeasibleAlpha, values: ExactValues | SpaceMeasurement, bounds: GapBounds
) -> tuple[Primal, float] | None:
    """Return the primal point with the best b, and its gap; None unless that is less than half the gap of `bounds`."""
    program = request.program
    primal_point = request.primal_point
    _, max_difference = bounds.difference
    if bounds.gap <= NEGLIGIBLE_GAP:
        return None
    if not gap_corrections.estimate_rounding_cost(program, primal_point) > NEGLIGIBLE_SHARE * max_difference:
        return None  # the rounding of b adds little to P − D, or P − D is infinite
    better = gap_corrections.improve_intercepts(program, primal_point, values)
    if better is None:
        return None
    better_gap = _bound_changed_gap(program, better, dual_point, values)
    return (better, better_gap) if better_gap < 0.5 * bounds.gap else None


def _describe_intercepts(program: ExactDual, better: Primal, gap: float) -> str:
    """State the gap with the best b, in a sentence."""
    intercepts = [
        float(better.multipliers[group.multiplier]) for group in gap_corrections.find_free_intercepts(program)
    ]
    if len(intercepts) == 1:
        subject = "with the best b for this w, the rational number"
    else:
        subject = "with other b, rational numbers"
    return (
        f"{subject} next to {', '.join(map(repr, intercepts))}, the gap is at most {format_upper_bound(gap)}: "
        "the rest is what the rounding of b to a float costs"
    )


def _bound_changed_gap(
    program: ExactDual, primal_point: Primal, dual_point: FeasibleAlpha, values: ExactValues | SpaceMeasurement
) -> float:
    """Return the gap for other multipliers, or for a program with other levels."""
    if isinstance(values, ExactValues):
        return rational.bound_gap_in_rationals(program, primal_point, dual_point, values).gap
    bounds, _ = _bound_gap_by_terms(program, primal_point, dual_point, values)
    return bounds.gap
