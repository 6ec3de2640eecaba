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
from typing import Any, Protocol

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW
from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.proof import rational, terms
from qpsvm.proof.bounds import GapBounds, Interval
from qpsvm.proof.exact_dual import ExactDual, Held
from qpsvm.proof.exactly import above, below
from qpsvm.proof.feasible import Feasible, feasible
from qpsvm.proof.proof import Claim, Proof, Verdict
from qpsvm.proof.spaces import ExactValues, Measured, Space, Values

#: Multiplications of integers up to which rational numbers are what is tried first, and at all.
AT_ONCE, AT_MOST = 5_000.0, 3_000_000.0
#: Share of the sum of the terms that the rows left as they are may have, where others are evaluated again.
LEFT = 0.01
#: A proven gap is as good as the measured one up to this factor and this much.
AS_GOOD, NOTHING = 3.0, 1e-12


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


class Program(Protocol):
    """What the sentences say of a program: `ExactDual`, or `ExactJoint` of several classes."""

    @property
    def unit(self) -> Fraction: ...
    @property
    def kept(self) -> str: ...


class Point(Protocol):
    """And of a feasible α."""

    @property
    def alpha(self) -> FloatArray: ...
    @property
    def exponent(self) -> int: ...


class Question(Protocol):
    """What a proof needs of what is asked, whatever the machine: `Asked` is one."""

    @property
    def program(self) -> Program: ...
    @property
    def space(self) -> Space: ...
    @property
    def held(self) -> object: ...
    @property
    def alpha(self) -> FloatArray: ...
    @property
    def tol(self) -> float | None: ...
    @property
    def title(self) -> str: ...
    @property
    def record(self) -> Mapping[str, Any] | None: ...


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
    point = feasible(program, asked.alpha)
    if point is None:
        return nothing(asked, "no α near the given one keeps every equality: the rows have no room for what is missing")
    found, exact = _bounded(asked, point)
    remains, said = found.gap, ""
    if exact is not None and found.gap > NOTHING:
        remains, said = _remains(asked, point, exact, found.gap)
    return concluded(asked, point, found, remains, said)


def concluded(asked: Question, point: Point, found: GapBounds, remains: float, said: str) -> Proof:
    """The theorem, with a sentence about what remains of the gap with other intercepts, where there is something."""
    lacking = asked.space.positive()
    unit = float(asked.program.unit)
    own, more = _of_kernel(asked, lacking)
    claims = [*_claims(asked, point, found), *more]
    if said:
        claims.append(Claim("intercept", "proven", said, remains))
    return Proof(
        title=asked.title, gap=found.gap if own else math.inf, least_gap=found.least_gap,
        primal=_times(unit, found.primal[1], up=True), dual=_times(unit, found.dual[0], up=False),
        difference=_times(unit, found.difference[1], up=True), alpha=point.alpha, exactly=found.exactly,
        claims=tuple(claims), remains=remains if own else math.inf, assumptions=asked.space.assumptions,
        record={**(asked.record or {}), "point": point, "held": asked.held, "bounds": found},
    )  # fmt: skip


def _times(unit: float, value: float, up: bool) -> float:
    if unit == 1.0 or not math.isfinite(value):
        return value
    exact = Fraction(unit) * Fraction(value)
    return above(exact) if up else below(exact)


def _bounded(asked: Asked, point: Feasible) -> tuple[GapBounds, ExactValues | None]:
    """(PROVE.2) or (PROVE.3)."""
    program, space, held = asked.program, asked.space, asked.held
    rows = max(program.m, 1)
    exact = space.exact(held, point.exact_beta(), AT_ONCE) if rows <= AT_ONCE else None
    if exact is not None:
        return rational.rational_gap(program, held, point, exact).bounds, exact
    enough = max(AS_GOOD * asked.measured, NOTHING) if math.isfinite(asked.measured) else NOTHING
    found = in_floats(program, space, held, point, enough)
    if found.gap <= enough or rows > AT_MOST:
        return found, None
    exact = space.exact(held, point.exact_beta(), AT_MOST)
    if exact is None:
        return found, None
    better = rational.rational_gap(program, held, point, exact).bounds
    return (better if better.gap <= found.gap else found), exact


def in_floats(program: ExactDual, space: Space, held: Held, point: Feasible, enough: float) -> GapBounds:
    """(PROVE.3): bounds in floats, sharper until the gap is at most `enough`."""
    measured = space.measured(held, *point.beta())
    found, upper = _by_terms(program, held, point, measured)
    if found.gap <= enough:
        return found
    better = _sharper(program, space, held, measured, upper)
    return found if better is None else _by_terms(program, held, point, better)[0]


def _by_terms(program: ExactDual, held: Held, point: Feasible, measured: Measured) -> tuple[GapBounds, FloatArray]:
    """(BOUND.4), P and D; and the terms from above, (m,)."""
    sums = terms.summed(program, held, point, measured.values)
    apart = 0.5 * measured.apart * measured.apart * terms.OUT
    ridge = terms.penalties(program, held, point)
    cost, curved = terms.multiplier_cost(program, held), terms.half_curved(program, point)
    half_low, half_high = own_half_square(measured)
    gain, penalty = terms.linear_part(program, point), terms.ridge_part(program, point)
    dual = (
        sum_below(gain[0], -half_high, -curved[1], -penalty[1]),
        -sum_below(-gain[1], half_low, curved[0], penalty[0]),
    )
    primal = (
        sum_below(measured.half_square[0], sums.losses[0], cost[0]),
        -sum_below(-measured.half_square[1], -sums.losses[1], -cost[1]),
    )
    difference = sums.terms[0] + below(ridge), apart + sums.terms[1] + above(ridge)
    return assembled(primal, dual, difference), sums.upper


