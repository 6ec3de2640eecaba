"""Hold proven bounds of P, D and the gap (`GapBounds`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from qpsvm.base.arrays.rationals import MAX_FLOAT, round_down, round_up

#: Lower and upper bound of a number.
Interval = tuple[float, float]


@dataclass(frozen=True)
class GapBounds:
    """Proven bounds of P(w, μ) and D(α), in units of (DUAL.1).

    primal, dual, difference: Lower and upper bounds of P, D and P − D; P is infinite if (w, μ) is infeasible.
    exactly: Whether the bounds are the exact values, rounded outwards.
    distance: Upper bound of ‖w − w(α)‖.
    min_norm: Lower bound of ‖w‖.
    excess: Bound of the amount by which D of any α may exceed P, (LACK.2), usually 0. It is included in the upper bound
        of P − D.
    zero_size: Lower bound of S of (ZERO.2), if P = 0 and the gap is (distance/S)²; else 0.
    """

    primal: Interval
    dual: Interval
    difference: Interval
    exactly: bool = False
    distance: float = math.inf
    min_norm: float = 0.0
    excess: float = 0.0
    zero_size: float = 0.0

    @property
    def size(self) -> float:
        """Lower bound of max(|P|, |D|)."""
        return max(self.primal[0], -self.primal[1], self.dual[0], -self.dual[1])

    @property
    def gap(self) -> float:
        """Upper bound of the relative gap, (CERT.3) or (ZERO.2)."""
        if self.zero_size:
            if not self.distance < math.inf:
                return math.inf
            return round_up((Fraction(self.distance) / Fraction(self.zero_size)) ** 2)
        size = self.size
        max_difference = self.difference[1]
        if max_difference <= 0.0:
            return 0.0
        if not (max_difference < math.inf and size > 0.0):  # true for NaN too
            return math.inf
        return round_up(Fraction(max_difference) / Fraction(min(size, MAX_FLOAT)))

    @property
    def least_gap(self) -> float:
        """Lower bound of the relative gap; 0 if P = 0."""
        if self.zero_size:
            return 0.0
        size = max(abs(end) for end in (*self.primal, *self.dual))
        if self.difference[0] > 0.0 and 0.0 < size < math.inf:
            return round_down(Fraction(self.difference[0]) / Fraction(size))
        return 0.0

    def add_excess(self, excess: float) -> GapBounds:
        """Add `excess` to the upper bounds of P and P − D: then the optimal value is between D and P."""
        if excess == 0.0:
            return self
        primal = _raise_upper_bound(self.primal, excess)
        return replace(self, primal=primal, difference=_raise_upper_bound(self.difference, excess), excess=excess)


def _raise_upper_bound(interval: Interval, excess: float) -> Interval:
    """Return the interval with `excess` added to its upper bound, rounded up."""
    return interval[0], math.nextafter(interval[1] + excess, math.inf)
