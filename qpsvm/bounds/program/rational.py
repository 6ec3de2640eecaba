"""Solve linear systems and combine rows in rational numbers (`find_null_vector`, `find_rational_combinations`).

Floats are integers times a power of 2, so a row of floats is a multiple of a row of integers, and fraction-free
elimination keeps integers: row_i ← p row_i − f row_k, divided by the common divisor of its entries (Bareiss,
*Sylvester's identity and multistep integer-preserving Gaussian elimination*, Math. Comp. 22 (1968)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.rationals import as_integers, round_up
from qpsvm.base.arrays.types import FloatArray

#: Largest number of multiplications of an elimination.
MAX_MULTIPLICATIONS = 300_000
#: Largest denominator of a guessed rational number.
MAX_DENOMINATOR = 10_000
#: Singular values below this share of the largest count as 0.
SINGULAR_TOL = 1e-12
#: Largest relative difference between a float and its guessed rational value.
GUESS_TOL = Fraction(1, 10**12)


def dot_exactly(first: Iterable[Fraction], second: Iterable[float | Fraction]) -> Fraction:
    """Return the exact dot product of two vectors of equal length."""
    return sum((a * Fraction(b) for a, b in zip(first, second, strict=True)), Fraction(0))


def find_null_vector(rows: FloatArray, guess: FloatArray) -> list[Fraction] | None:
    """Return a vector v (n,) near `guess` with Mv = 0 exactly, for the rows M (k, n); None if that is too expensive.

    First, the guess is projected on Mv = 0 in floats. Its largest entries are then free variables, rounded to a
    fraction with a small denominator if one is close; the other entries follow from these.
    """
    k, n = rows.shape
    if k * n * min(k, n) > MAX_MULTIPLICATIONS:
        return None
    if k:
        lengths = np.linalg.norm(rows, axis=1)
        scaled = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        guess = guess - np.linalg.lstsq(scaled, scaled @ guess, rcond=SINGULAR_TOL)[0]
    order = np.argsort(np.abs(guess), kind="stable").tolist()
    pivot_rows, pivots = _reduce_to_echelon([_to_integer_row(row) for row in rows], order)
    largest_entry = float(np.abs(guess).max(initial=0.0)) or 1.0
    free = set(range(n)).difference(pivots)
    vector = [
        _round_to_simple(value / largest_entry) if j in free else Fraction(0) for j, value in enumerate(guess.tolist())
    ]
    for row, column in zip(pivot_rows, pivots, strict=True):
        vector[column] = -sum((row[j] * vector[j] for j in free if row[j]), Fraction(0)) / row[column]
    return vector


def find_rational_combinations(row: FloatArray, basis: FloatArray, guess: FloatArray) -> list[list[Fraction]]:
    """Return candidates for coefficients c (k,) with Σ c_i basis_i = row: `guess` rounded, solved exactly, and `guess`.

    Shapes: row (n,); basis (k, n), independent rows; guess (k,).
    """
    candidates = [[Fraction(value).limit_denominator(MAX_DENOMINATOR) for value in guess.tolist()]]
    k, n = basis.shape
    if k * k * n <= MAX_MULTIPLICATIONS:
        columns = np.vstack([basis, row]).T  # (n, k + 1): c is where these rows take (c, −1) to 0
        pivot_rows, pivots = _reduce_to_echelon([_to_integer_row(column) for column in columns], range(k + 1))
        if pivots == list(range(k)):
            candidates.append([Fraction(column[k], column[j]) for j, column in enumerate(pivot_rows)])
    return [*candidates, [Fraction(value) for value in guess.tolist()]]


def as_multiple(vector: Sequence[Fraction]) -> FloatArray:
    """Return a positive multiple of a rational vector as floats (n,); exact if it has integers below 2⁵³."""
    common = math.lcm(*(value.denominator for value in vector))
    integers = _divide_by_gcd([value.numerator * (common // value.denominator) for value in vector])
    largest_entry = max(map(abs, integers), default=0)
    if largest_entry < 2**53:
        return np.array(integers, dtype=np.float64)
    return np.array([value / largest_entry for value in integers])


def combine_rows(
    M: sp.csr_array, sides: FloatArray, members: Sequence[int], c: Sequence[Fraction], fixed: Mapping[int, float]
) -> tuple[dict[int, Fraction], Fraction]:
    """Return the nonzero entries of Σ c_i row_i, and Σ c_i sides_i, over the rows i of M in `members`.

    fixed: Values of fixed variables; their terms are moved to the right-hand side.
    """
    combined: dict[int, Fraction] = {}
    side = Fraction(0)
    for factor, i in zip(c, members, strict=True):
        if factor:
            entries = slice(M.indptr[i], M.indptr[i + 1])
            for j, value in zip(M.indices[entries].tolist(), M.data[entries].tolist(), strict=True):
                combined[j] = combined.get(j, Fraction(0)) + factor * Fraction(value)
            side += factor * Fraction(float(sides[i]))
    for j in fixed.keys() & combined.keys():
        side -= combined.pop(j) * Fraction(fixed[j])
    return {j: value for j, value in combined.items() if value}, side


def compute_largest_change(M: sp.csr_array, i: int, factor: Fraction, nonzeros: Mapping[int, Fraction]) -> float:
    """Return the largest relative change of an entry of row i with which a combination of rows becomes 0.

    nonzeros: Nonzero entries of the combination, in which row i has the coefficient `factor`. The change is ∞ if one of
        them is 0 in row i.
    """
    stored = slice(M.indptr[i], M.indptr[i + 1])
    entries = dict(zip(M.indices[stored].tolist(), M.data[stored].tolist(), strict=True))
    if not factor or any(not entries.get(j) for j in nonzeros):
        return math.inf
    return round_up(
        max((abs(value / (factor * Fraction(entries[j]))) for j, value in nonzeros.items()), default=Fraction(0))
    )


def _reduce_to_echelon(rows: Sequence[list[int]], columns: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the nonzero rows of the reduced echelon form, up to factors, and the pivot column of each.

    columns: Candidates for pivot columns, in this order.
    """
    remaining = [row for row in rows if any(row)]
    pivot_rows: list[list[int]] = []
    pivots: list[int] = []
    for column in columns:
        index = next((k for k, row in enumerate(remaining) if row[column]), None)
        if index is None:
            continue
        pivot_row = remaining.pop(index)
        remaining = [row for row in (_eliminate(row, pivot_row, column) for row in remaining) if any(row)]
        pivot_rows = [_eliminate(row, pivot_row, column) for row in pivot_rows]
        pivot_rows.append(pivot_row)
        pivots.append(column)
        if not remaining:
            break
    return pivot_rows, pivots


def _eliminate(row: list[int], pivot_row: list[int], column: int) -> list[int]:
    """Return a multiple of the row minus a multiple of the pivot row, which is 0 in the column."""
    factor = row[column]
    if not factor:
        return row
    pivot = pivot_row[column]
    return _divide_by_gcd([pivot * a - factor * b for a, b in zip(row, pivot_row, strict=True)])


def _to_integer_row(row: FloatArray) -> list[int]:
    """Return a positive multiple of a row (n,) with integer entries."""
    return _divide_by_gcd(as_integers(row)[0])


def _divide_by_gcd(row: list[int]) -> list[int]:
    divisor = math.gcd(*row)
    return [value // divisor for value in row] if divisor > 1 else row


def _round_to_simple(value: float) -> Fraction:
    """Return the closest fraction with a small denominator if it is within `GUESS_TOL`, else the exact float."""
    exact = Fraction(value)
    small = exact.limit_denominator(MAX_DENOMINATOR)
    return small if abs(small - exact) <= abs(exact) * GUESS_TOL else exact
