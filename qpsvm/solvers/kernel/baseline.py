"""Run the working-set loop over all rows, then Newton steps from its point.

The loop runs on blocks of rows (`block_loop`) and where those are given up over all rows, to a loose tolerance. Newton
steps on the rows that can still move then get the last digits, if they are forecast to take no longer than the loop
has. If not, or where they stall, the loop goes on to the next tolerance. The forecast is

    (BASE.1)  m(e_s n F + e_r F² + e_F F³):  m steps on F rows, the more the fewer of these are free

The u of the loop and of the steps is rough, but on F. It is made again in double precision where that matters, before
the steps and after them, and more steps follow if the target was not reached. Without the compiled core the loop is
LIBSVM's, which cannot go on from a point: it runs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.base.resources.workers import run_tiles, split_strips
from qpsvm.solvers.kernel.block_loop import BlockLoop
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import ENTRIES, Effort
from qpsvm.solvers.kernel.initial_sets import estimate_margin
from qpsvm.solvers.kernel.loop import KernelSamples, evaluates_kernel
from qpsvm.solvers.kernel.newton_step import find_moving_rows, polish_by_newton
from qpsvm.solvers.kernel.streamed import StreamedGram
from qpsvm.space.kernels.blocks import SYMMETRIC_STRIP, KernelBlocks, estimate_entry_seconds
from qpsvm.space.kernels.functions import RBF


@dataclass(frozen=True)
class BaselineSettings:
    """Constants of the loop."""

    #: The tolerances of the loop: at first, each time this share of the one before, and the last; and one that begins
    #: again has SVC's own.
    first: float = 1e-2
    finer: float = 0.3
    last: float = 1e-7
    only: float = 1e-3
    #: e_s, e_r and e_F of (BASE.1), in seconds; and m, where all of the F rows are free, and where none is.
    streamed: float = 0.8e-9
    square: float = 10e-9
    cube: float = 1.2e-11
    steps: tuple[float, float] = (2.0, 10.0)
    #: Bytes of K in single precision, where the loop cannot evaluate its rows itself.
    stored: float = 4e8
    #: Newton steps after a loop, and how often u is made again.
    most: int = 40
    refreshes: int = 3


SETTINGS = BaselineSettings()


class SearchState(Protocol):
    """What the loop needs of `engines.EngineSearch`."""

    blocks: KernelBlocks
    problem: KernelDual
    target: float
    effort: Effort
    engine_used: str

    @property
    def best_point(self) -> DualPoint:
        """The best point so far."""

    def update_best(self, engine: str, point: DualPoint | None) -> bool:
        """Keep a point if it is the best; whether that ends the search."""

    def measure_point(self, beta: FloatArray) -> DualPoint:
        """Return the point of a feasible β (n,)."""

    def solve_with_gram(self) -> None:
        """Solve with the whole Gram matrix."""


class BaselineLoop:
    """The loop over all rows of an `EngineSearch`.

    point: Where it stands.
    """

    def __init__(self, engines: SearchState) -> None:
        self._engines = engines
        self.point: DualPoint | None = engines.best_point if engines.engine_used != "none" else None
        self._data: NDArray[np.float32] | KernelSamples | None = None
        self._blocks: BlockLoop | None = None
        blocks, n = engines.blocks, engines.problem.n
        self._sampled = blocks.allows_single and blocks.samples is not None and evaluates_kernel(engines.problem)
        stored = min(SETTINGS.stored, 0.5 * find_available_memory()) >= 4.0 * n * n
        self._resumes = core.compiled is not None and (self._sampled or stored)
        self._tol = SETTINGS.first if self._resumes else SETTINGS.only

    def run(self) -> None:
        """To the target, or as far as the limits and rounding let it; its best point is kept."""
        engines, effort = self._engines, self._engines.effort
        if not self._resumes and (engines.blocks.samples is None or not evaluates_kernel(engines.problem)):
            engines.solve_with_gram()
            return
        began = effort.clock.seconds
        while not effort.is_over():
            if not self._run_loop():
                continue
            last = self._tol <= SETTINGS.last or not self._resumes
            if self._finish(last, effort.clock.seconds - began) or last:
                break
            self._tol *= SETTINGS.finer
        if engines.best_point.gap > engines.target:
            engines.update_best("libsvm", self.point)

    def _build_samples(self) -> KernelSamples:
        kernel, X = self._engines.blocks.kernel, self._engines.blocks.samples
        assert isinstance(kernel, RBF)
        assert X is not None
        return KernelSamples(kernel, X)

    def _run_loop(self) -> bool:
        """Run the loop; return whether it met its tolerance, or went as far as rounding and its own limit allow."""
        engines, point, problem = self._engines, self.point, self._engines.problem
        start, u = (None, None) if point is None or not self._resumes else (point.beta, point.u)
        if self._blocks is None and self._resumes and problem.mass is None and (start is not None or not problem.total):
            zero = np.zeros(problem.n)
            self._blocks = BlockLoop(engines.blocks, problem, engines.effort)
            self.point = point or problem.build_point(zero, zero)
        if self._blocks is not None and self._blocks.can_continue:
            assert self.point is not None
            found = self._blocks.run(self._tol, self.point.beta, self.point.u)
            goes_on = not self._blocks.can_continue
        else:
            goes_on = False
            if self._data is None:
                sampled = self._sampled or not self._resumes
                self._data = self._build_samples() if sampled else compute_full_gram(engines.blocks, engines.effort)
            if self._data is None:
                return False
            found = engines.effort.run_loop(problem, self._data, self._tol, start=start, u=u)
        self.point = engines.measure_point(found.beta) if found.u is None else problem.build_point(found.beta, found.u)
        engines.effort.report("loop", problem.n, self.point.gap)
        return found.converged or not (goes_on or engines.effort.is_late())

    def _estimate_newton_seconds(self) -> float:
        """Estimate the seconds of Newton steps, (BASE.1)."""
        assert self.point is not None
        problem, (least, most) = self._engines.problem, SETTINGS.steps
        F, n = len(find_moving_rows(problem, self.point, self._engines.target)), problem.n
        held = max(F - int(np.count_nonzero(problem.find_free(self.point.beta))), 0) / max(F, 1)
        each = SETTINGS.streamed * n * F + SETTINGS.square * F * F + SETTINGS.cube * F**3
        return float(least + (most - least) * held) * each

    def _finish(self, last: bool, spent: float) -> bool:
        """Run Newton steps after the loop, unless its next end is sooner; return whether they solved the problem."""
        engines, point = self._engines, self.point
        if last or self._estimate_newton_seconds() <= spent:
            return self._run_newton()
        if point is not None and point.gap <= engines.target:
            self.point = self._refine_point(point)
            engines.update_best("libsvm", self.point)
        return bool(engines.best_point.gap <= engines.target)

    def _run_newton(self) -> bool:
        """Run Newton steps from the loop's point, and return whether they solved the problem."""
        assert self.point is not None
        engines, point = self._engines, self._refine_point(self.point)
        effort, problem, target = engines.effort, engines.problem, engines.target
        K = StreamedGram(engines.blocks)
        for _ in range(SETTINGS.refreshes):
            polished = polish_by_newton(K, problem, point.beta, target, SETTINGS.most, point.u, effort.is_late)
            effort.newton_steps += polished.steps
            point = polished.point if polished.point.gap > target else self._refine_point(polished.point)
            effort.report("Newton", polished.max_free_rows, point.gap)
            K.rough = False  # what rounding leaves, rough products would leave again
            if polished.point.gap > target or point.gap <= target or effort.is_late():
                break
        self.point = point
        engines.update_best("libsvm", point)
        return bool(engines.best_point.gap <= target)

    def _refine_point(self, point: DualPoint) -> DualPoint:
        """Return the point with u in double precision, wherever that matters."""
        blocks, problem, margin = self._engines.blocks, self._engines.problem, estimate_margin(point.beta)
        rest, capped = point.beta <= point.low, point.beta >= point.high
        away = np.where(rest, -point.gradient, np.where(capped, point.gradient, 0.0))
        support, u = np.flatnonzero(point.beta), point.u.copy()
        while True:
            near = np.flatnonzero(away <= margin)
            u[near] = blocks.product(support, point.beta[support], near)
            drift = float(np.abs(u - point.u).max())
            if not drift > 0.5 * margin or len(near) == problem.n:
                return problem.build_point(point.beta, u)
            margin = 4.0 * drift  # what many steps have left of u is rougher than one product


def compute_full_gram(blocks: KernelBlocks, effort: Effort) -> NDArray[np.float32] | None:
    """K, (n, n) in single precision; None where time runs out."""
    n = blocks.n
    K: NDArray[np.float32] = np.empty((n, n), dtype=np.float32)
    tiles, many = split_strips(n, SYMMETRIC_STRIP), max(1, int(ENTRIES / (n * SYMMETRIC_STRIP)))
    for first in range(0, len(tiles), many):
        if effort.is_late():
            return None
        seconds = estimate_entry_seconds(blocks.width) * n * SYMMETRIC_STRIP * many if blocks.is_fast else 0.0
        run_tiles(lambda tile: blocks.fill(K[tile], tile.start), tiles[first : first + many], seconds)
    return K
