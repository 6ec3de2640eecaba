"""From the numbers in a user's hands to a theorem about them.

    (PROVE.1)  α̂ of `feasible`, exactly feasible; w and every μ as they are
    (PROVE.2)  of few samples, P and D are computed in rational numbers, (RATIO.1)
    (PROVE.3)  of many, the terms of (GAP.1) are bounded, (BOUND.1) to (BOUND.4); where that is loose, first the rows
               that matter are evaluated in twice the precision, and then all of it in rational numbers, if that is
               affordable
    (PROVE.4)  the relative gap is at most what (CERT.3) is for P − D from above and max(|P|, |D|) from below

Source of (CERT.3) and (GAP.1): `dual.certificate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW
from qpsvm.arrays.types import FloatArray
from qpsvm.proof import rational, terms
from qpsvm.proof.bounds import LARGEST, GapBounds
from qpsvm.proof.exact_dual import ExactDual, Held
from qpsvm.proof.exactly import above, at_least, at_most, below
from qpsvm.proof.feasible import Feasible, feasible
from qpsvm.proof.intercept import best_intercept, costs_of_rounding, moved, near_intercept
from qpsvm.proof.proof import Claim, Proof, Verdict
from qpsvm.proof.relaxed import relaxed
from qpsvm.proof.spaces import ExactValues, Measured, Space, Values

#: Multiplications of integers up to which rational numbers are what is tried first, and at all: some 50 ms and 2 s.
AT_ONCE, AT_MOST = 50_000.0, 2_000_000.0
#: What a row costs beside the multiplications that it needs, in multiplications.
EACH_ROW = 200.0
#: Share of the sum of the terms that the rows left as they are may have, where others are evaluated again.
LEFT = 0.01
#: A proven gap is as good as the measured one up to this factor and this much.
AS_GOOD, NOTHING = 3.0, 1e-12
#: P of w = 0, b = 0, ρ = 0 is less, with what underflows counted.
VANISHED = 2.0**-900


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be proven.

    Attributes
    ----------
    program, space, held
        The machine, its points, and the numbers.
    alpha : ndarray, shape (m,)
        At the rows of the program.
    measured : float
        The gap that was measured.
    tol : float or None
        The gap that was promised.
    title : str
    record : mapping
        For a proof file.
    """

    program: ExactDual
    space: Space
    held: Held
    alpha: FloatArray
    measured: float = math.nan
    tol: float | None = None
    title: str = ""
    record: Mapping[str, Any] | None = None


def prove(asked: Asked) -> Proof:
    """The theorem.

    Parameters
    ----------
    asked : Asked

    Returns
    -------
    Proof
        With an infinite gap where nothing could be proven: its claims say why.
    """
    program, held = asked.program, asked.held
    given = (asked.alpha, held.w, held.coef)
    if not all(part is None or np.isfinite(part).all() for part in given):
        return _nothing(asked, "α or w has entries that are no numbers")
    if any(group.multiplier not in held.multipliers for group in program.groups):
        return _nothing(asked, "b, ρ or another multiplier is no number")
    point = feasible(program, asked.alpha)
    if point is None:
        return _nothing(
            asked, "no α near the given one keeps every equality: the rows have no room for what is missing"
        )
    found, values = _bounded(asked, point)
    remains, said = found.gap, ""
    if found.gap > NOTHING and costs_of_rounding(program, held) > LEFT * found.difference[1]:
        remains, said = _remains(asked, point, values, found.gap)
    wider = relaxed(program, held, values) if found.primal[1] == math.inf else None
    if wider is not None:
        remains = _gap_of(wider.program, held, point, values)
    lacking = asked.space.positive()
    unit = float(program.unit)
    own, more = _of_kernel(asked, lacking)
    claims = [*_claims(asked, point, found), *more]
    if said:
        claims.append(Claim("intercept", "proven", said, remains))
    if wider is not None and math.isfinite(remains):
        claims.append(Claim("rows", "proven", wider.said(remains), remains))
    return Proof(
        title=asked.title, gap=found.gap if own else math.inf, least_gap=found.least_gap,
        primal=_times(unit, found.primal[1], up=True), dual=_times(unit, found.dual[0], up=False),
        difference=_times(unit, found.difference[1], up=True), alpha=point.alpha, exactly=found.exactly,
        claims=tuple(claims), remains=remains if own else math.inf, assumptions=asked.space.assumptions,
        record={**(asked.record or {}), "point": point, "held": held, "bounds": found},
    )  # fmt: skip


def _times(unit: float, value: float, up: bool) -> float:
    if unit == 1.0 or not math.isfinite(value):
        return value
    exact = Fraction(unit) * Fraction(value)
    return above(exact) if up else below(exact)


