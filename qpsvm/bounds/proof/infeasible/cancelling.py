"""Weights that make vectors cancel, without rounding, from floats that nearly do.

    (PCANCEL.1)  λ ≥ 0,  Σ λ_k = 1,  Σ λ_k g_k = 0:  of rational g_k, if there are such λ then there are rational ones,
                 and some with as many positive ones as the g_k with a 1 behind have independent coordinates, at most
                 (Carathéodory)
    (PCANCEL.2)  the dual simplex method without costs:  B of columns that floats prefer, λ_B = B⁻¹e of [1; G]λ = e.
                 Where λ_k < 0 and y is that row of B⁻¹, a column with yᵀ[1; g] < 0 takes the place of k; if there is
                 none, y is a proof that no λ ≥ 0 is such (Farkas)
    (PCANCEL.3)  Bx = c in integers:  x = Σ_t x_t p^t with x_t = B⁻¹c_t mod p and c_{t+1} = (c_t − Bx_t)/p, and rational
                 numbers from x mod p^T by Euclid's algorithm, T by Hadamard's bound of their size

Which rows and columns are independent is asked modulo p, which may be wrong; so whatever is found is put into
(PCANCEL.1) in integers, signs and all, before anybody is told.

Sources: Schrijver, *Theory of Linear and Integer Programming* (1986), chapters 7, 10 and 11; Dixon, *Exact solution of
linear equations using p-adic expansions*, Numer. Math. 40 (1982).

Weights that make vectors cancel exactly: that there are some, near floats, where rational ones would take long.

    (PENCL.1)  B(x̃ + δ) = c with the residual r = c − Bx̃:  for any R with ‖I − RB‖ ≤ q < 1 in the largest row sum, B is
               regular and |δ| ≤ ‖Rr‖/(1 − q) in every entry
    (PENCL.2)  of [G; 1]λ = (0, …, 0, 1) the columns of B are as many as it has rows, and independent; the others keep
               the floats that they have. Each is scaled by the power of 2 next to its weight, so that x̃ is about 1

Where |δ| < x̃ there is one λ > 0 with that, and it is rational, as B and c are. Products and sums are bounded by
(ROUND.1) and (ROUND.4).

Source: Rump, *Verification methods*, Acta Numerica 19 (2010), section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from qpsvm.base.arrays.exactly import common
from qpsvm.base.arrays.rounding import UNDERFLOW, UNIT, dots_in_two, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray

#: Whole numbers without bounds, as objects.
Integers = NDArray[np.object_]

#: p of (PCANCEL.3): two numbers below it have a product that 64 bits hold.
PRIME = 2**31 - 1
#: Operations modulo p, and products of large integers, that take about a second.
ELIMINATED, MULTIPLIED = 1e8, 1.5e7
#: The most equations that (PCANCEL.3) solves in that time, where numbers are floats.
MOST_EQUATIONS = 110
#: Numbers of a linear program that is solved for a vertex, and the share of the largest row that is none beside others.
PROGRAM, RANK = 1e6, 1e-13
#: Columns that come in, at most; from the second half of them on the first that can, so that it ends (Bland).
STEPS = 80


@dataclass(frozen=True, eq=False)
class Decided:
    """Where (PCANCEL.2) ended.

    weights: λ of (PCANCEL.1); empty where there are none.
    against: y, whose product with every column is not negative, and whose first entry is; empty where there is none.
    """

    weights: list[Fraction]
    against: list[int]


def cancelling(vectors: Integers, near: FloatArray) -> list[Fraction] | None:
    """(PCANCEL.1) near some floats: vectors (m, k), near (k,)."""
    rows = without_factors(vectors)[0]
    total = float(near.sum())
    if not 0.0 < total < math.inf:
        return None
    near = _vertex(rows, near / total)
    support = np.flatnonzero(near > 0.0)
    system = with_ones(rows[:, support])
    found = decided(system, near[support]) if min(system.shape) <= MOST_EQUATIONS else None
    weights = [Fraction(0)] * len(near)
    for k, weight in zip(support.tolist(), found.weights if found is not None else (), strict=False):
        weights[k] = weight
    return weights if any(weights) and cancel(vectors, weights) else None


def with_ones(vectors: Integers) -> Integers:
    """[1; G], (m + 1, k)."""
    return np.vstack([np.full((1, vectors.shape[1]), 1, dtype=object), vectors])


def decided(system: Integers, near: FloatArray) -> Decided | None:
    """(PCANCEL.2), exactly: λ ≥ 0 with [1; G]λ = (1, 0, …, 0), or a proof that there is none; None where it takes long.

    Shapes: system (m, k), near (k,).
    """
    m, k = system.shape
    if m * k * min(m, k) > ELIMINATED:
        return None
    order = np.argsort(-near, kind="stable")
    rows, places = independent((system[:, order] % PRIME).astype(np.int64))
    basis, first = order[places], _unit(m, 0)
    for step in range(STEPS):
        B = system[np.ix_(rows, basis)]
        found = solve_integers(B, first[rows])
        if found is None:
            return None
        whole, denominator = common(found)
        left = system[:, basis] @ np.array(whole, dtype=object) - denominator * first
        if left.any():  # a row that others make of all columns, but not of the right-hand side
            rest = int(left.astype(bool).argmax())
            row = solve_integers(B.T, system[rest, basis])
        elif min(found) >= 0:
            weights = [Fraction(0)] * k
            for column, value in zip(basis.tolist(), found, strict=True):
                weights[column] = value
            return Decided(weights, [])
        else:
            short = [place for place, value in enumerate(found) if value < 0]
            place = min(short, key=lambda at: basis[at] if 2 * step > STEPS else found[at])
            row = solve_integers(B.T, _unit(len(rows), place))
        if row is None:
            return None
        against, (own, denominator) = np.full(m, 0, dtype=object), common(row)
        against[rows] = own
        if left.any():
            against = denominator * _unit(m, rest) - against
            against *= -1 if against[0] > 0 else 1
        products = against @ system
        comes = next((j for j in (range(k) if 2 * step > STEPS else order.tolist()) if products[j] < 0), None)
        if comes is None:
            return Decided([], against.tolist())
        if left.any():
            return None
        basis[place] = comes
    return None


def _unit(m: int, place: int) -> Integers:
    """A column of the identity."""
    found: Integers = np.full(m, 0, dtype=object)
    found[place] = 1
    return found


def cancel(vectors: Integers, weights: list[Fraction]) -> bool:
    """Whether (PCANCEL.1) holds: rational weights of the columns of (m, k)."""
    whole, denominator = common(weights)
    sums = vectors @ np.array(whole, dtype=object)
    return min(whole) >= 0 and sum(whole) == denominator and not any(sums)


def without_factors(vectors: Integers) -> tuple[Integers, list[int]]:
    """Rows divided by what divides them, those of zeros left out; and the divisors of all rows, 0 for these."""
    divisors = [math.gcd(*row) for row in vectors.tolist()]
    kept = [k for k, divisor in enumerate(divisors) if divisor]
    return vectors[kept] // np.array([divisors[k] for k in kept], dtype=object)[:, None], divisors


def _vertex(rows: Integers, near: FloatArray) -> FloatArray:
    """λ with few positive ones among those of some floats, by a linear program that wants none of the smaller ones."""
    from scipy.optimize import linprog

    support = np.flatnonzero(near)
    if not len(rows) + 1 < len(support) or len(rows) * len(support) > PROGRAM:
        return near
    part = rows[:, support]
    sizes = np.array([max(abs(value) for value in row) or 1 for row in part.tolist()], dtype=object)
    left = np.vstack([(part / sizes[:, None]).astype(np.float64), np.ones(len(support))])
    costs = -np.log2(np.maximum(near[support], np.finfo(float).tiny))
    Q, R, _ = qr(left.T, mode="economic", pivoting=True)  # far from the origin all rows look alike
    Q = Q[:, np.abs(R.diagonal()) > RANK * abs(R[0, 0])]
    found = linprog(costs, A_eq=Q.T, b_eq=Q.T @ near[support], method="highs-ds")
    if found.x is None:
        return near
    vertex = np.zeros(len(near))
    vertex[support] = np.maximum(found.x, 0.0)
    return vertex


def independent(A: IntArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of a regular part of A (m, k) modulo p, as large as can be; the first columns are preferred."""
    m, k = A.shape
    A, rows = A.copy(), np.arange(m)
    columns: list[int] = []
    for column in range(k):
        done = len(columns)
        if done == m:
            break
        candidates = np.flatnonzero(A[done:, column])
        if not len(candidates):
            continue
        pivot = done + int(candidates[0])
        A[[done, pivot]], rows[[done, pivot]] = A[[pivot, done]], rows[[pivot, done]]
        head = A[done, column:] * pow(int(A[done, column]), -1, PRIME) % PRIME
        below = np.flatnonzero(A[done + 1 :, column]) + done + 1
        A[below, column:] = (A[below, column:] - A[below, column][:, None] * head % PRIME) % PRIME
        columns.append(column)
    return rows[: len(columns)], np.array(columns, dtype=np.intp)


