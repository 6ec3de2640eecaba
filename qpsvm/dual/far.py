"""u = Kβ of many rows: in single precision where that settles on which side of its margin a row is.

A row with α = 0 that is beyond its margin contributes exactly nothing to the gap, however far beyond it is, and the
multipliers depend on which side of a quantile it lies and on nothing else, (LEVEL.3). With û_i − R_i ≤ u_i ≤ û_i + R_i
by the worst-case radius of single precision, (RADII.3), a row k of sample i is left at that as long as

    (FAR.1)  α_k = 0,  t_k < −2R_i,  and |c_k||θ_k − θ| > 2R_i for both ends θ of the interval of its multiplier

All others are evaluated in double precision, those with α ≠ 0 from the start: ‖w‖² and P need every digit of them. The
radius stays with the point, so that all that follows, `bounds` above all, is as rigorous as it is for other points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.dual import levels
from qpsvm.dual.accuracy import Accuracy
from qpsvm.dual.points import PrimalPoint
from qpsvm.dual.row_radii import rbf_blocks, rough_values
from qpsvm.dual.svm_dual import SVMDual
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.kernels.gram import CACHE_ROWS
from qpsvm.kernels.space import FeatureSpace


@dataclass(frozen=True)
class Settings:
    """Constants."""

    #: Kernel values (rows × support) from which on two kinds of rows pay: a twentieth of a second.
    values: int = 20_000_000
    #: Rows that say whether single precision settles anything: their median radius is at most this share of their mean
    #: |u|. Beyond, hardly any row is so far from its margin.
    sample: int = 1024
    useful: float = 0.3
    #: How often multipliers and rows are looked at in turn, before all rows are evaluated in double precision.
    rounds: int = 5


SETTINGS = Settings()


class FarRows:
    """u (n,) over the samples, its radius (n,), and which of them are in single precision, (n,).

    space: Its samples, of an RBF kernel.
    blocks: Where its kernel values come from.
    beta (n,)
    held (n,): The samples with an α ≠ 0, β = 0 or not: in double precision.
    """

    def __init__(self, space: FeatureSpace, blocks: KernelBlocks, beta: FloatArray, held: NDArray[np.bool_]) -> None:
        self.blocks, self.support = blocks, np.flatnonzero(beta)
        self.weights, self.kappa = beta[self.support], Accuracy(space).kappa(beta, None)
        self.u, self.radius = np.zeros(space.n), np.full(space.n, self.kappa)
        self.rough: NDArray[np.bool_] = np.zeros(space.n, dtype=bool)
        self.u[self.support] = blocks.own_product(self.support, self.weights)
        others = np.flatnonzero(~held)
        if not self._roughly(others):
            self.sharpen(others)
        self.sharpen(np.flatnonzero(held & (beta == 0.0)))

    def _roughly(self, rows: IntArray) -> bool:
        """Evaluate some rows in single precision, if that may settle any of them."""
        sample = np.zeros(len(rows), dtype=bool)
        sample[:: max(len(rows) // SETTINGS.sample, 1)] = True
        for part in (rows[sample], rows[~sample]):
            found = rough_values(self.blocks, part, self.support, self.weights)
            if found is None or not len(rows):
                return False
            self.u[part], self.radius[part] = found
            if not np.median(self.radius[rows[sample]]) <= SETTINGS.useful * np.abs(self.u[rows[sample]]).mean():
                return False
        self.rough[rows] = True
        return True

    def sharpen(self, rows: IntArray) -> None:
        """Evaluate some rows in double precision."""
        self.u[rows] = self.blocks.product(self.support, self.weights, rows)
        self.radius[rows], self.rough[rows] = self.kappa, False

    def point(self) -> PrimalPoint:
        """The candidate w(α), as it is known now."""
        half_norm = max(0.5 * float(self.weights @ self.u[self.support]), 0.0)
        return PrimalPoint(self.u, None, half_norm, radius=self.radius)

    def settled(self, svm: SVMDual, multipliers: Callable[[PrimalPoint], Mapping[str, float]]) -> PrimalPoint:
        """The candidate w(α) with every row in single precision as in (FAR.1), for the best multipliers."""
        for _ in range(SETTINGS.rounds):
            rows = self._open(svm, multipliers(self.point()))
            if not len(rows):
                return self.point()
            self.sharpen(rows)
        self.sharpen(np.flatnonzero(self.rough))
        return self.point()

    def _open(self, svm: SVMDual, multipliers: Mapping[str, float]) -> IntArray:
        """The samples in single precision of which (FAR.1) does not hold."""
        radius = 2.0 * svm.at_rows(self.radius)
        near = ~(svm.margin(multipliers) - svm.sign * (svm.at_rows(self.u) + svm.b(multipliers)) < -radius)
        for part in svm.parts:
            points = levels.reaches(svm, part, self.u)
            rows = np.arange(svm.m) if part.rows is None else np.flatnonzero(part.rows)
            reach = radius[rows] / np.maximum(np.abs(part.column[rows]), np.finfo(float).tiny)
            for end in levels.interval(svm, part, points) or ():
                near[rows] |= np.abs(points - end) <= reach
        found = near if svm.rows is None else np.bincount(svm.rows, near, minlength=len(self.u)) > 0
        return np.flatnonzero(found & self.rough)


def far_rows(space: FeatureSpace, svm: SVMDual, alpha: FloatArray, beta: FloatArray) -> FarRows | None:
    """u = Kβ, β of α, with rows in single precision; None where they are too few, or there is no worst-case radius."""
    blocks, n = rbf_blocks(space), space.n
    if blocks is None or svm.hard is not None or svm.mix is not None:
        return None
    if not (blocks.fast and blocks.single) or blocks.whole is not None:
        return None
    values = n * int(np.count_nonzero(beta))
    if values < SETTINGS.values or (n <= CACHE_ROWS and blocks.streamed + values > n * n):  # the whole matrix pays
        return None
    blocks.streamed += values
    held = svm.beta_size(alpha) > 0.0  # where a sample's α cancel, β is 0
    return FarRows(space, blocks, beta, held)


__all__ = ["FarRows", "far_rows"]
