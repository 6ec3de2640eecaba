"""Named arrays in an .npz file, read as if an enemy had written it: nothing is unpacked before its size is known.

An .npz file is a zip archive of .npy files. Each of these has magic, version and length, a line of text with type,
order and shape, and then the numbers. NumPy's own reader evaluates that line and trusts its shape. This one accepts
only what NumPy writes, and only where the directory of the archive, the line and the length of the data agree.

Values that JSON gives back as they were. Others are refused before a file is touched.

What a file says of a feature map: a record in the header, and two arrays, checked like everything that is read.

A model over features of a map is written as the linear model that it is of these, with the map beside it.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import Matrix
from qpsvm.base.damaged_files import DAMAGE
from qpsvm.base.errors import DataError, FileFormatError, ParameterTypeError
from qpsvm.space.kernels.feature_map import FeatureMap, Fit, Nystroem, RandomFourier
from qpsvm.space.kernels.functions import Kernel
from qpsvm.space.kernels.pivoted_cholesky import PivotedCholesky

#: An array may be this many times as large as its packed form, or take this many bytes, whichever is more. Deflate
#: packs zeros 1000 times, and tables of one-hot columns up to 90 times.
RATIO, SMALL = 100, 32_000_000
#: The same for text, which is held tighter: it may be JSON, which takes several times as much memory again.
TEXT_RATIO, SMALL_TEXT = 60, 4_000_000
#: Bytes unpacked at a time.
CHUNK = 1 << 20
#: Entries along one axis at most: as many numbers of eight bytes as can be addressed.
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
    """What an array in the archive says of itself: its type and shape, the order of its entries, where they begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    info: ZipInfo


class Archive:
    """The arrays of an open .npz file.

    members: By name. Each is small, or not many times as large as its packed form.
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
        """Read the line that describes an array, and compare it with the directory."""
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
    """Turn what the zipfile module raises on damaged files into an error of ours."""
    try:
        yield
    except DAMAGE as error:
        raise FileFormatError(" ".join(str(error).split()) or type(error).__name__) from error


def is_plausible_size(info: ZipInfo, dtype: np.dtype[Any]) -> bool:
    """Return whether a member can be read safely: it is small, or does not unpack to much more than its packed size."""
    ratio, small = (TEXT_RATIO, SMALL_TEXT) if dtype.kind == "U" else (RATIO, SMALL)
    return info.file_size <= max(small, ratio * info.compress_size)


def write_archive(file: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays that `Archive` and NumPy can read: packed, unless they pack so well that they look like a trap."""
    arrays = {"header": np.array(json.dumps(header)), **arrays}
    infos = _write(file, arrays, ZIP_DEFLATED)
    if not all(is_plausible_size(info, array.dtype) for info, array in zip(infos, arrays.values(), strict=True)):
        file.seek(0)
        file.truncate()
        _write(file, arrays, ZIP_STORED)


def _write(file: BinaryIO, arrays: Mapping[str, NDArray[Any]], method: int) -> list[ZipInfo]:
    with ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return archive.infolist()


#: How deep values may be nested, so that Python's reader of JSON takes them.
DEEPEST = 100
#: How many bits a whole number may have, for the same reason.
LONGEST_NUMBER = 10_000


