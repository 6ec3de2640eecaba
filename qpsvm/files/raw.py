"""From a path to the bytes of a text and to its format, and from cells to numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays import FloatArray
from qpsvm.errors import FileFormatError, MissingFileError
from qpsvm.files.encoding import FilePath

#: Cells that stand for "no value", after surrounding blanks are stripped: what R, pandas, SQL, Excel and UCI write.
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None", "?"])

_LIBSVM_LINE = re.compile(rb"(\S+\s+)?(qid|[+-]?\d+):[^,;\s]*(\s|$)")
_BARE_NUMBER = re.compile(rb"[+-]?[\d.]+([eE][+-]?\d+)?$")


def read_bytes(path: FilePath) -> bytes:
    """Return the content, unpacked, as UTF-8 without a byte order mark and with line ends \\n."""
    try:
        content = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path} does not exist (seen from {Path.cwd()})") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from error
    content = _unpack(path, content)
    if b"\0" in content:
        raise FileFormatError(f"{path} is not a text file; export it as CSV or LIBSVM text in UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(f"{path}, line {line} is not UTF-8 text; save the file in UTF-8") from None
    if not content.strip():
        raise FileFormatError(f"{path} is empty")
    return content


def _unpack(path: FilePath, content: bytes) -> bytes:
    import bz2
    import gzip
    import lzma
    import zlib

    unpackers: dict[bytes, Callable[[bytes], bytes]] = {
        rb"\xfd7zXZ\0": lzma.decompress,
        rb"\x1f\x8b": gzip.decompress,
        rb"BZh[1-9](1AY&SY|\x17rE8P)": bz2.decompress,
    }
    for magic, unpack in unpackers.items():
        if re.match(magic, content):
            try:
                return unpack(content)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise FileFormatError(f"{path} is a damaged compressed file: {error}") from error
    return content


def format_of(content: bytes) -> str | None:
    """Tell the format by the first line that can: not a comment, and not a label alone (a LIBSVM row of zeros)."""
    for line in io.BytesIO(content):
        text = line.strip()
        if text and not text.startswith(b"#") and not _BARE_NUMBER.match(text):
            return "libsvm" if _LIBSVM_LINE.match(text) else "csv"
    return None


def numbers(cells: Sequence[str]) -> FloatArray | None:
    """Read all as numbers (n,), or none. `1_000`, which Python takes for a number, is text."""
    try:
        return None if "_" in " ".join(cells) else np.array(list(map(float, cells)))
    except ValueError:
        return None


def whole(values: FloatArray) -> NDArray[Any]:
    """Turn labels (n,) into integers if all are."""
    exact = np.abs(values) < 2.0**53
    return values.astype(np.int64) if (exact & (values == np.floor(values))).all() else values
