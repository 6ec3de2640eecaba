"""Store proven bounds of P, D and P − D, and derive those of the relative gap (`GapBounds`)."""

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
    is_exact: Whether the bounds are the exact values, rounded outwards.
    distance: Upper bound of ‖w − w(α)‖.
    min_norm: Lower bound of ‖w‖.
    excess: Bound of the amount by which D of any α may exceed P, (LACK.2): 0 unless K is indefinite by rounding. The
        upper bounds of P and P − D include it.
    zero_size: Lower bound of S, a size of w without cancellation, if P = 0 and the gap is (distance/S)², (ZERO.2);
        else 0.
    """

    primal: Interval
    dual: Interval
    difference: Interval
    is_exact: bool = False
    distance: float = math.inf
    min_norm: float = 0.0
    excess: float = 0.0
    zero_size: float = 0.0

    @property
    def min_size(self) -> float:
        """Lower bound of max(|P|, |D|)."""
        return max(self.primal[0], -self.primal[1], self.dual[0], -self.dual[1])

    @property
    def gap(self) -> float:
        """Upper bound of the relative gap, (CERT.3) or (ZERO.2)."""
        if self.zero_size:
            if not self.distance < math.inf:
                return math.inf
            return round_up((Fraction(self.distance) / Fraction(self.zero_size)) ** 2)
        max_difference = self.difference[1]
        if max_difference <= 0.0:
            return 0.0
        if not (max_difference < math.inf and self.min_size > 0.0):  # true for NaN too
            return math.inf
        return round_up(Fraction(max_difference) / Fraction(min(self.min_size, MAX_FLOAT)))

    @property
    def least_gap(self) -> float:
        """Lower bound of the relative gap; 0 if P = 0."""
        if self.zero_size:
            return 0.0
        max_size = max(abs(end) for end in (*self.primal, *self.dual))
        if self.difference[0] > 0.0 and 0.0 < max_size < math.inf:
            return round_down(Fraction(self.difference[0]) / Fraction(max_size))
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
