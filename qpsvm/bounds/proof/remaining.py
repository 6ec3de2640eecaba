"""The best b there is for a w: a real number, and in general no float. What a gap has beyond it, rounding costs.

    (BESTB.1)  for w and the other multipliers as they are, P is convex in b and piecewise linear where δ = 0: it is
               least at a b where some t_k is 0
    (BESTB.2)  its slope is e − Σ E_k U_k over the rows with t_k > 0: at b = −∞ those with E_k > 0, and it grows by
               |E_k| U_k where t_k changes its sign.
               In a block of rows with one slack, t_k falls to 0 or to the largest t of a row with E = 0
    (BESTB.3)  the rounding of b moves every t_k by at most E_k ulp(b)/2, and P by ½ulp(b) Σ|E_k| U_k

A b that is found in floats need not be the best: the gap that is proven with it is one all the same.

Numbers that violate a row that nothing may violate: what they are a proof of, beside nothing.

    (RELAX.1)  v_k ≥ t_k of each hard row that is violated, a float:  (w, μ) is a point of the program with ℓ_k − v_k in
               place of ℓ_k, α is one of its dual, and (GAP.1) of the two is the gap there
    (RELAX.2)  where all rows are hard and all levels are one ℓ, v is one number, too:  the points of that program are
               those of the first times (ℓ − v)/ℓ, so that the same gap is that of (w, μ)·ℓ/(ℓ − v), which keeps all

Rows that can be kept as equalities only are kept by hardly any floats: (RELAX.1) says what is true of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.exactly import Exactly, above, constant, enclosed
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.vectors import repeated
from qpsvm.base.arrays.words import at_most
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.rational import violations
from qpsvm.bounds.proof.spaces import ExactValues, Measured, Values
from qpsvm.bounds.proof.terms import violations as violations_in_floats

#: A penalty that is as good as none.
LARGEST = 2.0**900
#: Rounds over the b of several classes, and rows times classes up to which these are looked for.
SWEEPS, FEW = 4, 20_000


def free_intercepts(program: ExactDual) -> list[ExactGroup]:
    """The group of b, or of the b of each class, where P is piecewise linear in it."""
    groups = [group for group in program.groups if group.multiplier == "b" or program.classes > 1]
    return [group for group in groups if not group.ridge] if program.curvature.nothing else []


def costs_of_rounding(program: ExactDual, held: Primal) -> float:
    """(BESTB.3), about; 0 where no b is free, or where P is not piecewise linear in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        penalties = np.minimum(np.asarray(program.upper.bounds[1]), LARGEST)
        return sum(
            0.5 * math.ulp(float(held.multipliers[group.multiplier])) * float(np.abs(group.column) @ penalties)
            for group in free_intercepts(program)
        )


def near_intercept(program: ExactDual, held: Primal, values: Values) -> Primal | None:
    """(BESTB.1) in floats for one b: b and what is added to it, exactly."""
    U = np.asarray(program.upper.bounds[1])
    if len(groups := free_intercepts(program)) != 1 or np.isinf(U).any() or not len(U):
        return None
    group, short = groups[0], violations_in_floats(program, held, values)
    rows = np.flatnonzero(group.column)
    entry, t = group.column[rows], short.high[rows] + short.low[rows]
    at = t / entry
    order = np.argsort(at, kind="stable")
    start = float(group.total) - float((entry * U[rows])[entry > 0.0].sum())  # (BESTB.2)
    slopes = start + np.cumsum((np.abs(entry) * U[rows])[order])
    first = int(np.searchsorted(slopes, 0.0))
    step = float(at[order[min(first, len(order) - 1)]])
    return _moved(held, group, held.multipliers["b"] + Fraction(step)) if np.isfinite(step) and step else None


def _moved(held: Primal, group: ExactGroup, b: Fraction) -> Primal:
    """The same numbers with another b."""
    return replace(held, multipliers={**held.multipliers, group.multiplier: b})


