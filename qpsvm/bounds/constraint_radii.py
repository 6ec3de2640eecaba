"""Bound the rounding of linear constraints, row by row (`tighten_constraint_radii`).

The rounding error of gᵀw is bounded in proportion to |g|ᵀ|w|, which is at most ‖g‖‖w‖, and far less for a constraint on
few weights. A constraint such as w_j ≥ 0 at w_j = 0 has no rounding error.
"""

from __future__ import annotations

import numpy as np

from qpsvm.base.arrays.double_double import UNDERFLOW
from qpsvm.base.arrays.rounding import UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.certificate import Certificate
from qpsvm.program.svm_dual import SVMDual

#: Factor that covers the rounding of a few sums of nonnegative numbers.
ROUNDED_UP = 1.0 + 2.0**-40


def tighten_constraint_radii(
    accuracy: Accuracy, svm: SVMDual, point: Certificate, rows: IntArray | slice, t: FloatArray, r: FloatArray
) -> None:
    """Lower the error bounds r of linear constraints, in place, where those from |g|ᵀ|w| are smaller.

    t, r (k,): The violations of some rows of the dual, and their error bounds. Rows of samples keep theirs.
    """
    constraints = svm.linear_constraints
    assert constraints is not None
    assert point.w is not None
    m = constraints.unconstrained_dual.m
    row_indices = np.arange(svm.m)[rows]
    positions = np.flatnonzero(row_indices >= m)  # of the linear constraints, among the rows
    if not len(positions):
        return
    constraint_rows = row_indices[positions]
    all_sizes, n_products = _bound_product_sizes(accuracy, svm, point.w)
    sizes = all_sizes[constraint_rows - m]
    shift = np.zeros(len(positions))  # |E μ|, which was added to the level
    for group in svm.margin_groups:
        shift += np.abs(point.multipliers[group.multiplier] * group.column[constraint_rows])
    n_roundings = 4 + 4 * point.n_moves  # of t itself, and of each move of the point
    rounding = gamma(n_products + n_roundings) * sizes + n_roundings * UNIT * (np.abs(t[positions]) + shift)
    level_radius = 0.0 if svm.level_radius is None else svm.level_radius[constraint_rows]
    is_exact = (sizes == 0.0) & (shift == 0.0)
    bound = np.where(is_exact, level_radius, (rounding + level_radius + UNDERFLOW) * ROUNDED_UP)
    r[positions] = np.minimum(r[positions], bound)


def _bound_product_sizes(accuracy: Accuracy, svm: SVMDual, w: FloatArray) -> tuple[FloatArray, int]:
    """Return |g|ᵀ|w| of the p linear constraints, (p,), and the largest number of products in one of them."""
    constraints = svm.linear_constraints
    assert constraints is not None
    n, m = constraints.unconstrained_dual.n, constraints.unconstrained_dual.m
    vectors = accuracy.space.rows.take(np.arange(n, svm.n))  # the g, or what they combine
    sizes = np.asarray(abs(vectors) @ np.abs(w)).ravel()
    n_products = accuracy.space.samples.longest_row
    if svm.mix is None:
        return sizes, n_products
    combinations = svm.mix[m:]
    sizes_with_samples = np.concatenate([np.zeros(n), sizes])
    n_combined = int(np.diff(combinations.indptr).max(initial=1))
    return np.asarray(abs(combinations) @ sizes_with_samples), n_products + n_combined
