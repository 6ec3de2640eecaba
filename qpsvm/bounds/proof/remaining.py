"""Find the best b for a w, and the part of a gap that rounding of b causes.

    (BESTB.1)  for w and the other multipliers as they are, P is convex in b and piecewise linear where δ = 0: it is
               least at a b where some t_k is 0
    (BESTB.2)  its slope is e − Σ E_k U_k over the rows with t_k > 0: at b = −∞ those with E_k > 0, and it grows by
               |E_k| U_k where t_k changes its sign.
               In a block of rows with one slack, t_k falls to 0 or to the largest t of a row with E = 0
    (BESTB.3)  the rounding of b moves every t_k by at most E_k ulp(b)/2, and P by ½ulp(b) Σ|E_k| U_k

What is added to b is found in floats, which is next to nothing of it: b and that are one rational number. It need not
be the best to the last digit: the gap that is proven with it is one all the same.

Numbers that violate a row that nothing may violate: what they are a proof of, beside nothing.

    (RELAX.1)  v_k ≥ t_k of each hard row that is violated, a float:  (w, μ) is a point of the program with ℓ_k − v_k in
               place of ℓ_k, α is one of its dual, and (GAP.1) of the two is the gap there
    (RELAX.2)  where all rows are hard and all levels are one ℓ, v is one number, too:  the points of that program are
               those of the first times (ℓ − v)/ℓ, so that the same gap is that of (w, μ)·ℓ/(ℓ − v), which keeps all

Rows that can be kept as equalities only are kept by hardly any floats: (RELAX.1) says what is true of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.double_double import HUGE
from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.frozen import repeat_value
from qpsvm.base.arrays.rationals import RationalVector, from_constant, from_enclosure, round_to_nearest, round_up
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.rational import violations
from qpsvm.bounds.proof.spaces import ExactValues, SpaceMeasurement
from qpsvm.bounds.proof.terms import violations as violations_in_floats

#: Rounds over the b of several classes.
SWEEPS = 4
#: Radii by which a level is lowered beyond what a row may fall short by: the next look at it has rounding as well.
BEYOND = 4.0


def free_intercepts(program: ExactDual) -> list[ExactGroup]:
    """The group of b, or of the b of each class, where P is piecewise linear in it."""
    groups = [group for group in program.groups if group.multiplier == "b" or program.classes > 1]
    return [group for group in groups if not group.ridge] if program.curvature.is_zero else []


def costs_of_rounding(program: ExactDual, held: Primal) -> float:
    """(BESTB.3), about; 0 where no b is free, or where P is not piecewise linear in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        penalties = np.minimum(np.asarray(program.upper.bounds[1]), HUGE)  # as good as none
        return sum(
            0.5 * math.ulp(float(held.multipliers[group.multiplier])) * float(np.abs(group.column) @ penalties)
            for group in free_intercepts(program)
        )


def better_intercepts(program: ExactDual, held: Primal, values: ExactValues | SpaceMeasurement) -> Primal | None:
    """(BESTB.1), one b after the other; None where none moves: P is not piecewise linear in it, or it is the best."""
    groups, multipliers = free_intercepts(program), dict(held.multipliers)
    if not groups:
        return None
    if isinstance(values, ExactValues):
        t = np.array([round_to_nearest((low + high) / 2) for low, high in violations(program, held, values)])
    else:
        short = violations_in_floats(program, held, values.values)
        t = short.high + short.low
    for _ in range(SWEEPS if len(groups) > 1 else 1):
        for group in groups:
            with np.errstate(all="ignore"):
                step = _step(program, group, t)
            if math.isfinite(step):
                multipliers[group.multiplier] += Fraction(step)
                t = t - group.column * step
    return None if multipliers == held.multipliers else replace(held, multipliers=multipliers)


