"""Find the best b for a w (`better_intercepts`), and relax violated hard rows (`relax_levels`).

Both explain a proven gap that is larger than the measured one. First, the rounding of b:

    (BESTB.1)  for fixed w and other multipliers, P is convex in b, and piecewise linear if δ = 0: it is minimal at a b
               where some t_k is 0
    (BESTB.2)  its slope is e − Σ E_k U_k over the rows with t_k > 0: at b = −∞ those with E_k > 0, and it grows by
               |E_k| U_k where t_k changes its sign.
               In a block of rows with one slack, t_k falls to 0 or to the largest t of a row with E = 0
    (BESTB.3)  the rounding of b moves every t_k by at most E_k ulp(b)/2, and P by ½ulp(b) Σ|E_k| U_k

The correction of b is computed in floats, and b plus the correction is a rational number. It need not be optimal to the
last digit: the gap with it is proven in any case.

Second, primal points that violate hard rows:

    (RELAX.1)  with floats v_k ≥ t_k for violated hard rows:  (w, μ) is feasible for the program with ℓ_k − v_k in place
               of ℓ_k, α for its dual, and (GAP.1) is the gap of that program
    (RELAX.2)  if all rows are hard with the same level ℓ, and v is constant:  the points of that program are those of
               the original one times (ℓ − v)/ℓ, so the gap is that of (w, μ)·ℓ/(ℓ − v), which is feasible

Few floats satisfy rows exactly that can only hold as equalities: for these (RELAX.1) is the best statement.
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

#: Number of sweeps over the b of several classes.
SWEEPS = 4
#: Radii by which a level is lowered beyond the violation, because its next evaluation is rounded, too.
BEYOND = 4.0


def free_intercepts(program: ExactDual) -> list[ExactGroup]:
    """Return the group of b, or of the b of each class, if P is piecewise linear in it."""
    groups = [group for group in program.groups if group.multiplier == "b" or program.classes > 1]
    return [group for group in groups if not group.ridge] if program.curvature.is_zero else []


def costs_of_rounding(program: ExactDual, primal_point: Primal) -> float:
    """Estimate (BESTB.3); 0 without a free b, or if P is not piecewise linear in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        penalties = np.minimum(np.asarray(program.upper.bounds[1]), HUGE)  # for ∞
        return sum(
            0.5 * math.ulp(float(primal_point.multipliers[group.multiplier])) * float(np.abs(group.column) @ penalties)
            for group in free_intercepts(program)
        )


def better_intercepts(
    program: ExactDual, primal_point: Primal, values: ExactValues | SpaceMeasurement
) -> Primal | None:
    """Improve one b after the other by (BESTB.1); None if none changes, or P is not piecewise linear in b."""
    groups, multipliers = free_intercepts(program), dict(primal_point.multipliers)
    if not groups:
        return None
    if isinstance(values, ExactValues):
        t = np.array([round_to_nearest((low + high) / 2) for low, high in violations(program, primal_point, values)])
    else:
        t_bounds = violations_in_floats(program, primal_point, values.values)
        t = t_bounds.high + t_bounds.low
    for _ in range(SWEEPS if len(groups) > 1 else 1):
        for group in groups:
            with np.errstate(all="ignore"):
                step = _step(program, group, t)
            if math.isfinite(step):
                multipliers[group.multiplier] += Fraction(step)
                t = t - group.column * step
    return None if multipliers == primal_point.multipliers else replace(primal_point, multipliers=multipliers)


