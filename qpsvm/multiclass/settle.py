"""The exact optimum of a small C-SVM from a point near it: by guessing which α are free, and solving for these.

    (SETTLE.1)  [K_FF 1; 1ᵀ 0][β_F; b] = [y_F − K_FB β_B; −1ᵀβ_B]:  the free rows F are on their margin, those of B are
                at their bounds, β = α∘y, and the others are 0
    (SETTLE.2)  next, a free row whose α leaves its box goes to that end of it; a row short of its margin at α = 0, or
                beyond it at α = C, becomes free

Where (SETTLE.2) changes nothing, the point is the optimum. It need not come to that, and then somebody else solves the
machine: every point is certified in any case.

Source: Hintermüller, Ito & Kunisch, *The primal-dual active set strategy as a semismooth Newton method*, SIAM J. Optim.
13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray
from qpsvm.multiclass.values import Values

#: Guesses. From LIBSVM's points at a tolerance of 1e-2 two are usual, and five rare.
ROUNDS = 12
#: A row within so much of its margin is on it: rounding.
TOUCHING = 1e-10


@dataclass(frozen=True, eq=False)
class Settled:
    """α (m,), the intercept, and f without it, u (m,); b is NaN where no row is free."""

    alpha: FloatArray
    b: float
    u: FloatArray


def settle(values: Values, y: FloatArray, upper: FloatArray, alpha: FloatArray) -> Settled | None:
    """The optimum by (SETTLE.1) and (SETTLE.2), or None.

    Parameters
    ----------
    values : Values
    y, upper, alpha : ndarray, shape (m,)
        Signs, C, and a feasible point.
    """
    full = alpha >= upper
    free = (alpha > 0.0) & ~full
    bounded = upper * y
    for _ in range(ROUNDS):
        F, B = free.nonzero()[0], full.nonzero()[0]
        n = len(F)
        if not n:
            return None
        fixed = bounded[B]
        system, right = np.ones((n + 1, n + 1)), np.empty(n + 1)
        system[:n, :n], system[n, n] = values.block(F, F), 0.0
        right[:n] = y[F]
        right[n] = 0.0
        if len(B):
            right[:n] -= values.block(F, B) @ fixed
            right[n] = -np.add.reduce(fixed)
        *_, solution, failed = lapack.dgesv(system, right, overwrite_a=1)
        if failed:
            return None
        beta, b = solution[:n], float(solution[n])
        u = values.product(np.concatenate([F, B]), np.concatenate([beta, fixed]))
        a = beta * y[F]
        low, high = a < 0.0, a > upper[F]
        t = 1.0 - y * (u + b)
        joining = np.where(full, t < -TOUCHING, (t > TOUCHING) & ~free)
        if not (low.any() or high.any() or joining.any()):
            alpha = np.where(full, upper, 0.0)
            alpha[F] = a
            return Settled(alpha, b, u)
        if not np.isfinite(b):
            return None
        free[F[low | high]] = False
        full[F[high]] = True
        free |= joining
        full &= ~joining
    return None