def best_intercepts(program: ExactDual, held: Primal, exact: ExactValues) -> Primal | None:
    """(BESTB.1), one b after the other; None where none is better known: P not piecewise linear, or t not exact."""
    groups, found = free_intercepts(program), held
    if not groups or (len(groups) > 1 and program.m * len(groups) > FEW):
        return None
    short = violations(program, held, exact)
    if any(low != high for low, high in short):
        return None
    t = [low for low, _ in short]
    for _ in range(SWEEPS if len(groups) > 1 else 1):
        before = found
        for group in groups:
            entries, b = [group.entry(k) for k in range(program.m)], found.multipliers[group.multiplier]
            best = _best(program, group, [value + entry * b for value, entry in zip(t, entries, strict=True)], entries)
            if best is not None and best != b:
                found = _moved(found, group, best)
                t = [value - entry * (best - b) if entry else value for value, entry in zip(t, entries, strict=True)]
        if found is before:
            break
    return None if found is held else found


def _best(program: ExactDual, group: ExactGroup, t: Sequence[Fraction], entries: Sequence[Fraction]) -> Fraction | None:
    """The b of (BESTB.1) from t at b = 0; in a block with one slack, all E that are not 0 are one number."""
    bends: list[tuple[Fraction, Fraction | None]] = []  # where a block's loss begins or ends, and by how much P bends
    slope: Fraction = group.total
    floor: list[Fraction] = []
    ceiling: list[Fraction] = []
    for first in range(0, program.m, program.width):
        block = range(first, first + program.width)
        moving = [k for k in block if entries[k]]
        if not moving:
            continue
        entry, rest = entries[moving[0]], [t[k] for k in block if not entries[k]]
        at = (max(t[k] for k in moving) - max(rest, default=Fraction(0))) / entry  # t_k − E_k b = 0, or the other t
        U = program.upper.finite(first)
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


#: Radii by which a level is lowered beyond what a row may fall short by: the next look at it has rounding as well.
BEYOND = 4.0


def relaxed(
    program: ExactDual, held: Primal, values: ExactValues | Measured
) -> tuple[ExactDual, FloatArray, str] | None:
    """A program with lower levels, (RELAX.1) or (RELAX.2), v (m,), and a sentence that its gap completes.

    None where no row is hard, or how far they are violated is not known.
    """
    hard = np.flatnonzero(program.hard())
    off = np.zeros(program.m)
    if isinstance(values, ExactValues):
        short = violations(program, held, values)
        off[hard] = [above(max(short[k][1], Fraction(0))) for k in hard.tolist()]
    else:
        t = violations_in_floats(program, held, values.values, hard)
        high = t.ends[1]
        sizes = np.abs(t.high) + np.abs(program.level.bounds[1][hard])
        off[hard] = np.where(high > 0.0, high + BEYOND * (t.radius + 4.0 * UNIT * sizes), 0.0)
    rows = int(np.count_nonzero(off))
    if not rows or not np.isfinite(off).all():
        return None
    most, level = float(off.max()), _one(program)
    if level is not None and Fraction(most) < level:
        lowered = replace(program, level=constant(level - Fraction(most), program.m))
        share = above(Fraction(most) / level)
        said = (
            f"these numbers fall short of their margin by at most {at_most(share, 2)} of it; times 1/(1 − {share!r}) "
            "they keep it exactly, with a relative gap of at most"
        )
        return lowered, repeated(most, program.m), said
    said = (
        f"{'one row' if rows == 1 else f'{rows} rows'} of those that have to be kept may be broken, by at most "
        f"{at_most(most, 2)}; with bounds that are so much wider, the relative gap of these numbers is at most"
    )
    return replace(program, level=_lowered(program.level, off)), off, said


def _one(program: ExactDual) -> Fraction | None:
    """The level of all rows, where (RELAX.2) may be true of them."""
    if not program.m or any(group.ridge or group.total for group in program.groups) or not program.hard().all():
        return None
    low, high = program.level.bounds
    same = program.level.plain and bool((low == low[0]).all() and (high == low[0]).all())
    return program.level[0] if same and low[0] > 0.0 else None


def _lowered(level: Exactly, off: FloatArray) -> Exactly:
    """ℓ − v."""
    changed, ends = off > 0.0, level.bounds
    low = np.where(changed, np.nextafter(ends[0] - off, -np.inf), ends[0])
    high = np.where(changed, np.nextafter(ends[1] - off, np.inf), ends[1])

    def at(k: int) -> Fraction:
        return level[k] - Fraction(float(off[k]))

    return enclosed(low, high, at)
