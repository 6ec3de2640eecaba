"""Solve linear programs by HiGHS (`propose`); callers check every result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.types import FloatArray


class Proposal(NamedTuple):
    """A point (n,), and the multipliers (p,), (m,) of equalities and inequalities, with the signs of (QP.1)."""

    x: FloatArray
    y: FloatArray
    z: FloatArray


def propose(
    cost: FloatArray,
    bounds: Any,
    equalities: tuple[Any, FloatArray],
    inequalities: tuple[Any, FloatArray],
    seconds: float,
) -> Proposal | None:
    """Minimise costᵀx subject to Ax = b, Gx ≤ h and bounds; None if HiGHS does not solve it within the time limit."""
    from scipy.optimize import linprog

    rows: dict[str, Any] = {}
    for names, (matrix, sides) in ((("A_eq", "b_eq"), equalities), (("A_ub", "b_ub"), inequalities)):
        if len(sides):
            rows |= dict(zip(names, (matrix, sides), strict=True))
    options = {"time_limit": seconds} if np.isfinite(seconds) else {}
    solution = linprog(cost, **rows, bounds=bounds, method="highs", options=options)
    if solution.status != 0:
        return None
    y, z = (
        -np.asarray(result.marginals) if len(sides) else np.zeros(0)
        for result, (_, sides) in ((solution.eqlin, equalities), (solution.ineqlin, inequalities))
    )
    return Proposal(np.asarray(solution.x), y, z)
