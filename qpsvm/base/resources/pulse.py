"""Report every two seconds what a long step is doing (`Pulse`)."""

from __future__ import annotations

import threading
import time

from qpsvm.base.resources.messages import is_logging, log_message

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
