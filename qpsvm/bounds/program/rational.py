"""Solve linear systems and combine rows in rational numbers (`find_null_vector`, `find_rational_combinations`).

Floats are integers times a power of 2, so a row of floats is a multiple of a row of integers. Fraction-free elimination
keeps the entries integers: row_i ← p row_i − q row_k, divided by the common divisor of its entries, where p and q are
the entries of rows k and i in the pivot column (Bareiss, *Sylvester's identity and multistep integer-preserving
Gaussian elimination*, Math. Comp. 22 (1968)).
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

    First, the guess is projected on Mv = 0 in floats. Its largest entries are then the free variables, each rounded to
    a fraction with a small denominator if one is close; the other entries follow from the free variables.
    """
    k, n = rows.shape
    if k * n * min(k, n) > MAX_MULTIPLICATIONS:
        return None
    guess = project_on_null_space(rows, guess)
    smallest_first = np.argsort(np.abs(guess), kind="stable").tolist()
    pivot_rows, pivots = _reduce_to_echelon([_to_integer_row(row) for row in rows], smallest_first)
    largest_entry = float(np.abs(guess).max(initial=0.0)) or 1.0
    free = set(range(n)).difference(pivots)
    vector = [
        _round_to_simple(value / largest_entry) if j in free else Fraction(0) for j, value in enumerate(guess.tolist())
    ]
    for row, column in zip(pivot_rows, pivots, strict=True):
        vector[column] = -sum((row[j] * vector[j] for j in free if row[j]), Fraction(0)) / row[column]
    return vector


def project_on_null_space(rows: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the vector (n,) projected on Mv = 0 in floats, for the rows M (k, n)."""
    if not len(rows):
        return vector
    norms = np.linalg.norm(rows, axis=1)
    unit_rows = rows / np.where(norms > 0.0, norms, 1.0)[:, None]
    projection: FloatArray = vector - np.linalg.lstsq(unit_rows, unit_rows @ vector, rcond=SINGULAR_TOL)[0]
    return projection


def find_rational_combinations(row: FloatArray, basis: FloatArray, guess: FloatArray) -> list[list[Fraction]]:
    """Return candidates for c (k,) with Σ c_i basis_i = row: `guess` rounded, the exact solution, and `guess` itself.

    Shapes: row (n,); basis (k, n), independent rows; guess (k,).
    """
    candidates = [[Fraction(value).limit_denominator(MAX_DENOMINATOR) for value in guess.tolist()]]
    k, n = basis.shape
    if k * k * n <= MAX_MULTIPLICATIONS:
        system = np.vstack([basis, row]).T  # [basisᵀ, row], (n, k + 1): reduced, its last column is c
        pivot_rows, pivots = _reduce_to_echelon([_to_integer_row(equation) for equation in system], range(k + 1))
        if pivots == list(range(k)):  # a pivot in the last column would mean that there is no solution
            candidates.append([Fraction(pivot_row[k], pivot_row[j]) for j, pivot_row in enumerate(pivot_rows)])
    return [*candidates, [Fraction(value) for value in guess.tolist()]]


def as_multiple(vector: Sequence[Fraction]) -> FloatArray:
    """Return a positive multiple of a rational vector as floats (n,): integers if all are below 2⁵³, else rounded."""
    common = math.lcm(*(value.denominator for value in vector))
    integers = _divide_by_gcd([value.numerator * (common // value.denominator) for value in vector])
    largest_entry = max(map(abs, integers), default=0)
    if largest_entry < 2**53:
        return np.array(integers, dtype=np.float64)
    return np.array([value / largest_entry for value in integers])


def combine_rows(
    M: sp.csr_array, rhs: FloatArray, members: Sequence[int], c: Sequence[Fraction], fixed: Mapping[int, float]
) -> tuple[dict[int, Fraction], Fraction]:
    """Return the nonzero entries of Σ c_i row_i by column, and Σ c_i rhs_i, over the rows i of M in `members`.

    fixed: Values of fixed variables by column; their terms are moved to the right-hand side.
    """
    combined: dict[int, Fraction] = {}
    combined_rhs = Fraction(0)
    for factor, i in zip(c, members, strict=True):
        if factor:
            entries = slice(M.indptr[i], M.indptr[i + 1])
            for j, value in zip(M.indices[entries].tolist(), M.data[entries].tolist(), strict=True):
                combined[j] = combined.get(j, Fraction(0)) + factor * Fraction(value)
            combined_rhs += factor * Fraction(float(rhs[i]))
    for j in fixed.keys() & combined.keys():
        combined_rhs -= combined.pop(j) * Fraction(fixed[j])
    return {j: value for j, value in combined.items() if value}, combined_rhs


def compute_largest_change(M: sp.csr_array, i: int, factor: Fraction, nonzeros: Mapping[int, Fraction]) -> float:
    """Return the largest relative change of an entry of row i with which a combination of rows becomes 0.

    nonzeros: Nonzero entries of the combination, in which row i has the coefficient `factor`. The change is ∞ if row i
        is 0 at one of these entries.
    """
    stored = slice(M.indptr[i], M.indptr[i + 1])
    entries = dict(zip(M.indices[stored].tolist(), M.data[stored].tolist(), strict=True))
    if not factor or any(not entries.get(j) for j in nonzeros):
        return math.inf
    return round_up(
        max((abs(value / (factor * Fraction(entries[j]))) for j, value in nonzeros.items()), default=Fraction(0))
    )


def _reduce_to_echelon(rows: Sequence[list[int]], columns: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the nonzero rows of the reduced echelon form, each up to a factor, and the pivot column of each.

    columns: Candidates for pivot columns, in order of preference.
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
