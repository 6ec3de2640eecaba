"""The best b there is for a w: a real number, and in general no float. What a gap has beyond it, rounding costs.

    (BESTB.1)  for w and the other multipliers as they are, P is convex in b and piecewise linear where δ = 0: it is
               least at a b where some t_k is 0
    (BESTB.2)  its slope is e − Σ E_k U_k over the rows with t_k > 0: at b = −∞ those with E_k > 0, and it grows by
               |E_k| U_k where t_k changes its sign

    (BESTB.3)  the rounding of b moves every t_k by at most E_k ulp(b)/2, and P by ½ulp(b) Σ|E_k| U_k

A b that is found in floats need not be the best: the gap that is proven with it is one all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Held
from qpsvm.bounds.proof.rational import shortfalls
from qpsvm.bounds.proof.spaces import ExactValues, Values
from qpsvm.bounds.proof.terms import shortfalls as shortfalls_in_floats

#: A price that is as good as none.
LARGEST = 2.0**900


def moved(held: Held, b: Fraction) -> Held:
    """The same numbers with another b."""
    return Held(held.w, held.coef, {**held.multipliers, "b": b})


def costs_of_rounding(program: ExactDual, held: Held) -> float:
    """(BESTB.3), about; 0 where no b is free, or where P is not piecewise linear in it."""
    group = _free_intercept(program)
    if group is None:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        prices = np.asarray(program.price.bounds[1])
        return 0.5 * math.ulp(float(held.multipliers["b"])) * float(np.abs(group.column) @ np.minimum(prices, LARGEST))


def near_intercept(program: ExactDual, held: Held, values: Values) -> Fraction | None:
    """(BESTB.1) in floats: b and what is added to it, exactly."""
    group = _free_intercept(program)
    if group is None:
        return None
    short = shortfalls_in_floats(program, held, values)
    U = np.asarray(program.price.bounds[1])
    if np.isinf(U).any() or not len(U):
        return None
    rows = np.flatnonzero(group.column)
    entry, t = group.column[rows], short.high[rows] + short.low[rows]
    at = t / entry
    order = np.argsort(at, kind="stable")
    start = float(group.total) - float((entry * U[rows])[entry > 0.0].sum())  # (BESTB.2)
    slopes = start + np.cumsum((np.abs(entry) * U[rows])[order])
    first = int(np.searchsorted(slopes, 0.0))
    step = float(at[order[min(first, len(order) - 1)]])
    return held.multipliers["b"] + Fraction(step) if np.isfinite(step) else None


def _free_intercept(program: ExactDual) -> ExactGroup | None:
    """The group of b, where P is piecewise linear in it."""
    group = next((group for group in program.groups if group.multiplier == "b"), None)
    return None if group is None or group.ridge or not program.curvature.nothing else group


def best_intercept(program: ExactDual, held: Held, exact: ExactValues) -> Fraction | None:
    """(BESTB.1): the b that is best for this w; None where none is, where P is not piecewise linear, or t not exact."""
    group = _free_intercept(program)
    if group is None:
        return None
    short = shortfalls(program, moved(held, Fraction(0)), exact)
    if any(low != high for low, high in short):
        return None
    bends: list[tuple[Fraction, Fraction | None]] = []  # where a row's loss begins or ends, and by how much P bends
    slope: Fraction = group.total
    floor: list[Fraction] = []
    ceiling: list[Fraction] = []
    for k, (t, _) in enumerate(short):
        entry = group.entry(k)
        if entry == 0:
            continue
        at = t / entry  # t_k − E_k b = 0
        U = program.price.finite(k)
        if U is None:
            (floor if entry > 0 else ceiling).append(at)
            continue
        bends.append((at, abs(entry) * U))
        if entry > 0:
            slope -= entry * U  # (BESTB.2)
    return lowest(bends, slope, max(floor, default=None), min(ceiling, default=None))


def lowest(
    bends: Sequence[tuple[Fraction, Fraction | None]], slope: Fraction, low: Fraction | None, high: Fraction | None
) -> Fraction | None:
    """Where a convex piecewise linear function with this slope at −∞ is least on an interval."""
    if low is not None and high is not None and low > high:
        return None
    found = None
    for at, bend in sorted(bends):
        slope += bend or 0
        if slope >= 0:
            found = at
            break
    if found is None:
        return high if high is not None else low
    if low is not None and found < low:
        return low
    return high if high is not None and found > high else found
