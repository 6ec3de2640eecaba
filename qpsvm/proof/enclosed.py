"""Weights that make vectors cancel exactly: that there are some, near floats, where rational ones would take long.

    (PENCL.1)  B(x̃ + δ) = c with the residual r = c − Bx̃:  for any R with ‖I − RB‖ ≤ q < 1 in the largest row sum, B is
               regular and |δ| ≤ ‖Rr‖/(1 − q) in every entry
    (PENCL.2)  of [G; 1]λ = (0, …, 0, 1) the columns of B are as many as it has rows, and independent; the others keep
               the floats that they have. Each is scaled by the power of 2 next to its weight, so that x̃ is about 1

Where |δ| < x̃ there is one λ > 0 with that, and it is rational, as B and c are. Products and sums are bounded by
(ROUND.1) and (ROUND.4).

Source: Rump, *Verification methods*, Acta Numerica 19 (2010), section 10.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from qpsvm.arrays.rounding import UNDERFLOW, UNIT, dots_in_two, gamma
from qpsvm.arrays.types import FloatArray
from qpsvm.proof.cancelling import Integers

#: Equations, and numbers in them, that take about a second.
MOST_EQUATIONS, NUMBERS = 1000, 4e6
#: Bits of whole numbers that are powers of 2 times floats of ordinary size.
MOST_BITS = 900


def enclosed(vectors: Integers, near: FloatArray) -> float | None:
    """A share t < 1 such that there is a λ with (PCANCEL.1) and |λ_k − near_k| ≤ t near_k.

    Shapes: vectors (m, k), near (k,).
    """
    m, k = vectors.shape
    if not m < min(k, MOST_EQUATIONS) or m * k > NUMBERS or not (near > 0.0).all():
        return None
    A = _floats(vectors)
    if A is None:
        return None
    near = near / near.sum()
    scale = np.exp2(np.round(np.log2(near)))
    with np.errstate(all="ignore"):  # a number that is none makes no comparison true
        scaled = A * scale
        if not np.array_equal(scaled / scale, A):
            return None
        columns = qr(scaled, mode="economic", pivoting=True, check_finite=False)[2][: m + 1]
        B = scaled[:, columns]
        try:
            R = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return None
        high, low, radius = dots_in_two(A, near)
        high[-1] -= 1.0  # exact, for a number near 1; and what it is not is seen
        residual = (np.abs(high) + np.abs(low) + radius) * (1.0 + 4.0 * UNIT)
        rough = 1.0 + gamma(4 * m + 32)
        lost = gamma(m + 8) * (np.abs(R) @ np.abs(B).sum(axis=1)) * rough + m * UNDERFLOW
        q = float((np.abs(np.eye(m + 1) - R @ B).sum(axis=1) * rough + lost).max()) * rough
        delta = float(((np.abs(R) @ residual) * rough).max()) + m * UNDERFLOW
        if not q < 0.5:
            return None
        share = float((delta / (1.0 - q) / (near / scale)[columns]).max()) * (1.0 + gamma(16)) + 16.0 * UNIT
    return share if share < 1.0 else None


def _floats(vectors: Integers) -> FloatArray | None:
    """[G; 1] as floats without rounding, rows in units of powers of 2; None where numbers have more digits."""
    m, k = vectors.shape
    A = np.ones((m + 1, k))
    for j in range(m):
        bits = max(abs(value).bit_length() for value in vectors[j].tolist())
        if bits > MOST_BITS:
            return None
        row = vectors[j].astype(np.float64)
        if any(int(value) != exact for value, exact in zip(row.tolist(), vectors[j].tolist(), strict=True)):
            return None
        A[j] = np.ldexp(row, -bits)
    return A