def _step(program: ExactDual, group: ExactGroup, t: FloatArray) -> float:
    """Return the step of b, (BESTB.2); NaN if unknown. In a block, all nonzero E are equal."""
    column, t = group.column.reshape(-1, program.width), t.reshape(-1, program.width)
    moving = column != 0.0
    entry = column[np.arange(len(column)), moving.argmax(axis=1)]
    other_t = np.maximum(np.where(moving, 0.0, t).max(axis=1), 0.0)
    breakpoints = (np.where(moving, t, -np.inf).max(axis=1) - other_t) / entry  # t_k − E_k b = 0, or the other t
    U = np.asarray(program.upper.bounds[1])[:: program.width]
    hard = np.isinf(U) & (entry != 0.0)
    low, high = (
        breakpoints[hard & (entry > 0.0)].max(initial=-np.inf),
        breakpoints[hard & (entry < 0.0)].min(initial=np.inf),
    )
    soft = np.flatnonzero(~hard & (entry != 0.0))
    soft = soft[np.argsort(breakpoints[soft], kind="stable")]
    jumps = (entry * U)[soft]
    slopes = float(group.total) - jumps[jumps > 0.0].sum() + np.cumsum(np.abs(jumps))
    first = min(int(np.searchsorted(slopes, 0.0)), len(soft) - 1)
    best = float(breakpoints[soft[first]]) if len(soft) else 0.5 * (low + high)
    return min(max(best, low), high) if low <= high else math.nan


def relax_levels(
    program: ExactDual, primal_point: Primal, values: ExactValues | SpaceMeasurement
) -> tuple[ExactDual, FloatArray, str] | None:
    """Return a program with lower levels, (RELAX.1) or (RELAX.2), v (m,), and a sentence that its gap completes.

    None if no hard row is violated, or the violations are unknown.
    """
    hard = np.flatnonzero(program.find_hard_rows())
    violation = np.zeros(program.m)
    if isinstance(values, ExactValues):
        t_intervals = violations(program, primal_point, values)
        violation[hard] = [round_up(max(t_intervals[k][1], Fraction(0))) for k in hard.tolist()]
    else:
        t = violations_in_floats(program, primal_point, values.values, hard)
        high = t.ends[1]
        sizes = np.abs(t.high) + np.abs(program.level.bounds[1][hard])
        violation[hard] = np.where(high > 0.0, high + BEYOND * (t.radius + 4.0 * UNIT * sizes), 0.0)
    rows = int(np.count_nonzero(violation))
    if not rows or not np.isfinite(violation).all():
        return None
    max_violation, level = float(violation.max()), _find_common_level(program)
    if level is not None and Fraction(max_violation) < level:
        lowered = replace(program, level=from_constant(level - Fraction(max_violation), program.m))
        share = round_up(Fraction(max_violation) / level)
        text = (
            f"these numbers fall short of their margin by at most {format_upper_bound(share, 2)} of it; times 1/(1 − "
            f"{share!r}) "
            "they keep it exactly, with a relative gap of at most"
        )
        return lowered, repeat_value(max_violation, program.m), text
    text = (
        f"{'one row' if rows == 1 else f'{rows} rows'} of those that have to be kept may be broken, by at most "
        f"{format_upper_bound(max_violation, 2)}; with bounds that are so much wider, "
        "the relative gap of these numbers is at most"
    )
    return replace(program, level=_lower_levels(program.level, violation)), violation, text


def _find_common_level(program: ExactDual) -> Fraction | None:
    """Return the level that all rows share, if (RELAX.2) may apply."""
    if (
        not program.m
        or any(group.ridge or group.total for group in program.groups)
        or not program.find_hard_rows().all()
    ):
        return None
    low, high = program.level.bounds
    is_constant = program.level.is_exact and bool((low == low[0]).all() and (high == low[0]).all())
    return program.level[0] if is_constant and low[0] > 0.0 else None


def _lower_levels(level: RationalVector, violation: FloatArray) -> RationalVector:
    """Return ℓ − v."""
    changed, ends = violation > 0.0, level.bounds
    low = np.where(changed, np.nextafter(ends[0] - violation, -np.inf), ends[0])
    high = np.where(changed, np.nextafter(ends[1] - violation, np.inf), ends[1])

    def number_at(k: int) -> Fraction:
        return level[k] - Fraction(float(violation[k]))

    return from_enclosure(low, high, number_at)