def _step(program: ExactDual, group: ExactGroup, t: FloatArray) -> float:
    """Return the step of b, (BESTB.2); NaN if unknown. In a block, all E but zeros are one number."""
    column, t = group.column.reshape(-1, program.width), t.reshape(-1, program.width)
    moving = column != 0.0
    entry = column[np.arange(len(column)), moving.argmax(axis=1)]
    rest = np.maximum(np.where(moving, 0.0, t).max(axis=1), 0.0)
    at = (np.where(moving, t, -np.inf).max(axis=1) - rest) / entry  # t_k − E_k b = 0, or the other t
    U = np.asarray(program.upper.bounds[1])[:: program.width]
    hard = np.isinf(U) & (entry != 0.0)
    low, high = at[hard & (entry > 0.0)].max(initial=-np.inf), at[hard & (entry < 0.0)].min(initial=np.inf)
    soft = np.flatnonzero(~hard & (entry != 0.0))
    soft = soft[np.argsort(at[soft], kind="stable")]
    jumps = (entry * U)[soft]
    slopes = float(group.total) - jumps[jumps > 0.0].sum() + np.cumsum(np.abs(jumps))
    first = min(int(np.searchsorted(slopes, 0.0)), len(soft) - 1)
    best = float(at[soft[first]]) if len(soft) else 0.5 * (low + high)
    return min(max(best, low), high) if low <= high else math.nan


def relax_levels(
    program: ExactDual, held: Primal, values: ExactValues | SpaceMeasurement
) -> tuple[ExactDual, FloatArray, str] | None:
    """Return a program with lower levels, (RELAX.1) or (RELAX.2), v (m,), and a sentence that its gap completes.

    None where no row is hard, or how far they are violated is not known.
    """
    hard = np.flatnonzero(program.find_hard_rows())
    off = np.zeros(program.m)
    if isinstance(values, ExactValues):
        short = violations(program, held, values)
        off[hard] = [round_up(max(short[k][1], Fraction(0))) for k in hard.tolist()]
    else:
        t = violations_in_floats(program, held, values.values, hard)
        high = t.ends[1]
        sizes = np.abs(t.high) + np.abs(program.level.bounds[1][hard])
        off[hard] = np.where(high > 0.0, high + BEYOND * (t.radius + 4.0 * UNIT * sizes), 0.0)
    rows = int(np.count_nonzero(off))
    if not rows or not np.isfinite(off).all():
        return None
    most, level = float(off.max()), _find_common_level(program)
    if level is not None and Fraction(most) < level:
        lowered = replace(program, level=from_constant(level - Fraction(most), program.m))
        share = round_up(Fraction(most) / level)
        text = (
            f"these numbers fall short of their margin by at most {format_upper_bound(share, 2)} of it; times 1/(1 − "
            f"{share!r}) "
            "they keep it exactly, with a relative gap of at most"
        )
        return lowered, repeat_value(most, program.m), text
    text = (
        f"{'one row' if rows == 1 else f'{rows} rows'} of those that have to be kept may be broken, by at most "
        f"{format_upper_bound(most, 2)}; with bounds that are so much wider, "
        "the relative gap of these numbers is at most"
    )
    return replace(program, level=_lower_levels(program.level, off)), off, text


def _find_common_level(program: ExactDual) -> Fraction | None:
    """Return the level that all rows share, if (RELAX.2) may apply."""
    if (
        not program.m
        or any(group.ridge or group.total for group in program.groups)
        or not program.find_hard_rows().all()
    ):
        return None
    low, high = program.level.bounds
    same = program.level.is_exact and bool((low == low[0]).all() and (high == low[0]).all())
    return program.level[0] if same and low[0] > 0.0 else None


def _lower_levels(level: RationalVector, off: FloatArray) -> RationalVector:
    """Return ℓ − v."""
    changed, ends = off > 0.0, level.bounds
    low = np.where(changed, np.nextafter(ends[0] - off, -np.inf), ends[0])
    high = np.where(changed, np.nextafter(ends[1] - off, np.inf), ends[1])

    def number_at(k: int) -> Fraction:
        return level[k] - Fraction(float(off[k]))

    return from_enclosure(low, high, number_at)
