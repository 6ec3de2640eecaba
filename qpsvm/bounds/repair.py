"""Repair any numbers to a feasible α: clip to the box, then project on the equalities of each part (`make_feasible`).

The nearest feasible point would take another QP. A cheap point nearby suffices, because any feasible α can be
certified. A part (`DualPart`) is a set of rows with their own equality Σ c α = e; only rows of linear constraints may
belong to several.

    (REPAIR.1)  the box:  0 ≤ α ≤ U, and exactly U if only a few roundings separate α from it
    (REPAIR.2)  a part with c of both signs:  the side with the larger sum is scaled down until Σ c α = e; if that does
                not suffice, it is set to 0, and the other side is projected on Σ c α = e
    (REPAIR.3)  a part with c of one sign:  the nearest point of {0 ≤ α ≤ U, Σα = e}, α = clip(a − τ, 0, U)
    (REPAIR.4)  a starting point:  first, free entries absorb the surplus in proportion to their slack, if they can:
                scaling a whole side would move all its entries off U, and the split would be lost
    (REPAIR.5)  rounding:  entries that (REPAIR.3) keeps off 0 or U by rounding only are set to it, and the free entries
                compensate; a point with the right sum is not projected
    (REPAIR.6)  two rows of a sample with opposite signs:  the smaller α is subtracted from both, which changes only the
                objective, by ℓ⁺ + ℓ⁻ = −2ε per unit
    (REPAIR.7)  the multipliers λ of linear constraints are kept, without the common part of two opposite rows, and the
                rows of the machine compensate, Σ c α = e − Σ c λ; λ is scaled down if they cannot
    (REPAIR.9)  finally, an α that equals the remaining surplus of Σ c α is set to 0; else the surplus is subtracted
                from the smallest free α that is far larger; if that rounds, the rest goes to another. So every
                equality holds exactly if some free α has digits as fine as those of all others and e; otherwise the
                residual is below the last digit of an α, and (FEAS.3) absorbs it where the gap is bounded
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, multiply
from qpsvm.base.arrays.double_double import sum_with_bound
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds.class_repair import LARGEST, repair_classes
from qpsvm.program.svm_dual import DualPart, LinearConstraints, SVMDual

#: Bound of the rounding error of a few operations, in units of EPS.
ROUNDINGS = 8
#: (REPAIR.9) subtracts at most this share of an α, from at most this many α.
SMALL_SHARE, MAX_CARRIERS = 1e-9, 4


def make_feasible(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """Return a feasible α near the given one: (m,), a new array."""
    if dual.classes is not None:
        return dual.classes.flatten_alpha(repair_classes(dual.classes, dual.classes.unflatten_alpha(alpha)))
    if dual.linear_constraints is not None:
        return _repair_with_constraints(dual, dual.linear_constraints, alpha)
    equalities = [part for part in dual.parts if not part.ridge]
    if not np.maximum.reduce(np.abs(alpha), initial=0.0) <= LARGEST:
        alpha = np.clip(alpha, -LARGEST, LARGEST)
    if dual.is_two_sided and not dual.margin_groups:
        alpha = _remove_common_part(dual, alpha)
    if not equalities:
        return clip_to_box(alpha, dual.upper)
    if equalities[0].rows is None:  # an equality over all rows is the only one
        return _repair_all_rows(dual, equalities[0], alpha)
    a = clip_to_box(alpha, dual.upper)
    for part in equalities:
        rows = part.row_indices
        upper = part.restrict(dual.upper)
        a[rows] = _remove_surplus(project_on_capped_simplex(alpha[rows], upper, part.total, a[rows]), upper, part)
    return a


def make_start_feasible(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """Return a feasible α (m,) near the given one, with the same entries at bounds if possible, (REPAIR.4)."""
    equalities = [part for part in dual.parts if not part.ridge]
    if len(equalities) != 1 or equalities[0].rows is not None or dual.linear_constraints is not None:
        return make_feasible(dual, alpha)
    column = equalities[0].column
    clipped = clip_to_box(alpha, dual.upper)
    surplus = float(clipped @ column) - equalities[0].total
    decreasing = column * surplus > 0.0
    slack = np.where((clipped > 0.0) & (clipped < dual.upper), np.where(decreasing, clipped, dual.upper - clipped), 0.0)
    total_slack = float(slack @ np.abs(column))
    if np.isfinite(total_slack) and 0.0 < abs(surplus) < total_slack:  # (REPAIR.4)
        clipped += np.where(decreasing, -slack, slack) * (abs(surplus) / total_slack)
    return make_feasible(dual, clipped)


def fix_constraint_multipliers(dual: SVMDual, constraints: LinearConstraints, multipliers: FloatArray) -> SVMDual:
    """Return the dual without linear constraints, for fixed multipliers λ (p,) of theirs: its totals are e − E_Uᵀλ."""
    machine = constraints.unconstrained_dual
    totals = [group.total - float(group.column[machine.m :] @ multipliers) for group in dual.groups]
    groups = zip(machine.groups, totals, strict=True)
    return replace(machine, groups=tuple(replace(group, total=total) for group, total in groups))


def clip_to_box(alpha: FloatArray, upper: FloatArray) -> FloatArray:
    """Clip α to [0, U], and set it to U if only a few roundings separate them: (m,) each, a new array.

    Conversion to a solver's units and back rounds, and an α at its bound should be recognised as such.
    """
    clipped: FloatArray
    clipped = np.minimum(np.maximum(alpha, 0.0), upper)  # (REPAIR.1), (HARD.6), (CSVM.7), (NUSVM.8), (PHINGE.7)
    np.copyto(clipped, upper, where=clipped >= multiply(1.0 - ROUNDINGS * EPS, upper))
    return clipped


def balance_sides(alpha: FloatArray, column: FloatArray, upper: FloatArray, mass: float = 0.0) -> FloatArray:
    """Return a point near α in {0 ≤ α ≤ U, Σ c α = mass}, by (REPAIR.2): (m,) each."""
    clipped = clip_to_box(alpha, upper)
    surplus = float(clipped @ column) - mass
    heavier_sum = 0.5 * (float(np.add.reduce(clipped)) + abs(surplus))
    if abs(surplus) <= ROUNDINGS * EPS * math.sqrt(len(clipped)) * heavier_sum:
        return clipped  # the surplus is rounding of the sums
    plus = column > 0
    weighted = clipped * column
    plus_sum = float(np.add.reduce(weighted, where=plus))
    minus_sum = -float(np.add.reduce(weighted, where=~plus))
    if plus_sum - mass > minus_sum:
        heavy, light, heavy_sum, target_sum = plus, column < 0, plus_sum, minus_sum + mass
    else:
        heavy, light, heavy_sum, target_sum = column < 0, plus, minus_sum, plus_sum - mass
    if target_sum >= 0.0 and heavy_sum > 0.0:
        np.multiply(clipped, target_sum / heavy_sum, out=clipped, where=heavy)
        return clipped
    clipped[heavy] = 0.0
    clipped[light] = _project_weighted(clipped[light], np.abs(column[light]), upper[light], abs(mass))
    return clipped


def project_on_capped_simplex(
    a: FloatArray, caps: FloatArray, mass: float, clipped: FloatArray | None = None
) -> FloatArray:
    """Project a onto {0 ≤ x ≤ caps, Σx = mass}: x = clip(a − τ, 0, caps), τ by sorting its breakpoints.

    Shapes: a, caps (m,) → (m,).
    clipped: The result of `clip_to_box` for a, which may be returned itself; computed if None.

    Notes
    -----
    Σ clip(a − τ, 0, caps) is piecewise linear and decreasing in τ, with breakpoints a and a − caps (Brucker 1984). It
    is summed from the largest τ, where it is 0, and relative to the largest a, so that a mass far below all entries
    keeps its digits.
    """
    if mass >= float(np.add.reduce(caps)):
        return caps.copy()
    clipped = clip_to_box(a, caps) if clipped is None else clipped
    if _has_sum(clipped, mass):
        return clipped
    a = a - float(a.max(initial=-math.inf))
    tau = _find_threshold(a, caps, mass)
    x: FloatArray = np.clip(a - tau, 0.0, caps)
    snapped = _adjust_free_entries(_snap_to_bounds(x, caps, mass), caps, mass)
    if _has_sum(snapped, mass):
        return snapped
    return _restore_sum(_adjust_free_entries(x, caps, mass), caps, mass)


def _repair_with_constraints(dual: SVMDual, constraints: LinearConstraints, alpha: FloatArray) -> FloatArray:
    """Repair α (m,) of a machine with linear constraints, (REPAIR.7)."""
    machine = constraints.unconstrained_dual
    scale = 1.0
    multipliers = np.clip(alpha[machine.m :], 0.0, LARGEST)
    for i, j in constraints.opposite_pairs:
        multipliers[[i, j]] -= multipliers[[i, j]].min()
    for part in dual.parts:
        if part.ridge:
            continue
        column = part.column[: machine.m]
        constraint_sum = float(part.column[machine.m :] @ multipliers)
        with np.errstate(invalid="ignore"):  # 0 times ∞ occurs where the column is 0
            max_sum = float(np.where(column > 0.0, machine.upper * column, 0.0).sum())
            min_sum = float(np.where(column < 0.0, machine.upper * column, 0.0).sum())
        # total − scale·constraint_sum has to be a possible sum of the machine, between min_sum and max_sum
        limit = part.total - (max_sum if constraint_sum < 0.0 else min_sum)
        if abs(constraint_sum) > abs(limit):
            scale = min(scale, limit / constraint_sum * (1.0 - SMALL_SHARE))
    multipliers *= max(scale, 0.0)
    reduced_dual = fix_constraint_multipliers(dual, constraints, multipliers)
    return np.concatenate([make_feasible(reduced_dual, alpha[: machine.m]), multipliers])


def _remove_common_part(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """Subtract the common part of the two rows of each sample from α (m,), (REPAIR.6); β does not change."""
    a = clip_to_box(alpha, dual.upper)
    n = dual.n
    common = np.where(dual.level[:n] + dual.level[n:] <= 0.0, np.minimum(a[:n], a[n:]), 0.0)
    a[:n] -= common
    a[n:] -= common
    return a


def _repair_all_rows(dual: SVMDual, part: DualPart, alpha: FloatArray) -> FloatArray:
    """Repair α (m,) for one equality over all rows, by (REPAIR.2) or (REPAIR.3), and (REPAIR.9)."""
    column, upper, total = part.column, dual.upper, part.total
    if total > 0.0 and bool((column > 0).all()):
        a = _project_weighted(alpha, column, upper, total)
    elif total < 0.0 and bool((column < 0).all()):
        a = _project_weighted(alpha, -column, upper, -total)
    else:
        a = balance_sides(alpha, column, upper, total)
    return _remove_surplus(a, upper, part, column)


def _project_weighted(alpha: FloatArray, column: FloatArray, upper: FloatArray, mass: float) -> FloatArray:
    """Return the α in {0 ≤ α ≤ U, Σ c α = mass} with the nearest products c α, for c > 0: (m,) each."""
    scaled = project_on_capped_simplex(alpha * column, upper * column, mass)
    return np.asarray(np.minimum(scaled / column, upper))


def _remove_surplus(
    alpha: FloatArray, upper: FloatArray, part: DualPart, column: FloatArray | None = None
) -> FloatArray:
    """Subtract the remaining surplus of one part from α in place, (REPAIR.9).

    Shapes: α, U and the column c, (m,) each; c = 1 if None.
    """
    products = alpha if column is None else column * alpha
    surplus = sum_with_bound(products, *(-total for total in (part.total, part.low) if total))[0]
    if surplus == 0.0:
        return alpha
    rows = ((alpha > 0.0) & (alpha < upper)).nonzero()[0]
    if column is not None and find_common_value(column) is None:
        rows = rows[np.abs(column[rows]) == 1.0]
    equal = rows[products[rows] == surplus]
    if len(equal):
        alpha[equal[0]] = 0.0
        return alpha
    a, caps = alpha[rows], upper[rows]  # the free entries
    for _ in range(MAX_CARRIERS):
        k = _find_carrier(a, caps, abs(surplus))
        if k < 0:
            break
        sign = 1.0 if column is None else float(column[rows[k]])
        value = float(a[k])
        new_value = value - sign * surplus
        change = new_value - value
        remainder = sign * ((value - (new_value - change)) - (sign * surplus + change))  # (ROUND.2)
        alpha[rows[k]] = a[k] = new_value
        if remainder == 0.0:
            break
        surplus = -remainder
    return alpha


def _find_carrier(a: FloatArray, upper: FloatArray, step: float) -> int:
    """Return the index of the smallest α (r,) far above a step that can also increase by it; −1 if there is none."""
    if not len(a):
        return -1
    k = int(a.argmin())  # in most cases this is it
    if a[k] * SMALL_SHARE >= step and a[k] + step < upper[k]:
        return k
    candidates = ((a * SMALL_SHARE >= step) & (a + step < upper)).nonzero()[0]
    return int(candidates[a[candidates].argmin()]) if len(candidates) else -1


def _find_threshold(a: FloatArray, caps: FloatArray, mass: float) -> float:
    """Return τ of (REPAIR.3), for a ≤ 0 with a largest entry of 0: (m,) each."""
    ends = (a - caps)[caps < np.inf]
    breaks = np.concatenate([a, ends])
    slopes = np.concatenate([np.ones(len(a)), -np.ones(len(ends))])
    order = np.argsort(-breaks, kind="stable")
    breaks = breaks[order]
    slopes = np.cumsum(slopes[order])
    values = np.concatenate([[0.0], np.cumsum(slopes[:-1] * -np.diff(breaks))])
    k = int(np.searchsorted(values, mass, side="right")) - 1
    slope = slopes[k]
    return float(breaks[k] - ((mass - values[k]) / slope if slope > 0 else 0.0))


def _has_sum(x: FloatArray, mass: float) -> bool:
    """Return whether Σx = mass up to the rounding of the sum, x (m,)."""
    return bool(abs(float(x.sum()) - mass) <= ROUNDINGS * EPS * math.sqrt(len(x)) * mass)


def _snap_to_bounds(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Set x to 0 or caps if it differs from it only by the rounding of τ, relative to the mass (REPAIR.5): (m,) each.

    If a cap is so small that both apply, x stays.
    """
    rounding = ROUNDINGS * EPS * mass
    at_zero = x <= rounding
    full = x >= caps - rounding
    return np.where(at_zero & ~full, 0.0, np.where(full & ~at_zero, caps, x))


def _adjust_free_entries(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Correct the sum of x by its free entries in place, in proportion to their slack: small ones keep their digits."""
    is_free = (x > 0) & (x < caps)
    if not is_free.any():
        return x
    free, free_caps = x[is_free], caps[is_free]
    slack = np.minimum(free, free_caps - free)
    sum_of_x, total_slack = float(x.sum()), float(slack.sum())
    if total_slack > 0.0:
        x[is_free] = np.clip(free + slack * ((mass - sum_of_x) / total_slack), 0.0, free_caps)
    return x


def _restore_sum(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Scale x down, or raise it in proportion to its slack, to Σx = mass if rounding of τ lost the sum: (m,) each."""
    slack = np.minimum(caps, mass) - x
    sum_of_x, total_slack = float(x.sum()), float(slack.sum())
    if abs(sum_of_x - mass) <= ROUNDINGS * EPS * len(x) * mass:
        return x
    if sum_of_x > mass:
        return np.asarray(x * (mass / sum_of_x))
    return np.asarray(np.minimum(x + slack * ((mass - sum_of_x) / total_slack), caps))
