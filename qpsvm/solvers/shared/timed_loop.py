"""Run a compiled loop that checks neither a clock nor Ctrl-C within a time limit (`run_within_time`).

The only limit of such a loop is its number of iterations, and it always starts anew. Without a time limit it runs once.
Under one, a first run makes the iterations that surely finish in time. As long as the measured speed promises many
more, another run follows. On Ctrl-C a run ends as it would have ended otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from qpsvm.base.resources.clock import Clock

#: A run is repeated if the next one can make at least this many times as many iterations.
MIN_GROWTH = 2.0
#: Share of the remaining seconds that a run may use: if its speed is a guess, and if it has been measured.
CAUTION, CONFIDENCE = 0.3, 0.8


class LoopOutcome(Protocol):
    """Common part of the results of all loops."""

    @property
    def converged(self) -> bool:
        """Whether the loop converged by its own test."""

    @property
    def iterations(self) -> int:
        """Number of iterations made."""


R = TypeVar("R", bound=LoopOutcome)


def run_within_time(
    loop: Callable[[int], R],
    max_iter: int,
    estimate_iterations: Callable[[float], int],
    build_start: Callable[[], R],
    clock: Clock,
) -> R:
    """Run a loop with at most `max_iter` iterations, as long as the clock allows.

    loop: Called with a limit of iterations.
    estimate_iterations: Return the number of iterations that surely fit into a time.
    build_start: Return the start of the loop as a result, for a clock that does not allow one iteration.
    """
    if clock.limit is None:
        return loop(max_iter)
    best: R | None = None
    iterations = min(estimate_iterations(CAUTION * clock.remaining), max_iter)
    while iterations > (0 if best is None else MIN_GROWTH * best.iterations) and not clock.find_stop_reason():
        start_time = clock.seconds
        best = loop(iterations)
        if best.converged or iterations == max_iter:
            break
        speed = best.iterations / max(clock.seconds - start_time, 1e-9)
        iterations = min(int(CONFIDENCE * speed * max(clock.remaining, 0.0)), max_iter)
    return build_start() if best is None else best
