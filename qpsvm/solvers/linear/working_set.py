"""Large n: guess from subsamples which rows can be near the margin, solve for those, check all rows, repeat.

    (WORK.1)  the band |1 − m_i| ≤ τ stays; the other rows are fixed at α_i = 0 (m_i > 1) or C_i (m_i < 1) and enter
              (ALM.1) as h and ℓ. The first W and τ are those of `subsample`
    (WORK.2)  the gap on all rows is that on the band plus Σ C_i|1 − m_i| over the violators, the fixed rows that
              turned out to be on the wrong side
    (WORK.3)  next τ = 3√(4 (P − D) τ/(C̄ N_τ)): within it, the gap at hand could still be explained by rows that are
              spread as densely as the N_τ rows of the present band

(WORK.1) is as good as the guess: where the band holds half of the rows, or keeps missing rows, the plain method runs
on all of them from the W at hand. The first band and each check cost one pass over all rows, the rest is work on the
band; n-vectors are made a block of rows at a time, because with few columns they are what costs memory and time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.rows.source import in_order
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.hinge_problem import HingeProblem, Point, Start, certified
from qpsvm.solvers.linear.newton_step import Mask
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.linear.subsample import Estimate, estimate, nearby, sample_size
from qpsvm.solvers.shared.stopping import Budget, StopReason


def is_large(n: int, d: int) -> bool:
    """Whether the working set pays for n rows and d columns."""
    least = max(SETTINGS.least_rows, SETTINGS.rows_per_column * (d + 1))
    return n >= max(least, SETTINGS.rows_per_sample * sample_size(n, d))


def solve_large(problem: HingeProblem, first: Start, goal: float, budget: Budget) -> tuple[Point, StopReason]:
    """Solve (ALM.1), h = 0, to a relative gap of `goal`: from `first`, if it has a multiplier, else from subsamples."""
    multiplier = first.multiplier
    guess = estimate(problem, first, budget) if multiplier is None else nearby(problem, first.W, multiplier)
    bands = _Bands(problem, guess, goal, budget)
    return bands.solve() or AugmentedLagrangian(problem, bands.state, budget).run(goal)


@dataclass(frozen=True, eq=False)
class _Check:
    """What a pass over all rows finds.

    The relative gap on all rows and on the band alone, P − D and D, the violators (k,), and N_τ.
    """

    relative_gap: float
    band_gap: float
    gap: float
    dual: float
    violators: IntArray
    near: int


class _Bands:
    """(WORK.1) to (WORK.3).

    Kept of all rows: 1 − ZW at the W at hand, α (in the band, the multiplier to begin with), and who is in the band.
    """

    def __init__(self, problem: HingeProblem, guess: Estimate, goal: float, budget: Budget) -> None:
        self._problem, self._goal, self._budget = problem, goal, budget
        self._W, self._tau, self._sigma = guess.W, guess.tau, 1.0
        self._slack, self._alpha = np.empty(problem.rows.n), np.empty(problem.rows.n)
        self._inside = np.zeros(problem.rows.n, dtype=bool)
        self._index = np.empty(0, dtype=np.intp)
        self._pull, self._fixed_total = np.zeros(problem.rows.d + 1), 0.0
        self._best: Point | None = None
        self._wrong_guesses = 0

    @property
    def state(self) -> Start:
        """Where the plain method may go on from."""
        return Start(self._W, self._alpha, self._sigma, self._slack)

    def solve(self) -> tuple[Point, StopReason] | None:
        """Rounds of (WORK.1) to (WORK.3); None where the plain method should take over."""
        self._begin()
        goal = SETTINGS.band_share * self._goal
        for _ in range(SETTINGS.rounds):
            wide = not len(self._index) <= SETTINGS.widest_band * self._problem.rows.n
            if wide or self._wrong_guesses >= SETTINGS.guesses:
                return None
            reason, goal = self._round(goal)
            if reason is not None and self._best is not None:
                return self._best, reason
        return None

    def _begin(self) -> None:
        """(WORK.1) at the W and τ at hand, in one pass: every row as far into its box as its place in the band says."""
        tau = max(self._tau, float(np.finfo(float).tiny))
        self._sigma = float(np.mean(self._problem.upper)) / tau
        found: dict[int, tuple[IntArray, float]] = {}

        def visit(block: slice, m: FloatArray) -> FloatArray:
            slack = np.subtract(1.0, m, out=self._slack[block])
            upper = self._problem.upper_of(block)
            fixed = np.where(slack > 0.0, upper, 0.0)
            self._alpha[block] = fixed
            band = np.flatnonzero(~(np.abs(slack) > tau))  # what is not a number is taken, and found there
            self._alpha[block][band] = np.clip(_at(upper, band) * (0.5 + slack[band] / tau), 0.0, _at(upper, band))
            fixed[band] = 0.0
            found[block.start] = band + block.start, float(fixed.sum())
            return fixed

        self._pull = self._problem.rows.scan(self._W, visit)
        bands, totals = zip(*in_order(found), strict=True)
        self._index, self._fixed_total = np.concatenate(bands), sum(totals)
        self._inside[:] = False
        self._inside[self._index] = True

    def _round(self, goal: float) -> tuple[StopReason | None, float]:
        """Solve on the band, more exactly as long as that is what limits the gap; then the next band and goal."""
        index, problem = self._index, self._problem
        rows, upper = problem.rows.select(index), problem.upper_of(index)
        part = HingeProblem(rows, upper, problem.ridge, self._pull, self._fixed_total)
        start = Start(self._W, self._alpha[index], self._sigma, self._slack[index])
        run = AugmentedLagrangian(part, start, self._budget, "band")
        while True:
            inner, reason = run.run(goal, certify=False, patient=False)
            check = self._check(part, inner)
            if self._best is not None and self._best.relative_gap <= self._goal:
                return "converged", goal
            if self._budget.spent():
                return self._budget.spent(), goal
            failed = len(check.violators) > SETTINGS.wrong_guess * len(index) + SETTINGS.sample_per_class
            if failed or reason == "numerical_error":
                return None, self._widened(goal)
            following = self._next_band(check, inner)
            limited_by_band = check.relative_gap > max(self._goal, 2.0 * check.band_gap)
            if limited_by_band or np.count_nonzero(following) < SETTINGS.much_smaller * len(index):
                self._W, self._sigma = inner.W, inner.sigma
                self._move_to(following)
                return None, max(SETTINGS.band_share * self._goal, SETTINGS.reduction * min(goal, check.relative_gap))
            goal = SETTINGS.reduction * min(goal, check.band_gap)
            if goal < SETTINGS.smallest_goal:
                return None, self._widened(goal)

    def _check(self, part: HingeProblem, inner: Point) -> _Check:
        """(WORK.2) for the solution on the band, and where that is small enough its certificate."""
        checked: dict[int, tuple[IntArray, float, int]] = {}

        def visit(block: slice, m: FloatArray) -> None:
            slack = np.subtract(1.0, m, out=self._slack[block])
            violates = (slack > 0.0) != (self._alpha[block] > 0.0)
            violates &= ~self._inside[block]
            found = np.flatnonzero(violates)
            distance = np.abs(slack)
            missed = float((_at(self._problem.upper_of(block), found) * distance[found]).sum())
            near = int(np.count_nonzero(distance <= self._tau))
            checked[block.start] = found + block.start, missed, near

        self._problem.rows.scan(inner.W, visit)
        wrong, misses, counts = zip(*in_order(checked), strict=True)
        violators, missed, near = np.concatenate(wrong), sum(misses), sum(counts)
        slack = self._slack[self._index]
        pair = Point(inner.W, inner.alpha, slack, inner.dual, inner.gap + missed, inner.sigma)
        self._budget.report("all rows", len(self._index), gap=pair.relative_gap, violators=len(violators))
        if pair.relative_gap <= SETTINGS.aim * self._goal:
            pair = certified(part, pair)  # only free α move, all of which are in the band
            pair = Point(pair.W, pair.alpha, slack, pair.dual, pair.gap + missed, pair.sigma)
        self._alpha[self._index] = pair.alpha
        self._keep(pair)
        return _Check(pair.relative_gap, inner.relative_gap, pair.gap, pair.dual, violators, near)

    def _keep(self, pair: Point) -> None:
        """Remember the pair, with α and 1 − ZW of all rows, if it is the best; copied if they are still to change."""
        if self._best is not None and not pair.relative_gap < self._best.relative_gap:
            return
        final = pair.relative_gap <= self._goal
        alpha, slack = (self._alpha, self._slack) if final else (self._alpha.copy(), self._slack.copy())
        self._best = Point(pair.W, alpha, slack, pair.dual, pair.gap, pair.sigma)

    def _next_band(self, check: _Check, inner: Point) -> Mask:
        """(WORK.3), with the violators and the free rows in any case: (n,); updates τ."""
        wrong = check.violators
        gap = max(check.gap, self._goal * abs(check.dual))
        tau = 3.0 * float(np.sqrt(4.0 * gap * self._tau / (float(np.mean(self._problem.upper)) * max(1, check.near))))
        if len(wrong):
            depth = float(np.quantile(np.abs(self._slack[wrong]), SETTINGS.depth_quantile))
            tau = max(tau, SETTINGS.depth_factor * depth)
        grows = len(wrong) == 0 or len(wrong) >= SETTINGS.good_guess * len(self._index)
        self._tau = min(tau, SETTINGS.wider * self._tau if grows else self._tau)
        band = np.abs(self._slack) <= self._tau
        band[wrong] = True
        share = inner.alpha / _at(self._problem.upper, self._index)
        band[self._index[(share > SETTINGS.bounded_share) & (share < 1.0 - SETTINGS.bounded_share)]] = True
        return band

    def _move_to(self, band: Mask) -> None:
        """Take the rows of a mask (n,) as the band; who leaves it is fixed where its margin says."""
        rows, index = self._problem.rows, np.flatnonzero(band)
        leaving, entering = self._index[~band[self._index]], index[~self._inside[index]]
        self._alpha[leaving] = np.where(self._slack[leaving] > 0.0, _at(self._problem.upper, leaving), 0.0)
        moved = np.concatenate([leaving, entering])
        change = np.concatenate([self._alpha[leaving], -self._alpha[entering]])
        self._pull = self._pull + rows.gradient(change, moved)
        self._fixed_total += float(change.sum())
        self._index, self._inside = index, band

    def _widened(self, goal: float) -> float:
        """After a wrong guess: the W before it, with a wider band."""
        self._wrong_guesses += 1
        self._tau *= SETTINGS.wider
        self._begin()
        return goal


def _at(values: float | FloatArray, index: IntArray) -> FloatArray:
    """Values at an index (k,), where one number stands for all."""
    return np.full(len(index), values) if isinstance(values, float) else values[index]
