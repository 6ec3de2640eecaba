"""The hard margin: block pivoting from a rough C-SVM, and where that fails C-SVMs with a penalty that no α reaches.

A C-SVM in which no α is at C has the solution of the hard margin, as its own optimality conditions say: an exact
penalty. Solving one to many digits costs far more than to learn from a rough one which rows may support; `pivots` does
the rest. Where it goes astray, as where K_FF is singular, and where a linear machine has few features, an active set
that grows row by row finds the few that support (`active_set`). What is left gets a penalty that rises step by step.
Where that frees hardly any α at C, or α grows beyond what double precision can tell, the classes are not separated, or
hardly: that is not decided here, and the last point is returned for others to go on from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.kernels.blocks import KernelBlocks
from qpsvm.kernels.functions import Kernel, Linear
from qpsvm.solvers.kernel.active_set import active_set
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.engines import SETTINGS as ENGINES
from qpsvm.solvers.kernel.initial_sets import unbounded
from qpsvm.solvers.kernel.pivots import Conditions, pivoted, pivoted_hard
from qpsvm.solvers.kernel.portfolio import TIES_FROM, KernelSolution, solve_kernel
from qpsvm.solvers.kernel.ties import find_ties
from qpsvm.solvers.shared.stopping import StopReason

#: C, in units of one over the mean of K_ii. Beyond the last, α loses the digits that its steps need.
PENALTIES = (10.0, 100.0, 1e4, 1e6)
#: The gap of the C-SVM that is asked for, as a share of the hard margin's: there slack costs more than C.
FINER = 0.01
#: The gap of the first one of many rows, of which only the support is wanted.
LOOSE = 0.01
#: Share of the α at C that may still be there after a step.
STILL_BOUND = 0.75
#: A rough C-SVM: C in units of one over the mean of K_ii, LIBSVM's tolerance, and its iterations, a row and besides.
#: Which rows are free is settled by pivoting, faster than by more of them.
ROUGH_PENALTY, ROUGH_TOL, ROUGH_PER_ROW, ROUGH_BESIDES = 100.0, 0.1, 1, 50
#: Features of a linear machine up to which few rows support.
NARROW = 60
#: Guesses that may lead nowhere: where two do, a third hardly ever does better.
TRIES = 2


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
        penalties.insert(0, (PENALTIES[0], LOOSE))
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
        stuck = answer.gap > max(tol, finer) or (penalty > PENALTIES[0] and bound > STILL_BOUND * before)
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
        self.hopeless, self._left, self._guess = False, TRIES, np.zeros(len(y))
        self.small = n <= ENGINES.gram_rows and effort.affords(n, blocks.width)

    def begun(self, curvature: float) -> KernelSolution | None:
        """The hard margin from the support of a rough C-SVM, or row by row; None where neither finds it."""
        K, n = self.blocks.all(), len(self.y)
        problem = KernelDual.of_hinges(self.y, repeated(ROUGH_PENALTY / curvature, n))
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
        if self._left == 0 or self.effort.late() or not len(free):
            return None
        self._left -= 1
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
