"""What a kernel solve may spend, and what it has spent: seconds, iterations of LIBSVM's loop, Newton steps."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.progress import heard, say_step
from qpsvm.solvers.kernel.dual import KernelDual
from qpsvm.solvers.kernel.libsvm import libsvm_loop
from qpsvm.solvers.shared.stopping import MOST_ITERATIONS, Clock, StopReason


@dataclass(frozen=True)
class Settings:
    """Limits of what cannot be interrupted, and of LIBSVM's loop."""

    #: Iterations that one run of the loop may take, a row and besides. Newton steps go on from there.
    per_row: int = 100
    besides: int = 20_000
    #: The same of a short run. The loop finds which rows support faster than anything else, and is slow to find the
    #: last digits where C is large: where it needs more iterations than this, Newton steps are cheaper. Of a hundred
    #: rows an iteration costs next to nothing.
    short_per_row: int = 2
    short_besides: int = 1500
    #: Seconds of an entry of a Gram matrix in double precision, besides for each feature, and of Newton steps over m
    #: rows in units of m³: as pessimistic. They are not begun where they would not end in time.
    gram_seconds: float = 20e-9
    gram_feature_seconds: float = 0.1e-9
    newton_seconds: float = 1.5e-11


SETTINGS = Settings()


@dataclass(eq=False)
class Effort:
    """What a solve may spend, and what it has spent.

    loop_iterations or None: Allowed in LIBSVM's loop, all runs together.
    iterations, newton_steps: Loop iterations and Newton steps made.
    shortened: Something was left out, or cut short, because it might not have ended in time.
    """

    seconds: float | None = None
    loop_iterations: int | None = None
    verbose: bool = False
    iterations: int = 0
    newton_steps: int = 0
    shortened: bool = False
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.seconds)

    def late(self) -> bool:
        """Whether the time is over, or the user has interrupted."""
        return self.clock.stopped() is not None

    def over(self) -> bool:
        """Whether it is late, or the loop's iterations are used up."""
        return self.late() or self.exhausted()

    def exhausted(self) -> bool:
        """Whether the loop's iterations are used up."""
        return self.loop_iterations is not None and self.iterations >= self.loop_iterations

    def loop(
        self,
        problem: KernelDual,
        data: FloatArray,
        tol: float,
        gamma: float | None = None,
        short: bool = False,
        most: int = MOST_ITERATIONS,
    ) -> FloatArray:
        """LIBSVM's loop within what is left, with at most so many iterations. β (n,)."""
        limit = SETTINGS.per_row * problem.n + SETTINGS.besides
        if short:
            limit = SETTINGS.short_per_row * problem.n + SETTINGS.short_besides
        limit = min(limit, most)
        if self.loop_iterations is not None:
            limit = min(limit, max(self.loop_iterations - self.iterations, 1))
        result = libsvm_loop(problem, data, limit, self.clock, gamma=gamma, tol=tol, verbose=self.verbose)
        self.shortened |= self.seconds is not None and not result.finished and result.iterations < limit
        self.iterations += result.iterations
        return result.beta

    def affords(self, m: int, width: int, newton: bool = True) -> bool:
        """Whether a Gram matrix of m rows of so many features, and Newton steps on it, would end in time."""
        each = SETTINGS.gram_seconds + SETTINGS.gram_feature_seconds * width
        needed = each * m**2 + newton * SETTINGS.newton_seconds * m**3
        affordable = self.seconds is None or needed < self.clock.left
        self.shortened |= not affordable
        return affordable

    def reason(self, converged: bool) -> StopReason:
        """Why the solve ended."""
        stopped = self.clock.stopped()
        if converged or stopped:
            return "converged" if converged else stopped or "time_limit"
        if self.shortened:
            return "time_limit"
        return "iteration_limit" if self.exhausted() else "numerical_error"

    def report(self, what: str, rows: int, gap: float) -> None:
        """Show one line, if anybody reads it."""
        if heard(self.verbose, logging.DEBUG):
            say_step(
                f"{what:>12}  rows {rows:7d}  gap {gap:8.1e}  loop iterations {self.iterations:8d}  "
                f"Newton steps {self.newton_steps:4d}  {self.clock.seconds:8.3f} s",
                self.verbose,
            )


__all__ = ["Effort"]
