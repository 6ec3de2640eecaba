"""Find the exact step length along a Newton direction of the augmented Lagrangian.

Along W + sΔW, with Δm = ZΔW known, the merit function is convex and its derivative

    (LINE.1)  h(s) = ΔWᵀ(RW − h₀) + s ΔWᵀRΔW − Δmᵀ clip(S_k(t − sσΔm), lo, hi),  S_k(t) = t − clip(t, −k, k)

is continuous, grows, and is linear between the values of s where a row meets a bound. No pass over the data is made.
Of hinge losses lo = k = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: A step is accepted where the slope has fallen to this share of the first one.
SLOPE_SHARE = 0.1
#: Evaluations of the slope after the bracket is found; each costs as much as four additions of n-vectors.
EVALUATIONS = 20
#: Interpolation stays away from the ends of the bracket by this share of its width.
SAFEGUARD = 0.05
#: A bracket whose ends differ by this factor is halved in logarithms.
WIDE = 100.0
#: The longest step tried, in Newton steps. H is flat where no row is free, so that the first step may be short.
LONGEST_STEP = 1e8


@dataclass(frozen=True, eq=False)
class Slope:
    """(LINE.1) as a function of s.

    constant, linear: ΔWᵀ(RW − h₀) and ΔWᵀRΔW.
    t, change (n,): t and Δm.
    sigma, upper, lower (n,): σ, hi and lo.
    threshold (n,): k; None for 0.
    """

    constant: float
    linear: float
    t: FloatArray
    change: FloatArray
    sigma: float | FloatArray
    upper: float | FloatArray
    lower: float | FloatArray = 0.0
    threshold: float | FloatArray | None = None

    def __call__(self, s: float) -> float:
        """h(s)."""
        moved = self.change * (-s * self.sigma)
        moved += self.t
        if self.threshold is not None:
            moved -= np.clip(moved, -np.asarray(self.threshold), self.threshold)
        np.clip(moved, self.lower, self.upper, out=moved)
        return self.constant + s * self.linear - float(self.change @ moved)


def find_step(slope: Slope, first: float) -> float:
    """Return a step s > 0 with |h(s)| ≤ 0.1|h(0)|, or the best that safeguarded interpolation reaches."""
    accepted = SLOPE_SHARE * abs(first)
    at_one = slope(1.0)
    if abs(at_one) <= accepted or np.isnan(at_one):
        return 1.0 if abs(at_one) <= accepted else float("nan")
    low, at_low, high, at_high = (1.0, at_one, 1.0, at_one) if at_one < 0 else (0.0, first, 1.0, at_one)
    while at_high < 0 and high < LONGEST_STEP:
        low, at_low = high, at_high
        high *= 2.0 if high < 4.0 else 10.0
        at_high = slope(high)
    if abs(at_high) <= accepted or at_high < 0:
        return high
    return _interpolate(slope, low, at_low, high, at_high, accepted)


def _interpolate(slope: Slope, low: float, at_low: float, high: float, at_high: float, accepted: float) -> float:
    """Interpolate the root of h between low, where h < 0, and high, where h > 0, of any order of magnitude."""
    s, shrink = high, SAFEGUARD
    for count in range(EVALUATIONS):
        if low == 0.0 and count >= 2:  # the root is many times smaller than the Newton step
            s, shrink = shrink * high, shrink * shrink
        elif high > WIDE * low > 0.0:
            s = float(np.sqrt(low * high))
        else:
            inset = SAFEGUARD * (high - low)
            s = low - at_low * (high - low) / (at_high - at_low)
            s = min(max(s, low + inset), high - inset)
        here = slope(s)
        if abs(here) <= accepted or np.isnan(here):
            break
        if here < 0:
            low, at_low = s, here
        else:
            high, at_high = s, here
    return s
