"""Limit the steps and seconds of a solver's run, and report its progress (`Budget`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import is_logging, log_step

#: The largest iteration count that every solver can hold, a 32-bit integer.
MAX_ITERATIONS = int(np.iinfo(np.int32).max)
#: Why a run ended, by the test of the method itself; a certificate measures how good the point is.
#: ``infeasible`` is used only if that is proven (no point of the box satisfies the rows).
StopReason: TypeAlias = Literal[
    "converged", "iteration_limit", "time_limit", "interrupted", "numerical_error", "infeasible"
]
#: Callback that receives the stage and the relative gap.
ProgressCallback: TypeAlias = Callable[[str, float], None]


class Budget:
    """Limits, in steps and seconds, of one run with all its stages; `max_steps` is the user's `max_iter`.

    steps: Steps so far; the solver increments it.
    is_logging: Whether the reported lines are displayed, as `verbose` and the level of the log demand.
    on_progress: Callback for each report with a gap; None for no callback.
    """

    def __init__(self, max_steps: int | None = None, time_limit: float | None = None, verbose: bool = False) -> None:
        if max_steps is not None and max_steps < 1:
            raise ParameterError(f"max_iter must be at least 1, got {max_steps}")
        self.max_steps = max_steps
        self.verbose = verbose
        self.steps = 0
        self.is_logging = is_logging(verbose, logging.DEBUG)
        self.clock = Clock(time_limit)
        self.on_progress: ProgressCallback | None = None

    def find_stop_reason(self, next_step_seconds: float = 0.0) -> StopReason | None:
        """Return why to stop before a step of this length: a limit or an interrupt; None to continue."""
        is_exhausted = self.max_steps is not None and self.steps >= self.max_steps
        return self.clock.find_stop_reason(next_step_seconds) or ("iteration_limit" if is_exhausted else None)

    def report(self, stage: str, count: int, **measures: float | str) -> None:
        """Call `on_progress` and, if logging is enabled, log one line: stage, count, named measures and seconds.

        count: The steps of the stage so far, or the rows that it works on.
        """
        gap = measures.get("gap")
        if self.on_progress is not None and isinstance(gap, float):
            self.on_progress(stage, gap)
        if self.is_logging:
            formats = {str: "", int: "7d"}
            text = f"{stage:<14} {count:7d}"
            for name, value in measures.items():
                text += f"  {name.replace('_', ' ')} {value:{formats.get(type(value), '8.1e')}}"
            self.log(f"{text}  {self.clock.seconds:8.3f} s")

    def log(self, line: str) -> None:
        """Log a line of the run."""
        log_step(line, self.verbose)
