"""From the numbers of a machine of several classes to a theorem about them.

    (JPROVE.1)  α̂ of `feasible_joint`; w_c and b as they are
    (JPROVE.2)  of few samples (JRATIO.1), of many (JBOUND.4), sharper where that is loose: (PROVE.2), (PROVE.3)

Spaces, constants and sentences are those of `proof.prove`: a space is looked at once for each class.

The gap of a machine of several classes in rational numbers, (RATIO.1), for few samples.

    (JRATIO.1)  P = ½Σ_c ‖w_c‖² + Σ L_i + ½Σ_c b_c²,  D = Σα − ½Σ_c ‖w_c(α)‖² − ½Σ_c (Σ_i β_ic)², term by term; what is
                squared of b and β only with a penalised intercept
    (JRATIO.2)  with the other b as they are, P is convex and piecewise linear in one free b_c: its least value is at a
                b_c where some t is 0, or two of a sample's are the same, as in (JB.2)

Names and equations are those of `dual.joint`; numbers are Fractions.

(JOINT.5) from above and from below, of decision values that are known with a radius.

    (JBOUND.1)  t_ic = 1 − (v_iy + b_y) + (v_ic + b_c) as a sum of two doubles, v = ⟨w, φ(x_i)⟩ with the radii of both
                classes and what is rounded here
    (JBOUND.2)  with a slack for every rival, each (i, c) is a row of the hinge loss, (BOUND.2)
    (JBOUND.3)  with one for all, T_i − t_ic = max(0 − t_ic, max over other rivals of t_ic′ − t_ic, 0): between what the
                ends of the t make of it
    (JBOUND.4)  P − D = ½Σ_c ‖w_c − w_c(α)‖² + Σ g_i + ½Σ_c (b_c − Σ_i β_ic)², the last of penalised intercepts

Sums and steps outwards are those of `proof.terms`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.exactly import above, below, rounded
from qpsvm.base.arrays.rounding import UNDERFLOW, UNIT, two_sum
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof import all_in_one as joint_rational
from qpsvm.bounds.proof import all_in_one as joint_terms
from qpsvm.bounds.proof.all_in_one_dual import ExactJoint, FeasibleJoint, HeldJoint, feasible_joint
from qpsvm.bounds.proof.claims import concluded, duality_by_matrix, nothing
from qpsvm.bounds.proof.intercept import lowest
from qpsvm.bounds.proof.proof import Claim, Proof
from qpsvm.bounds.proof.prove import (
    AS_GOOD,
    AT_MOST,
    AT_ONCE,
    EACH_ROW,
    LEFT,
    NOTHING,
    assembled,
    own_half_square,
    rows_that_matter,
    sharpened,
    sum_below,
)
from qpsvm.bounds.proof.spaces import Between, ExactValues, Measured, Space, Values
from qpsvm.bounds.proof.terms import IN, OUT, GapBounds, Interval, Rows, Sums, straight_terms, total

#: Rounds of (JRATIO.2) over all classes.
SWEEPS = 4


def rational_gap(
    program: ExactJoint, b: Sequence[Fraction], point: FeasibleJoint, exact: Sequence[ExactValues]
) -> GapBounds:
    """(JRATIO.1), from numbers that are exact or between two: `exact` has one entry for each class."""
    penalised = program.intercept == "penalised"
    squares = [_added([part.square for part in exact]), _added([part.own_square for part in exact])]
    cost = sum((value * value for value in b), Fraction(0)) / 2 if penalised else Fraction(0)
    gain = point.total - (sum((value * value for value in point.nets), Fraction(0)) / 2 if penalised else 0)
    loss = _added([_loss(program, i, b, exact) for i in range(program.n)])
    low, high = (squares[0][end] / 2 + cost + loss[end] for end in (0, 1))
    dual = gain - squares[1][1] / 2, gain - squares[1][0] / 2
    difference = max(low - dual[1], Fraction(0)), high - dual[0]
    bounds = [(below(ends[0]), above(ends[1])) for ends in ((low, high), dual, difference)]
    return GapBounds(bounds[0], bounds[1], bounds[2], True)


def _added(parts: Sequence[Between]) -> Between:
    return sum((low for low, _ in parts), Fraction(0)), sum((high for _, high in parts), Fraction(0))


def _loss(program: ExactJoint, i: int, b: Sequence[Fraction], exact: Sequence[ExactValues]) -> Between:
    """L_i of (JOINT.2) between two."""
    label, total = int(program.label[i]), max if program.shared else sum
    rivals = [c for c in range(program.k) if c != label]
    own = exact[label].values[i]
    found = []
    for end in (0, 1):
        short = [max(1 - own[1 - end] - b[label] + exact[c].values[i][end] + b[c], Fraction(0)) for c in rivals]
        found.append(program.price[i] * Fraction(total(short)))
    return found[0], found[1]


def better_intercepts(
    program: ExactJoint, b: Sequence[Fraction], exact: Sequence[ExactValues]
) -> tuple[Fraction, ...] | None:
    """b after some rounds of (JRATIO.2); None where they are not free, or the values are not exact."""
    if program.intercept != "free" or any(low != high for part in exact for low, high in part.values):
        return None
    scores = [[exact[c].values[i][0] for c in range(program.k)] for i in range(program.n)]
    found = list(b)
    for _ in range(SWEEPS):
        before = tuple(found)
        for c in range(program.k):
            found[c] = _best(program, scores, found, c)
        if tuple(found) == before:
            break
    return tuple(found)


def _best(program: ExactJoint, scores: Sequence[Sequence[Fraction]], b: Sequence[Fraction], c: int) -> Fraction:
    """The b_c of (JRATIO.2)."""
    bends: list[tuple[Fraction, Fraction | None]] = []
    slope = Fraction(0)
    for i, v in enumerate(scores):
        label, C = int(program.label[i]), program.price[i]
        f = [v[d] + b[d] for d in range(program.k)]
        rivals = [f[d] for d in range(program.k) if d not in (c, label)]
        if label == c:
            falling = [max(rivals)] if program.shared else rivals  # t of these rivals falls to 0
            bends += [(1 + value - v[c], C) for value in falling]
            slope -= C * len(falling)
        else:
            floor = max([f[label] - 1, *rivals]) if program.shared else f[label] - 1  # from here on c is what costs
            bends.append((floor - v[c], C))
    best = lowest(bends, slope, None, None)
    return b[c] if best is None else best


#: Rows (i, c) that are worked on at a time: they stay in the cache.
AT_A_TIME = 65_536


def summed(point: FeasibleJoint, values: Sequence[Values], b: FloatArray) -> Sums:
    """The terms and losses of all samples.

    Shapes: b (k,).
    """
    program = point.program
    upper, parts = np.empty(program.n), []
    step = max(AT_A_TIME // program.k, 1)
    for start in range(0, program.n, step):
        some = slice(start, min(start + step, program.n))
        t = shortfalls(point, values, b, some)
        prices = program.prices[0][some], program.prices[1][some]
        terms = _shared(point, t, prices, some) if program.shared else _apart(point, t, prices, some)
        losses = _losses(t, prices, program.shared)
        upper[some] = terms[1]
        parts.append([total(ends[k], up=bool(k)) for ends in (terms, losses) for k in (0, 1)])
    sums = np.array(parts).T
    g, losses_of_all = ((max(total(sums[k], up=False), 0.0), total(sums[k + 1], up=True)) for k in (0, 2))
    return Sums(upper, g, losses_of_all)


def shortfalls(
    point: FeasibleJoint, values: Sequence[Values], b: FloatArray, some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.1) of some samples from below and from above, (s, k) each; 0 at the own class."""
    dual = point.program.floats
    each, label, own = np.arange(some.stop - some.start), dual.label[some], dual.own[some]
    high, low, radius = (
        np.column_stack([getattr(part, name)[some] for part in values]) for name in ("high", "low", "radius")
    )
    with np.errstate(invalid="ignore", over="ignore"):
        high, error = two_sum(high, np.broadcast_to(b, high.shape))
        size = np.abs(low) + np.abs(error)
        low = low + error
        mine = tuple(part[each, label][:, None] for part in (high, low, radius, size))
        start, first = two_sum(np.ones_like(mine[0]), -mine[0])
        t, second = two_sum(np.broadcast_to(start, high.shape), high)
        size = size + mine[3] + np.abs(first) + np.abs(second)
        rest = low - mine[1] + first + second
        slack = (radius + mine[2] + 16.0 * UNIT * size) * OUT
        slack += 4.0 * UNIT * (np.abs(t) + np.abs(rest)) + 8.0 * UNDERFLOW
        middle = t + rest
        ends = middle - slack, middle + slack
    return np.where(own, 0.0, ends[0]), np.where(own, 0.0, ends[1])


