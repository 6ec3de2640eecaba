"""LIBSVM's loop on a working set while rows outside rest at C.

    (KREST.1)  minimise ½βᵀK_WWβ − (y − u_R)ᵀβ,  1ᵀβ = −R,  R = Σβ_j over the rows at rest,  u_R = Σ K_ij β_j over them

The loop knows no linear term. It is given two more points instead, z₊ and z₋, with labels ±1:

    (KREST.2)  K(z₊, i) = u_R,i / B = −K(z₋, i),  C₊ = c + max(R, 0),  C₋ = c + max(−R, 0),  B = C₊ + C₋
    (KREST.3)  K(z, z) = −M with M so large that both rest at their bound in every solution that the loop can stop at

At their bounds they add exactly u_R to every u_i, and R to the balance, so that the loop solves (KREST.1). The negative
curvature makes the bound the only stable place for them. So it can have any linear term, and any fixed sum of β:

    (KREST.4)  of (KINT.1) each row on its side is a row of (KREST.1), with u_R + y − (t − yε) for u_R, β − low for β
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import HingeDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.interval import KernelDual

#: Rows and columns that K has for z₊ and z₋.
ANCHORS = 2
#: M exceeds the largest pull on z by this factor, and by so many margins.
DEPTH, DEEPER = 2.0, 10.0


def anchored_loop(
    part: KernelDual,
    K: FloatArray,
    resting: FloatArray,
    tolerance: float,
    effort: Effort,
    side: FloatArray | None = None,
    tube: float = 0.0,
) -> FloatArray | None:
    """Solve (KREST.1) to a tolerance: β (w,), feasible; None where z₊ or z₋ is not at its bound afterwards.

    Parameters
    ----------
    part : HingeDual or IntervalDual
        Over the w rows of W, with R.
    K : ndarray, shape (w + 2, w + 2)
        The Gram matrix of W; its last rows and columns are written to.
    resting : ndarray, shape (w,)
        u_R.
    tolerance : float
        In units of the margin.
    effort : Effort
    side : ndarray, shape (w,), optional
        The side of the tube that each row stays on, where β may be positive or negative.
    tube : float
        ε where it is a variable.
    """
    if isinstance(part, HingeDual):
        beta = _loop(part, K, resting, tolerance, effort)
    else:
        m, r = part.n, part.target - resting
        if side is not None:
            y, base, upper = side, np.zeros(m), np.where(side > 0.0, part.high, -part.low)
            r = r - y * (part.tube + tube)
        else:
            y, base, upper = np.ones(m), part.low, part.high - part.low
            if base.any():
                r = r - K[:m, :m] @ base
        hinge = HingeDual(y, upper, part.outside - part.total + float(base.sum()))
        beta = _loop(hinge, K, y - r, tolerance, effort)
        beta = None if beta is None else beta + base
    return None if beta is None else part.balanced(beta)


def _loop(part: HingeDual, K: FloatArray, resting: FloatArray, tolerance: float, effort: Effort) -> FloatArray | None:
    m, spare = part.n, part.total_penalty / part.n
    masses = spare + max(part.outside, 0.0), spare + max(-part.outside, 0.0)
    K[m, :m] = K[:m, m] = resting / sum(masses)  # (KREST.2)
    K[m + 1, :m] = K[:m, m + 1] = -K[m, :m]
    largest = float(np.abs(resting).max())
    depth = DEPTH * (largest * part.total_penalty / sum(masses) + largest + DEEPER) / min(masses)
    K[m:, m:] = np.diag([-depth, -depth])  # (KREST.3)
    whole = HingeDual(np.append(part.y, [1.0, -1.0]), np.append(part.upper, masses))
    beta = effort.loop(whole, K, tolerance)
    return beta[:m] if np.allclose(np.abs(beta[m:]), masses) else None


__all__ = ["ANCHORS", "anchored_loop"]
