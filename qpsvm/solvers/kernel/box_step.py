"""One Newton step inside a box: a small quadratic programme with one balance row, solved by a few rank-one corrections.

    (KBOX.1)  minimise ½dᵀ(A + ρI)d − rᵀd  subject to  1ᵀd = 0,  low ≤ d ≤ high;  for a ν-SVR over each side, Sᵀd = 0
    (KBOX.2)  with the entries P held at their bound t:  (A + ρI)d + Bz = r,  Bᵀd = (0, t),  B = [1, E_P],  z = (δ, μ)
              (or [S, E_P])
    (KBOX.3)  hence  (BᵀA⁻¹B) z = BᵀA⁻¹r − (0, t)  and  d = A⁻¹r − A⁻¹B z   (here A stands for A + ρI)
    (KBOX.4)  (A + ρI)δ + Bz = ρd,  Bᵀδ = 0,  d ← d + δ:  what d lacks of the solution without ρ, by the same factor

A is factored once; each entry that joins P costs one more right-hand side. Entries that leave the box are held, entries
whose multiplier μ has the wrong sign are released. The answer is a step to be searched along, so a few rounds do.
Source: the Schur-complement active-set method, Gill, Murray, Saunders & Wright (1987).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from qpsvm.arrays.types import FloatArray
from qpsvm.solvers.kernel.dual import spread_over
from qpsvm.solvers.shared.cholesky import ridged_cholesky

#: From this size on a factorisation in single precision with refinement is faster than one in double.
SINGLE_PRECISION_ROWS = 400
#: Refinements of the single-precision solution; each gains the digits that ρ/‖A‖ leaves of its seven.
REFINEMENTS = 4
#: Relative residual at which a refined solution is as good as a direct one, and the worst that is accepted.
REFINED, ACCEPTED = 1e-6, 1e-4
#: Rounds of holding and releasing: nearly always fewer than five are needed.
ROUNDS = 12
#: More held entries than this, and this share of all, cost more than the factorisation: the step is clipped instead.
MOST_HELD, HELD_SHARE = 60, 0.5
#: A multiplier counts as wrong beyond this share of the largest residual.
WRONG_SIGN = 1e-3
#: Most corrections (KBOX.4), the share of its predecessor that a correction may have at most, and the share of d below
#: which the next one would be.
UNRIDGINGS, CONVERGES, NOTHING_LEFT = 3, 0.3, 1e-9
#: An entry is outside its box beyond this share of the box.
OUTSIDE = 1e-12


class Factor:
    """(A + ρI)⁻¹ for A (m, m) positive semidefinite up to rounding: ρ grows until the Cholesky factorisation exists."""

    def __init__(self, A: FloatArray, ridge: float) -> None:
        self.ridge = ridge
        self._A = A
        self._m = len(A)
        self._single = self._m > SINGLE_PRECISION_ROWS and self._factor_single()
        if not self._single:
            self._L, self.ridge = ridged_cholesky(A, ridge)

    def _factor_single(self) -> bool:
        shifted = self._A.astype(np.float32)
        shifted.flat[:: self._m + 1] += np.float32(self.ridge)
        self._L, info = lapack.spotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
        return bool(info == 0)

    def rough(self, right: FloatArray) -> FloatArray:
        """Solve for columns `right` (m, k), unrefined: single precision where the factor is."""
        solve = lapack.spotrs if self._single else lapack.dpotrs
        solution: FloatArray = solve(self._L, right, lower=1)[0].astype(np.float64, copy=False)
        return solution

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve for columns `right` (m, k) to at least `ACCEPTED`, in double precision if refinement fails."""
        solution = self.rough(right)
        if not self._single:
            return solution
        size = np.sqrt((right * right).sum(axis=0))
        worst = np.inf
        for _ in range(REFINEMENTS):
            residual = right - self.ridge * solution
            for j in range(right.shape[1]):  # column by column: faster than a product with a narrow matrix
                residual[:, j] -= self._A @ solution[:, j]
            worst = float((np.sqrt((residual * residual).sum(axis=0)) / np.maximum(size, np.finfo(float).tiny)).max())
            if worst < REFINED or not worst < 0.5:
                break
            solution = solution + self.rough(residual)
        if worst < ACCEPTED:
            return solution
        self._single = False
        self._L, self.ridge = ridged_cholesky(self._A, self.ridge)
        return self.rough(right)


