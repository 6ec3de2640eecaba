"""P and D of the numbers in a user's hands between two others each, and the relative gap from above and below."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from qpsvm.proof.exactly import above, below

#: A real number between two floats.
Interval = tuple[float, float]


@dataclass(frozen=True)
class GapBounds:
    """What is proven of P(w, μ) and D(α), in units of (DUAL.1).

    primal, dual, difference: P, D and P − D from below and from above. P is infinite where (w, μ) is no point
        of the primal.
    exactly: Whether all three are the numbers themselves, rounded outwards.
    apart, length: ‖w − w(α)‖ from above, and ‖w‖ from below.
    lost: By how much D of any α may be above P, as the kernel is known: mostly 0. P − D from above has it
        added.
    """

    primal: Interval
    dual: Interval
    difference: Interval
    exactly: bool = False
    apart: float = math.inf
    length: float = 0.0
    lost: float = 0.0

    @property
    def size(self) -> float:
        """max(|P|, |D|) from below."""
        return max(self.primal[0], -self.primal[1], self.dual[0], -self.dual[1])

    @property
    def gap(self) -> float:
        """(P − D)/max(|P|, |D|), (CERT.3), from above."""
        size = self.size
        if not self.difference[1] > 0.0 or math.isnan(size):
            return 0.0 if self.difference[1] <= 0.0 else math.inf
        if not size > 0.0 or math.isinf(self.difference[1]) or math.isnan(self.difference[1]):
            return math.inf
        return above(Fraction(self.difference[1]) / Fraction(min(size, LARGEST)))

    @property
    def least_gap(self) -> float:
        """The same from below."""
        size = max(abs(end) for end in (*self.primal, *self.dual))
        if not self.difference[0] > 0.0 or not math.isfinite(size) or math.isnan(size):
            return 0.0
        return below(Fraction(self.difference[0]) / Fraction(size)) if size > 0.0 else 0.0

    def wider(self, lost: float) -> GapBounds:
        """The same with P and P − D from above by so much more: then the optimal value is between D and that."""
        if lost == 0.0:
            return self
        primal, difference = (math.nextafter(end[1] + lost, math.inf) for end in (self.primal, self.difference))
        return replace(self, primal=(self.primal[0], primal), difference=(self.difference[0], difference), lost=lost)


#: The largest float.
LARGEST = math.nextafter(math.inf, 0.0)
