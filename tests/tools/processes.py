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
