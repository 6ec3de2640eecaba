"""From what a user names to files: one path, several, a pattern with wildcards, a folder; and the format of each."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qpsvm.base.errors import FileFormatError, MissingFileError
from qpsvm.data.files.sheet import format_of
from qpsvm.data.files.source import readable, refuse_device, unpacked
from qpsvm.data.kinds import is_path

#: The first bytes of formats that begin with a mark.
MARKS = {b"\x93NUMPY": "npy", b"PAR1": "parquet", b"ARROW1": "feather"}
#: … and of some that are no tables, with a word on each.
OTHERS = {b"PK\x03\x04": "an archive (.npz, .xlsx): take the array or the table out of it",
          b"\x89HDF": "HDF5: write its array as .npy"}  # fmt: skip
#: What is read of a text to tell whether it is CSV or LIBSVM.
HEAD_BYTES = 1 << 16


def expanded(data: Any) -> list[str]:
    """The files, in the order of their names where a pattern or a folder stands for them.

    Raises MissingFileError, FileFormatError.
    """
    if not is_path(data):
        return [path for some in data for path in expanded(some)]
    name = os.fspath(data)
    if os.path.isdir(name):
        found = sorted(glob.glob(os.path.join(glob.escape(name), "**"), recursive=True))
        found = [path for path in found if os.path.isfile(path) and os.path.basename(path)[0] not in "._"]
        if not found:
            raise FileFormatError(f"{name} is a folder without files")
        return found
    if os.path.exists(name):
        return [name]
    if glob.has_magic(name):
        found = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        if not found:
            raise MissingFileError(f"no file matches {name!r} (seen from {Path.cwd()})")
        return found
    raise MissingFileError(f"{name} does not exist (seen from {Path.cwd()})")


def with_content(paths: Sequence[str]) -> list[str]:
    """The files that are not empty.

    Raises FileFormatError.
    """
    try:
        for path in paths:
            refuse_device(path, seekable=True)
        full = [path for path in paths if os.path.getsize(path)]
    except OSError as error:
        raise FileFormatError(f"{error.filename} cannot be read: {error.strerror}") from error
    if not full:
        raise FileFormatError(f"{paths[0]} is empty")
    return full


def one_format(paths: Sequence[str]) -> str:
    """The format that all files have: "npy", "parquet", "feather", "csv" or "libsvm".

    Raises FileFormatError.
    """
    forms = [format_by_content(path) for path in paths]
    other = next((k for k, form in enumerate(forms) if form != forms[0]), None)
    if other is not None:
        raise FileFormatError(
            f"{paths[other]} is a {forms[other]} file, but {paths[0]} is a {forms[0]} file; open those of one format"
        )
    return forms[0]


def format_by_content(path: str) -> str:
    """The format of a file by its first bytes."""
    try:
        with open(path, "rb") as file:
            mark = file.read(8)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from error
    for known, form in MARKS.items():
        if mark.startswith(known):
            return form
    for known, what in OTHERS.items():
        if mark.startswith(known):
            raise FileFormatError(f"{path} is {what}")
    suffix = os.path.splitext(path)[1]
    if suffix in (".npy", ".parquet", ".feather", ".arrow"):
        raise FileFormatError(f"{path} is not a {suffix} file, or it is damaged: it does not begin like one")
    with readable(path), unpacked(path) as text:
        head = text.read(HEAD_BYTES)
    if b"\0" in head:
        raise FileFormatError(
            f"{path} is neither text in UTF-8 nor one of the binary formats that are read: .npy, Parquet, Feather"
        )
    return format_of(head) or "libsvm"
