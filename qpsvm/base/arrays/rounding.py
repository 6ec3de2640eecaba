"""Bound the errors of floating-point arithmetic (`gamma`, `bound_norm`, `bound_row_norms`); divide a gap by its scale.

u = 2⁻⁵³ is the unit roundoff of doubles. A sum of k products is off by at most γ_k Σ|a_i b_i|, in any order:

    (ROUND.1)  γ_k = ku/(1 − ku)
    (ROUND.5)  ‖x‖ ≤ √fl(Σx²) (1 + γ_{k+6}) + √k 2⁻⁵³⁶ for k numbers; the last term covers squares that underflow

Source: Higham, *Accuracy and Stability of Numerical Algorithms* (2002), chapter 3.
"""

from __future__ import annotations

import math

import numpy as np

from qpsvm.base.arrays.types import FloatArray

#: Unit roundoff u of a double.
UNIT = 2.0**-53
#: Distance from 1 to the next double, 2u.
EPS = 2.0**-52
#: Smallest positive double that has all its digits.
SMALLEST_NORMAL = 2.0**-1022
#: A sum counts as 0 below this share of its terms, and two numbers as equal below this relative difference.
ROUNDED = 1e-12
#: Factor for a few roundings, where an exact count does not pay.
FEW_ROUNDINGS = 1.0 + 64.0 * UNIT
#: Squares of smaller numbers underflow.
TINY_NORM = 2.0**-536


def compute_relative_gap(difference: float, primal: float, dual: float, floor: float = 0.0) -> float:
    """Return the relative gap (CERT.3), P − D over max(|P|, |D|, floor); 0 if P = D, infinite if P or D is."""
    scale = max(abs(primal), abs(dual), floor)
    if difference == 0.0:
        return 0.0
    is_bounded = math.isfinite(difference) and math.isfinite(scale) and scale > 0.0
    return difference / scale if is_bounded else math.inf


def gamma(k: float) -> float:
    """Return γ_k of (ROUND.1), or infinity if k roundings leave no digit."""
    if k * UNIT < 1.0:
        return k * UNIT / (1.0 - k * UNIT)
    return math.inf


def bound_row_norms(squares: FloatArray, k: int) -> FloatArray:
    """Return upper bounds of norms (n,), given their computed squares, each a sum of k numbers: (ROUND.5)."""
    norms: FloatArray = np.sqrt(squares)
    norms *= 1.0 + gamma(k + 6)
    norms += math.sqrt(k) * TINY_NORM
    return norms


def bound_norm(v: FloatArray) -> float:
    """Return an upper bound of ‖v‖, computed in units of the largest entry, so that no square overflows."""
    largest = float(np.abs(v).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if not math.isfinite(largest):
        return math.inf
    scaled = v / largest
    return largest * math.sqrt(float(scaled @ scaled)) * (1.0 + gamma(len(v) + 8))
