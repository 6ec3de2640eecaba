"""What is proven where a machine has no solution: classes that nothing separates, rows that nothing keeps, a ν too large.

    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has one value there, which is at
               least the least of the positive class and at most the most of the other; so it separates nothing (Gordan)
    (PHULL.2)  where they are δ apart:  f ≥ 1 and f ≤ −1 make 2 ≤ ⟨w, Σu_i φ(x_i) − Σv_j φ(x_j)⟩ ≤ ‖w‖δ, so that no slab
               between the classes is wider than 2/‖w‖ ≤ δ
    (PFARKAS.1)  rows ⟨g_k, w⟩ + c_k b ≤ h_k and λ ≥ 0 with Σλ_k g_k = 0, Σλ_k c_k = 0, Σλ_k h_k < 0:  the rows add up
                 to 0 ≤ Σλ_k h_k, so that no (w, b) keeps them (Farkas)
    (PFARKAS.2)  where (r, s) = Σλ_k (g_k, c_k) is not 0:  Σλ_k h_k ≥ ⟨r, w⟩ + sb ≥ −‖(r, s)‖‖(w, b)‖, so that none with
                 ‖(w, b)‖ < −Σλ_k h_k/‖(r, s)‖ does

(PHULL.1) is (PFARKAS.1) of the rows −y_i f(x_i) ≤ −1. A `Proof` of such claims has no gap, which is NaN. The infimum over
no point is ∞, so P and D are; −∞ where the dual has no point, and the primal no bound.

Sources: Farkas (1902); Gordan (1873); Schrijver, *Theory of Linear and Integer Programming* (1986), section 7.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.proof.cancelling import Integers, cancelling
from qpsvm.proof.coordinates import Coordinates, root_above
from qpsvm.proof.enclosed import enclosed
from qpsvm.proof.exactly import above, below
from qpsvm.proof.integers import common
from qpsvm.proof.proof import Claim, Proof

#: Rows that are named in a sentence, and fractions that are written as such.
NAMED, SHORT = 6, 1000


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows (PFARKAS.1).

    Attributes
    ----------
    points : Coordinates or None
        Of q points z_l; None where they are too many.
    terms : sequence of sequence of (int, Fraction)
        g_k = Σ A_kl φ(z_l), by the l and A_kl of each k.
    c : sequence of Fraction or None
        None where there is no b.
    h : sequence of Fraction
    names : sequence of str
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


@dataclass(frozen=True, eq=False)
class Meeting:
    """What is asked of two classes.

    Attributes
    ----------
    title : str
    rows : Rows
        −y_i f(x_i) ≤ −1 of the samples with weights.
    signs : sequence of int
        y_i.
    weights : ndarray, shape (k,)
        u and v.
    numbers : sequence of int
        The samples' numbers among the user's.
    labels : (str, str)
        Of the classes −1 and +1.
    separated : callable
        What is known of the classes if no exact weights are found: a claim that they are separated after all, with
        what shows it; or None.
    """

    title: str
    rows: Rows
    signs: Sequence[int]
    weights: FloatArray
    numbers: Sequence[int]
    labels: tuple[str, str]
    separated: Callable[[], tuple[Claim, Mapping[str, Any]] | None]


def meeting(asked: Meeting) -> Proof:
    """(PHULL.1), or else (PHULL.2)."""
    vectors = asked.rows.vectors()
    found = None if vectors is None else cancelling(vectors, asked.weights)
    if found is not None:
        weights = [2 * value for value in found]
        claims = [
            _convex(asked, weights, ""),
            Claim(
                "hulls", "proven", f"{_point(asked.rows)} exactly, in rational numbers: the hulls of the classes meet"
            ),
            Claim(
                "separable", "proven", "no hyperplane separates the classes: that point would be on both of its sides"
            ),
        ]
        return _nothing(asked.title, claims, math.inf, _weights_of(asked, weights))
    weights = _rescaled(asked)
    share = None if vectors is None else enclosed(vectors, _halves(weights))
    if share is not None:
        claims = [
            Claim("convex", "proven", f"there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the "
                  f"error: none is off by more than {_up(share)} of itself", share),
            Claim("hulls", "proven", f"{_point(asked.rows)} exactly, for these: the hulls of the classes meet"),
            Claim("separable", "proven", "no hyperplane separates the classes: that point would be on both of its sides"),
        ]  # fmt: skip
        return _nothing(asked.title, claims, math.inf, _weights_of(asked, weights))
    square, _ = asked.rows.left(weights)
    claims = [_convex(asked, weights, "of the error, divided by their sums, ")]
    if square is None:
        claims.append(Claim("hulls", "open", f"whether {_point(asked.rows).rstrip(',')}: not known without rounding"))
    else:
        claims.append(_near(asked.rows, square))
    refuted, shown = asked.separated() or (None, {})
    claims.append(refuted or Claim(
        "separable", "open", "whether no hyperplane separates the classes: no exact point of both hulls was found, and a "
        "narrower slab is not excluded",
    ))  # fmt: skip
    return _nothing(asked.title, claims, None, {**_weights_of(asked, weights), **shown})


def _halves(weights: Sequence[Fraction]) -> FloatArray:
    """u/2 and v/2 as floats."""
    return np.array([float(weight) / 2.0 for weight in weights])


def _point(rows: Rows) -> str:
    """The equation of (PHULL.1)."""
    if rows.points is not None and rows.points.kind == "matrix":
        return "Σ u_i f(x_i) = Σ v_j f(x_j) of every f(x) = Σ a_i K(x_i, x) + b,"
    return "Σ u_i φ(x_i) = Σ v_j φ(x_j)"


def _near(rows: Rows, square: Fraction) -> Claim:
    """(PHULL.2), for δ²."""
    assert rows.points is not None
    most = rows.points.longest
    share = f", {_up(root_above(square / most), 2)} of the longest of these samples" if most else ""
    distance = root_above(square)
    return Claim(
        "hulls", "proven", f"Σ u_i φ(x_i) and Σ v_j φ(x_j) are at most {_up(distance)} apart{share}: no slab between the "
        "classes is wider", distance,
    )  # fmt: skip


def _rescaled(asked: Meeting) -> list[Fraction]:
    """The floats divided by their sums, which are then 1 without rounding."""
    weights = [Fraction(value) for value in asked.weights.tolist()]
    sums = {sign: sum(w for w, s in zip(weights, asked.signs, strict=True) if s == sign) for sign in (1, -1)}
    return [w / sums[s] for w, s in zip(weights, asked.signs, strict=True)]


def _convex(asked: Meeting, weights: Sequence[Fraction], which: str) -> Claim:
    """The sentence on u and v."""
    parts = []
    for letter, sign, label in (("u", 1, asked.labels[1]), ("v", -1, asked.labels[0])):
        some = [n for n, s, w in zip(asked.numbers, asked.signs, weights, strict=True) if s == sign and w]
        parts.append(f"{letter} ≥ 0 of {len(some)} of class {label} ({_listed('row', some)})")
    assert sum(w for w, s in zip(weights, asked.signs, strict=True) if s > 0) == 1 == sum(weights) - 1
    return Claim("convex", "proven", f"the weights {which}{parts[0]} and {parts[1]} add up to 1 each, exactly")


def _weights_of(asked: Meeting, weights: Sequence[Fraction]) -> Mapping[str, Any]:
    """u and v by the numbers of samples."""
    found: dict[str, dict[int, Fraction]] = {"u": {}, "v": {}}
    for number, sign, weight in zip(asked.numbers, asked.signs, weights, strict=True):
        if weight:
            found["u" if sign > 0 else "v"][number] = weight
    return {"kind": "hulls", **found}


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
        return _nothing(title, [given, *_radius(rows, weights, right, plane), bound, Claim(
            "feasible", "open", f"whether no {plane} at all keeps these rows: no exact weights were found",
        )], None, record)  # fmt: skip
    left = Claim("left", "proven", "the left-hand sides of λ_k times these rows add up to 0 exactly")
    last = Claim("feasible", "proven", f"no {plane} keeps all of these rows: 0 ≤ Σ λ_k h_k would follow")
    return _nothing(title, [given, left, bound, last], math.inf, record)


def _radius(rows: Rows, weights: Sequence[Fraction], right: Fraction, plane: str) -> list[Claim]:
    """(PFARKAS.2)."""
    square, own = rows.left(weights)
    if square is None:
        return [Claim("left", "open", "what is left of the left-hand sides: not known without rounding")]
    length = root_above(square + own * own)
    claims = [
        Claim("left", "proven", f"of the left-hand sides a vector is left that is at most {_up(length)} long", length)
    ]
    if right < 0 and length > 0:
        radius = below(-right / Fraction(length))
        text = f"no {plane} with ‖{plane.strip('()')}‖ < {_down(radius)} keeps all of these rows"
        claims.append(Claim("radius", "proven", text, radius))
    return claims


def _right(rows: Rows, weights: Sequence[Fraction]) -> Fraction:
    """Σλ_k h_k."""
    return sum((a * h for a, h in zip(weights, rows.h, strict=True)), Fraction(0))


def nothing_feasible(title: str, claims: Sequence[Claim], record: Mapping[str, Any], empty: bool = True) -> Proof:
    """A dual without a point (if it is `empty`), and a primal without a bound, where all claims are proven."""
    whole = empty and all(claim.verdict == "proven" for claim in claims)
    return _nothing(title, claims, -math.inf if whole else None, record)


def _nothing(title: str, claims: Sequence[Claim], value: float | None, record: Mapping[str, Any]) -> Proof:
    """A proof without a gap; the optimal value, or None where nothing is known of it."""
    primal, dual = (value, value) if value is not None else (math.inf, -math.inf)
    return Proof(
        title=title, gap=math.nan, least_gap=math.nan, primal=primal, dual=dual, difference=math.nan, remains=math.nan,
        alpha=np.zeros(0), exactly=all(claim.verdict == "proven" for claim in claims), claims=tuple(claims), record=record,
    )  # fmt: skip


def _listed(what: str, items: Sequence[Any]) -> str:
    """A few of many, by name."""
    named = ", ".join(str(item) for item in items[:NAMED]) + (", …" if len(items) > NAMED else "")
    return f"{what}{'' if len(items) == 1 else 's'} {named}"


def _written(used: Sequence[tuple[str, Fraction]]) -> str:
    """The largest of named weights."""
    largest = sorted(used, key=lambda item: -item[1])
    return " + ".join(f"{_short(w)}·({name})" for name, w in largest[:NAMED]) + (" + …" if len(used) > NAMED else "")


def _short(value: Fraction) -> str:
    """A fraction where it is short, and else about what it is."""
    if max(abs(value.numerator), value.denominator) < SHORT:
        return str(value)
    return f"about {above(value):.6g}"


def _up(value: float, digits: int = 3) -> str:
    """A number that is not below this one, in few digits."""
    return f"{Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value).normalize():g}"


def _down(value: float) -> str:
    """A number that is not above this one, in few digits."""
    return f"{Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(value).normalize():g}"
