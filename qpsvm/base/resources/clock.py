"""Measure the time of a run against its limit (`Clock`)."""

from __future__ import annotations

import time
from typing import Literal

from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.interrupt import is_interrupted


class Clock:
    """A clock that starts when it is created.

    limit: Seconds allowed.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit >= 0:
            raise ParameterError(f"time_limit must be a number of seconds >= 0 or None, got {limit}")
        self.limit = limit
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    @property
    def remaining(self) -> float:
        """Remaining seconds; infinite without a limit."""
        return float("inf") if self.limit is None else self.limit - self.seconds

    def find_stop_reason(self, next_step_seconds: float = 0.0) -> Literal["time_limit", "interrupted"] | None:
        """Return why to stop now, or None; evaluated between two steps, the next of which takes this long."""
        if is_interrupted():
            return "interrupted"
        if self.limit is not None and self.seconds + next_step_seconds > self.limit:
            return "time_limit"
        return None
