"""Solve linear machines with squared hinges and few features together, by Newton's method (`solve_squared`).

Machines that the bounds do not certify are solved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines.problem.parameter_checks import as_intercept
from qpsvm.many.multiclass.bulk import PRODUCTS_PER_SECOND, has_default_options
from qpsvm.many.multiclass.gap_bounds import bound_gaps
from qpsvm.many.multiclass.gather import MachinePoints, build_bounded_points, gather_machines
from qpsvm.many.multiclass.newton import AffineRows, is_worthwhile, minimise_by_newton
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import MAX_TOTAL_ROWS, Stack, compute_penalties, stack_machines, to_squared_hinges
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.losses import Loss
from qpsvm.program.status import Solver

#: The loss of a squared hinge: no upper bound of α, level 1.
HINGE = Loss(np.inf)
#: Newton steps of a typical machine, from which the time is estimated if there is a time limit.
TYPICAL_STEPS = 10


def can_solve_squared(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines can be solved together by Newton's method."""
    is_supported = split.machine == "SquaredHinge" and set(split.parameters) <= {"C"} and not split.constraints
    is_suitable = (
        is_worthwhile(split.X)
        and split.n_total_rows <= MAX_TOTAL_ROWS
        and (split.uses_all_rows or not sp.issparse(split.X))
    )
    limit, d = options.get("time_limit"), split.X.shape[1]
    fits_limit = limit is None or TYPICAL_STEPS * split.n_total_rows * d * d <= limit * PRODUCTS_PER_SECOND
    return is_supported and split.kernel_is_linear and is_suitable and has_default_options(options) and fits_limit


def solve_squared(split: Split, tol: float, time_limit: float | None = None) -> BinaryMachines:
    """Solve all machines. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    as_intercept(split.intercept)
    stack = to_squared_hinges(stack_machines(split, compute_penalties(split)))
    with np.errstate(all="ignore"), limit_blas_threads():  # a point that is not finite is not certified
        space = split.active_space
        points, steps = find_newton_points(split, stack, space.rows.matrix())
        b, bounded = build_bounded_points(space, stack, points)
        gaps = bound_gaps(stack, bounded, split.intercept)
    solver = Solver("primal newton", find_library_version(), "converged")
    return gather_machines(split, stack, points, b, gaps, steps, tol, deadline, solver)


def find_newton_points(split: Split, stack: Stack, Z: Matrix) -> tuple[MachinePoints, IntArray]:
    """Return the points of all P machines, and their Newton steps, (P,).

    With t the shortfalls of the rows at the solution and δ the curvatures, α = max(t, 0)/δ, w = w(α), and b = yᵀα if
    the intercept is penalised.
    """
    n_machines, d = stack.n_machines, Z.shape[1]
    has_intercept, is_free = split.intercept is not None, split.intercept == "free"
    alpha, u = np.empty_like(stack.upper), np.empty_like(stack.upper)
    b, W, steps = np.zeros(n_machines), np.zeros((n_machines, d)), np.zeros(n_machines, dtype=np.intp)
    penalty = np.ones(d + has_intercept)
    if is_free:
        penalty[-1] = 0.0
    shared_rows = AffineRows(Z, has_intercept) if split.uses_all_rows else None
    for p in range(n_machines):
        part, rows = stack.row_slice(p), shared_rows
        if rows is None:
            rows = AffineRows(
                np.concatenate([Z[rows_of_class] for rows_of_class in stack.list_slices(p)]), has_intercept
            )
        y, delta = stack.sign[part], stack.curvature[part]
        solution = minimise_by_newton(rows, y, HINGE, 1.0 / delta, penalty)
        if solution is None:
            alpha[part], u[part] = np.nan, np.nan  # so that it is not certified
            continue
        v, steps[p] = solution
        alpha[part] = np.maximum(1.0 - y * rows.multiply(v), 0.0) / delta
        v_of_alpha = rows.multiply_transposed(alpha[part] * y)
        W[p] = v_of_alpha[:d]
        u[part] = rows.multiply(np.append(W[p], 0.0) if has_intercept else W[p])
        if has_intercept:
            b[p] = v[-1] if is_free else v_of_alpha[-1]
    return MachinePoints(alpha, u, b, np.ones(n_machines), W), steps
