"""Solve linear machines with squared hinges and few features together, by Newton's method."""

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
from qpsvm.many.multiclass.bulk import (
    PRODUCTS_PER_SECOND,
    MachinePoints,
    build_bounded_points,
    gather_machines,
    has_default_options,
)
from qpsvm.many.multiclass.gap_bounds import bound_gaps
from qpsvm.many.multiclass.newton import AffineRows, is_worthwhile, minimise_by_newton
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import MAX_TOTAL_ROWS, Stack, compute_penalties, stack_machines, to_squared_hinges
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.losses import Loss
from qpsvm.program.status import Solver

#: The loss of a hinge, squared or not, at level 1.
HINGE = Loss(np.inf)
#: Steps of a machine, for telling whether a time limit has room for them.
TYPICAL_STEPS = 10


def can_solve_squared(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines can be solved together by Newton's method."""
    d = split.X.shape[1]
    own = split.machine == "SquaredHinge" and set(split.parameters) <= {"C"} and not split.constraints
    few = (
        is_worthwhile(split.X)
        and split.n_total_rows <= MAX_TOTAL_ROWS
        and (split.uses_all_rows or not sp.issparse(split.X))
    )
    limit = options.get("time_limit")
    in_time = limit is None or TYPICAL_STEPS * split.n_total_rows * d * d <= limit * PRODUCTS_PER_SECOND
    return own and split.kernel_is_linear and few and has_default_options(options) and in_time


def solve_squared(split: Split, tol: float, time_limit: float | None = None) -> BinaryMachines:
    """Solve all machines. Raises QPSVMError."""
    deadline = None if time_limit is None else monotonic() + time_limit
    as_intercept(split.intercept)
    stack = to_squared_hinges(stack_machines(split, compute_penalties(split)))
    with np.errstate(all="ignore"), limit_blas_threads():  # what is not finite is not certified
        space = split.active_space
        found, iterations = find_newton_points(split, stack, space.rows.matrix())
        own, points = build_bounded_points(space, stack, found)
        certified = bound_gaps(stack, points, split.intercept)
    solver = Solver("primal newton", find_library_version(), "converged")
    return gather_machines(split, stack, found, own, certified, iterations, tol, deadline, solver)


def find_newton_points(split: Split, stack: Stack, Z: Matrix) -> tuple[MachinePoints, IntArray]:
    """The points of all machines: α = t/δ, w = w(α), and b = yᵀα where that is penalised."""
    P, d, kept = stack.n_machines, Z.shape[1], split.intercept
    alpha, u = np.empty_like(stack.upper), np.empty_like(stack.upper)
    b, W, steps = np.zeros(P), np.zeros((P, d)), np.zeros(P, dtype=np.intp)
    penalty = np.ones(d + (kept is not None))
    if kept == "free":
        penalty[-1] = 0.0
    shared = AffineRows(Z, kept is not None) if split.uses_all_rows else None
    for p in range(P):
        part, own = stack.row_slice(p), shared
        if own is None:
            own = AffineRows(np.concatenate([Z[each] for each in stack.list_slices(p)]), kept is not None)
        y, delta = stack.sign[part], stack.curvature[part]
        solved = minimise_by_newton(own, y, HINGE, 1.0 / delta, penalty)
        if solved is None:
            alpha[part], u[part] = np.nan, np.nan  # which certifies nothing
            continue
        v, steps[p] = solved
        alpha[part] = np.maximum(1.0 - y * own.multiply(v), 0.0) / delta
        weights = own.multiply_transposed(alpha[part] * y)
        W[p] = weights[:d]
        u[part] = own.multiply(np.append(W[p], 0.0) if kept is not None else W[p])
        b[p] = 0.0 if kept is None else v[-1] if kept == "free" else weights[-1]
    return MachinePoints(alpha, u, b, np.ones(P), W), steps
