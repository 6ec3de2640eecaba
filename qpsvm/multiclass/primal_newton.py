"""The optimum of a squared hinge over few features: Newton's method on the primal, whose second derivative jumps only.

    (SQNEWTON.1)  over w and b:  minimise ½‖w‖² + ½Rb² + Σ (1 − y_i f(x_i))₊²/(2δ_i),  δ = 1/(2C), R = 0 or 1
    (SQNEWTON.2)  where the rows A are short of their margin:  (diag(1, …, 1, R) + Z_Aᵀ D Z_A) v = Z_Aᵀ D y_A,
                  v = (w, b), Z with a column of ones, D = diag(1/δ_A)

Where the rows short of their margin at v are A again, v is the optimum. A step that does not lower the objective is
halved until it does.

Source: Keerthi & DeCoste, *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6 (2005).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray

#: Steps, of which ten are usual; and halvings of one.
STEPS, HALVINGS = 40, 20


def newton(Z: FloatArray, y: FloatArray, weight: FloatArray, penalty: FloatArray) -> tuple[FloatArray, int] | None:
    """v of (SQNEWTON.2) and the number of steps, or None.

    Shapes: Z (m, d), y, weight (m,), penalty (d,).
    """
    v = np.zeros(Z.shape[1])
    t = np.ones(len(y))
    short, value = t > 0.0, _value(v, t, weight, penalty)
    for step in range(1, STEPS + 1):
        A, D = Z[short], weight[short]
        H = (A * D[:, None]).T @ A
        H[np.diag_indices_from(H)] += penalty
        _, target, failed = lapack.dposv(H, A.T @ (D * y[short]), overwrite_a=1)
        if failed:
            return None
        aimed = 1.0 - y * (Z @ target)
        if np.array_equal(aimed > 0.0, short):
            return target, step
        share, direction, slope = 1.0, target - v, aimed - t
        for _ in range(HALVINGS):
            next_v, next_t = v + share * direction, t + share * slope
            lower = _value(next_v, next_t, weight, penalty)
            if lower < value:
                break
            share *= 0.5
        else:
            return None
        v, t, value = next_v, next_t, lower
        short = t > 0.0
    return None


def _value(v: FloatArray, t: FloatArray, weight: FloatArray, penalty: FloatArray) -> float:
    """Twice the objective of (SQNEWTON.1)."""
    positive = np.maximum(t, 0.0)
    return float(penalty @ (v * v) + weight @ (positive * positive))
