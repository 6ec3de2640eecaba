"""Find exact weights that prove infeasibility, near weights in floats (`find_combination`).

Contradicting rows have weights λ with Σ λ_k g_k = 0, (PFARKAS.1) of `infeasible`. A solver finds them in floats, so
that the sum is only nearly 0. Exact weights are found nearby, in rational numbers, for points with integer coordinates:

    (PCOORD.1)  linear kernel:  the features themselves, which are floats and so rational. Polynomial with integer p and
                r ≥ 0:  monomials, as (gxᵀz + r)^p = Σ_a p!/(a!(p − |a|)!) g^|a| r^(p − |a|) x^a z^a; for p = 1 any r
    (PCOORD.2)  precomputed kernel:  columns of the matrix as given; Kγ = 0 implies Σγ_l f(z_l) = 0 for every
                f(z) = Σ a_i K(x_i, z), whether K is positive semidefinite or not
    (PCOORD.3)  any other kernel:  indicators of identical points
    (PCANCEL.1)  λ ≥ 0,  Σ λ_k = 1,  Σ λ_k g_k = 0:  if this has a solution for rational g_k, it has a rational one with
                 at most as many positive entries as the rank of the vectors (g_k, 1) (Carathéodory). A linear program
                 in floats proposes which entries are positive
    (PCANCEL.2)  the dual simplex method without costs, in integers (Bareiss, Edmonds):  if λ_k < 0 in a basic solution,
                 the first column with a negative entry in that row replaces k

If a rational λ would take too long, it suffices to prove that one exists near given floats:

    (PENCL.1)  B(x̃ + δ) = c with the residual r = c − Bx̃:  if ‖I − RB‖∞ ≤ q < 1 for any matrix R, B is regular and
               |δ| ≤ ‖Rr‖∞/(1 − q) in every entry
    (PENCL.2)  B consists of as many independent columns of [G; 1] as it has rows, for [G; 1]λ = (0, …, 0, 1); the other
               λ_k stay fixed. Each column is scaled by a power of 2 near its weight, so that x̃ is about 1

If |δ| < x̃, this λ is positive, and it is rational, as B and c are. Products and sums are bounded by (ROUND.1) and
(ROUND.4).

Sources: Schrijver, *Theory of Linear and Integer Programming* (1986), chapter 7; Bareiss, Math. Comp. 22 (1968);
Edmonds, J. Res. NBS 71B (1967); Rump, *Verification methods*, Acta Numerica 19 (2010), section 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from qpsvm.base.arrays.double_double import UNDERFLOW, multiply_to_pairs
from qpsvm.base.arrays.rationals import as_integers, to_common_denominator
from qpsvm.base.arrays.rounding import SMALLEST_NORMAL, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.space.kernels.functions import Kernel, Linear, Polynomial, Precomputed

#: Arrays of Python integers.
Integers = NDArray[np.object_]

#: Largest number of entries times pivots of an elimination: these take about a second.
MAX_PIVOT_WORK = 5e5
#: Number of columns in addition to a basis, and largest number of steps, of the dual simplex method.
SPARE_COLUMNS, MAX_SIMPLEX_STEPS = 20, 80
#: Up to this many equations, an exact λ is tried before an enclosure.
MAX_EQUATIONS_EXACT_FIRST = 24
#: Largest number of equations of an enclosure, and of integers of a matrix: these take about a second.
MAX_ENCLOSED_EQUATIONS, MAX_INTEGERS = 1000, 4e6
#: Pivots below this share of the largest count as 0.
RANK_TOL = 1e-13
#: Largest number of bits of integers that are scaled to floats.
MAX_BITS = 900


def compute_coordinates(kernel: Kernel, points: Matrix) -> Integers | None:
    """Return integer coordinates (m, q) of the points (q, d) in feature space; None if they are too many.

    A combination of points is 0 in feature space if it is 0 in these coordinates.
    """
    has_monomials = isinstance(kernel, Polynomial) and (kernel.is_psd or kernel.degree == 1)
    if not has_monomials and not isinstance(kernel, (Linear, Precomputed)):
        return _mark_identical_points(points)
    q, d = points.shape
    columns = sp.csc_array(points) if sp.issparse(points) else points
    if q:
        integers = [as_integers(as_dense(columns[:, [j]])[:, 0])[0] for j in range(d)]
    else:
        integers = []
    coordinates = [np.array(values, dtype=object) for values in integers if any(values)]
    if isinstance(kernel, Polynomial):
        if math.comb(len(coordinates) + int(kernel.degree), int(kernel.degree)) * q > MAX_INTEGERS:
            return None
        coordinates = _compute_monomials(kernel, coordinates, q)
    return np.array(coordinates, dtype=object).reshape(len(coordinates), q)


def _compute_monomials(kernel: Polynomial, features: list[Any], q: int) -> list[Any]:
    """Return the monomials of (PCOORD.1) at q points, from the features: each a vector (q,)."""
    degree = int(kernel.degree)
    ones = np.full(q, 1, dtype=object)
    totals = range(degree + 1) if kernel.coef0 else (degree,)
    monomials = (factors for total in totals for factors in combinations_with_replacement(features, total))
    return [math.prod(factors, start=ones) for factors in monomials]


def _mark_identical_points(points: Matrix) -> Integers:
    """Return the indicators of identical points, (PCOORD.3): (m, q) for m different points."""
    indices: dict[bytes, int] = {}
    columns_of = [indices.setdefault(row.tobytes(), len(indices)) for row in as_dense(points) + 0.0]  # no −0
    q = points.shape[0]
    indicators = np.full((len(indices), q), 0, dtype=object)
    indicators[columns_of, np.arange(q)] = 1
    return indicators


@dataclass(frozen=True, eq=False)
class ContradictingRows:
    """Rows ⟨g_k, w⟩ + c_k b ≤ h_k of (PFARKAS.1).

    points (m, q): Integer coordinates of z_l; None if they are too many.
    terms: Pairs (l, A_kl) of each g_k = Σ A_kl φ(z_l).
    c: Coefficients of b; None without an intercept.
    h: Right-hand sides.
    names: Names of the rows, for sentences.
    """

    points: Integers | None
    terms: Sequence[Sequence[tuple[int, Fraction]]]
    c: Sequence[Fraction] | None
    h: Sequence[Fraction]
    names: Sequence[str]

    def build_vectors(self) -> Integers | None:
        """Return (g_k, c_k) as integer columns (m, k), without zero rows and common factors; None if too large."""
        if self.points is None or self.points.size > MAX_INTEGERS:
            return None
        denominator = math.lcm(*{a.denominator for term in self.terms for _, a in term})
        matrix = np.full((len(self.points) + 1, len(self.terms)), 0, dtype=object)
        for k, term in enumerate(self.terms):
            for point, a in term:
                matrix[:-1, k] += self.points[:, point] * int(a * denominator)
        if self.c is not None:
            matrix[-1] = to_common_denominator(self.c)[0]
        divisors = [(k, math.gcd(*row)) for k, row in enumerate(matrix.tolist())]
        nonzero_rows = [matrix[k] // d for k, d in divisors if d]
        return np.array(nonzero_rows, dtype=object).reshape(len(nonzero_rows), len(self.terms))


@dataclass(frozen=True, eq=False)
class Combination:
    """λ of (PFARKAS.1), or an enclosure of it.

    weights: λ, or approximations with a relative error of at most `relative_radius`.
    rhs: Upper bound of Σλ_k h_k.
    """

    weights: list[Fraction]
    rhs: Fraction
    relative_radius: float = 0.0


def find_combination(
    rows: ContradictingRows, approximate: FloatArray, prefer_exact: bool = False
) -> Combination | None:
    """Find λ of (PFARKAS.1) near some floats (k,); None if none is found.

    prefer_exact: Try an exact λ before an enclosure, even if that is slower.
    """
    vectors = rows.build_vectors()
    if vectors is None or not 0.0 < float(approximate.sum()) < math.inf:
        return None
    starts_exact = prefer_exact or len(vectors) <= MAX_EQUATIONS_EXACT_FIRST
    for exactly in (starts_exact, not starts_exact):
        weights, relative_radius = _find_weights(vectors, approximate, exactly)
        if weights is not None:
            products = [weight * h for weight, h in zip(weights, rows.h, strict=True)]
            rhs = sum(products, Fraction(0)) + Fraction(relative_radius) * sum(map(abs, products), Fraction(0))
            if rhs < 0:
                return Combination(weights, rhs, relative_radius)
    return None


def _find_weights(vectors: Integers, approximate: FloatArray, exactly: bool) -> tuple[list[Fraction] | None, float]:
    """Return λ of (PCANCEL.1), or approximations of one, with their relative error; None if none is found."""
    if exactly:
        return find_cancelling_weights(vectors, approximate), 0.0
    relative_radius = find_enclosure(vectors, approximate)
    if relative_radius is None:
        return None, 0.0
    total = Fraction(float(approximate.sum()))
    return [Fraction(value) / total for value in approximate.tolist()], relative_radius


def find_cancelling_weights(vectors: Integers, approximate: FloatArray) -> list[Fraction] | None:
    """Find λ of (PCANCEL.1) near some floats; None if none is found. Shapes: vectors (m, k), approximate (k,)."""
    vertex = _find_sparse_weights(vectors, approximate / approximate.sum())
    m = len(vectors) + 1
    order = np.lexsort((-approximate, -vertex))[: min(int(MAX_PIVOT_WORK / m**2), m + SPARE_COLUMNS)]
    weights = [Fraction(0)] * len(approximate)
    for k, weight in zip(order.tolist(), _solve_by_pivots(vectors[:, order]), strict=False):
        weights[k] = weight
    integers, denominator = to_common_denominator(weights)
    is_cancelling = not any(vectors @ np.array(integers, dtype=object))  # check (PCANCEL.1)
    if is_cancelling and sum(integers) == denominator and min(integers) >= 0:
        return weights
    return None


def _find_sparse_weights(vectors: Integers, approximate: FloatArray) -> FloatArray:
    """Return λ (k,) with few positive entries, by a linear program in floats that penalises small approximate ones."""
    from scipy.optimize import linprog

    support = np.flatnonzero(approximate)
    columns = vectors[:, support]
    sizes = np.array([max(abs(value) for value in row) or 1 for row in columns.tolist()], dtype=object)
    matrix = np.vstack([(columns / sizes[:, None]).astype(np.float64), np.ones(len(support))])
    Q, R, _ = qr(matrix.T, mode="economic", pivoting=True)  # rows may be almost dependent, as far from the origin
    Q = Q[:, np.abs(R.diagonal()) > RANK_TOL * abs(R[0, 0])]
    vertex = np.zeros(len(approximate))
    if Q.shape[1] < len(support):
        costs = -np.log2(np.maximum(approximate[support], SMALLEST_NORMAL))
        solution = linprog(costs, A_eq=Q.T, b_eq=Q.T @ approximate[support], method="highs-ds").x
        if solution is not None:
            vertex[support] = np.maximum(solution, 0.0)
            return vertex
    return approximate


def _solve_by_pivots(vectors: Integers) -> list[Fraction]:
    """Solve [1; G]λ = (1, 0, …, 0), λ ≥ 0, by (PCANCEL.2), preferring the first columns; empty if none is found.

    If G (m, k) has more rows than columns, random combinations of the equations are solved.
    """
    m, k = vectors.shape
    T = np.full((m + 1, k + 1), 1, dtype=object)
    T[1:, :k] = vectors  # the tableau
    T[1:, k] = 0
    if m > k:
        T = np.random.default_rng(0).integers(1, 1000, (k + 1, m + 1)).astype(object) @ T
    basis: dict[int, int] = {}
    last = 1
    free = list(range(len(T)))
    for column in range(k):
        row = next((row for row in free if T[row, column]), None)
        if row is not None:
            free.remove(row)
            T, last, basis[row] = _pivot(T, last, row, column), T[row, column], column
    for _ in range(MAX_SIMPLEX_STEPS):
        if any(T[free, k]):
            return []
        sign = 1 if last > 0 else -1
        row = next((row for row in basis if T[row, k] * sign < 0), None)
        if row is None:
            weights = [Fraction(0)] * k
            for row, column in basis.items():
                weights[column] = Fraction(T[row, k], last)
            return weights
        entering = np.flatnonzero(T[row, :k] * sign < 0)
        if not len(entering):
            return []
        column = int(entering[0])
        T, last, basis[row] = _pivot(T, last, row, column), T[row, column], column
    return []


def _pivot(T: Integers, last: int, row: int, column: int) -> Integers:
    """Return a tableau after a pivot, in integers over this pivot, given one over the last pivot."""
    reduced: Integers = (T * T[row, column] - np.outer(T[:, column], T[row])) // last  # without a remainder (Bareiss)
    reduced[row] = T[row]
    return reduced


def find_enclosure(vectors: Integers, approximate: FloatArray) -> float | None:
    """Return t < 1 such that some λ of (PCANCEL.1) has |λ_k − a_k| ≤ t a_k, or None if none is found.

    Shapes: vectors (m, k), approximate (k,), which is scaled to a, with the sum 1.
    """
    m, k = vectors.shape
    if not m < min(k, MAX_ENCLOSED_EQUATIONS) or m * k > MAX_INTEGERS or not (approximate > 0.0).all():
        return None
    A = _as_exact_floats(vectors)
    if A is None:
        return None
    approximate = approximate / approximate.sum()
    scale = np.exp2(np.round(np.log2(approximate)))
    with np.errstate(all="ignore"):  # with NaN, comparisons are false, and nothing is proven
        scaled = A * scale
        if not np.array_equal(scaled / scale, A):
            return None
        columns = qr(scaled, mode="economic", pivoting=True, check_finite=False)[2][: m + 1]
        B = scaled[:, columns]
        try:
            R = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return None
        high, low, radius = multiply_to_pairs(A, approximate)
        high[-1] -= 1.0  # exact, because the sum is near 1; otherwise the residual is large
        residual = (np.abs(high) + np.abs(low) + radius) * (1.0 + 4.0 * UNIT)
        outward = 1.0 + gamma(4 * m + 32)
        rounding = gamma(m + 8) * (np.abs(R) @ np.abs(B).sum(axis=1)) * outward + m * UNDERFLOW
        q = float((np.abs(np.eye(m + 1) - R @ B).sum(axis=1) * outward + rounding).max()) * outward
        delta = float(((np.abs(R) @ residual) * outward).max()) + m * UNDERFLOW
        if not q < 0.5:
            return None
        t = float((delta / (1.0 - q) / (approximate / scale)[columns]).max()) * (1.0 + gamma(16)) + 16.0 * UNIT
    return t if t < 1.0 else None


def _as_exact_floats(vectors: Integers) -> FloatArray | None:
    """Return [G; 1] as floats, with rows scaled by powers of 2; None if that would round."""
    m, k = vectors.shape
    A = np.ones((m + 1, k))
    for j in range(m):
        bits = max(abs(value).bit_length() for value in vectors[j].tolist())
        if bits > MAX_BITS:
            return None
        row = vectors[j].astype(np.float64)
        if any(int(value) != exact for value, exact in zip(row.tolist(), vectors[j].tolist(), strict=True)):
            return None
        A[j] = np.ldexp(row, -bits)
    return A
