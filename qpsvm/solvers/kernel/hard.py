"""The hard margin: block pivoting from a rough C-SVM, and where that fails C-SVMs with a penalty that no α reaches.

A C-SVM in which no α is at C has the solution of the hard margin, as its own optimality conditions say: an exact
penalty. Solving one to many digits costs far more than to learn from a rough one which rows may support; `nu` does
the rest. Where it goes astray, as where K_FF is singular, and where a linear machine has few features, an active set
that grows row by row finds the few that support (`active_set`). What is left gets a penalty that rises step by step.
Where that frees hardly any α at C, or α grows beyond what double precision can tell, the classes are not separated, or
hardly: that is not decided here, and the last point is returned for others to go on from.

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

from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.arrays.vectors import repeated
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINES
from qpsvm.solvers.kernel.libsvm import Effort
from qpsvm.solvers.kernel.newton_step import unbounded
from qpsvm.solvers.kernel.nu import Conditions, pivoted, pivoted_hard
from qpsvm.solvers.kernel.portfolio import TIES_FROM, KernelSolution, find_ties, solve_kernel
from qpsvm.solvers.shared.stopping import StopReason
from qpsvm.space.kernels.blocks import EPS, KernelBlocks
from qpsvm.space.kernels.functions import Kernel, Linear

#: Steps, and so rows that F may have: beyond, other methods take less.
LARGEST = 64
#: κ as a share of K_jj that is rounding, and a slack in roundings of its sum that is none.
SPANNED, ROUNDINGS = 1e-12, 4.0


@dataclass(frozen=True, eq=False)
class Supported:
    """How the search ended.

    beta, u (n,): β of the hard margin of F, and Kβ over all rows.
    steps: Systems solved.
    found: No row is on the wrong side, as far as rounding lets tell.
    meet: A row joined that no α of F falls for: the hulls of the classes meet, or too nearly to tell.
    """

    beta: FloatArray
    u: FloatArray
    b: float
    steps: int
    found: bool
    meet: bool = False


def active_set(
    column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray, first: tuple[int, int]
) -> Supported:
    """Find the hard margin, if not more than a few rows support.

    Shapes: diagonal (n,), y (n,).
    """
    active, largest, corrected = _Active(column, diagonal, y), float(diagonal.max()), False
    try:
        for j in first:
            active.include(j, 0.0)
        active.solve()
        while active.steps < LARGEST:
            u, slack = active.slacks()
            j = int(slack.argmax())
            if slack[j] > ROUNDINGS * EPS * (1.0 + float(np.abs(active.x).sum()) * largest):
                if not active.join(j, float(slack[j])):
                    return active.result(found=False, meet=True)
                corrected = False
            elif corrected or not active.correct(u):
                return active.result(found=True)
            else:
                corrected = True
    except np.linalg.LinAlgError:
        pass
    return active.result(found=False)


class _Active:
    """F, β_F and b of (KACTIVE.1), and the columns of K for F."""

    def __init__(self, column: Callable[[int], FloatArray], diagonal: FloatArray, y: FloatArray) -> None:
        self.column, self.diagonal, self.y = column, diagonal, y
        self.F: list[int] = []
        self.columns = np.empty((LARGEST + 1, len(y)))
        self.x, self.b, self.steps = np.zeros(0), 0.0, 0

    def include(self, j: int, beta: float, column: FloatArray | None = None) -> None:
        """Row j with its β."""
        self.columns[len(self.F)] = self.column(j) if column is None else column
        self.F.append(j)
        self.x = np.concatenate((self.x, (beta,)))

    def leave(self, i: int) -> None:
        """The i-th row of F."""
        k = len(self.F)
        self.columns[i : k - 1] = self.columns[i + 1 : k].copy()
        del self.F[i]
        self.x = np.delete(self.x, i)

    def _solved(self, right: FloatArray, total: float) -> tuple[FloatArray, float]:
        """x and e with K_FF x + e 1 = right and 1ᵀx = total."""
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
        """(KACTIVE.1), afresh."""
        self.x, self.b = self._solved(self.y[self.F], 0.0)

    def result(self, found: bool, meet: bool = False) -> Supported:
        """What there is of (KACTIVE.1)."""
        beta = np.zeros(len(self.y))
        beta[self.F] = self.x
        return Supported(beta, self.x @ self.columns[: len(self.F)], self.b, self.steps, found, meet)

    def slacks(self) -> tuple[FloatArray, FloatArray]:
        """Kβ and s, which is 0 over F."""
        u = self.x @ self.columns[: len(self.F)]
        slack = 1.0 - self.y * (u + self.b)
        slack[self.F] = 0.0
        return u, slack

    def correct(self, u: FloatArray) -> bool:
        """Take away what rounding left of (KACTIVE.1), if all stay positive; whether they do. `u`: Kβ."""
        change, db = self._solved((self.y - u)[self.F] - self.b, -float(self.x.sum()))
        if not (self.y[self.F] * (self.x + change) >= 0.0).all():
            return False
        self.x, self.b = self.x + change, self.b + db
        return True

    def join(self, j: int, slack: float) -> bool:
        """(KACTIVE.2) and (KACTIVE.3) until j is free; False where the hulls meet."""
        column, sign, beta = self.column(j), self.y[j], 0.0
        while len(self.F):
            pull = column[self.F]
            d, e = self._solved(-sign * pull, -sign)
            curvature = float(self.diagonal[j] + sign * (pull @ d + e))
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
                self.include(j, beta, column)
                return True
            self.leave(int(falling[i]))
        return False


#: C, in units of one over the mean of K_ii. Beyond the last, α loses the digits that its steps need.
PENALTIES = (100.0, 1e6)
#: The gap of the C-SVM that is asked for, as a share of the hard margin's: there slack costs more than C. And that of
#: the first one of many rows, of which only the support is wanted.
FINER = 0.01
#: Of a rough C-SVM, LIBSVM's tolerance, and its iterations, a row and besides: which rows are free is settled by
#: pivoting, faster than by more of them.
ROUGH_TOL, ROUGH_PER_ROW, ROUGH_BESIDES = 0.1, 1, 50
#: Features of a linear machine up to which few rows support.
NARROW = 60


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
        few, hopeless = _few_support(lambda j: X @ X[j], np.einsum("ij,ij->i", X, X), X @ (y @ X), y, tol)
        if hopeless or few.reason == "converged":
            return few
    blocks = gram if isinstance(gram, KernelBlocks) else KernelBlocks(kernel, X, gram)
    ties = find_ties(X, y) if blocks.fast and blocks.whole is None and len(y) > TIES_FROM else None
    if ties is not None:
        merged = solve_kernel_hard(
            kernel, X[ties.rows], y[ties.rows], curvature, tol=tol, time_limit=time_limit, max_iter=max_iter,
            start=None if start is None else ties.total(start), verbose=verbose, engine=engine,
        )  # fmt: skip
        spread = np.zeros(len(y))
        spread[ties.rows] = merged.beta
        return replace(merged, beta=spread, u=ties.spread(merged.u))
    settings = {"verbose": verbose, "engine": engine}
    pivots = _Pivots(blocks, y, effort, tol) if engine == "auto" else None
    bound, beta = len(y), None if start is None else y * start
    if pivots is not None and pivots.small:
        found = pivots.begun(curvature) if start is None else pivots.tried(start.nonzero()[0])
        if found is not None or pivots.hopeless:
            return found or pivots.given_up()
    penalties = [(penalty, FINER * tol) for penalty in (PENALTIES if start is None else PENALTIES[-1:])]
    if pivots is not None and start is None and not pivots.small:
        penalties.insert(0, (PENALTIES[0], FINER))
    for penalty, finer in penalties:
        C = penalty / curvature
        left = None if max_iter is None else max(max_iter - effort.iterations, 1)
        seconds = None if time_limit is None else max(effort.clock.left, 0.0)
        problem = KernelDual.of_hinges(y, repeated(C, len(y)))
        answer = solve_kernel(blocks, problem, start=beta, tol=finer, time_limit=seconds, max_iter=left, **settings)
        effort.iterations += answer.iterations
        answer, beta, before = replace(answer, iterations=effort.iterations), answer.beta, bound
        bound = int(np.count_nonzero(np.abs(beta) >= C))
        limited = answer.reason not in ("converged", "numerical_error") or effort.exhausted()
        stuck = answer.gap > max(tol, finer) or (penalty > PENALTIES[0] and bound > before)
        if limited or not (bound or finer > tol):
            break
        found = None if pivots is None else pivots.tried(beta.nonzero()[0])
        if found is not None:
            return found
        if stuck:
            break
    return replace(answer, reason="numerical_error") if bound and answer.reason == "converged" else answer


def _few_support(
    column: Callable[[int], FloatArray], diagonal: FloatArray, towards: FloatArray, y: FloatArray, tol: float
) -> tuple[KernelSolution, bool]:
    """The hard margin where few rows support, and whether the hulls meet or seem to.

    `towards`, (n,), are values of f for the direction from one class to the other: where to begin.
    """
    first = int(np.where(y > 0, towards, np.inf).argmin()), int(np.where(y < 0, towards, -np.inf).argmax())
    with np.errstate(all="ignore"):
        found = active_set(column, diagonal, y, first)
        gap = hard_gap(y, found.beta, found.u) if found.found else np.inf
    reason: StopReason = "converged" if gap <= tol else "numerical_error"
    beta = y * np.maximum(y * found.beta, 0.0)
    hopeless = found.meet or (found.found and not gap <= tol)
    return KernelSolution(beta, found.b, found.u, gap, "active set", found.steps, reason), hopeless


class _Pivots:
    """Block pivoting from one guess after another, on one problem."""

    def __init__(self, blocks: KernelBlocks, y: FloatArray, effort: Effort, tol: float) -> None:
        self.blocks, self.y, self.effort, self.tol = blocks, y, effort, tol
        n = len(y)
        self.hopeless, self._guess = False, np.zeros(len(y))
        self.small = n <= ENGINES.gram_rows and effort.affords(n, blocks.width)

    def begun(self, curvature: float) -> KernelSolution | None:
        """The hard margin from the support of a rough C-SVM, or row by row; None where neither finds it."""
        K, n = self.blocks.all(), len(self.y)
        problem = KernelDual.of_hinges(self.y, repeated(PENALTIES[0] / curvature, n))
        with np.errstate(all="ignore"):
            beta = unbounded(K, problem)
            if beta is None:
                beta = self.effort.loop(problem, K, ROUGH_TOL, most=ROUGH_PER_ROW * n + ROUGH_BESIDES)
        self._guess = beta
        found = self.tried(beta.nonzero()[0])
        if found is not None or self.effort.late():
            return found
        few, meet = _few_support(lambda j: K[j], K.diagonal(), K @ beta, self.y, self.tol)
        self.effort.newton_steps += few.iterations
        self.hopeless = self.hopeless or meet
        steps = self.effort.iterations + self.effort.newton_steps
        return replace(few, iterations=steps) if few.reason == "converged" else None

    def given_up(self) -> KernelSolution:
        """The rough C-SVM, for others to go on from."""
        nothing, steps = np.zeros(len(self.y)), self.effort.iterations + self.effort.newton_steps
        return KernelSolution(self._guess, 0.0, nothing, np.inf, "libsvm", steps, "numerical_error")

    def tried(self, free: IntArray) -> KernelSolution | None:
        """The hard margin from a guess at its free rows; None where it leads nowhere."""
        if self.effort.late() or not len(free):
            return None
        with np.errstate(all="ignore"):
            if self.small or self.blocks.whole is not None:
                guess = np.zeros(len(self.y))
                guess[free] = 1.0
                found = pivoted(self.blocks.all(), Conditions.hard(self.y), guess, self.effort)
            else:
                found = pivoted_hard(self.blocks, self.y, free, self.effort)
        self.effort.newton_steps += found.rounds
        gap = hard_gap(self.y, found.beta, found.u) if found.found else np.inf
        self.hopeless = found.hopeless or (found.found and not gap <= self.tol)
        self.effort.report("pivots", len(free), gap)
        if not gap <= self.tol:
            return None
        steps = self.effort.iterations + self.effort.newton_steps
        return KernelSolution(found.beta, float(found.theta[0]), found.u, gap, "pivots", steps, "converged")


def hard_gap(y: FloatArray, beta: FloatArray, u: FloatArray) -> float:
    """The relative gap (P − D)/P of the direction β, u = Kβ, (n,), with both as in (HARD.14)."""
    norm2, reach = float(beta @ u), 0.5 * (float(u[y > 0].min()) - float(u[y < 0].max()))
    if not (reach > 0.0 and norm2 > 0.0):
        return np.inf
    gap = abs(1.0 - (float(np.abs(beta).sum()) / norm2 * reach) ** 2)
    return gap if np.isfinite(gap) else np.inf
