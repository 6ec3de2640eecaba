"""The interrupt key (Ctrl-C), noted instead of raised while one of our own solvers runs.

A solver that is torn out of the middle of a step leaves no point. One that asks `noted()` between steps ends with its
best point, which is certified like any other. Pressed a second time, the key raises `KeyboardInterrupt` as usual.

As in Python, the key belongs to the main thread: solves in other threads neither hold it nor see it. Where the main
thread only waits for them, the key raises `KeyboardInterrupt` there at once, and the solves go on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: The functions behind those of `signal`, which take ten times as long to look a handler up among their own names.
_calls: Any = getattr(signal, "_signal", signal)


class _Key:
    """Whether the main thread holds the key, and whether the key has been pressed since."""

    held = False
    pressed = False


#: Whether somebody who waits for this thread has pressed the key.
_elsewhere = threading.local()


def noted() -> bool:
    """Whether the key has been pressed since the run of this thread began: here, or where its result is waited for."""
    if getattr(_elsewhere, "pressed", False):
        return True
    return _Key.held and _Key.pressed and threading.current_thread() is threading.main_thread()


@contextmanager
def for_another() -> Iterator[Callable[[], None]]:
    """A run of this thread for somebody elsewhere, whose key counts as the thread's own: call it when it is pressed."""

    def press() -> None:
        _elsewhere.pressed = True

    try:
        yield press
    finally:
        _elsewhere.pressed = False


class held:
    """Note the key while the block runs, instead of raising an error.

    Nothing changes in other threads than the main one, where somebody else handles the key, or in a block within a
    block: there the outer one holds the key.
    """

    def __enter__(self) -> None:
        self._ours = (
            not _Key.held
            and threading.current_thread() is threading.main_thread()
            and _calls.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            _Key.pressed = False
            _calls.signal(signal.SIGINT, _note)
            _Key.held = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            _let_go()


def _let_go() -> None:
    """Give the key back. The order leaves nothing undone, whenever the key is pressed in between."""
    _Key.held = False
    _calls.signal(signal.SIGINT, signal.default_int_handler)


def _note(number: int, frame: Any) -> None:
    if _Key.pressed or not _Key.held:  # pressed again, or while the block was entered or left
        _let_go()  # first, because the next line may leave any block in the middle
        signal.default_int_handler(number, frame)
    _Key.pressed = True


__all__ = ["for_another", "held", "noted"]
