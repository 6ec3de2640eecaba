"""The clock of one run: its time limit and the interrupt key."""

from __future__ import annotations

import time
from typing import Literal

from qpsvm.errors import ParameterError
from qpsvm.resources.interrupts import noted


class Clock:
    """A clock that runs from when it is made.

    limit: Seconds allowed.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit >= 0:
            raise ParameterError(f"time_limit must be a number of seconds >= 0 or None, got {limit}")
        self.limit = limit
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        """Seconds left; infinite without a limit."""
        return float("inf") if self.limit is None else self.limit - self.seconds

    def stopped(self, coming: float = 0.0) -> Literal["time_limit", "interrupted"] | None:
        """Why to stop now, or None. Asked between two steps, the next of which takes `coming` seconds."""
        if noted():
            return "interrupted"
        return "time_limit" if self.limit is not None and self.seconds + coming > self.limit else None
