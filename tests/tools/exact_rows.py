"""Results with a user's rows, judged in fractions: every row at the floats (w, b), and the gap at (α, λ), (w, b)."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

#: Rows that may take the surplus of an equality: those with most room, and beyond a bound as far as that is rounded.
TAKERS, ROUNDED = 12, Fraction(1, 2**48)


def fractions(values: Any) -> list[Fraction]:
    """Floats as they are."""
    return [Fraction(float(v)) for v in np.asarray(values).ravel()]


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def violations(rows: Any, w: Any, b: float) -> list[Fraction]:
    """G w + c b − h of each row, exactly."""
    weights, shift = fractions(w), Fraction(float(b))
    G = rows.G.toarray() if hasattr(rows.G, "toarray") else rows.G
    return [
        dot(fractions(g), weights) + Fraction(float(c)) * shift - Fraction(float(h))
        for g, c, h in zip(G, rows.c, rows.h, strict=True)
    ]


def psi(t: Fraction, upper: float, curvature: float) -> Fraction | None:
    """ψ of (LOSS.1); None for infinity."""
    if t <= 0:
        return Fraction(0)
    bend = Fraction(float(curvature))
    if np.isinf(upper):
        return None if bend == 0 else t * t / (2 * bend)
    U = Fraction(float(upper))
    return U * (t - bend * U / 2) if t >= bend * U else t * t / (2 * bend)


def exact_gap(machine: Any, rows: Any, result: Any, X: Any) -> Fraction | None:
    """The relative gap in exact arithmetic; None where the point is not feasible.

    `machine` is the same without rows; a linear kernel. α is moved by its surplus, onto the rows that cost least.
    """
    svm, size = machine.outlined, Fraction(float(machine.size_of_f))
    w = [v / size for v in fractions(result.w)]
    mu = {"b": Fraction(float(result.b)) / size, **{k: Fraction(float(v)) for k, v in result.extras.items()}}
    if "rho" not in mu:
        mu["rho"] = Fraction(float(result.rho))
    samples = [fractions(x) for x in X]
    if svm.mix is None:
        parts = [samples[k] for k in (range(svm.m) if svm.rows is None else svm.rows)]
    else:
        mix = svm.mix.toarray()
        parts = [[dot(fractions(a), list(column)) for column in zip(*samples, strict=True)] for a in mix]
    sign, level = fractions(svm.sign), fractions(svm.level)
    if machine.diagonal:  # of an SVDD: K_ii/2
        level = [dot(x, x) / 2 for x in parts]
    E = [fractions(group.column) for group in svm.groups]
    value = dot(w, w) / 2
    for k in range(svm.m):
        t = level[k] - sign[k] * dot(w, parts[k])
        t -= sum((e[k] * mu[g.multiplier] for e, g in zip(E, svm.groups, strict=True)), Fraction(0))
        loss = psi(t, svm.upper[k], svm.curvature[k])
        if loss is None:
            return None
        value += loss
    for group in svm.groups:
        value += Fraction(float(group.total)) * mu[group.multiplier]
        value += Fraction(float(group.ridge)) * mu[group.multiplier] ** 2 / 2
    unit = Fraction(float(svm.unit))
    prices = [v / unit for v in fractions([*result.constraint_multipliers.values()])]
    G = rows.G.toarray() if hasattr(rows.G, "toarray") else rows.G
    behind = [[size * v for v in fractions(g)] for g in G]
    c, h = [size * v for v in fractions(rows.c)], fractions(rows.h)
    best: Fraction | None = None
    alpha = fractions(result.alpha)
    for moved, prices in _choices(svm, E, alpha, prices, c):  # noqa: B020
        spent = {g.multiplier: (dot(c, prices) if g.multiplier == "b" else Fraction(0)) for g in svm.groups}
        v = [Fraction(0)] * len(w)
        for a, s, x in zip(moved, sign, parts, strict=True):
            if a:
                v = [p + a * s * q for p, q in zip(v, x, strict=True)]
        for price, g in zip(prices, behind, strict=True):
            v = [p - price * q for p, q in zip(v, g, strict=True)]
        dual = dot(level, moved) - dot(v, v) / 2 - dot(prices, h)
        dual -= sum((Fraction(float(d)) * a * a / 2 for d, a in zip(svm.curvature, moved, strict=True)), Fraction(0))
        for e, group in zip(E, svm.groups, strict=True):
            if group.ridge:
                short = dot(e, moved) - spent[group.multiplier] - Fraction(float(group.total))
                dual -= short * short / (2 * Fraction(float(group.ridge)))
        scale = max(abs(value), abs(dual))
        gap = (value - dual) / scale if scale else Fraction(0)
        best = gap if best is None else min(best, gap)
    return best


def _choices(svm: Any, E: Any, alpha: list[Fraction], prices: list[Fraction], c: list[Fraction]):
    """(α, λ) with the equalities exact: α takes the surplus, or where there is one equality, a λ."""
    spent = {g.multiplier: (dot(c, prices) if g.multiplier == "b" else Fraction(0)) for g in svm.groups}
    for moved in _balanced(svm, E, alpha, spent):
        yield moved, prices
    equal = [k for k, group in enumerate(svm.groups) if not group.ridge]
    if len(equal) != 1 or svm.groups[equal[0]].multiplier != "b":
        return
    short = dot(E[equal[0]], alpha) - Fraction(float(svm.groups[equal[0]].total)) - spent["b"]
    for k, column in enumerate(c):
        if short and column and prices[k] + short / column >= 0:
            yield alpha, [*prices[:k], prices[k] + short / column, *prices[k + 1 :]]


def _balanced(svm: Any, E: list[list[Fraction]], alpha: list[Fraction], spent: dict[str, Fraction]):
    """α with its equalities exact, by one row for each: every choice among a few."""
    equal = [k for k, group in enumerate(svm.groups) if not group.ridge]
    if not equal:
        yield alpha
        return
    short = [Fraction(float(svm.groups[k].total)) + spent[svm.groups[k].multiplier] - dot(E[k], alpha) for k in equal]
    if not any(short):
        yield alpha
        return
    upper = [None if np.isinf(u) else Fraction(float(u)) for u in svm.upper]
    inside = sorted(range(len(alpha)), key=lambda k: -min(alpha[k], (upper[k] or alpha[k] * 2) - alpha[k]))
    kinds = {tuple(e[k] for e in E) for k in inside}
    inside = [k for kind in kinds for k in [j for j in inside if tuple(e[j] for e in E) == kind][:TAKERS]]
    for chosen in itertools.combinations(inside, len(equal)):
        if len(equal) == 1:
            column = E[equal[0]][chosen[0]]
            steps = [short[0] / column] if column else None
        else:
            (i, j), (p, q) = chosen, equal
            det = E[p][i] * E[q][j] - E[p][j] * E[q][i]
            steps = None
            if det:
                steps = [
                    (short[0] * E[q][j] - E[p][j] * short[1]) / det,
                    (E[p][i] * short[1] - short[0] * E[q][i]) / det,
                ]
        if steps is None:
            continue
        moved = list(alpha)
        for k, step in zip(chosen, steps, strict=True):
            moved[k] += step
        if all(moved[k] >= 0 and (upper[k] is None or moved[k] <= upper[k] * (1 + ROUNDED)) for k in chosen):
            yield moved