def _apart(
    point: FeasibleJoint, t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.2) of some samples from below and from above: (s,) each."""
    alpha, k = point.alpha[some].ravel(), point.program.k
    nothing = np.zeros(1)
    rows = Rows((alpha, alpha), (np.repeat(prices[0], k), np.repeat(prices[1], k)), (nothing, nothing))
    high, low = straight_terms(rows, (t[0].ravel(), t[1].ravel()))
    return low.reshape(-1, k).sum(axis=1) * IN**k, high.reshape(-1, k).sum(axis=1) * OUT**k


def _shared(
    point: FeasibleJoint, t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], some: slice
) -> tuple[FloatArray, FloatArray]:
    """(JBOUND.3) of some samples from below and from above: (s,) each."""
    alpha, own = point.alpha[some], point.program.floats.own[some]
    taken, k = alpha.sum(axis=1), point.program.k  # exact, (JFEAS.1)
    with np.errstate(invalid="ignore", over="ignore"):
        below, above = (np.maximum(end.max(axis=1), 0.0) for end in t)  # T: of the own class t is 0
        beyond = np.maximum(_others(t[1], own), 0.0) - t[0]
        short = np.maximum(np.maximum(_others(t[0], own), 0.0) - t[1], 0.0)
        high = np.where(alpha > 0.0, alpha * np.maximum(beyond, 0.0), 0.0).sum(axis=1) * OUT**k
        low = (alpha * short).sum(axis=1) * IN**k
        room = np.maximum(prices[1] - taken, 0.0), np.maximum(prices[0] - taken, 0.0)
        high = (high + np.where(room[0] > 0.0, room[0] * above, 0.0)) * OUT + (k + 2) * UNDERFLOW
        low = (low + np.where(room[1] > 0.0, room[1] * below, 0.0)) * IN - (k + 2) * UNDERFLOW
    unknown = np.isnan(t[0]).any(axis=1) | np.isnan(t[1]).any(axis=1)
    return np.fmax(low, 0.0), np.where(unknown, np.inf, high)


def _others(t: FloatArray, own: NDArray[np.bool_]) -> FloatArray:
    """The largest t of the rivals but one, for each of them: (s, k); −∞ where there is no other."""
    each, reach = np.arange(len(t)), np.where(own, -np.inf, t)
    first = reach.argmax(axis=1)
    highest = reach[each, first]
    reach[each, first] = -np.inf
    found: FloatArray = np.where(np.arange(t.shape[1]) == first[:, None], reach.max(axis=1)[:, None], highest[:, None])
    return found


def _losses(
    t: tuple[FloatArray, FloatArray], prices: tuple[FloatArray, FloatArray], shared: bool
) -> tuple[FloatArray, FloatArray]:
    """L of (JOINT.2) of some samples from below and from above: (s,) each."""
    k = t[0].shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        short = [np.maximum(end, 0.0) for end in t]
        low, high = (end.max(axis=1) if shared else end.sum(axis=1) for end in short)
        low, high = prices[0] * low * IN**k - UNDERFLOW, prices[1] * high * OUT**k + UNDERFLOW
    return np.fmax(low, 0.0), high


#: Decision values times classes up to which better rational intercepts are looked for.
FEW = 20_000


@dataclass(frozen=True, eq=False)
class AskedJoint:
    """What is to be proven: as `Asked`, with α (n, k)."""

    program: ExactJoint
    space: Space
    held: HeldJoint
    alpha: FloatArray
    measured: float = math.nan
    tol: float | None = None
    title: str = ""
    record: Mapping[str, Any] | None = None


def prove_joint(asked: AskedJoint) -> Proof:
    """The theorem."""
    given = (asked.alpha, asked.held.b, *(part.coef if part.w is None else part.w for part in asked.held.parts))
    if not all(part is not None and np.isfinite(part).all() for part in given):
        return nothing(asked, "α, w or b has entries that are no numbers")
    point = feasible_joint(asked.program, asked.alpha)
    if point is None:
        return nothing(asked, "no α near the given one was found that is feasible as integers are")
    found, exact = _bounded(asked, point)
    remains, said = found.gap, ""
    if exact is not None and found.gap > NOTHING:
        remains, said = _remains(asked, point, exact, found.gap)
    more = [Claim("intercept", "proven", said, remains)] if said else []
    return concluded(asked, point, found, remains, more, duality_by_matrix(asked.space))


def _bounded(asked: AskedJoint, point: FeasibleJoint) -> tuple[GapBounds, Sequence[ExactValues] | None]:
    """(JPROVE.2)."""
    b = [Fraction(value) for value in asked.held.b.tolist()]
    exact = _exactly(asked, point, AT_ONCE)
    if exact is not None:
        return joint_rational.rational_gap(asked.program, b, point, exact), exact
    enough = max(AS_GOOD * asked.measured, NOTHING) if math.isfinite(asked.measured) else NOTHING
    found = _in_floats(asked, point, enough)
    exact = None if found.gap <= enough else _exactly(asked, point, AT_MOST)
    if exact is None:
        return found, None
    better = joint_rational.rational_gap(asked.program, b, point, exact)
    return (better if better.gap <= found.gap else found), exact


def _exactly(asked: AskedJoint, point: FeasibleJoint, most: float) -> Sequence[ExactValues] | None:
    """⟨w_c, φ⟩ of each class in rational numbers, where they are had for so many multiplications in all."""
    program, found = asked.program, []
    left = most / program.k - EACH_ROW * program.n
    if left <= 0.0:
        return None
    for held, column in zip(asked.held.parts, point.beta.T, strict=True):
        part = asked.space.exact(held, [Fraction(value) for value in column.tolist()], left)
        if part is None:
            return None
        found.append(part)
    return found


def _in_floats(asked: AskedJoint, point: FeasibleJoint, enough: float) -> GapBounds:
    """Bounds in floats, sharper until the gap is at most `enough`."""
    space, held = asked.space, asked.held
    columns, exactly = [np.ascontiguousarray(column) for column in point.beta.T], np.zeros(point.program.n)
    each = list(zip(held.parts, columns, strict=True))
    measured = [space.measured(part, column, exactly) for part, column in each]
    found, upper = _by_terms(point, held, measured)
    if found.gap <= enough:
        return found
    rows = rows_that_matter(upper)
    sharp = [space.sharpened(part, rows) for part in held.parts]
    better = [
        own if values is None else replace(own, values=sharpened(own.values, rows, values))
        for own, values in zip(measured, sharp, strict=True)
    ]
    if sum(own.apart * own.apart for own in better) > LEFT * found.difference[1]:
        lengths = [space.sharpened_apart(part, column, exactly) for part, column in each]
        better = [
            own if apart is None else replace(own, apart=min(own.apart, apart))
            for own, apart in zip(better, lengths, strict=True)
        ]
    other, _ = _by_terms(point, held, better)
    return other if other.gap < found.gap else found


def _by_terms(point: FeasibleJoint, held: HeldJoint, measured: Sequence[Measured]) -> tuple[GapBounds, FloatArray]:
    """(JBOUND.4), P and D; and the terms from above, (n,)."""
    sums = joint_terms.summed(point, [part.values for part in measured], held.b)
    ridge = cost = penalty = Fraction(0)
    if point.program.intercept == "penalised":
        b = [Fraction(value) for value in held.b.tolist()]
        ridge = sum(((v - net) ** 2 for v, net in zip(b, point.nets, strict=True)), Fraction(0)) / 2
        cost = sum((v * v for v in b), Fraction(0)) / 2
        penalty = sum((net * net for net in point.nets), Fraction(0)) / 2
    gain = rounded(point.total - penalty)
    own = [part.own_half or own_half_square(part) for part in measured]
    dual = sum_below(gain[0], *(-high for _, high in own)), -sum_below(-gain[1], *(low for low, _ in own))
    squares = [part.half_square for part in measured]
    primal = (
        sum_below(below(cost), sums.losses[0], *(low for low, _ in squares)),
        -sum_below(-above(cost), -sums.losses[1], *(-high for _, high in squares)),
    )
    apart = [0.5 * part.apart * part.apart * OUT + UNDERFLOW for part in measured]
    difference: Interval = (
        sum_below(IN * sums.terms[0], below(ridge), *(part.half_apart_low for part in measured)),
        -sum_below(-sums.terms[1], -above(ridge), *(-part for part in apart)),
    )
    return assembled(primal, dual, difference), sums.upper


def _remains(
    asked: AskedJoint, point: FeasibleJoint, exact: Sequence[ExactValues], gap: float
) -> tuple[float, str]:  # fmt: skip
    """The gap with better intercepts, where that is clearly less; and a sentence about it."""
    program = asked.program
    b = [Fraction(value) for value in asked.held.b.tolist()]
    better = None if program.n * program.k**2 > FEW else joint_rational.better_intercepts(program, b, exact)
    if better is None:
        return gap, ""
    least = joint_rational.rational_gap(program, better, point, exact).gap
    if not least < 0.5 * gap:
        return gap, ""
    return least, (
        f"with other b for these w, rational numbers next to {[float(value) for value in better]}, the gap is at most "
        f"{at_most(least)}: the rest is what the rounding of b to floats costs"
    )