def solve_integers(B: Integers, c: Integers) -> list[Fraction] | None:
    """x with Bx = c by (PCANCEL.3), for B (r, r) and c (r,); None where p divides its determinant, or it takes long."""
    r = len(c)
    norms = [sum(value * value for value in row).bit_length() / 2.0 + 1.0 for row in B.tolist()]
    above = max(max(abs(value) for value in c.tolist()), 1).bit_length()
    determinant, largest = sum(norms), sum(norms) + above + math.log2(r + 1)  # Hadamard's bounds, in bits
    steps = int((determinant + largest + 2.0) / 30.0) + 2
    if r * r * steps * (max(norms) / 64.0 + 1.0) > MULTIPLIED:
        return None
    inverse = _inverse((B % PRIME).astype(np.int64))
    if inverse is None:
        return None
    x, power, left = np.zeros(r, dtype=object), 1, c
    for _ in range(steps):
        digit = (inverse * (left % PRIME).astype(np.int64) % PRIME).sum(axis=1) % PRIME
        digits = digit.astype(object)
        x, power, left = x + power * digits, power * PRIME, (left - B @ digits) // PRIME
    return _rationals(x.tolist(), power, 1 << math.ceil(largest))


def _inverse(B: IntArray) -> IntArray | None:
    """B⁻¹ modulo p, (r, r)."""
    r = len(B)
    A = np.column_stack([B, np.eye(r, dtype=np.int64)])
    for k in range(r):
        candidates = np.flatnonzero(A[k:, k])
        if not len(candidates):
            return None
        pivot = k + int(candidates[0])
        A[[k, pivot]] = A[[pivot, k]]
        A[k] = A[k] * pow(int(A[k, k]), -1, PRIME) % PRIME
        others = np.flatnonzero(A[:, k])
        others = others[others != k]
        A[others] = (A[others] - A[others, k][:, None] * A[k] % PRIME) % PRIME
    return A[:, r:]


