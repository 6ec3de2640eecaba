"""Run the working-set loop over all rows, then Newton steps from its point (`FullLoop`).

The loop finds the support vectors, Newton steps the last digits. To a loose tolerance, the loop runs on blocks of rows
(`block_loop`), and over all rows once blocks do not pay. Then Newton steps follow on the F rows that can still move, if
they are predicted to take no longer than the loop has taken. Otherwise, or if they stall, the loop continues to the
next tolerance. The prediction, in seconds, is

    (FULL.1)  m(e_s n F + e_r F² + e_F F³):  m steps on F rows, the more the fewer of these are free

The u of the loop and of the steps is exact only on F. Before and after the steps it is recomputed in double precision
where that matters, and more steps follow if the target was not reached. Without the compiled core the loop is
LIBSVM's. That cannot be warm-started, so it runs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.base.resources.workers import split_strips
from qpsvm.solvers.kernel.block_loop import BlockLoop
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import ENTRIES_PER_CLOCK_CHECK, Effort
from qpsvm.solvers.kernel.initial_sets import estimate_rough_error
from qpsvm.solvers.kernel.loop import KernelSamples
from qpsvm.solvers.kernel.low_rank_interior_point import seems_to_have_zero_w
from qpsvm.solvers.kernel.newton_step import find_moving_rows, polish_by_newton
from qpsvm.solvers.kernel.streamed import StreamedGram
from qpsvm.space.kernels.gram_blocks import GramBlocks


@dataclass(frozen=True)
class FullLoopSettings:
    """Constants of the loop and of the Newton steps after it."""

    #: Tolerances of the loop: the first one, the factor from each to the next, and the last one; and that of a loop
    #: that cannot be warm-started and runs once, the default of scikit-learn's SVC.
    first_tol: float = 1e-2
    tol_factor: float = 0.3
    last_tol: float = 1e-7
    single_run_tol: float = 1e-3
    #: e_s, e_r and e_F of (FULL.1), in seconds; and m if all of the F rows are free, and if none is.
    streamed_seconds: float = 0.8e-9
    square_seconds: float = 10e-9
    cube_seconds: float = 1.2e-11
    newton_steps: tuple[float, float] = (2.0, 10.0)
    #: Limit of the bytes of K, in single precision, if the loop cannot evaluate the kernel itself.
    max_gram_bytes: float = 4e8
    #: Limits of the Newton steps after a loop, and of how often u is recomputed.
    max_newton_steps: int = 40
    max_refreshes: int = 3
    #: The loop is given up if it stops at its limit of the iterations, and the gap has not fallen to this share since
    #: the last time it did: then K is nearly singular, and C is large.
    max_gap_share: float = 0.5


SETTINGS = FullLoopSettings()


class SearchState(Protocol):
    """The part of `engines.EngineSearch` that the loop uses."""

    blocks: GramBlocks
    problem: KernelDual
    target: float
    effort: Effort
    engine_used: str

    @property
    def best_point(self) -> KernelPoint:
        """The best point so far."""

    def update_best(self, engine: str, point: KernelPoint | None) -> bool:
        """Keep a point if it is the best so far; return whether that ends the search."""

    def measure_point(self, beta: FloatArray) -> KernelPoint:
        """Return the point of a feasible β (n,)."""

    def solve_with_gram(self) -> None:
        """Solve with the whole Gram matrix."""

    def solve_with_low_rank(self) -> bool:
        """Solve a problem whose optimum seems to be 0; return whether it is."""


class FullLoop:
    """The loop over all rows, whose search keeps the best point.

    point: The current point of the loop; None before its first run.
    """

    def __init__(self, search: SearchState) -> None:
        self._search = search
        self.point: KernelPoint | None = search.best_point if search.engine_used != "none" else None
        self._data: NDArray[np.float32] | KernelSamples | None = None  # K, or the samples
        self._blocks: BlockLoop | None = None
        self._has_converged = True
        blocks = search.blocks
        problem = search.problem
        is_compiled = core.compiled is not None
        self._samples = KernelSamples.from_blocks(blocks, problem)
        is_single_enough = blocks.allows_single and self._samples is not None  # their rows are in single precision
        fits_memory = min(SETTINGS.max_gram_bytes, 0.5 * find_available_memory()) >= 4.0 * problem.n**2
        self._stores_gram = is_compiled and fits_memory and not is_single_enough
        self._has_all_rows = self._stores_gram or self._samples is not None
        has_start = self.point is not None or not problem.total  # else 0 is not feasible
        self._can_use_blocks = is_compiled and problem.mass is None and has_start
        self._can_resume = is_compiled and (is_single_enough or self._stores_gram or self._can_use_blocks)
        self._tol = SETTINGS.first_tol if self._can_resume else SETTINGS.single_run_tol

    def run(self) -> None:
        """Run until the target, a limit or rounding stops the loop."""
        search = self._search
        effort = self._search.effort
        if not (self._can_use_blocks or self._has_all_rows):
            search.solve_with_gram()
            return
        start_time = effort.clock.seconds
        gap = np.inf
        while not effort.is_over():
            if self._has_left_blocks and not self._has_all_rows:
                search.update_best("libsvm", self.point)
                search.solve_with_gram()
                return
            if not self._run_loop():
                continue
            assert self.point is not None
            if seems_to_have_zero_w(search.problem, self.point):
                if search.solve_with_low_rank():
                    return
                self.point = min(self.point, search.best_point, key=lambda point: point.gap)
            is_last = self._tol <= SETTINGS.last_tol or not self._can_resume
            if self._run_newton_if_cheap(is_last, effort.clock.seconds - start_time) or is_last:
                break
            if not self._has_converged:
                if search.best_point.gap > SETTINGS.max_gap_share * gap:
                    break
                gap = search.best_point.gap
            self._tol *= SETTINGS.tol_factor
        if search.best_point.gap > search.target:
            search.update_best("libsvm", self.point)

    def _run_loop(self) -> bool:
        """Run the loop to the current tolerance; return False if it leaves blocks, or time runs out, before that."""
        search = self._search
        point = self.point
        problem = self._search.problem
        if point is None or not self._can_resume:
            start, u = None, None
        else:
            start, u = point.beta, point.u
        has_just_left_blocks = False
        if self._can_use_blocks and not self._has_left_blocks:
            if self._blocks is None:
                self._blocks = BlockLoop(search.blocks, problem, search.effort)
            zero = np.zeros(problem.n)
            point = point or problem.build_point(zero, zero)
            result = self._blocks.run(self._tol, point.beta, point.u)
            has_just_left_blocks = self._has_left_blocks
        else:
            if self._data is None:
                self._data = self._build_data()
            if self._data is None:
                return False
            result = search.effort.run_loop(problem, self._data, self._tol, start=start, u=u)
        if result.u is None:
            self.point = search.measure_point(result.beta)
        else:
            self.point = problem.build_point(result.beta, result.u)
        search.effort.report("loop", problem.n, self.point.gap)
        self._has_converged = result.converged
        return result.converged or not (has_just_left_blocks or search.effort.is_late())

    @property
    def _has_left_blocks(self) -> bool:
        """Whether blocks were tried and given up."""
        return self._blocks is not None and not self._blocks.can_continue

    def _build_data(self) -> NDArray[np.float32] | KernelSamples | None:
        """Return the samples if the loop evaluates the kernel, else K; None if time runs out."""
        if self._stores_gram:
            return compute_full_gram(self._search.blocks, self._search.effort)
        return self._samples

    def _run_newton_if_cheap(self, is_last: bool, loop_seconds: float) -> bool:
        """Run Newton steps if they are cheap, or nothing follows; return whether the problem is solved."""
        search, point = self._search, self.point
        if is_last or self._estimate_newton_seconds() <= loop_seconds:
            return self._run_newton()
        if point is not None and point.gap <= search.target:
            self.point = self._refine_point(point)
            search.update_best("libsvm", self.point)
        return bool(search.best_point.gap <= search.target)

    def _estimate_newton_seconds(self) -> float:
        """Estimate the seconds of Newton steps by (FULL.1)."""
        assert self.point is not None
        problem = self._search.problem
        min_steps, max_steps = SETTINGS.newton_steps
        F = len(find_moving_rows(problem, self.point, self._search.target))
        n = problem.n
        share_at_bound = max(F - int(np.count_nonzero(problem.find_free(self.point.beta))), 0) / max(F, 1)
        step_seconds = SETTINGS.streamed_seconds * n * F + SETTINGS.square_seconds * F * F
        step_seconds += SETTINGS.cube_seconds * F**3
        return float(min_steps + (max_steps - min_steps) * share_at_bound) * step_seconds

    def _run_newton(self) -> bool:
        """Run Newton steps from the loop's point, and return whether they solved the problem."""
        assert self.point is not None
        search = self._search
        point = self._refine_point(self.point)
        effort = search.effort
        problem = search.problem
        target = search.target
        K = StreamedGram(search.blocks)
        for _ in range(SETTINGS.max_refreshes):
            polished = polish_by_newton(
                K, problem, point.beta, target, SETTINGS.max_newton_steps, point.u, effort.is_late
            )
            effort.newton_steps += polished.steps
            if polished.point.gap > target:
                point = polished.point
            else:
                point = self._refine_point(polished.point)
            effort.report("Newton", polished.max_free_rows, point.gap)
            K.rough = False  # more steps with rough products would leave the same rounding errors
            if polished.point.gap > target or point.gap <= target or effort.is_late():
                break
        self.point = point
        search.update_best("libsvm", point)
        return bool(search.best_point.gap <= target)

    def _refine_point(self, point: KernelPoint) -> KernelPoint:
        """Return the point with u in double precision for all rows whose gradient could be 0, but for rounding."""
        blocks = self._search.blocks
        problem = self._search.problem
        u_error = estimate_rough_error(point.beta)
        at_low, at_high = point.beta <= point.low, point.beta >= point.high
        distance = np.where(at_low, -point.gradient, np.where(at_high, point.gradient, 0.0))
        support = np.flatnonzero(point.beta)
        u = point.u.copy()
        while True:
            near_rows = np.flatnonzero(distance <= u_error)
            u[near_rows] = blocks.compute_product(support, point.beta[support], near_rows)
            drift = float(np.abs(u - point.u).max())
            if not drift > 0.5 * u_error or len(near_rows) == problem.n:
                return problem.build_point(point.beta, u)
            u_error = 4.0 * drift  # after many steps u is less accurate than one product


def compute_full_gram(blocks: GramBlocks, effort: Effort) -> NDArray[np.float32] | None:
    """Return K, (n, n) in single precision; None if time runs out."""
    n = blocks.n
    K: NDArray[np.float32] = np.empty((n, n), dtype=np.float32)
    for strip in split_strips(n, max(1, int(ENTRIES_PER_CLOCK_CHECK / n))):
        if effort.is_late():
            return None
        blocks.fill_rows(K[strip], strip.start)
    return K
