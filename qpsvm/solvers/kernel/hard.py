"""The hard margin: a C-SVM with a penalty that no α reaches, or for a linear machine of few features an active set.

A C-SVM in which no α is at C has the solution of the hard margin, as its own optimality conditions say: an exact
penalty, which rises in two steps. Where a linear machine has few features, few rows support, and an active set that
grows row by row finds them (`solve_active_set`). Where the last penalty frees hardly any α at C, or α grows beyond what
double precision can tell, the classes are not separated, or hardly: that is not decided here, and the last point is
returned for others to go on from.

Hard margins that few rows support, by an active set that grows one row at a time: as few steps as rows, or so.

    (KACTIVE.1)  K_FF β_F + b 1 = y_F,  1ᵀβ_F = 0,  α_F = y_F∘β_F ≥ 0:  the hard margin of the rows F
    (KACTIVE.2)  row j with the largest slack s_j = 1 − y_j(u_j + b) > 0 joins:  α_j rises by t, and (KACTIVE.1) by
                 K_FF d + e 1 = −y_j K_Fj,  1ᵀd = −y_j,  and s_j falls by tκ,  κ = K_jj + y_j(K_jFᵀd + e) ≥ 0
    (KACTIVE.3)  t = s_j/κ, and j is free;  or less, where an α_i of F reaches 0: i leaves, and the step goes on

The dual value rises with every step, so that no F comes back. κ = 0 where j lies in the span of F: if no α_i falls
then, the hulls of the classes meet.
Source: Goldfarb & Idnani, *A numerically stable dual method for solving strictly convex quadratic programs* (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from qpsvm.base.arrays.frozen import repeat_value
from qpsvm.base.arrays.ties import find_ties
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.solvers.kernel.dual import NARROW, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.portfolio import TIES_FROM, WORTHWHILE, KernelSolution, solve_kernel
from qpsvm.solvers.shared.stopping import StopReason
from qpsvm.space.kernels.blocks import EPS, KernelBlocks
from qpsvm.space.kernels.functions import Kernel, Linear

#: Steps, and so rows that F may have: beyond, other methods take less.
LARGEST = 64
#: κ as a share of K_jj that is rounding, and a slack in roundings of its sum that is none.
SPANNED, ROUNDINGS = 1e-12, 4.0


@dataclass(frozen=True, eq=False)
class ActiveSetResult:
    """Result of the active-set search.

    beta, u (n,): β of the hard margin of F, and Kβ over all rows.
    steps: Systems solved.
    found: No row is on the wrong side, as far as rounding lets tell.
    hulls_meet: A row joined that no α of F falls for: the hulls of the classes meet, or too nearly to tell.
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
    """Find the hard margin, if not more than a few rows support.

    Shapes: diagonal (n,), y (n,).
    """
    active, largest, corrected = _ActiveSet(column, diagonal, y), float(diagonal.max()), False
    try:
        for j in first:
            active.append_row(j, 0.0)
        active.solve()
        while active.steps < LARGEST:
            u, slack = active.compute_slacks()
            j = int(slack.argmax())
            if slack[j] > ROUNDINGS * EPS * (1.0 + float(np.abs(active.x).sum()) * largest):
                if not active.enter_row(j, float(slack[j])):
                    return active.result(found=False, meet=True)
                corrected = False
            elif corrected or not active.remove_rounding(u):
                return active.result(found=True)
            else:
                corrected = True
    except np.linalg.LinAlgError:
        pass
    return active.result(found=False)


class _ActiveSet:
    """F, β_F and b of (KACTIVE.1), and the columns of K for F."""

    def __init__(self, column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray) -> None:
        self.column, self.diagonal, self.y = column, diagonal, y
        self.F: list[int] = []
        self.columns = np.empty((LARGEST + 1, len(y)))
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
        """Take away what rounding left of (KACTIVE.1), if all stay positive; whether they do. `u`: Kβ."""
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
            whole = slack / curvature if curvature > SPANNED * self.diagonal[j] else np.inf
            rate, alpha = self.y[self.F] * d, self.y[self.F] * self.x
            falling = (rate < 0.0).nonzero()[0]
            lengths = np.maximum(alpha[falling], 0.0) / -rate[falling]
            i = int(lengths.argmin()) if len(falling) else -1
            length = min(whole, float(lengths[i])) if i >= 0 else whole
            if not np.isfinite(length):
                return False
            self.x, self.b = self.x + length * d, self.b + length * e
            beta, slack = beta + length * sign, slack - length * curvature
            if i < 0 or whole <= lengths[i]:
                self.append_row(j, beta, column)
                return True
            self.remove_row(int(falling[i]))
        return False


