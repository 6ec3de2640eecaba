"""Lower a proven gap: improve b for fixed w (`improve_intercepts`), or relax violated hard rows (`relax_levels`).

A proven gap can exceed the measured one for two reasons. First, b is rounded. With E the column of b in (DUAL.1), and t
of (DUAL.2):

    (BESTB.1)  for fixed w and other multipliers, P is convex in b, and piecewise linear if δ = 0: it has a minimum at
               a b where some t_k is 0
    (BESTB.2)  its slope is e − Σ E_k U_k over the rows with t_k > 0. At b = −∞ these are the rows with E_k > 0, and the
               slope grows by |E_k| U_k at each b where t_k changes sign. In a block of rows, (DUAL.10), only the
               largest t counts: the slope changes where t_k falls to 0, or to the largest t of a row with E = 0
    (BESTB.3)  the rounding of b moves every t_k by at most E_k ulp(b)/2, and P by ½ulp(b) Σ|E_k| U_k

The correction of b is computed in floats, and b plus the correction is a rational number. The correction need not be
optimal to the last digit: the gap is proven for the corrected b, optimal or not.

Second, the primal point violates hard rows:

    (RELAX.1)  for floats v_k ≥ t_k of the violated hard rows:  (w, μ) is feasible for the program with ℓ_k − v_k
               instead of ℓ_k, α is feasible for its dual, and (GAP.1) is the gap of that program
    (RELAX.2)  if all rows are hard with the same level ℓ, and v is constant:  the points of that program are those of
               the original one times (ℓ − v)/ℓ, so the gap is that of (w, μ)·ℓ/(ℓ − v), which is feasible

Floats can rarely satisfy rows that hold with equality at every feasible point. Then (RELAX.1) is the best statement.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from qpsvm.base.arrays.constant_vectors import repeat_value
from qpsvm.base.arrays.double_double import HUGE
from qpsvm.base.arrays.formatting import format_upper_bound
from qpsvm.base.arrays.rationals import RationalVector, from_constant, from_enclosure, round_to_nearest, round_up
from qpsvm.base.arrays.rounding import UNIT
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.proof.exact_dual import ExactDual, ExactGroup, Primal
from qpsvm.bounds.proof.rational import bound_violations_exactly
from qpsvm.bounds.proof.spaces import ExactValues, SpaceMeasurement
from qpsvm.bounds.proof.terms import bound_violations

#: Number of sweeps of coordinate descent over the intercepts of several classes.
N_SWEEPS = 4
#: A level is lowered by the violation plus this many error radii, because t for the new level is rounded, too.
SAFETY_RADII = 4.0


def find_free_intercepts(program: ExactDual) -> list[ExactGroup]:
    """Return the groups whose multipliers are unpenalised intercepts; [] if P is not piecewise linear in them."""
    if not program.curvature.is_zero:
        return []
    groups = [group for group in program.groups if group.multiplier == "b" or program.classes > 1]
    return [group for group in groups if not group.ridge]


def estimate_rounding_cost(program: ExactDual, primal_point: Primal) -> float:
    """Estimate (BESTB.3); 0 without a free b, or if P is not piecewise linear in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        penalties = np.minimum(np.asarray(program.upper.bounds[1]), HUGE)  # finite, so that 0 · U is 0
        return sum(
            0.5 * math.ulp(float(primal_point.multipliers[group.multiplier])) * float(np.abs(group.column) @ penalties)
            for group in find_free_intercepts(program)
        )


def improve_intercepts(
    program: ExactDual, primal_point: Primal, values: ExactValues | SpaceMeasurement
) -> Primal | None:
    """Minimise P over one intercept after the other by (BESTB.1).

    Return the point with the new intercepts; None if none changes, or P is not piecewise linear in them.
    """
    groups = find_free_intercepts(program)
    if not groups:
        return None
    multipliers = dict(primal_point.multipliers)
    if isinstance(values, ExactValues):
        t_intervals = bound_violations_exactly(program, primal_point, values)
        t = np.array([round_to_nearest((low + high) / 2) for low, high in t_intervals])
    else:
        t_bounds = bound_violations(program, primal_point, values.values)
        t = t_bounds.high + t_bounds.low
    for _ in range(N_SWEEPS if len(groups) > 1 else 1):
        for group in groups:
            with np.errstate(all="ignore"):
                step = _find_step(program, group, t)
            if math.isfinite(step):
                multipliers[group.multiplier] += Fraction(step)
                t = t - group.column * step
    if multipliers == primal_point.multipliers:
        return None
    return replace(primal_point, multipliers=multipliers)


