"""The optimum of a small convex QP in fractions: every set of active rows in turn, and (QP.1) of each."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from qpsvm import QP

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
