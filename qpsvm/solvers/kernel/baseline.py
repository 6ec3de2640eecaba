"""The baseline of a kernel solve: the working-set loop over all rows, and Newton steps from where it ends.

The loop runs to SVC's own tolerance. Newton steps on the rows that can still move then get the last digits. Where they
stall the loop goes on to the next tolerance, from where they have come to, until they do not. They need no end of the
loop, though: from any of its points they converge, the sooner the fewer rows can move. So while it runs they are the
first of its rivals (`floor`), by

    (BASE.1)  e_v F w + m(e_r F w + e_F F³):  m steps on F rows; w = n where whole rows of K are kept, else F

The compiled loop goes on from any point, on K in single precision. LIBSVM's begins anew, so it runs but once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qpsvm import core
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import available_memory
from qpsvm.solvers.kernel.dense import whole_matrix
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.kernel.floor import within
from qpsvm.solvers.kernel.initial_sets import rough_margin
from qpsvm.solvers.kernel.kernel_rows import KernelRows
from qpsvm.solvers.kernel.loop import Samples, by_itself
from qpsvm.solvers.kernel.newton_step import moving_rows, newton_polish
from qpsvm.solvers.kernel.nystrom import SingleArray
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import RBF


@dataclass(frozen=True)
class Settings:
    """Constants of the baseline."""

    #: The tolerances of the loop: SVC's own, each time this share of the one before, and the last.
    first: float = 1e-3
    finer: float = 0.1
    last: float = 1e-6
    #: Seconds of an entry of K in double precision, of one that is read again, and of a factorisation in units of F³;
    #: the steps that are expected.
    value: float = 4e-9
    entry: float = 2e-9
    cube: float = 1e-11
    steps: int = 4
    #: Whole rows are kept of so many bytes at most, and of this share of all rows. And K itself, for the loop.
    memory: float = 2e8
    few: float = 0.12
    stored: float = 4e8
    #: Newton steps after the loop may take so many times their forecast, or what the loop has taken; and these seconds.
    patience: float = 3.0
    at_once: float = 0.02
    most: int = 40


SETTINGS = Settings()


class Search(Protocol):
    """What the baseline needs of `engines.Engines`."""

    blocks: KernelBlocks
    problem: KernelDual
    target: float
    effort: Effort
    used: str

    @property
    def best(self) -> DualPoint:
        """The best point so far."""

    def keep(self, engine: str, point: DualPoint | None) -> bool:
        """Keep a point if it is the best; whether that ends the search."""

    def newton(self, engine: str, point: DualPoint, reach: float, most: int) -> bool:
        """Newton steps on a working set, from a point."""

    def measured(self, beta: FloatArray) -> DualPoint:
        """The point of a feasible β (n,)."""

    def whole_gram(self) -> None:
        """The engine `gram`."""


class WholeLoop:
    """`floor.Baseline` over all rows of an `Engines`.

    point: Where it stands.
    least, left: As forecast, of a loop that begins anew.
    """

    def __init__(self, engines: Search) -> None:
        self._engines = engines
        self.spent, self.least, self.left, self._tol = 0.0, 0.0, float("inf"), SETTINGS.first
        self.point: DualPoint | None = engines.best if engines.used != "none" else None
        self._rows: KernelRows | None = None
        self._data: SingleArray | Samples | None = None
        n = engines.problem.n
        self.resumes = core.compiled is not None and 4.0 * n * n <= min(SETTINGS.stored, 0.5 * available_memory())

    @property
    def able(self) -> bool:
        """Whether there is a loop over all rows: the kernel is known to it, or K can be made."""
        return self.resumes or (self._engines.blocks.samples is not None and by_itself(self._engines.problem))

    def go(self, seconds: float) -> bool:
        """Go on for so long; whether it has solved, or nothing is left to do."""
        effort = self._engines.effort
        if not self.able:
            self._engines.whole_gram()
            return True
        clock, before = effort.clock, self.spent
        began = clock.seconds
        if self._data is None:
            self._data = self._matrix() if self.resumes else self._samples()
            seconds += clock.seconds - began
        while not effort.over() and self._data is not None:
            with within(effort, seconds - (clock.seconds - began)):
                finished = self._loop()
            self.spent = before + clock.seconds - began
            if finished or not self.resumes:
                if self._polish() or self._tol <= SETTINGS.last or not self.resumes:
                    return True
                self._tol *= SETTINGS.finer
                self.spent = before + clock.seconds - began
            if self.spent - before >= seconds:
                return False
        return True

    def _matrix(self) -> SingleArray | None:
        return whole_matrix(self._engines.blocks, self._engines.effort)

    def _samples(self) -> Samples:
        kernel, X = self._engines.blocks.kernel, self._engines.blocks.samples
        assert isinstance(kernel, RBF)
        assert X is not None
        return Samples(kernel, X)

    def _loop(self) -> bool:
        """The loop, to its tolerance; whether it got there, or as far as rounding and its own limit let it."""
        engines, point, problem = self._engines, self.point, self._engines.problem
        start, u = (None, None) if point is None or not self.resumes else (point.beta, point.u)
        found = engines.effort.loop(problem, self._data, self._tol, start=start, u=u)  # type: ignore[arg-type]
        self.point = engines.measured(found.beta) if found.u is None else problem.point(found.beta, found.u)
        engines.effort.report("loop", problem.n, self.point.gap)
        engines.keep("libsvm", self.point)
        return found.finished or not engines.effort.late()

    def _moving(self) -> int:
        assert self.point is not None
        return len(moving_rows(self._engines.problem, self.point, self._engines.target))

    def newton_seconds(self) -> float:
        """(BASE.1)."""
        if self.point is None:
            return SETTINGS.at_once
        F, n = self._moving(), self._engines.problem.n
        width = n if self._whole(F) else F
        new = max(F - (0 if self._rows is None else self._rows.made), 0)
        return new * width * SETTINGS.value + SETTINGS.steps * (F * width * SETTINGS.entry + SETTINGS.cube * F**3)

    def _whole(self, F: int) -> bool:
        n = self._engines.problem.n
        return SETTINGS.few * n >= F and SETTINGS.memory >= 8.0 * F * n

    def _polish(self) -> bool:
        """Newton steps after the loop has ended."""
        if self._tol <= SETTINGS.last or not self.resumes:
            return self.newton()
        with within(self._engines.effort, max(SETTINGS.patience * self.newton_seconds(), self.spent, SETTINGS.at_once)):
            return self.newton()

    def newton(self) -> bool:
        """Newton steps from where the loop stands; whether they solved."""
        engines, point = self._engines, self.point
        assert point is not None
        F = self._moving()
        if not self._whole(F):
            engines.newton("libsvm", point, 0.0, engines.problem.n)
            return bool(engines.best.gap <= engines.target)
        blocks, effort, problem, target = engines.blocks, engines.effort, engines.problem, engines.target
        if self._rows is None:
            self._rows = KernelRows(blocks, F + F // 4)
        for _ in range(2):
            polished = newton_polish(self._rows, problem, point.beta, target, SETTINGS.most, point.u, effort.late)  # type: ignore[arg-type]
            effort.newton_steps += polished.steps
            point = polished.point
            effort.report("Newton", polished.largest, point.gap)
            if point.gap > target or effort.late():
                break
            point = self._exactly(point)
            if point.gap <= target:
                break
        self.point = point
        engines.keep("libsvm", point)
        return engines.best.gap <= target

    def _exactly(self, point: DualPoint) -> DualPoint:
        """The point with u in double precision, wherever that matters."""
        blocks, problem, margin = self._engines.blocks, self._engines.problem, rough_margin(point.beta)
        rest, capped = point.beta <= point.low, point.beta >= point.high
        away = np.where(rest, -point.gradient, np.where(capped, point.gradient, 0.0))
        near, support = np.flatnonzero(away <= margin), np.flatnonzero(point.beta)
        u = point.u.copy()
        u[near] = blocks.product(support, point.beta[support], near)
        return problem.point(point.beta, u)
