"""Processor time of a call, wherever it is spent: in this process, or in others that the call starts."""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from pathlib import Path


class ProcessorClock:
    """A clock that begins to run when it is made."""

    def __init__(self) -> None:
        self._children = _measure_ended() + _measure_living()
        self._own = time.process_time()

    @property
    def seconds(self) -> float:
        """Since then, of all threads of this process and of all processes that descend from it, ended or not."""
        own = time.process_time() - self._own
        return own + _measure_ended() + _measure_living() - self._children


def _measure_ended() -> float:
    """Seconds of the children that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure_living() -> float:
    """Seconds of the children that were not, and of theirs (Linux)."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (AttributeError, ChildProcessError):  # no `waitid`, or nearly always: no child
        return 0.0
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()  # before that is its name
            pid = int(path.parent.name)
            parents[pid] = int(fields[1])
            ticks[pid] = sum(map(int, fields[11:15]))
    family = set[int]()
    new = {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new}
        family |= new
    return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")