def _find_step(program: ExactDual, group: ExactGroup, t: FloatArray) -> float:
    """Return the step of b to the minimum of P, (BESTB.2); NaN if there is none.

    t (m,): The violations at the current b. The nonzero E of the rows of a block are equal.
    """
    column = group.column.reshape(-1, program.block_size)
    t = t.reshape(-1, program.block_size)
    depends_on_b = column != 0.0
    entry = column[np.arange(len(column)), depends_on_b.argmax(axis=1)]
    other_t = np.maximum(np.where(depends_on_b, 0.0, t).max(axis=1), 0.0)
    largest_t = np.where(depends_on_b, t, -np.inf).max(axis=1)
    breakpoints = (largest_t - other_t) / entry  # the step at which t_k − E_k·step is 0, or equals the other t
    U = np.asarray(program.upper.bounds[1])[:: program.block_size]
    hard = np.isinf(U) & (entry != 0.0)
    low = breakpoints[hard & (entry > 0.0)].max(initial=-np.inf)
    high = breakpoints[hard & (entry < 0.0)].min(initial=np.inf)
    soft = np.flatnonzero(~hard & (entry != 0.0))
    soft = soft[np.argsort(breakpoints[soft], kind="stable")]
    jumps = (entry * U)[soft]
    slopes = float(group.total) - jumps[jumps > 0.0].sum() + np.cumsum(np.abs(jumps))
    first_ascent = min(int(np.searchsorted(slopes, 0.0)), len(soft) - 1)
    best = float(breakpoints[soft[first_ascent]]) if len(soft) else 0.5 * (low + high)
    return min(max(best, low), high) if low <= high else math.nan


def relax_levels(
    program: ExactDual, primal_point: Primal, values: ExactValues | SpaceMeasurement
) -> tuple[ExactDual, FloatArray, str] | None:
    """Lower the levels of violated hard rows, by (RELAX.2) if it applies, else by (RELAX.1).

    Return the program with lower levels, v (m,), and the start of a sentence that the proven gap completes; None if no
    hard row is violated, or a violation is not finite.
    """
    hard = np.flatnonzero(program.find_hard_rows())
    violation = np.zeros(program.m)
    if isinstance(values, ExactValues):
        t_intervals = bound_violations_exactly(program, primal_point, values)
        violation[hard] = [round_up(max(t_intervals[k][1], Fraction(0))) for k in hard.tolist()]
    else:
        t = bound_violations(program, primal_point, values.values, hard)
        high = t.ends[1]
        sizes = np.abs(t.high) + np.abs(program.level.bounds[1][hard])
        violation[hard] = np.where(high > 0.0, high + SAFETY_RADII * (t.radius + 4.0 * UNIT * sizes), 0.0)
    n_violated = int(np.count_nonzero(violation))
    if not n_violated or not np.isfinite(violation).all():
        return None
    max_violation = float(violation.max())
    level = _find_common_level(program)
    if level is not None and Fraction(max_violation) < level:
        relaxed = replace(program, level=from_constant(level - Fraction(max_violation), program.m))
        share = round_up(Fraction(max_violation) / level)
        text = (
            f"these numbers violate the margin by at most {format_upper_bound(share, 2)} of it; multiplied by 1/(1 − "
            f"{share!r}) they satisfy it exactly, with a relative gap of at most"
        )
        return relaxed, repeat_value(max_violation, program.m), text
    text = (
        f"{'one hard constraint' if n_violated == 1 else f'{n_violated} hard constraints'} may be violated, by at "
        f"most {format_upper_bound(max_violation, 2)}; with bounds relaxed by that amount, "
        "the relative gap of these numbers is at most"
    )
    return replace(program, level=_lower_levels(program.level, violation)), violation, text


def _find_common_level(program: ExactDual) -> Fraction | None:
    """Return the level of all rows if (RELAX.2) may apply: all are hard, and no group has an e or R; else None."""
    if not program.m or not program.find_hard_rows().all():
        return None
    if any(group.ridge or group.total for group in program.groups):
        return None
    low, high = program.level.bounds
    is_constant = program.level.is_exact and bool((low == low[0]).all() and (high == low[0]).all())
    return program.level[0] if is_constant and low[0] > 0.0 else None


def _lower_levels(level: RationalVector, violation: FloatArray) -> RationalVector:
    """Return ℓ − v exactly, (m,)."""
    is_violated = violation > 0.0
    low, high = level.bounds
    low = np.where(is_violated, np.nextafter(low - violation, -np.inf), low)
    high = np.where(is_violated, np.nextafter(high - violation, np.inf), high)

    def evaluate_exactly(k: int) -> Fraction:
        return level[k] - Fraction(float(violation[k]))

    return from_enclosure(low, high, evaluate_exactly)
