"""Find the exact step length along a Newton direction of the augmented Lagrangian.

Along W + sΔW, with Δm = ZΔW known, the merit function is convex and its derivative

    (LINE.1)  h(s) = ΔWᵀ(RW − h₀) + s ΔWᵀRΔW − Δmᵀ clip(S_k(t − sσΔm), lo, hi),  S_k(t) = t − clip(t, −k, k)

is continuous, increasing, and linear between the values of s where a row meets a bound. Evaluating it needs no pass
over the data. For hinge losses lo = k = 0. `find_step` is the entry point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: A step is accepted if the slope has fallen to this share of the initial one.
SLOPE_SHARE = 0.1
#: Limit of the evaluations of the slope within the bracket; each costs as much as four additions of n-vectors.
EVALUATIONS = 20
#: Interpolation stays away from the ends of the bracket by this share of its width.
SAFEGUARD = 0.05
#: A bracket whose ends differ by more than this factor is bisected in logarithms.
WIDE = 100.0
#: The longest step tried, in Newton steps. If no row is free, H is flat and the first step may be short.
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
        """Return h(s)."""
        multiplier = self.change * (-s * self.sigma)
        multiplier += self.t
        if self.threshold is not None:
            multiplier -= np.clip(multiplier, -np.asarray(self.threshold), self.threshold)
        np.clip(multiplier, self.lower, self.upper, out=multiplier)
        return self.constant + s * self.linear - float(self.change @ multiplier)


def find_step(slope: Slope, first: float) -> float:
    """Return a step s > 0 with |h(s)| ≤ 0.1|h(0)|, or the best that safeguarded interpolation reaches."""
    accepted = SLOPE_SHARE * abs(first)
    at_one = slope(1.0)
    if abs(at_one) <= accepted or np.isnan(at_one):
        return 1.0 if abs(at_one) <= accepted else float("nan")
    high, at_high = 1.0, at_one
    low, at_low = (1.0, at_one) if at_one < 0 else (0.0, first)
    while at_high < 0 and high < LONGEST_STEP:
        low, at_low = high, at_high
        high *= 2.0 if high < 4.0 else 10.0
        at_high = slope(high)
    if abs(at_high) <= accepted or at_high < 0:
        return high
    return _interpolate(slope, low, at_low, high, at_high, accepted)


def _interpolate(slope: Slope, low: float, at_low: float, high: float, at_high: float, accepted: float) -> float:
    """Find the root of h between low, where h < 0, and high, where h > 0, by safeguarded interpolation."""
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
        value = slope(s)
        if abs(value) <= accepted or np.isnan(value):
            break
        if value < 0:
            low, at_low = s, value
        else:
            high, at_high = s, value
    return s