def own_half_square(measured: Measured) -> Interval:
    """½‖w(α)‖² from below and from above."""
    low = math.sqrt(2.0 * measured.half_square[0]) * terms.IN - measured.apart
    high = math.sqrt(2.0 * measured.half_square[1]) + measured.apart
    return 0.5 * max(low, 0.0) ** 2 * terms.IN, 0.5 * high**2 * terms.OUT + UNDERFLOW


def assembled(primal: Interval, dual: Interval, difference: Interval) -> GapBounds:
    """P, D and P − D: each bounds the others, and P − D as a sum of terms, (GAP.1), is the sharp one."""
    high = math.nextafter(difference[1] * terms.OUT, math.inf)
    primal = max(primal[0], dual[0]), min(primal[1], -sum_below(-dual[1], -high))
    dual = max(dual[0], sum_below(primal[0], -high)), min(dual[1], primal[1])
    return GapBounds(primal, dual, (max(difference[0] * terms.IN, 0.0), high))


def sum_below(*parts: float) -> float:
    """A sum of few floats from below."""
    try:
        return below(sum((Fraction(part) for part in parts), Fraction(0)))
    except (OverflowError, ValueError):  # an infinite part, or no number
        total = (
            math.fsum(part for part in parts if not math.isnan(part)) if not any(map(math.isnan, parts)) else -math.inf
        )
        return total if math.isinf(total) else -math.inf


def _sharper(program: ExactDual, space: Space, held: Held, measured: Measured, upper: FloatArray) -> Measured | None:
    """With the values of the points that matter in twice the precision."""
    rows = rows_that_matter(upper)
    if program.mix is not None:
        points = np.unique(program.mix[np.sort(rows)].indices)
    else:
        points = np.unique(rows if program.rows is None else program.rows[rows])
    points = points.astype(np.intp)
    found = space.sharpened(held, points)
    return None if found is None else replace(measured, values=sharpened(measured.values, points, found))


def rows_that_matter(upper: FloatArray) -> IntArray:
    """The rows with the largest terms, so that the others have next to nothing of the sum."""
    order = np.argsort(-upper, kind="stable")
    left = np.cumsum(upper[order][::-1])[::-1]
    return order[left > LEFT * left[0]] if len(left) and left[0] > 0.0 else order


def sharpened(values: Values, points: IntArray, found: Values) -> Values:
    """Values at all points, with better ones at some."""
    high, low, radius = values.high.copy(), values.low.copy(), values.radius.copy()
    high[points], low[points], radius[points] = found.high, found.low, found.radius
    return Values(high, low, radius)


def _remains(asked: Asked, point: Feasible, exact: ExactValues, gap: float) -> tuple[float, str]:
    """The gap with the best b there is, where that is clearly less; and a sentence about it."""
    b = rational.best_intercept(asked.program, asked.held, exact)
    if b is None or b == asked.held.multipliers["b"]:
        return gap, ""
    other = Held(asked.held.w, asked.held.coef, {**asked.held.multipliers, "b": b})
    least = rational.rational_gap(asked.program, other, point, exact).bounds.gap
    if not least < 0.5 * gap:
        return gap, ""
    return least, (
        f"with the best b for this w, the rational number next to {float(b)!r}, the gap is at most {least:.3g}: the "
        "rest is what the rounding of b to a float costs"
    )


def _of_kernel(asked: Question, lacking: float) -> tuple[bool, list[Claim]]:
    """Whether weak duality holds, and what is said of it."""
    if lacking == 0.0:
        return True, []
    text = "the kernel matrix is positive semidefinite"
    if asked.space.assumptions:
        return True, []
    return False, [Claim("kernel", "open", text, lacking)]


def _claims(asked: Question, point: Point, found: GapBounds) -> list[Claim]:
    """The sentences."""
    near = float(np.abs(point.alpha - np.clip(asked.alpha, 0.0, None)).max(initial=0.0))
    unit = float(asked.program.unit)
    primal, dual = _times(unit, found.primal[1], up=True), _times(unit, found.dual[0], up=False)
    claims = [
        Claim("feasible", "proven", f"α keeps {asked.program.kept} exactly, as integers times 2^{point.exponent}; it "
              f"is within {near:.2g} of the one that was given", near),
        Claim("dual", "proven", f"its objective D is at least {dual!r}", dual),
    ]  # fmt: skip
    if not math.isfinite(found.difference[1]):
        why = "some row that must reach its margin may fall short of it"
        return [*claims, Claim("primal", "open", f"no bound of the primal objective: {why}", math.inf)]
    claims.append(Claim("primal", "proven", f"the objective P of these w, b is at most {primal!r}", primal))
    how = "is, rounded up," if found.exactly else "is at most"
    claims.append(Claim("gap", "proven", f"the relative gap of these numbers {how} {found.gap:.3g}", found.gap))
    if asked.tol is not None:
        verdict: Verdict = "proven" if found.gap <= asked.tol else "refuted" if found.least_gap > asked.tol else "open"
        said = f"the relative gap is at most the tolerance, {asked.tol:g}"
        if verdict == "refuted":
            said += f": it is at least {found.least_gap:.3g}"
        claims.append(Claim("optimal", verdict, said, asked.tol))
    return claims


def nothing(asked: Question, why: str) -> Proof:
    """A proof of nothing."""
    return Proof(
        title=asked.title, gap=math.inf, least_gap=0.0, primal=math.inf, dual=-math.inf, difference=math.inf,
        alpha=asked.alpha, exactly=False, claims=(Claim("feasible", "open", why),), remains=math.inf,
        assumptions=asked.space.assumptions, record=dict(asked.record or {}),
    )  # fmt: skip
