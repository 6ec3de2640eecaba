"""What is proven where a machine has no solution: rows that nothing keeps, and what all such proofs have in common.

    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so that no (w, b) keeps them (Farkas)
    (PFARKAS.2)  where (r, s) = Σλ_k (g_k, c_k) is not 0:  Σλ_k h_k ≥ ⟨r, w⟩ + sb ≥ −‖(r, s)‖‖(w, b)‖, so that none with
                 ‖(w, b)‖ < −Σλ_k h_k/‖(r, s)‖ does

A `Proof` of such claims has no gap, which is NaN. The infimum over no point is ∞, so P and D are; −∞ where the dual has
no point, and the primal no bound.

Sources: Farkas (1902); Schrijver, *Theory of Linear and Integer Programming* (1986), section 7.8.

What is proven of a ν that is too large.

    (PNU.1)  two classes:  1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each, and α_i ≤ s_i/S make ν/2 ≤ min(S₊, S₋)/S
    (PNU.2)  no classes:  1ᵀα = νS and α_i ≤ s_i make ν ≤ 1

S₊, S₋ and S are sums of floats without rounding: rational numbers, as is ν.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import above, below, common, root_above
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import at_least, at_most
from qpsvm.bounds.proof.infeasible.cancelling import Integers, cancelling, enclosed
from qpsvm.bounds.proof.infeasible.coordinates import Coordinates
from qpsvm.bounds.proof.proof import Claim, Proof

#: Rows that are named in a sentence, and fractions that are written as such.
NAMED, SHORT = 6, 1000


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

    def left(self, weights: Sequence[Fraction]) -> tuple[Fraction | None, Fraction]:
        """‖Σλ_k g_k‖², or what it is not above, and Σλ_k c_k."""
        own = Fraction(0) if self.c is None else sum((a * c for a, c in zip(weights, self.c, strict=True)), Fraction(0))
        if self.points is None:
            return None, own
        mixed = [Fraction(0)] * self.points.whole.shape[1]
        for weight, term in zip(weights, self.terms, strict=True):
            for place, a in term:
                mixed[place] += weight * a
        return self.points.square(mixed), own


def kept_by_none(rows: Rows, near: FloatArray) -> bool:
    """Whether (PFARKAS.1) is known to be true of weights next to some floats, (k,), by what takes least time."""
    vectors = rows.vectors()
    if vectors is None:
        return False
    most = _right_near(vectors, rows, near)
    if most is not None and most[1] < 0:
        return True
    found = cancelling(vectors, near)
    return found is not None and _right(rows, found) < 0


def excluded(title: str, rows: Rows, near: FloatArray) -> Proof:
    """(PFARKAS.1), or else (PFARKAS.2), for rows that exclude each other with weights near some floats, (k,)."""
    vectors = rows.vectors()
    found = None if vectors is None else cancelling(vectors, near)
    if found is not None and not _right(rows, found) < 0:
        found = None
    weights = found or [Fraction(value) for value in near.tolist()]
    used = [(name, weight) for name, weight in zip(rows.names, weights, strict=True) if weight]
    right = _right(rows, weights)
    given = Claim("weights", "proven", f"the weights λ ≥ 0 of {len(used)} rows: {_written(used)}")
    bound = Claim("right", "proven" if right < 0 else "refuted", f"Σ λ_k h_k is {_short(right)} < 0", above(right))
    record = {"kind": "farkas", "weights": dict(used)}
    plane = "(w, b)" if rows.c is not None else "w"
    if found is None:
        most = None if vectors is None else _right_near(vectors, rows, near)
        if most is not None and most[1] < 0:
            return no_gap(title, [
                Claim("weights", "proven", "there are λ > 0 next to those of the error, rational, off by at most "
                      f"{at_most(most[0])} of themselves: {_written(used)}", most[0]),
                Claim("left", "proven", "the left-hand sides of these λ_k times the rows add up to 0 exactly"),
                Claim("right", "proven", f"Σ λ_k h_k is at most {at_most(above(most[1]))} < 0", above(most[1])),
                _kept_by_none(plane),
            ], math.inf, record)  # fmt: skip
        return no_gap(title, [given, *_radius(rows, weights, right, plane), bound, Claim(
            "feasible", "open", f"whether no {plane} at all keeps these rows: no exact weights were found",
        )], None, record)  # fmt: skip
    left = Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly")
    return no_gap(title, [given, left, bound, _kept_by_none(plane)], math.inf, record)


def _kept_by_none(plane: str) -> Claim:
    """The last sentence of (PFARKAS.1)."""
    return Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow")


def _right_near(vectors: Integers, rows: Rows, near: FloatArray) -> tuple[float, Fraction] | None:
    """How far the λ of `enclosed` are from floats, and Σλ_k h_k for the worst of these, at most."""
    share = enclosed(vectors, near)
    if share is None:
        return None
    total = Fraction(float(near.sum()))
    products = [Fraction(a) / total * h for a, h in zip(near.tolist(), rows.h, strict=True)]
    return share, sum(products, Fraction(0)) + Fraction(share) * sum(map(abs, products), Fraction(0))


def _radius(rows: Rows, weights: Sequence[Fraction], right: Fraction, plane: str) -> list[Claim]:
    """(PFARKAS.2)."""
    square, own = rows.left(weights)
    if square is None:
        return [Claim("left", "open", "what is left of the left-hand sides: not known without rounding")]
    length = root_above(square + own * own)
    text = f"of the left-hand sides a vector is left that is at most {at_most(length)} long"
    claims = [Claim("left", "proven", text, length)]
    if right < 0 and length > 0:
        radius = below(-right / Fraction(length))
        text = f"no {plane} with ‖{plane.strip('()')}‖ < {at_least(radius)} keeps all of these rows"
        claims.append(Claim("radius", "proven", text, radius))
    return claims


def _right(rows: Rows, weights: Sequence[Fraction]) -> Fraction:
    """Σλ_k h_k."""
    return sum((a * h for a, h in zip(weights, rows.h, strict=True)), Fraction(0))


def nothing_feasible(title: str, claims: Sequence[Claim], record: Mapping[str, Any], empty: bool = True) -> Proof:
    """A dual without a point (if it is `empty`), and a primal without a bound, where all claims are proven."""
    whole = empty and all(claim.verdict == "proven" for claim in claims)
    return no_gap(title, claims, -math.inf if whole else None, record)


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


#: Fractions that are written as such.
SHORT_NU = 10**6


def balance(
    nu: float, above: Fraction, below: Fraction, labels: tuple[str, str], radius: Fraction = Fraction(0)
) -> Proof:
    """(PNU.1)."""
    least, label = min((below, labels[0]), (above, labels[1]))
    limit = 2 * least * (1 + radius) / ((above + below) * (1 - radius))
    exact = radius == 0
    sums = f"at most {_plain(limit)}"
    if exact:
        sums = f"2·{_plain(least)}/{_plain(above + below)}, that is {_plain(limit)}"
    claims = [
        Claim("limit", "proven", "1ᵀα = ν and yᵀα = 0 make Σα = ν/2 in each class, of which each α_i may be s_i/S: for "
              f"class {label} this allows ν up to {sums}"),
        Claim("feasible", "proven" if Fraction(nu) > limit else "open" if radius else "refuted",
              f"ν = {nu!r} is more, so that no α is feasible"),
    ]  # fmt: skip
    record = {"kind": "nu", "nu": Fraction(nu), "limit": limit}
    return nothing_feasible(f"ν-SVM, ν = {nu:g}", claims, record)


def share(nu: float, feasible: bool) -> Proof:
    """(PNU.2); or that a machine is not defined for such a ν, although there are feasible α."""
    why = "1ᵀα = νS, and each α_i may be s_i: this allows ν up to 1"
    what = f"ν = {nu!r} is more, so that no α is feasible"
    if feasible:
        why = "a width ε costs νΣC a unit and saves at most ΣC: for ν ≥ 1 none is better than 0, whatever ν is"
        what = f"ν = {nu!r} says no more than 1 does: it is refused, although up to ν = 2 there are feasible α"
    claims = [Claim("limit", "proven", why), Claim("feasible" if not feasible else "refused", "proven", what)]
    record = {"kind": "nu", "nu": Fraction(nu), "limit": Fraction(1)}
    return nothing_feasible(f"ν = {nu:g}", claims, record, not feasible)