def _bounded(asked: Asked, point: Feasible) -> tuple[GapBounds, ExactValues | Measured]:
    """(PROVE.2) or (PROVE.3), and what was measured for it."""
    program, held = asked.program, asked.held
    exact = _exactly(asked, point, AT_ONCE)
    if exact is not None:
        return rational.rational_gap(program, held, point, exact).bounds, exact
    enough = max(AS_GOOD * asked.measured, NOTHING) if math.isfinite(asked.measured) else NOTHING
    found, measured = in_floats(program, asked.space, held, point, enough)
    exact = None if found.gap <= enough else _exactly(asked, point, AT_MOST)
    if exact is None:
        return found, measured
    better = rational.rational_gap(program, held, point, exact).bounds
    return (better if better.gap <= found.gap else found), exact


def _exactly(asked: Asked, point: Feasible, most: float) -> ExactValues | None:
    """Rational numbers, where they are had for so many multiplications."""
    left = most - EACH_ROW * asked.program.m
    return asked.space.exact(asked.held, point.exact_beta(), left) if left > 0.0 else None


def in_floats(
    program: ExactDual, space: Space, held: Held, point: Feasible, enough: float
) -> tuple[GapBounds, Measured]:
    """(PROVE.3): bounds in floats, sharper until the gap is at most `enough`; and what they were made of."""
    measured = space.measured(held, *point.beta())
    found, upper = _by_terms(program, held, point, measured)
    if found.gap <= enough:
        return found, measured
    better = _sharper(program, space, held, measured, upper)
    if better is not None:
        sharper, _ = _by_terms(program, held, point, better)
        found, measured = (sharper, better) if sharper.gap <= found.gap else (found, measured)
    if found.gap <= enough or not measured.apart * measured.apart > LEFT * found.difference[1]:
        return found, measured
    apart = space.sharpened_apart(held, *point.beta())
    if apart is None or not apart < measured.apart:
        return found, measured
    measured = replace(measured, apart=apart)
    return _by_terms(program, held, point, measured)[0], measured


def _by_terms(program: ExactDual, held: Held, point: Feasible, measured: Measured) -> tuple[GapBounds, FloatArray]:
    """(BOUND.4), P and D; and the terms from above, (m,)."""
    sums = terms.summed(program, held, point, measured.values)
    apart = 0.5 * measured.apart * measured.apart * terms.OUT + UNDERFLOW if measured.apart != 0.0 else 0.0
    ridge = terms.penalties(program, held, point)
    high = apart + sums.terms[1] + above(ridge)
    low = sums.terms[0] + below(ridge)
    cost, curved = terms.multiplier_cost(program, held), terms.half_curved(program, point)
    own_low = max(terms.IN * math.sqrt(2.0 * measured.half_square[0]) - measured.apart, 0.0)
    own_high = math.sqrt(2.0 * measured.half_square[1]) + measured.apart
    half_low = 0.5 * own_low * own_low * terms.IN  # ½‖w(α)‖²; no power: that raises
    half_high = 0.5 * own_high * own_high * terms.OUT
    gain, penalty = terms.linear_part(program, point), terms.ridge_part(program, point)
    dual = (
        _sum_below(gain[0], -half_high, -curved[1], -penalty[1]),
        -_sum_below(-gain[1], half_low, curved[0], penalty[0]),
    )
    primal = (
        _sum_below(measured.half_square[0], sums.losses[0], cost[0]),
        -_sum_below(-measured.half_square[1], -sums.losses[1], -cost[1]),
    )
    high = 0.0 if high == 0.0 else math.nextafter(high * terms.OUT, math.inf)
    # each of the three bounds the others; the terms of (GAP.1) are the sharp ones where nothing is infinite
    primal = max(primal[0], dual[0]), min(primal[1], -_sum_below(-dual[1], -high))
    dual = max(dual[0], _sum_below(primal[0], -high)), min(dual[1], primal[1])
    length = math.nextafter(math.sqrt(2.0 * measured.half_square[0]), 0.0)
    difference = min(max(low * terms.IN, 0.0), LARGEST), high
    return GapBounds(primal, dual, difference, apart=measured.apart, length=length), sums.upper


def _sum_below(*parts: float) -> float:
    """A sum of few floats from below."""
    if any(math.isnan(part) or part == -math.inf for part in parts):
        return -math.inf
    return below(sum((Fraction(min(part, LARGEST)) for part in parts), Fraction(0)))


