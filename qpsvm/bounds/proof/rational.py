"""The gap in rational numbers: no rounding at all, for machines of few samples.

    (RATIO.1)  P = ½‖w‖² + Σψ_k(t_k) + eᵀμ + ½ΣRμ²,  D = ℓᵀα − ½‖w(α)‖² − ½Σδα² − ½Σ(Eᵀα − e)²/R, term by term

With a kernel whose values are irrational, each number is between two rational ones, and so are P and D.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from qpsvm.base.arrays.exactly import above, below, root_above, root_below
from qpsvm.bounds.proof.exact_dual import ExactDual, Held
from qpsvm.bounds.proof.feasible import Feasible, missing
from qpsvm.bounds.proof.spaces import Between, ExactValues
from qpsvm.bounds.proof.terms import GapBounds


@dataclass(frozen=True, eq=False)
class RationalGap:
    """(RATIO.1) as it is.

    primal, dual, difference: Each between two; None for P and P − D where P is infinite.
    apart, square: ‖w − w(α)‖² from above, and ‖w‖² from below.
    """

    primal: Between | None
    dual: Between
    difference: Between | None
    apart: Fraction
    square: Fraction

    @property
    def bounds(self) -> GapBounds:
        """The same in floats."""
        infinite = (float("inf"), float("inf"))
        low, high = self.dual
        return GapBounds(
            infinite if self.primal is None else (below(self.primal[0]), above(self.primal[1])),
            (below(low), above(high)),
            infinite if self.difference is None else (below(self.difference[0]), above(self.difference[1])),
            True, root_above(self.apart), root_below(self.square),
        )  # fmt: skip


def shortfalls(program: ExactDual, held: Held, exact: ExactValues) -> list[Between]:
    """t_k of (DUAL.2), each between two: (m,)."""
    values = exact.values
    found = []
    for k in range(program.m):
        sign = int(program.sign[k])
        if program.mix is None:
            low, high = values[k if program.rows is None else int(program.rows[k])]
        else:
            row = slice(*program.mix.indptr[k : k + 2])
            low = high = Fraction(0)
            for i, a in zip(program.mix.indices[row].tolist(), program.mix.data[row].tolist(), strict=True):
                ends = sorted((Fraction(a) * values[i][0], Fraction(a) * values[i][1]))
                low, high = low + ends[0], high + ends[1]
        fixed = program.level[k]
        for group in program.groups:
            fixed -= group.entry(k) * held.multipliers[group.multiplier]
        found.append((fixed - high, fixed - low) if sign > 0 else (fixed + low, fixed + high))
    return found


def loss(program: ExactDual, k: int, t: Fraction) -> Fraction | None:
    """ψ_k of (LOSS.1); None where it is infinite."""
    if t <= 0:
        return Fraction(0)
    bend = program.curvature[k]
    U = program.price.finite(k)
    if bend == 0:
        return None if U is None else U * t
    if U is not None and t > bend * U:
        return U * t - bend * U * U / 2
    return t * t / (2 * bend)


def _apart(point: Feasible, exact: ExactValues) -> Fraction:
    """‖w − w(α)‖² = ‖w‖² − 2Σ_j β_j⟨w, φ(x_j)⟩ + ‖w(α)‖² from above."""
    product = Fraction(0)
    for beta, (low, high) in zip(point.exact_beta(), exact.values, strict=True):
        if beta:
            product += beta * (low if beta > 0 else high)
    return max(exact.square[1] - 2 * product + exact.own_square[1], Fraction(0))


def rational_gap(program: ExactDual, held: Held, point: Feasible, exact: ExactValues) -> RationalGap:
    """(RATIO.1) for numbers that are exact."""
    dual = -exact.own_square[1] / 2, -exact.own_square[0] / 2
    rest = Fraction(0)
    for k in range(program.m):
        a = point[k]
        if a:
            rest += program.level[k] * a - program.curvature[k] * a * a / 2
    cost = Fraction(0)
    for group in program.groups:
        mu = held.multipliers[group.multiplier]
        cost += group.total * mu + group.ridge * mu * mu / 2
        if group.ridge:
            rest -= missing(group, point) ** 2 / group.ridge / 2
    dual = dual[0] + rest, dual[1] + rest
    apart = _apart(point, exact)
    low, high = exact.square[0] / 2 + cost, exact.square[1] / 2 + cost
    for k, (t_low, t_high) in enumerate(shortfalls(program, held, exact)):
        one = loss(program, k, t_high)
        if one is None:
            return RationalGap(None, dual, None, apart, exact.square[0])
        high += one
        low += one if t_low == t_high else loss(program, k, t_low) or Fraction(0)
    difference = low - dual[1], high - dual[0]
    return RationalGap((low, high), dual, difference, apart, exact.square[0])
