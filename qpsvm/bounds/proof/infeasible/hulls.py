"""What is proven where no hyperplane separates two classes.

    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has one value there, at least
               the least of the positive class and at most the most of the other; so it separates nothing (Gordan)
    (PHULL.2)  where they are δ apart:  f ≥ 1 and f ≤ −1 make 2 ≤ ⟨w, Σu_i φ(x_i) − Σv_j φ(x_j)⟩ ≤ ‖w‖δ, so that no slab
               between the classes is wider than 2/‖w‖ ≤ δ

(PHULL.1) is (PFARKAS.1) of the rows −y_i f(x_i) ≤ −1. It is looked for near the floats of the error, by `cancelling`
and `enclosed`; where that fails, `compared` asks all samples.

Sources: Gordan (1873); Bennett & Mangasarian, *Robust linear programming discrimination* (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import root_above
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.infeasible.cancelling import (
    Integers,
    cancel,
    cancelling,
    decided,
    enclosed,
    with_ones,
    without_factors,
)
from qpsvm.bounds.proof.infeasible.constraints import Rows, listed, no_gap
from qpsvm.bounds.proof.proof import Claim, Proof

#: Equations up to which few exact weights take no longer than to enclose many.
QUICK = 24
#: Numbers and coordinates of samples that are all looked at, in a second or two.
NUMBERS, MOST_COORDINATES = 1e5, 40


@dataclass(frozen=True, eq=False)
class Apart:
    """A w that separates all samples, in the coordinates given; empty where only its existence is told, by `why`."""

    w: list[Fraction]
    why: str = "its w, in rational numbers, is in the record"


def compared(vectors: Integers, signs: IntArray, near: FloatArray) -> list[Fraction] | Apart | None:
    """λ, which are u/2 and v/2, or what separates: of y_i x_i of all samples, by (PCANCEL.2); None where it takes long.

    Shapes: vectors (m, n), signs (n,), near (n,).
    """
    m, n = vectors.shape
    if m > MOST_COORDINATES or m * n > NUMBERS:
        return None
    Z, divisors = without_factors(vectors)
    vectors = np.vstack([vectors, signs.astype(object)[None]])
    found = decided(with_ones(np.vstack([Z, vectors[-1:]])), near)
    if found is None or (found.weights and not cancel(vectors, found.weights)):
        return None
    own = iter(found.against[1:])
    return found.weights or Apart([Fraction(next(own), d) if d else Fraction(0) for d in divisors])


@dataclass(frozen=True, eq=False)
class Meeting:
    """What is asked of two classes.

    rows: −y_i f(x_i) ≤ −1 of the samples with weights.
    signs: y_i.
    weights (k,): u and v.
    numbers: The samples' numbers among the user's.
    labels: Of the classes −1 and +1.
    decide: Asked where these weights prove nothing exactly: λ of all samples, or what separates them.
    everyone: y_i and numbers of all samples.
    """

    title: str
    rows: Rows
    signs: Sequence[int]
    weights: FloatArray
    numbers: Sequence[int]
    labels: tuple[str, str]
    decide: Callable[[], list[Fraction] | Apart | None]
    everyone: tuple[Sequence[float], Sequence[int]]
    assumptions: tuple[str, ...] = ()


def meet(asked: Meeting) -> Mapping[int, Fraction] | bool | None:
    """Whether (PHULL.1) is true of two classes, by what takes least time; None where that is not known.

    Where it is true of other weights than those asked about, u and v by the numbers of samples.
    """
    vectors = asked.rows.vectors()
    if vectors is not None:
        for exactly in (True, False) if len(vectors) <= QUICK else (False, True):
            if not exactly and enclosed(vectors, _halves(_rescaled(asked))) is not None:
                return True
            if exactly and (weights := cancelling(vectors, asked.weights)) is not None:
                return {number: 2 * weight for number, weight in zip(asked.numbers, weights, strict=True)}
    found = asked.decide()
    if isinstance(found, list):
        return {number: 2 * weight for number, weight in zip(asked.everyone[1], found, strict=True)}
    return None if found is None else False


def meeting(asked: Meeting) -> Proof:
    """(PHULL.1), exactly or for weights nearby; or else (PHULL.2)."""
    vectors = asked.rows.vectors()
    found = None if vectors is None else cancelling(vectors, asked.weights)
    if found is not None:
        return _met(asked, _Convex(asked.signs, asked.numbers, [2 * value for value in found]))
    weights = _rescaled(asked)
    convex = _Convex(asked.signs, asked.numbers, weights)
    share = None if vectors is None else enclosed(vectors, _halves(weights))
    if share is not None:
        text = (
            "there are u ≥ 0 and v ≥ 0, rational and with sums of 1 each, next to those of the error: none is off by "
            f"more than {at_most(share)} of itself"
        )
        return _met(asked, convex, Claim("convex", "proven", text, share))
    found_all = asked.decide()
    if isinstance(found_all, list):
        return _met(asked, _Convex(*asked.everyone, [2 * value for value in found_all]))
    square, _ = asked.rows.left(weights)
    claims = [convex.claim(asked.labels, "of the error, divided by their sums, ")]
    if square is None:
        claims.append(Claim("hulls", "open", f"whether {_point(asked.rows).rstrip(',')}: not known without rounding"))
    else:
        claims.append(_near(asked.rows, square))
    record = dict(convex.record)
    text = "no hyperplane separates the classes: "
    if found_all is None:
        text += "no exact point of both hulls was found, and a narrower slab is not excluded"
        claims.append(Claim("separable", "open", text))
    else:
        text += f"one does ({found_all.why}), but its slab is too narrow for doubles"
        claims.append(Claim("separable", "refuted", text))
        record |= {"w": dict(enumerate(found_all.w))} if found_all.w else {}
    return no_gap(asked.title, claims, None, record, asked.assumptions)


def _met(asked: Meeting, convex: _Convex, which: Claim | None = None) -> Proof:
    """The sentences of (PHULL.1)."""
    those = "exactly, in rational numbers" if which is None else "exactly, for these"
    claims = [
        which or convex.claim(asked.labels, ""),
        Claim("hulls", "proven", f"{_point(asked.rows)} {those}: the hulls of the classes meet"),
        Claim("separable", "proven", "no hyperplane separates the classes: that point would be on both of its sides"),
    ]
    record = {**convex.record, "enclosed": which is not None}
    return no_gap(asked.title, claims, math.inf, record, asked.assumptions)


@dataclass(frozen=True, eq=False)
class _Convex:
    """u and v of some samples: y_i, numbers and weights, (k,) each."""

    signs: Sequence[float]
    numbers: Sequence[int]
    weights: Sequence[Fraction]

    def of(self, sign: int) -> dict[int, Fraction]:
        """Those of one class that are not 0, by the numbers of samples."""
        every = zip(self.signs, self.numbers, self.weights, strict=True)
        return {number: weight for s, number, weight in every if s == sign and weight}

    def claim(self, labels: tuple[str, str], which: str) -> Claim:
        """The sentence."""
        u, v = self.of(1), self.of(-1)
        assert sum(u.values()) == 1 == sum(v.values())
        first, second = (
            f"{letter} ≥ 0 of {len(part)} of class {label} ({listed('row', list(part))})"
            for letter, part, label in (("u", u, labels[1]), ("v", v, labels[0]))
        )
        return Claim("convex", "proven", f"the weights {which}{first} and {second} add up to 1 each, exactly")

    @property
    def record(self) -> Mapping[str, Any]:
        """u and v by the numbers of samples."""
        return {"kind": "hulls", "u": self.of(1), "v": self.of(-1)}


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
    share = f", {at_most(root_above(square / most), 2)} of the longest of these samples" if most else ""
    distance = root_above(square)
    text = f"Σ u_i φ(x_i) and Σ v_j φ(x_j) are at most {at_most(distance)} apart{share}"
    text += ": no slab between the classes is wider"
    return Claim("hulls", "proven", text, distance)


def _rescaled(asked: Meeting) -> list[Fraction]:
    """The floats divided by their sums, which are then 1 without rounding."""
    weights = [Fraction(value) for value in asked.weights.tolist()]
    sums = {sign: sum(w for w, s in zip(weights, asked.signs, strict=True) if s == sign) for sign in (1, -1)}
    return [w / sums[s] for w, s in zip(weights, asked.signs, strict=True)]
