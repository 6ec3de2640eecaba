"""The interrupt key (Ctrl-C), noted instead of raised while one of our own solvers runs.

A solver that is torn out of the middle of a step leaves no point. One that looks at `noted()` between steps ends with
its best one, which is certified like any other. Pressed a second time, the key raises `KeyboardInterrupt` as usual.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

_pressed = threading.Event()


def noted() -> bool:
    """Whether the key has been pressed since the run began."""
    return _pressed.is_set()


class held:
    """Note the key while the block runs; nothing changes outside the main thread, or where somebody else handles it.

    A block within a block changes nothing either: the outer one holds the key.
    """

    _holding = False

    def __enter__(self) -> None:
        self._ours = (
            not held._holding
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            signal.signal(signal.SIGINT, _note)
            held._holding = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            held._holding = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _pressed.clear()


def _note(number: int, frame: Any) -> None:
    if _pressed.is_set():
        signal.default_int_handler(number, frame)
    _pressed.set()
