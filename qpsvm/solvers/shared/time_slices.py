"""Run LIBSVM's compiled loop under a clock, in slices (`run_sliced`).

The compiled loop can be told one thing only, how many iterations to make, and it always begins at 0. So

    first     in this process: as many iterations as surely end within a part of a second, if that is worth while
    between   under a time limit, in a child process: as many as surely end in time
    last      in a child process: as many as are allowed, until Ctrl-C is pressed or the time is over

A child that is ended may leave nothing. The answer is then what the slice before it found. If there is none, because
not one iteration surely ends in time, it is the point at which the loop would have begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from qpsvm.base.resources.child_process import run_in_child
from qpsvm.base.resources.clock import Clock
from qpsvm.base.resources.messages import log_step

#: Seconds that a slice in this process may take, by a pessimistic estimate: nothing is answered meanwhile.
AT_ONCE = 0.4
#: Iterations a row that are worth a slice in this process before the loop runs apart: most loops end within them.
WORTHWHILE = 5
#: A slice between the first and the last must make so many times as many iterations as the first.
GAINS = 5
#: Share of the seconds left that a slice is given: where its speed is a guess, and where it has been measured.
CAUTION, CONFIDENCE = 0.3, 0.8
#: Seconds that a loop may take to end by itself when it is told to; under a time limit at most this share of the limit.
GRACE, GRACE_SHARE = 0.8, 0.1
#: Seconds between two signs of life.
SIGN_OF_LIFE = 2.0


class LoopOutcome(Protocol):
    """Common part of the results of all loops."""

    @property
    def converged(self) -> bool:
        """Whether the loop's own test was met."""

    @property
    def iterations(self) -> int:
        """Number of iterations made."""


R = TypeVar("R", bound=LoopOutcome)


def run_sliced(
    loop: Callable[..., R],
    arguments: tuple[Any, ...],
    n: int,
    most: int,
    within: Callable[[float], int],
    nothing: Callable[[], R],
    clock: Clock,
    verbose: bool = False,
    *,
    hurries: bool = False,
) -> R:
    """Run a loop with at most so many iterations, as long as the clock allows. Raises FloatingPointError."""
    try:
        return _run_longest_slice(_ChildProcessLoop(loop, arguments, clock, verbose, hurries), n, most, within, nothing)
    except ValueError as error:
        raise FloatingPointError(str(error)) from error


def _run_longest_slice(
    apart: _ChildProcessLoop, n: int, most: int, within: Callable[[float], int], nothing: Callable[[], R]
) -> R:
    """Run the longest slice that ends in time."""
    loop, arguments, clock = apart.loop, apart.arguments, apart.clock
    here = min(within(min(AT_ONCE, clock.remaining)), most)
    best: R | None = None
    if here == most or here >= WORTHWHILE * n:
        best = loop(*arguments, here)
        if best.converged or here == most:
            return best
    if clock.limit is not None:
        most, best = _measure_speed(apart, most, min(within(CAUTION * clock.remaining), most), best, clock)
    if not clock.find_stop_reason() and (best is None or (not best.converged and best.iterations < most)):
        best = apart(most) or best
    return nothing() if best is None else best


def _measure_speed(apart: _ChildProcessLoop, most: int, sure: int, best: Any, clock: Clock) -> tuple[int, Any]:
    """Measure the speed by a slice: return the iterations that fit the remaining time, and the best result so far."""
    began = clock.seconds
    worth = sure > (0 if best is None else GAINS * best.iterations)
    slice_ = apart(sure) if worth else None
    if slice_ is None:
        return most, best
    if slice_.converged or slice_.iterations >= most:
        return 0, slice_
    speed = slice_.iterations / max(clock.seconds - began, 1e-9)
    return min(most, int(CONFIDENCE * speed * max(clock.remaining, 0.0))), slice_


class _ChildProcessLoop:
    """The loop in a child process; None where the clock ended it."""

    def __init__(
        self, loop: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, verbose: bool, hurries: bool
    ) -> None:
        self.loop, self.arguments, self.clock, self.verbose = loop, arguments, clock, verbose
        self._began = self._said = time.perf_counter()
        self._grace = GRACE if clock.limit is None else min(GRACE, GRACE_SHARE * clock.limit)
        self._grace = self._grace if hurries else 0.0

    def __call__(self, most: int) -> Any:
        if self.clock.find_stop_reason():
            return None
        try:
            return run_in_child(self.loop, (*self.arguments, most), self._is_stopped, self._grace)
        except OSError:  # no child process can be had: the loop is not to be stopped, but it ends
            return self.loop(*self.arguments, most)

    def _is_stopped(self) -> bool:
        now = time.perf_counter()
        if now - self._said > SIGN_OF_LIFE:
            self._said = now
            log_step(f"{'loop':>12}  has been running for {now - self._began:.1f} s", self.verbose)
        return self.clock.find_stop_reason() is not None
