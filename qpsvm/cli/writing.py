"""Files that a command writes: asked for before the work, so that nothing is computed for nothing."""

from __future__ import annotations

import os
from pathlib import Path

from qpsvm.errors import FileFormatError


def require_writable(path: str | None) -> None:
    """Refuse a file that cannot be written, before anything else is done.

    Raises FileFormatError.
    """
    if path is None:
        return
    file = Path(os.path.realpath(path))
    folder = file.parent
    if file.is_dir():
        why = "it is a directory"
    elif not folder.is_dir():
        why = f"there is no directory {folder}"
    elif file.exists() and not os.access(file, os.W_OK):
        why = "permission denied"
    elif (file.is_file() or not file.exists()) and not os.access(folder, os.W_OK):
        why = f"permission denied in {folder}, where the new file is completed before it takes its name"
    else:
        return
    raise FileFormatError(f"cannot write {path}: {why}")
