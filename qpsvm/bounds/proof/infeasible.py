"""Prove that a problem has no solution: contradicting constraints, classes whose hulls meet, a ν too large.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so that no (w, b) keeps them (Farkas)
    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has one value there, at least
               the least of the positive class and at most the most of the other; so it separates nothing (Gordan).
               This is (PFARKAS.1) of the rows −y_i f(x_i) ≤ −1 with λ = (u, v)/2
    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each, and α_i ≤ s_i/S make ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i make ν ≤ 1

S₊, S₋ and S are sums without rounding. λ is found near the floats of an error, from points in whole numbers, and put
into the equation in integers before it is reported:

    (PCOORD.1)  linear kernel:  the features themselves, which are floats and so rational. Polynomial with whole p and
                r ≥ 0:  monomials, as (gxᵀz + r)^p = Σ_a p!/(a!(p − |a|)!) g^|a| r^(p − |a|) x^a z^a; for p = 1 any r
    (PCOORD.2)  precomputed kernel:  columns of the matrix as given; Kγ = 0 makes Σγ_l f(z_l) = 0 for every
                f(z) = Σ a_i K(x_i, z), whether K is positive semidefinite or not
    (PCOORD.3)  any other kernel:  which points are the same
    (PCANCEL.1)  λ ≥ 0,  Σ λ_k = 1,  Σ λ_k g_k = 0:  of rational g_k, if there are such λ then there are rational ones,
                 and some with as many positive ones as the g_k with a 1 behind have independent coordinates, at most
                 (Carathéodory). A linear program in floats says which to begin with
    (PCANCEL.2)  the dual simplex method without costs, in integers (Bareiss, Edmonds):  where λ_k < 0 of a basis, the
                 first column with a negative entry in that row takes the place of k

Where rational λ would take long, it is enough that there are some near floats:

    (PENCL.1)  B(x̃ + δ) = c with the residual r = c − Bx̃:  for any R with ‖I − RB‖ ≤ q < 1 in the largest row sum, B is
               regular and |δ| ≤ ‖Rr‖/(1 − q) in every entry
    (PENCL.2)  of [G; 1]λ = (0, …, 0, 1) the columns of B are as many as it has rows, and independent; the others keep
               the floats that they have. Each is scaled by the power of 2 next to its weight, so that x̃ is about 1

Where |δ| < x̃ there is one λ > 0 with that, and it is rational, as B and c are. Products and sums are bounded by
(ROUND.1) and (ROUND.4).

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

#: Whole numbers without bounds, as objects.
Integers = NDArray[np.object_]

#: Numbers of a pivot times pivots that take about a second; columns beside a basis, and how often one comes in; and
#: equations up to which nothing is quicker.
PIVOTED, SPARE, STEPS, QUICK = 5e5, 20, 80, 24
#: Equations of a verified solution, and whole numbers, that take about a second.
MOST_ENCLOSED, NUMBERS = 1000, 4e6
#: The share of the largest row that is none beside others, and bits of powers of 2 times floats of ordinary size.
RANK, MOST_BITS = 1e-13, 900
#: Rows that are named in a sentence; and fractions that are written as such, of weights and of ν.
NAMED, SHORT, SHORT_NU = 6, 1000, 10**6


def coordinates(kernel: Kernel, points: Matrix) -> Integers | None:
    """Points (q, d) of a kernel in whole coordinates, (m, q): what is 0 in them is 0. None where that takes long."""
    q = points.shape[0]
    degree = int(kernel.degree) if isinstance(kernel, Polynomial) and (kernel.is_psd or kernel.degree == 1) else 0
    if degree or isinstance(kernel, (Linear, Precomputed)):  # (PCOORD.1), (PCOORD.2)
        columns = sp.csc_array(points) if sp.issparse(points) else points
        whole = [as_integers(as_dense(columns[:, [j]])[:, 0])[0] for j in range(points.shape[1])] if q else []
        used: list[Any] = [np.array(values, dtype=object) for values in whole if any(values)]
        if degree:
            if math.comb(len(used) + degree, degree) * q > NUMBERS:
                return None
            one = np.full(q, 1, dtype=object)
            totals = range(degree + 1) if getattr(kernel, "coef0", 0.0) else (degree,)
            places = (found for total in totals for found in combinations_with_replacement(used, total))
            used = [math.prod(factors, start=one) for factors in places]
        return np.array(used, dtype=object).reshape(len(used), q)
    same: dict[bytes, int] = {}
    place = [same.setdefault(row.tobytes(), len(same)) for row in as_dense(points) + 0.0]  # no −0
    found = np.full((len(same), q), 0, dtype=object)
    found[place, np.arange(q)] = 1
    return found  # (PCOORD.3)


@dataclass(frozen=True, eq=False)
class ExcludedRows:
    """Some rows (PFARKAS.1).

    points (m, q): z_l in whole coordinates; None where they are too many.
    terms: g_k = Σ A_kl φ(z_l), by the l and A_kl of each k.
    c: None where there is no b.
    """

    points: Integers | None
    terms: Sequence[Sequence[tuple[int, Fraction]]]
    c: Sequence[Fraction] | None
    h: Sequence[Fraction]
    names: Sequence[str]

    def vectors(self) -> Integers | None:
        """(g_k, c_k) as columns of whole numbers, (m, k): rows of zeros left out, others without common factors."""
        if self.points is None or self.points.size > NUMBERS:
            return None
        denominator = math.lcm(*{a.denominator for term in self.terms for _, a in term})
        found = np.full((len(self.points) + 1, len(self.terms)), 0, dtype=object)
        for k, term in enumerate(self.terms):
            for place, a in term:
                found[:-1, k] += self.points[:, place] * int(a * denominator)
        if self.c is not None:
            found[-1] = to_common_denominator(self.c)[0]
        divisors = [(k, math.gcd(*row)) for k, row in enumerate(found.tolist())]
        kept = [found[k] // d for k, d in divisors if d]
        return np.array(kept, dtype=object).reshape(len(kept), len(self.terms))


@dataclass(frozen=True, eq=False)
class Combination:
    """λ of (PFARKAS.1), or numbers from which it is not off by more than a `share` of each.

    right: Σλ_k h_k from above.
    """

    weights: list[Fraction]
    right: Fraction
    share: float = 0.0


def combination(rows: ExcludedRows, near: FloatArray, exactly: bool = False) -> Combination | None:
    """(PFARKAS.1) near some floats, (k,), by what takes least time, or first `exactly`; None where none is found."""
    vectors = rows.vectors()
    if vectors is None or not 0.0 < float(near.sum()) < math.inf:
        return None
    first = exactly or len(vectors) <= QUICK
    for exact in (first, not first):
        weights, share = find_cancelling_weights(vectors, near) if exact else None, 0.0
        if not exact and (known := find_enclosure(vectors, near)) is not None:
            total, share = Fraction(float(near.sum())), known
            weights = [Fraction(value) / total for value in near.tolist()]
        if weights is not None:
            products = [weight * h for weight, h in zip(weights, rows.h, strict=True)]
            right = sum(products, Fraction(0)) + Fraction(share) * sum(map(abs, products), Fraction(0))
            if right < 0:
                return Combination(weights, right, share)
    return None


def find_cancelling_weights(vectors: Integers, near: FloatArray) -> list[Fraction] | None:
    """Find λ of (PCANCEL.1) near some floats: vectors (m, k), near (k,)."""
    vertex = _vertex(vectors, near / near.sum())
    m = len(vectors) + 1
    order = np.lexsort((-near, -vertex))[: min(int(PIVOTED / m**2), m + SPARE)]
    weights = [Fraction(0)] * len(near)
    for k, weight in zip(order.tolist(), _solve_by_pivots(vectors[:, order]), strict=False):
        weights[k] = weight
    whole, denominator = to_common_denominator(weights)
    cancel = not any(vectors @ np.array(whole, dtype=object))  # (PCANCEL.1), whatever led here
    return weights if cancel and sum(whole) == denominator and min(whole) >= 0 else None


def _vertex(vectors: Integers, near: FloatArray) -> FloatArray:
    """λ with few positive ones among those of some floats, by a linear program that wants none of the smaller ones."""
    from scipy.optimize import linprog

    support = np.flatnonzero(near)
    part = vectors[:, support]
    sizes = np.array([max(abs(value) for value in row) or 1 for row in part.tolist()], dtype=object)
    left = np.vstack([(part / sizes[:, None]).astype(np.float64), np.ones(len(support))])
    Q, R, _ = qr(left.T, mode="economic", pivoting=True)  # far from the origin all rows look alike
    Q = Q[:, np.abs(R.diagonal()) > RANK * abs(R[0, 0])]
    vertex = np.zeros(len(near))
    if Q.shape[1] < len(support):
        costs = -np.log2(np.maximum(near[support], np.finfo(float).tiny))
        found = linprog(costs, A_eq=Q.T, b_eq=Q.T @ near[support], method="highs-ds").x
        if found is not None:
            vertex[support] = np.maximum(found, 0.0)
            return vertex
    return near


def _solve_by_pivots(vectors: Integers) -> list[Fraction]:
    """Solve [1; G]λ = (1, 0, …, 0), λ ≥ 0, by (PCANCEL.2), preferring the first columns; empty if none is found.

    Of more equations than there are columns in (m, k), random combinations are solved.
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
    for _ in range(STEPS):
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


