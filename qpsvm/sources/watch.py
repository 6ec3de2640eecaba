"""Files that must stay as they are while their rows are read, again and again: a change is noticed, and said."""

from __future__ import annotations

import os
from collections.abc import Iterable

from qpsvm.errors import DataError

#: Size, time of the last change, and which file it is.
State = tuple[int, int, int, int]


class Watch:
    """Files as they were when they were opened.

    paths: Those that are no files of this machine are not watched.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._seen = {path: _state(path) for path in paths if os.path.isfile(path)}
        self._places = {path: os.path.abspath(path) for path in self._seen}  # whatever folder the process goes to

    def check(self, path: str | None = None) -> None:
        """Look whether one of the files, or any of them, has changed since.

        Raises DataError.
        """
        for name in self._seen if path is None else (path,):
            if name not in self._seen:
                continue
            try:
                now = _state(self._places[name])
            except FileNotFoundError:
                raise DataError(f"{name} was removed while it was read; put it back and start again") from None
            if now != self._seen[name]:
                raise DataError(
                    f"{name} changed while it was read ({_difference(self._seen[name], now)}); let whatever writes it "
                    "end, and start again"
                )


def _state(path: str) -> State:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def _difference(before: State, now: State) -> str:
    """What is another, in words."""
    if before[0] != now[0]:
        return f"from {before[0]} to {now[0]} bytes"
    return "it was written to" if before[2:] == now[2:] else "another file has its name"
