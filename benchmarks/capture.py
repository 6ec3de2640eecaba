"""What compiled code prints: it goes past `sys.stdout`, so the file descriptor itself is turned aside."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def capture_output() -> Iterator[Callable[[], str]]:
    """Standard output of the block, compiled code included; the function given returns it, after the block."""
    library = ctypes.CDLL(None)
    library.fflush(None)
    kept = os.dup(1)
    text = ""
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lambda: text
        finally:
            library.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text = file.read().decode(errors="replace")
