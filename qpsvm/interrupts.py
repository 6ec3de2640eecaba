"""The interrupt key (Ctrl-C), noted instead of raised while one of our own solvers runs.

A solver that is torn out of the middle of a step leaves no point. One that looks at `noted()` between steps ends with
its best one, which is certified like any other. Pressed a second time, the key raises `KeyboardInterrupt` as usual.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_pressed = threading.Event()


def noted() -> bool:
    """Whether the key has been pressed since the run began."""
    return _pressed.is_set()


@contextmanager
def held() -> Iterator[None]:
    """Note the key while the block runs; nothing changes outside the main thread, or where somebody else handles it."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # also where it is held already: the handler is ours then
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _pressed.clear()


def _note(number: int, frame: Any) -> None:
    if _pressed.is_set():
        signal.default_int_handler(number, frame)
    _pressed.set()
