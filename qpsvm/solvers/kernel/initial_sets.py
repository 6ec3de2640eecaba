"""Choose the initial working set W of Newton steps: free, violating and nearly violating rows (`select_at_point`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.dual import DualPoint
from qpsvm.solvers.kernel.effort import ENTRIES, Effort
from qpsvm.space.kernels.gram_blocks import GramBlocks

#: Relative error of a kernel value in single precision, times four. In u the errors add up like a random walk: ε of
#: (KSET.3) is four of its standard deviations, between these limits.
ROUGH_VALUE, MIN_MARGIN, MAX_MARGIN = 1.6e-6, 1e-4, 0.05


@dataclass(frozen=True, eq=False)
class InitialSet:
    """An initial working set.

    rows (w,): W.
    beta, u (n,): β is 0 or C_i y_i outside W;  u = Kβ, rough.
    is_warm: Whether β is a feasible point, good enough for Newton steps. Otherwise it is 0 on W.
    """

    rows: IntArray
    beta: FloatArray
    u: FloatArray
    is_warm: bool


def select_at_point(point: DualPoint, reach: float = 0.0) -> InitialSet:
    """Select W: the rows that are free, on the wrong side for their bound, or within `reach` of the margin.

    Distances are those of the dual gradient, in units of the margin.
    """
    beta, gradient = point.beta, point.gradient
    rises, falls = beta < point.high, beta > point.low
    moves = (rises & falls) | ((gradient > 0) & rises) | ((gradient < 0) & falls)
    return InitialSet(np.flatnonzero(moves | (np.abs(gradient) < reach)), beta, point.u, True)


def estimate_margin(beta: FloatArray) -> float:
    """Return ε of (KSET.3) for u from rough kernel values and β (n,)."""
    error = ROUGH_VALUE * float(np.sqrt(beta @ beta))
    return min(max(error, MIN_MARGIN), MAX_MARGIN)


def stream_product(
    blocks: GramBlocks, support: IntArray, weights: FloatArray, rows: IntArray, effort: Effort
) -> FloatArray | None:
    """Compute rough Σ_j weights_j K(x_j, x_i) over j in `support` for i in `rows`: (r,); None if time runs out."""
    total, step = np.zeros(len(rows)), max(1, int(ENTRIES / max(len(rows), 1)))
    for start in range(0, len(support), step):
        if effort.is_late():
            return None
        batch = slice(start, start + step)
        total += blocks.product(support[batch], weights[batch], rows, rough=True)
    return total
