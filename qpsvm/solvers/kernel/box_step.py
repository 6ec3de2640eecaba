"""Compute a Newton step inside a box (`compute_box_step`): a small QP with one balance row, by rank-one corrections.

    (KBOX.1)  minimise ½dᵀ(A + ρI)d − rᵀd  subject to  1ᵀd = 0,  low ≤ d ≤ high;  for a ν-SVR over each side, Sᵀd = 0
    (KBOX.2)  with the entries P held at their bound t:  (A + ρI)d + Bz = r,  Bᵀd = (0, t),  B = [1, E_P],  z = (δ, μ)
              (or [S, E_P])
    (KBOX.3)  hence  (BᵀA⁻¹B) z = BᵀA⁻¹r − (0, t)  and  d = A⁻¹r − A⁻¹B z   (here A stands for A + ρI)
    (KBOX.4)  (A + ρI)δ + Bz = ρd,  Bᵀδ = 0,  d ← d + δ:  moves d towards the solution for ρ = 0, with the same factor

A is factored once; each entry that joins P costs one more right-hand side. Entries that leave the box are held, entries
whose multiplier μ has the wrong sign are released. A few rounds suffice, because a line search along d follows.
Source: the Schur-complement active-set method, Gill, Murray, Saunders & Wright (1987).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import spread_residue_by_parts
from qpsvm.solvers.shared.cholesky import NumericalTrouble, factorise_with_ridge

#: Limits of the rounds of holding and releasing, of which fewer than five are nearly always needed, and of the
#: corrections (KBOX.4).
ROUNDS, CORRECTIONS = 12, 3
#: If more than this share of more than this many rows is held, A is factored again without them: that costs less than
#: a right-hand side for each.
MANY_HELD, MANY_ROWS = 0.1, 200


class RidgedFactor:
    """(A + ρI)⁻¹ for A (m, m) positive semidefinite up to rounding: ρ grows until the Cholesky factorisation exists."""

    def __init__(self, A: FloatArray, ridge: float) -> None:
        self._L, self.ridge = factorise_with_ridge(A, ridge, unit=1.0, max_ridge=np.inf)

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for columns `right` (m, k)."""
        solution: FloatArray = lapack.dpotrs(self._L, right, lower=1)[0]
        return solution


