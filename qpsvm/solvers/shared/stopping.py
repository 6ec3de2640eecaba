"""Limit and report the runs of solvers (`Budget`), and run compiled loops in slices under a clock (`run_sliced`).

LIBSVM's loop under a clock: in this process while it surely ends soon, apart where it may not.

The compiled loop can be told one thing only, how many iterations to make, and it always begins at 0. So

    first     in this process: as many iterations as surely end within a part of a second, if that is worth while
    between   under a time limit, in a child process: as many as surely end in time
    last      in a child process: as many as are allowed, until the key is pressed or the time is over

A child that is ended may leave nothing. The answer is then what the slice before it found. Where there is none, because
not one iteration surely ends in time, it is the point that the loop would have begun at.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from qpsvm.base.errors import ParameterError
from qpsvm.base.resources.child_process import run_in_child
from qpsvm.base.resources.progress import Clock, is_logging, log_step

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

    is_logging: Whether anybody reads the lines that are reported.
    steps: Steps made: whoever makes one counts it here.
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
        """Show one line, if anybody reads it: stage and number, each measure by its name, and the seconds."""
        gap = measures.get("gap")
        if self.tell is not None and isinstance(gap, float):
            self.tell(stage, gap)
        if self.is_logging:
            said = f"{stage:<14} {number:7d}"
            for name, value in measures.items():
                form = "" if isinstance(value, str) else "7d" if isinstance(value, int) else "8.1e"
                said += f"  {name.replace('_', ' ')} {value:{form}}"
            self.log(f"{said}  {self.clock.seconds:8.3f} s")

    def log(self, line: str) -> None:
        """Log a line of the run."""
        log_step(line, self.verbose)


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