def _sharper(program: ExactDual, space: Space, held: Held, measured: Measured, upper: FloatArray) -> Measured | None:
    """With the values of the points that matter in twice the precision."""
    beyond = ~np.isfinite(upper)  # hard rows that are not seen to be kept
    order = np.argsort(-np.where(beyond, np.inf, upper), kind="stable")
    left = np.cumsum(np.where(beyond, 0.0, upper)[order][::-1])[::-1]
    rows = order[(left > LEFT * left[0]) | beyond[order]] if len(left) and left[0] > 0.0 else order
    if program.mix is not None:
        points = np.unique(program.mix[np.sort(rows)].indices)
    else:
        points = np.unique(rows if program.rows is None else program.rows[rows])
    found = space.sharpened(held, points.astype(np.intp))
    if found is None:
        return None
    values = measured.values
    high, low, radius = values.high.copy(), values.low.copy(), values.radius.copy()
    high[points], low[points], radius[points] = found.high, found.low, found.radius
    return replace(measured, values=Values(high, low, radius))


def _remains(asked: Asked, point: Feasible, values: ExactValues | Measured, gap: float) -> tuple[float, str]:
    """The gap with the best b there is, where that is clearly less; and a sentence about it."""
    program, held = asked.program, asked.held
    if isinstance(values, ExactValues):
        b = best_intercept(program, held, values)
    else:
        b = near_intercept(program, held, values.values)
    if b is None or b == held.multipliers["b"]:
        return gap, ""
    other = moved(held, b)
    least = _gap_of(program, other, point, values)
    if not least < 0.5 * gap:
        return gap, ""
    return least, (
        f"with the best b for this w, the rational number next to {float(b)!r}, the gap is at most {at_most(least)}: "
        "the rest is what the rounding of b to a float costs"
    )


def _gap_of(program: ExactDual, held: Held, point: Feasible, values: ExactValues | Measured) -> float:
    """The gap of other multipliers, or of a program with other levels."""
    if isinstance(values, ExactValues):
        return rational.rational_gap(program, held, point, values).bounds.gap
    return _by_terms(program, held, point, values)[0].gap


def _of_kernel(asked: Asked, lacking: float) -> tuple[bool, list[Claim]]:
    """Whether weak duality holds, and what is said of it."""
    if lacking == 0.0:
        return True, []
    text = "the kernel matrix is positive semidefinite"
    if asked.space.assumptions:
        return True, []
    return False, [Claim("kernel", "open", text, lacking)]


def _within(point: Feasible, alpha: FloatArray) -> float:
    """How far the point is from an α, in its worst row, from above."""
    near = math.nextafter(float(np.abs(point.alpha - alpha).max(initial=0.0)), math.inf)
    near = 0.0 if np.array_equal(point.alpha, alpha) else near
    return max(near, *(above(abs(v - Fraction(float(alpha[k])))) for k, v in point.carriers.items()), 0.0)


def _claims(asked: Asked, point: Feasible, found: GapBounds) -> list[Claim]:
    """The sentences."""
    program = asked.program
    equalities = [group.formula or group.multiplier for group in program.groups if not group.ridge]
    kept = f" and {' and '.join(equalities)}" if equalities else ""
    near = _within(point, asked.alpha)
    unit = float(program.unit)
    primal, dual = _times(unit, found.primal[1], up=True), _times(unit, found.dual[0], up=False)
    claims = [
        Claim("feasible", "proven", f"α keeps its box{kept} exactly, as integers times 2^{point.exponent}; it "
              f"is within {at_most(near, 2)} of the one that was given", near),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]  # fmt: skip
    said = "" if asked.tol is None else f"the relative gap is at most the tolerance, {asked.tol:g}"
    if not math.isfinite(found.difference[1]):
        why = "some row that must reach its margin may fall short of it"
        claims.append(Claim("primal", "open", f"no bound of the primal objective: {why}", math.inf))
        return [*claims, Claim("optimal", "open", said, asked.tol)] if said else claims
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    how = "is, rounded up," if found.exactly else "is at most"
    known: Verdict = "proven" if math.isfinite(found.gap) else "open"
    claims.append(Claim("gap", known, f"the relative gap of these numbers {how} {at_most(found.gap)}", found.gap))
    nothing = dual < 0.0 and abs(primal) <= VANISHED
    if nothing:
        claims.append(Claim("nothing", "proven", f"the optimal value is between {dual!r} and {primal!r}: no gap "
                            "is relative to that", max(primal, -dual)))  # fmt: skip
    if asked.tol is not None:
        verdict: Verdict = "proven" if found.gap <= asked.tol else "refuted" if found.least_gap > asked.tol else "open"
        if nothing and verdict == "refuted":
            verdict, said = "open", f"{said}: the objective of these numbers is 0, and nothing is relative to that"
        elif verdict == "refuted":
            said += f": it is at least {at_least(found.least_gap)}"
        claims.append(Claim("optimal", verdict, said, asked.tol))
    return claims


def _nothing(asked: Asked, why: str) -> Proof:
    """A proof of nothing."""
    return Proof(
        title=asked.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=asked.alpha, exactly=False, claims=(Claim("feasible", "open", why),), remains=math.inf,
        assumptions=asked.space.assumptions, record=dict(asked.record or {}),
    )  # fmt: skip
