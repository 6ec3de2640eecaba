"""Compute the optimum of a small convex QP in fractions, and check certificates of infeasible and unbounded QPs.

`compute_optimum` tries every set of active inequalities: for each it solves the KKT system (QP.1) exactly, and
the first point that is feasible and has multipliers ≥ 0 is an optimum. The cost is exponential: it is for a few
variables only.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
from exact_arithmetic import Vector, as_fraction_rows, as_fractions, dot, solve_linear_system

from qpsvm import QP, QPResult

#: A row g and its right-hand side h: gᵀx ≤ h, or gᵀx = h.
Constraint = tuple[Vector, Fraction]


def compute_optimum(qp: QP) -> Fraction | None:
    """Compute the optimal value; None if no set of independent active rows has multipliers of the right signs."""
    P = as_fraction_rows(qp.P.dense())
    P = [[(P[i][j] + P[j][i]) / 2 for j in range(qp.n)] for i in range(qp.n)]
    q = as_fractions(qp.q)
    if qp.A is None:
        equalities = []
    else:
        equalities = list(zip(as_fraction_rows(qp.A), as_fractions(qp.b), strict=True))
    inequalities = _list_inequalities(qp)
    for active in _iter_active_sets(inequalities, qp.n - len(equalities)):
        rows = [*equalities, *active]
        kkt = [[*P[i], *(row[i] for row, _ in rows), -q[i]] for i in range(qp.n)]
        kkt += [[*row, *([Fraction(0)] * len(rows)), rhs] for row, rhs in rows]
        point = solve_linear_system(kkt)
        if point is None or any(value < 0 for value in point[qp.n + len(equalities) :]):
            continue
        x = point[: qp.n]
        if all(dot(row, x) <= rhs for row, rhs in inequalities):
            return dot(x, [dot(row, x) for row in P]) / 2 + dot(q, x) + Fraction(float(qp.r))
    return None


def _list_inequalities(qp: QP) -> list[Constraint]:
    """List the rows of G and the finite bounds as gᵀx ≤ h."""
    lb, ub = qp.bounds
    if qp.G is None:
        found = []
    else:
        found = list(zip(as_fraction_rows(qp.G), as_fractions(qp.h), strict=True))
    for j in range(qp.n):
        unit = [Fraction(int(i == j)) for i in range(qp.n)]
        if np.isfinite(ub[j]):
            found.append((unit, Fraction(float(ub[j]))))
        if np.isfinite(lb[j]):
            found.append(([-value for value in unit], -Fraction(float(lb[j]))))
    return found


def _iter_active_sets(rows: list[Constraint], max_size: int) -> Iterator[tuple[Constraint, ...]]:
    """Yield all sets of at most `max_size` rows, small ones first."""
    for size in range(max_size + 1):
        yield from combinations(rows, size)


def proves_infeasible(qp: QP, result: QPResult) -> bool:
    """Say whether the multipliers of a result exclude every x: zᵀGx + yᵀAx > zᵀh + yᵀb at every x within its bounds.

    Where a variable has no bound on the side that matters, its coefficient may be rounding only.
    """
    z, y = as_fractions(result.z), as_fractions(result.y)
    rows = [([] if M is None else as_fraction_rows(M)) for M in (qp.A, qp.G)]
    rhs = [([] if side is None else as_fractions(side)) for side in (qp.b, qp.h)]
    excess = -dot(y, rhs[0]) - dot(z, rhs[1])
    for j, bounds in enumerate(zip(*qp.bounds, strict=True)):
        terms = [v * row[j] for part, M in zip((y, z), rows, strict=True) for v, row in zip(part, M, strict=True)]
        coefficient = sum(terms, Fraction(0))
        bound = float(bounds[coefficient < 0])
        if np.isfinite(bound):
            excess += coefficient * Fraction(bound)
        elif abs(coefficient) > Fraction(1, 10**12) * sum(map(abs, terms)):
            return False
    return excess > 0 and all(value >= 0 for value in z)


def proves_unbounded(qp: QP, result: QPResult) -> bool:
    """Say whether a result's ray d has Pd = 0, qᵀd < 0, Gd ≤ 0, Ad = 0 and respects all bounds.

    Pd = 0 may fail by the change of the data that the result reports, and Ad = 0 by rounding, if d is not integers.
    """
    d = as_fractions(result.ray)
    share = 4 * Fraction(result.data_change)
    rounding = Fraction(0 if all(value.denominator == 1 for value in d) else 2.0**-52)

    def is_zero(rows: list[list[Fraction]], tol: Fraction) -> bool:
        products = [[a * b for a, b in zip(row, d, strict=True)] for row in rows]
        return all(abs(sum(terms, Fraction(0))) <= tol * sum(map(abs, terms)) for terms in products)

    descends = dot(as_fractions(qp.q), d) < 0
    keeps_inequalities = all(dot(row, d) <= 0 for row in ([] if qp.G is None else as_fraction_rows(qp.G)))
    keeps_equalities = is_zero([] if qp.A is None else as_fraction_rows(qp.A), rounding)
    keeps_bounds = all(
        (v >= 0 or not np.isfinite(low)) and (v <= 0 or not np.isfinite(high))
        for v, low, high in zip(d, *qp.bounds, strict=True)
    )
    return (
        is_zero(as_fraction_rows(qp.P.dense()), share + rounding)
        and descends
        and keeps_inequalities
        and keeps_equalities
        and keeps_bounds
    )
