"""Minimise along a Newton direction of the augmented Lagrangian (`find_step`).

The augmented Lagrangian (ALM.2) of margins m = ZW is convex along W + sΔW. With Δm = ZΔW, its derivative in s is

    (LINE.1)  h(s) = ΔWᵀ(RW − h₀) + s ΔWᵀRΔW − Δmᵀ clip(S_k(t − sσΔm), lo, hi),  S_k(t) = t − clip(t, −k, k)

where the clip gives the multipliers α ∈ [lo, hi]. h is continuous, increasing, and linear between the values of s where
a row meets a bound, and evaluating it needs no pass over the data. For hinge losses lo = k = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: A step is accepted if |h| has fallen to this share of its initial value.
SLOPE_SHARE = 0.1
#: Limit of the evaluations of h within the bracket; each costs as much as four additions of n-vectors.
MAX_EVALUATIONS = 20
#: Interpolation stays away from the ends of the bracket by this share of its width.
MIN_INSET = 0.05
#: A bracket whose ends differ by more than this factor is bisected in logarithms.
MAX_ENDS_RATIO = 100.0
#: The longest step tried, in Newton steps: if no row is free, the Newton step may be far too short.
MAX_STEP = 1e8


@dataclass(frozen=True, eq=False)
class Slope:
    """h of (LINE.1) as a function of s.

    constant, linear: ΔWᵀ(RW − h₀) and ΔWᵀRΔW.
    t, margin_change (n,): t and Δm.
    sigma, upper, lower (n,): σ, hi and lo.
    threshold (n,): k; None for 0.
    """

    constant: float
    linear: float
    t: FloatArray
    margin_change: FloatArray
    sigma: float | FloatArray
    upper: float | FloatArray
    lower: float | FloatArray = 0.0
    threshold: float | FloatArray | None = None

    def __call__(self, s: float) -> float:
        """Return h(s)."""
        multiplier = self.margin_change * (-s * self.sigma)
        multiplier += self.t
        if self.threshold is not None:
            multiplier -= np.clip(multiplier, -np.asarray(self.threshold), self.threshold)
        np.clip(multiplier, self.lower, self.upper, out=multiplier)
        return self.constant + s * self.linear - float(self.margin_change @ multiplier)


def find_step(slope: Slope, at_zero: float) -> float:
    """Return a step s > 0 with |h(s)| ≤ 0.1|h(0)|, or the last one tried if none is found; NaN if h(1) is NaN.

    at_zero: h(0) < 0.
    """
    max_slope = SLOPE_SHARE * abs(at_zero)
    low, at_low = 0.0, at_zero
    high, at_high = 1.0, slope(1.0)
    if np.isnan(at_high):
        return math.nan
    if abs(at_high) <= max_slope:
        return high
    while at_high < 0 and high < MAX_STEP:
        low, at_low = high, at_high
        high *= 2.0 if high < 4.0 else 10.0
        at_high = slope(high)
    if abs(at_high) <= max_slope or at_high < 0:
        return high
    return _interpolate(slope, low, at_low, high, at_high, max_slope)


def _interpolate(slope: Slope, low: float, at_low: float, high: float, at_high: float, max_slope: float) -> float:
    """Find an s with |h(s)| ≤ `max_slope` between low, where h < 0, and high, where h > 0; else the last s tried."""
    s = high
    shrink = MIN_INSET
    for count in range(MAX_EVALUATIONS):
        if low == 0.0 and count >= 2:  # the root is many times smaller than the Newton step
            s = shrink * high
            shrink *= shrink
        elif high > MAX_ENDS_RATIO * low > 0.0:
            s = float(np.sqrt(low * high))
        else:
            inset = MIN_INSET * (high - low)
            s = low - at_low * (high - low) / (at_high - at_low)
            s = min(max(s, low + inset), high - inset)
        value = slope(s)
        if abs(value) <= max_slope or np.isnan(value):
            break
        if value < 0:
            low, at_low = s, value
        else:
            high, at_high = s, value
    return s
