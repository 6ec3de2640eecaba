"""Solve linear machines with hinges or squared hinges together, by coordinate descent.

The machines share the table of the rows; w(α) of all is one product with it, and f another. Those that descent gives up
(`DescentPace`), and those that the bounds do not certify, go the way of any machine, from where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.backends.own.row_descent import DescentRows, RowDescent, is_descent_suitable
from qpsvm.backends.packages import find_library_version
from qpsvm.base.arrays.double_double import multiply_double_double
from qpsvm.base.arrays.rounding import bound_row_norms
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import limit_blas_threads
from qpsvm.machines.problem.parameter_checks import as_intercept
from qpsvm.many.multiclass.bulk import Found, gathered_in_bulk, has_usual_options
from qpsvm.many.multiclass.exact_optimum import best_intercept
from qpsvm.many.multiclass.gap_bounds import gaps, linear_points
from qpsvm.many.multiclass.split import Split
from qpsvm.many.multiclass.stack import Stack, compute_penalties, stack_machines, with_squares
from qpsvm.many.multiclass.together import BinaryMachines
from qpsvm.program.losses import Loss, compress_constant
from qpsvm.program.status import Solver
from qpsvm.space.kernels.space import FeatureSpace

#: The machines of this road.
OWN = ("CSVM", "SquaredHinge")
#: Rows of all machines up to which their vectors are kept side by side.
MOST_ROWS = 2_000_000


def solves_by_descent(split: Split, options: Mapping[str, Any]) -> bool:
    """Whether this road takes these machines: one, or several over the same rows."""
    own = split.machine in OWN and set(split.parameters) <= {"C"} and not split.constraints
    fits = split.rows_in_all <= MOST_ROWS and is_descent_suitable(*split.X.shape)
    in_time = options.get("time_limit") is None
    takes = own and split.kernel_is_linear and split.uses_all_rows
    return takes and fits and in_time and has_usual_options(options)


def solve_by_descent(split: Split, tol: float) -> BinaryMachines:
    """Solve all machines.

    Raises QPSVMError.
    """
    as_intercept(split.intercept)
    stack = stack_machines(split, compute_penalties(split))
    stack = with_squares(stack) if split.machine == "SquaredHinge" else stack
    with np.errstate(all="ignore"), limit_blas_threads():  # what is not finite is not certified
        space = split.own_space
        Z = space.rows.matrix()
        rows = DescentRows(Z)
        machines = []
        for part in map(stack.row_slice, range(stack.machines)):
            losses = Loss(compress_constant(stack.upper[part]), curvature=compress_constant(stack.curvature[part]))
            machines.append(RowDescent(rows, stack.sign[part], losses, split.intercept, tol))
        sizes = bound_row_norms(space.rows.squared_norms(), space.samples.longest_row)
        found, own, certified = _points(split, stack, space, machines, sizes)
        for _ in range(rows.MAX_GOALS - 1):
            again = [p for p in range(stack.machines) if machines[p].converged and tol < certified[p] < np.inf]
            for p in again:
                machines[p].continue_to_goal(0.5 * tol / float(certified[p]))
            if again:
                found, own, certified = _points(split, stack, space, machines, sizes)
    solver = Solver("coordinate descent", find_library_version(), "converged")
    iterations = np.array([machine.iterations for machine in machines])
    return gathered_in_bulk(split, stack, found, own, certified, iterations, (tol, None), solver)


def _points(
    split: Split, stack: Stack, space: FeatureSpace, machines: list[RowDescent], sizes: FloatArray
) -> tuple[Found, FloatArray, FloatArray]:
    """The points of all machines, the caller's intercepts, and the certified gaps: (P,) each."""
    Z, P, places = space.rows.matrix(), stack.machines, stack.places
    alpha = np.concatenate([machine.alpha for machine in machines])
    beta = (alpha * stack.sign).reshape(P, -1)
    if P == 1:  # SciPy's products with a vector are the faster ones
        W = np.asarray(Z.T @ beta[0])[None]
        u = np.asarray(Z @ W[0])
    else:
        W = np.ascontiguousarray(np.asarray(Z.T @ beta.T).T)
        u = np.ascontiguousarray(np.asarray(Z @ W.T).T).ravel()
    b = np.zeros(P)
    for p, machine in enumerate(machines):
        part = stack.row_slice(p)
        if split.intercept == "penalised":
            b[p] = np.add.reduce(alpha[part] * stack.sign[part])
        elif split.intercept == "free":
            b[p] = (
                machine.b
                if stack.curvature[part].any()
                else best_intercept(u[part], stack.sign[part], stack.upper[part])
            )
    own, levels = b, (b, np.zeros(P))
    if space.origin is not None:  # as `FeatureSpace.build_hyperplane`
        own = -multiply_double_double(np.column_stack([W, b]), np.append(space.origin, -1.0))[0]
        levels = multiply_double_double(np.column_stack([W, own]), np.append(space.origin, 1.0))
    found = Found(alpha, u, b, np.ones(P), W)
    width = space.samples.longest_row
    points = linear_points(stack, alpha, u, levels, found.rho, W, sizes[places], width)
    return found, own, gaps(stack, points, split.intercept)
