"""How far a long command is: a line on the terminal that is alive, and gone when the work is done.

Where standard error is no terminal nothing is shown, so that what is piped stays as it is. With `--verbose` the same is
said on standard output, a line every two seconds.
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from types import TracebackType

from qpsvm.resources.log import PROGRESS
from qpsvm.resources.progress import EVERY

#: Seconds between two looks of the line, and before the first: what is over sooner shows none.
REDRAWN = 0.5


class Ticker:
    """Shows, while the block runs, what is being done, for how long, and what a solver says of its progress.

    doing: What is being done, in words. It may be set to something else as the work goes on.
    verbose: Say it on standard output.
    """

    def __init__(self, doing: str, verbose: bool = False) -> None:
        self.doing = doing
        self._verbose = verbose
        self._drawn = not verbose and sys.stderr is not None and sys.stderr.isatty()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._heard = _Heard()

    def __enter__(self) -> Ticker:
        self._began = time.perf_counter()
        if self._drawn or self._verbose:
            self._heard.listen()
            self._thread = threading.Thread(target=self._tick, name="qpsvm line", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._heard.leave()
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _tick(self) -> None:
        while not self._done.wait(REDRAWN if self._drawn else EVERY):
            seconds = time.perf_counter() - self._began
            line = f"{self.doing}, {seconds:.0f} s{self._heard.in_words(seconds)}"
            if self._drawn:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(f"\r\033[K{line[:width]}")
                sys.stderr.flush()
            else:
                print(f"qpsvm: {line}", flush=True)


class _Heard(logging.Handler):
    """The last that a solver has said of its progress."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._last: logging.LogRecord | None = None
        self._level = logging.NOTSET

    def listen(self) -> None:
        """From now on."""
        self._level = PROGRESS.level
        PROGRESS.setLevel(logging.DEBUG)
        PROGRESS.addHandler(self)

    def leave(self) -> None:
        """No more."""
        PROGRESS.removeHandler(self)
        PROGRESS.setLevel(self._level)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record in the place of the one before."""
        self._last = record

    def in_words(self, seconds: float) -> str:
        """Pass, gap, and rows a second."""
        if self._last is None:
            return ""
        said = self._last.__dict__
        counted = "" if said["passes"] is None else f", pass {said['passes']}"
        speed = ""
        if said["passes"] and said["rows"] and seconds > 0.0:
            speed = f", {_short(said['passes'] * said['rows'] / seconds)} rows/s"
        return f", {said['stage']}{counted}, gap {said['gap']:.1e}{speed}"


def _short(value: float) -> str:
    """A large number in few letters."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
