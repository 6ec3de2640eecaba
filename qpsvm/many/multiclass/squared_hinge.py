"""Solve linear machines with squared hinges and few features together, by Newton's method (`solve_squared`).

Machines that the bounds do not certify are solved one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.own.row_newton import is_newton_suitable, minimise_over_rows
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.data.rows import as_row_source
from qpsvm.machines.problem.parameter_checks import check_intercept
from qpsvm.many.multiclass.bulk import PRODUCTS_PER_SECOND, has_default_options
from qpsvm.many.multiclass.gap_bounds import MachinePoints, bound_gaps
from qpsvm.many.multiclass.gather import CertifiedPoints, build_bounded_points, gather_machines
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import MAX_TOTAL_ROWS, Stack, compute_penalties, stack_machines, to_squared_hinges
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.losses import Loss, compress_constant
from qpsvm.program.status import Solver

#: Newton steps of a typical machine, from which the time is estimated if there is a time limit.
TYPICAL_STEPS = 10


def can_solve_squared(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines can be solved together by Newton's method."""
    template = split.template
    is_supported = template.machine == "SquaredHinge" and set(template.parameters) <= {"C"} and not template.constraints
    is_suitable = (
        is_newton_suitable(split.X)
        and split.n_total_rows <= MAX_TOTAL_ROWS
        and (split.uses_all_rows or not sp.issparse(split.X))
    )
    limit = options.get("time_limit")
    d = split.X.shape[1]
    fits_limit = limit is None or TYPICAL_STEPS * split.n_total_rows * d * d <= limit * PRODUCTS_PER_SECOND
    return is_supported and split.is_linear and is_suitable and has_default_options(options) and fits_limit


def solve_squared(split: Split, tol: float, time_limit: float | None = None) -> BinaryMachines:
    """Solve all machines. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    check_intercept(split.template.intercept)
    stack = to_squared_hinges(stack_machines(split, compute_penalties(split)))
    with np.errstate(all="ignore"), limit_blas_threads():  # a point that is not finite is not certified
        space = split.active_space
        points, steps = find_newton_points(split, stack, space.rows.matrix())
        b, bounded = build_bounded_points(space, stack, points)
        gaps = bound_gaps(stack, bounded, split.template.intercept)
    solver = Solver("primal newton", find_library_version(), "converged")
    return gather_machines(split, stack, CertifiedPoints(points, b, gaps, steps, solver), tol, deadline)


def find_newton_points(split: Split, stack: Stack, Z: Matrix) -> tuple[MachinePoints, IntArray]:
    """Return the points of all P machines, and their Newton steps, (P,).

    With t the shortfalls of the rows at the solution and δ the curvatures, α = max(t, 0)/δ, w = w(α), and b = yᵀα if
    the intercept is penalised.
    """
    n_machines = stack.n_machines
    d = Z.shape[1]
    alpha, u = np.empty_like(stack.upper), np.empty_like(stack.upper)
    b = np.zeros(n_machines)
    W = np.zeros((n_machines, d))
    steps = np.zeros(n_machines, dtype=np.intp)
    shared_rows = as_row_source(Z)
    for p in range(n_machines):
        part = stack.get_row_slice(p)
        rows = shared_rows
        if not split.uses_all_rows:
            rows = as_row_source(np.concatenate([Z[rows_of_class] for rows_of_class in stack.list_slices(p)]))
        y = stack.sign[part]
        losses = Loss(np.inf, curvature=compress_constant(stack.curvature[part]))
        point = minimise_over_rows(rows, y, losses, split.template.intercept)
        beta = point.multipliers * y
        alpha[part], steps[p] = point.multipliers, point.steps
        W[p] = rows.weights(beta)
        u[part] = rows.margins(W[p])
        b[p] = float(beta.sum()) if split.template.intercept == "penalised" else point.b
    return MachinePoints(alpha, u, b, np.ones(n_machines), W), steps
