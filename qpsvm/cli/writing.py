"""Files that a command writes: asked for before the work, so that nothing is computed for nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qpsvm.errors import FileFormatError


def require_writable(path: str | None) -> None:
    """Refuse a file that cannot be written, before anything else is done.

    Raises
    ------
    FileFormatError
    """
    if path is None:
        return
    file, folder = Path(path), Path(path).parent
    if file.is_dir():
        why = "it is a directory"
    elif not folder.is_dir():
        why = f"there is no directory {folder}"
    elif not os.access(file if file.exists() else folder, os.W_OK):
        why = "permission denied"
    else:
        return
    raise FileFormatError(f"cannot write {path}: {why}")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name the file that could not be written after all.

    Raises
    ------
    FileFormatError
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"cannot write {path}: {error.strerror or error}") from None
