"""The multipliers that the augmented Lagrangian asks for, (LOSSES.4), at one σ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray
from qpsvm.losses import PerRow, is_zero, soft
from qpsvm.solvers.linear.row_losses import RowLosses


class Response:
    """(LOSSES.4): how the multipliers answer to t at one σ.

    steepness (n,): d, the slope of a free row: one number where δ is.
    threshold (n,): dε; None where ε = 0.
    """

    def __init__(self, losses: RowLosses, sigma: float) -> None:
        self._lower, self._upper = losses.low, losses.high
        self._flat, self.sigma = losses.flat, sigma
        self.steepness: PerRow = sigma if losses.flat else 1.0 / (1.0 / sigma + losses.curvature)
        self.threshold: PerRow | None = None if is_zero(losses.tube) else self.steepness * losses.tube

    def arguments(self, a: FloatArray, r: FloatArray) -> FloatArray:
        """T for the multiplier estimate a and the residuals r: (n,)."""
        return a + self.sigma * r if self._flat else self.steepness * (a / self.sigma + r)

    def alpha(self, t: FloatArray) -> FloatArray:
        """The multipliers: (n,)."""
        return np.clip(t if self.threshold is None else soft(t, self.threshold), self._lower, self._upper)

    def free(self, t: FloatArray) -> NDArray[np.bool_]:
        """Whether a row is free: its multiplier moves with t. (n,)."""
        if self.threshold is None:
            return (t >= self._lower) & (t <= self._upper)
        v = soft(t, self.threshold)
        return (v >= self._lower) & (v <= self._upper) & (np.abs(t) >= self.threshold)
