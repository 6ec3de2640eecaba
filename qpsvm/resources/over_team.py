"""What is made of numbers of which each member of a team has some: their sum in twice the precision, and a quantile.

    (OVER.1)  the sum of all is that of the members' sums, each told as two doubles, so that no digit is lost on the way
    (OVER.2)  where Rt + the weights of the points up to t rise to a level:  a joined sample of the points brackets the
              place, four sums over the members say in which part it is, and only that part is looked at again

A round of (OVER.2) leaves a tenth of the points, and never the wrong ones: the sums decide, not the sample. What is
told does not grow with the number of points.
"""

from __future__ import annotations

import math
from operator import ge, gt

import numpy as np

from qpsvm.arrays.constant import total as total_where
from qpsvm.arrays.quantile import BRACKET, EPS, SAMPLE, quantile_interval
from qpsvm.arrays.rounding import UNIT, exact_sum, total, total_in_two
from qpsvm.arrays.types import FloatArray
from qpsvm.resources.team import Team

#: So few points are told as they are.
JOINED = 4096
#: A few roundings of a sum of sizes.
FEW = 1.0 + 8.0 * UNIT


def total_over(values: FloatArray, team: Team, *added: float) -> tuple[float, float]:
    """The sum of the members' vectors, (n,) each, plus more numbers, and how far it may be off, (OVER.1)."""
    if team.alone:
        return total(np.append(values, added) if added else values)
    told = team.joined(np.array([total_in_two(values)]))
    s = exact_sum([*told[:, :2].ravel().tolist(), *added])
    return s, (UNIT * abs(s) + exact_sum(told[:, 2].tolist())) * FEW


def quantile_over(points: FloatArray, weights: FloatArray, level: float, team: Team) -> tuple[float, float]:
    """`quantile_interval` of the points of all members, (n,) each."""
    if team.alone:
        return quantile_interval(points, weights, level)
    count, mass = team.sums(len(points), float(weights.sum()))
    slack = 4 * count * EPS * mass
    low = crossing(points, weights, level - slack, team)
    if not low < math.inf:
        return team.most(float(points.max(initial=-math.inf))), math.inf
    above = points > low
    passed = team.sum(total_where(weights, ~above))
    if passed > level + slack:
        return low, low
    return low, crossing(points[above], weights[above], level + slack, team, before=passed, strict=True)


def crossing(
    points: FloatArray,
    weights: FloatArray,
    level: float,
    team: Team,
    before: float = 0.0,
    ridge: float = 0.0,
    strict: bool = False,
) -> float:
    """Where Rt + the weights of the points up to t reach a level, (OVER.2): a point, or between two where R > 0.

    Shapes: points, weights (n,).
    """
    reached, end = gt if strict else ge, math.inf
    while True:
        count, mass = team.sums(len(points), float(weights.sum()))
        if count <= JOINED:
            break
        low, high = _bracket(points, weights, level - before, ridge, (count, mass), team)
        below, inside = points < low, (points > low) & (points < high)
        at_low, at_high = points == low, (points == high) & (high > low)
        masses = team.sum(np.array([total_where(weights, part) for part in (below, at_low, inside, at_high)]))
        to_low, with_low, to_high, with_high = (before + np.cumsum(masses)).tolist()
        if reached(ridge * low + to_low, level):
            kept, end = below, low
        elif reached(ridge * low + with_low, level):
            return low
        elif reached(ridge * high + to_high, level):
            kept, end, before = inside, high, with_low
        elif reached(ridge * high + with_high, level):
            return high
        else:
            kept, before = points > high, with_high
        points, weights = points[kept], weights[kept]
    return _crossing_of_few(team.joined(np.column_stack([points, weights])), level, before, ridge, strict, end)


def _bracket(
    points: FloatArray, weights: FloatArray, level: float, ridge: float, whole: tuple[int, float], team: Team
) -> tuple[float, float]:
    """Two points between which the crossing is in all likelihood, from a sample of all members' points.

    `whole` is how many there are, and their weight.
    """
    step = -(-whole[0] // SAMPLE)
    told = team.joined(np.column_stack([points[::step], weights[::step]]))
    sample, mass = told[np.argsort(told[:, 0], kind="stable")].T
    mass = np.cumsum(mass)
    share = whole[1] / mass[-1] if mass[-1] > 0.0 else 0.0
    k = int(np.searchsorted(ridge * sample + share * mass, level))
    return float(sample[max(k - BRACKET, 0)]), float(sample[min(k + BRACKET, len(sample) - 1)])


def _crossing_of_few(told: FloatArray, level: float, before: float, ridge: float, strict: bool, end: float) -> float:
    """`crossing` for points and weights that all members know, (k, 2), and the end of the part that they are of."""
    points, weights = told[np.argsort(told[:, 0], kind="stable")].T
    passed = before + np.cumsum(weights)
    k = int(np.searchsorted(ridge * points + passed, level, side="right" if strict else "left"))
    knot = float(points[k]) if k < len(points) else end
    if not ridge:
        return knot
    return min((level - (float(passed[k - 1]) if k else before)) / ridge, knot)


__all__ = ["crossing", "quantile_over", "total_over"]
