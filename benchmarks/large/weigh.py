"""Memory of processes beyond the page cache, sampled while they work, and what they read from a disk (Linux).

Pages of a mapped file count as resident, though the system takes them back whenever somebody needs the room. So the
figure is RssAnon + RssShmem, and not the usual RSS.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: What counts, in the words of /proc.
FIELDS = ("RssAnon:", "RssShmem:")
#: Seconds between two looks.
STEP = 0.02


def measure_memory(process: int) -> int:
    """Bytes that a process holds beyond the page cache, and all that it has started."""
    total = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(FIELDS):
                total += 1024 * int(line.split()[1])
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(map(measure_memory, map(int, (task / "children").read_text().split())))
    return total


def read_from_disk() -> int:
    """Bytes that this process has had to wait for from a disk so far: what was not in the page cache."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/io").read_text().splitlines():
            if line.startswith("read_bytes:"):
                return int(line.split()[1])
    return 0


@dataclass
class PeakMemory:
    """The most that was seen."""

    bytes: int = 0


@contextlib.contextmanager
def sample_memory(step: float = STEP) -> Iterator[PeakMemory]:
    """Sample the memory of this process and its children while the block runs."""
    peak = PeakMemory(measure_memory(os.getpid()))
    over = threading.Event()

    def watch_memory() -> None:
        while not over.is_set():
            peak.bytes = max(peak.bytes, measure_memory(os.getpid()))
            time.sleep(step)

    thread = threading.Thread(target=watch_memory, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
        peak.bytes = max(peak.bytes, measure_memory(os.getpid()))