def as_json(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value as JSON gives it back: NumPy's scalars become Python's, tuples lists. Nothing else changes.

    Raises ParameterTypeError.
    """
    if depth == 0 and not isinstance(value, dict):
        raise ParameterTypeError(f"{where} must be a dict, got {type(value).__name__}")
    if isinstance(value, dict) and depth < DEEPEST:
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:
            raise ParameterTypeError(
                f"{where} has the key {format_value(odd)}; keys in a file are text: use {format_value(odd)!r}"
            )
        return {str(key): as_json(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < DEEPEST:
        return [as_json(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, (np.bool_, np.number)) and not isinstance(value, (np.complexfloating, np.timedelta64)):
        value = as_python(value)
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int) and value.bit_length() <= LONGEST_NUMBER:
        return value
    if isinstance(value, (dict, list, tuple)):
        raise ParameterTypeError(f"metadata is nested more than {DEEPEST} deep, or contains itself")
    hint = "; use its tolist()" if isinstance(value, np.ndarray) else "; make it text or numbers"
    raise ParameterTypeError(
        f"{where} is {format_value(value)}, of type {type(value).__name__}, which JSON cannot hold{hint}"
    )


def as_python(value: Any) -> Any:
    """Return a NumPy scalar as Python's. A long double has no counterpart there and becomes a float."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return float(value) if isinstance(value, np.floating) else value


#: The maps that a file can name, and the parameters of each that are numbers.
SAVED_MAPS: dict[str, tuple[type[FeatureMap], tuple[str, ...]]] = {
    "nystroem": (Nystroem, ("components", "seed")),
    "random_fourier": (RandomFourier, ("gamma", "components", "seed")),
    "pivoted_cholesky": (PivotedCholesky, ("rank", "tol", "seed")),
}
#: What the names of a map's arrays begin with; and what comes behind that, of dense and of sparse points.
PREFIX, DENSE, SPARSE = "map_", {"factor", "points"}, {"factor", "data", "indices", "indptr", "rows"}


def build_map_record(
    row_map: FeatureMap, kernel: Callable[[Kernel], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the record of a fitted map, and its arrays by name; `kernel` makes the record of a kernel."""
    name, (_, own) = next((name, each) for name, each in SAVED_MAPS.items() if type(row_map) is each[0])
    fit = row_map.learned_fit
    record = {
        "map": name, "parameters": {key: getattr(row_map, key) for key in own}, "error": list(fit.error),
        "of": None if isinstance(row_map, RandomFourier) else kernel(row_map.exact_kernel),
    }  # fmt: skip
    arrays: dict[str, Any] = {"factor": fit.factor}
    arrays |= build_row_arrays(fit.points, "points")
    return record, {PREFIX + key: value for key, value in arrays.items()}


def build_row_arrays(V: Matrix, name: str) -> dict[str, NDArray[Any]]:
    """Return rows as arrays to save: dense ones by a name, sparse ones by the parts of CSR."""
    if not sp.issparse(V):
        return {name: np.asarray(V)}
    V = sp.csr_array(V, dtype=np.float64)
    return {"data": V.data, "indices": V.indices, "indptr": V.indptr, "rows": np.array(V.shape[0])}


def build_feature_map(
    record: Any,
    arrays: Mapping[str, NDArray[Any]],
    d: int,
    kernel: Callable[[Any], Kernel],
    points_of: Callable[[Mapping[str, NDArray[Any]], int], Matrix],
) -> FeatureMap:
    """Build the map of a record. Raises DataError, ParameterError, UnknownOptionError, UnsupportedError."""
    named = {name.removeprefix(PREFIX): values for name, values in arrays.items()}
    known = isinstance(record, dict) and isinstance(record.get("map"), str) and record["map"] in SAVED_MAPS
    if not known or set(named) not in (DENSE, SPARSE):
        raise DataError("it has no feature map that this version knows")
    kind, own = SAVED_MAPS[record["map"]]
    given, error = record.get("parameters"), record.get("error")
    if not isinstance(given, dict) or set(given) != set(own):
        raise DataError(f"the map {record['map']} does not have the parameters {format_value(given)}")
    if not isinstance(error, list) or [type(value) for value in error] != [float, float]:
        raise DataError(f"the measured error of the map is {format_value(error)}")
    of = {} if kind is RandomFourier else {"kernel": kernel(record.get("of"))}
    made: Any = kind  # whose parameters these are
    row_map: FeatureMap = made(**of, **given)
    if isinstance(row_map, RandomFourier) and not isinstance(row_map.gamma, (int, float)):
        raise DataError(f"the map {row_map} has a gamma that is not a number")
    if "points" in named:
        named["vectors"] = named.pop("points")
    points, factor = points_of(named, d), named["factor"]
    if not _has_factor_shape(row_map, points.shape[0], factor):
        raise DataError("the arrays of its feature map do not fit together")
    return row_map.with_fit(Fit(points, factor.astype(np.float64, copy=False), (error[0], error[1])))


def _has_factor_shape(row_map: FeatureMap, m: int, factor: NDArray[Any]) -> bool:
    """Return whether a factor is one of m points."""
    if factor.dtype.kind != "f" or factor.ndim != 2 or not factor.size or not np.isfinite(factor).all():
        return False
    if isinstance(row_map, RandomFourier):
        return factor.shape == (1, m) and m == row_map.components
    if isinstance(row_map, PivotedCholesky):
        return factor.shape == (m, m) and bool((factor.diagonal() > 0.0).all())
    return factor.shape[0] == m and math.prod(factor.shape) > 0


__all__ = ["PREFIX", "build_feature_map", "build_map_record"]
