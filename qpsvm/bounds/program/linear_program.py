"""Solve linear programs with HiGHS (`solve_linear_program`). Results are not certified: callers check them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.types import FloatArray


class LinearProgramSolution(NamedTuple):
    """A solution of a linear program, as HiGHS returns it.

    x (n,): The point.
    y (p,), z (m,): Multipliers of the equalities and the inequalities, with the signs of (QP.1): z ≥ 0.
    """

    x: FloatArray
    y: FloatArray
    z: FloatArray


def solve_linear_program(
    cost: FloatArray,
    bounds: Any,
    equalities: tuple[Any, FloatArray],
    inequalities: tuple[Any, FloatArray],
    seconds: float,
) -> LinearProgramSolution | None:
    """Minimise costᵀx subject to Ax = b, Gx ≤ h and bounds of x.

    cost: (n,).
    bounds: The bounds of x, in any form that `scipy.optimize.linprog` accepts.
    equalities, inequalities: The matrix and right-hand side (A, b) or (G, h), which may have no rows.
    seconds: Time limit; infinite for none.

    Returns None if HiGHS does not solve the program within the time limit.
    """
    from scipy.optimize import linprog

    A, b = equalities
    G, h = inequalities
    constraints: dict[str, Any] = {}
    if len(b):
        constraints |= {"A_eq": A, "b_eq": b}
    if len(h):
        constraints |= {"A_ub": G, "b_ub": h}
    options = {"time_limit": seconds} if np.isfinite(seconds) else {}
    try:
        solution = linprog(cost, **constraints, bounds=bounds, method="highs", options=options)
    except ValueError:  # an entry has overflowed
        return None
    if solution.status != 0:
        return None
    y = -np.asarray(solution.eqlin.marginals) if len(b) else np.zeros(0)
    z = -np.asarray(solution.ineqlin.marginals) if len(h) else np.zeros(0)
    return LinearProgramSolution(np.asarray(solution.x), y, z)
