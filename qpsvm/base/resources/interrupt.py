"""Defer Ctrl-C while a built-in solver runs (`defer_interrupt`, `is_interrupted`).

A solver interrupted within a step has no point to return. A solver that checks `is_interrupted()` between steps returns
its best point, which is certified like any other. A second Ctrl-C raises `KeyboardInterrupt` as usual.

As in Python, only the main thread receives Ctrl-C: solves in other threads neither defer nor see it. If the main thread
only waits for them, Ctrl-C raises `KeyboardInterrupt` there at once, and the solves continue.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

#: The C functions behind those of `signal`: ten times as fast, because they do not convert handlers to enums.
_signal_functions: Any = getattr(signal, "_signal", signal)


class _InterruptState:
    """State of the deferral: whether the main thread defers Ctrl-C, and whether it was pressed since."""

    is_deferred = False
    was_pressed = False


def is_interrupted() -> bool:
    """Return whether Ctrl-C was pressed since `defer_interrupt` was entered; always False in other threads."""
    return (
        _InterruptState.is_deferred
        and _InterruptState.was_pressed
        and threading.current_thread() is threading.main_thread()
    )


class defer_interrupt:
    """Context manager that defers Ctrl-C until its block ends.

    It has no effect in other threads than the main one, if the program installed its own handler, and in a nested
    block, where the outer block already defers.
    """

    def __enter__(self) -> None:
        self._has_installed_handler = (
            not _InterruptState.is_deferred
            and threading.current_thread() is threading.main_thread()
            and _signal_functions.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._has_installed_handler:
            _InterruptState.was_pressed = False
            _signal_functions.signal(signal.SIGINT, _handle_interrupt)
            _InterruptState.is_deferred = True

    def __exit__(self, *error: object) -> None:
        if self._has_installed_handler:
            _restore_handler()


def _restore_handler() -> None:
    """Restore the default handler, in an order that is safe if Ctrl-C is pressed in between."""
    _InterruptState.is_deferred = False
    _signal_functions.signal(signal.SIGINT, signal.default_int_handler)


def _handle_interrupt(number: int, frame: Any) -> None:
    """Record the first Ctrl-C; raise KeyboardInterrupt at the second, or while the block is entered or left."""
    if _InterruptState.was_pressed or not _InterruptState.is_deferred:
        _restore_handler()  # first, because the next line raises
        signal.default_int_handler(number, frame)
    _InterruptState.was_pressed = True
