"""Large n: guess from subsamples which rows can be near the margin, solve for those, check all rows, repeat.

    (WORK.1)  two disjoint stratified subsamples give W₁, W₂; start at W = ½(W₁ + W₂), τ = 2 rms(Z(W₁ − W₂))
    (WORK.2)  the band |1 − m_i| ≤ τ stays; the other rows are fixed at α_i = 0 (m_i > 1) or C_i (m_i < 1) and enter
              (ALM.1) as h and ℓ
    (WORK.3)  the gap on all rows is that on the band plus Σ C_i|1 − m_i| over the violators, the fixed rows that
              turned out to be on the wrong side
    (WORK.4)  next τ = 3√(4 (P − D) τ/(C̄ N_τ)): within it, the gap at hand could still be explained by rows that are
              spread as densely as the N_τ rows of the present band

(WORK.2) is as good as the guess: where the band holds half of the rows, or keeps missing rows, the plain method runs
on all of them from the W at hand. Passes over all rows: about ten; the rest is work on the band.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm.arrays import FloatArray, IntArray
from qpsvm.solvers.augmented_lagrangian import AIM, AugmentedLagrangian
from qpsvm.solvers.budget import Budget
from qpsvm.solvers.hinge_problem import HingeProblem, Point, Start, certified
from qpsvm.solvers.newton_step import Mask
from qpsvm.solvers.trace import StopReason

#: Fewest rows, and rows a column, for which a subsample and a band pay.
LEAST_ROWS, ROWS_PER_COLUMN, ROWS_PER_SAMPLE = 20_000, 400, 2.5
#: The two subsamples together: at least this, at least this many rows a column …
SAMPLE_ROWS, SAMPLE_PER_COLUMN = 4000, 20
#: … and of each class, where it has so many.
SAMPLE_PER_CLASS = 100
#: A subsample is solved to a gap of this share of d/n₀ (its statistical error), within the limits.
SAMPLE_GOAL, SAMPLE_GOAL_LIMITS = 0.05, (1e-5, 1e-2)
#: τ in (WORK.1) in units of rms(Z(W₁ − W₂))/2, the standard error of the margins at W.
STANDARD_ERRORS = 4.0
#: Share of the rows in the band beyond which all are taken.
WIDEST_BAND = 0.5
#: Violators as a share of the band beyond which the guess was wrong, below which the band need not grow.
WRONG_GUESS, GOOD_GUESS = 0.3, 0.05
#: Growth of τ after a wrong guess, and at most in (WORK.4).
WIDER = 3.0
#: τ covers this quantile of the violators' depth, times the factor.
DEPTH_QUANTILE, DEPTH_FACTOR = 0.9, 1.5
#: The band is gathered anew where the next one has less than this share of its rows.
MUCH_SMALLER = 0.4
#: Each run on a band aims at this share of the gap before it.
REDUCTION = 0.03
#: First goal on a band.
FIRST_GOAL = 1e-5
#: Goal on a band at which rounding is all that is left.
SMALLEST_GOAL = 1e-15
#: Rounds, and wrong guesses, before the plain method takes over.
ROUNDS, GUESSES = 30, 2
#: Rows with α within this share of a bound count as bounded when the next band is chosen.
BOUNDED_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Estimate:
    """(WORK.1): W (d + 1,), 1 − ZW (n,) and τ."""

    W: FloatArray
    slack: FloatArray
    tau: float


def sample_size(n: int, d: int) -> int:
    """n₀: rows in both subsamples, so that solving them costs about as much as the band that they leave."""
    return 2 * (int(max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * (d + 1), (2.0 * n * np.sqrt(d)) ** (2 / 3))) // 2)


def is_large(n: int, d: int) -> bool:
    """Whether the working set pays for n rows and d columns."""
    return n >= max(LEAST_ROWS, ROWS_PER_COLUMN * (d + 1), ROWS_PER_SAMPLE * sample_size(n, d))


def solve_large(problem: HingeProblem, first: Start, goal: float, budget: Budget) -> tuple[Point, StopReason]:
    """Solve (ALM.1), h = 0, to a relative gap of `goal`, beginning the subsamples at `first`."""
    bands = _Bands(problem, _estimate(problem, first, budget), goal, budget)
    return bands.solve() or AugmentedLagrangian(problem, bands.state, budget).run(goal)


def _warm(problem: HingeProblem, estimate: Estimate) -> Start:
    """Begin with every row as far into its box as its place in the band says."""
    tau = max(estimate.tau, np.finfo(float).tiny)
    a = np.clip(problem.upper * (0.5 + estimate.slack / tau), 0.0, problem.upper)
    return Start(estimate.W, a, float(np.mean(problem.upper)) / tau, estimate.slack)


def _estimate(problem: HingeProblem, first: Start, budget: Budget) -> Estimate:
    """(WORK.1)."""
    rows = problem.rows
    n0 = sample_size(rows.n, rows.d)
    goal = float(np.clip(SAMPLE_GOAL * rows.d / n0, *SAMPLE_GOAL_LIMITS))
    found = []
    for index, weight in _subsamples(rows.y, n0):
        upper = weight * (problem.upper if isinstance(problem.upper, float) else problem.upper[index])
        part = HingeProblem(rows.select(index), upper, problem.ridge, problem.offset)
        run = AugmentedLagrangian(part, Start(first.W, None, float(upper.mean())), budget, "subsample")
        found.append(run.run(goal, certify=False)[0].W)
    one, two = (1.0 - rows.margins(W) for W in found)
    difference = one - two
    tau = STANDARD_ERRORS * 0.5 * float(np.sqrt(difference @ difference / rows.n))
    one += two
    one *= 0.5
    return Estimate(0.5 * (found[0] + found[1]), one, tau)


def _subsamples(y: FloatArray, n0: int) -> list[tuple[IntArray, FloatArray]]:
    """Two disjoint index sets (n₀/2,) with the classes in proportion, and the factor of C for each of their rows."""
    generator = np.random.default_rng(0)
    halves: list[list[IntArray]] = [[], []]
    weights: list[list[FloatArray]] = [[], []]
    for members in (np.flatnonzero(y > 0), np.flatnonzero(y < 0)):
        size = min(len(members), max(n0 * len(members) // len(y), SAMPLE_PER_CLASS))
        drawn = members[generator.choice(len(members), size, replace=False)]
        for half in (0, 1):
            part = drawn[half::2] if size > 1 else drawn
            halves[half].append(part)
            weights[half].append(np.full(len(part), len(members) / max(1, len(part))))
    result = []
    for half in (0, 1):
        index = np.concatenate(halves[half])
        order = np.argsort(index)
        result.append((index[order], np.concatenate(weights[half])[order]))
    return result


@dataclass(frozen=True, eq=False)
class _Check:
    """What a pass over all rows finds: the pair on all rows, the violators (k,), and the gap on the band alone."""

    point: Point
    violators: IntArray
    band_gap: float


class _Bands:
    """(WORK.2) to (WORK.4); `state` is where the plain method may go on from."""

    def __init__(self, problem: HingeProblem, estimate: Estimate, goal: float, budget: Budget) -> None:
        self._problem, self._goal, self._budget = problem, goal, budget
        self._tau = estimate.tau
        self.state = _warm(problem, estimate)
        self._fixed: FloatArray | None = None  # α of the fixed rows, 0 on the band: (n,)
        self._pull = np.zeros(problem.rows.d + 1)
        self._best: Point | None = None
        self._wrong_guesses = 0

    def solve(self) -> tuple[Point, StopReason] | None:
        """Rounds of (WORK.2) to (WORK.4); None where the plain method should take over."""
        slack = self.state.slack
        if slack is None or not np.isfinite(self._tau):
            return None
        band, goal = np.abs(slack) <= self._tau, max(0.3 * self._goal, FIRST_GOAL)
        for _ in range(ROUNDS):
            if np.count_nonzero(band) > WIDEST_BAND * len(band) or self._wrong_guesses >= GUESSES:
                return None
            reason, band, goal = self._round(band, goal)
            if reason is not None and self._best is not None:
                return self._best, reason
        return None

    def _round(self, band: Mask, goal: float) -> tuple[StopReason | None, Mask, float]:
        """Solve on the band (n,), more exactly as long as that is what limits the gap; then the next band and goal."""
        index = np.flatnonzero(band)
        part = self._restricted(band, index)
        begin = self.state
        run = AugmentedLagrangian(part, Start(begin.W, _at(begin.multiplier, index), begin.sigma), self._budget, "band")
        while True:
            inner, reason = run.run(goal, certify=False, patient=False)
            check = self._check(part, inner, band, index)
            failed = len(check.violators) > WRONG_GUESS * len(index) + SAMPLE_PER_CLASS
            if self._best is None or check.point.relative_gap < self._best.relative_gap:
                self._best = check.point
            if self._best.relative_gap <= self._goal:
                return "converged", band, goal
            if self._budget.spent():
                return self._budget.spent(), band, goal
            if failed or reason == "numerical_error":
                return None, *self._widened(goal)
            following = self._next_band(check, inner, index)
            limited_by_band = check.point.relative_gap > max(self._goal, 2.0 * check.band_gap)
            if limited_by_band or np.count_nonzero(following) < MUCH_SMALLER * len(index):
                self.state = Start(inner.W, check.point.alpha, inner.sigma, check.point.slack)
                reached = min(goal, check.point.relative_gap)
                return None, following, max(0.3 * self._goal, REDUCTION * reached)
            goal = REDUCTION * min(goal, check.band_gap)
            if goal < SMALLEST_GOAL:
                return None, *self._widened(goal)

    def _restricted(self, band: Mask, index: IntArray) -> HingeProblem:
        """(ALM.1) on the band, with h and ℓ of the rows fixed at C."""
        problem, slack = self._problem, self.state.slack
        assert slack is not None  # every state of a band has been checked on all rows
        fixed = np.where((slack > 0.0) & ~band, problem.upper, 0.0)
        moved = np.flatnonzero(fixed if self._fixed is None else fixed != self._fixed)
        change = fixed if self._fixed is None else fixed - self._fixed
        if problem.rows.gathers_cheaply(len(moved)):
            self._pull = self._pull + problem.rows.gradient(change[moved], moved)
        else:
            self._pull = problem.rows.gradient(fixed)
        self._fixed = fixed
        upper = problem.upper if isinstance(problem.upper, float) else problem.upper[index]
        return HingeProblem(problem.rows.select(index), upper, problem.ridge, self._pull, float(fixed.sum()))

    def _check(self, part: HingeProblem, inner: Point, band: Mask, index: IntArray) -> _Check:
        """(WORK.3), and where that is small enough the certificate on all rows."""
        problem, fixed = self._problem, self._fixed
        assert fixed is not None
        slack = problem.rows.margins(inner.W)
        np.subtract(1.0, slack, out=slack)
        alpha = fixed.copy()
        alpha[index] = inner.alpha
        wrong = np.flatnonzero(((slack > 0.0) != (fixed > 0.0)) & ~band)
        missed = float((_at(problem.upper, wrong) * np.abs(slack[wrong])).sum())
        point = Point(inner.W, alpha, slack, inner.dual, inner.gap + missed, inner.sigma)
        self._budget.report("all rows", len(index), point.relative_gap, inner.sigma, len(wrong))
        if point.relative_gap <= AIM * self._goal:
            rows, pull = part.rows, self._pull
            point = certified(problem, point, lambda a: pull + rows.gradient(a[index]))  # only free α have moved
        return _Check(point, wrong, inner.relative_gap)

    def _next_band(self, check: _Check, inner: Point, index: IntArray) -> Mask:
        """(WORK.4), with the violators and the free rows in any case; updates τ."""
        point, wrong = check.point, check.violators
        distance = np.abs(point.slack)
        near = max(1, int(np.count_nonzero(distance <= self._tau)))
        gap = max(point.gap, self._goal * abs(point.dual))
        tau = 3.0 * float(np.sqrt(4.0 * gap * self._tau / (float(np.mean(self._problem.upper)) * near)))
        if len(wrong):
            tau = max(tau, DEPTH_FACTOR * float(np.quantile(distance[wrong], DEPTH_QUANTILE)))
        grows = len(wrong) == 0 or len(wrong) >= GOOD_GUESS * len(index)
        self._tau = min(tau, WIDER * self._tau if grows else self._tau)
        band = distance <= self._tau
        band[wrong] = True
        share = inner.alpha / _at(self._problem.upper, index)
        band[index[(share > BOUNDED_SHARE) & (share < 1.0 - BOUNDED_SHARE)]] = True
        return band

    def _widened(self, goal: float) -> tuple[Mask, float]:
        """After a wrong guess: the W before it, with a wider band."""
        self._wrong_guesses += 1
        self._tau *= WIDER
        slack = self.state.slack
        assert slack is not None
        self.state = _warm(self._problem, Estimate(self.state.W, slack, self._tau))
        return np.abs(slack) <= self._tau, goal


def _at(values: float | FloatArray | None, index: IntArray) -> FloatArray:
    """Values at an index (k,), where one number stands for all, and None for 0."""
    if values is None or isinstance(values, float):
        return np.full(len(index), values or 0.0)
    return values[index]