@dataclass(eq=False)
class _Held:
    """P of (KBOX.2): positions, their t, and the columns A⁻¹E_P (m, k); S (m, q) where it is not a column of ones."""

    index: NDArray[np.intp]
    at: FloatArray
    columns: FloatArray
    border: FloatArray | None = None

    def keep(self, mask: NDArray[np.bool_]) -> None:
        self.index, self.at, self.columns = self.index[mask], self.at[mask], self.columns[:, mask]

    def add(self, index: NDArray[np.intp], at: FloatArray, factor: Factor) -> None:
        units = np.zeros((len(self.columns), len(index)), order="F")
        units[index, np.arange(len(index))] = 1.0
        self.index = np.concatenate([self.index, index])
        self.at = np.concatenate([self.at, at])
        self.columns = np.concatenate([self.columns, factor.rough(units)], axis=1)

    def solve(
        self, by_r: FloatArray, by_one: FloatArray, at: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """(KBOX.3): d (m,) and μ (k,), from A⁻¹r and A⁻¹1 (m,), or A⁻¹S; held entries at other places where given."""
        at = self.at if at is None else at
        if self.border is not None:
            return self._solve_bordered(self.border, by_r, by_one, at)
        k = len(self.index)
        if k == 0:
            return by_r - by_one * (np.add.reduce(by_r) / np.add.reduce(by_one)), at
        schur, right = np.empty((k + 1, k + 1)), np.empty(k + 1)
        schur[0, 0], schur[0, 1:] = np.add.reduce(by_one), np.add.reduce(self.columns)
        schur[1:, 0], schur[1:, 1:] = by_one[self.index], self.columns[self.index]
        right[0], right[1:] = np.add.reduce(by_r), by_r[self.index] - at
        z, info = lapack.dgesv(schur, right)[2:]
        if info:
            raise np.linalg.LinAlgError("the held entries leave no freedom")
        d = by_r - by_one * z[0] - self.columns @ z[1:]
        d[self.index] = at
        return d, z[1:]

    def _solve_bordered(
        self, S: FloatArray, by_r: FloatArray, by_S: FloatArray, at: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        q, columns = S.shape[1], np.concatenate([by_S, self.columns], axis=1)
        schur = np.concatenate([S.T @ columns, columns[self.index]])
        right = np.concatenate([S.T @ by_r, by_r[self.index] - at])
        z, info = lapack.dgesv(schur, right)[2:]
        if info:
            raise np.linalg.LinAlgError("the held entries leave no freedom")
        d = by_r - columns @ z
        d[self.index] = at
        return d, z[q:]


def box_step(
    A: FloatArray, ridge: float, r: FloatArray, low: FloatArray, high: FloatArray, border: FloatArray | None = None
) -> FloatArray:
    """Solve (KBOX.1) approximately; what is returned is feasible.

    Shapes: A (m, m), r, low, high (m,), border (m, q) → d (m,). Raises LinAlgError.
    """
    m = len(r)
    factor, q = Factor(A, ridge), 1 if border is None else border.shape[1]
    right = np.empty((m, 1 + q), order="F")
    right[:, 0], right[:, 1:] = r, 1.0 if border is None else border
    solved = factor.solve(right)
    by_r, by_one = solved[:, 0], solved[:, 1] if border is None else solved[:, 1:]
    held = _Held(np.empty(0, dtype=np.intp), np.empty(0), np.empty((m, 0), order="F"), border)
    is_held = np.zeros(m, dtype=bool)
    wrong, width = WRONG_SIGN * max(float(r.max()), -float(r.min())), OUTSIDE * (high - low)
    lowest, highest = low - width, high + width
    d, mu = held.solve(by_r, by_one)
    for _ in range(ROUNDS):
        leaves = (d < lowest) | (d > highest)
        leaves &= ~is_held
        leaving = leaves.nonzero()[0]
        stays = np.where(held.at <= low[held.index], mu <= wrong, mu >= -wrong) if len(mu) else np.empty(0, dtype=bool)
        settled = not len(leaving) and bool(stays.all())
        if settled:
            d = _without_ridge(factor, held, d, by_one, lowest, highest)
        if settled or int(stays.sum()) + len(leaving) > max(MOST_HELD, HELD_SHARE * m):
            break
        is_held[held.index[~stays]] = False
        is_held[leaving] = True
        held.keep(stays)
        held.add(leaving, np.where(d[leaving] < 0, low[leaving], high[leaving]), factor)
        try:
            d, mu = held.solve(by_r, by_one)
        except np.linalg.LinAlgError:  # the held entries leave no freedom: the clipped step is what there is
            break
    return spread_over(np.minimum(np.maximum(d, low), high), low, high, border)


def _without_ridge(
    factor: Factor, held: _Held, d: FloatArray, by_one: FloatArray, lowest: FloatArray, highest: FloatArray
) -> FloatArray:
    """(KBOX.4): d (m,) with the effect of ρ taken away, as far as that stays in the box and converges."""
    change, still = d, np.zeros(len(held.index))
    first = size = float(np.abs(d).max())
    for _ in range(UNRIDGINGS):
        change = held.solve(factor.rough((factor.ridge * change)[:, None])[:, 0], by_one, still)[0]
        better = d + change
        before, size = size, float(np.abs(change).max())
        if not size <= CONVERGES * before or (better < lowest).any() or (better > highest).any():
            break
        d = better
        if size * size <= NOTHING_LEFT * first * before:
            break
    return d