@dataclass(eq=False)
class _HeldEntries:
    """P of (KBOX.2): `index`, its bounds t, the columns A⁻¹E_P (m, k), and `border`, S (m, q)."""

    index: NDArray[np.intp]
    t: FloatArray
    columns: FloatArray
    border: FloatArray

    def retain(self, mask: NDArray[np.bool_]) -> None:
        self.index, self.t, self.columns = self.index[mask], self.t[mask], self.columns[:, mask]

    def add(self, index: NDArray[np.intp], t: FloatArray, factor: RidgedFactor) -> None:
        units = np.zeros((len(self.columns), len(index)), order="F")
        units[index, np.arange(len(index))] = 1.0
        self.index = np.concatenate([self.index, index])
        self.t = np.concatenate([self.t, t])
        self.columns = np.concatenate([self.columns, factor.solve(units)], axis=1)

    def solve(self, by_r: FloatArray, by_S: FloatArray, t: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Solve (KBOX.3): return d (m,) and μ (k,), from A⁻¹r (m,) and A⁻¹S (m, q).

        The held entries are fixed at t if given, else at their bounds.
        """
        t = self.t if t is None else t
        S = self.border
        q = by_S.shape[1]
        if q == 1 and not len(self.index):
            return by_r - by_S[:, 0] * (np.add.reduce(by_r) / np.add.reduce(by_S, axis=None)), t
        columns = np.concatenate([by_S, self.columns], axis=1)
        sums = S.T @ columns, S.T @ by_r
        schur = np.concatenate([sums[0], columns[self.index]])
        right = np.concatenate([sums[1], by_r[self.index] - t])
        z, info = lapack.dgesv(schur, right)[2:]
        if info:
            raise NumericalTrouble("the held entries leave no freedom")
        d = by_r - columns @ z
        d[self.index] = t
        return d, z[q:]


def compute_box_step(
    A: FloatArray, ridge: float, r: FloatArray, low: FloatArray, high: FloatArray, border: FloatArray | None = None
) -> FloatArray:
    """Return an approximate, but feasible solution of (KBOX.1).

    Shapes: A (m, m), r, low, high (m,), border (m, q) → d (m,). Raises NumericalTrouble.
    """
    m = len(r)
    factor = RidgedFactor(A, ridge)
    S = np.ones((m, 1)) if border is None else border
    right = np.empty((m, 1 + S.shape[1]), order="F")
    right[:, 0], right[:, 1:] = r, S
    solved = factor.solve(right)
    by_r = solved[:, 0]
    by_one = solved[:, 1:]
    held = _HeldEntries(np.empty(0, dtype=np.intp), np.empty(0), np.empty((m, 0), order="F"), S)
    is_held = np.zeros(m, dtype=bool)
    d, mu = held.solve(by_r, by_one)
    for _ in range(ROUNDS):
        is_leaving = (d < low) | (d > high)
        is_leaving &= ~is_held
        leaving = is_leaving.nonzero()[0]
        if len(mu):
            stays = np.where(held.t <= low[held.index], mu <= 0.0, mu >= 0.0)
        else:
            stays = np.empty(0, dtype=bool)
        if not len(leaving) and bool(stays.all()):
            d = _remove_ridge(factor, held, d, by_one, low, high)
            break
        is_held[held.index[~stays]] = False
        is_held[leaving] = True
        if m > MANY_ROWS and np.count_nonzero(is_held) > MANY_HELD * m:
            t = np.where(d < 0.0, low, high)
            t[held.index] = held.t
            d = _solve_without_held(A, factor.ridge, r, S, low, high, is_held, t)
            break
        held.retain(stays)
        held.add(leaving, np.where(d[leaving] < 0, low[leaving], high[leaving]), factor)
        try:
            d, mu = held.solve(by_r, by_one)
        except NumericalTrouble:  # the held entries leave no freedom: return the clipped step
            break
    return spread_residue_by_parts(np.minimum(np.maximum(d, low), high), low, high, border)


def _solve_without_held(
    A: FloatArray, ridge: float, r: FloatArray, S: FloatArray, low: FloatArray, high: FloatArray,
    is_held: NDArray[np.bool_], t: FloatArray,
) -> FloatArray:  # fmt: skip
    """Solve (KBOX.1) by the same rounds of (KBOX.2), but factor A without the held entries, fixed at t: d (m,)."""
    d = np.where(is_held, t, 0.0)
    for k in range(2 * ROUNDS):
        free = (~is_held).nonzero()[0]
        if not len(free):
            break
        fixed = np.where(is_held, t, 0.0)
        rows = A.take(free, axis=0)
        right = np.empty((len(free), 1 + S.shape[1]), order="F")
        right[:, 0] = r[free] - rows @ fixed
        right[:, 1:] = S[free]
        solved = RidgedFactor(rows.take(free, axis=1), ridge).solve(right)
        by_r = solved[:, 0]
        by_S = solved[:, 1:]
        z, info = lapack.dgesv(S[free].T @ by_S, S[free].T @ by_r + S.T @ fixed)[2:]
        if info:
            break
        d = fixed
        d[free] = by_r - by_S @ z
        mu = r - A @ d - ridge * d - S @ z
        leaving = ~is_held & ((d < low) | (d > high))
        # in the last rounds no entry is released
        has_wrong_sign = is_held & np.where(t <= low, mu > 0.0, mu < 0.0) & (k < ROUNDS)
        if not (leaving.any() or has_wrong_sign.any()):
            break
        t = np.where(is_held, t, np.where(d < 0.0, low, high))
        is_held = (is_held & ~has_wrong_sign) | leaving
    return d


def _remove_ridge(
    factor: RidgedFactor, held: _HeldEntries, d: FloatArray, by_one: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Remove the effect of ρ from d (m,) by (KBOX.4), as long as d stays in the box and the corrections shrink."""
    change = d
    zero = np.zeros(len(held.index))
    size = float(np.abs(d).max())
    for _ in range(CORRECTIONS):
        change = held.solve(factor.solve((factor.ridge * change)[:, None])[:, 0], by_one, zero)[0]
        corrected = d + change
        previous_size = size
        size = float(np.abs(change).max())
        if not size < previous_size or (corrected < low).any() or (corrected > high).any():
            break
        d = corrected
    return d
