"""Solve linear systems in rational numbers.

Floats are integers times a power of 2, so that a row of floats is a row of integers, and elimination without fractions
keeps integers: row_i ← p row_i − f row_k, divided by what its entries have in common (Bareiss, *Sylvester's identity
and multistep integer-preserving Gaussian elimination*, Math. Comp. 22 (1968)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rationals import as_integers, round_up
from qpsvm.base.arrays.types import FloatArray

#: The most multiplications of an elimination, and the largest denominator of a number that is guessed.
MOST_STEPS, DENOMINATOR = 300_000, 10_000
#: Singular values, as shares of the largest, that are 0 but for rounding; how near a guess has to be, as a share of it.
FLAT, CLOSE = 1e-12, Fraction(1, 10**12)


def _integer_row(row: FloatArray) -> list[int]:
    """A positive multiple of a row (n,) whose entries are integers."""
    return _without_factor(as_integers(row)[0])


def _without_factor(row: list[int]) -> list[int]:
    factor = math.gcd(*row)
    return [value // factor for value in row] if factor > 1 else row


def _reduce_to_echelon(rows: Sequence[list[int]], columns: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """The rows in reduced echelon form, without those that are 0, and the column of each one's pivot.

    columns: Where pivots are looked for, in this order.
    """
    left = [row for row in rows if any(row)]
    done: list[list[int]] = []
    pivots: list[int] = []
    for column in columns:
        place = next((k for k, row in enumerate(left) if row[column]), None)
        if place is None:
            continue
        head = left.pop(place)
        left = [row for row in (_eliminate(row, head, column) for row in left) if any(row)]
        done = [_eliminate(row, head, column) for row in done]
        done.append(head)
        pivots.append(column)
        if not left:
            break
    return done, pivots


def _eliminate(row: list[int], head: list[int], column: int) -> list[int]:
    """A multiple of the row, less one of the head, that is 0 in the column."""
    factor = row[column]
    if not factor:
        return row
    pivot = head[column]
    return _without_factor([pivot * a - factor * b for a, b in zip(row, head, strict=True)])


def null_vector(rows: FloatArray, near: FloatArray) -> list[Fraction] | None:
    """A vector v (n,) near the one given, with Mv = 0 exactly for the rows M (k, n); None where that is too much work.

    The one given is brought to Mv = 0 in floats first.

    The largest entries of `near` are free: guessed where a small denominator is near, else taken as they are. The
    others follow from them.
    """
    k, n = rows.shape
    if k * n * min(k, n) > MOST_STEPS:
        return None
    if k:
        lengths = np.linalg.norm(rows, axis=1)
        scaled = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        near = near - np.linalg.lstsq(scaled, scaled @ near, rcond=FLAT)[0]
    order = np.argsort(np.abs(near), kind="stable").tolist()
    done, pivots = _reduce_to_echelon([_integer_row(row) for row in rows], order)
    largest = float(np.abs(near).max(initial=0.0)) or 1.0
    free = set(range(n)).difference(pivots)
    found = [_round_to_simple(value / largest) if j in free else Fraction(0) for j, value in enumerate(near.tolist())]
    for row, column in zip(done, pivots, strict=True):
        found[column] = -sum((row[j] * found[j] for j in free if row[j]), Fraction(0)) / row[column]
    return found


def _round_to_simple(value: float) -> Fraction:
    """A number with a small denominator where one is next to it, else the float."""
    exact = Fraction(value)
    small = exact.limit_denominator(DENOMINATOR)
    return small if abs(small - exact) <= abs(exact) * CLOSE else exact


def combinations_of(row: FloatArray, basis: FloatArray, near: FloatArray) -> list[list[Fraction]]:
    """Coefficients c (k,) with which Σ c_i basis_i may be the row (n,), near those given: guessed, solved, and these.

    Shapes: basis (k, n) of independent rows, near (k,).
    """
    found = [[Fraction(value).limit_denominator(DENOMINATOR) for value in near.tolist()]]
    k, n = basis.shape
    if k * k * n <= MOST_STEPS:
        columns = np.vstack([basis, row]).T  # (n, k + 1): c is where these rows take (c, −1) to 0
        done, pivots = _reduce_to_echelon([_integer_row(each) for each in columns], range(k + 1))
        if pivots == list(range(k)):
            found.append([Fraction(each[k], each[j]) for j, each in enumerate(done)])
    return [*found, [Fraction(value) for value in near.tolist()]]


def as_multiple(vector: Sequence[Fraction]) -> FloatArray:
    """Floats (n,) of a positive multiple of a rational vector: exactly that, where integers below 2⁵³ are one."""
    common = math.lcm(*(value.denominator for value in vector))
    whole = _without_factor([value.numerator * (common // value.denominator) for value in vector])
    largest = max(map(abs, whole), default=0)
    if largest < 2**53:
        return np.array(whole, dtype=np.float64)
    return np.array([value / largest for value in whole])


def combine_rows(
    M: sp.csr_array, sides: FloatArray, members: Sequence[int], c: Sequence[Fraction], fixed: Mapping[int, float]
) -> tuple[dict[int, Fraction], Fraction]:
    """The entries of Σ c_i row_i that are not 0, and Σ c_i b_i.

    fixed: Variables with one value; what they add is part of the sides.
    """
    combined: dict[int, Fraction] = {}
    side = Fraction(0)
    for factor, i in zip(c, members, strict=True):
        if factor:
            part = slice(M.indptr[i], M.indptr[i + 1])
            for j, value in zip(M.indices[part].tolist(), M.data[part].tolist(), strict=True):
                combined[j] = combined.get(j, Fraction(0)) + factor * Fraction(value)
            side += factor * Fraction(float(sides[i]))
    for j in fixed.keys() & combined.keys():
        side -= combined.pop(j) * Fraction(fixed[j])
    return {j: value for j, value in combined.items() if value}, side


def largest_change(M: sp.csr_array, i: int, factor: Fraction, rests: Mapping[int, Fraction]) -> float:
    """The largest relative change of an entry of row i by which a combination of it becomes 0; ∞ if one is 0.

    rests: What the entries of the combination are, where `factor` is the coefficient of row i.
    """
    part = slice(M.indptr[i], M.indptr[i + 1])
    entries = dict(zip(M.indices[part].tolist(), M.data[part].tolist(), strict=True))
    if not factor or any(not entries.get(j) for j in rests):
        return math.inf
    return round_up(
        max((abs(rest / (factor * Fraction(entries[j]))) for j, rest in rests.items()), default=Fraction(0))
    )
