"""Limit and report the run of a solver (`Budget`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import is_logging, log_step

#: The most iterations that LIBSVM and LIBLINEAR can count, in 32 bits.
MAX_ITERATIONS = int(np.iinfo(np.int32).max)
#: Why a run ended. It is the method's own word: how good the point is, a certificate says.
#: ``infeasible`` is said only where it is proven (the rows cannot be met within the box).
StopReason: TypeAlias = Literal[
    "converged", "iteration_limit", "time_limit", "interrupted", "numerical_error", "infeasible"
]
#: Takes W (d + 1,), τ, σ, the relative gap and the stage of a run.
#: Takes the stage and the relative gap.
Tell: TypeAlias = Callable[[str, float], None]


class Budget:
    """Limits and counters of one run with all its stages.

    is_logging: Whether the reported lines are displayed.
    steps: Steps made: the code that makes one counts it here.
    tell: Takes stage and gap of each report.
    """

    def __init__(
        self,
        most: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        if most is not None and most < 1:
            raise ParameterError(f"max_iter must be at least 1, got {most}")
        self.max_steps, self.verbose, self.steps = most, verbose, 0
        self.is_logging = is_logging(verbose, logging.DEBUG)
        self.clock = Clock(time_limit)
        self.tell: Tell | None = None

    def find_stop_reason(self, coming: float = 0.0) -> StopReason | None:
        """Return the limit that is reached, or would be by a step of `coming` seconds, or the interrupt; else None."""
        used_up = self.max_steps is not None and self.steps >= self.max_steps
        stopped = self.clock.find_stop_reason(coming)
        return stopped or ("iteration_limit" if used_up else None)

    def report(self, stage: str, number: int, **measures: float | str) -> None:
        """Show one line, if it is displayed: stage and number, each measure by its name, and the seconds."""
        gap = measures.get("gap")
        if self.tell is not None and isinstance(gap, float):
            self.tell(stage, gap)
        if self.is_logging:
            text = f"{stage:<14} {number:7d}"
            for name, value in measures.items():
                form = "" if isinstance(value, str) else "7d" if isinstance(value, int) else "8.1e"
                text += f"  {name.replace('_', ' ')} {value:{form}}"
            self.log(f"{text}  {self.clock.seconds:8.3f} s")

    def log(self, line: str) -> None:
        """Log a line of the run."""
        log_step(line, self.verbose)
