"""Prove that a problem has no solution: contradicting constraints, classes whose hulls meet, or too large a ν.

Entry points: `prove_no_plane`, `prove_hulls_meet`, and `prove_nu_exceeds_balance` and `prove_nu_above_one` for ν.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so no (w, b) satisfies them (Farkas)
    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has the same value at both
               points, at least the minimum over the positive class and at most the maximum over the other; so no f
               separates the classes (Gordan). This is (PFARKAS.1) for the rows −y_i f(x_i) ≤ −1 with λ = (u, v)/2
    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 imply Σα = ν/2 in each class, so α_i ≤ s_i/S implies ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i imply ν ≤ 1

S₊, S₋ and S are sums without rounding. λ is found near the floats of an error, for points with integer coordinates, and
the equations are checked in integers before it is reported:

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

Sources: Schrijver, *Theory of Linear and Integer Programming* (1986), chapters 7 and 11; Bareiss, Math. Comp. 22
(1968); Edmonds, J. Res. NBS 71B (1967); Rump, *Verification methods*, Acta Numerica 19 (2010), section 10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from qpsvm.base.arrays.double_double import UNDERFLOW, multiply_to_pairs
from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import as_integers, round_up, to_common_denominator
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, Matrix, as_dense
from qpsvm.bounds.proof.proof import Claim, Proof, Verdict
from qpsvm.space.kernels.functions import Kernel, Linear, Polynomial, Precomputed

#: Arrays of Python integers.
Integers = NDArray[np.object_]

#: Number of entries times pivots of an elimination that takes about a second.
MAX_PIVOT_WORK = 5e5
#: Columns in addition to a basis, and largest number of steps of the dual simplex method.
SPARE_COLUMNS, MAX_SIMPLEX_STEPS = 20, 80
#: Up to this many equations, the exact solution is tried first.
MAX_EQUATIONS_EXACT_FIRST = 24
#: Largest number of equations of an enclosure, and of integers: these take about a second.
MAX_ENCLOSED_EQUATIONS, MAX_INTEGERS = 1000, 4e6
#: Pivots below this share of the largest count as 0.
RANK_TOL = 1e-13
#: Largest number of bits of integers that are scaled to floats.
MAX_BITS = 900
#: Largest number of rows named in a sentence.
MAX_NAMED = 6
#: Fractions with smaller terms are printed exactly: weights, and ν.
MAX_SHORT_WEIGHT, MAX_SHORT_NU = 1000, 10**6


def compute_coordinates(kernel: Kernel, points: Matrix) -> Integers | None:
    """Return integer coordinates (m, q) of the points (q, d) in feature space; None if they are too many.

    A combination of points is 0 in feature space if it is 0 in these coordinates.
    """
    q = points.shape[0]
    degree = int(kernel.degree) if isinstance(kernel, Polynomial) and (kernel.is_psd or kernel.degree == 1) else 0
    if degree or isinstance(kernel, (Linear, Precomputed)):  # (PCOORD.1), (PCOORD.2)
        columns = sp.csc_array(points) if sp.issparse(points) else points
        integers = [as_integers(as_dense(columns[:, [j]])[:, 0])[0] for j in range(points.shape[1])] if q else []
        used: list[Any] = [np.array(values, dtype=object) for values in integers if any(values)]
        if degree:
            if math.comb(len(used) + degree, degree) * q > MAX_INTEGERS:
                return None
            ones = np.full(q, 1, dtype=object)
            totals = range(degree + 1) if getattr(kernel, "coef0", 0.0) else (degree,)
            monomials = (
                unit_vectors for total in totals for unit_vectors in combinations_with_replacement(used, total)
            )
            used = [math.prod(factors, start=ones) for factors in monomials]
        return np.array(used, dtype=object).reshape(len(used), q)
    indices: dict[bytes, int] = {}
    columns_of = [indices.setdefault(row.tobytes(), len(indices)) for row in as_dense(points) + 0.0]  # no −0
    unit_vectors = np.full((len(indices), q), 0, dtype=object)
    unit_vectors[columns_of, np.arange(q)] = 1
    return unit_vectors  # (PCOORD.3)


@dataclass(frozen=True, eq=False)
class ContradictingRows:
    """Rows of (PFARKAS.1).

    points (m, q): Integer coordinates of z_l; None if they are too many.
    terms: Pairs (l, A_kl) of each g_k = Σ A_kl φ(z_l).
    c: Coefficients of b; None without an intercept.
    h: Right-hand sides.
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

    prefer_exact: Try the exact solution before the enclosure even if it is slower.
    """
    vectors = rows.build_vectors()
    if vectors is None or not 0.0 < float(approximate.sum()) < math.inf:
        return None
    starts_exact = prefer_exact or len(vectors) <= MAX_EQUATIONS_EXACT_FIRST
    for exact in (starts_exact, not starts_exact):
        weights, share = find_cancelling_weights(vectors, approximate) if exact else None, 0.0
        if not exact and (enclosure := find_enclosure(vectors, approximate)) is not None:
            total, share = Fraction(float(approximate.sum())), enclosure
            weights = [Fraction(value) / total for value in approximate.tolist()]
        if weights is not None:
            products = [weight * h for weight, h in zip(weights, rows.h, strict=True)]
            right = sum(products, Fraction(0)) + Fraction(share) * sum(map(abs, products), Fraction(0))
            if right < 0:
                return Combination(weights, right, share)
    return None


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
    return weights if is_cancelling and sum(integers) == denominator and min(integers) >= 0 else None


def _find_sparse_weights(vectors: Integers, approximate: FloatArray) -> FloatArray:
    """Return λ (k,) with few positive entries, by a linear program in floats that penalises small approximate ones."""
    from scipy.optimize import linprog

    support = np.flatnonzero(approximate)
    columns = vectors[:, support]
    sizes = np.array([max(abs(value) for value in row) or 1 for row in columns.tolist()], dtype=object)
    matrix = np.vstack([(columns / sizes[:, None]).astype(np.float64), np.ones(len(support))])
    Q, R, _ = qr(matrix.T, mode="economic", pivoting=True)  # far from the origin all rows look alike
    Q = Q[:, np.abs(R.diagonal()) > RANK_TOL * abs(R[0, 0])]
    vertex = np.zeros(len(approximate))
    if Q.shape[1] < len(support):
        costs = -np.log2(np.maximum(approximate[support], np.finfo(float).tiny))
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
    T[1:, :k], T[1:, k] = vectors, 0
    if m > k:
        T = np.random.default_rng(0).integers(1, 1000, (k + 1, m + 1)).astype(object) @ T
    basis: dict[int, int] = {}
    last, free = 1, list(range(len(T)))

    def pivot(row: int, column: int) -> None:
        nonlocal T, last
        head = T[row].copy()
        T = (T * head[column] - np.outer(T[:, column], head)) // last  # without a remainder
        T[row], last, basis[row] = head, head[column], column

    for column in range(k):
        row = next((row for row in free if T[row, column]), None)
        if row is not None:
            free.remove(row)
            pivot(row, column)
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
        pivot(row, int(entering[0]))
    return []


def find_enclosure(vectors: Integers, approximate: FloatArray) -> float | None:
    """Return t < 1 such that some λ satisfies (PCANCEL.1) and |λ_k − a_k| ≤ t a_k, a = approximate; None without one.

    Shapes: vectors (m, k), approximate (k,).
    """
    m, k = vectors.shape
    if not m < min(k, MAX_ENCLOSED_EQUATIONS) or m * k > MAX_INTEGERS or not (approximate > 0.0).all():
        return None
    A = _as_exact_floats(vectors)
    if A is None:
        return None
    approximate = approximate / approximate.sum()
    scale = np.exp2(np.round(np.log2(approximate)))
    with np.errstate(all="ignore"):  # with NaN, comparisons are false
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
        high[-1] -= 1.0  # exact for a number near 1; the residual shows if it is not
        residual = (np.abs(high) + np.abs(low) + radius) * (1.0 + 4.0 * UNIT)
        rough = 1.0 + gamma(4 * m + 32)
        lost = gamma(m + 8) * (np.abs(R) @ np.abs(B).sum(axis=1)) * rough + m * UNDERFLOW
        q = float((np.abs(np.eye(m + 1) - R @ B).sum(axis=1) * rough + lost).max()) * rough
        delta = float(((np.abs(R) @ residual) * rough).max()) + m * UNDERFLOW
        if not q < 0.5:
            return None
        share = float((delta / (1.0 - q) / (approximate / scale)[columns]).max()) * (1.0 + gamma(16)) + 16.0 * UNIT
    return share if share < 1.0 else None


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


def prove_no_plane(title: str, rows: ContradictingRows, approximate: FloatArray) -> Proof:
    """Prove by (PFARKAS.1) that rows contradict each other, with weights near some floats (k,)."""
    proven = find_combination(rows, approximate, prefer_exact=True)
    weights = [Fraction(value) for value in approximate.tolist()] if proven is None else proven.weights
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    plane = "w" if rows.c is None else "(w, b)"
    listing = f"{len(used)} rows: {_format_weights(used)}"
    record = {"kind": "farkas", "weights": dict(used)}
    if proven is None:
        return build_proof_without_gap(title, [
            Claim("weights", "open", f"whether there are weights near those of the error that prove it: {listing}"),
            Claim("feasible", "open", f"whether no {plane} at all keeps these rows"),
        ], None, record)  # fmt: skip
    alternatives = (
        ""
        if not proven.relative_radius
        else f", or rational ones next to them, off by at most {format_upper_bound(proven.relative_radius)} of each"
    )
    bound = (
        _format_fraction(proven.rhs)
        if not proven.relative_radius
        else f"at most {format_upper_bound(round_up(proven.rhs))}"
    )
    return build_proof_without_gap(title, [
        Claim("weights", "proven", f"the weights λ ≥ 0 of {listing}{alternatives}", proven.relative_radius or None),
        Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly"),
        Claim("right", "proven", f"Σ λ_k h_k is {bound} < 0", round_up(proven.rhs)),
        Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow"),
    ], math.inf, record)  # fmt: skip


def prove_hulls_meet(
    title: str,
    weights: tuple[Mapping[int, Fraction], Mapping[int, Fraction]],
    labels: tuple[str, str],
    point: str,
    proven: Combination | None,
    separation: str,
    assumptions: tuple[str, ...] = (),
) -> Proof:
    """Prove by (PHULL.1) that the hulls of two classes meet, or state what is known.

    weights: u of class +1 and v of class −1, by the index of the sample.
    point: Sentence part that names the common point.
    proven: The exact weights; None if none were found.
    separation: If nonempty, describes a hyperplane that does separate the classes.
    """
    u, v = weights
    assert sum(u.values()) == 1 == sum(v.values())
    of_u, of_v = (
        f"{letter} ≥ 0 of {len(weights_of_class)} of class {label} ({_list_first('row', list(weights_of_class))})"
        for letter, weights_of_class, label in zip("uv", weights, labels, strict=True)
    )
    record: dict[str, Any] = {"kind": "hulls", "u": u, "v": v}
    convex = Claim("convex", "proven", f"the weights {of_u} and {of_v} add up to 1 each, exactly")
    text = "no hyperplane separates the classes: "
    if proven is not None:
        how_exactly = "exactly, in rational numbers"
        if proven.relative_radius:
            how_exactly, enclosing = "exactly, for these", (
                "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the error: none is off "
                f"by more than {format_upper_bound(proven.relative_radius)} of itself"
            )  # fmt: skip
            convex = Claim("convex", "proven", enclosing, proven.relative_radius)
        return build_proof_without_gap(title, [
            convex,
            Claim("hulls", "proven", f"{point} {how_exactly}: the hulls of the classes meet"),
            Claim("separable", "proven", f"{text}that point would be on both of its sides"),
        ], math.inf, {**record, "enclosed": proven.relative_radius > 0.0}, assumptions)  # fmt: skip
    last = Claim("separable", "open", f"{text}no exact point of both hulls was found")
    if separation:
        last = Claim("separable", "refuted", f"{text}one does ({separation}), but its slab is too narrow for doubles")
    open_claim = Claim("hulls", "open", f"whether {point.rstrip(',')} for weights near these")
    return build_proof_without_gap(title, [convex, open_claim, last], None, record, assumptions)


def prove_nu_exceeds_balance(
    nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """Prove by (PNU.1) that ν is too large, for sums of weights of both classes known up to a relative radius."""
    smaller_sum, label = min((below, labels[0]), (above, labels[1]))
    limit = 2 * smaller_sum * (1 + radius) / ((above + below) * (1 - radius))
    sums = f"at most {_format_nu(limit)}"
    if radius == 0:
        sums = f"2·{_format_nu(smaller_sum)}/{_format_nu(above + below)}, that is {_format_nu(limit)}"
    reason = "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, of which each α_i may be s_i/S: for class "
    verdict: Verdict = "proven" if Fraction(nu) > limit else "open" if radius else "refuted"
    claims = [
        Claim("limit", "proven", f"{reason}{label} this allows ν up to {sums}"),
        Claim("feasible", verdict, f"ν = {nu!r} is more, so that no α is feasible"),
    ]
    return _build_nu_proof(f"ν-SVM, ν = {nu:g}", nu, limit, claims)


def prove_nu_above_one(nu: float, feasible: bool) -> Proof:
    """Prove (PNU.2), ν > 1; if there are feasible α (`feasible`), explain why that ν is refused."""
    reason = "1ᵀα = νS, and each α_i may be s_i: this allows ν up to 1"
    conclusion = f"ν = {nu!r} is more, so that no α is feasible"
    if feasible:
        reason = "a width ε costs νΣC a unit and saves at most ΣC: for ν ≥ 1 none is better than 0, whatever ν is"
        conclusion = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", reason), Claim("refused" if feasible else "feasible", "proven", conclusion)]
    return _build_nu_proof(f"ν = {nu:g}", nu, Fraction(1), claims, not feasible)


def _build_nu_proof(title: str, nu: float, limit: Fraction, claims: Sequence[Claim], empty: bool = True) -> Proof:
    """Build the proof for a ν that is too large: the optimal value is −∞ if the dual is `empty` and all is proven."""
    is_infeasible = empty and all(claim.verdict == "proven" for claim in claims)
    return build_proof_without_gap(
        title, claims, -math.inf if is_infeasible else None, {"kind": "nu", "nu": Fraction(nu), "limit": limit}
    )


def build_proof_without_gap(
    title: str, claims: Sequence[Claim], value: float | None, record: Mapping[str, Any], assumed: tuple[str, ...] = ()
) -> Proof:
    """Build a proof without a gap, with a known optimal value, or None."""
    primal, dual = (value, value) if value is not None else (math.inf, -math.inf)
    return Proof(
        title=title, gap=math.nan, least_gap=math.nan, primal=primal, dual=dual, difference=math.nan, remains=math.nan,
        alpha=np.zeros(0), exactly=all(claim.verdict == "proven" for claim in claims),
        claims=tuple(claims), assumptions=assumed, record=record,
    )  # fmt: skip


def _list_first(noun: str, items: Sequence[Any]) -> str:
    """Name a few of many items."""
    named = ", ".join(str(item) for item in items[:MAX_NAMED]) + (", …" if len(items) > MAX_NAMED else "")
    return f"{noun}{'' if len(items) == 1 else 's'} {named}"


def _format_weights(used: Sequence[tuple[str, Fraction]]) -> str:
    """Describe the largest of named weights."""
    ordered = sorted(used, key=lambda item: -item[1])
    return " + ".join(f"{_format_fraction(w)}·({name})" for name, w in ordered[:MAX_NAMED]) + (
        " + …" if len(used) > MAX_NAMED else ""
    )


def _format_fraction(value: Fraction, limit: int = MAX_SHORT_WEIGHT, digits: int = 6) -> str:
    """Return a fraction as text if it is short, otherwise its approximate value."""
    if max(abs(value.numerator), value.denominator) < limit:
        return str(value)
    return f"about {round_up(value):.{digits}g}"


def _format_nu(value: Fraction) -> str:
    return _format_fraction(value, MAX_SHORT_NU, 17)
