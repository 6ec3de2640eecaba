"""From the numbers of a machine of several classes to a theorem about them.

    (JPROVE.1)  α̂ of `feasible_joint`; w_c and b as they are
    (JPROVE.2)  of few samples (JRATIO.1), of many (JBOUND.4), sharper where that is loose: (PROVE.2), (PROVE.3)

Spaces, constants and sentences are those of `proof.prove`: a space is looked at once for each class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.arrays.rounding import UNDERFLOW
from qpsvm.arrays.types import FloatArray
from qpsvm.arrays.words import at_most
from qpsvm.proof import joint_rational, joint_terms
from qpsvm.proof.bounds import GapBounds, Interval
from qpsvm.proof.duality import duality_by_matrix
from qpsvm.proof.exactly import above, below, rounded
from qpsvm.proof.joint_dual import ExactJoint, FeasibleJoint, HeldJoint, feasible_joint
from qpsvm.proof.proof import Claim, Proof
from qpsvm.proof.prove import (
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
from qpsvm.proof.sentences import concluded, nothing
from qpsvm.proof.spaces import ExactValues, Measured, Space
from qpsvm.proof.terms import IN, OUT

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
