"""Solve linear machines with hinges or squared hinges together, by coordinate descent (`solve_by_descent`).

The machines share the samples Z. W = w(α) of all machines is one product with Z, and u, which is f without the
intercept, another. If descent stops early (`DescentPace`), or if the bounds do not certify a machine, it is solved
separately, warm-started at its α.

Shapes: P machines over the same r rows; Z (r, d), W (P, d), α and u (P·r,).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.own.row_descent import DescentRows, RowDescent, is_descent_suitable
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.rounding import bound_row_norms
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines.problem.parameter_checks import check_intercept
from qpsvm.many.multiclass.bulk import has_default_options
from qpsvm.many.multiclass.exact_optimum import find_best_intercept
from qpsvm.many.multiclass.gap_bounds import MachinePoints, bound_gaps, build_linear_points
from qpsvm.many.multiclass.gather import CertifiedPoints, convert_intercepts, gather_machines
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import MAX_TOTAL_ROWS, Stack, compute_penalties, stack_machines, to_squared_hinges
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.losses import Loss, compress_constant
from qpsvm.program.status import Solver
from qpsvm.space.kernels.space import FeatureSpace

#: The machines that this module solves: their losses are hinges or squared hinges, and C is their only parameter.
DESCENT_MACHINES = ("CSVM", "SquaredHinge")


def can_solve_by_descent(split: Split, options: Mapping[str, Any]) -> bool:
    """Return whether these machines, one or several over the same rows, can be solved by coordinate descent."""
    template = split.template
    is_supported = (
        template.machine in DESCENT_MACHINES and set(template.parameters) <= {"C"} and not template.constraints
    )
    fits = split.n_total_rows <= MAX_TOTAL_ROWS and is_descent_suitable(*split.X.shape)
    has_common_rows = split.is_linear and split.uses_all_rows
    is_unlimited = options.get("time_limit") is None
    return is_supported and has_common_rows and fits and is_unlimited and has_default_options(options)


def solve_by_descent(split: Split, tol: float) -> BinaryMachines:
    """Solve all machines. Raises QPSVMError."""
    check_intercept(split.template.intercept)
    stack = stack_machines(split, compute_penalties(split))
    stack = to_squared_hinges(stack) if split.template.machine == "SquaredHinge" else stack
    with np.errstate(all="ignore"), limit_blas_threads():  # a point that is not finite is not certified
        space = split.active_space
        rows = DescentRows(space.rows.matrix())
        machines = []
        for part in map(stack.get_row_slice, range(stack.n_machines)):
            losses = Loss(compress_constant(stack.upper[part]), curvature=compress_constant(stack.curvature[part]))
            machines.append(RowDescent(rows, stack.sign[part], losses, split.template.intercept, tol))
        row_norms = bound_row_norms(space.rows.squared_norms(), space.samples.longest_row)
        points, caller_b, gaps = _certify_points(split, stack, space, machines, row_norms)
        for _ in range(rows.MAX_GOALS - 1):
            unfinished = [p for p in range(stack.n_machines) if machines[p].converged and tol < gaps[p] < np.inf]
            if not unfinished:
                break
            for p in unfinished:
                machines[p].continue_to_goal(0.5 * tol / float(gaps[p]))  # half, as the loop only estimates the gap
            points, caller_b, gaps = _certify_points(split, stack, space, machines, row_norms)
    solver = Solver("coordinate descent", find_library_version(), "converged")
    iterations = np.array([machine.iterations for machine in machines])
    return gather_machines(split, stack, CertifiedPoints(points, caller_b, gaps, iterations, solver), tol)


def _certify_points(
    split: Split, stack: Stack, space: FeatureSpace, machines: list[RowDescent], row_norms: FloatArray
) -> tuple[MachinePoints, FloatArray, FloatArray]:
    """Return the points of all machines, their intercepts in the caller's coordinates, and the certified gaps: (P,)."""
    Z = space.rows.matrix()
    P = stack.n_machines
    intercept = split.template.intercept
    alpha = np.concatenate([machine.alpha for machine in machines])
    beta = (alpha * stack.sign).reshape(P, -1)
    if P == 1:  # SciPy is faster with a vector than with a matrix of one column
        W = np.asarray(Z.T @ beta[0])[None]
        u = np.asarray(Z @ W[0])
    else:
        W = np.ascontiguousarray(np.asarray(Z.T @ beta.T).T)
        u = np.ascontiguousarray(np.asarray(Z @ W.T).T).ravel()
    b = np.zeros(P)
    for p, machine in enumerate(machines):
        part = stack.get_row_slice(p)
        if intercept == "penalised":
            b[p] = np.add.reduce(alpha[part] * stack.sign[part])
        elif intercept == "free" and stack.curvature[part].any():
            b[p] = machine.b
        elif intercept == "free":
            b[p] = find_best_intercept(u[part], stack.sign[part], stack.upper[part])
    caller_b, row_b = convert_intercepts(space, W, b)
    points = MachinePoints(alpha, u, b, np.ones(P), W)
    bounded = build_linear_points(stack, points, row_b, row_norms[stack.positions], space.samples.longest_row)
    return points, caller_b, bound_gaps(stack, bounded, intercept)
