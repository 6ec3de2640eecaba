"""The optimum of a small convex QP in fractions: every set of active rows in turn, and (QP.1) of each."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from qpsvm import QP, QPResult

Row = list[Fraction]


def fractions(values: object) -> list[Row]:
    """The numbers of a matrix (m, n), exactly."""
    return [[Fraction(float(value)) for value in row] for row in np.atleast_2d(np.asarray(values, dtype=float))]


def solution(matrix: list[Row], right: Row) -> Row | None:
    """Of a square system; None where it is singular."""
    k = len(matrix)
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    for column in range(k):
        pivot = next((place for place in range(column, k) if rows[place][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column] = [value / rows[column][column] for value in rows[column]]
        for place in range(k):
            factor = rows[place][column]
            if place != column and factor:
                rows[place] = [a - factor * b for a, b in zip(rows[place], head, strict=True)]
    return [row[-1] for row in rows]


def product(row: Row, x: Row) -> Fraction:
    return sum((a * b for a, b in zip(row, x, strict=True)), Fraction(0))


def inequalities(qp: QP) -> list[tuple[Row, Fraction]]:
    """Rows of G and of the finite bounds: gᵀx ≤ h."""
    n, (lb, ub) = qp.n, qp.bounds
    found = (
        [] if qp.G is None else [(row, Fraction(float(h))) for row, h in zip(fractions(dense(qp.G)), qp.h, strict=True)]
    )
    for j in range(n):
        unit = [Fraction(int(i == j)) for i in range(n)]
        if np.isfinite(ub[j]):
            found.append((unit, Fraction(float(ub[j]))))
        if np.isfinite(lb[j]):
            found.append(([-value for value in unit], -Fraction(float(lb[j]))))
    return found


def dense(M: object) -> np.ndarray:
    return M.toarray() if hasattr(M, "toarray") else np.asarray(M)


def optimum(qp: QP) -> Fraction | None:
    """The value, where some set of independent active rows has multipliers of the right signs; else None."""
    P = fractions(qp.P.dense())
    P = [[(P[i][j] + P[j][i]) / 2 for j in range(qp.n)] for i in range(qp.n)]
    q = fractions(qp.q)[0]
    equal = [] if qp.A is None else list(zip(fractions(dense(qp.A)), [Fraction(float(b)) for b in qp.b], strict=True))
    rows = inequalities(qp)
    for active in _sets(rows, qp.n - len(equal)):
        held = [*equal, *active]
        k = len(held)
        matrix = [[*P[i], *(row[i] for row, _ in held)] for i in range(qp.n)]
        matrix += [[*row, *([Fraction(0)] * k)] for row, _ in held]
        found = solution(matrix, [-value for value in q] + [side for _, side in held])
        if found is None or any(value < 0 for value in found[qp.n + len(equal) :]):
            continue
        x = found[: qp.n]
        if all(product(row, x) <= side for row, side in rows):
            return product(x, [product(row, x) for row in P]) / 2 + product(q, x) + Fraction(float(qp.r))
    return None


def _sets(rows: list[tuple[Row, Fraction]], most: int) -> Iterator[tuple[tuple[Row, Fraction], ...]]:
    for size in range(most + 1):
        yield from combinations(rows, size)


def proves_infeasible(qp: QP, result: QPResult) -> bool:
    """Whether the multipliers of a result exclude all x, and leave nothing but rounding where there is no bound."""
    z, y = fractions(result.z)[0], fractions(result.y)[0]
    rows = [([] if M is None else fractions(dense(M))) for M in (qp.A, qp.G)]
    sides = [([] if side is None else fractions(side)[0]) for side in (qp.b, qp.h)]
    excess = -product(y, sides[0]) - product(z, sides[1])
    for j, ends in enumerate(zip(*qp.bounds, strict=True)):
        terms = [v * row[j] for part, M in zip((y, z), rows, strict=True) for v, row in zip(part, M, strict=True)]
        rest = sum(terms, Fraction(0))
        end = float(ends[rest < 0])
        if np.isfinite(end):
            excess += rest * Fraction(end)
        elif abs(rest) > Fraction(1, 10**12) * sum(map(abs, terms)):
            return False
    return excess > 0 and all(value >= 0 for value in z)


def proves_unbounded(qp: QP, result: QPResult) -> bool:
    """Whether a result's ray has Pd = 0, qᵀd < 0, Gd ≤ 0, Ad = 0 and keeps all bounds: P may be off by the change."""
    d, share = fractions(result.ray)[0], 4 * Fraction(result.data_change)
    curved = [[a * b for a, b in zip(row, d, strict=True)] for row in fractions(qp.P.dense())]
    flat = all(abs(sum(terms, Fraction(0))) <= share * sum(map(abs, terms)) for terms in curved)
    falls = product(fractions(qp.q)[0], d) < 0
    over = all(product(row, d) <= 0 for row in ([] if qp.G is None else fractions(dense(qp.G))))
    even = all(product(row, d) == 0 for row in ([] if qp.A is None else fractions(dense(qp.A))))
    kept = all(
        (v >= 0 or not np.isfinite(low)) and (v <= 0 or not np.isfinite(high))
        for v, low, high in zip(d, *qp.bounds, strict=True)
    )
    return flat and falls and over and even and kept
