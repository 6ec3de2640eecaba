"""What is proven where no hyperplane separates two classes.

    (PHULL.1)  u, v ≥ 0, 1ᵀu = 1ᵀv = 1, Σu_i φ(x_i) = Σv_j φ(x_j):  f(x) = ⟨w, φ(x)⟩ + b has one value there, at least
               the least of the positive class and at most the most of the other; so it separates nothing (Gordan)
    (PHULL.2)  where they are δ apart:  f ≥ 1 and f ≤ −1 make 2 ≤ ⟨w, Σu_i φ(x_i) − Σv_j φ(x_j)⟩ ≤ ‖w‖δ, so that no slab
               between the classes is wider than 2/‖w‖ ≤ δ

(PHULL.1) is (PFARKAS.1) of the rows −y_i f(x_i) ≤ −1. It is looked for near the floats of the error, by `cancelling`
and `enclosed`; where that fails `nearest` asks all samples.

Sources: Gordan (1873); Bennett & Mangasarian, *Robust linear programming discrimination* (1992).

The nearest points of two hulls in rational numbers: whether two classes are apart, however near they come.

    (PNEAREST.1)  on some samples S, independent with their classes: the β with sums of 1 in each class that makes ‖w‖
                  least, w = Σβ_i y_i x_i, is the solution of [G E; Eᵀ 0](β, −λ) = (0, 1), in integers by (PCANCEL.3)
    (PNEAREST.2)  where β is negative, a sample leaves S, and (PNEAREST.1) again;  where w = 0, the hulls meet;  where
                  ⟨w, x⟩ of one class is above that of the other for all samples, they do not;  else the sample that is
                  furthest on the wrong side of the level of its class comes into S, and (PNEAREST.1) again

Lengths are in any units of the coordinates, and the samples that come and go are chosen in floats: neither changes what
is true of the w that it ends with.

Source: Wolfe, *Finding the nearest point in a polytope*, Math. Programming 11 (1976).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qpsvm.base.arrays.exactly import common, root_above
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.infeasible.cancelling import (
    PRIME,
    Integers,
    cancel,
    cancelling,
    enclosed,
    independent,
    solve_integers,
    without_factors,
)
from qpsvm.bounds.proof.infeasible.constraints import Rows, listed, no_gap
from qpsvm.bounds.proof.proof import Claim, Proof

#: Samples that come and go, at most.
STEPS = 40
#: Numbers that are gone through at each step, and the most coordinates, that take a second or two in all.
NUMBERS, MOST_COORDINATES = 1e5, 40


@dataclass(frozen=True, eq=False)
class Decided:
    """Where (PNEAREST.2) ended.

    weights: λ of (PCANCEL.1), which are β/2, over all samples; empty where the hulls do not meet.
    w: A w that separates, in the coordinates given; empty where there is none.
    """

    weights: list[Fraction]
    w: list[Fraction]


def decided(vectors: Integers, signs: IntArray, near: FloatArray) -> Decided | None:
    """Whether hulls meet.

    Shapes: vectors (m, n), signs (n,), near (n,).
    """
    m, n = vectors.shape
    if m > MOST_COORDINATES or m * n > NUMBERS:
        return None
    Z, divisors = without_factors(vectors)
    E = np.array([signs > 0, signs < 0]).astype(np.int64).astype(object)
    order = np.argsort(-near, kind="stable")[: int(np.count_nonzero(near))]
    picked = independent((np.vstack([Z, E])[:, order] % PRIME).astype(np.int64))[1]
    chosen = order[picked].tolist()
    beta = {i: max(float(near[i]), 0.0) for i in chosen}
    for _ in range(STEPS):
        if len({int(signs[i]) for i in beta}) < 2:
            return None
        found = _nearest(Z, E, list(beta))
        if found is None:
            return None
        step = dict(zip(beta, found, strict=True))
        if min(found) < 0:
            _leave(beta, step)
            continue
        weights = [Fraction(0)] * n
        for i, value in step.items():
            weights[i] = value / 2
        beta = {i: float(value) for i, value in step.items() if value}
        w = (Z @ np.array(common(weights)[0], dtype=object)).tolist()
        if not any(w):
            return Decided(weights, []) if cancel(np.vstack([vectors, signs.astype(object)[None]]), weights) else None
        values = np.array(w, dtype=object) @ Z  # y_i ⟨w, x_i⟩
        level = {sign: min(values[signs == sign].tolist()) for sign in (1, -1)}
        if level[1] + level[-1] > 0:
            own_w = iter(w)
            return Decided([], [Fraction(next(own_w), divisor) if divisor else Fraction(0) for divisor in divisors])
        own = {sign: values[next(i for i in beta if signs[i] == sign)] for sign in (1, -1)}
        below = {sign: own[sign] - level[sign] for sign in (1, -1)}
        worst = max(below, key=lambda sign: below[sign])
        comes = next(i for i in np.flatnonzero(signs == worst).tolist() if values[i] == level[worst])
        if comes in beta:
            return None
        beta[comes] = 0.0
    return None


def _nearest(Z: Integers, E: Integers, chosen: list[int]) -> list[Fraction] | None:
    """β of (PNEAREST.1) on some samples."""
    part, classes = Z[:, chosen], E[:, chosen]
    nothing = np.full((2, 2), 0, dtype=object)
    system = np.vstack([np.hstack([part.T @ part, classes.T]), np.hstack([classes, nothing])])
    right = np.array([0] * len(chosen) + [1, 1], dtype=object)
    found = solve_integers(system, right)
    return None if found is None else found[: len(chosen)]


def _leave(beta: dict[int, float], step: dict[int, Fraction]) -> None:
    """Go from β towards a step with negative weights as far as none is negative, and drop the first that is 0."""
    ends = {i: float(value) for i, value in step.items()}
    shares = {i: beta[i] / (beta[i] - end) if beta[i] > end else 0.0 for i, end in ends.items() if end < 0.0}
    first = min(shares, key=lambda i: shares[i])
    for i, end in ends.items():
        beta[i] += shares[first] * (end - beta[i])
    del beta[first]


@dataclass(frozen=True, eq=False)
class Meeting:
    """What is asked of two classes.

    rows: −y_i f(x_i) ≤ −1 of the samples with weights.
    signs: y_i.
    weights (k,): u and v.
    numbers: The samples' numbers among the user's.
    labels: Of the classes −1 and +1.
    decide: Asked where these weights prove nothing exactly: whether the hulls of all samples meet, or the
        reason why not.
    everyone: y_i and numbers of all samples.
    """

    title: str
    rows: Rows
    signs: Sequence[int]
    weights: FloatArray
    numbers: Sequence[int]
    labels: tuple[str, str]
    decide: Callable[[], Decided | str | None]
    everyone: tuple[Sequence[float], Sequence[int]]
    assumptions: tuple[str, ...] = ()


def meet(asked: Meeting) -> Mapping[int, Fraction] | bool | None:
    """Whether (PHULL.1) is true of two classes, by what takes least time; None where that is not known.

    Where it is true of other weights than those asked about, u and v by the numbers of samples.
    """
    vectors = asked.rows.vectors()
    if vectors is not None and enclosed(vectors, _halves(_rescaled(asked))) is not None:
        return True
    if vectors is not None and (weights := cancelling(vectors, asked.weights)) is not None:
        return {number: 2 * weight for number, weight in zip(asked.numbers, weights, strict=True)}
    found = asked.decide()
    if isinstance(found, Decided) and found.weights:
        return {number: 2 * weight for number, weight in zip(asked.everyone[1], found.weights, strict=True)}
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
    if isinstance(found_all, Decided) and found_all.weights:
        return _met(asked, _Convex(*asked.everyone, [2 * value for value in found_all.weights]))
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
        why = found_all if isinstance(found_all, str) else "its w, in rational numbers, is in the record"
        claims.append(Claim("separable", "refuted", f"{text}one does ({why}), but its slab is too narrow for doubles"))
        if isinstance(found_all, Decided):
            record["w"] = dict(enumerate(found_all.w))
    return no_gap(asked.title, claims, None, record, asked.assumptions)


def _met(asked: Meeting, convex: _Convex, which: Claim | None = None) -> Proof:
    """The sentences of (PHULL.1)."""
    those = "exactly, in rational numbers" if which is None else "exactly, for these"
    claims = [
        which or convex.claim(asked.labels, ""),
        Claim("hulls", "proven", f"{_point(asked.rows)} {those}: the hulls of the classes meet"),
        Claim("separable", "proven", "no hyperplane separates the classes: that point would be on both of its sides"),
    ]
    return no_gap(asked.title, claims, math.inf, convex.record, asked.assumptions)


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
