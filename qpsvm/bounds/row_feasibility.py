"""Decide whether any point satisfies some rows of a dual (`find_row_feasibility`), and report a contradiction.

The linear programs are those of `hard_margin`, (ROOM.1) to (ROOM.3).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.base.errors import InfeasibleConstraintsError
from qpsvm.bounds.gap_bounder import GapBounder
from qpsvm.bounds.hard_margin import RowFeasibility, find_feasible_point
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.space import pivoted_cholesky

#: If the rows have at most this many entries, they are the coordinates of (ROOM.1) themselves; else a factor of their
#: Gram matrix is used.
MAX_ENTRIES = 20_000_000


def find_row_feasibility(svm: SVMDual, gap_bounder: GapBounder, rows: IntArray) -> RowFeasibility:
    """Return the result of the linear programs, (ROOM.1) to (ROOM.3), for some rows of a dual."""
    factor, _ = compute_row_coordinates(svm, gap_bounder, rows)
    return find_feasible_point(factor, get_intercept_column(svm)[rows], svm.level[rows])


def build_infeasible_error(
    svm: SVMDual, gap_bounder: GapBounder, rows: IntArray, feasibility: RowFeasibility, scale: FloatArray
) -> InfeasibleConstraintsError:
    """Build the error for rows that contradict each other by (ROOM.2).

    rows (k,): The rows of the linear programs.
    scale (p,): The factor by which each linear constraint was divided.
    """
    farkas, constraints = feasibility.farkas, svm.linear_constraints
    assert farkas is not None
    assert constraints is not None
    n_machine_rows = constraints.unconstrained_dual.m
    row_names, row_scales = [], []
    for k in rows:
        is_constraint = k >= n_machine_rows
        row_names.append(constraints.names[k - n_machine_rows] if is_constraint else f"margin[{k}]")
        row_scales.append(scale[k - n_machine_rows] if is_constraint else 1.0)
    weights = farkas / np.array(row_scales)
    share = 1.0 / float(weights.sum())
    proof = {name: float(weight * share) for name, weight in zip(row_names, weights, strict=True) if weight > 0.0}
    residual = 0.0
    if not feasibility.exact:
        factor, _ = compute_row_coordinates(svm, gap_bounder, rows)
        sums = np.append(farkas @ factor, float(farkas @ get_intercept_column(svm)[rows]))
        residual = float(np.linalg.norm(sums)) * share
    violation = -float(farkas @ svm.level[rows]) * share
    return InfeasibleConstraintsError(proof, violation, residual)


def compute_row_coordinates(svm: SVMDual, gap_bounder: GapBounder, rows: IntArray) -> tuple[FloatArray, bool]:
    """Return coordinates of s_k φ_k for some rows, (k, r), and whether they are entries of w, so that r = d."""
    space = gap_bounder.accuracy.space
    if space.is_linear and len(rows) * space.rows.d <= MAX_ENTRIES:
        if svm.mix is not None:
            combinations = svm.mix[rows]
            used = np.unique(combinations.indices)
            Z = as_dense(sp.csr_array(combinations[:, used]) @ space.rows.take(used))
        else:
            Z = as_dense(space.rows.take(svm.find_samples(rows)))
        return svm.sign[rows][:, None] * Z, True
    return pivoted_cholesky(svm.hessian.block(rows, rows)), False


def get_intercept_column(svm: SVMDual) -> FloatArray:
    """Return the coefficient of b in every row, (m,): 0 without an intercept."""
    return next((group.column for group in svm.groups if group.multiplier == "b"), np.zeros(svm.m))
