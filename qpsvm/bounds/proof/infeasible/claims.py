"""What is proven where a machine has no solution: rows that nothing keeps, classes that meet, a ν that is too large.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so that no (w, b) keeps them (Farkas)
    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has one value there, at least
               the least of the positive class and at most the most of the other; so it separates nothing (Gordan).
               This is (PFARKAS.1) of the rows −y_i f(x_i) ≤ −1 with λ = (u, v)/2
    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each, and α_i ≤ s_i/S make ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i make ν ≤ 1

λ is looked for near the floats of an error, by `cancelling` and `enclosed`; S₊, S₋ and S are sums without rounding.
A `Proof` of such claims has no gap, which is NaN. The infimum over no point is ∞, so P and D are; −∞ where the dual has
no point, and the primal no bound.

Sources: Farkas (1902); Gordan (1873); Bennett & Mangasarian, *Robust linear programming discrimination* (1992);
Schrijver, *Theory of Linear and Integer Programming* (1986), section 7.8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import above, common
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.infeasible.cancelling import Integers, cancelling, enclosed
from qpsvm.bounds.proof.infeasible.coordinates import Coordinates
from qpsvm.bounds.proof.proof import Claim, Proof, Verdict

#: Equations up to which few exact weights take no longer than to enclose many.
QUICK = 24
#: Rows that are named in a sentence; and fractions that are written as such, of weights and of ν.
NAMED, SHORT, SHORT_NU = 6, 1000, 10**6


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows (PFARKAS.1).

    points: Of q points z_l; None where they are too many.
    terms: g_k = Σ A_kl φ(z_l), by the l and A_kl of each k.
    c: None where there is no b.
    """

    points: Coordinates | None
    terms: Sequence[Sequence[tuple[int, Fraction]]]
    c: Sequence[Fraction] | None
    h: Sequence[Fraction]
    names: Sequence[str]

    def vectors(self) -> Integers | None:
        """(g_k, c_k) as columns of whole numbers, (m, k)."""
        if self.points is None:
            return None
        whole = self.points.whole
        denominator = math.lcm(*{a.denominator for term in self.terms for _, a in term})
        found = np.full((len(whole) + (self.c is not None), len(self.terms)), 0, dtype=object)
        for k, term in enumerate(self.terms):
            for place, a in term:
                found[: len(whole), k] += whole[:, place] * int(a * denominator)
        if self.c is not None:
            found[-1] = common(self.c)[0]
        return found


@dataclass(frozen=True, eq=False)
class Combination:
    """λ of (PFARKAS.1), or numbers from which it is not off by more than a `share` of each.

    right: Σλ_k h_k from above.
    """

    weights: list[Fraction]
    right: Fraction
    share: float = 0.0


def combination(rows: Rows, near: FloatArray, exactly: bool = False) -> Combination | None:
    """(PFARKAS.1) near some floats, (k,), by what takes least time, or first `exactly`; None where none is found."""
    vectors = rows.vectors()
    if vectors is None:
        return None
    first = exactly or len(vectors) <= QUICK
    for exact in (first, not first):
        found = _exact(rows, vectors, near) if exact else _nearby(rows, vectors, near)
        if found is not None and found.right < 0:
            return found
    return None


def _exact(rows: Rows, vectors: Integers, near: FloatArray) -> Combination | None:
    weights = cancelling(vectors, near)
    return None if weights is None else Combination(weights, right_side(rows, weights))


def _nearby(rows: Rows, vectors: Integers, near: FloatArray) -> Combination | None:
    share = enclosed(vectors, near)
    if share is None:
        return None
    total = Fraction(float(near.sum()))
    weights = [Fraction(value) / total for value in near.tolist()]
    products = [weight * h for weight, h in zip(weights, rows.h, strict=True)]
    right = sum(products, Fraction(0)) + Fraction(share) * sum(map(abs, products), Fraction(0))
    return Combination(weights, right, share)


def right_side(rows: Rows, weights: Sequence[Fraction]) -> Fraction:
    """Σλ_k h_k."""
    return sum((a * h for a, h in zip(weights, rows.h, strict=True)), Fraction(0))


