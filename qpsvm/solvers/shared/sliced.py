"""LIBSVM's loop under a clock: in this process while it surely ends soon, apart where it may not.

The compiled loop can be told one thing only, how many iterations to make, and it always begins at 0. So

    first     in this process: as many iterations as surely end within a part of a second, if that is worth while
    between   under a time limit, in a child process: as many as surely end in time
    last      in a child process: as many as are allowed, until the key is pressed or the time is over

A child that is ended may leave nothing. The answer is then what the slice before it found. Where there is none, because
not one iteration surely ends in time, it is the point that the loop would have begun at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from qpsvm.base.resources.child_process import run_apart
from qpsvm.base.resources.progress import say_step
from qpsvm.solvers.shared.stopping import Clock

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


class Ended(Protocol):
    """What every loop here returns."""

    @property
    def finished(self) -> bool:
        """Whether its own test was met."""

    @property
    def iterations(self) -> int:
        """How many it made."""


R = TypeVar("R", bound=Ended)


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
    """Run a loop with at most so many iterations, as long as the clock allows.

    Raises FloatingPointError.
    """
    try:
        return _sliced(_Apart(loop, arguments, clock, verbose, hurries), n, most, within, nothing)
    except ValueError as error:
        raise FloatingPointError(str(error)) from error


def _sliced(apart: _Apart, n: int, most: int, within: Callable[[float], int], nothing: Callable[[], R]) -> R:
    """The longest slice that ends in time."""
    loop, arguments, clock = apart.loop, apart.arguments, apart.clock
    here = min(within(min(AT_ONCE, clock.left)), most)
    best: R | None = None
    if here == most or here >= WORTHWHILE * n:
        best = loop(*arguments, here)
        if best.finished or here == most:
            return best
    if clock.limit is not None:
        most, best = _measured(apart, most, min(within(CAUTION * clock.left), most), best, clock)
    if not clock.stopped() and (best is None or (not best.finished and best.iterations < most)):
        best = apart(most) or best
    return nothing() if best is None else best


def _measured(apart: _Apart, most: int, sure: int, best: Any, clock: Clock) -> tuple[int, Any]:
    """By a slice that measures: how many iterations may be made in the time left, and the best answer so far."""
    began = clock.seconds
    worth = sure > (0 if best is None else GAINS * best.iterations)
    slice_ = apart(sure) if worth else None
    if slice_ is None:
        return most, best
    if slice_.finished or slice_.iterations >= most:
        return 0, slice_
    speed = slice_.iterations / max(clock.seconds - began, 1e-9)
    return min(most, int(CONFIDENCE * speed * max(clock.left, 0.0))), slice_


class _Apart:
    """The loop in a child process; None where the clock ended it."""

    def __init__(
        self, loop: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, verbose: bool, hurries: bool
    ) -> None:
        self.loop, self.arguments, self.clock, self.verbose = loop, arguments, clock, verbose
        self._began = self._said = time.perf_counter()
        self._grace = GRACE if clock.limit is None else min(GRACE, GRACE_SHARE * clock.limit)
        self._grace = self._grace if hurries else 0.0

    def __call__(self, most: int) -> Any:
        if self.clock.stopped():
            return None
        try:
            return run_apart(self.loop, (*self.arguments, most), self._stopped, self._grace)
        except OSError:  # no child process can be had: the loop is not to be stopped, but it ends
            return self.loop(*self.arguments, most)

    def _stopped(self) -> bool:
        now = time.perf_counter()
        if now - self._said > SIGN_OF_LIFE:
            self._said = now
            say_step(f"{'loop':>12}  has been running for {now - self._began:.1f} s", self.verbose)
        return self.clock.stopped() is not None
