"""Block pivoting: guess which rows are free and which at their bound, solve, and swap all on the wrong side at once.

With β = y∘α, F the free rows, R those at rest (α = 0 or α = U), and E the groups of rows whose β have a fixed sum:

    (KPIVOT.1)  K_FF β_F + E_F θ = t_F − K_FR β_R,  E_Fᵀβ_F = e − E_Rᵀβ_R:  every free row lies on the margin
    (KPIVOT.2)  s = y∘(t − Kβ − Eθ).  Free rows with α < 0 or α > U go to that bound, rows at 0 with s > 0 and rows at U
                with s < 0 become free;  where there are none of any, this is the solution
    (KPIVOT.3)  hard margin: t = y, U = ∞, one group with e = 0, θ = b;  ν-SVM: t = 0, the classes are the groups with
                e = ±ν/2, and θ = b ∓ ρ

No step needs a line search, and a rough guess is as good as a fine one: from LIBSVM's loop after one iteration a row,
F is right after a few rounds. The count of rows on the wrong side falls with nearly every round. Where it stops falling
the rounds end, and a method that never goes back takes over. For a hard margin it need not fall where K_FF is singular:
the sum of α is then so large that Kβ has no digits left, which is seen at once. Of many rows K is made over a part W
only, and a look outside lets rows join that.
Source: Portugal, Júdice & Vicente, *A comparison of block pivoting and interior-point algorithms for linear least
squares problems with nonnegative variables*, Mathematics of Computation 63 (1994).

ν-SVMs on a Gram matrix: LIBSVM's loop until it knows the split, block pivoting for the rest.

The loop at its own default is right about nearly all rows; every digit more costs it as many iterations again, and a
round of pivoting gets all of them. Equal rows are made one first, or K_FF would be singular. Where pivoting
leads nowhere, as where the reduced hulls meet, the loop's own best is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.solvers.kernel.libsvm import Effort, libsvm_nu_loop
from qpsvm.solvers.kernel.newton_step import LARGEST_FREE_SET, product
from qpsvm.solvers.kernel.portfolio import TIES_FROM, KernelSolution, find_ties
from qpsvm.solvers.shared.cholesky import Cholesky, NumericalTrouble
from qpsvm.space.kernels.blocks import EPS, KernelBlocks


@dataclass(frozen=True)
class Settings:
    """Constants of the rounds."""

    #: Above this sum of α, in units of |t| over the mean of K_ii, Kβ has lost too many digits for any tolerance.
    hopeless: float = 1e13
    #: A slack is 0 where it is at most so many roundings of the sum that it comes from, and so is what is left of e.
    roundings: float = 4.0
    #: Looks outside W.
    looks: int = 12


SETTINGS = Settings()


@dataclass(frozen=True, eq=False)
class Conditions:
    """The data of (KPIVOT.1) apart from K: y, t, U (n,), the group of each row (n,), and e (q,)."""

    y: FloatArray
    target: FloatArray
    upper: FloatArray
    group: IntArray
    totals: FloatArray

    @classmethod
    def hard(cls, y: FloatArray) -> Conditions:
        """Of the hard margin."""
        n = len(y)
        return cls(y, y, np.full(n, np.inf), np.zeros(n, dtype=np.intp), np.zeros(1))

    @classmethod
    def fixed_sum(cls, y: FloatArray, upper: FloatArray, nu: float) -> Conditions:
        """Of the ν-SVM with Σα = ν."""
        return cls(y, np.zeros(len(y)), upper, (y < 0).astype(np.intp), np.array([0.5 * nu, -0.5 * nu]))

    def of(self, rows: IntArray) -> Conditions:
        """Over some rows, all others at 0."""
        return Conditions(self.y[rows], self.target[rows], self.upper[rows], self.group[rows], self.totals)


@dataclass(frozen=True, eq=False)
class Pivoted:
    """How the rounds ended.

    found: No row is on the wrong side.
    beta, u (n,): β and Kβ over all rows; zeros where it was not found.
    theta (q,): θ of (KPIVOT.1).
    hopeless: α grew beyond what double precision can tell.
    """

    found: bool
    beta: FloatArray
    u: FloatArray
    theta: FloatArray
    rounds: int
    hopeless: bool = False


def _nothing(problem: Conditions, rounds: int, hopeless: bool = False) -> Pivoted:
    n = len(problem.y)
    return Pivoted(False, np.zeros(n), np.zeros(n), np.zeros(len(problem.totals)), rounds, hopeless)


def pivoted(K: FloatArray, problem: Conditions, alpha: FloatArray, effort: Effort) -> Pivoted:
    """The solution over a Gram matrix K (n, n), from a guess α (n,) of which only the split counts."""
    return _Rounds(K, problem, (alpha > 0) & (alpha < problem.upper), alpha >= problem.upper).run(effort)


def pivoted_hard(blocks: KernelBlocks, y: FloatArray, free: IntArray, effort: Effort) -> Pivoted:
    """The hard margin of many rows, from a guess at its free rows: over W, and what the look outside adds to it.

    Shapes: y (n,), free (f,).
    """
    problem, rows, rounds, n = Conditions.hard(y), free, 0, len(y)
    if not _affords(effort, blocks, len(rows)):
        return _nothing(problem, 0)
    K, inside = blocks.symmetric(rows), np.ones(len(rows), dtype=bool)
    for _ in range(SETTINGS.looks):
        part = _Rounds(K, problem.of(rows), inside, np.zeros(len(rows), dtype=bool)).run(effort)
        rounds += part.rounds
        if not part.found:
            return _nothing(problem, rounds, part.hopeless)
        beta = np.zeros(n)
        beta[rows] = part.beta
        support = beta.nonzero()[0]
        u = blocks.product(support, beta[support], np.arange(n))
        slack = 1.0 - y * (u + part.theta[0])
        slack[rows] = 0.0
        wrong = (slack > _noise(problem, beta, blocks.diagonal(support))).nonzero()[0]
        if not len(wrong):
            return Pivoted(True, beta, u, part.theta, rounds)
        if effort.late() or not _affords(effort, blocks, len(rows) + len(wrong)):
            break
        K, rows = blocks.grown(K, rows, wrong), np.append(rows, wrong)
        inside = np.append(part.beta != 0.0, np.ones(len(wrong), dtype=bool))
    return _nothing(problem, rounds)


def _affords(effort: Effort, blocks: KernelBlocks, m: int) -> bool:
    return m <= LARGEST_FREE_SET and effort.affords(m, blocks.width)


def _noise(problem: Conditions, beta: FloatArray, diagonal: FloatArray) -> float:
    """What rounding may make of a slack that is 0."""
    size = float(np.abs(problem.target).max()) + float(np.abs(beta).sum()) * float(diagonal.max(initial=0.0))
    return SETTINGS.roundings * EPS * size


class _Rounds:
    """(KPIVOT.2) over a Gram matrix K (m, m), from a guess at the rows that are free and at their bound, (m,)."""

    def __init__(self, K: FloatArray, problem: Conditions, free: NDArray[np.bool_], bound: NDArray[np.bool_]) -> None:
        self.K, self.problem, self.free, self.bound = K, problem, free, bound
        self.diagonal = K.diagonal()

    def run(self, effort: Effort) -> Pivoted:
        """Rounds until no row is on the wrong side, or they do not get there."""
        problem, wrong, falls, hopeless, count = self.problem, len(self.problem.y) + 1, True, False, 0
        while falls and not hopeless and not effort.late():
            try:
                step = _Step(self)
            except NumericalTrouble:
                break
            count += 1
            alpha, slack = problem.y * step.beta, problem.y * step.residual
            below, above = self.free & (alpha < 0.0), self.free & (alpha > problem.upper)
            noise = _noise(problem, step.beta, self.diagonal)
            joining = ~self.free & np.where(self.bound, slack < -noise, slack > noise)
            before, wrong = wrong, int(np.count_nonzero(below | above | joining))
            if not wrong:
                step.correct()
                return Pivoted(True, step.beta, step.u, step.theta, count)
            falls = wrong < before
            hopeless = not step.size < SETTINGS.hopeless
            self.free = (self.free & ~(below | above)) | joining
            self.bound = (self.bound & ~joining) | above
        return _nothing(problem, count, hopeless)


class _Step:
    """The solution of (KPIVOT.1): β, Kβ, t − Kβ − Eθ (m,) and θ (q,)."""

    def __init__(self, rounds: _Rounds) -> None:
        self.K, self.problem = rounds.K, rounds.problem
        problem, self.F = self.problem, rounds.free.nonzero()[0]
        U = rounds.bound.nonzero()[0]
        self.beta = np.zeros(len(problem.y))
        self.beta[U] = problem.y[U] * problem.upper[U]
        self.u = product(self.K, self.beta, U) if len(U) else np.zeros(len(problem.y))
        self.theta = np.zeros(len(problem.totals))
        self.residual: FloatArray = problem.target - self.u
        self._factor = Cholesky(self.K[self.F[:, None], self.F]) if len(self.F) else None
        self._free_groups = [g for g in range(len(problem.totals)) if (problem.group[self.F] == g).any()]
        self._border = (problem.group[self.F][:, None] == self._free_groups).astype(np.float64)  # E_F, (f, q)
        self._advance(*self._solved())
        self._rest(rounds)
        size = float(np.abs(problem.target).max())
        self.size = float(np.abs(self.beta).sum()) * float(rounds.diagonal.mean()) / size if size else 0.0

    def _solved(self) -> tuple[FloatArray, FloatArray]:
        """What is missing of β_F (f,) and of θ (q,), by the residuals."""
        problem, groups = self.problem, self._free_groups
        missing = problem.totals - np.bincount(problem.group, self.beta, minlength=len(problem.totals))
        step = np.zeros(len(problem.totals))
        if self._factor is None:
            return np.zeros(0), step
        solved = self._factor.solve(np.column_stack([self.residual[self.F], self._border]))
        first, others = solved[:, 0], solved[:, 1:]
        schur = self._border.T @ others
        if not (np.isfinite(schur).all() and np.linalg.det(schur) > 0.0):
            raise NumericalTrouble("the free rows do not determine the margin")
        step[groups] = np.linalg.solve(schur, self._border.T @ first - missing[groups])
        return first - others @ step[groups], step

    def _advance(self, change: FloatArray, step: FloatArray) -> None:
        if not (np.isfinite(change).all() and np.isfinite(step).all()):
            raise NumericalTrouble("the free rows have no finite solution")
        full = np.zeros(len(self.beta))
        full[self.F] = change
        self.beta, self.theta = self.beta + full, self.theta + step
        if len(change):
            self.u = self.u + product(self.K, full, self.F)
        self.residual = self.problem.target - self.u - self.theta[self.problem.group]

    def _rest(self, rounds: _Rounds) -> None:
        """θ of the groups without a free row: in the middle of where it may be, if their sum is right."""
        problem = self.problem
        for g in set(range(len(problem.totals))) - set(self._free_groups):
            rows = problem.group == g
            total = float(self.beta[rows].sum())
            if not rounds.bound.any() or abs(total - problem.totals[g]) > SETTINGS.roundings * EPS * np.count_nonzero(
                rows
            ) * abs(total):
                raise NumericalTrouble("no row of a group is free")
            slack = problem.y * self.residual
            # θ moves all slacks of a class alike; those at U are to be ≥ 0, those at 0 ≤ 0
            low = float(np.max(slack, where=rows & ~rounds.bound, initial=-np.inf))
            high = float(np.min(slack, where=rows & rounds.bound, initial=np.inf))
            middle = 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else high if low == -np.inf else low
            self.theta[g] += middle * float(problem.y[rows][0])
        self.residual = problem.target - self.u - self.theta[problem.group]

    def correct(self) -> None:
        """One more solve for what rounding left of (KPIVOT.1), where that leaves less and all in its box."""
        before = self.beta, self.u, self.theta, self.residual
        if self._factor is None:
            return
        self._advance(*self._solved())
        alpha, left = self.problem.y * self.beta, np.abs(self.residual[self.F]).max()
        if (alpha < 0.0).any() or (alpha > self.problem.upper).any() or left > np.abs(before[3][self.F]).max():
            self.beta, self.u, self.theta, self.residual = before


#: LIBSVM's tolerances, one after the other where pivoting leads nowhere, and the iterations: so many a row and besides.
#: Where the reduced hulls meet it would never end.
TOLERANCES, PER_ROW, BESIDES = (1e-3, 1e-4), 100, 20_000
#: The same where another solver goes on: one tolerance, and the iterations that it is worth.
BRIEF, BRIEF_PER_ROW, BRIEF_BESIDES = (1e-3,), 20, 1000
#: An α from the loop within this share of its bound is there.
EDGE = 1e-9


def solve_kernel_nu(
    blocks: KernelBlocks,
    y: FloatArray,
    upper: FloatArray,
    nu: float,
    *,
    tol: float,
    time_limit: float | None,
    max_iter: int | None,
    start: FloatArray | None,
    verbose: bool = False,
    brief: bool = False,
) -> tuple[KernelSolution, float]:
    """Solve the dual of the ν-SVM: minimise ½αᵀQα with yᵀα = 0, 1ᵀα = ν, 0 ≤ α ≤ U.

    Shapes: y, upper (n,), start (n,) or None.
    """
    ties = find_ties(blocks.X, y) if blocks.fast and len(y) > TIES_FROM else None
    if ties is not None:
        merged, rho = solve_kernel_nu(
            KernelBlocks(blocks.kernel, blocks.X[ties.rows]), y[ties.rows], ties.total(upper), nu, tol=tol,
            time_limit=time_limit, max_iter=max_iter, start=None if start is None else ties.total(start),
            verbose=verbose, brief=brief,
        )  # fmt: skip
        if merged.engine == "pivots" or merged.reason in ("time_limit", "interrupted"):
            spread = y * ties.share_out(np.abs(merged.beta), np.asarray(upper))
            return replace(merged, beta=spread, u=ties.spread(merged.u)), rho
    effort, K = Effort(time_limit, max_iter, verbose), blocks.all()
    problem, n = Conditions.fixed_sum(y, upper, nu), len(y)
    alpha, finished = np.zeros(n) if start is None else start, False
    tolerances, per_row, besides = (BRIEF, BRIEF_PER_ROW, BRIEF_BESIDES) if brief else (TOLERANCES, PER_ROW, BESIDES)
    with np.errstate(all="ignore"):
        found = None if start is None else _tried(K, problem, start, tol, effort)
        for tolerance in tolerances if found is None else ():
            most = per_row * n + besides if max_iter is None else max(max_iter - effort.iterations, 1)
            loop = libsvm_nu_loop(y, upper, nu, K, most, effort.clock, tol=tolerance, verbose=verbose)
            if loop is None:
                break
            effort.iterations += loop.iterations
            alpha, finished = np.clip(y * loop.beta, 0.0, upper), loop.finished
            found = _tried(K, problem, np.where(alpha > (1.0 - EDGE) * upper, upper, alpha), tol, effort)
            if found is not None or effort.over():
                break
    steps = effort.iterations + effort.newton_steps
    if found is None:
        u = K @ (y * alpha)
        theta = np.array([-_level(u, alpha, upper, y == sign) for sign in (1.0, -1.0)])
        b, rho = _margin(theta)
        return KernelSolution(y * alpha, b, u, np.inf, "libsvm", steps, effort.reason(finished and not brief)), rho
    point, gap = found
    b, rho = _margin(point.theta)
    return KernelSolution(point.beta, b, point.u, gap, "pivots", steps, "converged"), rho


def _tried(
    K: FloatArray, problem: Conditions, alpha: FloatArray, tol: float, effort: Effort
) -> tuple[Pivoted, float] | None:
    """The solution from a guess at the split, and its relative gap; None where it leads nowhere."""
    if effort.late():
        return None
    found = pivoted(K, problem, alpha, effort)
    effort.newton_steps += found.rounds
    gap = _gap(problem, found) if found.found else np.inf
    effort.report("pivots", int(np.count_nonzero(alpha)), gap)
    return (found, gap) if gap <= tol else None


def _level(u: FloatArray, alpha: FloatArray, upper: FloatArray, rows: NDArray[np.bool_]) -> float:
    """The mean of u over the free rows of a class, or over its rows where none is free."""
    free = rows & (alpha > 0.0) & (alpha < upper)
    return float(u[free if free.any() else rows].mean())


def _gap(problem: Conditions, point: Pivoted) -> float:
    """(P − D) / P by (NUSVM.19), w = w(α)."""
    (b, rho), alpha = _margin(point.theta), problem.y * point.beta
    slack = rho - problem.y * (point.u + b)
    inside = np.maximum(slack, 0.0)
    difference = float((problem.upper - alpha) @ inside + alpha @ (inside - slack))
    value = 0.5 * float(point.beta @ point.u)  # −D, and P at the optimum is D
    gap = difference / value if value > 0.0 else np.inf
    return gap if np.isfinite(gap) else np.inf


def _margin(theta: FloatArray) -> tuple[float, float]:
    """b and ρ of (KPIVOT.3)."""
    return 0.5 * float(theta[0] + theta[1]), 0.5 * float(theta[1] - theta[0])
