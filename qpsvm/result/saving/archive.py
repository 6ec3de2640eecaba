"""Read and write named arrays in an .npz file, which may be hostile (`Archive`, `write_archive`).

Nothing is unpacked before its size is known. An .npz file is a zip archive of .npy files. Each of these has magic,
version and length, a line of text with type, order and shape, and then the numbers. NumPy's own reader evaluates that
line and trusts its shape. This one accepts only what NumPy writes, and only if the directory of the archive, the line
and the length of the data agree.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.damaged_files import DAMAGE
from qpsvm.base.errors import FileFormatError

#: An array may be this many times as large as its packed form, or take this many bytes, whichever is more. Deflate
#: shrinks zeros by a factor of 1000, and tables of one-hot columns by up to 90.
MAX_RATIO, SMALL_BYTES = 100, 32_000_000
#: The same for text. Its limits are lower: it may be JSON, which takes several times as much memory when parsed.
MAX_TEXT_RATIO, SMALL_TEXT_BYTES = 60, 4_000_000
#: Bytes unpacked at a time.
CHUNK = 1 << 20
#: Largest number of entries along one axis: as many numbers of eight bytes as can be addressed.
LONGEST_AXIS = np.iinfo(np.intp).max // 8
#: Magic and version 1.0 of an .npy file, and the length of the line that follows.
START = struct.Struct("<8sH")
MAGIC = b"\x93NUMPY\x01\x00"
#: That line as NumPy writes it, for numbers, text and dates.
LINE = re.compile(
    rb"\{'descr': '([<>|][biufSUMm]\d{1,9}(?:\[\w{1,9}\])?)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,19}(?:, ?\d{1,19}|,))?)\), \} *\n"
)


@dataclass(frozen=True)
class Member:
    """Description of an array in the archive, read from its first bytes.

    fortran: Whether its entries are in Fortran order.
    offset: Position of the first entry in the unpacked file.
    info: Its entry in the directory of the archive.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    info: ZipInfo


class Archive:
    """The arrays of an open .npz file.

    members: The arrays' descriptions, by name. Each array is small, or not many times as large as its packed form.
    """

    def __init__(self, file: BinaryIO) -> None:
        size = file.seek(0, os.SEEK_END)
        with _no_foreign_errors():
            self._zip = ZipFile(file)
        infos = self._zip.infolist()
        if len({info.filename for info in infos}) < len(infos) or sum(info.compress_size for info in infos) > size:
            raise FileFormatError("its directory lists the same content twice")
        self.members = {info.filename.removesuffix(".npy"): self._read_member(info) for info in infos}

    def _read_member(self, info: ZipInfo) -> Member:
        """Read the line that describes an array, and compare it with the directory. Raises FileFormatError."""
        name = repr(info.filename[:40])
        if not info.filename.endswith(".npy") or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise FileFormatError(f"its part {name} is not an array, or is packed in another way")
        with _no_foreign_errors(), self._zip.open(info) as member:
            start = member.read(START.size)
            magic, length = START.unpack(start)
            line = LINE.fullmatch(member.read(length)) if magic == MAGIC else None
        if line is None:
            raise FileFormatError(f"its part {name} is not an array of numbers or text")
        shape = tuple(int(length) for length in re.findall(rb"\d+", line[3]))
        try:
            dtype = np.dtype(line[1].decode())
        except (TypeError, ValueError, OverflowError):
            raise FileFormatError(f"its part {name} is an array of an unknown type") from None
        member_size = START.size + length + math.prod(shape) * dtype.itemsize
        if member_size != info.file_size or not dtype.itemsize or max(shape, default=0) > LONGEST_AXIS:
            raise FileFormatError(f"its part {name} has another size than its shape {shape} says")
        if not is_plausible_size(info, dtype):
            times = info.file_size // max(info.compress_size, 1)
            raise FileFormatError(
                f"its part {name} unpacks to {info.file_size / 1e6:.0f} MB, {times} times its packed size; if you "
                "trust where it is from, unpack the archive and pack it again uncompressed"
            )
        return Member(dtype, shape, line[2] == b"True", START.size + length, info)

    def read(self, name: str) -> NDArray[Any]:
        """Unpack one array, in the byte order of this machine. Raises FileFormatError."""
        member = self.members[name]
        raw = np.empty(member.info.file_size, np.uint8)
        end = 0
        with _no_foreign_errors(), self._zip.open(member.info) as packed:
            while chunk := packed.read(CHUNK):
                raw[end : end + len(chunk)] = np.frombuffer(chunk, np.uint8)
                end += len(chunk)
        if end != len(raw):
            raise FileFormatError(f"its part {name!r} ends early")
        array = raw[member.offset :].view(member.dtype).reshape(member.shape, order="F" if member.fortran else "C")
        return np.require(array.astype(member.dtype.newbyteorder("="), copy=False), requirements="A")

    def read_header(self, formats: Sequence[int]) -> dict[str, Any]:
        """Return the header, a JSON record of one of these formats, with unchecked content. Raises FileFormatError."""
        member = self.members.get("header")
        if member is None or member.dtype.kind != "U" or member.shape != ():
            raise FileFormatError("it has no header")
        try:
            header = json.loads(self.read("header").tobytes().decode("utf-32", "replace").rstrip("\0"))
        except (ValueError, RecursionError):
            raise FileFormatError("its header is not JSON") from None
        if not isinstance(header, dict) or "format" not in header:
            raise FileFormatError("its header is not a record")
        if type(header["format"]) is not int or header["format"] not in formats:
            known = " to ".join(map(str, dict.fromkeys((formats[0], formats[-1]))))
            raise FileFormatError(f"it has format {format_value(header['format'])}, and this version reads {known}")
        return header


@contextmanager
def _no_foreign_errors() -> Iterator[None]:
    """Turn the exceptions of the zipfile module on damaged files into FileFormatError."""
    try:
        yield
    except DAMAGE as error:
        raise FileFormatError(" ".join(str(error).split()) or type(error).__name__) from error


def is_plausible_size(info: ZipInfo, dtype: np.dtype[Any]) -> bool:
    """Return whether a member can be read safely: it is small, or does not unpack to much more than its packed size."""
    is_text = dtype.kind == "U"
    if is_text:
        max_ratio, small_bytes = MAX_TEXT_RATIO, SMALL_TEXT_BYTES
    else:
        max_ratio, small_bytes = MAX_RATIO, SMALL_BYTES
    return info.file_size <= max(small_bytes, max_ratio * info.compress_size)


def write_archive(file: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays that `Archive` and NumPy can read: packed, unless a ratio would exceed the limits of `Archive`."""
    arrays = {"header": np.array(json.dumps(header)), **arrays}
    infos = _write(file, arrays, ZIP_DEFLATED)
    if not all(is_plausible_size(info, array.dtype) for info, array in zip(infos, arrays.values(), strict=True)):
        file.seek(0)
        file.truncate()
        _write(file, arrays, ZIP_STORED)


def _write(file: BinaryIO, arrays: Mapping[str, NDArray[Any]], method: int) -> list[ZipInfo]:
    """Write arrays with a compression method of zipfile, and return the directory of the archive."""
    with ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return archive.infolist()
