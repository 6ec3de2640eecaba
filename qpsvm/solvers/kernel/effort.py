"""Budget of a kernel solve: limits and counters of time and iterations (`Effort`)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import is_logging, log_step
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.libsvm import LoopResult
from qpsvm.solvers.kernel.loop import KernelSamples, run_working_set_loop
from qpsvm.solvers.shared.budget import StopReason

#: Entries of K that are computed between two checks of the clock, which takes 0.1 s or 0.2 s.
ENTRIES_PER_CLOCK_CHECK = 5e7


@dataclass(frozen=True)
class EffortSettings:
    """Limits of the loop, and pessimistic cost estimates of the steps that cannot be interrupted."""

    #: Limit of the iterations of one run of the loop: per row, plus a constant. Newton steps continue from there.
    iterations_per_row: int = 100
    min_iterations: int = 20_000
    #: Seconds of an entry of a Gram matrix in double precision, per entry and per feature, and of Newton steps over m
    #: rows in units of m³.
    gram_seconds: float = 20e-9
    gram_feature_seconds: float = 0.1e-9
    newton_seconds: float = 1.5e-11


SETTINGS = EffortSettings()


@dataclass(eq=False)
class Effort:
    """Limits and counters of one kernel solve.

    seconds: Time limit; None for no limit.
    loop_iterations: Limit of the iterations of all runs of the working-set loop; None for no limit.
    iterations, newton_steps: Loop iterations and Newton steps made so far.
    is_shortened: Whether a step was skipped because it would not finish in time, or stopped by the time limit.
    """

    seconds: float | None = None
    loop_iterations: int | None = None
    verbose: bool = False
    iterations: int = 0
    newton_steps: int = 0
    is_shortened: bool = False
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.seconds)

    def is_late(self) -> bool:
        """Return whether the time is up or the user has interrupted."""
        return self.clock.find_stop_reason() is not None

    def is_over(self) -> bool:
        """Return whether the solve has to end: `is_late` or `is_exhausted`."""
        return self.is_late() or self.is_exhausted()

    def is_exhausted(self) -> bool:
        """Return whether the iterations of the loop are used up."""
        return self.loop_iterations is not None and self.iterations >= self.loop_iterations

    def run_loop(
        self,
        problem: KernelDual,
        data: NDArray[Any] | KernelSamples,
        tol: float,
        start: FloatArray | None = None,
        u: FloatArray | None = None,
    ) -> LoopResult:
        """Run the working-set loop within the remaining limits; the arguments are those of the loop."""
        limit = SETTINGS.iterations_per_row * problem.n + SETTINGS.min_iterations
        if self.loop_iterations is not None:
            limit = min(limit, max(self.loop_iterations - self.iterations, 1))
        result = run_working_set_loop(problem, data, tol, start=start, u=u, max_iter=limit, clock=self.clock)
        self.is_shortened |= self.seconds is not None and not result.converged and result.iterations < limit
        self.iterations += result.iterations
        return result

    def can_afford(self, m: int, width: int, with_newton: bool = True) -> bool:
        """Return whether a Gram matrix of m rows of `width` features, and Newton steps on it, would end in time.

        If not, the step counts as skipped, in `is_shortened`.
        """
        entry_seconds = SETTINGS.gram_seconds + SETTINGS.gram_feature_seconds * width
        needed_seconds = entry_seconds * m**2 + with_newton * SETTINGS.newton_seconds * m**3
        is_affordable = self.seconds is None or needed_seconds < self.clock.remaining
        self.is_shortened |= not is_affordable
        return is_affordable

    def find_stop_reason(self, converged: bool) -> StopReason:
        """Return the reason why the solve ended."""
        if converged:
            return "converged"
        if stop_reason := self.clock.find_stop_reason():
            return stop_reason
        if self.is_shortened:
            return "time_limit"
        return "iteration_limit" if self.is_exhausted() else "numerical_error"

    def report(self, stage: str, n_rows: int, gap: float) -> None:
        """Log one line, if logging is enabled."""
        if is_logging(self.verbose, logging.DEBUG):
            log_step(
                f"{stage:>12}  rows {n_rows:7d}  gap {gap:8.1e}  loop iterations {self.iterations:8d}  "
                f"Newton steps {self.newton_steps:4d}  {self.clock.seconds:8.3f} s",
                self.verbose,
            )