def _rationals(residues: list[int], modulus: int, largest: int) -> list[Fraction] | None:
    """Fractions with a common denominator from what they are modulo p^T, numerators not above `largest`."""
    denominator, found = 1, []
    for residue in residues:
        value = residue * denominator % modulus
        value = value - modulus if value > modulus // 2 else value
        if abs(value) <= largest:
            found.append(Fraction(value, denominator))
            continue
        before, now, s, t = modulus, value % modulus, 0, 1
        while now > largest:
            quotient = before // now
            before, now, s, t = now, before - quotient * now, t, s - quotient * t
        if not t:
            return None
        found.append(Fraction(now, t) / denominator)
        denominator *= abs(t)
    return found


#: Equations, and numbers in them, that take about a second.
MOST_ENCLOSED, NUMBERS = 1000, 4e6
#: Bits of whole numbers that are powers of 2 times floats of ordinary size.
MOST_BITS = 900


def enclosed(vectors: Integers, near: FloatArray) -> float | None:
    """A share t < 1 such that there is a λ with (PCANCEL.1) and |λ_k − near_k| ≤ t near_k.

    Shapes: vectors (m, k), near (k,).
    """
    m, k = vectors.shape
    if not m < min(k, MOST_ENCLOSED) or m * k > NUMBERS or not (near > 0.0).all():
        return None
    A = _floats(vectors)
    if A is None:
        return None
    near = near / near.sum()
    scale = np.exp2(np.round(np.log2(near)))
    with np.errstate(all="ignore"):  # a number that is none makes no comparison true
        scaled = A * scale
        if not np.array_equal(scaled / scale, A):
            return None
        columns = qr(scaled, mode="economic", pivoting=True, check_finite=False)[2][: m + 1]
        B = scaled[:, columns]
        try:
            R = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return None
        high, low, radius = dots_in_two(A, near)
        high[-1] -= 1.0  # exact, for a number near 1; and what it is not is seen
        residual = (np.abs(high) + np.abs(low) + radius) * (1.0 + 4.0 * UNIT)
        rough = 1.0 + gamma(4 * m + 32)
        lost = gamma(m + 8) * (np.abs(R) @ np.abs(B).sum(axis=1)) * rough + m * UNDERFLOW
        q = float((np.abs(np.eye(m + 1) - R @ B).sum(axis=1) * rough + lost).max()) * rough
        delta = float(((np.abs(R) @ residual) * rough).max()) + m * UNDERFLOW
        if not q < 0.5:
            return None
        share = float((delta / (1.0 - q) / (near / scale)[columns]).max()) * (1.0 + gamma(16)) + 16.0 * UNIT
    return share if share < 1.0 else None


def _floats(vectors: Integers) -> FloatArray | None:
    """[G; 1] as floats without rounding, rows in units of powers of 2; None where numbers have more digits."""
    m, k = vectors.shape
    A = np.ones((m + 1, k))
    for j in range(m):
        bits = max(abs(value).bit_length() for value in vectors[j].tolist())
        if bits > MOST_BITS:
            return None
        row = vectors[j].astype(np.float64)
        if any(int(value) != exact for value, exact in zip(row.tolist(), vectors[j].tolist(), strict=True)):
            return None
        A[j] = np.ldexp(row, -bits)
    return A
