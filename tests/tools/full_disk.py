"""A disk that is full: what is written is half there when the system says so."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest


class Half:
    """A file that takes half of what is written to it."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, content: Any) -> int:
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Half:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a `Path` opens for writing takes half of it, until the end of the test or `monkeypatch.undo()`."""
    opened = Path.open

    def make_half_file(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        file = opened(path, mode, *arguments, **options)
        return file if mode.startswith("r") else Half(file)

    monkeypatch.setattr(Path, "open", make_half_file)