#: C, in units of one over the mean of K_ii. Beyond the last, α loses the digits that its steps need.
PENALTIES = (100.0, 1e4, 1e6)
#: The gap of the C-SVM that is asked for, as a share of the hard margin's: there slack costs more than C.
FINER = 0.01


def solve_kernel_hard(
    kernel: Kernel,
    X: Matrix,
    y: FloatArray,
    curvature: float,
    *,
    gram: Any = None,
    tol: float,
    time_limit: float | None,
    max_iter: int | None,
    start: FloatArray | None,
    verbose: bool = False,
    engine: Any = "auto",
) -> KernelSolution:
    """Solve the dual of the hard margin, or find that no α bounded by the last penalty does.

    Shapes: start (n,) or None.
    """
    effort = Effort(time_limit, max_iter, verbose)
    if engine == "auto" and isinstance(kernel, Linear) and isinstance(X, np.ndarray) and X.shape[1] <= NARROW:
        few, hopeless = _solve_few_support(lambda j: X @ X[j], np.einsum("ij,ij->i", X, X), X @ (y @ X), y, tol)
        if hopeless or few.reason == "converged":
            return few
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    ties = (
        find_ties(X, y, least=WORTHWHILE)
        if blocks.is_fast and blocks.full_matrix is None and len(y) > TIES_FROM
        else None
    )
    if ties is not None:
        merged = solve_kernel_hard(
            kernel, X[ties.rows], y[ties.rows], curvature, tol=tol, time_limit=time_limit, max_iter=max_iter,
            start=None if start is None else ties.sum_groups(start), verbose=verbose, engine=engine,
        )  # fmt: skip
        spread = np.zeros(len(y))
        spread[ties.rows] = merged.beta
        return replace(merged, beta=spread, u=ties.expand_groups(merged.u))
    bound, beta = len(y), None if start is None else y * start
    for penalty in PENALTIES if start is None else PENALTIES[-1:]:
        C = penalty / curvature
        left = None if max_iter is None else max(max_iter - effort.iterations, 1)
        seconds = None if time_limit is None else max(effort.clock.remaining, 0.0)
        answer = solve_kernel(
            blocks, KernelDual.from_hinges(y, repeat_value(C, len(y))), start=beta, tol=FINER * tol, time_limit=seconds,
            max_iter=left, verbose=verbose, engine=engine,
        )  # fmt: skip
        effort.iterations += answer.iterations
        answer, beta, before = replace(answer, iterations=effort.iterations), answer.beta, bound
        bound = int(np.count_nonzero(np.abs(beta) >= C))
        limited = answer.reason not in ("converged", "numerical_error") or effort.is_exhausted()
        if limited or not bound or answer.gap > tol or 2 * bound > before:  # hardly any is freed
            break
    return replace(answer, reason="numerical_error") if bound and answer.reason == "converged" else answer


def _solve_few_support(
    column: Callable[[int], FloatArray], diagonal: FloatArray, towards: FloatArray, y: FloatArray, tol: float
) -> tuple[KernelSolution, bool]:
    """Solve for a hard margin with few support vectors; return the solution, and whether the hulls seem to meet.

    `towards`, (n,), are values of f for the direction from one class to the other: where to begin.
    """
    first = int(np.where(y > 0, towards, np.inf).argmin()), int(np.where(y < 0, towards, -np.inf).argmax())
    with np.errstate(all="ignore"):
        found = solve_active_set(column, diagonal, y, first)
        gap = compute_hard_gap(y, found.beta, found.u) if found.found else np.inf
    reason: StopReason = "converged" if gap <= tol else "numerical_error"
    beta = y * np.maximum(y * found.beta, 0.0)
    hopeless = found.hulls_meet or (found.found and not gap <= tol)
    return KernelSolution(beta, found.b, found.u, gap, "active set", found.steps, reason), hopeless


def compute_hard_gap(y: FloatArray, beta: FloatArray, u: FloatArray) -> float:
    """Return the relative gap (P − D)/P of the direction β, u = Kβ, (n,), with both as in (HARD.14)."""
    norm2, reach = float(beta @ u), 0.5 * (float(u[y > 0].min()) - float(u[y < 0].max()))
    if not (reach > 0.0 and norm2 > 0.0):
        return np.inf
    gap = abs(1.0 - (float(np.abs(beta).sum()) / norm2 * reach) ** 2)
    return gap if np.isfinite(gap) else np.inf
