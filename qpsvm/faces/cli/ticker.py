"""Show the progress of a long command in one line, which is erased when the work ends (`Ticker`).

If standard error is not a terminal, nothing is shown, so that piped output is unchanged. With `--verbose` the same text
is printed on standard output, one line every two seconds.
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from types import TracebackType

from qpsvm.base.resources.messages import PROGRESS
from qpsvm.base.resources.pulse import PULSE_SECONDS

#: Seconds between updates of the line, and before the first; shorter work shows none.
UPDATE_SECONDS = 0.5
#: Number of characters of a progress bar.
BAR_WIDTH = 20


class Ticker(logging.Handler):
    """Context manager that shows the activity, the elapsed time, and the last logged progress while its block runs.

    As a log handler it stores the last record of a solver and the last count of finished solves; a thread draws them.

    activity: Description of the activity. It may be changed as the work proceeds.
    verbose: Print on standard output.
    """

    def __init__(self, activity: str, verbose: bool = False) -> None:
        super().__init__(logging.DEBUG)
        self.activity = activity
        self._verbose = verbose
        self._draws_line = not verbose and sys.stderr is not None and sys.stderr.isatty()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._solver_record: logging.LogRecord | None = None
        self._count_record: logging.LogRecord | None = None

    def __enter__(self) -> Ticker:
        self._start = time.perf_counter()
        if self._draws_line or self._verbose:
            self._previous_level = PROGRESS.level
            PROGRESS.setLevel(logging.DEBUG)
            PROGRESS.addHandler(self)
            self._thread = threading.Thread(target=self._tick, name="qpsvm line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            PROGRESS.removeHandler(self)
            PROGRESS.setLevel(self._previous_level)
        if self._draws_line:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Store the record of a solver or a count in place of the previous one."""
        if "total" in record.__dict__:
            self._count_record = record
        else:
            self._solver_record = record

    def _tick(self) -> None:
        """Update the line at regular intervals until the block ends."""
        while not self._done.wait(UPDATE_SECONDS if self._draws_line else PULSE_SECONDS):
            seconds = time.perf_counter() - self._start
            if self._count_record is None:
                progress = f", {seconds:.0f} s{_describe_progress(self._solver_record, seconds)}"
            else:
                progress = _draw_bar(self._count_record, seconds)
            line = f"{self.activity}{progress}"
            if self._draws_line:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\033[K{line[:width]}")
                sys.stderr.flush()
            else:
                print(f"qpsvm: {line}", flush=True)


def _describe_progress(record: logging.LogRecord | None, seconds: float) -> str:
    """Describe the progress that a solver logged: stage, passes, gap, and rows per second; "" without a record."""
    if record is None:
        return ""
    values = record.__dict__
    passes = "" if values["passes"] is None else f", pass {values['passes']}"
    speed = ""
    if values["passes"] and values["rows"] and seconds > 0.0:
        speed = f", {_format_large(values['passes'] * values['rows'] / seconds)} rows/s"
    return f", {values['stage']}{passes}, gap {values['gap']:.1e}{speed}"


def _draw_bar(record: logging.LogRecord, seconds: float) -> str:
    """Draw a progress bar of finished solves, with an estimate of the remaining time."""
    done, total = record.__dict__["done"], record.__dict__["total"]
    bar = "#" * (BAR_WIDTH * done // max(total, 1))
    remaining = f", about {seconds * (total - done) / done:.0f} s left" if done else ""
    return f" [{bar:-<{BAR_WIDTH}}] {done} of {total}, {seconds:.0f} s{remaining}"


def _format_large(value: float) -> str:
    """Format a number with three digits and an SI prefix."""
    for size, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{prefix}"
    return f"{value:.3g}"
