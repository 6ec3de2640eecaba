"""How far α may be from that of any optimum, and so which rows are free in every one.

w(α) says little of α where rows depend on each other, and all of it where they do not. O are the rows that (OPTIMA.4)
leaves open, d = α* − α, and D_k bounds |d_k| at the others. With Q over O, the penalised groups in it:

    (OPTIMA.5)  ‖Σ_O s_k d_k φ_k‖ ≤ S = R + ΣD_kρ_k,  |Σ_O E_kg d_k| ≤ η_g = Σ|E_kg|D_k of a free group;  so with
              A = Q + Στ_g E_g E_gᵀ, any τ_g:  dᵀAd ≤ N² = S² + Στ_gη_g²
    (OPTIMA.6)  for any vector z and r = e_k − Az:  |d_k| = |zᵀAd + rᵀd| ≤ N√(z_k − zᵀr) + Σ|r_j||d_j|,  |d_j| at most
              what the box leaves;  0 < α_k ± |d_k| < U_k ⇒ every α*_k is free

z is a column of an inverse as computed: what it lacks is in r, which counts its own rounding. A singular A gives no
such z, and says nothing, as it should.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.rounding import FEW, UNIT, gamma
from qpsvm.base.arrays.types import FloatArray, IntArray, as_dense
from qpsvm.bounds.accuracy import long_polynomial, long_rbf
from qpsvm.bounds.proof.kernels.points import KernelSpace
from qpsvm.bounds.proof.kernels.values import MatrixValues
from qpsvm.bounds.proof.spaces import LinearSpace
from qpsvm.space.kernels.functions import RBF, Polynomial

#: Open rows beyond which their inverse is not made.
MOST = 1500


def free_rows(near: Any, kinds: NDArray[np.int8]) -> IntArray:
    """The open rows that (OPTIMA.6) says are free in every optimum: (r,). (`near_optimum` imports it.)"""
    program, nothing = near.program, np.zeros(0, dtype=np.intp)
    rows = np.flatnonzero(kinds < 0)
    if not len(rows) or len(rows) > MOST or near.point is None or not near.radius < np.inf or program.mix is not None:
        return nothing
    with np.errstate(all="ignore"):
        a, most = near.point.alpha, program.upper.bounds
        room = np.maximum(a, most[1] - a) * FEW
        D = _moves(near, kinds, room)
        beside, sizes = np.flatnonzero((kinds >= 0) & (D > 0.0)), near.places.of_rows(program)
        for group in program.groups:
            if group.ridge:
                sizes = np.sqrt(sizes * sizes + np.square(group.column) * (float(1 / group.ridge) * FEW)) * FEW
        found = _values(near, rows)
        if found is None:
            return nothing
        A, off = found
        N = (near.radius + float(D[beside] @ sizes[beside])) ** 2
        tau = float(np.abs(A.diagonal()).mean())
        for group in program.groups:
            column = group.column[rows]
            factor = float(1 / group.ridge) if group.ridge else tau
            part = factor * np.outer(column, column)
            off = off + 4.0 * UNIT * (np.abs(A) + np.abs(part))
            A = A + part
            N += 0.0 if group.ridge else tau * float(D[beside] @ np.abs(group.column[beside])) ** 2
        far = _apart(A, off, np.sqrt(N) * (1.0 + gamma(program.m + 16)), room[rows])
    inside = (a[rows] * (1.0 - 4.0 * UNIT) > far) & (a[rows] + far * FEW < most[0][rows] * (1.0 - 4.0 * UNIT))
    free: IntArray = rows[inside]
    return free


def _moves(near: Any, kinds: NDArray[np.int8], room: FloatArray) -> FloatArray:
    """D: how far α* may be from α in rows that are settled, (m,)."""
    program, a = near.program, near.point.alpha
    low, high = near.violations
    bend, upper = program.curvature.bounds, program.upper.bounds
    curved = bend[1] > 0.0
    ends = np.maximum(low, 0.0) / bend[1] / FEW, np.maximum(high, 0.0) / bend[0] * FEW
    between = np.maximum(np.abs(a - ends[0]), np.abs(a - ends[1])) * FEW
    at_bound = np.maximum(np.abs(upper[0] - a), np.abs(upper[1] - a))
    moves = np.where(kinds == 0, a, np.where((kinds == 2) & np.isfinite(upper[1]), at_bound, between))
    found: FloatArray = np.minimum(np.where(np.isnan(moves), np.inf, moves), room)
    carriers = list(near.point.carriers)
    found[carriers] += UNIT * a[carriers]
    return np.where(curved & (kinds < 0), np.inf, found)


def _values(near: Any, rows: IntArray) -> tuple[FloatArray, FloatArray] | None:
    """s_k s_l K_kl over some rows, and how far each may be off: (r, r) each; None of a kernel without such a bound."""
    program, space, places = near.program, near.asked.space, near.places
    points, s = rows if program.rows is None else program.rows[rows], program.sign[rows]
    if isinstance(space, LinearSpace):
        X = as_dense(space.rows.take(points))
        X = X if places.origin is None else X - places.origin
        K, off = X @ X.T, gamma(X.shape[1] + 8) * (np.abs(X) @ np.abs(X).T)
    elif isinstance(space, KernelSpace) and isinstance(space.kernel_values, MatrixValues):
        K = space.kernel_values.K[np.ix_(points, points)]
        off = np.zeros_like(K)
    elif isinstance(places.kernel, (RBF, Polynomial)) and isinstance(space, KernelSpace):
        X = as_dense(space.kernel_values.X[points])  # type: ignore[attr-defined]
        evaluate: Any = long_rbf if isinstance(places.kernel, RBF) else long_polynomial
        K, off = evaluate(places.kernel, X, X, UNIT)
    else:
        return None
    return s[:, None] * K * s, off * FEW


def _apart(A: FloatArray, off: FloatArray, N: float, room: FloatArray) -> FloatArray:
    """|d_k| of (OPTIMA.6) from above: (r,)."""
    r = len(A)
    try:
        Z = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return np.full(r, np.inf)
    size = np.abs(Z)
    rest = np.abs(np.eye(r) - A @ Z) + off @ size + gamma(r + 8) * (np.abs(A) @ size + np.eye(r))
    rest = rest * (1.0 + gamma(r + 16))  # |r| of column k
    square = Z.diagonal() + np.einsum("ij,ij->j", size, rest) * (1.0 + gamma(r + 8))
    length = np.sqrt(np.where(square >= 0.0, square, np.inf)) * FEW * N
    far = room
    for _ in range(2):
        lost = np.where(rest > 0.0, rest * far[:, None], 0.0).sum(axis=0) * (1.0 + gamma(r + 8))
        far = np.fmin(far, (length + lost) * FEW)
    return far
