"""Compute the gap in rational numbers, for machines with few samples.

    (RATIO.1)  P = ½‖w‖² + Σψ_k(t_k) + eᵀμ + ½ΣRμ²,  D = ℓᵀα − ½‖w(α)‖² − ½Σδα² − ½Σ(Eᵀα − e)²/R, term by term

With a kernel whose values are irrational, each number is between two rational ones, and so are P and D.
"""

from __future__ import annotations

import math
from fractions import Fraction

from qpsvm.base.arrays.rationals import round_down, round_up, sqrt_rounded_down, sqrt_rounded_up
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import Feasible
from qpsvm.bounds.proof.spaces import Between, ExactValues
from qpsvm.bounds.proof.terms import GapBounds, Interval, group_parts

#: P where it is infinite.
NONE = (math.inf, math.inf)


def violations(program: ExactDual, held: Primal, exact: ExactValues) -> list[Between]:
    """t_k of (DUAL.2), each between two: (m,)."""
    found = []
    for k in range(program.m):
        fixed = program.level[k]
        for group in program.groups:
            fixed -= group.entry(k) * held.multipliers[group.multiplier]
        ends = [sorted((factor * exact.values[i][0], factor * exact.values[i][1])) for i, factor in program.row(k)]
        found.append((fixed - sum(high for _, high in ends), fixed - sum(low for low, _ in ends)))
    return found


def loss(program: ExactDual, k: int, t: Fraction) -> Fraction | None:
    """ψ_k of (LOSS.1); None where it is infinite."""
    if t <= 0:
        return Fraction(0)
    bend = program.curvature[k]
    U = program.upper.get_finite(k)
    if bend == 0:
        return None if U is None else U * t
    if U is not None and t > bend * U:
        return U * t - bend * U * U / 2
    return t * t / (2 * bend)


def _bound_square_distance(point: Feasible, exact: ExactValues) -> Fraction:
    """Bound ‖w − w(α)‖² = ‖w‖² − 2Σ_j β_j⟨w, φ(x_j)⟩ + ‖w(α)‖² from above."""
    product = Fraction(0)
    for beta, (low, high) in zip(point.exact_beta(), exact.values, strict=True):
        if beta:
            product += beta * (low if beta > 0 else high)
    return max(exact.square[1] - 2 * product + exact.own_square[1], Fraction(0))


def rational_gap(program: ExactDual, held: Primal, point: Feasible, exact: ExactValues) -> GapBounds:
    """(RATIO.1) for numbers that are exact, as the floats next to it."""
    cost, penalty, _ = group_parts(program, held, point)
    rest = -penalty
    for k in range(program.m):
        a = point[k]
        if a:
            rest += program.level[k] * a - program.curvature[k] * a * a / 2
    dual = rest - exact.own_square[1] / 2, rest - exact.own_square[0] / 2
    low, high = exact.square[0] / 2 + cost, exact.square[1] / 2 + cost
    short = violations(program, held, exact)
    apart, length = sqrt_rounded_up(_bound_square_distance(point, exact)), sqrt_rounded_down(exact.square[0])
    for first in range(0, program.m, program.width):
        t_low, t_high = (max(ends) for ends in zip(*short[first : first + program.width], strict=True))
        one = loss(program, first, t_high)
        if one is None:
            return GapBounds(NONE, _enclose(*dual), NONE, True, apart, length)
        high += one
        low += one if t_low == t_high else loss(program, first, t_low) or 0
    return GapBounds(_enclose(low, high), _enclose(*dual), _enclose(low - dual[1], high - dual[0]), True, apart, length)


def _enclose(low: Fraction, high: Fraction) -> Interval:
    return round_down(low), round_up(high)
