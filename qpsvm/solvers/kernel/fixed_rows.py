"""LIBSVM's loop on a working set while rows outside are fixed at a bound.

    (KREST.1)  minimise ½βᵀK_WWβ − (y − u_R)ᵀβ,  1ᵀβ = −R,  R = Σβ_j over the fixed rows,  u_R = Σ K_ij β_j over them

The loop knows no linear term. It is given two more points instead, z₊ and z₋, with labels ±1:

    (KREST.2)  K(z₊, i) = u_R,i / B = −K(z₋, i),  C₊ = c + max(R, 0),  C₋ = c + max(−R, 0),  B = C₊ + C₋
    (KREST.3)  K(z, z) = −M with M so large that both rest at their bound in every solution that the loop can stop at

At their bounds they add exactly u_R to every u_i, and R to the balance, so that the loop solves (KREST.1). The negative
curvature makes the bound the only stable place for them. So it can have any linear term, and any fixed sum of β:

    (KREST.4)  of (KDUAL.1) each row on its side is a row of (KREST.1), with u_R + s − (t − sε) for u_R, β − base for β
"""

from __future__ import annotations

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort

#: Rows and columns that K has for z₊ and z₋.
EXTRA_ROWS = 2
#: M exceeds the largest pull on z by this factor, and by so many margins.
DEPTH, DEEPER = 2.0, 10.0


def loop_with_fixed_rows(
    part: KernelDual,
    K: FloatArray,
    at_bound: FloatArray,
    tolerance: float,
    effort: Effort,
    side: FloatArray | None = None,
    tube: float = 0.0,
) -> FloatArray | None:
    """Solve (KREST.1) to a tolerance: β (w,), feasible; None where z₊ or z₋ is not at its bound afterwards.

    Shapes: K (w + 2, w + 2), at_bound (w,), side (w,).
    """
    m, target = part.n, part.level - at_bound
    if side is None:
        sign, base, upper = part.sign, part.base, part.weight
        if base.any():
            target = target - K[:m, :m] @ base
    else:
        sign, base, upper = side, np.zeros(m), np.where(side > 0.0, part.high, -part.low)
        target = target - side * (part.tube + tube)
    spare, rest = float(upper.sum()) / m, part.outside - part.total + float(base.sum())
    masses = spare + max(rest, 0.0), spare + max(-rest, 0.0)
    pull = sign - target
    K[m, :m] = K[:m, m] = pull / sum(masses)  # (KREST.2)
    K[m + 1, :m] = K[:m, m + 1] = -K[m, :m]
    largest = float(np.abs(pull).max())
    depth = DEPTH * (largest * spare * m / sum(masses) + largest + DEEPER) / min(masses)
    K[m:, m:] = np.diag([-depth, -depth])  # (KREST.3)
    whole = KernelDual.of_hinges(np.append(sign, [1.0, -1.0]), np.append(upper, masses))
    beta = effort.loop(whole, K, tolerance)
    return part.balanced(beta[:m] + base) if np.allclose(np.abs(beta[m:]), masses) else None


__all__ = ["EXTRA_ROWS", "loop_with_fixed_rows"]