def find_enclosure(vectors: Integers, near: FloatArray) -> float | None:
    """Find a share t < 1 such that there is a λ with (PCANCEL.1) and |λ_k − near_k| ≤ t near_k.

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
        high, low, radius = multiply_to_pairs(A, near)
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


def prove_no_plane(title: str, rows: ExcludedRows, near: FloatArray) -> Proof:
    """(PFARKAS.1) for rows that exclude each other with weights near some floats, (k,)."""
    found = combination(rows, near, exactly=True)
    weights = [Fraction(value) for value in near.tolist()] if found is None else found.weights
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    plane = "w" if rows.c is None else "(w, b)"
    listing = f"{len(used)} rows: {_format_weights(used)}"
    record = {"kind": "farkas", "weights": dict(used)}
    if found is None:
        return no_gap(title, [
            Claim("weights", "open", f"whether there are weights near those of the error that prove it: {listing}"),
            Claim("feasible", "open", f"whether no {plane} at all keeps these rows"),
        ], None, record)  # fmt: skip
    which = (
        ""
        if not found.share
        else f", or rational ones next to them, off by at most {format_upper_bound(found.share)} of each"
    )
    bound = _format_fraction(found.right) if not found.share else f"at most {format_upper_bound(round_up(found.right))}"
    return no_gap(title, [
        Claim("weights", "proven", f"the weights λ ≥ 0 of {listing}{which}", found.share or None),
        Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly"),
        Claim("right", "proven", f"Σ λ_k h_k is {bound} < 0", round_up(found.right)),
        Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow"),
    ], math.inf, record)  # fmt: skip


def prove_hulls_meet(
    title: str,
    weights: tuple[Mapping[int, Fraction], Mapping[int, Fraction]],
    labels: tuple[str, str],
    point: str,
    found: Combination | None,
    apart: str,
    assumptions: tuple[str, ...] = (),
) -> Proof:
    """(PHULL.1) of u and v by the numbers of samples, of the classes +1 and −1; or else why they are `apart`, or ""."""
    u, v = weights
    assert sum(u.values()) == 1 == sum(v.values())
    of_u, of_v = (
        f"{letter} ≥ 0 of {len(part)} of class {label} ({list_first('row', list(part))})"
        for letter, part, label in zip("uv", weights, labels, strict=True)
    )
    record: dict[str, Any] = {"kind": "hulls", "u": u, "v": v}
    convex = Claim("convex", "proven", f"the weights {of_u} and {of_v} add up to 1 each, exactly")
    text = "no hyperplane separates the classes: "
    if found is not None:
        those = "exactly, in rational numbers"
        if found.share:
            those, enclosing = "exactly, for these", (
                "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the error: none is off "
                f"by more than {format_upper_bound(found.share)} of itself"
            )  # fmt: skip
            convex = Claim("convex", "proven", enclosing, found.share)
        return no_gap(title, [
            convex,
            Claim("hulls", "proven", f"{point} {those}: the hulls of the classes meet"),
            Claim("separable", "proven", f"{text}that point would be on both of its sides"),
        ], math.inf, {**record, "enclosed": found.share > 0.0}, assumptions)  # fmt: skip
    last = Claim("separable", "open", f"{text}no exact point of both hulls was found")
    if apart:
        last = Claim("separable", "refuted", f"{text}one does ({apart}), but its slab is too narrow for doubles")
    near = Claim("hulls", "open", f"whether {point.rstrip(',')} for weights near these")
    return no_gap(title, [convex, near, last], None, record, assumptions)


def balance(
    nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """(PNU.1), for sums of weights that are known up to a relative radius."""
    least, label = min((below, labels[0]), (above, labels[1]))
    limit = 2 * least * (1 + radius) / ((above + below) * (1 - radius))
    sums = f"at most {_format_nu(limit)}"
    if radius == 0:
        sums = f"2·{_format_nu(least)}/{_format_nu(above + below)}, that is {_format_nu(limit)}"
    why = "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, of which each α_i may be s_i/S: for class "
    verdict: Verdict = "proven" if Fraction(nu) > limit else "open" if radius else "refuted"
    claims = [
        Claim("limit", "proven", f"{why}{label} this allows ν up to {sums}"),
        Claim("feasible", verdict, f"ν = {nu!r} is more, so that no α is feasible"),
    ]
    return _too_large(f"ν-SVM, ν = {nu:g}", nu, limit, claims)


def share(nu: float, feasible: bool) -> Proof:
    """(PNU.2); or that a machine is not defined for such a ν, although there are feasible α."""
    why = "1ᵀα = νS, and each α_i may be s_i: this allows ν up to 1"
    what = f"ν = {nu!r} is more, so that no α is feasible"
    if feasible:
        why = "a width ε costs νΣC a unit and saves at most ΣC: for ν ≥ 1 none is better than 0, whatever ν is"
        what = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", why), Claim("refused" if feasible else "feasible", "proven", what)]
    return _too_large(f"ν = {nu:g}", nu, Fraction(1), claims, not feasible)


def _too_large(title: str, nu: float, limit: Fraction, claims: Sequence[Claim], empty: bool = True) -> Proof:
    """A dual without a point (if it is `empty`), and a primal without a bound, where all claims are proven."""
    whole = empty and all(claim.verdict == "proven" for claim in claims)
    return no_gap(title, claims, -math.inf if whole else None, {"kind": "nu", "nu": Fraction(nu), "limit": limit})


def no_gap(
    title: str, claims: Sequence[Claim], value: float | None, record: Mapping[str, Any], assumed: tuple[str, ...] = ()
) -> Proof:
    """A proof without a gap; the optimal value, or None where nothing is known of it."""
    primal, dual = (value, value) if value is not None else (math.inf, -math.inf)
    return Proof(
        title=title, gap=math.nan, least_gap=math.nan, primal=primal, dual=dual, difference=math.nan, remains=math.nan,
        alpha=np.zeros(0), exactly=all(claim.verdict == "proven" for claim in claims),
        claims=tuple(claims), assumptions=assumed, record=record,
    )  # fmt: skip


def list_first(what: str, items: Sequence[Any]) -> str:
    """Name a few of many items."""
    named = ", ".join(str(item) for item in items[:NAMED]) + (", …" if len(items) > NAMED else "")
    return f"{what}{'' if len(items) == 1 else 's'} {named}"


def _format_weights(used: Sequence[tuple[str, Fraction]]) -> str:
    """Describe the largest of named weights."""
    largest = sorted(used, key=lambda item: -item[1])
    return " + ".join(f"{_format_fraction(w)}·({name})" for name, w in largest[:NAMED]) + (
        " + …" if len(used) > NAMED else ""
    )


def _format_fraction(value: Fraction, most: int = SHORT, digits: int = 6) -> str:
    """Return a fraction as text if it is short, otherwise its approximate value."""
    if max(abs(value.numerator), value.denominator) < most:
        return str(value)
    return f"about {round_up(value):.{digits}g}"


def _format_nu(value: Fraction) -> str:
    return _format_fraction(value, SHORT_NU, 17)
