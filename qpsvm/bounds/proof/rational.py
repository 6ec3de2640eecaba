"""Compute the gap in rational numbers, for machines with few samples (`bound_gap_in_rationals`).

    (RATIO.1)  P = ½‖w‖² + Σψ_k(t_k) + eᵀμ + ½ΣRμ²,  D = ℓᵀα − ½‖w(α)‖² − ½Σδα² − ½Σ(Eᵀα − e)²/R, term by term

If the kernel has irrational values, each is enclosed between two rational numbers, and so are P and D. Then the sum of
the terms of (GAP.1) bounds P − D more sharply: α = 0 outside the margin or α = U inside makes a term 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from qpsvm.base.arrays.rationals import round_down, round_up, sqrt_rounded_down, sqrt_rounded_up
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.feasible import FeasibleAlpha
from qpsvm.bounds.proof.gap_bounds import GapBounds, Interval
from qpsvm.bounds.proof.spaces import ExactValues, RationalInterval
from qpsvm.bounds.proof.terms import compute_group_terms

#: Bounds of P if it is infinite.
INFINITE = (math.inf, math.inf)


def bound_gap_in_rationals(
    program: ExactDual, primal_point: Primal, point: FeasibleAlpha, exact: ExactValues
) -> GapBounds:
    """Bound P, D and P − D by (RATIO.1) in rational numbers, and round the bounds outwards to floats."""
    cost, penalty, ridge = compute_group_terms(program, primal_point, point)
    dual_terms = -penalty
    for k in range(program.m):
        if alpha := point[k]:
            dual_terms += program.level[k] * alpha - program.curvature[k] * alpha * alpha / 2
    dual = dual_terms - exact.dual_square[1] / 2, dual_terms - exact.dual_square[0] / 2
    low, high = exact.square[0] / 2 + cost, exact.square[1] / 2 + cost
    violations = bound_violations_exactly(program, primal_point, exact)
    distance, min_norm = sqrt_rounded_up(exact.square_distance[1]), sqrt_rounded_down(exact.square[0])
    difference = max(exact.square_distance[1], Fraction(0)) / 2 + ridge
    for first in range(0, program.m, program.block_size):
        block = violations[first : first + program.block_size]
        t_low, t_high = (max(ends) for ends in zip(*block, strict=True))
        loss_high = _compute_loss(program, first, t_high)
        if loss_high is None:
            return GapBounds(INFINITE, _enclose(*dual), INFINITE, True, distance, min_norm)
        high += loss_high
        low += loss_high if t_low == t_high else _compute_loss(program, first, t_low) or 0
        difference += _bound_terms(program, point, first, block)
    difference = min(difference, high - dual[0])
    return GapBounds(
        _enclose(low, high), _enclose(*dual), _enclose(min(low - dual[1], difference), difference), True, distance,
        min_norm,
    )  # fmt: skip


def bound_violations_exactly(program: ExactDual, primal_point: Primal, exact: ExactValues) -> list[RationalInterval]:
    """Enclose t_k of (DUAL.2) for all rows, (m,), between rational numbers."""
    intervals = []
    for k in range(program.m):
        fixed = program.level[k]
        for group in program.groups:
            fixed -= group.get_entry(k) * primal_point.multipliers[group.multiplier]
        terms = program.list_row_terms(k)
        ends = [sorted((factor * exact.values[i][0], factor * exact.values[i][1])) for i, factor in terms]
        intervals.append((fixed - sum(high for _, high in ends), fixed - sum(low for low, _ in ends)))
    return intervals


def _compute_loss(program: ExactDual, k: int, t: Fraction) -> Fraction | None:
    """Return ψ_k(t) of (LOSS.1); None if it is infinite."""
    if t <= 0:
        return Fraction(0)
    curvature = program.curvature[k]  # δ_k
    U = program.upper.get_finite(k)
    if curvature == 0:
        return None if U is None else U * t
    if U is not None and t > curvature * U:
        return U * t - curvature * U * U / 2
    return t * t / (2 * curvature)


def _bound_terms(program: ExactDual, point: FeasibleAlpha, first: int, t: Sequence[RationalInterval]) -> Fraction:
    """Bound the sum of the terms g of (BOUND.2) or (BOUND.5) of a block from above, if its loss is finite.

    first: The first row of the block, whose rows share a slack.
    t: The intervals of t_k of its rows.
    """
    alphas = [point[first + k] for k in range(len(t))]
    if len(t) == 1:  # convex in t, so that the maximum is at an end
        quadratic_term = program.curvature[first] * alphas[0] * alphas[0] / 2
        return max((_compute_loss(program, first, end) or 0) - alphas[0] * end for end in t[0]) + quadratic_term
    largest = max(Fraction(0), *(high for _, high in t))
    U = program.upper.get_finite(first)
    total = Fraction(0) if U is None else (U - sum(alphas)) * largest
    for k, alpha in enumerate(alphas):
        if alpha:
            others = max(Fraction(0), *(high for other, (_, high) in enumerate(t) if other != k))
            total += alpha * max(others - t[k][0], Fraction(0))
    return total


def _enclose(low: Fraction, high: Fraction) -> Interval:
    """Round outwards to floats."""
    return round_down(low), round_up(high)
