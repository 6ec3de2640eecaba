"""Read files, which may be compressed, and standard input as text (`read_bytes`, `open_decompressed`, `open_text`)."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast

from qpsvm.base.errors import FileFormatError, MissingFileError, QPSVMError, TooLargeError

#: Byte order marks of UTF-16.
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: Patterns of the first bytes of compressed files, with the modules that decompress them.
DECOMPRESSORS = {rb"\xfd7zXZ\0": "lzma", rb"\x1f\x8b": "gzip", rb"BZh[1-9](1AY&SY|\x17rE8P)": "bz2"}
#: Number of first bytes in which these patterns are looked for.
SIGNATURE_BYTES = 10


class StandardInput:
    """Standard input, used in place of a path."""

    def __str__(self) -> str:
        return "standard input"

    def read_bytes(self) -> bytes:
        """Read standard input to its end. Raises OSError."""
        if sys.stdin is None:
            raise OSError("it is closed")
        return sys.stdin.buffer.read()


FilePath = str | PathLike[str] | StandardInput


@contextmanager
def translate_memory_errors(path: FilePath) -> Iterator[None]:
    """Translate a lack of memory in the block to an error of this library. Raises TooLargeError."""
    try:
        yield
    except MemoryError as error:
        if isinstance(error, QPSVMError):  # a TooLargeError with a message of its own
            raise
        raise TooLargeError(
            f"{path} does not fit into the memory that this process may use; drop columns, take fewer rows, or write "
            "its zeros as a sparse LIBSVM file"
        ) from None


def refuse_device(path: str | PathLike[str], seekable: bool = False) -> None:
    """Refuse a device other than a terminal; if `seekable`, also a terminal, pipe or socket. Raises FileFormatError."""
    mode = os.stat(path).st_mode
    is_terminal = os.path.realpath(path).startswith(("/dev/pts/", "/dev/tty"))  # to which /dev/stdin may be a link
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and (seekable or not is_terminal):
        raise FileFormatError(f"{path} is a device, not a file with rows")
    if seekable and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket"
        raise FileFormatError(f"{path} is a {kind}, which can be read only once: write its content into a file first")


def read_bytes(path: FilePath, charset: str = "utf-8") -> bytes:
    """Read the content, decompressed, as UTF-8 without a byte order mark, with a line feed at the end of each line.

    `charset` is the character encoding of the file. Raises FileFormatError, MissingFileError.
    """
    content = _read_raw_bytes(path)
    decompressor = _find_decompressor(content[:SIGNATURE_BYTES])
    if decompressor is not None:
        with translate_read_errors(path):
            content = decompressor.open(io.BytesIO(content)).read()
    if codecs.lookup(charset).name != "utf-8":
        try:
            content = content.decode(charset).encode()
        except (UnicodeError, LookupError):  # LookupError: a codec that is not one of text, such as base64
            raise FileFormatError(f"{path} is not text in {charset}; name its encoding by --encoding") from None
    if b"\0" in content:
        message = f"{path} is not a text file in UTF-8"
        if content.startswith(UTF_16_MARKS):
            raise FileFormatError(f"{message}: it is UTF-16 text; read it by --encoding utf-16")
        raise FileFormatError(f"{message}; export it as CSV or LIBSVM text in UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not content.isascii():
        _check_utf_8(path, io.BytesIO(content))
    if not content or content.isspace():
        raise FileFormatError(f"{path} is empty")
    return content


def open_decompressed(path: str | PathLike[str]) -> IO[bytes]:
    """Open a file for reading; xz, gzip and bzip2 are decompressed. Raises FileFormatError."""
    try:
        with open(path, "rb") as file:
            decompressor = _find_decompressor(file.read(SIGNATURE_BYTES))
        return cast("IO[bytes]", open(path, "rb") if decompressor is None else decompressor.open(path, "rb"))
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def translate_read_errors(path: FilePath) -> Iterator[None]:
    """Translate errors of reading a damaged compressed file in the block. Raises FileFormatError."""
    import lzma
    import zlib

    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, QPSVMError):  # some are OSErrors, and already name their cause
            raise
        raise FileFormatError(f"{path} is a damaged compressed file: {error}") from error


def decode_text(content: bytes) -> io.TextIOWrapper:
    """Open content that `read_bytes` returned as text."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")


@contextmanager
def open_text(path: str | PathLike[str]) -> Iterator[Iterable[str]]:
    """Open a file as text, line by line, decompressed, without a byte order mark. Raises FileFormatError."""
    with translate_read_errors(path), io.TextIOWrapper(open_decompressed(path), encoding="utf-8-sig") as text:
        try:
            yield text
        except UnicodeDecodeError:  # raised while a whole block is decoded: read again, to find the line
            with open_decompressed(path) as content:
                _check_utf_8(path, content)
            raise


def _read_raw_bytes(path: FilePath) -> bytes:
    try:
        if isinstance(path, StandardInput):
            return path.read_bytes()
        refuse_device(path)
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"{path} does not exist (relative to {Path.cwd()})") from None
    except FileFormatError:  # by `refuse_device`; the next clause would catch it as a ValueError
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileFormatError(f"{path} cannot be read: {reason or error}") from error


def _find_decompressor(signature: bytes) -> Any:
    """Return the module that decompresses a file with these first bytes; None if it is not compressed."""
    return next((import_module(name) for pattern, name in DECOMPRESSORS.items() if re.match(pattern, signature)), None)


def _check_utf_8(path: FilePath, content: IO[bytes]) -> None:
    """Raise FileFormatError with the number of the first line that is not UTF-8, if there is one."""
    for k, line in enumerate(content, 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            raise FileFormatError(
                f"{path}, line {k} is not UTF-8 text; name its encoding (--encoding latin-1, say), or save it in UTF-8"
            ) from None
