"""Solve hard margins with few support vectors by an active set that grows by one row per step (`solve_active_set`).

F are the support vectors: all other rows have α = 0. With β = y∘α and u = Kβ:

    (KACTIVE.1)  K_FF β_F + b 1 = y_F,  1ᵀβ_F = 0,  α_F = y_F∘β_F ≥ 0:  the hard margin of the rows F
    (KACTIVE.2)  row j with the largest slack s_j = 1 − y_j(u_j + b) > 0 joins:  α_j rises by t, and (KACTIVE.1) by
                 K_FF d + e 1 = −y_j K_Fj,  1ᵀd = −y_j,  and s_j falls by tκ,  κ = K_jj + y_j(K_jFᵀd + e) ≥ 0
    (KACTIVE.3)  t = s_j/κ, and j is free;  or less, where an α_i of F reaches 0: i leaves, and (KACTIVE.2) is repeated

The dual value rises with every step, so no F occurs twice. κ = 0 if j lies in the span of F: if then no α_i falls, the
convex hulls of the classes meet.
Source: Goldfarb & Idnani, *A numerically stable dual method for solving strictly convex quadratic programs* (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.rounding import EPS
from qpsvm.base.arrays.types import FloatArray

#: Limit of the steps, and so of the rows in F: for more, other methods are faster.
MAX_STEPS = 64
#: κ up to this share of K_jj is rounding.
SPANNED_SHARE = 1e-12
#: A slack up to this many roundings of its terms is rounding.
SLACK_ROUNDINGS = 4.0


@dataclass(frozen=True, eq=False)
class ActiveSetResult:
    """Result of the active-set search.

    beta, u (n,): β of the hard margin of F, and Kβ over all rows.
    steps: Number of systems solved.
    found: Whether all slacks are at most 0, up to rounding.
    hulls_meet: Whether a row would join with κ = 0 while no α of F falls.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    steps: int
    found: bool
    hulls_meet: bool = False


def solve_active_set(
    column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray, initial_rows: tuple[int, int]
) -> ActiveSetResult:
    """Find the hard margin if it has few support vectors.

    column: Returns a column of K, (n,), by its index.
    diagonal, y (n,)
    initial_rows: F at the start, one row of each class.
    """
    active = _ActiveSet(column, diagonal, y)
    max_diagonal = float(diagonal.max())
    is_corrected = False
    try:
        for j in initial_rows:
            active.append_row(j, 0.0)
        active.solve()
        while active.steps < MAX_STEPS:
            u, slack = active.compute_slacks()
            j = int(slack.argmax())
            if slack[j] > SLACK_ROUNDINGS * EPS * (1.0 + float(np.abs(active.beta).sum()) * max_diagonal):
                if not active.enter_row(j, float(slack[j])):
                    return active.build_result(found=False, hulls_meet=True)
                is_corrected = False
            elif is_corrected or not active.correct_rounding(u):  # no slack is left, also after one correction
                return active.build_result(found=True)
            else:
                is_corrected = True
    except np.linalg.LinAlgError:  # K_FF is singular to rounding
        pass
    return active.build_result(found=False)


class _ActiveSet:
    """F, β_F and b of (KACTIVE.1), and the rows of K for F."""

    def __init__(self, column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray) -> None:
        self.column = column
        self.diagonal = diagonal
        self.y = y
        self.F: list[int] = []
        self.K_F = np.empty((MAX_STEPS + 1, len(y)))  # the first |F| rows are used
        self.beta = np.zeros(0)
        self.b = 0.0
        self.steps = 0

    def append_row(self, j: int, beta: float, column: FloatArray | None = None) -> None:
        """Append row j with its β."""
        self.K_F[len(self.F)] = self.column(j) if column is None else column
        self.F.append(j)
        self.beta = np.concatenate((self.beta, (beta,)))

    def remove_row(self, i: int) -> None:
        """Remove the i-th row of F."""
        k = len(self.F)
        self.K_F[i : k - 1] = self.K_F[i + 1 : k].copy()
        del self.F[i]
        self.beta = np.delete(self.beta, i)

    def _solve_bordered(self, values: FloatArray, total: float) -> tuple[FloatArray, float]:
        """Solve K_FF x + e 1 = values (|F|,) and 1ᵀx = total for x and e. Raises LinAlgError."""
        k = len(self.F)
        M = np.ones((k + 1, k + 1))
        M[:k, :k] = self.K_F[:k, self.F]
        M[k, k] = 0.0
        rhs = np.append(values, total)
        solution, info = lapack.dgesv(M, rhs)[2:]
        if info:
            raise np.linalg.LinAlgError
        self.steps += 1
        return solution[:k], float(solution[k])

    def solve(self) -> None:
        """Solve (KACTIVE.1) from scratch."""
        self.beta, self.b = self._solve_bordered(self.y[self.F], 0.0)

    def build_result(self, found: bool, hulls_meet: bool = False) -> ActiveSetResult:
        """Build the result from the current (KACTIVE.1)."""
        beta = np.zeros(len(self.y))
        beta[self.F] = self.beta
        return ActiveSetResult(beta, self._multiply_beta(), self.b, self.steps, found, hulls_meet)

    def _multiply_beta(self) -> FloatArray:
        """Return u = Kβ: (n,)."""
        u: FloatArray = self.beta @ self.K_F[: len(self.F)]
        return u

    def compute_slacks(self) -> tuple[FloatArray, FloatArray]:
        """Compute u and s, which is set to 0 over F: (n,) each."""
        u = self._multiply_beta()
        slack = 1.0 - self.y * (u + self.b)
        slack[self.F] = 0.0
        return u, slack

    def correct_rounding(self, u: FloatArray) -> bool:
        """Correct the rounding errors of (KACTIVE.1) for u = Kβ; return False if an α would become negative."""
        change, db = self._solve_bordered((self.y - u)[self.F] - self.b, -float(self.beta.sum()))
        if not (self.y[self.F] * (self.beta + change) >= 0.0).all():
            return False
        self.beta = self.beta + change
        self.b += db
        return True

    def enter_row(self, j: int, slack: float) -> bool:
        """Repeat (KACTIVE.2) and (KACTIVE.3) until j is in F; return False if the hulls meet."""
        K_j = self.column(j)
        sign = self.y[j]
        beta_j = 0.0
        while len(self.F):
            K_jF = K_j[self.F]
            d, e = self._solve_bordered(-sign * K_jF, -sign)
            kappa = float(self.diagonal[j] + sign * (K_jF @ d + e))
            full_step = slack / kappa if kappa > SPANNED_SHARE * self.diagonal[j] else np.inf
            rate = self.y[self.F] * d
            alpha = self.y[self.F] * self.beta
            steps_to_0 = np.full(len(rate), np.inf)
            np.divide(np.maximum(alpha, 0.0), -rate, out=steps_to_0, where=rate < 0.0)
            i = int(steps_to_0.argmin())
            t = min(full_step, float(steps_to_0[i]))
            if not np.isfinite(t):
                return False
            self.beta = self.beta + t * d
            self.b += t * e
            beta_j += t * sign
            slack -= t * kappa
            if full_step <= steps_to_0[i]:
                self.append_row(j, beta_j, K_j)
                return True
            self.remove_row(i)
        return False
