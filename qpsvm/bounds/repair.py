"""Turn any numbers into a feasible α: clip to the box, then project on the equalities of each part.

What is nearest in the norm would take a QP of its own; what is cheap and near is enough, because any α is certified.

    (REPAIR.1)  the box:  0 ≤ α ≤ U, and exactly U where a few roundings are all that keeps α away
    (REPAIR.2)  a part with columns of both signs:  the heavier side is scaled down until Σ c α = e; if that is not
                enough, it is 0, and the other side is the nearest point that makes Σ c α = e
    (REPAIR.3)  a part with one sign:  the nearest point of {0 ≤ α ≤ U, Σα = e}, α = clip(a − τ, 0, U)
    (REPAIR.4)  a start:  before all this, entries strictly inside their box take the surplus, in proportion to their
                room, where they can: scaling a whole side would lift all of it off U, and the split would be lost
    (REPAIR.5)  rounding:  what (REPAIR.3) keeps off 0 or U by rounding alone goes there, and the entries strictly
                inside make up for it; a point whose sum is right already is not projected
    (REPAIR.6)  two rows of a sample with opposite signs:  what both α have in common moves nothing but the objective,
                by ℓ⁺ + ℓ⁻ = −2ε for each unit: the smaller is subtracted from both
    (REPAIR.9)  at last, what Σ c α still has too much is taken from the finest row strictly inside its box that is far
                larger than that, and what its digits cannot take from a finer one. So every equality holds without any
                rounding where a free α has digits as fine as all others and e; what no float can take is less than a
                digit of a row, and is paid for, (COUNT.2)
    (REPAIR.7)  the linear constraints keep their prices λ, but for what two opposite rows have in common, and the
                machine's own rows make up for them, Σ c α = e − Σ c λ; λ shrinks as far as that takes
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from qpsvm.base.arrays.double_double import sum_with_bound
from qpsvm.base.arrays.frozen import find_common_value, multiply
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import all_in_one_repair
from qpsvm.bounds.all_in_one_repair import LARGEST
from qpsvm.program.svm_dual import DualPart, LinearConstraints, SVMDual

EPS = float(np.finfo(float).eps)
#: What a few operations may cost, in units of EPS.
ROUNDINGS = 8
#: The largest share of an α that may be taken from it for the sake of the last bit, and from how many.
SMALL, CARRIERS = 1e-9, 4


def feasible(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """The nearest cheap feasible α: (m,), a new array."""
    if dual.classes is not None:
        return dual.classes.flatten_alpha(all_in_one_repair.feasible(dual.classes, dual.classes.unflatten_alpha(alpha)))
    if dual.linear_constraints is not None:
        return _beside_users(dual, dual.linear_constraints, alpha)
    equalities = [part for part in dual.parts if not part.ridge]
    if not np.maximum.reduce(np.abs(alpha), initial=0.0) <= LARGEST:
        alpha = np.clip(alpha, -LARGEST, LARGEST)
    if dual.is_two_sided and not dual.margin_groups:
        alpha = remove_common_part(dual, alpha)
    if not equalities:
        return clip_to_box(alpha, dual.upper)
    if (part := equalities[0]).rows is None:
        return _exactly(_on_all_rows(dual, part, alpha), dual.upper, part.total, part.column)
    a = clip_to_box(alpha, dual.upper)
    for part in equalities:
        upper, rows = part.restrict(dual.upper), part.row_indices
        near = capped_simplex(alpha[rows], upper, part.total, a[rows])
        a[rows] = _exactly(near, upper, part.total)
    return a


def _beside_users(dual: SVMDual, users: LinearConstraints, alpha: FloatArray) -> FloatArray:
    """(REPAIR.7): (m,)."""
    own, share = users.unconstrained_dual, 1.0
    prices = np.clip(alpha[own.m :], 0.0, LARGEST)
    for i, j in users.opposite_pairs:
        prices[[i, j]] -= prices[[i, j]].min()
    for part in dual.parts:
        if part.ridge:
            continue
        column, moved = part.column[: own.m], float(part.column[own.m :] @ prices)
        with np.errstate(invalid="ignore"):  # 0 times ∞ is where the column is 0
            ends = [np.where(side * column > 0.0, own.upper * column, 0.0).sum() for side in (1.0, -1.0)]
        most, least = map(float, ends)
        end = part.total - (most if moved < 0.0 else least)  # total − share·moved stays between least and most
        if abs(moved) > abs(end):
            share = min(share, end / moved * (1.0 - SMALL))
    prices *= max(share, 0.0)
    return np.concatenate([feasible(fix_constraint_multipliers(dual, users, prices), alpha[: own.m]), prices])


def fix_constraint_multipliers(dual: SVMDual, users: LinearConstraints, prices: FloatArray) -> SVMDual:
    """Return the machine with totals that balance multipliers (p,) of linear constraints: e − E_Uᵀλ in place of e."""
    own = users.unconstrained_dual
    totals = [group.total - float(group.column[own.m :] @ prices) for group in dual.groups]
    moved = zip(own.groups, totals, strict=True)
    return replace(own, groups=tuple(replace(group, total=total) for group, total in moved))


def remove_common_part(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """Return α (m,) of two-sided rows without the common part of the two rows of a sample, (REPAIR.6): β stays."""
    a, n = clip_to_box(alpha, dual.upper), dual.n
    free = np.where(dual.level[:n] + dual.level[n:] <= 0.0, np.minimum(a[:n], a[n:]), 0.0)
    a[:n] -= free
    a[n:] -= free
    return a


def feasible_start(dual: SVMDual, alpha: FloatArray) -> FloatArray:
    """The nearest cheap feasible α that keeps what is at a bound there, where the others can make up for it: (m,)."""
    equalities = [part for part in dual.parts if not part.ridge]
    if len(equalities) != 1 or equalities[0].rows is not None or dual.linear_constraints is not None:
        return feasible(dual, alpha)
    column, near = equalities[0].column, clip_to_box(alpha, dual.upper)
    surplus = float(near @ column) - equalities[0].total
    fall = column * surplus > 0.0
    room = np.where((near > 0.0) & (near < dual.upper), np.where(fall, near, dual.upper - near), 0.0)
    most = float(room @ np.abs(column))
    if np.isfinite(most) and 0.0 < abs(surplus) < most:  # (REPAIR.4)
        near += np.where(fall, -room, room) * (abs(surplus) / most)
    return feasible(dual, near)


def _on_all_rows(dual: SVMDual, part: DualPart, alpha: FloatArray) -> FloatArray:
    if part.total == 0.0:
        return balance_sides(alpha, part.column, dual.upper)
    if part.total > 0.0 and bool((part.column > 0).all()):
        return _project_up(alpha, part.column, dual.upper, part.total)
    if part.total < 0.0 and bool((part.column < 0).all()):
        return _project_up(alpha, -part.column, dual.upper, -part.total)
    return balance_sides(alpha, part.column, dual.upper, part.total)


def _project_up(alpha: FloatArray, column: FloatArray, upper: FloatArray, mass: float) -> FloatArray:
    """Return the nearest α in the box with Σ c α = mass, for c > 0: (m,) each; nearest in cα."""
    scaled = capped_simplex(alpha * column, upper * column, mass)
    return np.asarray(np.minimum(scaled / column, upper))


def balance_sides(alpha: FloatArray, column: FloatArray, upper: FloatArray, mass: float = 0.0) -> FloatArray:
    """Return a cheap point near α in {0 ≤ α ≤ U, Σ c α = e}: clip, then scale the heavier side down. All (m,)."""
    clipped = clip_to_box(alpha, upper)
    products, whole, count = float(clipped @ column), float(np.add.reduce(clipped)), len(clipped)
    surplus = products - mass
    heavier = 0.5 * (whole + abs(surplus))
    if abs(surplus) <= ROUNDINGS * EPS * math.sqrt(count) * heavier:
        return clipped  # the rounding of the sums
    plus = column > 0
    weighted = clipped * column
    in_plus = float(np.add.reduce(weighted, where=plus))
    in_minus = -float(np.add.reduce(weighted, where=~plus))
    if in_plus - mass > in_minus:
        heavy, light, share, size = plus, column < 0, in_minus + mass, in_plus
    else:
        heavy, light, share, size = column < 0, plus, in_plus - mass, in_minus
    if share >= 0.0 < size:
        np.multiply(clipped, share / size, out=clipped, where=heavy)
        return clipped
    clipped[heavy] = 0.0
    clipped[light] = _project_up(clipped[light], np.abs(column[light]), upper[light], abs(mass))
    return clipped


def _exactly(alpha: FloatArray, upper: FloatArray, total: float, column: FloatArray | None = None) -> FloatArray:
    """(REPAIR.9) for one part, in place: α, U and the column c, 1 where it is None, (m,) each."""
    products = alpha if column is None else column * alpha
    surplus = sum_with_bound(products, *((-total,) if total else ()))[0]
    if surplus == 0.0:
        return alpha
    rows = ((alpha > 0.0) & (alpha < upper)).nonzero()[0]
    if column is not None and find_common_value(column) is None:
        rows = rows[np.abs(column[rows]) == 1.0]
    a, most = alpha[rows], upper[rows]
    for _ in range(CARRIERS):
        k = _finest(a, most, abs(surplus))
        if k < 0:
            break
        sign, value = 1.0 if column is None else float(column[rows[k]]), float(a[k])
        moved = value - sign * surplus
        taken = moved - value
        left = sign * ((value - (moved - taken)) - (sign * surplus + taken))  # (ROUND.2)
        alpha[rows[k]] = a[k] = moved
        if left == 0.0:
            break
        surplus = -left
    return alpha


def _finest(a: FloatArray, most: FloatArray, step: float) -> int:
    """Return the index of the smallest α (r,) far larger than a step, with room for it; −1 without one."""
    if not len(a):
        return -1
    k = int(a.argmin())
    if a[k] * SMALL >= step and a[k] + step < most[k]:
        return k
    able = ((a * SMALL >= step) & (a + step < most)).nonzero()[0]
    return int(able[a[able].argmin()]) if len(able) else -1


def clip_to_box(alpha: FloatArray, upper: FloatArray) -> FloatArray:
    """Clip α to [0, U], and set it to U if only a few roundings separate them: (m,) each, a new array.

    The way through a solver's units and back rounds, and a row at its bound should be seen to be there.
    """
    clipped: FloatArray
    clipped = np.minimum(np.maximum(alpha, 0.0), upper)  # (REPAIR.1), (HARD.6), (CSVM.7), (NUSVM.8), (PHINGE.7)
    np.copyto(clipped, upper, where=clipped >= multiply(1.0 - ROUNDINGS * EPS, upper))
    return clipped


def capped_simplex(a: FloatArray, caps: FloatArray, mass: float, near: FloatArray | None = None) -> FloatArray:
    """Project a onto {0 ≤ x ≤ caps, Σx = mass}: x = clip(a − τ, 0, caps), τ by sorting its breakpoints.

    Shapes: a, caps (m,) → (m,); `near` is `clip_to_box` a, where that is known: it may come back.

    Notes
    -----
    Σ clip(a − τ, 0, caps) is piecewise linear and falls in τ, with breakpoints a and a − caps (Brucker 1984). It is
    summed from the top, where it is 0, and relative to the largest a: a mass far below all entries keeps its digits.
    """
    if mass >= float(np.add.reduce(caps)):
        return caps.copy()
    near = clip_to_box(a, caps) if near is None else near
    if _adds_up(near, mass):
        return near
    a = a - float(a.max(initial=-math.inf))
    tau = _threshold(a, caps, mass)
    x: FloatArray = np.clip(a - tau, 0.0, caps)
    settled = _adjust_free_entries(_snap_to_bounds(x, caps, mass), caps, mass)
    return settled if _adds_up(settled, mass) else _scale_to_sum(_adjust_free_entries(x, caps, mass), caps, mass)


def _threshold(a: FloatArray, caps: FloatArray, mass: float) -> float:
    """τ of (REPAIR.3) for a ≤ 0, one of which is 0: (m,) each."""
    ends = (a - caps)[caps < np.inf]
    breaks = np.concatenate([a, ends])
    slopes = np.concatenate([np.ones(len(a)), -np.ones(len(ends))])
    order = np.argsort(-breaks, kind="stable")
    breaks, slopes = breaks[order], np.cumsum(slopes[order])
    values = np.concatenate([[0.0], np.cumsum(slopes[:-1] * -np.diff(breaks))])
    k = int(np.searchsorted(values, mass, side="right")) - 1
    slope = slopes[k]
    return float(breaks[k] - ((mass - values[k]) / slope if slope > 0 else 0.0))


def _adds_up(x: FloatArray, mass: float) -> bool:
    """Whether Σx = mass up to the rounding of the sum, x (m,)."""
    return bool(abs(float(x.sum()) - mass) <= ROUNDINGS * EPS * math.sqrt(len(x)) * mass)


def _snap_to_bounds(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Set x to 0 or caps if only the rounding of τ, a part of the mass, keeps it away (REPAIR.5): (m,) each.

    Where a cap is so small that both are, x stays.
    """
    rounding = ROUNDINGS * EPS * mass
    at_zero, full = x <= rounding, x >= caps - rounding
    return np.where(at_zero & ~full, 0.0, np.where(full & ~at_zero, caps, x))


def _adjust_free_entries(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Correct the sum of x to the mass by the entries strictly inside: (m,) each, x changed.

    In proportion to their room, so that a small one keeps its digits.
    """
    inside = (x > 0) & (x < caps)
    if not inside.any():
        return x
    free, most = x[inside], caps[inside]
    room = np.minimum(free, most - free)
    added, able = float(x.sum()), float(room.sum())
    if able > 0.0:
        x[inside] = np.clip(free + room * ((mass - added) / able), 0.0, most)
    return x


def _scale_to_sum(x: FloatArray, caps: FloatArray, mass: float) -> FloatArray:
    """Scale x of [0, caps] to Σx = mass, where τ lost it beside far larger entries: (m,) each."""
    room = np.minimum(caps, mass) - x
    sum_of_x, able = float(x.sum()), float(room.sum())
    if abs(sum_of_x - mass) <= ROUNDINGS * EPS * len(x) * mass:
        return x
    if sum_of_x > mass:
        return np.asarray(x * (mass / sum_of_x))
    return np.asarray(np.minimum(x + room * ((mass - sum_of_x) / able), caps))
