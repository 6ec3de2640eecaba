"""Solve hard margins with few support vectors by an active set that grows by one row per step (`solve_active_set`).

    (KACTIVE.1)  K_FF β_F + b 1 = y_F,  1ᵀβ_F = 0,  α_F = y_F∘β_F ≥ 0:  the hard margin of the rows F
    (KACTIVE.2)  row j with the largest slack s_j = 1 − y_j(u_j + b) > 0 joins:  α_j rises by t, and (KACTIVE.1) by
                 K_FF d + e 1 = −y_j K_Fj,  1ᵀd = −y_j,  and s_j falls by tκ,  κ = K_jj + y_j(K_jFᵀd + e) ≥ 0
    (KACTIVE.3)  t = s_j/κ, and j is free;  or less, where an α_i of F reaches 0: i leaves, and the step goes on

The dual value rises with every step, so no F occurs twice. κ = 0 if j lies in the span of F: if no α_i falls then, the
hulls of the classes meet.
Source: Goldfarb & Idnani, *A numerically stable dual method for solving strictly convex quadratic programs* (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.types import FloatArray
from qpsvm.space.kernels.kernel_blocks import EPS

#: Limit of the steps, and so of the rows in F: for more, other methods are faster.
MAX_STEPS = 64
#: κ up to this share of K_jj is rounding, and so is a slack up to this many roundings of its terms.
SPANNED, ROUNDINGS = 1e-12, 4.0


@dataclass(frozen=True, eq=False)
class ActiveSetResult:
    """Result of the active-set search.

    beta, u (n,): β of the hard margin of F, and Kβ over all rows.
    steps: Systems solved.
    found: Whether no row is on the wrong side, up to rounding.
    hulls_meet: Whether a row joined with κ = 0 and no α of F falls: the hulls of the classes meet, up to rounding.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    steps: int
    found: bool
    hulls_meet: bool = False


def solve_active_set(
    column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray, first: tuple[int, int]
) -> ActiveSetResult:
    """Find the hard margin if it has few support vectors.

    column: Return a column of K, (n,), by its index.
    first: Indices of the initial F, one of each class.

    Shapes: diagonal (n,), y (n,).
    """
    active = _ActiveSet(column, diagonal, y)
    max_diagonal = float(diagonal.max())
    corrected = False
    try:
        for j in first:
            active.append_row(j, 0.0)
        active.solve()
        while active.steps < MAX_STEPS:
            u, slack = active.compute_slacks()
            j = int(slack.argmax())
            if slack[j] > ROUNDINGS * EPS * (1.0 + float(np.abs(active.x).sum()) * max_diagonal):
                if not active.enter_row(j, float(slack[j])):
                    return active.result(found=False, meet=True)
                corrected = False
            elif corrected or not active.remove_rounding(u):
                return active.result(found=True)
            else:
                corrected = True
    except np.linalg.LinAlgError:  # K_FF is singular to rounding
        pass
    return active.result(found=False)


class _ActiveSet:
    """F, β_F and b of (KACTIVE.1), and the columns of K for F."""

    def __init__(self, column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray) -> None:
        self.column, self.diagonal, self.y = column, diagonal, y
        self.F: list[int] = []
        self.columns = np.empty((MAX_STEPS + 1, len(y)))
        self.x, self.b, self.steps = np.zeros(0), 0.0, 0

    def append_row(self, j: int, beta: float, column: FloatArray | None = None) -> None:
        """Append row j with its β."""
        self.columns[len(self.F)] = self.column(j) if column is None else column
        self.F.append(j)
        self.x = np.concatenate((self.x, (beta,)))

    def remove_row(self, i: int) -> None:
        """Remove the i-th row of F."""
        k = len(self.F)
        self.columns[i : k - 1] = self.columns[i + 1 : k].copy()
        del self.F[i]
        self.x = np.delete(self.x, i)

    def _solve_bordered(self, right: FloatArray, total: float) -> tuple[FloatArray, float]:
        """Solve K_FF x + e 1 = right and 1ᵀx = total for x and e."""
        k = len(self.F)
        M = np.ones((k + 1, k + 1))
        M[:k, :k], M[k, k] = self.columns[:k, self.F], 0.0
        goal = np.empty(k + 1)
        goal[:k], goal[k] = right, total
        solved, info = lapack.dgesv(M, goal)[2:]
        if info:
            raise np.linalg.LinAlgError
        self.steps += 1
        return solved[:k], float(solved[k])

    def solve(self) -> None:
        """Solve (KACTIVE.1) from scratch."""
        self.x, self.b = self._solve_bordered(self.y[self.F], 0.0)

    def result(self, found: bool, meet: bool = False) -> ActiveSetResult:
        """Build the result from the current (KACTIVE.1)."""
        beta = np.zeros(len(self.y))
        beta[self.F] = self.x
        return ActiveSetResult(beta, self.x @ self.columns[: len(self.F)], self.b, self.steps, found, meet)

    def compute_slacks(self) -> tuple[FloatArray, FloatArray]:
        """Compute Kβ and s, which is 0 over F."""
        u = self.x @ self.columns[: len(self.F)]
        slack = 1.0 - self.y * (u + self.b)
        slack[self.F] = 0.0
        return u, slack

    def remove_rounding(self, u: FloatArray) -> bool:
        """Correct the rounding errors of (KACTIVE.1) for u = Kβ; return False if an α would become negative."""
        change, db = self._solve_bordered((self.y - u)[self.F] - self.b, -float(self.x.sum()))
        if not (self.y[self.F] * (self.x + change) >= 0.0).all():
            return False
        self.x, self.b = self.x + change, self.b + db
        return True

    def enter_row(self, j: int, slack: float) -> bool:
        """Run (KACTIVE.2) and (KACTIVE.3) until j is free; return False if the hulls meet."""
        column, sign, beta = self.column(j), self.y[j], 0.0
        while len(self.F):
            reduced_gradient = column[self.F]
            d, e = self._solve_bordered(-sign * reduced_gradient, -sign)
            curvature = float(self.diagonal[j] + sign * (reduced_gradient @ d + e))
            full_length = slack / curvature if curvature > SPANNED * self.diagonal[j] else np.inf
            rate, alpha = self.y[self.F] * d, self.y[self.F] * self.x
            falling = (rate < 0.0).nonzero()[0]
            lengths = np.maximum(alpha[falling], 0.0) / -rate[falling]
            i = int(lengths.argmin()) if len(falling) else -1
            length = min(full_length, float(lengths[i])) if i >= 0 else full_length
            if not np.isfinite(length):
                return False
            self.x, self.b = self.x + length * d, self.b + length * e
            beta, slack = beta + length * sign, slack - length * curvature
            if i < 0 or full_length <= lengths[i]:
                self.append_row(j, beta, column)
                return True
            self.remove_row(int(falling[i]))
        return False
