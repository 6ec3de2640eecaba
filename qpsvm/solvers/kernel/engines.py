"""Solve a kernel dual by Newton steps from a start, by a small Gram matrix, or by the loop (`EngineSearch`).

A start is tried first, where few rows are not at a bound. (Not where the Gram matrix of few rows is there, as along a
path: there a loop from 0 is sooner, .5 to .9 of the time.) Up to so many rows the whole Gram matrix is made, and its
exact split is looked for. Beyond, the working-set loop runs over all rows, on blocks of them first (`baseline`).

In milliseconds, with the compiled core: medians of 5, RBF, five features, labels by the first and noise; one core.

| rows                          |  500 | 1000 | 1500 | 1999 |
|-------------------------------|------|------|------|------|
| `gram`, C = 1                 |  1.5 |  4.2 |   10 |   13 |
| the loop, C = 1               |  3.2 |  4.1 |  5.8 |  8.8 |
| `gram`, C = 100               |  3.7 |   14 |   39 |   53 |
| the loop, C = 100             |  5.2 |   11 |   19 |   30 |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import find_available_memory
from qpsvm.solvers.kernel.baseline import BaselineLoop
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.initial_sets import InitialSet, estimate_margin, select_at_point
from qpsvm.solvers.kernel.newton_step import EXACT_ROWS, multiply_gram, solve_bordered
from qpsvm.solvers.kernel.working_set import STEPS, LoopStage, WorkingSet, solve_from
from qpsvm.space.kernels.blocks import KernelBlocks

#: All rows: the loop stops early, because Newton steps get the last digits with one factorisation as soon as the split
#: is right; what they cannot do from there a tighter loop may. It keeps its matrix in single precision: less than the
#: last tolerance has no meaning.
STAGES = (LoopStage(3e-3, 60), LoopStage(1e-4, 60), LoopStage(2e-6))


@dataclass(frozen=True)
class EngineSettings:
    """Constants of the order."""

    #: Up to here the whole Gram matrix is made in double precision; up to the second of a ν-SVR, because beyond it a
    #: search for the tube begins, and without the compiled loop.
    gram_rows: int = 1200
    slow_gram_rows: int = 2000
    #: Newton steps go on from a start whose relative gap is below this. They do where at most this share of the rows
    #: is not at a bound, and as long as every so many steps bring the gap to this share.
    useful: float = 0.3
    start_share: float = 0.35
    start_steps: int = 3
    start_gain: float = 0.3
    #: A ν-SVR's steps that stall are made again on rows so far inside their right side, too, so many at most.
    start_reach: float = 0.005
    last_rows: int = 5000
    last_steps: int = 30
    #: The gap of a point of the right split is rounding, of one and another size.
    exact: float = 1e-11
    #: The gap of the loop's point from which on the hulls of a ν-SVM seem to meet: at an optimum of 0 it is 1.
    meeting: float = 0.9


SETTINGS = EngineSettings()


class EngineSearch:
    """One problem, and the best point that any engine has found.

    engine_used: The engine that found it.
    brief: Of all rows only the first stage is run: others go on. Of a ν-SVM only its loop where the hulls seem to meet.
    """

    def __init__(self, blocks: KernelBlocks, problem: KernelDual, target: float, effort: Effort) -> None:
        self.blocks, self.problem, self.target, self.effort = blocks, problem, target, effort
        self._best: DualPoint | None = None
        self.engine_used = "none"
        self._known: FloatArray | None = None
        self.brief = False

    @property
    def best_point(self) -> DualPoint:
        """The best point so far; α = 0 before any engine ran."""
        if self._best is None:
            self._best = self.problem.build_zero_point()
        return self._best

    def run(self, engine: str, start: FloatArray | None, u: FloatArray | None = None) -> None:
        """Run Newton steps from the start; if they do not suffice, solve over all rows.

        `start`: β (n,), feasible, with its u (n,) where that is known, if only roughly.
        """
        self._known, problem, K = u, self.problem, self.blocks.full_matrix
        finds_tube = problem.mass is not None and problem.has_kink
        slow = finds_tube or core.compiled is None
        few = problem.n <= (SETTINGS.slow_gram_rows if slow else SETTINGS.gram_rows)
        if start is not None and few and K is not None and not problem.has_kink:
            if self.update_best("start", problem.build_point(start, multiply_gram(K, start, np.flatnonzero(start)))):
                return
        elif start is not None and self._run_from_start(start):
            return
        if engine == "gram" or (engine == "auto" and (few or K is not None)):
            self.solve_with_gram()
        else:
            BaselineLoop(self).run()

    def has_ended(self) -> bool:
        """Return whether the target is reached or the time is over."""
        return self.best_point.gap <= self.target or self.effort.is_late()

    def update_best(self, engine: str, point: DualPoint | None) -> bool:
        """Keep the point if it is the best so far, and return whether that ends the search."""
        if point is not None and (self.engine_used == "none" or point.gap < self.best_point.gap):
            self._best, self.engine_used = point, engine
        return self.has_ended()

    def solve_with_gram(self) -> None:
        """Solve with the full Gram matrix in double precision and cache it; skip that if time or memory are short."""
        problem, stages = self.problem, STAGES[:1] if self.brief else STAGES
        if self.blocks.full_matrix is None and not (
            self._fits_memory() and self.effort.can_afford(problem.n, self.blocks.width, False)
        ):
            return
        K, beta = self.blocks.all(), None
        if problem.n <= EXACT_ROWS:
            beta = self._solve_few_rows(K, stages[0].tolerance)
            if beta is None:
                return
            if self.brief and problem.is_nu_svm and not problem.build_point(beta, K @ beta).gap < SETTINGS.meeting:
                return
        rows, zero = np.arange(problem.n), np.zeros(problem.n)
        initial = InitialSet(rows, zero if beta is None else beta, zero, beta is not None)
        self.update_best("gram", solve_from(self.blocks, problem, initial, stages, self.target, self.effort))

    def _fits_memory(self) -> bool:
        """Return whether there is memory for the Gram matrix and a copy of it."""
        n = self.problem.n
        return n <= SETTINGS.slow_gram_rows or 16.0 * n * n <= find_available_memory()

    def _solve_few_rows(self, K: FloatArray, tolerance: float) -> FloatArray | None:
        """Keep the point of the split that the loop finds; return the β to resume from if that is not exact.

        Where it is good, but not to rounding, Newton steps go on from it.
        """
        problem, effort = self.problem, self.effort
        beta = effort.run_loop(problem, K, tolerance).beta
        if effort.is_over():
            self.update_best("gram", problem.build_point(beta, K @ beta))
            return None
        point = solve_bordered(K, problem, beta)
        if point is None or not point.gap <= self.target:
            return beta
        effort.newton_steps += 1
        self.update_best("gram", point)
        return None if point.gap <= SETTINGS.exact else point.beta

    def _run_from_start(self, beta: FloatArray) -> bool:
        """Run Newton steps from a feasible β, if few rows are free and the steps gain; return whether they did."""
        point, most = self.measure_point(beta), int(SETTINGS.start_share * self.problem.n)
        most = most if point.gap < SETTINGS.useful else 0
        if self.problem.mass is not None:  # no band with a tube of its own
            if self._run_newton(point, estimate_margin(beta), most) or not most:
                return self.has_ended()
            return self._run_newton(self.best_point, SETTINGS.start_reach, SETTINGS.last_rows, SETTINGS.last_steps)
        return self._run_newton(point, estimate_margin(beta), most, SETTINGS.start_steps, SETTINGS.start_gain)

    def _run_newton(self, point: DualPoint, reach: float, most: int, steps: int = STEPS, gain: float = np.inf) -> bool:
        """Run Newton steps from a start on its rows that are free or within `reach`, if they are not too many."""
        initial, effort = select_at_point(point, reach), self.effort
        if (
            0 < len(initial.rows) <= most
            and not effort.is_late()
            and effort.can_afford(len(initial.rows), self.blocks.width)
        ):
            W = WorkingSet(self.blocks, self.problem, initial, effort)
            point = min(W.refine(self.target, steps=steps, gain=gain, gap=point.gap), point, key=lambda p: p.gap)
        return self.update_best("start", point)

    def measure_point(self, beta: FloatArray) -> DualPoint:
        """Measure a feasible β with its rough u and gap."""
        u, self._known = self._known, None
        if u is None:
            support = np.flatnonzero(beta)
            u = self.blocks.product(support, beta[support], np.arange(self.problem.n), rough=True)
        return self.problem.build_point(beta, u)
