"""Solve a kernel dual by Newton steps from a start, by a small Gram matrix, or by the loop (`EngineSearch`).

A start is tried first, if few rows are free. (Not if the Gram matrix of few rows is already known, as along a path:
there a loop from 0 takes .5 to .9 of the time.) For at most `gram_rows` rows the engine "gram" computes the full Gram
matrix in double precision, runs the loop loosely, and solves for the split into free and bound rows that the loop has
found. For more, the engine "libsvm" runs the working-set loop over all rows (`full_loop`). If the optimum of a ν-SVM or
one-class SVM seems to be 0 at the loop's first point, interior points follow (`low_rank_interior_point`).

In milliseconds, with the compiled core: medians of 5, RBF, five features, labels by the first and noise; one core.

| rows                          |  500 | 1000 | 1500 | 1999 |
|-------------------------------|------|------|------|------|
| `gram`, C = 1                 |  1.5 |  4.2 |   10 |   13 |
| the loop, C = 1               |  3.2 |  4.1 |  5.8 |  8.8 |
| `gram`, C = 100               |  3.7 |   14 |   39 |   53 |
| the loop, C = 100             |  5.2 |   11 |   19 |   30 |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.solvers.kernel.dual import KernelDual, KernelPoint
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.full_loop import FullLoop
from qpsvm.solvers.kernel.initial_sets import InitialSet, estimate_rough_error, select_at_point
from qpsvm.solvers.kernel.low_rank_interior_point import seems_to_have_zero_w, solve_with_low_rank
from qpsvm.solvers.kernel.newton_step import MAX_EXACT_ROWS, multiply_gram, solve_bordered
from qpsvm.solvers.kernel.working_set import LoopStage, WorkingSet, solve_from
from qpsvm.space.kernels.gram_blocks import GramBlocks

#: Stages of the engine "gram". The loop stops early, because Newton steps compute the last digits with one
#: factorisation as soon as the split is right; if they fail, a tighter loop follows. The loop stores its matrix in
#: single precision, so a tolerance below the last one would have no meaning.
STAGES = (LoopStage(3e-3, 60), LoopStage(1e-4, 60), LoopStage(2e-6))


@dataclass(frozen=True)
class EngineSettings:
    """Constants that decide which engine runs when."""

    #: The full Gram matrix is computed for at most this many rows; the second limit holds for a ν-SVR, because a search
    #: for its tube follows beyond it, and without the compiled loop.
    gram_rows: int = 1200
    slow_gram_rows: int = 2000
    #: Newton steps run from a start if its relative gap is below `max_start_gap` and at most the share `start_share` of
    #: the rows is free.
    max_start_gap: float = 0.3
    start_share: float = 0.35
    #: A relative gap up to this is rounding: the split is right.
    exact_gap: float = 1e-11


SETTINGS = EngineSettings()


class EngineSearch:
    """One problem, and the best point that any engine has found.

    engine_used: The engine that found the best point; "none" before any ran.
    is_brief: Whether only the first stage of "gram" runs, because another method continues.
    """

    def __init__(self, blocks: GramBlocks, problem: KernelDual, target: float, effort: Effort) -> None:
        self.blocks = blocks
        self.problem = problem
        self.target = target
        self.effort = effort
        self._best: KernelPoint | None = None
        self.engine_used = "none"
        self._start_u: FloatArray | None = None
        self.is_brief = False
        self._may_vanish = True  # until `solve_with_low_rank` has run

    @property
    def best_point(self) -> KernelPoint:
        """The best point so far; α = 0 before any engine ran."""
        if self._best is None:
            self._best = self.problem.build_zero_point()
        return self._best

    def run(self, engine: str, start: FloatArray | None, u: FloatArray | None = None) -> None:
        """Run Newton steps from the start; if they do not suffice, solve over all rows.

        start: A feasible β (n,).
        u: Its u (n,), possibly rough; None if unknown.
        """
        K = self.blocks.full_matrix
        problem = self.problem
        self._start_u = u
        if problem.is_nu_svr or core.compiled is None:
            max_rows = SETTINGS.slow_gram_rows
        else:
            max_rows = SETTINGS.gram_rows
        has_few_rows = problem.n <= max_rows
        if start is not None and has_few_rows and K is not None and not problem.has_kink:
            point = problem.build_point(start, multiply_gram(K, start, np.flatnonzero(start)))
            if self.update_best("start", point):
                return
        elif start is not None and self._run_from_start(start):
            return
        if engine == "gram" or (engine == "auto" and (has_few_rows or K is not None)):
            self.solve_with_gram()
        else:
            FullLoop(self).run()

    def has_ended(self) -> bool:
        """Return whether the target is reached or the time is over."""
        return self.best_point.gap <= self.target or self.effort.is_late()

    def update_best(self, engine: str, point: KernelPoint | None) -> bool:
        """Keep the point if it is the best so far, and return whether that ends the search."""
        if point is not None and (self.engine_used == "none" or point.gap < self.best_point.gap):
            self._best, self.engine_used = point, engine
        return self.has_ended()

    def measure_point(self, beta: FloatArray) -> KernelPoint:
        """Return the point of a feasible β (n,), with the rough u of the start or a new one."""
        u = self._start_u
        self._start_u = None
        if u is None:
            support = np.flatnonzero(beta)
            u = self.blocks.compute_product(support, beta[support], np.arange(self.problem.n), rough=True)
        return self.problem.build_point(beta, u)

    def solve_with_gram(self) -> None:
        """Solve with the full Gram matrix in double precision and cache it; skip that if time or memory are short."""
        problem = self.problem
        if self.blocks.full_matrix is None and not (
            self._fits_memory() and self.effort.can_afford(problem.n, self.blocks.width, with_newton=False)
        ):
            return
        K = self.blocks.compute_full_matrix()
        beta = None
        if problem.n <= MAX_EXACT_ROWS or problem.is_homogeneous:
            beta = self._run_first_loop(K, STAGES[0].tolerance)
            if beta is None:
                return
        rows, zero = np.arange(problem.n), np.zeros(problem.n)
        initial = InitialSet(rows, zero if beta is None else beta, zero, beta is not None)
        stages = STAGES[:1] if self.is_brief else STAGES
        self.update_best("gram", solve_from(self.blocks, problem, initial, stages, self.target, self.effort))

    def solve_with_low_rank(self) -> bool:
        """Solve a problem whose optimum seems to be 0 by interior points, once; return whether it is."""
        may_vanish = self._may_vanish
        self._may_vanish = False
        if may_vanish:
            found = solve_with_low_rank(self.blocks, self.problem, self.effort)
        else:
            found = None
        if found is None:
            return False
        point = self.measure_point(found.beta)
        self.update_best("interior points", replace(point, gap=0.0) if found.has_zero_w else point)
        return found.has_zero_w

    def _fits_memory(self) -> bool:
        """Return whether there is memory for the Gram matrix and a copy of it."""
        n = self.problem.n
        return n <= SETTINGS.slow_gram_rows or 16.0 * n * n <= find_available_memory()

    def _run_first_loop(self, K: FloatArray, tolerance: float) -> FloatArray | None:
        """Run the loop, and solve for its split if rows are few; return β if Newton steps are to follow, else None."""
        problem, effort = self.problem, self.effort
        beta = effort.run_loop(problem, K, tolerance).beta
        if effort.is_over():
            self.update_best("gram", problem.build_point(beta, K @ beta))
            return None
        if problem.is_homogeneous:
            loop_point = problem.build_point(beta, K @ beta)
            if seems_to_have_zero_w(problem, loop_point):
                if self.solve_with_low_rank():
                    return None
                beta = self.best_point.beta if self.engine_used != "none" else beta
        if problem.n > MAX_EXACT_ROWS:
            return beta
        point = solve_bordered(K, problem, beta)
        if point is None or not point.gap <= self.target:
            return beta
        effort.newton_steps += 1
        self.update_best("gram", point)
        return None if point.gap <= SETTINGS.exact_gap else point.beta

    def _run_from_start(self, beta: FloatArray) -> bool:
        """Run Newton steps from a feasible β, if few rows are free; return whether the search has ended."""
        point = self.measure_point(beta)
        effort = self.effort
        initial = select_at_point(point, estimate_rough_error(beta))
        if (
            point.gap < SETTINGS.max_start_gap
            and 0 < len(initial.rows) <= int(SETTINGS.start_share * self.problem.n)
            and not effort.is_late()
            and effort.can_afford(len(initial.rows), self.blocks.width)
        ):
            W = WorkingSet(self.blocks, self.problem, initial, effort)
            point = min(W.refine(self.target), point, key=lambda p: p.gap)
        return self.update_best("start", point)