def excluded(title: str, rows: Rows, near: FloatArray) -> Proof:
    """(PFARKAS.1) for rows that exclude each other with weights near some floats, (k,)."""
    found = combination(rows, near, exactly=True)
    weights = [Fraction(value) for value in near.tolist()] if found is None else found.weights
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    plane = "w" if rows.c is None else "(w, b)"
    listing = f"{len(used)} rows: {_written(used)}"
    record = {"kind": "farkas", "weights": dict(used)}
    if found is None:
        return no_gap(title, [
            Claim("weights", "open", f"whether there are weights near those of the error that prove it: {listing}"),
            Claim("feasible", "open", f"whether no {plane} at all keeps these rows"),
        ], None, record)  # fmt: skip
    which = "" if not found.share else f", or rational ones next to them, off by at most {at_most(found.share)} of each"
    bound = _short(found.right) if not found.share else f"at most {at_most(above(found.right))}"
    return no_gap(title, [
        Claim("weights", "proven", f"the weights λ ≥ 0 of {listing}{which}", found.share or None),
        Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly"),
        Claim("right", "proven", f"Σ λ_k h_k is {bound} < 0", above(found.right)),
        Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow"),
    ], math.inf, record)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Apart:
    """A w that separates all samples; empty where only its existence is told, by `why`."""

    w: list[Fraction]
    why: str = "its w, in rational numbers, is in the record"


def meeting(
    title: str,
    weights: tuple[Mapping[int, Fraction], Mapping[int, Fraction]],
    labels: tuple[str, str],
    point: str,
    found: Combination | Apart | None,
    assumptions: tuple[str, ...] = (),
) -> Proof:
    """(PHULL.1) of u and v by the numbers of samples, of the classes +1 and −1; or else what separates, if known.

    point: The equation, in words.
    """
    u, v = weights
    assert sum(u.values()) == 1 == sum(v.values())
    of_u, of_v = (
        f"{letter} ≥ 0 of {len(part)} of class {label} ({listed('row', list(part))})"
        for letter, part, label in zip("uv", weights, labels, strict=True)
    )
    record: dict[str, Any] = {"kind": "hulls", "u": u, "v": v}
    convex = Claim("convex", "proven", f"the weights {of_u} and {of_v} add up to 1 each, exactly")
    text = "no hyperplane separates the classes: "
    if isinstance(found, Combination):
        those = "exactly, in rational numbers"
        if found.share:
            those, enclosing = "exactly, for these", (
                "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the error: none is off "
                f"by more than {at_most(found.share)} of itself"
            )  # fmt: skip
            convex = Claim("convex", "proven", enclosing, found.share)
        return no_gap(title, [
            convex,
            Claim("hulls", "proven", f"{point} {those}: the hulls of the classes meet"),
            Claim("separable", "proven", f"{text}that point would be on both of its sides"),
        ], math.inf, {**record, "enclosed": found.share > 0.0}, assumptions)  # fmt: skip
    if found is None:
        last = Claim("separable", "open", f"{text}no exact point of both hulls was found")
    else:
        text += f"one does ({found.why}), but its slab is too narrow for doubles"
        last = Claim("separable", "refuted", text)
        record |= {"w": dict(enumerate(found.w))} if found.w else {}
    near = Claim("hulls", "open", f"whether {point.rstrip(',')} for weights near these")
    return no_gap(title, [convex, near, last], None, record, assumptions)


def balance(
    nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """(PNU.1), for sums of weights that are known up to a relative radius."""
    least, label = min((below, labels[0]), (above, labels[1]))
    limit = 2 * least * (1 + radius) / ((above + below) * (1 - radius))
    sums = f"at most {_plain(limit)}"
    if radius == 0:
        sums = f"2·{_plain(least)}/{_plain(above + below)}, that is {_plain(limit)}"
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


def listed(what: str, items: Sequence[Any]) -> str:
    """A few of many, by name."""
    named = ", ".join(str(item) for item in items[:NAMED]) + (", …" if len(items) > NAMED else "")
    return f"{what}{'' if len(items) == 1 else 's'} {named}"


def _written(used: Sequence[tuple[str, Fraction]]) -> str:
    """The largest of named weights."""
    largest = sorted(used, key=lambda item: -item[1])
    return " + ".join(f"{_short(w)}·({name})" for name, w in largest[:NAMED]) + (" + …" if len(used) > NAMED else "")


def _short(value: Fraction, most: int = SHORT, digits: int = 6) -> str:
    """A fraction where it is short, and else about what it is."""
    if max(abs(value.numerator), value.denominator) < most:
        return str(value)
    return f"about {above(value):.{digits}g}"


def _plain(value: Fraction) -> str:
    return _short(value, SHORT_NU, 17)
