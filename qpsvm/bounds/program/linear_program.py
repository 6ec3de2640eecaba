"""Solve linear programs by HiGHS; every use of the answer is checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qpsvm.base.arrays.types import FloatArray


class Proposal(NamedTuple):
    """A point (n,), and the multipliers (p,), (m,) of the equalities and inequalities, in the signs of (QP.1)."""

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
    """Minimise costᵀx with Ax = b, Gx ≤ h and the bounds; None if HiGHS finds no point within the time limit."""
    from scipy.optimize import linprog

    rows: dict[str, Any] = {}
    for names, (matrix, sides) in ((("A_eq", "b_eq"), equalities), (("A_ub", "b_ub"), inequalities)):
        if len(sides):
            rows |= dict(zip(names, (matrix, sides), strict=True))
    options = {"time_limit": seconds} if np.isfinite(seconds) else {}
    found = linprog(cost, **rows, bounds=bounds, method="highs", options=options)
    if found.status != 0:
        return None
    y, z = (
        -np.asarray(part.marginals) if len(sides) else np.zeros(0)
        for part, (_, sides) in ((found.eqlin, equalities), (found.ineqlin, inequalities))
    )
    return Proposal(np.asarray(found.x), y, z)
