"""The processes that a test leaves behind."""

import os
from contextlib import suppress
from pathlib import Path


def children() -> set[str]:
    """The processes that have this one as their parent, ended or not (Linux)."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(path.parent.name)
    return found


def seconds_of(processes: set[str]) -> float:
    """Their processor time so far, which a busy machine does not stretch (Linux)."""
    ticks = 0
    for process in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
