"""Write files atomically: a new file is complete before it replaces the old one (`open_replacement`, `write_text`)."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from qpsvm.base.errors import FileAccessError, ParameterTypeError, QPSVMError

#: Suffix of an unfinished file, which remains only if the process was killed or the machine crashed.
UNFINISHED = ".unfinished"
#: Limit of the characters that the unfinished file's name repeats of the file's: so it has at most 255 bytes in UTF-8.
MAX_NAME_PART = 40


@contextmanager
def open_replacement(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file to write to, which is synced to disk and replaces `path` at the end of the `with` block.

    If an exception ends the block, as for a full disk or Ctrl-C, `path` is unchanged and no other file remains. The new
    file has the permissions of the old one and, if the system allows it, its owner; without an old one it has the
    default permissions of `open`. For a symbolic link, its target is replaced.

    Raises FileAccessError, ParameterTypeError.
    """
    path_text = as_path_text(path)
    with _translate_os_errors(path_text):
        target = Path(os.path.realpath(path_text))
        old = _stat_target(target)
        unfinished = target.with_name(f".{target.name[:MAX_NAME_PART]}.{secrets.token_hex(4)}{UNFINISHED}")
        file = unfinished.open("xb")
        try:
            with file:
                if old is not None:
                    _copy_ownership(old, unfinished)
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        _sync_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text in UTF-8 to a file, device or pipe by `open_output`. Raises FileAccessError, ParameterTypeError."""
    with open_output(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write to by `open_replacement`, or directly if it is a device or a pipe, which cannot be replaced.

    Raises FileAccessError, ParameterTypeError.
    """
    target = Path(as_path_text(path))
    with _translate_os_errors(target):
        if not target.exists() or target.is_file() or target.is_dir():
            with open_replacement(path) as file:
                yield file
        else:
            with target.open("wb") as file:
                yield file


def as_path_text(path: str | os.PathLike[str]) -> str:
    """Return the path as text. Raises ParameterTypeError, FileAccessError."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise ParameterTypeError(f"path must be text or a pathlib.Path, got {type(path).__name__}")
    try:
        is_valid = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_valid = False
    if not is_valid:
        raise FileAccessError(f"{name!r} is not a path: it has a character that this system does not allow in one")
    return name


@contextmanager
def _translate_os_errors(path: str | Path) -> Iterator[None]:
    """Raise FileAccessError instead of an OSError of the block, unless it is one of this library."""
    try:
        yield
    except QPSVMError:
        raise
    except OSError as error:
        raise FileAccessError(f"cannot write {path}: {error.strerror or error}") from error


def _stat_target(target: Path) -> os.stat_result | None:
    """Return the status of the file to be replaced, or None if there is none. Raises OSError."""
    try:
        old = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"there is no folder {target.parent}") from None
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return old


def _copy_ownership(old: os.stat_result, unfinished: Path) -> None:
    """Set owner and group if the system allows it; then the permissions, which a new owner may have reset."""
    if hasattr(os, "chown"):
        for owner in (old.st_uid, -1):  # only root may change the owner, so then try the group alone
            with suppress(OSError):
                os.chown(unfinished, owner, old.st_gid)
                break
    unfinished.chmod(stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that the new name survives a power cut, if the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
