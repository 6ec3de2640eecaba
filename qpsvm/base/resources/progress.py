"""Measure time, log progress, and defer Ctrl-C (`Clock`, `Pulse`, `log_message`, `defer_interrupt`).

The clock of one run: its time limit and the interrupt key.

What a solve says while it works: to the logger "qpsvm", and where `verbose` asks for it on standard output.

Nothing is printed by default. A program that configures logging gets the messages in its own way and place:
`logging.basicConfig(level=logging.INFO)` shows the choice of backend, signs of life and the certified gap of each
solve, and `logging.DEBUG` a line an iteration too. `verbose=True` shows all of them for one call; where the
program's own logging takes a message, it is not printed a second time.

Whether a call is verbose travels with the call, and not in the logger, which all threads share: so no thread makes
another one's solve talk.

Ctrl-C is deferred instead of raised while a built-in solver runs.

A solver interrupted in the middle of a step leaves no point. One that checks `is_interrupted()` between steps ends with
its best point, which is certified like any other. A second Ctrl-C raises `KeyboardInterrupt` as usual.

As in Python, only the main thread receives Ctrl-C: solves in other threads neither defer nor see it. If the main thread
only waits for them, Ctrl-C raises `KeyboardInterrupt` there at once, and the solves continue.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any, Literal

from qpsvm.base.errors import ParameterError

#: The functions behind those of `signal`, which take ten times as long to look a handler up among their own names.
_calls: Any = getattr(signal, "_signal", signal)


class _InterruptKey:
    """Whether the main thread holds the key, and whether the key has been pressed since."""

    is_deferred = False
    was_pressed = False


def is_interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the run of this thread began."""
    return (
        _InterruptKey.is_deferred
        and _InterruptKey.was_pressed
        and threading.current_thread() is threading.main_thread()
    )


class defer_interrupt:
    """A block that defers Ctrl-C until it ends.

    Nothing changes in threads other than the main one, where another handler is installed, or in a nested block:
    there the outer one defers.
    """

    def __enter__(self) -> None:
        self._ours = (
            not _InterruptKey.is_deferred
            and threading.current_thread() is threading.main_thread()
            and _calls.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            _InterruptKey.was_pressed = False
            _calls.signal(signal.SIGINT, _note_interrupt)
            _InterruptKey.is_deferred = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            _release_key()


def _release_key() -> None:
    """Release the key. The order is safe whenever the key is pressed in between."""
    _InterruptKey.is_deferred = False
    _calls.signal(signal.SIGINT, signal.default_int_handler)


def _note_interrupt(number: int, frame: Any) -> None:
    if (
        _InterruptKey.was_pressed or not _InterruptKey.is_deferred
    ):  # pressed again, or while the block was entered or left
        _release_key()  # first, because the next line may leave any block in the middle
        signal.default_int_handler(number, frame)
    _InterruptKey.was_pressed = True


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
    def remaining(self) -> float:
        """Seconds left; infinite without a limit."""
        return float("inf") if self.limit is None else self.limit - self.seconds

    def find_stop_reason(self, next_step_seconds: float = 0.0) -> Literal["time_limit", "interrupted"] | None:
        """Return why to stop now, or None; evaluated between two steps, the next of which takes `coming` seconds."""
        if is_interrupted():
            return "interrupted"
        return "time_limit" if self.limit is not None and self.seconds + next_step_seconds > self.limit else None


LOGGER = logging.getLogger("qpsvm")
LOGGER.addHandler(logging.NullHandler())
#: How far a solve is, at DEBUG: whoever draws a bar listens to this one, and finds the numbers in the record.
PROGRESS = logging.getLogger("qpsvm.progress")


def is_logging(verbose: bool, level: int = logging.INFO) -> bool:
    """Return whether messages are shown: by `verbose`, or by a program that logs this level."""
    return verbose or LOGGER.isEnabledFor(level)


def log_message(text: str, verbose: bool) -> None:
    """Log a message at INFO; with `verbose` and without a handler, print it."""
    _log_at(text, verbose, logging.INFO, "qpsvm: ")


def log_step(text: str, verbose: bool) -> None:
    """Log a message of one iteration: at INFO with `verbose`, otherwise at DEBUG."""
    _log_at(text, verbose, logging.INFO if verbose else logging.DEBUG, "")


def log_progress(stage: str, gap: float, passes: int | None = None, rows: int | None = None) -> None:
    """Log how far a solve is: its stage and relative gap, and passes so far over so many rows, where these are counted.

    The record has them as `stage`, `gap`, `passes` and `rows`.
    """
    if PROGRESS.isEnabledFor(logging.DEBUG):
        measures = {"stage": stage, "gap": gap, "passes": passes, "rows": rows}
        counted = "" if passes is None else f"pass {passes}, "
        PROGRESS.debug(f"{stage}: {counted}gap {gap:.1e}", extra=measures, stacklevel=2)


def log_done(done: int, total: int, unit: str) -> None:
    """Log how many solves, or other units, of how many are done. The record has them as `done`, `total` and `unit`."""
    if PROGRESS.isEnabledFor(logging.DEBUG):
        PROGRESS.debug(f"{done} of {total} {unit}s", extra={"done": done, "total": total, "unit": unit}, stacklevel=2)


def _log_at(text: str, verbose: bool, level: int, prefix: str) -> None:
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, text, stacklevel=3)
    if verbose and not _has_handler(level):
        print(f"{prefix}{text}", flush=True)


def _has_handler(level: int) -> bool:
    """Return whether a program's own handler receives messages of this level."""
    if not LOGGER.isEnabledFor(level):
        return False
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(each.level <= level and not isinstance(each, logging.NullHandler) for each in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


#: Seconds between lines.
PULSE_SECONDS = 2.0


class Pulse:
    """Reports every two seconds, while the block runs, what is being done and for how long.

    verbose: Without it, and where no program logs INFO, no thread is started.
    activity: What is being done, in words. It may be set to something else as the work goes on.
    """

    def __init__(self, verbose: bool, activity: str) -> None:
        self.activity = activity
        self._verbose = verbose
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Pulse:
        if is_logging(self._verbose):
            self._began, self._done = time.perf_counter(), threading.Event()
            self._thread = threading.Thread(target=self._report, name="qpsvm progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()

    def _report(self) -> None:
        while not self._done.wait(PULSE_SECONDS):
            log_message(f"{time.perf_counter() - self._began:.0f} s, {self.activity}", self._verbose)
