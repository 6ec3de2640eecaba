"""Bound the rounding of linear constraints, row by row (`tighten_constraint_radii`).

A constraint on few weights is evaluated with few roundings: |g||w| bounds them by less than the norms of both do, and a
row that says w_j ≥ 0 has none.
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
    """Lower r (k,) of the linear constraints among some rows of the dual, in place, where |g||w| is smaller.

    t, r (k,): The violations of the rows, and their error bounds.
    """
    index = np.arange(svm.m)[rows] if isinstance(rows, slice) else rows
    constraints = svm.linear_constraints
    assert constraints is not None
    assert point.w is not None
    first = constraints.unconstrained_dual.m
    is_constraint = np.flatnonzero(index >= first)
    if not len(is_constraint):
        return
    constraint_rows = index[is_constraint]
    all_sizes, terms = _bound_product_sizes(accuracy, svm, point.w)
    sizes = all_sizes[constraint_rows - first]
    moved = np.zeros(len(constraint_rows))  # |E μ|, which was added to the level
    for group in svm.margin_groups:
        moved += np.abs(point.multipliers[group.multiplier] * group.column[constraint_rows])
    roundings = (4.0 + 4.0 * point.n_moves) * UNIT * (np.abs(t[is_constraint]) + moved)
    own = gamma(terms + 4 + 4 * point.n_moves) * sizes + roundings
    level_radius = 0.0 if svm.level_radius is None else svm.level_radius[constraint_rows]
    is_exact = (sizes == 0.0) & (moved == 0.0)
    bound = np.where(is_exact, level_radius, (own + level_radius + UNDERFLOW) * ROUNDED_UP)
    r[is_constraint] = np.minimum(r[is_constraint], bound)


def _bound_product_sizes(accuracy: Accuracy, svm: SVMDual, w: FloatArray) -> tuple[FloatArray, int]:
    """Return |g||w| of the linear constraints, (p,), and the largest number of products in one of them."""
    constraints = svm.linear_constraints
    assert constraints is not None
    n, m = constraints.unconstrained_dual.n, constraints.unconstrained_dual.m
    Z = accuracy.space.rows.take(np.arange(n, svm.n))
    sizes = np.asarray(abs(Z) @ np.abs(w)).ravel()
    terms = accuracy.space.samples.longest_row
    if svm.mix is None:
        return sizes, terms
    combinations = svm.mix[m:]
    of_all_points = np.concatenate([np.zeros(n), sizes])
    return np.asarray(abs(combinations) @ of_all_points), terms + int(np.diff(combinations.indptr).max(initial=1))
