"""Solve a linear machine with many rows on bands of rows near a kink (`solve_large`).

Most α of a large problem are 0 or at a bound, and the margins tell which. So guess which rows are near a kink, solve
for those, check all rows, and repeat:

    (WORK.1)  the band is the rows at most τ from a kink, where their α changes (|1 − m_i| ≤ τ for a hinge); the other
              rows are fixed at 0 or at a bound, according to r_i, and enter (ALM.1) as h and κ. The first W and τ are
              those of (SUB.1) to (SUB.3)
    (WORK.2)  the gap on all rows is that on the band plus (LOSSES.3) of the violators, the fixed rows that turned out
              to be on the wrong side; Σ C_i|1 − m_i| over them for hinges
    (WORK.3)  next τ = 3√(4 (P − D) τ/(C̄ N_τ)): rows within it, as dense as the N_τ rows of the present band, could
              cause the present gap; C̄ is the mean bound

If the guesses of the band are wrong, the method runs on all rows from the present W. The first band and each check
cost one pass over all rows; everything else is work on the band. Vectors of length n are computed block by block,
because with few columns they dominate memory and time.

The first guess is from two subsamples (`estimate_weights`), or from a neighbouring problem (`estimate_nearby`):

    (SUB.1)  two disjoint stratified subsamples, C weighted up, give W₁, W₂;  W = ½(W₁ + W₂)
    (SUB.2)  τ = 4·½ rms(Z(W₁ − W₂)):  half the difference has the standard error of the margins at W
    (SUB.3)  from the solution W, α of a neighbouring problem:  the least τ with C̄ N_τ τ = 36 (P − D)

The mean in (SUB.2) is over the rows of the subsamples, so that no pass over all rows is needed. (SUB.3) is the fixed
point of (WORK.3). N_τ, the number of rows at most τ from a kink, is estimated from a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm.base.arrays.rounding import EPS, SMALLEST_NORMAL
from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.data.rows.source import sort_by_start
from qpsvm.program.losses import compress_constant
from qpsvm.solvers.linear.augmented_lagrangian import AugmentedLagrangian
from qpsvm.solvers.linear.newton_step import Mask
from qpsvm.solvers.linear.row_problem import SAMPLE_ROWS, LinearPoint, LinearStart, RowProblem, certify_pair
from qpsvm.solvers.linear.settings import SETTINGS
from qpsvm.solvers.shared.budget import Budget, StopReason


def is_large(n: int, d: int) -> bool:
    """Return whether n rows of d columns are enough for a working set to pay."""
    return n >= SETTINGS.min_rows_to_sample_rows * choose_sample_size(n, d)


def solve_large(problem: RowProblem, first: LinearStart, goal: float, budget: Budget) -> tuple[LinearPoint, StopReason]:
    """Solve (ALM.1), with finite bounds, to a relative gap of `goal`.

    The start is `first` if it has a multiplier, else the solution of subsamples.
    """
    multiplier = first.multiplier
    if multiplier is None:
        guess = estimate_weights(problem, first, budget)
    else:
        guess = estimate_nearby(problem, first.W, multiplier)
    bands = _BandSolver(problem, guess, goal, budget)
    return bands.solve() or AugmentedLagrangian(problem, bands.state, budget).run(goal)


def improve_start(problem: RowProblem, first: LinearStart, budget: Budget) -> LinearStart:
    """Return a start at the W of the subsamples, (SUB.1); `first` itself if it has a multiplier."""
    if first.multiplier is not None:
        return first
    return replace(first, W=estimate_weights(problem, first, budget).W)


@dataclass(frozen=True, eq=False)
class WeightEstimate:
    """W (d + 1,) and τ of (SUB.1) and (SUB.2), or of (SUB.3)."""

    W: FloatArray
    tau: float


def choose_sample_size(n: int, d: int) -> int:
    """Return n₀, the rows in both subsamples, such that solving them costs about as much as the resulting band."""
    balanced = (2.0 * n * np.sqrt(d)) ** (2 / 3)
    half = int(max(SETTINGS.min_sample_rows, balanced)) // 2
    return 2 * half


def estimate_weights(problem: RowProblem, first: LinearStart, budget: Budget) -> WeightEstimate:
    """Estimate W and τ by (SUB.1) and (SUB.2); the solves of both subsamples start at `first`."""
    rows = problem.rows
    subsamples = _draw_subsamples(rows.y, choose_sample_size(rows.n, rows.d))
    sampled_rows = rows.select_many([index for index, _ in subsamples])
    solutions = []
    for (index, weight), selected in zip(subsamples, sampled_rows, strict=True):
        losses = problem.losses.restrict_rows(index).scale_by(compress_constant(weight))
        subproblem = RowProblem(selected, losses, problem.ridge, problem.offset)
        run = AugmentedLagrangian(subproblem, LinearStart(first.W, None, losses.first_sigma), budget, "subsample")
        point, _ = run.run(SETTINGS.sample_goal, certify=False)
        solutions.append(point.W)
    W1, W2 = solutions
    changes = np.concatenate([selected.margins(W1 - W2) for selected in sampled_rows])
    rms = float(np.sqrt(changes @ changes / len(changes)))
    return WeightEstimate(0.5 * (W1 + W2), SETTINGS.tau_standard_errors * 0.5 * rms)


def estimate_nearby(problem: RowProblem, W: FloatArray, alpha: FloatArray) -> WeightEstimate:
    """Estimate τ by (SUB.3) at the given W (d + 1,) and α (n,), in one pass over all rows."""
    by_block: dict[int, tuple[FloatArray, float]] = {}
    rows = problem.rows
    step = max(1, rows.n // SAMPLE_ROWS)

    def visit(block: slice, m: FloatArray) -> FloatArray:
        losses = problem.losses.restrict_rows(block)
        a = alpha[block].copy()
        residuals = losses.compute_residuals(m)
        by_block[block.start] = losses.measure_kink_distance(residuals)[::step], losses.compute_gap(a, residuals)
        return a

    q_hat = rows.scan(W, visit) + problem.offset
    found = sort_by_start(by_block)
    mismatch = sum(gap for _, gap in found)
    residual, complementarity, _ = problem.measure_gap(float(W[-1]), problem.ridge * W - q_hat, q_hat, mismatch)
    # each sampled distance is tried as τ: C̄ N_τ τ, with N_τ estimated from the sample, grows with τ
    taus = np.sort(np.concatenate([np.empty(0), *(distances for distances, _ in found)]))
    capacities = problem.losses.jump * rows.n / len(taus) * np.arange(1, len(taus) + 1) * taus
    target = SETTINGS.nearby_factor * (residual + complementarity)
    position = min(int(np.searchsorted(capacities, target)), len(taus) - 1)
    return WeightEstimate(W, float(taus[position]))


def _draw_subsamples(y: FloatArray, n0: int) -> list[tuple[IntArray, FloatArray]]:
    """Draw two disjoint index sets (n₀/2,), stratified by class, with the factor of C for each of their rows."""
    generator = np.random.default_rng(0)
    halves: list[list[IntArray]] = [[], []]
    weights: list[list[FloatArray]] = [[], []]
    positive = y > 0
    for class_rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        count = len(class_rows)
        size = min(count, max(n0 * count // len(y), SETTINGS.min_rows_per_class))
        drawn = class_rows[generator.choice(count, size, replace=False)]
        for half in (0, 1):
            half_rows = drawn[half::2] if size > 1 else drawn
            halves[half].append(half_rows)
            weights[half].append(np.full(len(half_rows), count / max(1, len(half_rows))))
    result = []
    for half in (0, 1):
        index = np.concatenate(halves[half])
        order = np.argsort(index)
        result.append((index[order], np.concatenate(weights[half])[order]))
    return result


@dataclass(frozen=True, eq=False)
class _BandCheck:
    """Result of a pass over all rows, (WORK.2).

    relative_gap, band_gap: The relative gaps over all rows, and over the band.
    gap, dual: P − D and D over all rows.
    violators (k,): Indices of the fixed rows on the wrong side.
    n_near: N_τ, the number of rows at most τ from a kink.
    """

    relative_gap: float
    band_gap: float
    gap: float
    dual: float
    violators: IntArray
    n_near: int


class _BandSolver:
    """Solver by (WORK.1) to (WORK.3).

    _residuals, _alpha (n,): r = ℓ − ZW at the present W, and α; in the band α is the initial multiplier.
    _in_band (n,), _band_index (k,): The band as a mask, and as ascending indices.
    _fixed_gradient (d + 1,), _fixed_value: The contribution of the fixed rows to h and κ.
    """

    def __init__(self, problem: RowProblem, guess: WeightEstimate, goal: float, budget: Budget) -> None:
        self._problem = problem
        self._goal = goal
        self._budget = budget
        self._losses = problem.losses
        self._W = guess.W
        self._tau = guess.tau
        self._sigma = 1.0
        self._residuals = np.empty(problem.rows.n)
        self._alpha = np.empty(problem.rows.n)
        self._in_band = np.zeros(problem.rows.n, dtype=bool)
        self._band_index = np.empty(0, dtype=np.intp)
        self._fixed_gradient = np.zeros(problem.rows.d + 1)
        self._fixed_value = 0.0
        self._best: LinearPoint | None = None
        self._wrong_guesses = 0

    @property
    def state(self) -> LinearStart:
        """Start from which the method on all rows can resume."""
        return LinearStart(self._W, self._alpha, self._sigma, self._residuals)

    def solve(self) -> tuple[LinearPoint, StopReason] | None:
        """Run rounds of (WORK.1) to (WORK.3); return None if the method on all rows should take over."""
        self._initialise_band()
        goal = self._goal
        for _ in range(SETTINGS.max_bands):
            if self._wrong_guesses >= SETTINGS.max_wrong_guesses:
                return None
            reason, goal = self._run_round(goal)
            if reason is not None and self._best is not None:
                return self._best, reason
        return None

    def _initialise_band(self) -> None:
        """Build the band (WORK.1) at the present W and τ in one pass, with α interpolated between its bounds."""
        tau = max(self._tau, SMALLEST_NORMAL)
        self._sigma = self._losses.jump / tau
        if self._losses.is_smooth:
            self._sigma = min(self._sigma, self._losses.first_sigma)
        by_block: dict[int, tuple[IntArray, float]] = {}

        def visit(block: slice, m: FloatArray) -> FloatArray:
            losses = self._losses.restrict_rows(block)
            residuals = losses.compute_residuals(m, out=self._residuals[block])
            fixed = losses.compute_optimal_dual(residuals)
            self._alpha[block] = fixed
            is_outside = losses.measure_kink_distance(residuals) > tau
            band = np.flatnonzero(~is_outside)  # NaN joins the band, to be detected
            self._alpha[block][band] = losses.restrict_rows(band).evaluate_ramp(residuals[band], tau)
            fixed[band] = 0.0
            by_block[block.start] = band + block.start, losses.compute_dual_value(fixed)
            return fixed

        self._fixed_gradient = self._problem.rows.scan(self._W, visit)
        self._band_index = np.concatenate([np.empty(0, dtype=np.intp), *(band for band, _ in sort_by_start(by_block))])
        self._fixed_value = sum(total for _, total in sort_by_start(by_block))
        self._in_band[:] = False
        self._in_band[self._band_index] = True

    @property
    def _n_band_rows(self) -> int:
        """Number of rows in the band."""
        return len(self._band_index)

    def _run_round(self, goal: float) -> tuple[StopReason | None, float]:
        """Solve on the band, to smaller and smaller gaps, until fixed rows limit the gap; then replace the band.

        Returns the reason to stop, or None to continue, and the goal of the next round.
        """
        problem = self._problem
        index = self._band_index
        rows = problem.rows.select(index)
        losses = self._losses.restrict_rows(index)
        subproblem = RowProblem(rows, losses, problem.ridge, self._fixed_gradient + problem.offset, self._fixed_value)
        start = LinearStart(self._W, self._alpha[index], self._sigma, self._residuals[index])
        run = AugmentedLagrangian(subproblem, start, self._budget, "band")
        while True:
            point, reason = run.run(goal, certify=False, can_shrink=False)
            check = self._check_all_rows(subproblem, point)
            if subproblem.is_zero_optimal(point.alpha):
                self._best = LinearPoint(point.W, self._alpha, self._residuals, point.dual, point.gap, point.sigma)
                return "converged", goal
            if self._best is not None and self._best.relative_gap <= self._goal:
                return "converged", goal
            stop_reason = self._budget.find_stop_reason()
            if stop_reason:
                return stop_reason, goal
            if reason == "numerical_error":
                return None, self._widen_band(goal)
            next_band = self._choose_next_band(check, point)
            fixed_rows_limit_gap = check.relative_gap > max(self._goal, 2.0 * check.band_gap)
            band_shrinks = np.count_nonzero(next_band) < SETTINGS.band_shrink_share * self._n_band_rows
            if fixed_rows_limit_gap or band_shrinks:
                self._sigma = min(point.sigma, self._losses.jump / self._find_largest_violator_distance(check))
                self._W = point.W
                self._replace_band(next_band)
                return None, max(self._goal, SETTINGS.gap_reduction * min(goal, check.relative_gap))
            goal = SETTINGS.gap_reduction * min(goal, check.band_gap)
            if goal < EPS:
                return None, self._widen_band(goal)

    def _check_all_rows(self, subproblem: RowProblem, point: LinearPoint) -> _BandCheck:
        """Evaluate (WORK.2) for the solution on the band, and certify it if the gap is small enough."""
        checked: dict[int, tuple[IntArray, float, int]] = {}

        def visit(block: slice, m: FloatArray) -> None:
            losses = self._losses.restrict_rows(block)
            residuals = losses.compute_residuals(m, out=self._residuals[block])
            is_violator = losses.find_changed(self._alpha[block], residuals) & ~self._in_band[block]
            violators = np.flatnonzero(is_violator)
            gap = losses.restrict_rows(violators).compute_gap(self._alpha[block][violators], residuals[violators])
            n_near = int(np.count_nonzero(losses.measure_kink_distance(residuals) <= self._tau))
            checked[block.start] = violators + block.start, gap, n_near

        self._problem.rows.scan(point.W, visit)
        found = sort_by_start(checked)
        violators = np.concatenate([np.empty(0, dtype=np.intp), *(rows for rows, _, _ in found)])
        violators_gap = sum(gap for _, gap, _ in found)
        n_near = sum(count for _, _, count in found)
        residuals = self._residuals[self._band_index]
        pair = LinearPoint(point.W, point.alpha, residuals, point.dual, point.gap + violators_gap, point.sigma)
        self._budget.report("all rows", self._n_band_rows, gap=pair.relative_gap, violators=len(violators))
        if pair.relative_gap <= self._goal:
            pair = certify_pair(subproblem, pair)  # changes free α only, and they are all in the band
            pair = LinearPoint(pair.W, pair.alpha, residuals, pair.dual, pair.gap + violators_gap, pair.sigma)
        self._alpha[self._band_index] = pair.alpha
        self._save_best(pair)
        return _BandCheck(pair.relative_gap, point.relative_gap, pair.gap, pair.dual, violators, n_near)

    def _save_best(self, pair: LinearPoint) -> None:
        """Save the pair with α and r of all rows if it is the best; α and r are copied unless the run ends."""
        if self._best is not None and not pair.relative_gap < self._best.relative_gap:
            return
        is_final = pair.relative_gap <= self._goal
        if is_final:
            alpha, residuals = self._alpha, self._residuals
        else:
            alpha, residuals = self._alpha.copy(), self._residuals.copy()
        self._best = LinearPoint(pair.W, alpha, residuals, pair.dual, pair.gap, pair.sigma)

    def _choose_next_band(self, check: _BandCheck, point: LinearPoint) -> Mask:
        """Update τ by (WORK.3), and return the mask (n,) of the next band, which has all violators and free rows."""
        gap = max(check.gap, self._goal * abs(check.dual))
        tau = 3.0 * float(np.sqrt(4.0 * gap * self._tau / (self._losses.jump * max(1, check.n_near))))
        self._tau = min(max(tau, self._find_largest_violator_distance(check)), SETTINGS.tau_growth * self._tau)
        is_free = self._losses.restrict_rows(self._band_index).find_free(point.alpha)
        band = self._losses.measure_kink_distance(self._residuals) <= self._tau
        band[check.violators] = True
        band[self._band_index[is_free]] = True
        return band

    def _find_largest_violator_distance(self, check: _BandCheck) -> float:
        """Return the largest distance of a violator from its kink; a tiny number if there are no violators."""
        violators = check.violators
        distances = self._losses.restrict_rows(violators).measure_kink_distance(self._residuals[violators])
        return max(float(distances.max(initial=0.0)), SMALLEST_NORMAL)

    def _replace_band(self, band: Mask) -> None:
        """Replace the band by the rows of a mask (n,); rows that leave it are fixed according to their residual."""
        rows = self._problem.rows
        index = np.flatnonzero(band)
        leaving = self._band_index[~band[self._band_index]]
        entering = index[~self._in_band[index]]
        self._alpha[leaving] = self._losses.restrict_rows(leaving).compute_optimal_dual(self._residuals[leaving])
        changed = np.concatenate([leaving, entering])
        change = np.concatenate([self._alpha[leaving], -self._alpha[entering]])
        self._fixed_gradient = self._fixed_gradient + rows.gradient(change, changed)
        self._fixed_value += self._losses.restrict_rows(leaving).compute_dual_value(self._alpha[leaving])
        self._fixed_value -= self._losses.restrict_rows(entering).compute_dual_value(self._alpha[entering])
        self._band_index = index
        self._in_band = band

    def _widen_band(self, goal: float) -> float:
        """Return to the previous W with a wider band, after a wrong guess; return the goal."""
        self._wrong_guesses += 1
        self._tau *= SETTINGS.tau_growth
        self._initialise_band()
        return goal
