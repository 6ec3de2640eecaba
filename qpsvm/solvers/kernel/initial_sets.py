"""Choose the initial working set W of Newton steps: free, violating and nearly violating rows (`select_at_point`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import KernelPoint

#: Four times the relative error of a kernel value in single precision, and limits of ε in (KSET.3). The errors add up
#: like a random walk in u: ε is four of its standard deviations.
ROUGH_VALUE_ERROR, MIN_ROUGH_ERROR, MAX_ROUGH_ERROR = 1.6e-6, 1e-4, 0.05


@dataclass(frozen=True, eq=False)
class InitialSet:
    """An initial working set.

    rows (w,): W.
    beta, u (n,): β is 0 or C_i y_i outside W;  u = Kβ from rough kernel values.
    is_warm: Whether β is a feasible point, good enough for Newton steps. Otherwise it is 0 on W.
    """

    rows: IntArray
    beta: FloatArray
    u: FloatArray
    is_warm: bool


def select_at_point(point: KernelPoint, reach: float) -> InitialSet:
    """Select W: the rows that are free, violate the condition of their bound, or have |dual gradient| < `reach`.

    The gradient is in units of the margin.
    """
    beta, gradient = point.beta, point.gradient
    can_rise, can_fall = beta < point.high, beta > point.low
    can_improve = (can_rise & can_fall) | ((gradient > 0) & can_rise) | ((gradient < 0) & can_fall)
    return InitialSet(np.flatnonzero(can_improve | (np.abs(gradient) < reach)), beta, point.u, True)


def estimate_rough_error(beta: FloatArray) -> float:
    """Estimate the error of u = Kβ from rough kernel values, ε of (KSET.3), for β (n,)."""
    error = ROUGH_VALUE_ERROR * float(np.sqrt(beta @ beta))
    return min(max(error, MIN_ROUGH_ERROR), MAX_ROUGH_ERROR)
