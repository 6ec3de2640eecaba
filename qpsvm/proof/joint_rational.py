"""The gap of a machine of several classes in rational numbers, (RATIO.1), for few samples.

    (JRATIO.1)  P = ½Σ_c ‖w_c‖² + Σ L_i + ½Σ_c b_c²,  D = Σα − ½Σ_c ‖w_c(α)‖² − ½Σ_c (Σ_i β_ic)², term by term; what is
                squared of b and β only with a penalised intercept
    (JRATIO.2)  with the other b as they are, P is convex and piecewise linear in one free b_c: its least value is at a
                b_c where some t is 0, or two of a sample's are the same, as in (JB.2)

Names and equations are those of `dual.joint`; numbers are Fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from qpsvm.proof.bounds import GapBounds
from qpsvm.proof.exactly import above, below
from qpsvm.proof.intercept import lowest
from qpsvm.proof.joint_dual import ExactJoint, FeasibleJoint
from qpsvm.proof.spaces import Between, ExactValues

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
