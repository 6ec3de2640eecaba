"""Run LIBSVM's compiled loop under a clock, in slices (`run_sliced`).

The only limit of the compiled loop is its number of iterations, and it always starts at 0. So there are up to three
runs:

    first     in this process: as many iterations as surely fit into a fraction of a second, if that is worthwhile
    between   under a time limit, in a child process: as many as surely finish in time
    last      in a child process: as many as allowed, until Ctrl-C is pressed or the time is over

A child process that is stopped may return nothing. Then the result of the previous slice is returned. If there is none,
because not even one iteration surely finishes in time, the start of the loop is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from qpsvm.base.resources.child_process import run_in_child
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import log_step

#: Limit of the seconds of a slice in this process, by a pessimistic estimate: it cannot be interrupted.
AT_ONCE = 0.4
#: Multiple of `iteration_unit` that is worth a slice in this process before a child process: most loops converge in it.
WORTHWHILE = 5
#: The slice between the first and the last must have at least this many times as many iterations as the first.
MIN_GROWTH = 5
#: Share of the remaining seconds that a slice may use: if its speed is a guess, and if it has been measured.
CAUTION, CONFIDENCE = 0.3, 0.8
#: Seconds that a loop may take to stop after a request; under a time limit, at most this share of the limit.
GRACE, GRACE_SHARE = 0.8, 0.1
#: Seconds between two log lines of a running loop.
LOG_INTERVAL = 2.0


class LoopOutcome(Protocol):
    """Common part of the results of all loops."""

    @property
    def converged(self) -> bool:
        """Whether the loop converged by its own test."""

    @property
    def iterations(self) -> int:
        """Number of iterations made."""


R = TypeVar("R", bound=LoopOutcome)


def run_sliced(
    loop: Callable[..., R],
    arguments: tuple[Any, ...],
    iteration_unit: int,
    max_iter: int,
    within: Callable[[float], int],
    build_start: Callable[[], R],
    clock: Clock,
    verbose: bool = False,
    *,
    can_stop: bool = False,
) -> R:
    """Run a loop with at most `max_iter` iterations, as long as the clock allows.

    loop: Called with the arguments and a limit of iterations.
    iteration_unit: The slice in this process is run only if `WORTHWHILE` times this many iterations fit into it. The
        number of rows for LIBSVM, a number of passes for LIBLINEAR.
    within: Return the number of iterations that surely fit into a time.
    build_start: Return the start of the loop as a result.
    can_stop: Whether the loop reacts to a stop request.

    Raises FloatingPointError.
    """
    try:
        return _run_longest_slice(
            _ChildProcessLoop(loop, arguments, clock, verbose, can_stop), iteration_unit, max_iter, within, build_start
        )
    except ValueError as error:
        raise FloatingPointError(str(error)) from error


def _run_longest_slice(
    child_loop: _ChildProcessLoop,
    iteration_unit: int,
    max_iter: int,
    within: Callable[[float], int],
    build_start: Callable[[], R],
) -> R:
    """Run up to three slices, and return the result of the longest that finished."""
    loop, arguments, clock = child_loop.loop, child_loop.arguments, child_loop.clock
    first_iterations = min(within(min(AT_ONCE, clock.remaining)), max_iter)
    best: R | None = None
    if first_iterations == max_iter or first_iterations >= WORTHWHILE * iteration_unit:
        best = loop(*arguments, first_iterations)
        if best.converged or first_iterations == max_iter:
            return best
    if clock.limit is not None:
        max_iter, best = _measure_speed(
            child_loop, max_iter, min(within(CAUTION * clock.remaining), max_iter), best, clock
        )
    if not clock.find_stop_reason() and (best is None or (not best.converged and best.iterations < max_iter)):
        best = child_loop(max_iter) or best
    return build_start() if best is None else best


def _measure_speed(
    child_loop: _ChildProcessLoop, max_iter: int, sure_iterations: int, best: Any, clock: Clock
) -> tuple[int, Any]:
    """Run a slice to measure the speed; return the iterations that fit the remaining time, and the best result."""
    start_time = clock.seconds
    is_worthwhile = sure_iterations > (0 if best is None else MIN_GROWTH * best.iterations)
    result = child_loop(sure_iterations) if is_worthwhile else None
    if result is None:
        return max_iter, best
    if result.converged or result.iterations >= max_iter:
        return 0, result
    speed = result.iterations / max(clock.seconds - start_time, 1e-9)
    return min(max_iter, int(CONFIDENCE * speed * max(clock.remaining, 0.0))), result


class _ChildProcessLoop:
    """The loop in a child process. A call returns its result, or None if the clock stopped it."""

    def __init__(
        self, loop: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, verbose: bool, can_stop: bool
    ) -> None:
        self.loop, self.arguments, self.clock, self.verbose = loop, arguments, clock, verbose
        self._start_time = self._last_log = time.perf_counter()
        self._grace = GRACE if clock.limit is None else min(GRACE, GRACE_SHARE * clock.limit)
        self._grace = self._grace if can_stop else 0.0

    def __call__(self, max_iter: int) -> Any:
        if self.clock.find_stop_reason():
            return None
        try:
            return run_in_child(self.loop, (*self.arguments, max_iter), self._is_stopped, self._grace)
        except OSError:  # no child process is available: run the loop here, without a stop
            return self.loop(*self.arguments, max_iter)

    def _is_stopped(self) -> bool:
        now = time.perf_counter()
        if now - self._last_log > LOG_INTERVAL:
            self._last_log = now
            log_step(f"{'loop':>12}  has been running for {now - self._start_time:.1f} s", self.verbose)
        return self.clock.find_stop_reason() is not None
