"""Prove bounds on the duality gap of a result (`prove`).

    (PROVE.1)  α̂ of `feasible`, exactly feasible: α itself but for its last digits; w and every μ as they are
    (PROVE.2)  of few samples, P and D are computed in rational numbers, (RATIO.1)
    (PROVE.3)  of many, the terms of (GAP.1) are bounded, (BOUND.1) to (BOUND.4); where that is loose, first the rows
               that matter are evaluated in double-double, and then all of it in rational numbers, if that is
               affordable
    (PROVE.4)  the relative gap is at most what (CERT.3) is for P − D from above and max(|P|, |D|) from below

Source of (CERT.3) and (GAP.1): `bounds.certificate`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import FINITE, enclose_fraction, round_up, sum_rounded_down
from qpsvm.base.arrays.rounding import FEW
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.proof import rational, terms
from qpsvm.bounds.proof.claims import ProofRequest, build_empty_proof, build_proof, weak_duality
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import LARGEST_ALPHA, Feasible
from qpsvm.bounds.proof.proof import Claim, Proof
from qpsvm.bounds.proof.remaining import better_intercepts, costs_of_rounding, free_intercepts, relax_levels
from qpsvm.bounds.proof.spaces import ExactValues, PointValues, Space, SpaceMeasurement
from qpsvm.bounds.proof.terms import GapBounds, Interval

#: Multiplications of integers up to which rational numbers are what is tried first, and at all: some 50 ms and 2 s.
AT_ONCE, AT_MOST = 50_000.0, 2_000_000.0
#: What a row costs beside the multiplications that it needs, in multiplications.
EACH_ROW = 200.0
#: Share of the sum of the terms that the rows left as they are may have, where others are evaluated again.
LEFT = 0.01
#: A proven gap is as good as the measured one up to this factor and this much.
AS_GOOD, NOTHING = 3.0, 1e-12


def prove(asked: ProofRequest) -> Proof:
    """The theorem."""
    program, held = asked.program, asked.held
    given = (asked.alpha, held.w, held.coef)
    if not all(part is None or np.isfinite(part).all() for part in given):
        return build_empty_proof(asked, "α or w has entries that are no numbers")
    multipliers = [held.multipliers.get(group.multiplier) for group in program.groups]
    if any(mu is None or abs(mu) > FINITE for mu in multipliers):
        return build_empty_proof(asked, "b, ρ or another multiplier is no number, or beyond all floats")
    point = asked.repair(program, asked.alpha)
    if point is None:
        if asked.alpha.max(initial=0.0) >= LARGEST_ALPHA:
            return build_empty_proof(
                asked, f"α has entries beyond {LARGEST_ALPHA:.1e}, whose sums and products overflow"
            )
        return build_empty_proof(
            asked, "no α near the given one keeps every equality: the rows have no room for what is missing"
        )
    found, values = _bounded(asked, point)
    remains, text, best = found.gap, "", held
    if found.gap > NOTHING and costs_of_rounding(program, held) > LEFT * found.difference[1]:
        remains, text, best = _remains(asked, point, values, found.gap)
    more = [] if not text else [Claim("intercept", "proven", text, remains)]
    wider = relax_levels(program, held, values) if found.primal[1] == math.inf else None
    if wider is not None:
        remains = _gap_of(wider[0], held, point, values)
        more += (
            [Claim("rows", "proven", f"{wider[2]} {format_upper_bound(remains)}", remains)]
            if math.isfinite(remains)
            else []
        )
    kernel = weak_duality(program, asked.space, held, values)
    if kernel.lost > 0.0:
        found, gap = found.wider(kernel.lost), found.gap
        known = math.isfinite(found.gap) and math.isfinite(remains)
        remains = round_up(Fraction(remains) + Fraction(found.gap) - Fraction(gap)) if known else math.inf
    proof = build_proof(asked, point, found, remains, more, kernel)
    best_b = best.multipliers.get("b") if text else None
    record = {**proof.record, "b": best_b, "lowered": None if wider is None else wider[1]}
    return replace(proof, record=record)


def _bounded(asked: ProofRequest, point: Feasible) -> tuple[GapBounds, ExactValues | SpaceMeasurement]:
    """(PROVE.2) or (PROVE.3), and what was measured for it."""
    program, held = asked.program, asked.held
    exact = _exactly(asked, point, AT_ONCE)
    if exact is not None:
        return rational.rational_gap(program, held, point, exact), exact
    enough = _compute_target_gap(asked)
    found, measured = in_floats(program, asked.space, held, point, enough)
    exact = None if found.gap <= enough else _exactly(asked, point, AT_MOST)
    if exact is None:
        return found, measured
    better = rational.rational_gap(program, held, point, exact)
    return (better if better.gap <= found.gap else found), exact


def _compute_target_gap(asked: ProofRequest) -> float:
    """Return a gap that is as good as the measured one."""
    return max(AS_GOOD * asked.measured, NOTHING) if math.isfinite(asked.measured) else NOTHING


def _exactly(asked: ProofRequest, point: Feasible, most: float) -> ExactValues | None:
    """Return rational numbers, if they take at most `most` multiplications."""
    left = most - EACH_ROW * asked.program.m
    return asked.space.exact(asked.held, point.exact_beta(), left) if left > 0.0 else None


def in_floats(
    program: ExactDual, space: Space, held: Primal, point: Feasible, enough: float
) -> tuple[GapBounds, SpaceMeasurement]:
    """(PROVE.3): bounds in floats, sharper until the gap is at most `enough`; and what they were made of."""
    measured = space.measure(held, *point.beta())
    found, upper = _by_terms(program, held, point, measured)
    if found.gap <= enough:
        return found, measured
    better = _sharper(program, space, held, measured, upper)
    if better is not None:
        sharper, _ = _by_terms(program, held, point, better)
        found, measured = (sharper, better) if sharper.gap <= found.gap else (found, measured)
    if found.gap <= enough or not measured.apart * measured.apart > LEFT * found.difference[1]:
        return found, measured
    apart = space.refine_distance(held, *point.beta())
    if apart is None or not apart < measured.apart:
        return found, measured
    measured = replace(measured, apart=apart)
    return _by_terms(program, held, point, measured)[0], measured


def _by_terms(
    program: ExactDual, held: Primal, point: Feasible, measured: SpaceMeasurement
) -> tuple[GapBounds, FloatArray]:
    """(BOUND.4), P and D; and the terms from above, (m,)."""
    upper, g, psi = terms.sum_terms(program, held, point, measured.values)
    apart = 0.5 * measured.apart * measured.apart * FEW + UNDERFLOW if measured.apart != 0.0 else 0.0
    cost, penalty, ridge = map(enclose_fraction, terms.group_parts(program, held, point))
    curved, gain = terms.bound_curvature_term(program, point), terms.linear_part(program, point)
    half_low, half_high = measured.own_half or _own_half_square(measured)
    dual = (
        sum_rounded_down(gain[0], -half_high, -curved[1], -penalty[1]),
        -sum_rounded_down(-gain[1], half_low, curved[0], penalty[0]),
    )
    primal = (
        sum_rounded_down(measured.half_square[0], psi[0], cost[0]),
        -sum_rounded_down(-measured.half_square[1], -psi[1], -cost[1]),
    )
    low = sum_rounded_down(terms.IN * g[0], ridge[0], measured.half_apart_low)
    difference = low, apart + g[1] + ridge[1]
    length = math.nextafter(math.sqrt(2.0 * max(measured.half_square[0], 0.0)), 0.0)
    return replace(_intersect_bounds(primal, dual, difference), apart=measured.apart, length=length), upper


def _own_half_square(measured: SpaceMeasurement) -> Interval:
    """½‖w(α)‖² from below and from above."""
    low = max(terms.IN * math.sqrt(2.0 * max(measured.half_square[0], 0.0)) - measured.apart, 0.0)
    high = math.sqrt(2.0 * measured.half_square[1]) + measured.apart
    return 0.5 * low * low * terms.IN, 0.5 * high * high * FEW + UNDERFLOW  # no power: that raises


def _intersect_bounds(primal: Interval, dual: Interval, difference: Interval) -> GapBounds:
    """Combine bounds of P, D and P − D: each bounds the others, and P − D, a sum of terms (GAP.1), is sharpest."""
    low, high = min(difference[0], FINITE), math.inf if math.isnan(difference[1]) else difference[1]
    high = 0.0 if high == 0.0 else math.nextafter(high * FEW, math.inf)
    primal = max(primal[0], sum_rounded_down(dual[0], low)), min(primal[1], -sum_rounded_down(-dual[1], -high))
    dual = max(dual[0], sum_rounded_down(primal[0], -high)), min(dual[1], -sum_rounded_down(-primal[1], low))
    return GapBounds(primal, dual, (low, high))


def _sharper(
    program: ExactDual, space: Space, held: Primal, measured: SpaceMeasurement, upper: FloatArray
) -> SpaceMeasurement | None:
    """With the values of the points that matter in double-double."""
    rows = _rows_that_matter(upper)
    if program.mix is not None:
        points = np.unique(program.mix[np.sort(rows)].indices)
    else:
        points = np.unique(rows if program.rows is None else program.rows[rows])
    points = points.astype(np.intp)
    found = space.refine_values(held, points)
    return None if found is None else replace(measured, values=replace_values(measured.values, points, found))


def _rows_that_matter(upper: FloatArray) -> IntArray:
    """The rows with the largest terms, so that the others have next to nothing of the sum."""
    beyond = ~np.isfinite(upper)  # hard rows that are not seen to be kept
    order = np.argsort(-np.where(beyond, np.inf, upper), kind="stable")
    left = np.cumsum(np.where(beyond, 0.0, upper)[order][::-1])[::-1]
    return order[(left > LEFT * left[0]) | beyond[order]] if len(left) and left[0] > 0.0 else order


def replace_values(values: PointValues, points: IntArray, found: PointValues) -> PointValues:
    """Return values at all points, with better ones at some."""
    high, low, radius = values.high.copy(), values.low.copy(), values.radius.copy()
    high[points], low[points], radius[points] = found.high, found.low, found.radius
    return PointValues(high, low, radius)


def _remains(
    asked: ProofRequest, point: Feasible, values: ExactValues | SpaceMeasurement, gap: float
) -> tuple[float, str, Primal]:
    """The gap with the best b there is, where that is clearly less; a sentence about it; and the numbers with it."""
    program, held = asked.program, asked.held
    other = better_intercepts(program, held, values)
    least = gap if other is None else _gap_of(program, other, point, values)
    if other is None or not least < 0.5 * gap:
        return gap, "", held
    near = [float(other.multipliers[group.multiplier]) for group in free_intercepts(program)]
    which = "with the best b for this w, the rational number" if len(near) == 1 else "with other b, rational numbers"
    text = f"{which} next to {', '.join(map(repr, near))}, the gap is at most {format_upper_bound(least)}"
    return least, f"{text}: the rest is what the rounding of b to a float costs", other


def _gap_of(program: ExactDual, held: Primal, point: Feasible, values: ExactValues | SpaceMeasurement) -> float:
    """The gap of other multipliers, or of a program with other levels."""
    if isinstance(values, ExactValues):
        return rational.rational_gap(program, held, point, values).gap
    return _by_terms(program, held, point, values)[0].gap
