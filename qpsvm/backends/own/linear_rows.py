"""Convert the rows of a linear machine's dual for the linear solvers, and their multipliers to α (`build_linear_rows`).

    (ROWS.2)  a regression's two rows of a sample, s = ±1 and ℓ = ±t − ε, are one row of level t and width ε, by
              β = α⁺ − α⁻;  α⁺ = max(β, 0), α⁻ = max(−β, 0), as of the two at most one is not 0 at an optimum

Other rows are converted one by one, each with its sample or its combination of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray
from qpsvm.bounds import levels
from qpsvm.bounds.certificate import find_middle
from qpsvm.data.rows import RowSource, RowsWithOnes
from qpsvm.program.losses import compress_constant
from qpsvm.program.svm_dual import SVMDual
from qpsvm.solvers.linear.row_problem import RowLosses
from qpsvm.space.operators import LowRank

#: Widths count as equal if they differ by at most this share of the largest level.
SAME = 4.0 * EPS


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The input of a linear solver.

    source (k, d): The samples, without the column of ones of a penalised intercept.
    sign (k,)
    is_folded: Whether each row represents two rows of the dual, (ROWS.2): then m = 2k, else m = k.
    total: The required value of Σ s α if the intercept is free.
    factor: Ratio of the column of the dual's equality to the sign; the equality's multiplier is the intercept divided
        by it.
    """

    source: RowSource
    sign: FloatArray
    losses: RowLosses
    intercept: Literal["free", "penalised"] | None
    is_folded: bool
    total: float = 0.0
    factor: float = 1.0

    @property
    def penalty(self) -> FloatArray | RowLosses:
        """C (k,) if the losses are hinges at level 1, else the losses."""
        if self.losses.is_standard_hinge:
            return np.broadcast_to(self.losses.high, len(self.sign))
        return self.losses

    def to_alpha(self, row_multipliers: FloatArray) -> FloatArray:
        """Return α (m,) from the multipliers of the rows, (k,)."""
        if not self.is_folded:
            return row_multipliers
        return np.concatenate([np.maximum(row_multipliers, 0.0), np.maximum(-row_multipliers, 0.0)])

    def from_alpha(self, alpha: FloatArray) -> FloatArray:
        """Return the multipliers of the rows, (k,), from α (m,)."""
        if self.is_folded:
            return alpha[: len(self.sign)] - alpha[len(self.sign) :]
        return alpha


def build_linear_rows(svm: SVMDual) -> LinearRows:
    """Build the rows of a dual over a linear kernel."""
    assert isinstance(svm.gram, LowRank)
    intercept: Literal["free", "penalised"] | None = "free" if svm.groups else None
    fold = fold_losses(svm)
    source = svm.gram.source
    sign = svm.sign
    if fold is not None:
        sign = repeat_value(1.0, svm.n)
    elif not svm.has_one_row_per_sample:
        assert isinstance(svm.hessian, LowRank)  # because the Gram matrix is
        source = svm.hessian.source
    if intercept is None and isinstance(source, RowsWithOnes):  # the intercept is the weight of a feature of ones
        source = source.source
        intercept = "penalised"
    losses = fold or RowLosses(
        compress_constant(svm.upper), compress_constant(svm.level), curvature=compress_constant(svm.curvature)
    )
    factor = _compute_factor(svm) if svm.groups else 1.0
    total = svm.groups[0].total / factor if svm.groups else 0.0
    return LinearRows(source, sign, losses, intercept, fold is not None, total, factor)


def _compute_factor(svm: SVMDual) -> float:
    """Return `LinearRows.factor`, read off the first row."""
    return float(svm.groups[0].column[0] * svm.sign[0])


def compute_best_intercept(svm: SVMDual, w: FloatArray, factor: float = 1.0) -> float:
    """Return the best b for w (d,) of a machine whose only multiplier is b divided by a factor; 0 if there is none."""
    assert isinstance(svm.gram, LowRank)
    part = svm.parts[0]
    optimal_multipliers = levels.find_minimisers(
        svm, part, levels.compute_thetas(svm, part, svm.gram.source.margins(w))
    )
    if optimal_multipliers is None:
        b = 0.0
    else:
        b = factor * find_middle(*optimal_multipliers)
    return b if np.isfinite(b) else 0.0


def compute_upper_median(values: FloatArray) -> float:
    """Return the upper median of n numbers."""
    values = values.copy()
    values.partition(len(values) // 2)
    return float(values[len(values) // 2])


def fold_losses(svm: SVMDual) -> RowLosses | None:
    """Return both rows of every sample as one loss, (ROWS.2); None if they are not two rows of one such loss."""
    if not svm.is_two_sided:
        return None
    n = svm.n
    width = -0.5 * (svm.level[:n] + svm.level[n:])
    high = float(width.max(initial=-np.inf))
    low = float(width.min(initial=np.inf))
    has_equal_curvatures = (
        find_common_value(svm.curvature) is not None or not (svm.curvature[:n] != svm.curvature[n:]).any()
    )
    if high - low <= SAME * float(np.abs(svm.level).max(initial=0.0)):  # equal: t − ε and −t − ε are rounded
        width = repeat_value(max(compute_upper_median(width), 0.0), n)
    elif low < 0.0:
        return None
    if not has_equal_curvatures:
        return None
    target = 0.5 * (svm.level[:n] - svm.level[n:])
    upper = compress_constant(svm.upper[:n])
    lower = compress_constant(-svm.upper[n:])
    curvature = compress_constant(svm.curvature[:n])
    return RowLosses(upper, compress_constant(target), lower, compress_constant(width), curvature)
