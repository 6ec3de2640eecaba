"""Compute the gap in rational numbers, for machines with few samples (`rational_gap`).

    (RATIO.1)  P = ½‖w‖² + Σψ_k(t_k) + eᵀμ + ½ΣRμ²,  D = ℓᵀα − ½‖w(α)‖² − ½Σδα² − ½Σ(Eᵀα − e)²/R, term by term

If the kernel has irrational values, each value is enclosed between two rational numbers, and so are P and D.
"""

from __future__ import annotations

import math
from fractions import Fraction

from qpsvm.base.arrays.rationals import round_down, round_up, sqrt_rounded_down, sqrt_rounded_up
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import Feasible
from qpsvm.bounds.proof.spaces import Between, ExactValues
from qpsvm.bounds.proof.terms import GapBounds, Interval, group_parts

#: Bounds of P if it is infinite.
NONE = (math.inf, math.inf)


def violations(program: ExactDual, primal_point: Primal, exact: ExactValues) -> list[Between]:
    """Return intervals of t_k of (DUAL.2): (m,)."""
    intervals = []
    for k in range(program.m):
        fixed = program.level[k]
        for group in program.groups:
            fixed -= group.entry(k) * primal_point.multipliers[group.multiplier]
        ends = [sorted((factor * exact.values[i][0], factor * exact.values[i][1])) for i, factor in program.row(k)]
        intervals.append((fixed - sum(high for _, high in ends), fixed - sum(low for low, _ in ends)))
    return intervals


def loss(program: ExactDual, k: int, t: Fraction) -> Fraction | None:
    """Return ψ_k(t) of (LOSS.1); None if it is infinite."""
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


def rational_gap(program: ExactDual, primal_point: Primal, point: Feasible, exact: ExactValues) -> GapBounds:
    """Evaluate (RATIO.1) exactly, and round the results outwards to floats."""
    cost, penalty, _ = group_parts(program, primal_point, point)
    dual_terms = -penalty
    for k in range(program.m):
        a = point[k]
        if a:
            dual_terms += program.level[k] * a - program.curvature[k] * a * a / 2
    dual = dual_terms - exact.own_square[1] / 2, dual_terms - exact.own_square[0] / 2
    low, high = exact.square[0] / 2 + cost, exact.square[1] / 2 + cost
    t_intervals = violations(program, primal_point, exact)
    distance, length = sqrt_rounded_up(_bound_square_distance(point, exact)), sqrt_rounded_down(exact.square[0])
    for first in range(0, program.m, program.width):
        t_low, t_high = (max(ends) for ends in zip(*t_intervals[first : first + program.width], strict=True))
        loss_high = loss(program, first, t_high)
        if loss_high is None:
            return GapBounds(NONE, _enclose(*dual), NONE, True, distance, length)
        high += loss_high
        low += loss_high if t_low == t_high else loss(program, first, t_low) or 0
    return GapBounds(
        _enclose(low, high), _enclose(*dual), _enclose(low - dual[1], high - dual[0]), True, distance, length
    )


def _enclose(low: Fraction, high: Fraction) -> Interval:
    return round_down(low), round_up(high)
