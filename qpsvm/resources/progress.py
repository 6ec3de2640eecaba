"""A sign of life: a line every two seconds from work that prints nothing itself."""

from __future__ import annotations

import threading
import time

from qpsvm.resources.log import heard, say

#: Seconds between lines.
EVERY = 2.0


class Pulse:
    """Says every two seconds, while the block runs, what is being done and for how long.

    verbose: Without it, and where no program logs INFO, no thread is started.
    doing: What is being done, in words. It may be set to something else as the work goes on.
    """

    def __init__(self, verbose: bool, doing: str) -> None:
        self.doing = doing
        self._verbose = verbose
        self._done: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Pulse:
        if heard(self._verbose):
            self._began, self._done = time.perf_counter(), threading.Event()
            self._thread = threading.Thread(target=self._beat, args=(self._done,), name="qpsvm progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._done is not None:
            self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _beat(self, done: threading.Event) -> None:
        while not done.wait(EVERY):
            say(f"{time.perf_counter() - self._began:.0f} s, {self.doing}", self._verbose)
