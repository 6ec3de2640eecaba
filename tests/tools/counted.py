"""Clocks that count how often they are looked at: a busy machine does not make them go faster."""

from typing import Literal

from qpsvm.base.resources.clock import Clock


class CountingClock(Clock):
    """A clock whose time is over after it was asked `looks` times."""

    looks, seen = 0, 0

    def find_stop_reason(self, coming: float = 0.0) -> Literal["time_limit"] | None:  # noqa: ARG002
        """Whether it has been asked more often than that."""
        self.seen += 1
        return "time_limit" if self.seen > self.looks else None


class Ticks:
    """Stands for `time.perf_counter` and `time.monotonic`: each look at it is one tick later than the one before."""

    def __init__(self, tick: float) -> None:
        self.tick = tick
        self.now = 0.0

    def __call__(self) -> float:
        """The seconds, of which each look takes a tick."""
        self.now += self.tick
        return self.now
