"""Arrays of a caller's that must stay as they are while a problem holds them: a change in place is noticed, and said.

A copy would take as much memory as the samples. So what is kept is a checksum (CRC-32) of each strip of the bytes: any
change of one number is noticed for certain, any other one but for a chance of 2⁻³² a strip.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.frozen import is_ours, parts_of_array, read_only
from qpsvm.arrays.types import Matrix
from qpsvm.errors import DataError
from qpsvm.resources.workers import in_tiles, strips

#: Bytes of a strip, and the seconds that a byte takes.
STRIP, BYTE_SECONDS = 1 << 22, 2.5e-10


class Seal:
    """Arrays as they were when they were given.

    arrays: Kept by reference. Those that nobody can write to are left out.
    name: What messages call them.
    """

    def __init__(self, arrays: Iterable[Matrix], name: str) -> None:
        self.name = name
        self._parts = [part for array in arrays if not is_ours(array) for part in map(read_only, parts_of_array(array))]
        self._sums: list[list[int]] | None = None

    def check(self) -> None:
        """Look whether they are what they were at the first look, before which nothing was worked out of them.

        Raises DataError.
        """
        sums = [checksums(part) for part in self._parts]
        if self._sums is None:
            self._sums = sums
        elif sums != self._sums:
            raise DataError(
                f"{self.name} was changed in place since the problem was made, which has worked things out of the "
                f"former numbers: make a new problem of the new ones, or give it a copy, {self.name}.copy(), from the "
                "start"
            )


def checksums(array: NDArray[Any]) -> list[int]:
    """The checksum of each strip of the bytes of an array."""
    if not array.flags.c_contiguous:
        if not array.T.flags.c_contiguous:
            step = max(1, STRIP * len(array) // max(array.nbytes, 1))
            return [zlib.crc32(np.ascontiguousarray(array[i : i + step]).data) for i in range(0, len(array), step)]
        array = array.T
    if array.nbytes <= STRIP:
        return [zlib.crc32(array.data)]
    octets = array.reshape(-1).view(np.uint8)
    tiles = strips(len(octets), STRIP)
    sums = [0] * len(tiles)

    def add(k: int) -> None:
        sums[k] = zlib.crc32(octets[tiles[k]].data)

    in_tiles(add, range(len(tiles)), BYTE_SECONDS * array.nbytes)
    return sums


__all__ = ["Seal", "checksums"]
