"""Defer Ctrl-C while a built-in solver runs (`defer_interrupt`, `is_interrupted`).

A solver interrupted in the middle of a step leaves no point. One that checks `is_interrupted()` between steps ends with
its best point, which is certified like any other. A second Ctrl-C raises `KeyboardInterrupt` as usual.

As in Python, only the main thread receives Ctrl-C: solves in other threads neither defer nor see it. If the main thread
only waits for them, Ctrl-C raises `KeyboardInterrupt` there at once, and the solves continue.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

#: The C functions behind those of `signal`, which take ten times as long, because they convert handlers to enums.
_calls: Any = getattr(signal, "_signal", signal)


class _InterruptKey:
    """Whether the main thread defers Ctrl-C, and whether it was pressed since."""

    is_deferred = False
    was_pressed = False


def is_interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the run of this thread started."""
    return (
        _InterruptKey.is_deferred
        and _InterruptKey.was_pressed
        and threading.current_thread() is threading.main_thread()
    )


class defer_interrupt:
    """A block that defers Ctrl-C until it ends.

    Nothing changes in threads other than the main one, where another handler is installed, or in a nested block:
    there the outer one defers.
    """

    def __enter__(self) -> None:
        self._ours = (
            not _InterruptKey.is_deferred
            and threading.current_thread() is threading.main_thread()
            and _calls.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            _InterruptKey.was_pressed = False
            _calls.signal(signal.SIGINT, _note_interrupt)
            _InterruptKey.is_deferred = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            _release_key()


def _release_key() -> None:
    """Restore the handler, in an order that is safe if Ctrl-C is pressed in between."""
    _InterruptKey.is_deferred = False
    _calls.signal(signal.SIGINT, signal.default_int_handler)


def _note_interrupt(number: int, frame: Any) -> None:
    if (
        _InterruptKey.was_pressed or not _InterruptKey.is_deferred
    ):  # pressed again, or while the block was entered or left
        _release_key()  # first, because the next line may leave any block in the middle
        signal.default_int_handler(number, frame)
    _InterruptKey.was_pressed = True
