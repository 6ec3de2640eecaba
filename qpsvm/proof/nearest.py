"""The nearest points of two hulls in rational numbers: whether two classes are apart, however near they come.

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

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.proof.cancelling import PRIME, Integers, cancel, independent, solve_integers, without_factors
from qpsvm.proof.integers import common

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
